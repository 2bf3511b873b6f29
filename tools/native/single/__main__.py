"""Write the reader in C: ``python -m tools.native.single [DIRECTORY]``, by default ``dist/c``."""

from __future__ import annotations

import sys
from pathlib import Path

from tools.native.single import files


def main(into: Path) -> None:
    """Write the files, and say where they are."""
    into.mkdir(parents=True, exist_ok=True)
    for name, text in files().items():
        (into / name).write_text(text, encoding="utf-8")
        print(into / name)


if __name__ == "__main__":
    main(Path(*(sys.argv[1:] or ["dist/c"])))
