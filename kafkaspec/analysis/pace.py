"""How much ``verify`` reads: bytes in a second, and a share of what it has read before."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Final

_UNITS: Final = {
    "B": 1, "kB": 1000, "MB": 1000**2, "GB": 1000**3,
    "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
}  # fmt: skip
_RATE: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]+)(?:/s)?")
_SHARE: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*%")


def rate_of(text: str) -> float:
    """Return the bytes in a second of a text like ``50MB/s``.

    Raises:
        ValueError: it is none; the units are listed.
    """
    found = _RATE.fullmatch(text.strip())
    if found is None or found[2] not in _UNITS or float(found[1]) <= 0:
        units = ", ".join(_UNITS)
        raise ValueError(f"{text!r} is not a rate like 50MB/s; its unit is one of {units}")
    return float(found[1]) * _UNITS[found[2]]


def share_of(text: str) -> float:
    """Return the share of a text like ``5%``: 0 to 1.

    Raises:
        ValueError: it is none.
    """
    found = _SHARE.fullmatch(text.strip())
    if found is None or not 0 <= float(found[1]) <= 100:
        raise ValueError(f"{text!r} is not a share like 5%, from 0% to 100%")
    return float(found[1]) / 100


def paced(progress: Callable[[int, str], None] | None, rate: float) -> Callable[[int, str], None]:
    """Return a function for progress that waits where more bytes were read than a rate allows."""
    begin = time.monotonic()
    taken = 0

    def advance(size: int, file: str) -> None:
        nonlocal taken
        if progress is not None:
            progress(size, file)
        taken += size
        ahead = begin + taken / rate - time.monotonic()
        if ahead > 0:
            time.sleep(ahead)

    return advance
