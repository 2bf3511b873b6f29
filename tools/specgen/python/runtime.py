"""Shared functions of generated modules; copied unchanged to ``generated/python/runtime.py``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import lru_cache
from struct import pack

from kafkaspec.errors import KafkaSpecError, Reason, make_error

Buffer = bytes | bytearray | memoryview


def signed64(value: int) -> int:
    """Return ``value`` modulo 2**64 as a signed integer: sums and products wrap as in Java."""
    return ((value + 0x8000_0000_0000_0000) & 0xFFFF_FFFF_FFFF_FFFF) - 0x8000_0000_0000_0000


_LANE = 8
_LOW, _HIGH = 0x7FFF_FFFF_FFFF_FFFF, 0x8000_0000_0000_0000


def sums(column: Sequence[int], other: Sequence[int] | int) -> memoryview:
    """Add a column or a number to a column of signed 64-bit integers, modulo 2**64.

    All rows are one large integer each, so that no row costs an object. The highest bits of the
    rows are added apart, without a carry into the next row.
    """
    data = bytes(memoryview(column))  # type: ignore[arg-type]
    rows = len(data) // _LANE
    if isinstance(other, int):
        added = other.to_bytes(_LANE, sys.byteorder, signed=True) * rows
    else:
        added = bytes(memoryview(other))  # type: ignore[arg-type]
    low, high = _masks(rows)
    left, right = (int.from_bytes(part, sys.byteorder) for part in (data, added))
    total = ((left & low) + (right & low)) ^ ((left ^ right) & high)
    return memoryview(total.to_bytes(len(data), sys.byteorder)).cast("q")


@lru_cache(maxsize=2)
def _masks(rows: int) -> tuple[int, int]:
    low, high = (
        int.from_bytes(mask.to_bytes(_LANE, sys.byteorder) * rows, sys.byteorder)
        for mask in (_LOW, _HIGH)
    )
    return low, high


def missing(offset: int, complete: bool, path: str, spec: str) -> KafkaSpecError:
    """Return the error for a field that is cut; ``complete`` says that no more bytes can follow."""
    if complete:
        detail = "the field reaches beyond the end of the structure that holds it"
        return make_error(Reason.OVERRUN, detail, offset=offset, path=path, spec=spec)
    detail = "the input ends inside the field"
    return make_error(Reason.TRUNCATED, detail, offset=offset, path=path, spec=spec)


def invalid(offset: int, value: object, path: str, spec: str) -> KafkaSpecError:
    """Return the error for a value that the specification forbids."""
    detail = f"the value {value!r} is not allowed"
    return make_error(Reason.INVALID_VALUE, detail, offset=offset, path=path, spec=spec)


def trailing(offset: int, left: int, path: str, spec: str) -> KafkaSpecError:
    """Return the error for bytes where a structure should end."""
    detail = f"{left} bytes are left after the last field"
    return make_error(Reason.TRAILING_BYTES, detail, offset=offset, path=path, spec=spec)


def endless(offset: int, path: str, spec: str) -> KafkaSpecError:
    """Return the error for a varint whose last possible byte says that another follows."""
    detail = "the last byte that the varint may have says that another follows"
    return make_error(Reason.VARINT_TOO_LONG, detail, offset=offset, path=path, spec=spec)


def mismatch(offset: int, stored: int, computed: int, path: str, spec: str) -> KafkaSpecError:
    """Return the error for a checksum that differs from that of the bytes."""
    detail = f"the checksum is {stored:#x}, that of the bytes {computed:#x}"
    return make_error(Reason.CHECKSUM_MISMATCH, detail, offset=offset, path=path, spec=spec)


def unencodable(value: object, path: str, spec: str) -> KafkaSpecError:
    """Return the error for a value that cannot be written."""
    shown = repr(value)
    if len(shown) > 80:
        shown = f"{shown[:77]}..."
    detail = f"{shown} does not fit the field"
    return make_error(Reason.UNENCODABLE, detail, path=path, spec=spec)


def check_integer(value: object, low: int, high: int, path: str, spec: str) -> None:
    """Refuse a value that is not an integer in the range."""
    if not isinstance(value, int) or not low <= value <= high:
        raise unencodable(value, path, spec)


def check_float(value: object, path: str, spec: str) -> None:
    """Refuse a value that is not a float."""
    if not isinstance(value, float):
        raise unencodable(value, path, spec)


def check_float4(value: object, path: str, spec: str) -> None:
    """Refuse a value that is not a float, or too large for 32 bits."""
    check_float(value, path, spec)
    try:
        pack("f", value)
    except OverflowError:
        raise unencodable(value, path, spec) from None


def check_bytes(value: object, path: str, spec: str) -> None:
    """Refuse a value that is not a byte string."""
    if not isinstance(value, bytes | bytearray | memoryview):
        raise unencodable(value, path, spec)


def check_items(value: object, path: str, spec: str) -> None:
    """Refuse a value that is not an array."""
    if not isinstance(value, list | tuple):
        raise unencodable(value, path, spec)
