"""The C sources of the extension ``_native``, and a fingerprint of them to detect a stale build.

setup.py reads this module too, so that it imports nothing but the standard library.
"""

from __future__ import annotations

import sys
from hashlib import sha256
from pathlib import Path
from typing import Final

GLUE = Path(__file__).parent / "codecs" / "native"
FLAGS = () if sys.platform == "win32" else ("-std=gnu99", "-O2")
"""Not -O3: it duplicates the loops that the generator has specialised already, and is slower."""
MACRO = "KS_SOURCES"
"""The macro that gives the fingerprint to the compiler."""


WITHOUT: Final = "KAFKASPEC_LIBRARIES"
"""The environment variable that, with the value ``none``, leaves libraries of compression in C
aside: those of the machine when the extension is built, those of the extension when it is used."""
PACKAGES: Final = {"gzip": "isal", "snappy": "cramjam", "lz4": "lz4", "zstd": "zstandard"}
"""Packages of PyPI that serve a codec for which the extension has no library."""


class StaleExtensionError(RuntimeError):
    """The extension was built from another specification, or from other C sources."""


def sources(core: Path, pattern: str = "*.[ch]") -> list[Path]:
    """Return the files of a generated core and of the glue around it, in a fixed order."""
    return [*sorted(core.glob(pattern)), *sorted(GLUE.glob(pattern))]


def fingerprint(core: Path) -> str:
    """Return a hash of all C sources of an extension."""
    digest = sha256()
    for path in sources(core):
        content = path.read_bytes()
        digest.update(f"{path.name} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()
