"""The golden partitions, and their releases as numbers."""

from __future__ import annotations

from pathlib import Path

from tests import goldens

PER_BATCH = (3, 9, 1)
"""From this version on, rebuilt indexes equal those of the broker."""
RESTARTED = ("leader-epochs", "__")
"""Scenarios whose broker was stopped and started while a segment was open."""


def numbers(version: str) -> tuple[int, ...]:
    """A version so that it can be compared."""
    return tuple(int(part) for part in version.split("."))


def partitions() -> list[Path]:
    """All golden partition directories with a segment."""
    return [path for version in goldens.VERSIONS for path in goldens.partitions(version)]
