"""The C sources of the extension ``_native``, and a fingerprint of them to detect a stale build.

setup.py reads this module too, so that it imports nothing but the standard library.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
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
NAME: Final = "kafkaspec._native"
PACKAGE: Final = "kafkaspec._generated"
"""The extension, and the generated code that it is made from."""


class StaleExtensionError(RuntimeError):
    """The extension was built from another specification, or from other C sources."""


def sources(core: Path, pattern: str = "*.[ch]") -> list[Path]:
    """Return the files of a generated core and of the glue around it, in a fixed order."""
    return [*sorted(core.glob(pattern)), *sorted(GLUE.glob(pattern))]


def fingerprint(core: Path) -> str:
    """Return a hash of all C sources of an extension."""
    from hashlib import sha256

    digest = sha256()
    for path in sources(core):
        content = path.read_bytes()
        digest.update(f"{path.name} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def sources_of(package: str) -> str | None:
    """Return the hash of the C sources of generated code; None in a wheel, which has none."""
    core = Path(import_module(package).__path__[0]) / "native"
    return fingerprint(core) if core.is_dir() else None


@cache
def usable() -> ModuleType | None:
    """Return the extension for what does not depend on the specification: checksums, compression.

    Returns:
        The module; None if it was not built, or not from the C sources that are here. The native
        codec then says which.
    """
    try:
        module = import_module(NAME)
    except ImportError:
        return None
    made: str | None = getattr(module, "SOURCES", None)
    return module if made == (sources_of(PACKAGE) or made) else None
