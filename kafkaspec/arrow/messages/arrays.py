"""Kafka's messages as Arrow arrays, and back to bytes.

A message is a struct of all its versions' fields. Null is a field that the version does not have,
a tagged field that is not there, and what is null in the bytes. Tagged fields that the
specification does not know are kept, so that ``encode_array`` writes them again.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec.arrow.messages.reference import MessageWriter, Unencodable, message_value
from kafkaspec.arrow.schema import INTEGERS
from kafkaspec.codecs import Codec, get_codec
from kafkaspec.codecs.native.core import DEFAULT_PACKAGE, Core
from kafkaspec.columns.messages import Program, message_layout
from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.messages.lookup import by_name, written_by
from kafkaspec.messages.tables import ColumnKind, ColumnLayout
from kafkaspec.options import checked
from kafkaspec.policy import OnRow


@dataclass(frozen=True)
class MessageTable(Program):
    """A message.

    Attributes:
        type: type of its array, a struct.
    """

    type: pa.DataType

    @cached_property
    def places(self) -> tuple[str, ...]:
        """The path of each column, for errors."""
        return tuple(_places(self.layout.root, ""))


@cache
def message_table(name: str, package: str = DEFAULT_PACKAGE) -> MessageTable:
    """Return the table of a message.

    Args:
        name: id of its file in the specification, ``offset_commit_value``.
        package: the generated code.

    Raises:
        KeyError: the specification has no such message.
    """
    layout = message_layout(name, package)
    return MessageTable(layout, arrow_type(layout.root))


def arrow_type(column: ColumnLayout) -> pa.DataType:
    """Return the type of a column in Arrow."""
    match column.kind:
        case ColumnKind.STRUCT:
            return pa.struct([_field(child) for child in column.children])
        case ColumnKind.LIST:
            return pa.list_(_field(column.children[0]))
        case ColumnKind.BYTES:
            return pa.binary()
        case ColumnKind.TEXT:
            return pa.string()
        case ColumnKind.FIXED:
            return pa.binary(column.size)
        case ColumnKind.INTEGER:
            return INTEGERS[column.size, column.signed]
        case ColumnKind.FLOAT:
            return pa.float64()
        case ColumnKind.BOOLEAN:
            return pa.bool_()


def _field(column: ColumnLayout) -> pa.Field:
    return pa.field(column.name, arrow_type(column), nullable=column.nullable)


def _places(column: ColumnLayout, path: str) -> Any:
    yield path
    for child in column.children:
        inner = path if column.kind is ColumnKind.LIST else f"{path}/{child.name}"
        yield from _places(child, inner)


_LAYOUTS: Final = {pa.binary(): 0, pa.large_binary(): 1, pa.binary_view(): 2}
"""Numbers of the layouts that the engine reads."""


def array_type(name: str, *, release: str | None = None) -> pa.DataType:
    """Return the type of the array of a message; the arguments are those of ``decode_array``."""
    return table_of(name, release).type


def table_of(name: str, release: str | None = None) -> MessageTable:
    """Return the table of a message by Kafka's name of it.

    Raises:
        KeyError: the specification has no such message.
        ValueError: the release is none.
    """
    layouts = written_by(by_name(name), release)
    if not layouts:
        raise KeyError(f"the specification has no message {name}")
    return message_table(layouts[0].id)


@checked
def decode_array(
    name: str,
    data: pa.Array,
    *,
    release: str | None = None,
    codec: str | Codec | None = None,
    on_error: OnRow = "raise",
) -> pa.StructArray:
    """Return messages as an array of structs; null where there are no bytes.

    Args:
        name: Kafka's name of the message, ``OffsetCommitValue``.
        data: their bytes, from the first that says the type or version.
        release: release of the broker that wrote them, ``4.0.2``, where its layout is an old one.
        codec: reads them, the native one by default.
        on_error: see ``OnRow``.

    Raises:
        KafkaSpecError: bytes are not such a message, and ``on_error`` is ``raise``.
        KeyError: the specification has no such message.
    """
    codec = codec if isinstance(codec, Codec) else get_codec(codec)
    return decode_with(codec, table_of(name, release), data, on_error)


def decode_with(
    codec: Codec, table: MessageTable, data: pa.Array, on_error: OnRow = "raise"
) -> pa.StructArray:
    """Return what ``decode_array`` returns, by a codec and a table that are given."""
    if data.type not in _LAYOUTS:
        data = data.cast(pa.binary())
    if codec.core is None:
        rows = [None if item is None else item.as_py() for item in data]
        values = [_value(codec, table, row, item, on_error) for row, item in enumerate(rows)]
        return pa.array(values, table.type)
    made, refused = decode_by_engine(codec.core, table, data)
    if not refused:
        return made
    values = [_value(codec, table, row, data[row].as_py(), on_error) for row in refused]
    places = list(range(len(made)))
    for place, (row, value) in enumerate(zip(refused, values, strict=True)):
        if value is not None:
            places[row] = len(made) + place
    return pa.concat_arrays([made, pa.array(values, table.type)]).take(pa.array(places))


def _value(
    codec: Codec, table: MessageTable, row: int, data: bytes | None, on_error: OnRow
) -> dict[str, Any] | None:
    if data is None:
        return None
    try:
        return message_value(codec, table.layout, data)
    except KafkaSpecError as error:
        if on_error == "raise":
            raise
        on_error(row, error)
        return None


def decode_by_engine(
    core: Core, table: MessageTable, data: pa.Array
) -> tuple[pa.StructArray, array[int]]:
    """Return the array, and the numbers of the rows that the engine refused, which are null."""
    validity, places, *content = data.buffers()
    columns, lines = table.engine
    refused, found = core.module.messages_decode(
        columns, lines, len(data), data.offset, _LAYOUTS[data.type], validity,
        b"" if places is None else places,
        tuple(b"" if buffer is None else buffer for buffer in content),
    )  # fmt: skip
    rows = array("q")
    rows.frombytes(refused)
    return _array(table.layout.root, table.type, iter(found)), rows


def _array(column: ColumnLayout, kind: pa.DataType, found: Any) -> pa.Array:
    length, nulls, validity, values, data = next(found)
    children = [
        _array(child, kind.field(index).type, found) for index, child in enumerate(column.children)
    ]
    buffers = [validity]
    if column.kind is not ColumnKind.STRUCT:
        buffers.append(values)
    if column.kind in (ColumnKind.BYTES, ColumnKind.TEXT):
        buffers.append(data)
    wrapped = [None if buffer is None else pa.py_buffer(buffer) for buffer in buffers]
    return pa.Array.from_buffers(kind, length, wrapped, null_count=nulls, children=children)


def encode_array(
    name: str, values: pa.Array, *, release: str | None = None, codec: str | Codec | None = None
) -> pa.BinaryArray:
    """Return the bytes of messages, null for null: the reverse of ``decode_array``.

    Args:
        name: Kafka's name of the message, ``OffsetCommitValue``.
        values: the messages, of the type that ``array_type`` returns or one that Arrow casts to it.
        release: release that reads them, where its layout is an old one.
        codec: writes them, the native one by default.

    Raises:
        KafkaSpecError: a value does not fit the message, or the version does not have it.
        KeyError: the specification has no such message.
    """
    codec = codec if isinstance(codec, Codec) else get_codec(codec)
    return encode_with(codec, table_of(name, release), values)


def encode_with(codec: Codec, table: MessageTable, values: pa.Array) -> pa.BinaryArray:
    """Return what ``encode_array`` returns, by a codec and a table that are given."""
    if values.type != table.type:
        values = values.cast(table.type)
    if codec.core is None:
        return _written(table, values)
    columns, lines = table.engine
    inputs = tuple(_inputs(table.layout.root, values))
    first, second = codec.core.module.messages_encode(columns, lines, inputs)
    if isinstance(first, int):
        raise _unencodable(table, first, second)
    buffers = [None, pa.py_buffer(first), pa.py_buffer(second)]
    made = pa.Array.from_buffers(pa.binary(), len(values), buffers)
    return pc.if_else(values.is_valid(), made, None) if values.null_count else made


def _written(table: MessageTable, values: pa.Array) -> pa.BinaryArray:
    """Return the bytes of messages without the engine."""
    writer, made = MessageWriter(table.layout), []
    for row, value in enumerate(values.to_pylist()):
        try:
            made.append(None if value is None else writer.message(value))
        except Unencodable as error:
            raise _unencodable(table, row, error.column) from None
    return pa.array(made, pa.binary())


def _unencodable(table: MessageTable, row: int, column: int) -> KafkaSpecError:
    detail = f"the value in row {row} does not fit, or its version does not have it"
    return make_error(Reason.UNENCODABLE, detail, path=table.places[column])


def _inputs(column: ColumnLayout, values: pa.Array) -> Any:
    buffers = values.buffers()
    offset = values.offset
    if column.kind is ColumnKind.STRUCT:
        yield len(values), offset, buffers[0], None, None
        for index, child in enumerate(column.children):
            yield from _inputs(child, values.field(index))
        return
    nothing = b"" if buffers[1] is None else buffers[1]
    if column.kind is ColumnKind.LIST:
        yield len(values), offset, buffers[0], nothing, None
        yield from _inputs(column.children[0], values.values)
        return
    data = buffers[2] if len(buffers) > 2 else None
    yield len(values), offset, buffers[0], nothing, b"" if data is None else data
