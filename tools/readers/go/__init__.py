"""The reader in Go as a module: the generated package ``format``, and what is written by hand.

The module needs no Python. Everything that a layout says is in the generated part.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from tools.readers import VERSION, semantic_version

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[2]
GENERATED: Final = ROOT / "generated" / "go"
FORMAT: Final = "format"
MODULE: Final = "kafkaspec"
"""The path of the module until somebody publishes it."""
_OWN: Final = ("*.go", "*/*.go", "*/testdata/*", "go.mod", "go.sum", "README.md")


def put_together(into: Path, module: str = MODULE, generated: Path = GENERATED) -> list[Path]:
    """Write the module into a folder, and return its files.

    Args:
        into: the folder; files of the module that are there are replaced.
        module: the path of the module, ``example.org/kafkaspec`` for example.
        generated: the generated part; tests give that of a draft.
    """
    into.mkdir(parents=True, exist_ok=True)
    found = {path: path.relative_to(HERE) for pattern in _OWN for path in HERE.glob(pattern)}
    found |= {path: Path(FORMAT, path.name) for path in generated.glob("*.go")}
    found[ROOT / "LICENSE"] = Path("LICENSE")
    made = []
    for source, place in sorted(found.items(), key=lambda item: item[1]):
        target = into / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix in (".go", ".mod", ".md"):
            target.write_text(_named(source.read_text(encoding="utf-8"), module), "utf-8")
        else:
            shutil.copyfile(source, target)
        made.append(target)
    return made


def _named(text: str, module: str) -> str:
    """Return source text with our version, and with the path that the module has."""
    text = text.replace(VERSION, semantic_version())
    if module == MODULE:
        return text
    text = text.replace(f'"{MODULE}"', f'{MODULE} "{module}"').replace(f'"{MODULE}/', f'"{module}/')
    return text.replace(f"module {MODULE}\n", f"module {module}\n")
