"""How much memory the processes of a testee take, as Linux says it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")
_SESSION: Final = 3
"""Place of the session in ``stat``, counted after the name of the program."""
_RESET: Final = "5"
"""What makes Linux count the largest size from now on (since 4.0)."""


def is_known() -> bool:
    """Return whether this system says it."""
    return (_PROC / "self" / "clear_refs").exists()


def begin(session: int) -> int:
    """Return how many bytes the processes of a session have now, and count from there."""
    for process in _processes(session):
        with suppress(OSError):
            (process / "clear_refs").write_text(_RESET)
    return sum(_size(process, "VmRSS") for process in _processes(session))


def largest(session: int) -> int:
    """Return how many bytes they had at most since ``begin``."""
    return sum(_size(process, "VmHWM") for process in _processes(session))


def _processes(session: int) -> Iterator[Path]:
    for process in _PROC.iterdir():
        if process.name.isdigit():
            with suppress(OSError, ValueError, IndexError):
                stat = (process / "stat").read_text(errors="replace").rpartition(")")[2].split()
                if int(stat[_SESSION]) == session:
                    yield process


def _size(process: Path, name: str) -> int:
    """Return a number of bytes from the status of a process, 0 for one that has ended."""
    with suppress(OSError):
        for line in (process / "status").read_text(errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key == name:
                return int(value.split()[0]) << 10
    return 0
