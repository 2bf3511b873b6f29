"""Arrow arrays from the columns of a reader, in the types of a request."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec.arrow import arrays, schema
from kafkaspec.codecs import Codec
from kafkaspec.columns import wanted
from kafkaspec.columns.memory import BytesColumn, Columns, Layout, ListColumn
from kafkaspec.layout import names
from kafkaspec.log.batch import NO_TIMESTAMP, NO_TIMESTAMP_TYPE
from kafkaspec.model import Record

SOURCES: Final[dict[str, tuple[str, ...]]] = {
    "offset": (names.OFFSET,),
    "timestamp": (names.TIMESTAMP,),
    "timestamp_type": (wanted.OF_BATCH + names.TIMESTAMP_TYPE, wanted.BATCH_MAGIC),
    "key": (names.KEY,),
    "value": (names.VALUE,),
    "headers": (names.HEADERS,),
    "topic": (),
    "partition": (),
    "leader_epoch": (wanted.OF_BATCH + names.LEADER_EPOCH,),
    "magic": (wanted.BATCH_MAGIC,),
    "compression": (wanted.OF_BATCH + names.COMPRESSION,),
    "producer_id": (wanted.OF_BATCH + names.PRODUCER_ID,),
    "producer_epoch": (wanted.OF_BATCH + names.PRODUCER_EPOCH,),
    "sequence": (names.SEQUENCE,),
    "transactional": (wanted.OF_BATCH + names.IS_TRANSACTIONAL,),
    "control_type": (wanted.IS_CONTROL, names.KEY, names.VALUE),
    "batch_position": (wanted.BATCH_POSITION,),
    "batch_base_offset": (wanted.BATCH_BASE_OFFSET,),
    "own_timestamp": (names.OWN_TIMESTAMP,),
}
"""Columns of the specification that each column needs."""


def allocate(size: int) -> pa.Buffer:
    """Allocate memory from Arrow's pool."""
    return pa.allocate_buffer(size, resizable=True)


def sources_of(request: schema.Request) -> tuple[str, ...]:
    """Return the columns of the specification that a request needs."""
    found = dict.fromkeys(
        name
        for column in request.columns
        if column != "control_type" or request.include_control
        for name in SOURCES.get(column, ())
    )
    if request.by_offset:
        found[names.OFFSET] = None
    if request.by_timestamp:
        found[names.TIMESTAMP] = None
    return tuple(found) or (names.OFFSET,)


def own_of(request: schema.Request) -> tuple[str, ...]:
    """Return the columns that only the specification knows."""
    return tuple(name for name in request.columns if name in schema.OWN_TYPES)


class Arrays:
    """Makes record batches.

    Args:
        request: the columns and rows to return.
        place: topic and partition, from the name of the directory.
        codec: decodes control records.
        file: name of the source file, for errors.
    """

    def __init__(
        self, request: schema.Request, place: schema.ColumnPlace, codec: Codec, file: str | None
    ) -> None:
        self._request = request
        self._place = place
        self._codec = codec
        self._file = file
        self._schema = request.schema
        self._controls: dict[tuple[bytes | None, bytes | None], int] = {}
        self._special: dict[str, Callable[[Columns], pa.Array]] = {
            "key": partial(self._octets, names.KEY),
            "value": partial(self._octets, names.VALUE),
            "headers": self._headers,
            "timestamp": partial(self._timestamps, names.TIMESTAMP),
            "own_timestamp": partial(self._timestamps, names.OWN_TIMESTAMP),
            "timestamp_type": self._timestamp_types,
            "control_type": self._control_types,
        }

    def batch(self, columns: Columns) -> pa.RecordBatch:
        """Return the wanted rows of some columns."""
        made = [self._array(name, columns) for name in self._request.columns]
        batch = pa.RecordBatch.from_arrays(made, schema=self._schema)
        mask = self._mask(columns)
        return batch if mask is None else arrays.choose(batch, mask)

    def _mask(self, columns: Columns) -> pa.Array | None:
        request, parts = self._request, []
        if columns.cut and request.by_offset:
            offsets = _integers(columns, names.OFFSET)
            parts += _between(offsets, request.start_offset, request.end_offset)
        if request.by_timestamp:
            stamps = _integers(columns, names.TIMESTAMP)
            parts.append(pc.not_equal(stamps, NO_TIMESTAMP))
            parts += _between(stamps, request.start_timestamp, request.end_timestamp)
        mask = parts.pop() if parts else None
        for part in parts:
            mask = pc.and_(mask, part)
        return mask

    def _array(self, name: str, columns: Columns) -> pa.Array:
        if name in self._special:
            return self._special[name](columns)
        if name in schema.OWN_TYPES:
            return pa.array(columns.own[name], self._schema.field(name).type)
        kind, _ = schema.SIMPLE[name]
        if name in ("topic", "partition"):
            known = self._place.topics if name == "topic" else ()
            return arrays.constant(getattr(self._place, name), kind, columns.rows, known)
        values = _integers(columns, SOURCES[name][0])
        if name == "compression":
            return arrays.codes(values, schema.COMPRESSIONS)
        if name == "transactional":
            return pc.equal(values, 1)
        if name == "batch_position" and columns.start:
            values = pc.add(values, columns.start)
        return values if values.type == kind else values.cast(kind)

    def _timestamps(self, name: str, columns: Columns) -> pa.Array:
        kind = schema.TIMESTAMP
        integers = _integers(columns, name)
        core = self._codec.core
        if core is not None and not core.module.count(
            integers.buffers()[1], columns.rows, NO_TIMESTAMP
        ):
            return pa.Array.from_buffers(kind, columns.rows, integers.buffers(), null_count=0)
        return arrays.timestamps(integers, kind)

    def _timestamp_types(self, columns: Columns) -> pa.Array:
        stored, magic = SOURCES["timestamp_type"]
        values = _integers(columns, stored)
        if columns.untimed:
            untimed = pc.is_in(_integers(columns, magic), schema.UNTIMED)
            untimed = pc.or_(untimed, pc.less(values, 0))  # a kind without a timestamp type
            values = pc.if_else(untimed, schema.TIMESTAMP_TYPES.index(NO_TIMESTAMP_TYPE), values)
        return arrays.codes(values, schema.TIMESTAMP_TYPES)

    def _control_types(self, columns: Columns) -> pa.Array:
        """Decode control records, each that has other bytes than one before."""
        rows = columns.rows
        if not columns.markers or wanted.IS_CONTROL not in columns.columns:
            return arrays.constant(
                None, schema.SIMPLE["control_type"][0], rows, schema.CONTROL_TYPES
            )
        types = array("b", bytes(rows))
        marked = pc.equal(_integers(columns, wanted.IS_CONTROL), 1)
        keys, values = (self._octets(name, columns) for name in (names.KEY, names.VALUE))
        for row in pc.indices_nonzero(marked).to_pylist():
            both = keys[row].as_py(), values[row].as_py()
            if both not in self._controls:
                if len(self._controls) == _CONTROLS:
                    self._controls.clear()
                self._controls[both] = arrays.control_type(Record(0, 0, *both), self._codec)
            types[row] = self._controls[both]
        codes = pa.Array.from_buffers(pa.int8(), rows, [marked.buffers()[1], pa.py_buffer(types)])
        return arrays.codes(codes, schema.CONTROL_TYPES)

    def _octets(self, name: str, columns: Columns) -> pa.Array:
        kind = schema.bytes_type(self._request.layout)
        return self._bytes(columns.columns[name], columns.rows, columns, kind)

    def _bytes(self, column: Any, rows: int, columns: Columns, kind: pa.DataType) -> pa.Array:
        assert isinstance(column, BytesColumn)
        validity = buffer_of(column.validity) if column.nulls else None
        buffers = [validity, buffer_of(column.main)]
        if columns.layout is Layout.VIEW:
            buffers += [pa.py_buffer(source) for source in columns.sources]
            return pa.Array.from_buffers(kind, rows, buffers, null_count=column.nulls)
        memory = buffer_of(column.data)
        if self._request.compact and 2 * column.data_size < memory.size:
            memory.resize(column.data_size, shrink_to_fit=True)
        made = _COPIED.get(kind, kind)
        plain = pa.Array.from_buffers(made, rows, [*buffers, memory], null_count=column.nulls)
        return plain if made == kind else plain.cast(kind)

    def _headers(self, columns: Columns) -> pa.Array:
        column = columns.columns[names.HEADERS]
        assert isinstance(column, ListColumn)
        keys, values = (
            column.children[name.rpartition(".")[2]]
            for name in (names.HEADER_KEY, names.HEADER_VALUE)
        )
        plain = schema.bytes_type(self._request.layout)
        if isinstance(keys, BytesColumn) and keys.is_ascii:
            kind = schema.header_key_type(self._request.layout, self._request.header_keys)
            made = self._bytes(keys, column.items, columns, kind)
        else:
            made = self._bytes(keys, column.items, columns, plain)
            made = arrays.header_keys(made, self._request, self._file)
        others = self._bytes(values, column.items, columns, plain)
        offsets = buffer_of(column.offsets)
        return arrays.headers(offsets, columns.rows, made, others, self._request)


_CONTROLS: Final = 1 << 12
"""Control records of which is kept what they are."""
_COPIED: Final = {pa.binary_view(): pa.binary(), pa.string_view(): pa.string()}
"""Types with contiguous bytes, by the view types that they replace."""


def buffer_of(memory: Any) -> pa.Buffer:
    """Return the memory as an Arrow buffer."""
    return memory if isinstance(memory, pa.Buffer) else pa.py_buffer(memory)


def _between(values: pa.Array, low: int | None, high: int | None) -> list[pa.Array]:
    found = [] if low is None else [pc.greater_equal(values, low)]
    return found if high is None else [*found, pc.less(values, high)]


def _integers(columns: Columns, name: str) -> pa.Array:
    buffers = [None, buffer_of(columns.integer_column(name).values)]
    return pa.Array.from_buffers(pa.int64(), columns.rows, buffers, null_count=0)
