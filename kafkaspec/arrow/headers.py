"""The headers of all batches as one table, for planning, without reading payloads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import attrgetter
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec.arrow import arrays
from kafkaspec.arrow.schema import (
    COMPRESSIONS,
    OWN_TYPES,
    SIMPLE,
    TIMESTAMP,
    ColumnPlace,
    integer_type,
)
from kafkaspec.columns.records import OWN
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout import names
from kafkaspec.layout.stand_ins import IN_WRAPPERS
from kafkaspec.log.header_table import CRC, POSITION, SIZE, HeaderTable
from kafkaspec.log.headers import readable_headers, sound_headers
from kafkaspec.log.segment import Segment

_TEXT: Final = SIMPLE["compression"][0]

_FIELDS: Final = {
    POSITION: pa.field("position", pa.int64(), nullable=False),
    SIZE: pa.field("size", pa.int64(), nullable=False),
    names.BASE_OFFSET: pa.field("base_offset", pa.int64()),
    names.LAST_OFFSET: pa.field("last_offset", pa.int64(), nullable=False),
    names.NUM_RECORDS: pa.field("num_records", integer_type(names.NUM_RECORDS)),
    names.MAGIC: pa.field("magic", SIMPLE["magic"][0], nullable=False),
    names.COMPRESSION: pa.field("compression", _TEXT, nullable=False),
    names.TIMESTAMP_TYPE: pa.field("timestamp_type", _TEXT, nullable=False),
    names.BASE_TIMESTAMP: pa.field("base_timestamp", TIMESTAMP),
    names.MAX_TIMESTAMP: pa.field("max_timestamp", TIMESTAMP),
    names.DELETE_HORIZON: pa.field("delete_horizon", TIMESTAMP),
    names.LEADER_EPOCH: pa.field("leader_epoch", SIMPLE["leader_epoch"][0], nullable=False),
    names.PRODUCER_ID: pa.field("producer_id", pa.int64(), nullable=False),
    names.PRODUCER_EPOCH: pa.field("producer_epoch", SIMPLE["producer_epoch"][0], nullable=False),
    names.BASE_SEQUENCE: pa.field("base_sequence", SIMPLE["sequence"][0], nullable=False),
    names.LAST_SEQUENCE: pa.field("last_sequence", SIMPLE["sequence"][0], nullable=False),
    names.IS_TRANSACTIONAL: pa.field("transactional", pa.bool_(), nullable=False),
    names.IS_CONTROL: pa.field("control", pa.bool_(), nullable=False),
    CRC: pa.field("crc", pa.uint32(), nullable=False),
}

_OWN: Final = {
    name: OWN[name].fields for name in OWN_TYPES if OWN[name].of_batch and name not in _FIELDS
}
"""Fields that only the specification knows, with their layout by magic."""

SCHEMA: Final = pa.schema([*_FIELDS.values(), *(pa.field(name, OWN_TYPES[name]) for name in _OWN)])
"""Columns of the table. Base offset and number of records are null for a compressed message of
magic 0 or 1, since only decompression reveals them. A missing timestamp is null, and so is a field
that only the specification knows where the format lacks it."""

RECORDS: Final = "records"
"""Name of the number of records where batches are rows of a query: ``sum(records)`` counts them."""

ROWS: Final = pa.schema(
    [item.with_name(RECORDS) if item.name == names.NUM_RECORDS else item for item in SCHEMA]
)
"""Columns of ``batch_rows``."""
_SOURCES: Final = {item.name: name for name, item in _FIELDS.items()} | {RECORDS: names.NUM_RECORDS}

PLACE_FIELDS: Final = (
    pa.field("topic", SIMPLE["topic"][0]),
    pa.field("partition", SIMPLE["partition"][0]),
    pa.field("file", pa.dictionary(pa.int32(), pa.string())),
)
"""Columns before these in the table of a partition or log directory."""


def read_segment_headers(segment: Segment) -> pa.Table:
    """Return the headers of a segment; see ``Columnar.batch_table``."""
    tables = sound_headers(segment, strict_tail=True)
    return pa.Table.from_batches(map(_record_batch, tables), SCHEMA)


def batch_rows(
    segment: Segment,
    columns: Sequence[str],
    *,
    start_position: int = 0,
    start_offset: int | None = None,
    end_offset: int | None = None,
) -> Iterator[pa.RecordBatch | KafkaSpecError]:
    """Yield columns of ``ROWS`` of the entries whose last offset is in a range, and errors.

    A batch is in one of two ranges that meet, even if they meet inside it. Payloads are not read,
    and so no checksums are computed, but for compressed messages of magic 0 and 1, if their first
    offsets or numbers of records are asked for: one that cannot be read is an error.
    """
    schema = pa.schema([ROWS.field(name) for name in columns])
    inside = {_SOURCES.get(name) for name in columns} & set(IN_WRAPPERS)
    item: HeaderTable | KafkaSpecError | None = None
    for item in readable_headers(segment, start_position):
        if isinstance(item, KafkaSpecError):
            yield item
            continue
        wanted = _in_range(item, start_offset, end_offset)
        table = item.opened() if inside else item
        if table is not item:
            for number in _unread(table):
                try:
                    item.batch(number).records()
                except KafkaSpecError as error:
                    yield error
                    wanted = _without(wanted, number, len(item))
        made = _record_batch(table, schema)
        made = made if wanted is None else arrays.choose(made, wanted)
        if made.num_rows:
            yield made
    if segment.tail is not None and not isinstance(item, KafkaSpecError):
        try:
            for _ in segment.entries(segment.tail.position):  # an error, if the end must be one
                pass
        except KafkaSpecError as error:
            yield error


def _in_range(table: HeaderTable, start: int | None, end: int | None) -> pa.Array | None:
    """Return which entries have their last offset in a range; None for all."""
    last = table.arrow(names.LAST_OFFSET)
    bounds = [] if start is None else [pc.greater_equal(last, start)]
    bounds += [] if end is None else [pc.less(last, end)]
    return reduce(pc.and_, bounds) if bounds else None


def _unread(table: HeaderTable) -> list[int]:
    """Return the numbers of entries of which it is not known how many records they have."""
    return [number for number, count in enumerate(table.list(names.NUM_RECORDS)) if count < 0]


def _without(wanted: pa.Array | None, number: int, rows: int) -> pa.Array:
    others = pa.array([row != number for row in range(rows)])
    return others if wanted is None else pc.and_(wanted, others)


def with_place(table: pa.Table, place: ColumnPlace, file: str | None) -> pa.Table:
    """Return the table with the columns topic, partition and file before its own."""
    values = (place.topic, place.partition, file)
    for number, (field, value) in enumerate(zip(PLACE_FIELDS, values, strict=True)):
        column = arrays.constant(value, field.type, len(table))
        table = table.add_column(number, field, column)
    return table


def _record_batch(table: HeaderTable, schema: pa.Schema = SCHEMA) -> pa.RecordBatch:
    columns = [
        _typed(field, table.arrow(_SOURCES[field.name]))
        if field.name in _SOURCES
        else _own(field.name, table)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _own(name: str, table: HeaderTable) -> pa.Array:
    """Return a field that only the specification knows."""
    get, kinds = attrgetter(OWN[name].path), _OWN[name]
    values: list[Any] = [None] * len(table)
    for row, magic in enumerate(table.magic):
        if magic in kinds:
            found = get(table.batch(row).message)
            values[row] = bytes(found) if isinstance(found, memoryview) else found
    return pa.array(values, OWN_TYPES[name])


def _typed(field: pa.Field, values: pa.Array) -> pa.Array:
    if field.type == TIMESTAMP:
        return arrays.timestamps(values, field.type)
    if field.name == "timestamp_type":
        return arrays.timestamp_types(values)
    if field.name == "compression":
        return arrays.codes(values, COMPRESSIONS)
    if field.type == pa.bool_():
        return pc.equal(values, 1)
    return values.cast(field.type)
