"""Arrow arrays from integers, bytes and buffers, for all readers of columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec.arrow import schema
from kafkaspec.codecs import Codec
from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.layout.stand_ins import UNTYPED
from kafkaspec.log.batch import NO_TIMESTAMP
from kafkaspec.log.control import decode_control
from kafkaspec.model import Record, java_text

# A scalar of an array: pa.scalar would import pandas where that is there, as pa.array would.
_UNTIMED = schema.whole_numbers((NO_TIMESTAMP,))[0]
_TRUE = pa.Array.from_buffers(pa.bool_(), 1, [None, pa.py_buffer(b"\1")])[0]


def timestamps(integers: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return milliseconds as timestamps, -1 as null."""
    rows = len(integers)
    present = pc.not_equal(integers, _UNTIMED)
    nulls = rows - present.true_count
    validity = present.buffers()[1] if nulls else None
    buffers = [validity, integers.buffers()[1]]
    return pa.Array.from_buffers(kind, rows, buffers, null_count=nulls)


def codes(integers: pa.Array, names: Sequence[str]) -> pa.Array:
    """Return numbers as a dictionary array: each is the index of its name."""
    return pa.DictionaryArray.from_arrays(integers.cast(pa.int8()), pa.array(names, pa.string()))


def timestamp_types(integers: pa.Array) -> pa.Array:
    """Return the types of timestamps by their stored numbers."""
    untyped = pc.equal(integers, UNTYPED)
    last = len(schema.TIMESTAMP_TYPES) - 1
    return codes(pc.if_else(untyped, last, integers), schema.TIMESTAMP_TYPES)


def control_type(record: Record, codec: Codec) -> int:
    """Return the index of a control record's type in ``CONTROL_TYPES``; UNKNOWN if unreadable."""
    try:
        return schema.CONTROL_TYPES.index(decode_control(record, codec=codec).type_name)
    except KafkaSpecError:
        return len(schema.CONTROL_TYPES) - 1


def constant(value: Any, kind: pa.DataType, rows: int, names: Sequence[str] = ()) -> pa.Array:
    """Return an array of one value; None is null. A dictionary gets ``names`` if there are any."""
    if not pa.types.is_dictionary(kind):
        return pa.nulls(rows, kind) if value is None else pa.repeat(pa.scalar(value, kind), rows)
    names = names or (() if value is None else (value,))
    index = pa.scalar(None if value is None else names.index(value), kind.index_type)
    return pa.DictionaryArray.from_arrays(pa.repeat(index, rows), pa.array(names, kind.value_type))


def header_keys(keys: pa.Array, request: schema.Request, where: str | None) -> pa.Array:
    """Convert keys of headers from bytes to the requested type.

    Raises:
        CorruptError: a key is not UTF-8, and the request is strict.
    """
    kind = schema.header_key_type(request.layout, request.header_keys)
    if request.header_keys == "binary":
        return keys
    try:
        return keys.cast(kind)
    except pa.ArrowInvalid:
        pass
    if request.header_keys == "strict":
        raise _not_text(keys, where)
    return pa.array(list(map(java_text, keys.to_pylist())), kind)


def _not_text(keys: pa.Array, where: str | None) -> KafkaSpecError:
    for key in keys.to_pylist():
        try:
            key.decode("utf-8")
        except UnicodeDecodeError:
            break
    detail = f"the key {key!r} of a header is not UTF-8; read such keys as bytes"
    return make_error(Reason.INVALID_VALUE, detail, file=where)


def headers(
    offsets: pa.Buffer, rows: int, keys: pa.Array, values: pa.Array, request: schema.Request
) -> pa.Array:
    """Return headers from the keys and values of all rows and the 32-bit offsets of each row."""
    kind = schema.headers_type(request.layout, request.header_keys)
    pairs = pa.Array.from_buffers(kind.value_type, len(keys), [None], children=[keys, values])
    return pa.Array.from_buffers(kind, rows, [None, offsets], children=[pairs])


def choose(batch: pa.RecordBatch, mask: pa.Array) -> pa.RecordBatch:
    """Return the rows where ``mask`` is true.

    Arrow cannot ``filter`` views, so they are filtered as values of 16 bytes.
    """
    kept = pc.sum(mask).as_py() or 0
    if kept == len(mask):
        return batch
    first = pc.index(mask, _TRUE).as_py()
    if kept == 0:
        return batch.slice(0, 0)
    if pc.sum(mask.slice(first, kept)).as_py() == kept:  # one run: no copy
        return batch.slice(first, kept)
    arrays = []
    for column in batch.columns:
        plain, buffers = _plain(column)
        arrays.append(_views(plain.filter(mask), column.type, buffers))
    return pa.RecordBatch.from_arrays(arrays, schema=batch.schema)


def _is_view(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary_view(kind) or pa.types.is_string_view(kind))


def _plain(array: pa.Array) -> tuple[pa.Array, list[list[pa.Buffer]]]:
    """Return the array with views as fixed-size bytes, and the buffers that they point into."""
    kind = array.type
    if _is_view(kind):
        validity, views, *data = array.buffers()
        kind, buffers = pa.binary(16), [validity, views]
        return pa.Array.from_buffers(kind, len(array), buffers, offset=array.offset), [data]
    if pa.types.is_list(kind):
        pairs = array.values
        parts = [_plain(pairs.field(i)) for i in range(pairs.type.num_fields)]
        found = [part for part, _ in parts]
        names = [field.name for field in kind.value_type]
        struct = pa.StructArray.from_arrays(found, names)
        kind, buffers = pa.list_(struct.type), array.buffers()[:2]
        plain = pa.Array.from_buffers(
            kind, len(array), buffers, offset=array.offset, children=[struct]
        )
        return plain, [data for _, each in parts for data in each]
    return array, []


def _views(plain: pa.Array, kind: pa.DataType, buffers: list[list[pa.Buffer]]) -> pa.Array:
    if _is_view(kind):
        validity, views = plain.buffers()
        made = [validity, views, *buffers.pop(0)]
        return pa.Array.from_buffers(kind, len(plain), made, offset=plain.offset)
    if pa.types.is_list(kind):
        pairs = plain.values
        struct = kind.value_type
        fields = [
            _views(pairs.field(i), struct.field(i).type, buffers) for i in range(struct.num_fields)
        ]
        whole = pa.Array.from_buffers(struct, len(pairs), [None], children=fields)
        return pa.Array.from_buffers(
            kind, len(plain), plain.buffers()[:2], offset=plain.offset, children=[whole]
        )
    return plain
