"""Encode Arrow columns as Kafka batches: the reverse of ``to_batches``."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec._generated.python.model.recordbatch import CompressionType, TimestampType
from kafkaspec.arrow.schema import OWN_TYPES
from kafkaspec.codecs import Codec
from kafkaspec.columns.records import OWN
from kafkaspec.errors import Reason, make_error
from kafkaspec.layout import EntryKind
from kafkaspec.layout import names as fields
from kafkaspec.layout.kinds import CURRENT, new_message, require_kind
from kafkaspec.log.batch import CREATE_TIME, LOG_APPEND_TIME, NO_TIMESTAMP, NO_TIMESTAMP_TYPE, NONE
from kafkaspec.log.encoding import MOST_DELTA, RECORD_OVERHEAD, batch_entry, encode
from kafkaspec.model import Record

COLUMNS: Final = ("offset", "timestamp", "key", "value", "headers", "timestamp_type")
"""Columns that can be written, besides those of ``OWN_TYPES`` that the magic has. All but ``value``
are optional; the default of ``timestamp_type`` is CreateTime."""

_HEADERS: Final = pa.list_(pa.struct([("key", pa.binary()), ("value", pa.binary())]))

_TIMESTAMP_TYPES: Final = (CREATE_TIME, LOG_APPEND_TIME, NO_TIMESTAMP_TYPE)
"""Values of the column ``timestamp_type`` that can be written."""


@dataclass(frozen=True, slots=True)
class _Columns:
    """Columns of plain types; each buffer begins with the first row."""

    offset: pa.Array
    timestamp: pa.Array
    key: pa.Array
    value: pa.Array
    headers: pa.Array
    appended: pa.Array | None
    """Whether each row has LogAppendTime; None if none has."""
    header: Mapping[str, list[Any]]
    """Fields of the header that only the specification knows, by path, for each row; None for the
    default of the specification."""
    own: Mapping[str, list[Any]]
    """Such fields of records."""

    def append_time(self, row: int) -> bool:
        """Return whether a row has LogAppendTime."""
        return self.appended is not None and self.appended[row].as_py()


def encode_columns(
    batch: pa.RecordBatch,
    *,
    codec: Codec,
    magic: int,
    compression: str,
    level: int | None,
    first_offset: int | None,
    batch_bytes: int,
    leader_epoch: int,
) -> Iterator[bytes]:
    """Yield entries with the records of an Arrow record batch.

    An entry has one timestamp type, with ``LogAppendTime`` one timestamp for all its records, and
    one value of each field of its header; a change of one of them starts a new entry.

    Args:
        batch: records, in columns of ``COLUMNS``.
        codec: writes the entries; a codec with a core creates no record objects.
        magic: magic of the entries.
        compression: name of the compression.
        level: level of the compression.
        first_offset: new offset of the first record; None keeps the offsets of the column.
        batch_bytes: most bytes of records in an entry, before compression; a larger record gets a
            separate entry.
        leader_epoch: leader epoch of the entries, if their kind has one.

    Raises:
        KafkaSpecError: ``unencodable``: the offsets do not increase, or the magic cannot express a
            value, such as ``LogAppendTime`` in magic 0.
        ValueError: a column is unknown, or its type cannot be written.
    """
    kind = require_kind(magic)
    columns = _plain(batch, first_offset, kind)
    offsets = _integers(columns.offset)
    if batch.num_rows > 1 and pc.min(pc.pairwise_diff(columns.offset)).as_py() <= 0:
        raise make_error(Reason.UNENCODABLE, "the offsets of the column do not go up")
    lengths = [
        pc.fill_null(pc.binary_length(column), 0).cast(pa.int64())
        for column in (columns.key, columns.value)
    ]
    ends = _integers(_aligned(pc.cumulative_sum(pc.add(pc.add(*lengths), RECORD_OVERHEAD))))
    changes = sorted({*_changes_of_time(columns), *_changes_of_header(columns)})
    has_own = bool(columns.own or columns.header)
    start = 0
    while start < batch.num_rows:
        before = ends[start - 1] if start else 0
        stop = bisect_right(ends, before + batch_bytes, start, batch.num_rows)
        stop = bisect_left(offsets, offsets[start] + MOST_DELTA + 1, start, max(stop, start + 1))
        change = bisect_right(changes, start)
        if change < len(changes):
            stop = min(stop, changes[change])
        made = None
        if kind.has_record_sets and codec.core is not None and not has_own:
            made = _encode(columns, start, stop, kind, codec, compression, level, leader_epoch)
        if made is None:
            made = encode(
                _records(columns, start, stop),
                magic=magic,
                compression=compression,
                level=level,
                timestamp_type=LOG_APPEND_TIME if columns.append_time(start) else CREATE_TIME,
                codec=codec,
                partition_leader_epoch=leader_epoch if kind.has_leader_epochs else NONE,
                header=_given(columns.header, start) or None,
                fields=[_given(columns.own, row) for row in range(start, stop)]
                if columns.own
                else None,
            )
        yield made
        start = stop


def record_inputs(batch: pa.RecordBatch) -> dict[str, Any]:
    """Return columns of records as ``Core.encode`` takes them.

    Args:
        batch: columns of ``COLUMNS`` that need no rule: timestamps as they are to be stored.

    Raises:
        ValueError: a column cannot be written.
    """
    return _inputs(_plain(batch, None, require_kind(CURRENT)), 0, batch.num_rows)


def _changes_of_time(columns: _Columns) -> Sequence[int]:
    """Return the rows that cannot share an entry with the row before them."""
    if columns.appended is None or len(columns.appended) < 2:
        return []
    after, before = columns.appended.slice(1), columns.appended.slice(0, len(columns.appended) - 1)
    other = pc.not_equal(columns.timestamp.slice(1), columns.timestamp.slice(0, len(before)))
    changes = pc.or_(pc.xor(after, before), pc.and_(after, other))
    return _integers(pc.add(pc.indices_nonzero(changes).cast(pa.int64()), 1))


def _changes_of_header(columns: _Columns) -> Iterator[int]:
    """Yield the rows that have other fields of the header than the row before them."""
    for values in columns.header.values():
        for row, (before, after) in enumerate(pairwise(values), 1):
            if before != after:
                yield row


def _given(columns: Mapping[str, list[Any]], row: int) -> dict[str, Any]:
    """Return the fields that a row gives a value."""
    return {path: values[row] for path, values in columns.items() if values[row] is not None}


def _encode(
    columns: _Columns,
    start: int,
    stop: int,
    kind: EntryKind,
    codec: Codec,
    compression: str,
    level: int | None,
    leader_epoch: int,
) -> bytes | None:
    """Encode one batch in C; None if it has to go through records, which report what is wrong."""
    packed = CompressionType[compression.upper()]
    base_offset = columns.offset[start].as_py()
    header = {
        fields.BASE_OFFSET: base_offset,
        fields.TIMESTAMP_TYPE: TimestampType(int(columns.append_time(start))),
        fields.COMPRESSION: packed,
        fields.LAST_OFFSET_DELTA: columns.offset[stop - 1].as_py() - base_offset,
        fields.BASE_TIMESTAMP: columns.timestamp[start].as_py(),
        fields.MAX_TIMESTAMP: pc.max(columns.timestamp.slice(start, stop - start)).as_py(),
        kind.count: stop - start,
        kind.payload: b"",
    }
    if kind.has_leader_epochs:
        header[fields.LEADER_EPOCH] = leader_epoch
    batch = new_message(kind, header)
    inputs = _inputs(columns, start, stop)
    made = codec.encode_columns(batch, stop - start, inputs, whole=not packed)
    return made if made is None or not packed else batch_entry(batch, made, codec, level)


def _inputs(columns: _Columns, start: int, stop: int) -> dict[str, Any]:
    """Return rows of the columns as a codec takes them."""
    items = columns.headers.values
    key, value = (_octets(items.field(name), 0, len(items)) for name in ("key", "value"))
    return {
        fields.OFFSET: _integers(columns.offset)[start:stop],
        fields.TIMESTAMP: _integers(columns.timestamp)[start:stop],
        fields.KEY: _octets(columns.key, start, stop),
        fields.VALUE: _octets(columns.value, start, stop),
        fields.HEADERS: memoryview(columns.headers.buffers()[1]).cast("i")[start : stop + 1],
        fields.HEADER_KEY: key,
        fields.HEADER_VALUE: value,
    }


def _octets(array: pa.Array, start: int, stop: int) -> tuple[Any, Any, Any]:
    """Return validity, offsets and bytes of some rows."""
    part = array.slice(start, stop - start)
    validity = _aligned(pc.is_valid(part)).buffers()[1] if part.null_count else None
    _, offsets, data = array.buffers()
    if offsets is None:
        return validity, bytes(4), b""
    return validity, memoryview(offsets).cast("i")[start : stop + 1], data or b""


def _integers(array: pa.Array) -> memoryview:
    buffer = array.buffers()[1]
    return memoryview(buffer if buffer is not None else b"").cast("q")[: len(array)]


def _own(batch: pa.RecordBatch, kind: EntryKind, of_batch: bool) -> dict[str, list[Any]]:
    """Return the fields that only the specification knows, by path.

    Raises:
        KafkaSpecError: ``unencodable``: the magic has no place for one.
    """
    found = {}
    for name in batch.schema.names:
        if name not in OWN_TYPES or OWN[name].of_batch != of_batch:
            continue
        column = batch.column(name)
        if kind.magic in OWN[name].fields:
            found[OWN[name].path] = column.to_pylist()
        elif column.null_count < len(column):
            detail = f"magic {kind.magic} has no place for {name}"
            raise make_error(Reason.UNENCODABLE, detail)
    return found


def _plain(batch: pa.RecordBatch, first_offset: int | None, kind: EntryKind) -> _Columns:
    """Return the columns in the types that the core takes."""
    rows = batch.num_rows
    unknown = [name for name in batch.schema.names if name not in (*COLUMNS, *OWN_TYPES)]
    if unknown:
        raise ValueError(f"columns that cannot be written: {', '.join(unknown)}")
    given = {name: batch.column(name) for name in batch.schema.names}
    if first_offset is not None:
        given["offset"] = pa.array(range(first_offset, first_offset + rows), pa.int64())
    elif "offset" not in given:
        raise ValueError("without a column offset, offsets have to be assigned")
    elif given["offset"].null_count:
        raise ValueError(f"column offset is null in {given['offset'].null_count} rows")

    def column(name: str, kind: pa.DataType) -> pa.Array:
        try:
            return _aligned(given[name].cast(kind)) if name in given else pa.nulls(rows, kind)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise ValueError(f"column {name} cannot be written: {error}") from None

    stamps = given.get("timestamp")
    if stamps is not None and pa.types.is_timestamp(stamps.type):
        given["timestamp"] = stamps.cast(pa.timestamp("ms", stamps.type.tz))
    headers = column("headers", _HEADERS)
    pairs = headers.flatten()
    if pairs.null_count or pc.struct_field(pairs, "key").null_count:
        raise ValueError("column headers has a header without a key")
    if headers.null_count or "headers" not in given or not len(headers):
        headers = _without_nulls(headers)
    return _Columns(
        offset=column("offset", pa.int64()),
        timestamp=_aligned(pc.fill_null(column("timestamp", pa.int64()), NO_TIMESTAMP)),
        key=column("key", pa.binary()),
        value=column("value", pa.binary()),
        headers=headers,
        appended=_appended(given.get("timestamp_type")),
        header=_own(batch, kind, of_batch=True),
        own=_own(batch, kind, of_batch=False),
    )


def _without_nulls(lists: pa.Array) -> pa.Array:
    """Return lists, of which the null ones are empty."""
    items = lists.flatten()  # of lists that are not null
    lengths = pc.fill_null(pc.list_value_length(lists), 0)
    ends = pc.cumulative_sum(lengths).cast(pa.int32())
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends])
    return pa.ListArray.from_arrays(offsets, pa.concat_arrays([items, items.slice(0, 0)]))


def _appended(types: pa.Array | None) -> pa.Array | None:
    """Return whether each row has LogAppendTime; None if none has."""
    if types is None:
        return None
    names = types.cast(pa.string())
    known = pa.array(_TIMESTAMP_TYPES)
    unknown = pc.filter(names, pc.invert(pc.is_in(names, known, skip_nulls=False)))
    if len(unknown):
        listed = ", ".join(_TIMESTAMP_TYPES)
        raise ValueError(f"column timestamp_type has {unknown[0]}; there are {listed}")
    appended = pc.equal(names, LOG_APPEND_TIME)
    return appended if pc.any(appended).as_py() else None


def _aligned(array: pa.Array) -> pa.Array:
    """Return the same values in buffers that begin with the first of them."""
    if not array.offset:
        return array
    return pa.concat_arrays([array, array.slice(0, 0)])


def _records(columns: _Columns, start: int, stop: int) -> list[Record]:
    parts = [
        column.slice(start, stop - start).to_pylist()
        for column in (columns.offset, columns.timestamp, columns.key, columns.value)
    ]
    headers = [
        tuple((pair["key"].decode("utf-8", "surrogateescape"), pair["value"]) for pair in item)
        for item in columns.headers.slice(start, stop - start).to_pylist()
    ]
    return [Record(*row) for row in zip(*parts, headers, strict=True)]
