"""Releases of Kafka as text and as numbers, which compare in order."""

from __future__ import annotations

import re
from typing import Final

Release = tuple[int, ...]
"""The numbers of a release: ``(4, 3)`` or ``(2, 8, 2)``."""

_RELEASE: Final = re.compile(r"[0-9]{1,4}(\.[0-9]{1,4}){1,3}", re.ASCII)


def parse_release(text: str) -> Release:
    """Return the numbers of a release.

    Raises:
        ValueError: the text is not a release.
    """
    if not _RELEASE.fullmatch(text):
        raise ValueError(f"{text!r} is not a release of Kafka, such as 4.3 or 2.8.2")
    return tuple(map(int, text.split(".")))


def minor_of(text: str) -> Release:
    """Return the first two numbers of a release, which decide the layouts of its messages.

    Raises:
        ValueError: the text is not a release.
    """
    return parse_release(text)[:2]


def release_text(release: Release) -> str:
    """Return the numbers of a release as text."""
    return ".".join(map(str, release))
