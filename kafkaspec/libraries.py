"""The libraries in C that the extension is built with, where the machine has them.

setup.py reads this module too, so that it imports nothing but the standard library.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from kafkaspec.extension import WITHOUT


class Library(NamedTuple):
    """A library in C that compresses and decompresses.

    Attributes:
        name: as the linker takes it.
        header: the header file of its interface.
        call: a use of the interface, which is compiled and linked but does not run.
        macro: tells the C sources that it is there.
    """

    name: str
    header: str
    call: str
    macro: str


LIBRARIES: Final = (
    Library(
        "deflate",
        "libdeflate.h",
        "libdeflate_deflate_decompress_ex(0, 0, 0, 0, 0, 0, 0)",
        "KS_LIBDEFLATE",
    ),
    Library("snappy", "snappy-c.h", "snappy_uncompress(0, 0, 0, 0)", "KS_LIBSNAPPY"),
    Library("lz4", "lz4hc.h", "LZ4_compress_HC(0, 0, 0, 0, 0)", "KS_LIBLZ4"),
    Library("zstd", "zstd.h", "ZSTD_compressStream2(0, 0, 0, ZSTD_e_end)", "KS_LIBZSTD"),
)
"""Libraries that the extension uses where their headers are; none of them is required."""


def libraries(compiler: Sequence[str]) -> list[Library]:
    """Return the libraries that a compiler finds and links.

    Args:
        compiler: the command, as of ``cc``; empty where there is no such command.
    """
    if not compiler or sys.platform == "win32" or os.environ.get(WITHOUT) == "none":
        return []
    with tempfile.TemporaryDirectory() as folder:
        return [library for library in LIBRARIES if _links(compiler, library, Path(folder))]


def _links(compiler: Sequence[str], library: Library, folder: Path) -> bool:
    source, program = folder / f"{library.name}.c", folder / library.name
    source.write_text(
        f"#include <{library.header}>\nint main(void) {{ return (int)({library.call}); }}\n"
    )
    command = [*compiler, str(source), "-o", str(program), f"-l{library.name}"]
    try:
        return not subprocess.run(command, capture_output=True).returncode
    except OSError:
        return False
