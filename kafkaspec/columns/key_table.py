"""The last offset of each key, as the cleaner of a broker keeps it: by the MD5 of the key.

Kafka: ``SkimpyOffsetMap``. Two keys of the same MD5 are one key, and memory does not depend on how
long keys are.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntFlag
from typing import TYPE_CHECKING, Final

from kafkaspec.codecs.native.core import Core
from kafkaspec.columns.keys import each_value
from kafkaspec.columns.memory import Columns, Layout, null_rows
from kafkaspec.layout import names

if TYPE_CHECKING:
    from typing_extensions import Buffer

DIGEST_BYTES: Final = 16
SLOT_BYTES: Final = 24
"""Bytes of a digest and an offset."""


class KeyVerdict(IntFlag):
    """The verdict of the table on a record."""

    SUPERSEDED = 1
    """A later record has its key."""
    KEYLESS = 2
    VALUELESS = 16
    AFTER = 32
    """Its offset is above the last one that the table knows."""


GONE: Final = KeyVerdict.SUPERSEDED | KeyVerdict.KEYLESS


@dataclass(frozen=True, slots=True)
class JudgedKeys:
    """The verdicts of the table on some records.

    Attributes:
        verdicts: a byte for each, see ``KeyVerdict``.
        newest: the last offset with its key, -1 for none.
    """

    verdicts: bytearray
    newest: array[int]


class KeyTable:
    """A table of keys with room for so many, and no more memory than 24 bytes for each slot."""

    def __init__(self, core: Core | None, slots: int, limit: int) -> None:
        """Make an empty table.

        Args:
            core: the extension; None does without.
            slots: number of slots.
            limit: most keys.
        """
        self._core = core
        self._limit = limit
        self._table = bytearray(SLOT_BYTES * max(slots, 1) if core is not None else 0)
        self._known: dict[bytes, int] = {}
        self._state = array("q", [0, -1])

    @property
    def keys(self) -> int:
        """Number of keys in it."""
        return self._state[0]

    @property
    def last(self) -> int:
        """Row that was put last in the last call of ``put``; -1 if none was."""
        return self._state[1]

    def put(self, columns: Columns, first: int, last: int, start: int) -> int:
        """Put the keys of some rows, those with offsets from ``start`` on.

        Args:
            columns: with offsets and keys.
            first: first row.
            last: row after the last one.
            start: lowest offset.

        Returns:
            The first row that there was no room for, or ``last``.
        """
        self._state[1] = -1
        offsets = columns.integer_column(names.OFFSET).integers
        if self._core is not None:
            digests, validity = self._digests(columns)
            done: int = self._core.module.keys_put(
                self._table, digests, validity, offsets, first, last, start, self._limit,
                self._state,
            )  # fmt: skip
            return done
        for row, digest in _digests_of(columns):
            if not first <= row < last or offsets[row] < start:
                continue
            if self.keys >= self._limit:
                return row
            self._known[digest] = offsets[row]
            self._state[:] = array("q", [len(self._known), row])
        return last

    def judge(self, columns: Columns, latest: int) -> JudgedKeys:
        """Return what happens to rows by their keys.

        Args:
            columns: with offsets, keys and values.
            latest: last offset that the table knows.
        """
        rows = columns.rows
        verdicts, newest = bytearray(rows), array("q", bytes(8 * rows))
        offsets = columns.integer_column(names.OFFSET).integers
        value = columns.bytes_column(names.VALUE)
        if self._core is not None:
            digests, validity = self._digests(columns)
            self._core.module.keys_judge(
                self._table, digests, validity, value.present, offsets, rows, latest, newest,
                verdicts,
            )  # fmt: skip
            return JudgedKeys(verdicts, newest)
        for row in range(rows):
            newest[row] = -1
            verdicts[row] = KeyVerdict.AFTER if offsets[row] > latest else KeyVerdict.KEYLESS
        for row, digest in _digests_of(columns):
            if offsets[row] <= latest:
                newest[row] = self._known.get(digest, -1)
                verdicts[row] = KeyVerdict.SUPERSEDED if offsets[row] < newest[row] else 0
        for row in null_rows(value.present, rows):
            verdicts[row] |= KeyVerdict.VALUELESS
        return JudgedKeys(verdicts, newest)

    def newest_of(self, key: bytes) -> int:
        """Return the last offset that has a key, -1 for none."""
        if self._core is None:
            return self._known.get(_digest(key), -1)
        one = array("q", [0])
        self._core.module.keys_judge(
            self._table, _digest(key), None, None, array("q", [0]), 1, 0, one, bytearray(1)
        )
        return one[0]

    def _digests(self, columns: Columns) -> tuple[bytearray, Buffer | None]:
        assert self._core is not None
        key = columns.bytes_column(names.KEY)
        made = bytearray(DIGEST_BYTES * columns.rows)
        views = columns.layout is Layout.VIEW
        sources = tuple(columns.sources) if views else (key.data or b"",)
        self._core.module.key_digests(
            columns.layout, columns.rows, key.present, key.main, sources, made
        )
        return made, key.present


def _digest(key: bytes) -> bytes:
    return hashlib.md5(key, usedforsecurity=False).digest()


def _digests_of(columns: Columns) -> Iterator[tuple[int, bytes]]:
    for row, value in each_value(columns, columns.bytes_column(names.KEY)):
        yield row, _digest(value)
