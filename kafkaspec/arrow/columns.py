"""What the native core fills, as Arrow arrays."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec.arrow import arrays
from kafkaspec.arrow.chunk import Chunk
from kafkaspec.arrow.schema import (
    COMPRESSIONS,
    CONTROL_TYPES,
    SIMPLE,
    TIMESTAMP_TYPES,
    Place,
    Request,
    bytes_type,
    header_key_type,
)
from kafkaspec.codecs.native import Core
from kafkaspec.codecs.native.columns import (
    AnyColumn,
    BytesColumn,
    ColumnSet,
    IntegerColumn,
    Layout,
    ListColumn,
)
from kafkaspec.codecs.native.wrappers import apply_shifts
from kafkaspec.log.batch import NO_TIMESTAMP, NO_TIMESTAMP_TYPE
from kafkaspec.log.segment import Segment
from kafkaspec.model import Record

LITTLE_ENDIAN: Final = sys.byteorder == "little"

_CONTROL: Final = "batch.attributes.is_control"

SOURCES: Final[dict[str, tuple[str, ...]]] = {
    "offset": ("offset",),
    "timestamp": ("timestamp",),
    "timestamp_type": ("batch.attributes.timestamp_type", "batch.magic"),
    "key": ("key",),
    "value": ("value",),
    "headers": ("headers",),
    "topic": (),
    "partition": (),
    "leader_epoch": ("batch.partition_leader_epoch",),
    "magic": ("batch.magic",),
    "compression": ("batch.attributes.compression",),
    "producer_id": ("batch.producer_id",),
    "producer_epoch": ("batch.producer_epoch",),
    "sequence": ("sequence", "batch.magic"),
    "transactional": ("batch.attributes.is_transactional",),
    "control_type": (_CONTROL, "key", "value"),
    "batch_position": ("batch.position",),
    "batch_base_offset": ("batch.base_offset",),
}
"""Columns of the core that each column is made of."""


_INTEGER: Final = pa.int64()


def allocate(size: int) -> pa.Buffer:
    """Memory of Arrow's pool."""
    return pa.allocate_buffer(size, resizable=True)


class Decoder:
    """Decodes chunks into record batches.

    Args:
        core: the extension.
        request: what is wanted.
        place: what the directory says.
        segment: where it comes from, for errors, and what decodes control records.
    """

    def __init__(self, core: Core, request: Request, place: Place, segment: Segment) -> None:
        self._core = core
        self._codec = segment.codec
        self._request = request
        self._place = place
        self._file = segment.name
        self._schema = request.schema
        self._layout = Layout.VIEW if request.layout == "view" else Layout.BINARY
        names = dict.fromkeys(
            name
            for column in request.columns
            if column != "control_type" or request.include_control
            for name in SOURCES[column]
        )
        if request.by_offset:
            names["offset"] = None
        if request.by_timestamp:
            names["timestamp"] = None
        self._names = tuple(names) or ("offset",)

    def decode(self, chunk: Chunk, first: int) -> tuple[pa.RecordBatch, int]:
        """Entries from number ``first`` on.

        Returns:
            Their records, and the number of the entry that was refused, or the number of entries.
        """
        module = self._core.module
        entries, sources = chunk.entries, tuple(chunk.sources)
        count, begin = len(entries) // module.BATCH_FIELDS, first
        columns = ColumnSet(
            self._core, self._names, chunk.rows, self._layout, chunk.bytes, allocate
        )
        while True:
            status, failed, _ = module.decode(
                sources,
                entries,
                first,
                count - first,
                self._layout,
                tuple(columns.outputs),
                columns.capacities,
                columns.state,
            )
            if status != module.GROW:
                break
            columns.grow()
            first = failed
        end = count if status == module.OK else failed
        found = columns.result()
        apply_shifts(self._core, chunk.shifts, entries, range(begin, end), found)
        return self._batch(found, columns.filled, chunk), end

    def _batch(self, found: dict[str, AnyColumn], rows: int, chunk: Chunk) -> pa.RecordBatch:
        data: Sequence[pa.Buffer] = ()
        if self._layout is Layout.VIEW:
            data = [pa.py_buffer(source) for source in chunk.sources]
        made = [self._array(name, found, rows, data, chunk) for name in self._request.columns]
        batch = pa.RecordBatch.from_arrays(made, schema=self._schema)
        if chunk.cut or self._request.by_timestamp:
            batch = arrays.choose(batch, self._mask(found, rows, chunk.cut))
        return batch

    def _mask(self, found: dict[str, AnyColumn], rows: int, cut: bool) -> pa.Array:
        request = self._request
        parts = []
        if cut:
            offsets = _integers(found["offset"], rows)
            if request.start_offset is not None:
                parts.append(pc.greater_equal(offsets, request.start_offset))
            if request.end_offset is not None:
                parts.append(pc.less(offsets, request.end_offset))
        if request.by_timestamp:
            stamps = _integers(found["timestamp"], rows)
            parts.append(pc.not_equal(stamps, NO_TIMESTAMP))
            if request.start_timestamp is not None:
                parts.append(pc.greater_equal(stamps, request.start_timestamp))
            if request.end_timestamp is not None:
                parts.append(pc.less(stamps, request.end_timestamp))
        mask = parts[0]
        for part in parts[1:]:
            mask = pc.and_(mask, part)
        return mask

    def _array(
        self,
        name: str,
        found: dict[str, AnyColumn],
        rows: int,
        data: Sequence[pa.Buffer],
        chunk: Chunk,
    ) -> pa.Array:
        if name in ("key", "value"):
            kind = bytes_type(self._request.layout)
            return self._bytes(found[name], rows, data, kind)
        if name == "headers":
            return self._headers(found[name], rows, data)
        kind, _ = SIMPLE[name]
        if name in ("topic", "partition"):
            names = self._place.topics if name == "topic" else ()
            return arrays.constant(getattr(self._place, name), kind, rows, names)
        if name == "control_type":
            return self._control_types(found, rows, data, chunk)
        if name == "timestamp":
            return self._timestamps(found[name], rows, kind)
        values = _integers(found[SOURCES[name][0]], rows)
        if name == "timestamp_type":
            if chunk.odd:
                old = pc.equal(_integers(found["batch.magic"], rows), 0)
                values = pc.if_else(old, TIMESTAMP_TYPES.index(NO_TIMESTAMP_TYPE), values)
            return arrays.codes(values, TIMESTAMP_TYPES)
        if name == "compression":
            return arrays.codes(values, COMPRESSIONS)
        if name == "transactional":
            return pc.equal(values, 1)
        if name == "sequence":
            default = pc.equal(_integers(found["batch.magic"], rows), 2)
            values = pc.if_else(default, values, -1)
        if name == "batch_position":
            values = pc.add(values, chunk.start)
        return values if values.type == kind else values.cast(kind, safe=False)

    def _control_types(
        self, found: dict[str, AnyColumn], rows: int, data: Sequence[pa.Buffer], chunk: Chunk
    ) -> pa.Array:
        """There are few control records: each is decoded by itself."""
        types = array("b", bytes(rows))
        if not chunk.markers:
            return arrays.constant(None, SIMPLE["control_type"][0], rows, CONTROL_TYPES)
        marked = pc.equal(_integers(found[_CONTROL], rows), 1)
        kind = bytes_type(self._request.layout)
        keys, values = (self._bytes(found[name], rows, data, kind) for name in ("key", "value"))
        for row in pc.indices_nonzero(marked).to_pylist():
            record = Record(0, 0, keys[row].as_py(), values[row].as_py())
            types[row] = arrays.control_type(record, self._codec)
        codes = pa.Array.from_buffers(pa.int8(), rows, [marked.buffers()[1], pa.py_buffer(types)])
        return arrays.codes(codes, CONTROL_TYPES)

    def _timestamps(self, column: AnyColumn, rows: int, kind: pa.DataType) -> pa.Array:
        assert isinstance(column, IntegerColumn)
        if self._core.module.count(column.values, rows, NO_TIMESTAMP):
            return arrays.timestamps(_integers(column, rows), kind)
        values: Any = column.values
        return pa.Array.from_buffers(kind, rows, [None, values], null_count=0)

    def _bytes(
        self, column: AnyColumn, rows: int, data: Sequence[pa.Buffer], kind: pa.DataType
    ) -> pa.Array:
        assert isinstance(column, BytesColumn)
        validity: Any = column.validity if column.nulls else None
        buffers = [validity, column.main, *data]
        if self._layout is Layout.BINARY:
            memory: Any = column.data
            if self._request.compact and 2 * column.data_size < memory.size:
                memory.resize(column.data_size, shrink_to_fit=True)
            buffers.append(memory)
        return pa.Array.from_buffers(kind, rows, buffers, null_count=column.nulls)

    def _headers(self, column: AnyColumn, rows: int, data: Sequence[pa.Buffer]) -> pa.Array:
        assert isinstance(column, ListColumn)
        keys, values = column.children["key"], column.children["value"]
        plain = bytes_type(self._request.layout)
        if isinstance(keys, BytesColumn) and keys.is_ascii:
            kind = header_key_type(self._request.layout, self._request.header_keys)
            made = self._bytes(keys, column.items, data, kind)
        else:
            made = self._bytes(keys, column.items, data, plain)
            made = arrays.header_keys(made, self._request, self._file)
        others = self._bytes(values, column.items, data, plain)
        offsets: Any = column.offsets
        return arrays.headers(offsets, rows, made, others, self._request)


def _integers(column: AnyColumn, rows: int) -> pa.Array:
    assert isinstance(column, IntegerColumn)
    values: Any = column.values
    return pa.Array.from_buffers(_INTEGER, rows, [None, values], null_count=0)
