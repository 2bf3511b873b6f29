"""The golden partitions, and their releases as numbers."""

from __future__ import annotations

from pathlib import Path

from tests import goldens


def numbers(version: str) -> tuple[int, ...]:
    """A version so that it can be compared."""
    return tuple(int(part) for part in version.split("."))


def partitions() -> list[Path]:
    """All golden partition directories with a segment."""
    return [path for version in goldens.VERSIONS for path in goldens.partitions(version)]
