"""Text that people see: places without credentials, and nothing that controls a terminal."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_NAMED: Final = 5
"""Number of names in a message."""

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
