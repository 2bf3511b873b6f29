"""Write the reader in Go: ``python -m tools.readers.go [DIRECTORY [MODULE]]``.

The directory is ``dist/go`` by default, and MODULE the path that the module is published under.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tools.readers.go import MODULE, put_together


def main(into: Path, module: str = MODULE) -> None:
    """Write the files, and say where they are."""
    made = put_together(into, module)
    print(f"{into}: {len(made)} files of the module {module}")


if __name__ == "__main__":
    main(Path(*(sys.argv[1:2] or ["dist/go"])), *sys.argv[2:3])
