"""Build the extension: ``python -m tools.native.duckdb [DIRECTORY [HEADERS]]``.

The directory is ``dist/duckdb`` by default. HEADERS is a folder with ``duckdb_extension.h``:
without it, the headers are fetched.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tools.brokers.maven import ToolError
from tools.native.duckdb import build, fetch_headers

if __name__ == "__main__":
    into, headers = [*map(Path, sys.argv[1:3]), None, None][:2]
    try:
        headers = headers or fetch_headers(Path("build/duckdb"))
        print(build(into or Path("dist/duckdb"), headers))
    except ToolError as error:
        sys.exit(str(error))
