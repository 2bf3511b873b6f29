"""Unfinished outputs: which of them a run holds, and those that killed runs left.

Each run locks what it writes under a temporary name. The system releases the lock when the process
ends, however it ends, also in another container: what no process holds is a leftover.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from kafkaspec.shown import warned

try:
    import fcntl
except ImportError:  # Windows: it removes no file that is open
    fcntl = None  # type: ignore[assignment]

LOCK: Final = ".kafkaspec-lock"
"""Name of the file that is locked in a temporary directory."""
STALE_SECONDS: Final = 24 * 60 * 60
"""Where nothing can be locked, what has not changed for this long belongs to a killed run."""

_UNITS: Final = ((86400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))


class LeftoverWarning(RuntimeWarning):
    """A killed run left an unfinished output, which is removed; or a run writes the same output."""


def hold(name: Callable[[], Path]) -> IO[bytes]:
    """Create a file with a name that no file has, and lock it until it is closed."""
    while True:
        file = open(name(), "xb")  # noqa: SIM115 (the caller closes it)
        try:
            if _lock(file) is not False and os.fstat(file.fileno()).st_nlink:
                return file
        except BaseException:
            file.close()
            raise
        file.close()  # another run has taken it for a leftover before it was locked


def _lock(file: IO[bytes]) -> bool | None:
    """Lock an open file; False if another process holds it, None if there are no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return False if error.errno in (errno.EWOULDBLOCK, errno.EACCES) else None
    return True


def remove_leftovers(
    within: Path, name: str, suffix: str, inside: str | None = None, *, name_held: bool = True
) -> None:
    """Remove what killed runs left of an output, and name it with its age in a warning.

    What a live process holds stays.

    Args:
        within: directory of temporary names.
        name: how temporary names of the target begin.
        suffix: how they end.
        inside: for directories: the only entry, beside the lock. None for files.
        name_held: whether to name what stays, too.
    """
    for path in _found(within, name, suffix):
        if inside is not None and not _is_ours(path, inside):
            continue
        age = age_of(path)
        if age is None:
            continue
        gone = _remove(path, inside, age)
        if not gone and not name_held:
            continue
        if gone is None:
            text = f"{path}: another run is writing it now, to the same output"
        elif gone:
            text = f"{path}: removed, a killed run left it {age_text(age)} ago"
        else:
            text = f"{path}: a run that was killed left it {age_text(age)} ago; it stays"
        warned(text, LeftoverWarning)


def _found(within: Path, name: str, suffix: str) -> Iterator[Path]:
    """Yield the paths with temporary names of a target."""
    pattern = re.compile(re.escape(name) + r"\.[0-9a-f]{32}" + re.escape(suffix))
    with suppress(OSError):  # its writer says what is wrong with the directory
        yield from sorted(within / item for item in os.listdir(within) if pattern.fullmatch(item))


def _is_ours(path: Path, inside: str) -> bool:
    """Return whether it is a temporary directory of ours: brokers make such names too."""
    try:
        return set(os.listdir(path)) <= {LOCK, inside} and not (path / inside).is_file()
    except OSError:
        return False


def age_of(path: Path) -> float | None:
    """Return for how many seconds nothing in it has changed; None if it is gone."""
    try:
        return time.time() - max(item.stat().st_mtime for item in (path, *path.rglob("*")))
    except OSError:
        return None


def age_text(seconds: float) -> str:
    """Return an age in its largest unit: ``1 second``, ``3 hours``."""
    size, unit = next((item for item in _UNITS if seconds >= item[0]), _UNITS[-1])
    number = max(int(seconds / size), 0)
    return f"{number} {unit}" if number == 1 else f"{number} {unit}s"


def _remove(path: Path, inside: str | None, age: float) -> bool | None:
    """Remove a leftover; None if a process holds it, False if it stays for another reason."""
    stale = age >= STALE_SECONDS
    held = path if inside is None else path / LOCK
    try:
        if fcntl is None:
            held.unlink()
        else:
            with open(held, "r+b") as file:
                free = _lock(file)
                if free is False:
                    return None
                if free is None and not stale:
                    return False
                if inside is None:
                    path.unlink()
                elif (path / inside).exists():
                    shutil.rmtree(path / inside)
    except FileNotFoundError:
        if inside is not None and path.exists() and not stale:  # perhaps made just now
            return False
    except OSError as error:
        return None if fcntl is None and error.errno == errno.EACCES else False
    shutil.rmtree(path, ignore_errors=True)
    return not path.exists()
