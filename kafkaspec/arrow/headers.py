"""The headers of all batches as one table, for planning, without reading payloads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec.arrow import arrays
from kafkaspec.arrow.schema import (
    COMPRESSIONS,
    MESSAGES,
    SIMPLE,
    TIMESTAMP,
    TIMESTAMP_TYPES,
    UNTIMED,
    Place,
    integer_type,
    whole_numbers,
)
from kafkaspec.codecs import HeaderTable
from kafkaspec.columns.wanted import POSITION, SIZE
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout import names
from kafkaspec.layout.framing import checksum_of
from kafkaspec.layout.kinds import KINDS
from kafkaspec.log.batch import Batch
from kafkaspec.log.headers import header_tables
from kafkaspec.log.headers import readable_headers as readable
from kafkaspec.log.segment import Segment

_TEXT: Final = SIMPLE["compression"][0]

SCHEMA: Final = pa.schema(
    [
        pa.field("position", pa.int64(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("base_offset", pa.int64()),
        pa.field("last_offset", pa.int64(), nullable=False),
        pa.field("num_records", integer_type(names.NUM_RECORDS)),
        pa.field("magic", SIMPLE["magic"][0], nullable=False),
        pa.field("compression", _TEXT, nullable=False),
        pa.field("timestamp_type", _TEXT, nullable=False),
        pa.field("base_timestamp", TIMESTAMP),
        pa.field("max_timestamp", TIMESTAMP),
        pa.field("delete_horizon", TIMESTAMP),
        pa.field("leader_epoch", SIMPLE["leader_epoch"][0], nullable=False),
        pa.field("producer_id", pa.int64(), nullable=False),
        pa.field("producer_epoch", SIMPLE["producer_epoch"][0], nullable=False),
        pa.field("base_sequence", SIMPLE["sequence"][0], nullable=False),
        pa.field("last_sequence", SIMPLE["sequence"][0], nullable=False),
        pa.field("transactional", pa.bool_(), nullable=False),
        pa.field("control", pa.bool_(), nullable=False),
        pa.field("crc", pa.uint32(), nullable=False),
    ]
)
"""Columns of the table. Base offset and number of records are null for a compressed message of
magic 0 or 1, since only decompression reveals them. A missing timestamp is null."""

PLACE_FIELDS: Final = (
    pa.field("topic", SIMPLE["topic"][0]),
    pa.field("partition", SIMPLE["partition"][0]),
    pa.field("file", pa.dictionary(pa.int32(), pa.string())),
)
"""Columns before these in the table of a partition or log directory."""

_ROW: Final[dict[str, Callable[[Batch], Any]]] = {
    "base_offset": lambda batch: None if batch.is_wrapper else batch.base_offset,
    "num_records": lambda batch: None if batch.is_wrapper else batch.num_records,
    "timestamp_type": lambda batch: TIMESTAMP_TYPES.index(batch.timestamp_type),
    "base_timestamp": lambda batch: -1 if batch.base_timestamp is None else batch.base_timestamp,
    "delete_horizon": lambda batch: -1 if batch.delete_horizon is None else batch.delete_horizon,
    "leader_epoch": attrgetter("partition_leader_epoch"),
    "transactional": attrgetter("is_transactional"),
    "control": attrgetter("is_control"),
}
"""Columns that are not an attribute of a batch by the same name."""

_SCANNED: Final = {
    "position": POSITION,
    "size": SIZE,
    "base_offset": names.BASE_OFFSET,
    "last_offset": names.LAST_OFFSET,
    "num_records": names.NUM_RECORDS,
    "magic": names.MAGIC,
    "base_timestamp": names.BASE_TIMESTAMP,
    "max_timestamp": names.MAX_TIMESTAMP,
    "delete_horizon": names.DELETE_HORIZON,
    "producer_id": names.PRODUCER_ID,
    "producer_epoch": names.PRODUCER_EPOCH,
    "base_sequence": names.BASE_SEQUENCE,
    "last_sequence": names.LAST_SEQUENCE,
    "compression": names.COMPRESSION,
    "timestamp_type": names.TIMESTAMP_TYPE,
    "leader_epoch": names.LEADER_EPOCH,
    "transactional": names.IS_TRANSACTIONAL,
    "control": names.IS_CONTROL,
}
"""Names of the columns in a scan; the checksum has one for each kind."""

_FOR_NONE: Final = {"transactional": 0, "control": 0}
"""Values for entries without such a field; -1 for all other columns."""

_CHECKSUMS: Final = {magic: checksum_of(kind.key).field for magic, kind in KINDS.items()}
"""Names of the checksums by magic."""

_SETS: Final = [magic for magic, kind in KINDS.items() if kind.has_record_sets]
_WITHOUT: Final = {
    name: whole_numbers(magics)
    for name in SCHEMA.names
    if name not in ("position", "size", "crc")
    and (
        magics := [magic for magic in _SETS if _SCANNED.get(name, name) not in KINDS[magic].header]
    )
}
"""Magics of record batches whose headers do not have a column."""

_FEW_ROWS: Final = 16
_ROWS_AT_ONCE: Final = 1 << 14


def read_segment_headers(segment: Segment) -> pa.Table:
    """Return the headers of a segment; see ``Columnar.batch_table``."""
    return pa.Table.from_batches(_batches(segment), SCHEMA)


def readable_headers(segment: Segment) -> Iterator[pa.RecordBatch | KafkaSpecError]:
    """Yield the headers of a segment, and the error of each entry that cannot be read."""
    rows: list[Batch] = []
    for item in readable(segment):
        if isinstance(item, Batch):
            rows.append(item)
            if len(rows) < _ROWS_AT_ONCE:
                continue
        if rows:
            yield _from_python(rows)
            rows = []
        if isinstance(item, KafkaSpecError):
            yield item
        elif isinstance(item, tuple):
            yield _from_scan(*item)
    if rows:
        yield _from_python(rows)


def with_place(table: pa.Table, place: Place, file: str | None) -> pa.Table:
    """Return the table with the columns topic, partition and file before its own."""
    values = (place.topic, place.partition, file)
    for number, (field, value) in enumerate(zip(PLACE_FIELDS, values, strict=True)):
        column = arrays.constant(value, field.type, len(table))
        table = table.add_column(number, field, column)
    return table


def _batches(segment: Segment) -> Iterator[pa.RecordBatch]:
    position = 0
    most = _FEW_ROWS
    while position < segment.size:
        for table, base in header_tables(segment, position):
            yield _from_scan(table, base)
            position = base + table.position
            most = _FEW_ROWS
        # Entries that the codec does not scan; it may be able to scan those after them.
        rows = []
        for batch in segment.batches(position):
            rows.append(batch)
            position = batch.end
            if len(rows) == most:
                break
        else:
            position = segment.size
        if rows:
            yield _from_python(rows)
        most = min(2 * most, _ROWS_AT_ONCE)


def _from_python(batches: list[Batch]) -> pa.RecordBatch:
    made = []
    for field in SCHEMA:
        values = list(map(_ROW.get(field.name, attrgetter(field.name)), batches))
        made.append(_typed(field, pa.array(values, _plain_type(field.type))))
    return pa.RecordBatch.from_arrays(made, schema=SCHEMA)


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if kind == TIMESTAMP:
        return pa.int64()
    return pa.int8() if pa.types.is_dictionary(kind) else kind


def _typed(field: pa.Field, values: pa.Array) -> pa.Array:
    if field.type == TIMESTAMP:
        return arrays.timestamps(values, field.type)
    if field.name == "timestamp_type":
        return arrays.codes(values, TIMESTAMP_TYPES)
    if field.name == "compression":
        return arrays.codes(values, COMPRESSIONS)
    if field.type == pa.bool_():
        return values if values.type == field.type else pc.equal(values, 1)
    return values.cast(field.type)


def _from_scan(table: HeaderTable, base: int) -> pa.RecordBatch:
    def column(name: str) -> pa.Array:
        if name not in table.names:
            return pa.repeat(pa.scalar(0, pa.int64()), table.count)
        values = pa.py_buffer(table.column(name))
        return pa.Array.from_buffers(pa.int64(), table.count, [None, values])

    magic = column(names.MAGIC)
    legacy = pc.is_in(magic, MESSAGES)
    mixed = pc.any(legacy).as_py()
    made = []
    for field in SCHEMA:
        name = field.name
        scanned = _SCANNED.get(name, name)
        values = _checksums(column, magic) if name == "crc" else column(scanned)
        if name in _WITHOUT:
            absent = pc.is_in(magic, _WITHOUT[name])
            values = pc.if_else(absent, _FOR_NONE.get(name, -1), values)
        if name == "position" and base:
            values = pc.add(values, base)
        if name == "delete_horizon":
            values = pc.if_else(pc.equal(column(names.HAS_DELETE_HORIZON), 1), values, -1)
        if mixed and name not in ("position", "size", "magic", "crc", "compression"):
            values = pc.if_else(legacy, _legacy(name, column, magic), values)
        made.append(_typed(field, values))
    return pa.RecordBatch.from_arrays(made, schema=SCHEMA)


def _checksums(column: Callable[[str], pa.Array], magic: pa.Array) -> pa.Array:
    first, *others = dict.fromkeys(_CHECKSUMS.values())
    values = column(first)
    for name in others:
        magics = [number for number, field in _CHECKSUMS.items() if field == name]
        values = pc.if_else(pc.is_in(magic, pa.array(magics, pa.int64())), column(name), values)
    return values


def _legacy(name: str, column: Callable[[str], pa.Array], magic: pa.Array) -> Any:
    """Return a column for messages of magic 0 and 1."""
    if name == "last_offset":
        return column(names.OFFSET)
    if name in ("base_offset", "num_records"):
        value = column(names.OFFSET) if name == "base_offset" else pa.scalar(1, pa.int64())
        plain = pc.equal(column(names.COMPRESSION), 0)
        return pc.if_else(plain, value, pa.scalar(None, pa.int64()))
    if name == "max_timestamp":
        return pc.if_else(pc.is_in(magic, UNTIMED), -1, column(names.TIMESTAMP))
    if name == "timestamp_type":
        stored = column(names.TIMESTAMP_TYPE)
        return pc.if_else(pc.is_in(magic, UNTIMED), len(TIMESTAMP_TYPES) - 1, stored)
    return pa.scalar(_FOR_NONE.get(name, -1), pa.int64())
