"""Write the crate: ``python -m tools.readers.rust [DIRECTORY]``, by default ``dist/rust``."""

from __future__ import annotations

import sys
from pathlib import Path

from tools.readers.rust import assemble

if __name__ == "__main__":
    into = Path(*(sys.argv[1:] or ["dist/rust"]))
    assemble(into)
    print(into)
