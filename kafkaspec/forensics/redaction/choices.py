"""Which records are redacted, which parts of them, and what is there afterwards."""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from kafkaspec.model import Record

FILLER: Final = b"x"


class Part(StrEnum):
    """What of a record is redacted."""

    KEY = "key"
    VALUE = "value"
    HEADERS = "headers"
    """The values of its headers; their keys stay."""


class Way(StrEnum):
    """What is in the place of redacted bytes; null stays null."""

    FILL = "fill"
    """As many bytes, all the same."""
    HASH = "hash"
    """As many characters of a keyed hash (HMAC-SHA-256): equal bytes stay equal."""
    EMPTY = "empty"
    """No bytes."""
    NULL = "null"
    """Null: a value becomes a tombstone, after which a cleaner removes the key."""


@dataclass(frozen=True, slots=True)
class Where:
    """Records of which a part matches a regular expression.

    Attributes:
        part: the part.
        pattern: what is searched for in its bytes.
        header: key of the headers that are searched, None for all.
    """

    part: Part
    pattern: re.Pattern[bytes]
    header: str | None = None

    def matches(self, record: Record) -> bool:
        """Return whether a record matches."""
        if self.part is Part.HEADERS:
            found: Sequence[bytes | None] = [
                value for key, value in record.headers if self.header is None or key == self.header
            ]
        else:
            found = [record.key if self.part is Part.KEY else record.value]
        return any(each is not None and self.pattern.search(each) for each in found)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The records that are redacted: those of which one of these is true.

    Attributes:
        keys: their key is one of these.
        offsets: their offset is in one of these ranges.
        where: a part of them matches.
        every: all records.
    """

    keys: frozenset[bytes] = frozenset()
    offsets: tuple[range, ...] = ()
    where: tuple[Where, ...] = ()
    every: bool = False

    def has(self, record: Record) -> bool:
        """Return whether a record is chosen."""
        return (
            self.every
            or (record.key is not None and record.key in self.keys)
            or any(record.offset in each for each in self.offsets)
            or any(each.matches(record) for each in self.where)
        )


@dataclass(frozen=True, slots=True)
class Changes:
    """What is done to the parts of a chosen record.

    Attributes:
        ways: what takes the place of each part; parts that are not in it stay.
        headers: keys of the headers whose values are redacted; None for all.
        secret: key of the hashes. The same one gives the same hashes again, so that replicas agree;
            whoever has it can try values.
    """

    ways: Mapping[Part, Way]
    headers: frozenset[str] | None = None
    secret: bytes = field(default=b"", repr=False)

    def digest(self, data: bytes) -> bytes:
        """Return the hash by which a report names bytes that it does not show."""
        return hmac.digest(self.secret, data, "sha256")

    def replaced(self, part: Part, data: bytes | None) -> bytes | None:
        """Return what takes the place of some bytes."""
        way = self.ways.get(part)
        if way is None or data is None:
            return data
        if way is Way.NULL:
            return None
        if way is Way.EMPTY:
            return b""
        if way is Way.FILL:
            return FILLER * len(data)
        text = bytearray()
        block = 0
        while len(text) < len(data):
            text += self.digest(block.to_bytes(8, "big") + data).hex().encode()
            block += 1
        return bytes(text[: len(data)])
