"""The libraries in C that the extension compresses and decompresses with.

Those whose headers the machine has when the extension is built are linked with it; others are
loaded when it is imported. setup.py reads this module too, so that it imports nothing but the
standard library.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from kafkaspec.extension import GLUE, WITHOUT


class Library(NamedTuple):
    """A library in C that compresses and decompresses.

    Attributes:
        name: as the linker takes it.
        macro: tells the C sources that its headers are there.
        packages: that have it, of Debian, Fedora and Alpine.
    """

    name: str
    macro: str
    packages: tuple[str, str, str]


LIBRARIES: Final = (
    Library("deflate", "KS_LIBDEFLATE", ("libdeflate0", "libdeflate", "libdeflate")),
    Library("snappy", "KS_LIBSNAPPY", ("libsnappy1v5", "snappy", "snappy")),
    Library("lz4", "KS_LIBLZ4", ("liblz4-1", "lz4-libs", "lz4-libs")),
    Library("zstd", "KS_LIBZSTD", ("libzstd1", "libzstd", "zstd-libs")),
)
"""Libraries that the extension uses where they are; none of them is required."""
LOADER: Final = ("dl",) if sys.platform == "linux" else ()
"""Libraries with which the extension loads those that it was not linked with."""
_INSTALL: Final = ("apt-get install", "dnf install", "apk add")


def libraries(compiler: Sequence[str]) -> list[Library]:
    """Return the libraries that a compiler finds and links, in a version that is used.

    Args:
        compiler: the command, as of ``cc``; empty where there is no such command.
    """
    if not compiler or sys.platform == "win32" or os.environ.get(WITHOUT) == "none":
        return []
    with tempfile.TemporaryDirectory() as folder:
        return [library for library in LIBRARIES if _links(compiler, library, Path(folder))]


def command(names: Collection[str]) -> str | None:
    """Return the command that installs libraries here.

    Args:
        names: of the libraries, as ``liblz4``.

    Returns:
        The command; None for a system that is not known here.
    """
    wanted = [library.packages for library in LIBRARIES if f"lib{library.name}" in names]
    for number, words in enumerate(_INSTALL):
        if wanted and shutil.which(words.split()[0]):
            return " ".join((words, *(packages[number] for packages in wanted)))
    return None


def _links(compiler: Sequence[str], library: Library, folder: Path) -> bool:
    """Compile the calls of a library, which compares its headers with our prototypes."""
    main, program = folder / "main.c", folder / library.name
    main.write_text('#include "libraries.h"\nint main(void) { ks_libraries_find(KS_USE_ALL); }\n')
    line = [*compiler, "-Werror=incompatible-pointer-types", f"-D{library.macro}=1", f"-I{GLUE}"]
    line += [str(main), str(GLUE / "libraries.c"), "-o", str(program)]
    line += [f"-l{name}" for name in (library.name, *LOADER)]
    try:
        return not subprocess.run(line, capture_output=True).returncode
    except OSError:
        return False
