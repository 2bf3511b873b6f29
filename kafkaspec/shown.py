"""Text that people see: sizes and durations, places without credentials, nothing that controls a
terminal, and warnings that show none of our lines."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Sequence
from typing import Final

_NAMED: Final = 5
"""Number of names in a message."""

_SIZES: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_DURATIONS: Final = (("day", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000))
"""Names of units of time, and their milliseconds; the largest first."""
_DAYS_ALONE: Final = 10
"""From so many days on, hours say nothing."""
_OURS: Final = "kafkaspec"

_QUERY = re.compile(r"(://[^\s?#'\"<>]*[?#])[^\s'\"<>]+")
_USER = re.compile(r"(://)[^\s/?#'\"<>]*@")


def without_credentials(text: str) -> str:
    """Return a path or message with ``***`` for the user, password and query of each URL in it."""
    if "://" not in text:
        return text
    return _USER.sub(r"\1***@", _QUERY.sub(r"\1***", text))


def printable(text: str) -> str:
    """Return text as one line in which nothing controls a terminal.

    Control characters, line ends, bidirectional marks, other invisible characters, and bytes of a
    file name that are not UTF-8, are escaped as Python escapes them, such as ``\\x1b``.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def some_of(names: Sequence[str]) -> str:
    """Return the first few names of a list, and how many more there are."""
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def size_text(size: float) -> str:
    """Return a number of bytes in short form, exact if it has no point: ``512 B``, ``1.5 MiB``."""
    unit = 0
    while round(size, 1) >= 1024 and unit < len(_SIZES) - 1:
        size, unit = size / 1024, unit + 1
    exact = size == int(size)
    return f"{int(size) if exact else round(size, 1)} {_SIZES[unit]}"


def duration_text(milliseconds: int) -> str:
    """Return a duration in the units that people use: ``480 ms``, ``3 h 4 min``, ``1,102 days``."""
    if milliseconds < 0:
        raise ValueError("a duration is not negative; say whose clock is ahead")
    if milliseconds < 1000:
        return f"{milliseconds} ms"
    if milliseconds < 60_000:
        return f"{milliseconds / 1000:.3f}".rstrip("0").rstrip(".") + " s"
    place, (name, each) = next(
        (place, unit) for place, unit in enumerate(_DURATIONS) if milliseconds >= unit[1]
    )
    number, rest = divmod(milliseconds, each)
    text = f"{number:,} {name}" + ("s" if name == "day" and number > 1 else "")
    if name == "day" and number >= _DAYS_ALONE:
        return text
    lower, least = _DURATIONS[place + 1]
    return f"{text} {rest // least} {lower}" if rest >= least else text


def clocks_text(milliseconds: int) -> str:
    """Return the time from a timestamp of a producer to one of a broker, which differ in clocks."""
    if milliseconds >= 0:
        return duration_text(milliseconds)
    return f"producer {duration_text(-milliseconds)} ahead"


def warned(text: str, category: type[Warning]) -> None:
    """Warn whoever called the library: the line that Python shows is theirs, never one of ours."""
    caller = frame = sys._getframe()
    while frame.f_back is not None:
        is_ours = str(frame.f_globals.get("__name__")).partition(".")[0] == _OURS
        frame = frame.f_back
        if is_ours:
            caller = frame
    known = caller.f_globals.setdefault("__warningregistry__", {})
    place = caller.f_code.co_filename, caller.f_lineno, caller.f_globals.get("__name__")
    warnings.warn_explicit(text, category, *place, known)
