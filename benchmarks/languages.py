"""Our readers in C, Rust and Go: programs that read a segment as often as they are asked to."""

from __future__ import annotations

import ctypes
import shutil
import time
from pathlib import Path
from typing import Final

from benchmarks.java import MissingError, Program
from kafkaspec.extension import FLAGS
from tools.brokers.maven import MissingToolError, find_tool, run
from tools.native.single import SOURCE, files
from tools.readers import go, rust

HERE: Final = Path(__file__).with_name("languages")
_NAME: Final = "read_records"
_CARGO: Final = rust.ROOT / "build" / "readers" / "rust"
"""Where libraries are compiled once for all runs."""
_NO_LIBRARY: Final = 3
"""Exit code of a program that has no library for a compression."""


def _c(work: Path, quick: bool) -> None:
    for name, text in files().items():
        (work / name).write_text(text, encoding="utf-8")
    source = str(HERE / f"{_NAME}.c")
    run(
        find_tool("cc", "a C compiler"), *FLAGS, f"-I{work}", source, str(work / SOURCE), "-ldl",
        "-o", str(work / _NAME),
    )  # fmt: skip


def _rust(work: Path, quick: bool) -> None:
    cargo = find_tool("cargo", "Rust")
    rust.assemble(work)
    shutil.copy(HERE / f"{_NAME}.rs", work / "examples")
    run(
        cargo, "build", "--quiet", "--locked", *([] if quick else ["--release"]),
        "--example", _NAME, "--target-dir", str(_CARGO), cwd=work,
    )  # fmt: skip
    made = _CARGO / ("debug" if quick else "release") / "examples" / _NAME
    shutil.copy(made, work / _NAME)


def _go(work: Path, quick: bool) -> None:
    program = find_tool("go", "Go")
    go.put_together(work)
    folder = work / "program"
    folder.mkdir()
    shutil.copy(HERE / f"{_NAME}.go", folder)
    run(program, "build", "-mod=readonly", "-o", _NAME, f"./{folder.name}", cwd=work)


BUILDERS: Final = {"C": _c, "Rust": _rust, "Go": _go}


def build(language: str, work: Path, quick: bool) -> Path:
    """Compile the program in a language, and return its path.

    Args:
        language: one of ``BUILDERS``.
        work: an empty directory.
        quick: without the optimizer, where that is faster.

    Raises:
        MissingError: the compiler is not installed.
        ToolError: it fails.
    """
    try:
        BUILDERS[language](work, quick)
    except MissingToolError as error:
        raise MissingError(str(error)) from None
    return work / _NAME


class Reader(Program):
    """A program with a segment in its memory, and how long a pass over it took.

    Attributes:
        seconds: CPU time of all threads of the program in the last pass.
        sum: of what that pass touched.
    """

    def __init__(self, program: Path, path: Path) -> None:
        super().__init__([program, path])
        self._clock = _cpu_clock(self._process.pid)
        self.seconds = 0.0
        self.sum = 0

    def read(self) -> int:
        """One pass over the segment; the number of records.

        Raises:
            MissingError: the program has no library for the compression.
            RuntimeError: it ended for another reason.
        """
        before = time.clock_gettime(self._clock)
        answer = self.ask()
        if not answer:
            text, code = self.ended()
            missing = code == _NO_LIBRARY
            raise MissingError(text.strip()) if missing else RuntimeError(text.strip())
        self.seconds = time.clock_gettime(self._clock) - before
        records, self.sum = (int(word) for word in answer)
        return records


def _cpu_clock(process: int) -> int:
    """The clock of the CPU time that a process has used."""
    clock = ctypes.c_int()
    failed = ctypes.CDLL(None).clock_getcpuclockid(process, ctypes.byref(clock))
    if failed:
        raise OSError(failed, "no clock of the CPU time of a process")
    return clock.value
