"""The pages that people read, and the blocks of code in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
PAGES = (README, *sorted((ROOT / "docs").rglob("*.md")))
"""Pages whose blocks run as tests."""
LINKED = (
    *PAGES,
    *(
        ROOT / name
        for name in (
            "CHANGELOG.md",
            "CONTRIBUTING.md",
            "changes/README.md",
            "CODE_OF_CONDUCT.md",
            "packaging/README.md",
            "spec/README.md",
        )
    ),
    *sorted((ROOT / "tests").rglob("README.md")),
)
"""Pages whose links are checked."""

_BLOCK = re.compile(r"^```(console|python|sh|sql)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A block of code in a page.

    Attributes:
        page: path below the root of the repository.
        line: number of its first line in the page.
        language: ``console``, ``python``, ``sh`` or ``sql``.
        text: what is in it.
    """

    page: str
    line: int
    language: str
    text: str

    @property
    def needs_spark(self) -> bool:
        """Whether it starts Spark."""
        return "pyspark" in self.text or "$ kafkaspec spark " in self.text


def blocks(page: Path, language: str) -> list[Block]:
    """Return the blocks of a page in one language, in their order."""
    return [block for block in _blocks(page) if block.language == language]


def _blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for match in _BLOCK.finditer(text):
        line = text.count("\n", 0, match.start(2)) + 1
        yield Block(name(page), line, match[1], match[2])


def name(page: Path) -> str:
    """Return the path of a page below the root of the repository."""
    return page.relative_to(ROOT).as_posix()
