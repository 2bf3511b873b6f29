"""Fields that follow from others, which writers compute: counts, lengths, checksums."""

from __future__ import annotations

from collections.abc import Mapping
from types import EllipsisType
from typing import Any

from construct import Subconstruct  # type: ignore[import-untyped]

from kafkaspec import checksum


class Count:
    """The number of items of the array ``field``, plus a constant."""

    def __init__(self, field: str, *, plus: int = 0) -> None:
        self.field = field
        self.plus = plus

    def of(self, fields: Mapping[str, Any]) -> int:
        """The number, for the values of a structure; what is not an array counts as empty."""
        items = fields.get(self.field)
        return (len(items) if isinstance(items, list | tuple) else 0) + self.plus


class Span:
    """A function of the bytes of some fields.

    Args:
        first: the first of the fields, the only one without ``last``.
        last: the last of them, ``...`` for all up to the end of the structure.
        plus: is added to a length.
    """

    def __init__(self, first: str, last: str | EllipsisType | None = None, plus: int = 0) -> None:
        self.first = first
        self.last = last
        self.plus = plus

    def of(self, pieces: Mapping[str, bytes | None]) -> bytes | None:
        """The bytes of the fields, None while one of them is not known."""
        names = list(pieces)
        start = names.index(self.first)
        stop = start if self.last is None else len(names) - 1
        if isinstance(self.last, str):
            stop = names.index(self.last)
        parts = [pieces[name] for name in names[start : stop + 1]]
        known = [part for part in parts if part is not None]
        return b"".join(known) if len(known) == len(parts) else None

    def value(self, data: bytes) -> int:
        """The value that the bytes give."""
        raise NotImplementedError


class Length(Span):
    """Size in bytes, plus a constant."""

    def value(self, data: bytes) -> int:
        return len(data) + self.plus


class Crc32(Span):
    """CRC-32 (IEEE)."""

    def value(self, data: bytes) -> int:
        return checksum.crc32(data)


class Crc32c(Span):
    """CRC-32C (Castagnoli)."""

    def value(self, data: bytes) -> int:
        return checksum.crc32c(data)


class Derived(Subconstruct):  # type: ignore[misc]
    """A field that writers compute: ``Derived(Length("body"), Field(...))``.

    With ``_raw=True`` a value that is given is written instead.
    """

    def __init__(self, function: Count | Span, subcon: Any) -> None:
        super().__init__(subcon)
        self.function = function
