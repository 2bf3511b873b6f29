"""Rows of the tables as entries of a log again: the one way, for proofs and for restored logs."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkaspec import compression as compressions
from kafkaspec.arrow.encoding import record_inputs
from kafkaspec.codecs import get_codec
from kafkaspec.codecs.native.core import Core
from kafkaspec.codecs.native.scan import blank_table, header_size, put_headers, put_payloads
from kafkaspec.conversion.fields import own_fields
from kafkaspec.conversion.regrouped import packed
from kafkaspec.errors import KafkaSpecError
from kafkaspec.lake.attributes import part_of, parts_of
from kafkaspec.layout import EntryKind, names
from kafkaspec.layout.kinds import KINDS
from kafkaspec.log.batch import CREATE_TIME, LOG_APPEND_TIME, NO_TIMESTAMP, NONE
from kafkaspec.log.encoding import encode
from kafkaspec.model import Buffer, Record

_MILLISECONDS: Final = pa.timestamp("ms", tz="UTC")
HEADER_COLUMNS: Final = {
    "base_offset": names.BASE_OFFSET,
    "leader_epoch": names.LEADER_EPOCH,
    "base_timestamp": names.BASE_TIMESTAMP,
    "max_timestamp": names.MAX_TIMESTAMP,
    "producer_id": names.PRODUCER_ID,
    "producer_epoch": names.PRODUCER_EPOCH,
    "base_sequence": names.BASE_SEQUENCE,
}
"""Columns of ``batches`` that are fields of a header."""


class HeaderRows:
    """Rows of the table ``batches``, one for each entry in the order of the file.

    Attributes:
        table: the rows.
        magic, attributes, records: columns of it.
        rows: how many rows of ``raw`` each entry has.
    """

    def __init__(self, table: pa.RecordBatch) -> None:
        """Read the columns."""
        self.table = table
        self.magic = self.column("magic")
        self.attributes = self.column("attributes")
        self.records = self.column("records")
        self.rows = self.records * (self.part(names.IS_CONTROL) == 0)

    def __len__(self) -> int:
        return len(self.table)

    def column(self, name: str) -> NDArray[np.int64]:
        """Return a column of numbers, -1 for null."""
        values = pc.fill_null(self.table.column(name).cast(pa.int64()), NONE)
        return np.asarray(values.to_numpy(zero_copy_only=False), np.int64)

    def part(self, name: str) -> NDArray[np.int64]:
        """Return a part of the attributes."""
        found = np.zeros(len(self), np.int64)
        for magic in set(self.magic.tolist()) & KINDS.keys():
            found = np.where(self.magic == magic, part_of(name, magic, self.attributes), found)
        return found

    def flags(self, name: str) -> NDArray[np.bool_]:
        """Return a column of truth values, false for null."""
        values = pc.fill_null(self.table.column(name), False)
        return np.asarray(values.to_numpy(zero_copy_only=False), np.bool_)

    def filter(self, mask: NDArray[np.bool_]) -> HeaderRows:
        """Return the rows where a mask is true."""
        return HeaderRows(self.table.filter(pa.array(mask)))

    def slice(self, first: int, last: int) -> HeaderRows:
        """Return some of the rows."""
        return HeaderRows(self.table.slice(first, last - first))


def stored_timestamps(rows: pa.RecordBatch) -> pa.Array:
    """Return the timestamps of rows of ``raw`` as they are stored, in ms."""
    shown = rows.column("timestamp").cast(_MILLISECONDS).cast(pa.int64())
    return pc.coalesce(rows.column("own_timestamp"), shown, NO_TIMESTAMP)


def encoded_entries(headers: HeaderRows, rows: pa.RecordBatch) -> list[Buffer | None]:
    """Return entries as their headers and records say, None for one that cannot be written.

    Compressed ones are compressed with Kafka's defaults.

    Args:
        headers: the entries.
        rows: the rows of ``raw`` of these entries, in their order.
    """
    found: list[Buffer | None] = []
    ends = headers.rows.cumsum().tolist()
    for first, last, kind in _runs(headers):
        start = ends[first - 1] if first else 0
        some = rows.slice(start, ends[last - 1] - start)
        if kind is None:
            found += [None] * (last - first)
        else:
            found += _Run(headers.slice(first, last), some, kind).entries()
    return found


def _runs(headers: HeaderRows) -> Iterator[tuple[int, int, EntryKind | None]]:
    """Yield the entries that are written together, with their kind; None for what cannot be."""
    written = (headers.records == 0) | (headers.rows > 0)
    codecs = headers.part(names.COMPRESSION)
    for magic in KINDS:
        for codec in set(codecs.tolist()):
            if not compressions.is_coded(codec, magic):
                written &= (headers.magic != magic) | (codecs != codec)
    magics = np.where(written, headers.magic, NONE)
    changes = (np.flatnonzero(magics[1:] != magics[:-1]) + 1).tolist()
    for first, last in pairwise([0, *changes, len(headers)] if len(headers) else []):
        yield first, last, KINDS.get(int(magics[first]))


class _Run:
    """Entries of one kind, and their rows."""

    def __init__(self, headers: HeaderRows, rows: pa.RecordBatch, kind: EntryKind) -> None:
        self._headers = headers
        self._rows = rows
        self._kind = kind

    def entries(self) -> list[Buffer | None]:
        """Return the entries."""
        kind, core = self._kind, get_codec().core
        if kind.has_record_sets and core is not None and header_size(core, kind):
            return self._in_c(core)
        return self._one_by_one()

    def _in_c(self, core: Core) -> list[Buffer | None]:
        made = self._batches(core)
        if made is not None:
            return made
        count = len(self._headers)
        if count == 1:
            return [None]
        half, at = count // 2, int(self._headers.rows[: count // 2].sum())
        first = _Run(self._headers.slice(0, half), self._rows.slice(0, at), self._kind)
        second = _Run(self._headers.slice(half, count), self._rows.slice(at), self._kind)
        return [*first._in_c(core), *second._in_c(core)]

    def _batches(self, core: Core) -> list[Buffer | None] | None:
        """Return batches; None if a number of one does not fit."""
        headers, rows, kind = self._headers, self._rows, self._kind
        if headers.rows.sum() != len(rows) or (headers.rows != headers.records).any():
            return None
        table = blank_table(core, len(headers))
        columns: dict[str, Any] = {
            field.name: int(field.default) for field in own_fields(kind).header
        }
        columns |= {name: headers.column(column) for column, name in HEADER_COLUMNS.items()}
        delta = headers.column("last_offset") - columns[names.BASE_OFFSET]
        columns |= {names.LAST_OFFSET_DELTA: delta, kind.count: headers.records}
        for part in parts_of(kind.magic):
            columns[part.name] = part_of(part.name, kind.magic, headers.attributes)
        for name in columns.keys() & set(table.names):
            _fill(table.column(name), columns[name])
        firsts = array("q", [0, *headers.rows.cumsum().tolist()])
        columns_of_records = {
            "offset": rows.column("offset"),
            "timestamp": stored_timestamps(rows),
            **{name: rows.column(name) for name in ("key", "value", "headers")},
        }
        inputs = record_inputs(pa.RecordBatch.from_pydict(columns_of_records))
        made = put_payloads(core, kind, table, firsts, len(rows), inputs)
        if made is None:
            return None
        data, ends = made
        if any(table.column(names.COMPRESSION)):
            data, ends = packed(core, memoryview(data), ends, kind, table, None)
        if put_headers(core, kind, table, data, ends) < len(headers):
            return None
        view = memoryview(data)
        return [view[start:end] for start, end in pairwise([0, *ends])]

    def _one_by_one(self) -> list[Buffer | None]:
        headers = self._headers
        columns = {name: headers.column(name).tolist() for name in (*HEADER_COLUMNS, "last_offset")}
        for part in parts_of(self._kind.magic):
            found = part_of(part.name, self._kind.magic, headers.attributes)
            columns[part.name] = found.tolist()
        records, at, made = _records(self._rows), 0, []
        for number, count in enumerate(headers.rows.tolist()):
            header = {name: column[number] for name, column in columns.items()}
            made.append(self._entry(header, records[at : at + count]))
            at += count
        return made

    def _entry(self, header: dict[str, int], records: Sequence[Record]) -> Buffer | None:
        kind = self._kind
        given: dict[str, Any] = {name: header.pop(name) for name in _GIVEN}
        if not kind.has_record_sets:
            del given["base_timestamp"], given["last_offset"]
        codec = compressions.NAMES[header.pop(names.COMPRESSION)]
        appended = header.pop(names.TIMESTAMP_TYPE)
        fields = {HEADER_COLUMNS.get(name, name): value for name, value in header.items()}
        try:
            return encode(
                records,
                magic=kind.magic,
                compression=codec,
                timestamp_type=LOG_APPEND_TIME if appended else CREATE_TIME,
                header={name: fields[name] for name in fields.keys() & kind.header},
                **given,
            )
        except KafkaSpecError:
            return None


_GIVEN: Final = ("base_offset", "last_offset", "base_timestamp", "max_timestamp")
"""Columns of ``batches`` that are arguments of ``encode``."""


def _records(rows: pa.RecordBatch) -> list[Record]:
    """Return rows of ``raw`` as records, with the timestamps that are stored."""
    columns = [rows.column(name).to_pylist() for name in ("offset", "key", "value", "headers")]
    stamps = stored_timestamps(rows).to_pylist()
    return [
        Record(offset, stamp, key, value, tuple((h["key"], h["value"]) for h in headers or ()))
        for offset, key, value, headers, stamp in zip(*columns, stamps, strict=True)
    ]


def _fill(column: memoryview, values: Any) -> None:
    """Put numbers into a column of a table of headers."""
    np.frombuffer(column, np.int64)[:] = values
