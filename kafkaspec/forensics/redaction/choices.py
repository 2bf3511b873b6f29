"""Which records are redacted, which parts of them, and what is there afterwards."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from kafkaspec.model import Record

FILLER: Final = b"x"
_HASH: Final = hashlib.sha256
HASH_BYTES: Final = _HASH().digest_size
_INNER, _OUTER = 0x36, 0x5C
"""The bytes that HMAC combines with those of the key (RFC 2104)."""
SECRET_BYTES: Final = 32
"""Bytes of a secret that is made for one run."""
LEAST_SECRET_BYTES: Final = 16
"""A shorter secret can be found by trying all."""


class Part(StrEnum):
    """The part of a record that is redacted."""

    KEY = "key"
    VALUE = "value"
    HEADERS = "headers"
    """The values of its headers; their keys stay."""


class Way(StrEnum):
    """The replacement of redacted bytes; null stays null."""

    FILL = "fill"
    """As many bytes, all the same."""
    HASH = "hash"
    """The 32 bytes of a keyed hash (HMAC-SHA-256): equal stays equal, and unequal stays unequal."""
    EMPTY = "empty"
    """No bytes."""
    NULL = "null"
    """Null: a value becomes a tombstone, after which a cleaner removes the key."""


@dataclass(frozen=True, slots=True)
class PartMatch:
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
    where: tuple[PartMatch, ...] = ()
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
    """The changes to the parts of a chosen record.

    Attributes:
        ways: what takes the place of each part; parts that are not in it stay.
        headers: keys of the headers whose values are redacted; None for all.
        secret: key of the hashes. The same one gives the same hashes again, so that replicas agree;
            whoever has it can try values. None for a random one that nobody learns.
        pads: the secret as HMAC begins its two sums with it.

    Raises:
        ValueError: the secret is short enough to be guessed.
    """

    ways: Mapping[Part, Way]
    headers: frozenset[str] | None = None
    secret: bytes | None = field(default=None, repr=False)
    pads: bytes = field(init=False, repr=False, compare=False)
    _sums: tuple[Any, Any] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        key = secrets.token_bytes(SECRET_BYTES) if self.secret is None else self.secret
        if len(key) < LEAST_SECRET_BYTES:
            raise ValueError(
                f"a secret of {len(key)} bytes can be guessed: it needs {LEAST_SECRET_BYTES}"
            )
        if len(key) > (size := _HASH().block_size):
            key = _HASH(key).digest()
        pads = [bytes(byte ^ pad for byte in key.ljust(size, b"\0")) for pad in (_INNER, _OUTER)]
        object.__setattr__(self, "pads", b"".join(pads))
        object.__setattr__(self, "_sums", tuple(map(_HASH, pads)))

    @property
    def keeps_sizes(self) -> bool:
        """Whether all that takes the place of something has its size."""
        return all(way is Way.FILL for way in self.ways.values())

    @property
    def may_merge_keys(self) -> bool:
        """Whether unequal keys can become equal ones."""
        return self.ways.get(Part.KEY) not in (None, Way.HASH)

    def proof(self, place: str, data: bytes) -> bytes | None:
        """Return a keyed hash of what was removed from a place; None if no secret was given.

        Nobody without the secret can tell from it what was there, nor whether two places had the
        same.

        Args:
            place: names one key, value or header of all logs; see ``RedactedField.place``.
        """
        return None if self.secret is None else self._digest(place, data)

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
        return self._digest("", data)

    def _digest(self, place: str, data: bytes) -> bytes:
        # As hmac.digest, which begins with the key each time and takes three times as long.
        inner, outer = (begun.copy() for begun in self._sums)
        inner.update(place.encode() + b"\0" + data)
        outer.update(inner.digest())
        found: bytes = outer.digest()
        return found
