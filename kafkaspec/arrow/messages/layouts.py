"""Messages in columns whatever release wrote them, and the types of the records of a topic."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from io import BytesIO

import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec.arrow.messages.arrays import (
    MessageTable,
    arrow_type,
    decode_by_engine,
    decode_with,
    message_table,
)
from kafkaspec.arrow.messages.reference import read_integer
from kafkaspec.arrow.schema import whole_numbers
from kafkaspec.codecs import Codec
from kafkaspec.columns.messages import head_layout
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout import MessageLayout
from kafkaspec.layout.names import UNUSED
from kafkaspec.messages.lookup import HEADS


@cache
def type_of_layouts(layouts: tuple[MessageLayout, ...]) -> pa.DataType:
    """Return the type of the newest of some layouts, with nulls for what older ones lack."""
    newest, *others = (message_table(layout.id).type for layout in layouts)
    for older in others:
        newest = _with_nulls(newest, older)
    return newest


def decode_layouts(
    codec: Codec,
    layouts: Sequence[MessageLayout],
    data: pa.Array,
    kind: pa.DataType,
    on_error: Callable[[int, KafkaSpecError], None],
) -> pa.StructArray:
    """Return messages in columns; null where they cannot be decoded.

    Of the layouts, the newest that takes every byte counts, else the newest that can be read. Those
    after the newest see only the rows that it does not take as a whole.

    Args:
        codec: reads the messages.
        layouts: those that may have been written, the newest first.
        data: the bytes of the messages, null for none.
        kind: type of the result: fields that it does not have are left out, and those that a layout
            lacks are null.
        on_error: called with the number of a row and the error of the newest layout.
    """
    newest, *others = (message_table(layout.id) for layout in layouts)
    refused: dict[int, KafkaSpecError] = {}
    made = decode_with(codec, newest, data, refused.__setitem__)
    rows = sorted({*refused, *_incomplete(made)}) if others else []
    parts, length = [_fitted(made, kind)], len(made)
    places: dict[int, int] = {}
    for table in others:
        if not rows:
            break
        content = pa.array([data[row].as_py() for row in rows], pa.binary())
        older = decode_with(codec, table, content, lambda *_: None)
        there, incomplete, left = older.is_valid().to_pylist(), set(_incomplete(older)), []
        for place, row in enumerate(rows):
            complete = there[place] and place not in incomplete
            if complete or (there[place] and row in refused and row not in places):
                places[row] = length + place
            if not complete:
                left.append(row)
        parts.append(_fitted(older, kind))
        length += len(older)
        rows = left
    for row, error in refused.items():
        if row not in places:
            on_error(row, error)
    if not places:
        return parts[0]
    order = array("q", range(len(made)))
    for row, place in places.items():
        order[row] = place
    return pa.concat_arrays(parts).take(whole_numbers(order))


def _incomplete(made: pa.StructArray) -> list[int]:
    """Return the rows of messages with bytes after them."""
    place = made.type.get_field_index(UNUSED)
    if place < 0:
        return []
    sizes = pc.fill_null(pc.binary_length(made.field(place)), 0)
    found: list[int] = pc.indices_nonzero(sizes).to_pylist()
    return found


def _with_nulls(kind: pa.DataType, older: pa.DataType) -> pa.DataType:
    if pa.types.is_list(kind):
        inner = kind.value_field
        return pa.list_(inner.with_type(_with_nulls(inner.type, older.value_type)))
    if not pa.types.is_struct(kind):
        return kind
    fields = []
    for field in kind:
        place = older.get_field_index(field.name)
        if place >= 0:
            other = older.field(place)
            field = field.with_type(_with_nulls(field.type, other.type))
        missing = place < 0 or other.nullable
        fields.append(field.with_nullable(field.nullable or missing))
    return pa.struct(fields)


def _fitted(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return values in a type whose fields they have, or some of them."""
    if values.type == kind:
        return values
    if pa.types.is_struct(kind):
        children = []
        for field in kind:
            place = values.type.get_field_index(field.name)
            if place < 0:
                children.append(pa.nulls(len(values), field.type))
            else:
                children.append(_fitted(values.field(place), field.type))
        return pa.StructArray.from_arrays(children, fields=list(kind), mask=values.is_null())
    if pa.types.is_list(kind):
        return pa.Array.from_buffers(
            kind, len(values), values.buffers()[:2], values.null_count, values.offset,
            [_fitted(values.values, kind.value_type)],
        )  # fmt: skip
    return values.cast(kind)


def record_types(topic: str, data: pa.Array, codec: Codec) -> pa.Array:
    """Return the types of records as 64-bit integers, null where bytes say none.

    Args:
        topic: one of ``kafkaspec.messages.lookup.HEADS``.
        data: keys of its records, or values where they have no keys.
        codec: reads them.
    """
    if codec.core is not None:
        found, _ = decode_by_engine(codec.core, _head(topic), data)
        return found.flatten()[-1]
    return pa.array([_number(topic, item.as_py() or b"") for item in data], pa.int64())


def by_type(table: pa.Table, types: pa.Array) -> Iterator[tuple[int | None, pa.Table]]:
    """Yield the rows of each type."""
    for number in types.unique().to_pylist():
        chosen = types.is_null() if number is None else pc.equal(types, number)
        yield number, table.filter(chosen)


def located(error: KafkaSpecError, file: str | None, offset: int, part: str) -> KafkaSpecError:
    """Say of which record an error is; its position counts from the start of the key or value."""
    at = "" if error.position is None else f", byte {error.position} of its {part}"
    error.detail = f"record {offset}{at}: {error.detail}"
    error.position, error.file, error.path = None, file, f"/{part}{error.path or ''}"
    return error


@cache
def _head(topic: str) -> MessageTable:
    """Return the table of what any record of a topic begins with, up to its type."""
    layout = head_layout(topic)
    return MessageTable(layout, arrow_type(layout.root))


def _number(topic: str, data: bytes) -> int | None:
    number, stream = None, BytesIO(data)
    for field in HEADS[topic]:
        number = read_integer(stream, field.size, signed=field.signed)
        if number is None:
            break
    return number
