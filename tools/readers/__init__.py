"""Readers in other languages: a generated part, and what each language has above it by hand."""

from __future__ import annotations

from typing import Final

from kafkaspec import __version__

VERSION: Final = "@VERSION@"
"""Placeholder for the version in files written by hand."""


def semantic_version() -> str:
    """Return our version as Cargo and Go have it: three numbers, and what precedes a release."""
    numbers = __version__.split(".")
    final = ".".join(numbers[:3])
    return final if len(numbers) == 3 else f"{final}-{'.'.join(numbers[3:])}"
