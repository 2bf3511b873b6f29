"""The one list of packages, ``packages.toml``, and the pages that show it.

``python -m tests.structure.packages`` writes these.
"""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.structure.source import ROOT, modules

ARCHITECTURE = ROOT / "docs" / "architecture.md"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
GENERATED = "generated"
"""Drawn too: packages import it as ``_generated``."""

_PICTURE = re.compile(r"(?<=specgen --> generated\[)(.*\]\n)[^`]*(?=```)")
_ROWS = re.compile(r"(?:\| `kafkaspec/\w+/` \|.*\n)+")


class Package(NamedTuple):
    """A package, as ``packages.toml`` has it."""

    name: str
    contents: str
    drawn: str
    extra: str


def _packages() -> tuple[Package, ...]:
    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    return tuple(
        Package(name, row["contents"], row.get("drawn", row["contents"]), row.get("extra", ""))
        for name, row in tomllib.loads(text).items()
    )


PACKAGES = _packages()
"""All packages but the leaf ``layout``, lowest first."""


def imports() -> dict[str, set[str]]:
    """Return the packages of the library that each package imports, and the generated code."""
    found: dict[str, set[str]] = defaultdict(set)
    known = {GENERATED, *(package.name for package in PACKAGES)}
    for module in modules().values():
        home, own, *_ = (*module.name.split("."), "")
        for item in module.imports if home == "kafkaspec" and own in known else ():
            first, _, rest = item.full.partition(".")
            other = rest.split(".")[0].removeprefix("_")
            if first == "kafkaspec" and other in known - {own}:
                found[own].add(other)
    return found


def arrows(graph: dict[str, set[str]]) -> list[tuple[str, str]]:
    """Return the imports that do not follow from others: what is imported, and by whom."""

    @cache
    def reached(name: str) -> set[str]:
        direct = graph.get(name, set())
        return direct.union(*map(reached, direct))

    return [
        (below, name)
        for name, direct in graph.items()
        for below in direct
        if not any(below in reached(other) for other in direct - {below})
    ]


def pages() -> dict[Path, str]:
    """Return the text that each page has to have."""
    order = [GENERATED, *(package.name for package in PACKAGES)]
    drawn = sorted(arrows(imports()), key=lambda pair: (order.index(pair[1]), order.index(pair[0])))
    lines = [
        f'    {name}["{name}/<br>{words.replace("`", "")}"]\n' for name, _, words, _ in PACKAGES
    ]
    lines += [f"    {below} --> {name}\n" for below, name in drawn]
    rows = [f"| `kafkaspec/{package.name}/` | {package.contents} |\n" for package in PACKAGES]
    architecture = ARCHITECTURE.read_text(encoding="utf-8")
    contributing = CONTRIBUTING.read_text(encoding="utf-8")
    return {
        ARCHITECTURE: _PICTURE.sub(lambda match: match[1] + "".join(lines), architecture),
        CONTRIBUTING: _ROWS.sub(lambda _: "".join(rows), contributing),
    }


if __name__ == "__main__":
    for page, text in pages().items():
        page.write_text(text, encoding="utf-8")
