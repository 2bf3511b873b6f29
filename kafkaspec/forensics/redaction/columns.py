"""Redact all records of many batches at a time, in columns.

Only regular batches are written here; all others go one by one through ``redacted_entry``, which
implements the rules and raises the errors. Both write the same bytes.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, Final, NamedTuple

from kafkaspec import compression as compressions
from kafkaspec.codecs import Codec
from kafkaspec.codecs.native.core import Core
from kafkaspec.codecs.native.scan import (
    EntryTable,
    blank_table,
    header_size,
    intact,
    put_headers,
    put_payloads,
    scan,
)
from kafkaspec.columns.memory import Columns, Layout, null_rows
from kafkaspec.columns.reader import Reader
from kafkaspec.columns.wanted import POSITION, SIZE, Wanted
from kafkaspec.conversion.fields import holds_only
from kafkaspec.conversion.message_columns import RecordRows
from kafkaspec.conversion.ranges import KNOWN
from kafkaspec.conversion.regrouped import packed, record_defaults
from kafkaspec.errors import KafkaSpecError
from kafkaspec.forensics.redaction.choices import FILLER, HASH_BYTES, Changes, Part, Way
from kafkaspec.layout import EntryKind, names
from kafkaspec.layout.framing import checksum_of
from kafkaspec.layout.kinds import KINDS
from kafkaspec.log.segment import Segment

RANGE_BYTES: Final = 4 << 20
"""Bytes of batches that are redacted at a time."""

_OF: Final = {
    Part.KEY: names.KEY,
    Part.VALUE: names.VALUE,
    Part.HEADERS: names.HEADER_VALUE,
}
_Column = tuple[Any, memoryview, Any]
"""Validity or None, offsets, and bytes."""


class RedactedRange(NamedTuple):
    """Batches that are written again: their bytes, and how many batches, records and parts."""

    data: Any
    batches: int
    records: int
    fields: int
    is_compressed: bool


@dataclass(frozen=True, slots=True)
class ColumnRedaction:
    """Redacts all records.

    Attributes:
        codec: the native codec.
        changes: to all headers, if to any.
    """

    codec: Codec
    core: Core
    changes: Changes

    def ranges(self, data: memoryview, most: int) -> Iterator[RedactedRange]:
        """Yield the first batches of some bytes, up to one that has to go another way.

        Args:
            data: batches.
            most: most bytes that one may decompress to.
        """
        core = self.core
        table = scan(core, data)
        kind = KINDS.get(table.column(names.MAGIC)[0]) if table.count else None
        if kind is None or not kind.has_record_sets or not header_size(core, kind):
            return
        expected, count = record_defaults(core, kind), _regular(core, kind, table, data)
        if expected is None or not count:
            return
        end = table.column(POSITION)[count - 1] + table.column(SIZE)[count - 1]
        part = Segment(data[:end], codec=self.codec, crc="ignore", max_output=most)
        wanted = (names.OFFSET, names.TIMESTAMP, names.KEY, names.VALUE, names.HEADERS, *expected)
        memory = core.module.memory
        done = 0
        try:
            for columns in Reader(part, wanted, Wanted(), layout=Layout.BINARY, allocate=memory):
                made = self._range(kind, table, columns, done, count, expected)
                if made is None:
                    return
                yield made
                done += made.batches
        except KafkaSpecError:
            return  # the way of entries raises it

    def _range(
        self,
        kind: EntryKind,
        table: EntryTable,
        columns: Columns,
        done: int,
        count: int,
        expected: Mapping[str, Any],
    ) -> RedactedRange | None:
        core = self.core
        if columns.layout is not Layout.BINARY or columns.cut or columns.entry is not None:
            return None
        bounds = array("q", [0])
        for size in table.column(kind.count)[done:count]:
            if bounds[-1] == columns.rows:
                break
            bounds.append(bounds[-1] + size)
        if bounds[-1] != columns.rows or not columns.rows:
            return None
        if not holds_only(core, columns.columns, columns.rows, expected):
            return None
        rows = RecordRows(core, columns.columns, columns.rows)
        found = self._replaced(rows)
        if found is None:
            return None
        inputs, flags, fields = found
        if any(not any(flags[first:last]) for first, last in pairwise(bounds)):
            return None  # one of which nothing is redacted, and which stays as it is
        batches = len(bounds) - 1
        headers = blank_table(core, batches)
        for name in table.names:
            headers.column(name)[:] = table.column(name)[done : done + batches]
        payloads = put_payloads(core, kind, headers, bounds, rows.rows, inputs)
        if payloads is None:
            return None
        data, ends = payloads
        is_compressed = any(headers.column(names.COMPRESSION))
        if is_compressed:
            data, ends = packed(core, memoryview(data), ends, kind, headers, None)
        if put_headers(core, kind, headers, data, ends) < batches:
            return None
        return RedactedRange(data, batches, flags.count(1), fields, is_compressed)

    def _replaced(self, rows: RecordRows) -> tuple[dict[str, Any], bytes, int] | None:
        """Return the columns to write, a one for each row that is redacted, and all parts."""
        inputs = dict(rows.inputs)
        flags, fields = 0, 0
        for part, way in self.changes.ways.items():
            name = _OF[part]
            if name not in inputs:
                return None
            column: _Column = inputs[name]
            there = _there(column, way)
            fields += there.count(1)
            if part is Part.HEADERS:
                there = _by_row(there, inputs[names.HEADERS])
            flags |= int.from_bytes(there, "little")
            inputs[name] = self._new(column, way)
        return inputs, flags.to_bytes(rows.rows, "little"), fields

    def _new(self, column: _Column, way: Way) -> _Column:
        validity, ends, data = column
        count = len(ends) - 1
        if way is Way.FILL:
            return validity, ends, FILLER * ends[-1]
        if way is Way.EMPTY:
            return validity, memoryview(array("i", bytes(4 * len(ends)))), b""
        if way is Way.NULL:
            return bytes((count + 7) // 8), memoryview(array("i", bytes(4 * len(ends)))), b""
        made = self.core.module.hashes(self.changes.pads, count, validity, ends, data or b"")
        sizes = [HASH_BYTES] * count
        for row in null_rows(validity, count):
            sizes[row] = 0
        return validity, memoryview(array("i", accumulate(sizes, initial=0))), made


def _regular(core: Core, kind: EntryKind, table: EntryTable, data: memoryview) -> int:
    """Return how many of the first batches can be written here."""
    coded = {codec for codec in KNOWN if not codec or compressions.is_coded(codec, kind.magic)}
    columns = (names.MAGIC, names.COMPRESSION, names.IS_CONTROL, names.TIMESTAMP_TYPE, kind.count)
    count = 0
    for magic, codec, control, append, rows in zip(*map(table.column, columns), strict=True):
        # Deltas of an append time are not those of timestamps.
        if magic != kind.magic or codec not in coded or control or append or not rows:
            break
        count += 1
    places, sizes = table.column(POSITION)[:count], table.column(SIZE)[:count]
    stored = table.column(checksum_of(kind.key).field)
    return intact(core, kind, data, places, sizes, stored)


def _there(column: _Column, way: Way) -> bytes:
    """Return a one for each value that is redacted: no null, nor nothing that stays so."""
    validity, ends, _ = column
    if way in (Way.FILL, Way.EMPTY):
        return bytes(start != end for start, end in pairwise(ends))
    found = bytearray(b"\1") * (len(ends) - 1)
    for row in null_rows(validity, len(found)):
        found[row] = 0
    return bytes(found)


def _by_row(there: bytes, lists: memoryview) -> bytes:
    """Return a one for each row that has a one among its items."""
    before = list(accumulate(there, initial=0))
    return bytes(before[start] != before[end] for start, end in pairwise(lists))
