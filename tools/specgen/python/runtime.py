"""What generated modules share; copied as it stands to ``generated/python/runtime.py``."""

from __future__ import annotations

from kafkaspec.errors import KafkaSpecError, Reason, make_error

Buffer = bytes | bytearray | memoryview


def signed64(value: int) -> int:
    """``value`` modulo 2**64 as a signed integer: sums and products wrap around as in Java."""
    return ((value + 0x8000_0000_0000_0000) & 0xFFFF_FFFF_FFFF_FFFF) - 0x8000_0000_0000_0000


def missing(offset: int, complete: bool, path: str, spec: str) -> KafkaSpecError:
    """The bytes of a field end too early: for now, or for good where the end is known."""
    if complete:
        detail = "the field reaches beyond the end of the structure that holds it"
        return make_error(Reason.OVERRUN, detail, offset=offset, path=path, spec=spec)
    detail = "the input ends inside the field"
    return make_error(Reason.TRUNCATED, detail, offset=offset, path=path, spec=spec)


def invalid(offset: int, value: object, path: str, spec: str) -> KafkaSpecError:
    """A value that the specification forbids."""
    detail = f"the value {value!r} is not allowed"
    return make_error(Reason.INVALID_VALUE, detail, offset=offset, path=path, spec=spec)


def trailing(offset: int, left: int, path: str, spec: str) -> KafkaSpecError:
    """Bytes where a structure should end."""
    detail = f"{left} bytes are left behind the last field"
    return make_error(Reason.TRAILING_BYTES, detail, offset=offset, path=path, spec=spec)


def endless(offset: int, path: str, spec: str) -> KafkaSpecError:
    """A varint whose last possible byte says that another follows."""
    detail = "the last byte that the varint may have says that another follows"
    return make_error(Reason.VARINT_TOO_LONG, detail, offset=offset, path=path, spec=spec)


def unencodable(value: object, path: str, spec: str) -> KafkaSpecError:
    """A value that cannot be written."""
    shown = repr(value)
    if len(shown) > 80:
        shown = f"{shown[:77]}..."
    detail = f"{shown} does not fit the field"
    return make_error(Reason.UNENCODABLE, detail, path=path, spec=spec)


def check_integer(value: object, low: int, high: int, path: str, spec: str) -> None:
    """Refuse what is not an integer of that range."""
    if not isinstance(value, int) or not low <= value <= high:
        raise unencodable(value, path, spec)


def check_bytes(value: object, path: str, spec: str) -> None:
    """Refuse what is not a byte string."""
    if not isinstance(value, bytes | bytearray | memoryview):
        raise unencodable(value, path, spec)


def check_items(value: object, path: str, spec: str) -> None:
    """Refuse what is not an array."""
    if not isinstance(value, list | tuple):
        raise unencodable(value, path, spec)
