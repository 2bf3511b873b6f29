"""Integers of variable length, whose bytes hold seven bits each, the low ones first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

BITS: Final = {"varint32": 32, "varint64": 64, "unsigned_varint32": 32}
"""Bits of an integer, by the name of its scalar type."""

SIGNED: Final = frozenset({"varint32", "varint64"})
"""The scalar types whose integers are stored as zig-zag codes, which have a sign."""

MORE: Final = 0x80
"""The bit of a byte that another one follows."""


def longest(scalar: str) -> int:
    """Return the largest number of bytes of an integer."""
    return -(-BITS[scalar] // 7)


def code_of(groups: Iterable[int]) -> int:
    """Return the number in the bytes of an integer: itself, or its zig-zag code."""
    return sum((byte & ~MORE) << 7 * place for place, byte in enumerate(groups))
