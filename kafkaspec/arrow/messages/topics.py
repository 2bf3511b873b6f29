"""The messages of an internal topic as typed tables, one for each type of record.

Messages are in columns whatever release wrote them.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from typing import Final, Unpack

import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec.arrow.arrays import choose
from kafkaspec.arrow.messages import arrays
from kafkaspec.arrow.messages.reference import read_integer
from kafkaspec.arrow.record_batches import AnyLog, partitions_of, record_batches
from kafkaspec.arrow.schema import SIMPLE, Request, RequestOptions, request_of, whole_numbers
from kafkaspec.codecs import Codec, get_codec
from kafkaspec.columns.messages import head_layout
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout import MessageLayout, Role
from kafkaspec.layout.names import UNUSED
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.segment import Segment
from kafkaspec.messages.lookup import HEADS, MESSAGES, in_topic, written_by
from kafkaspec.options import did_you_mean
from kafkaspec.policy import RaiseOrColumn


@cache
def type_of_layouts(layouts: tuple[MessageLayout, ...]) -> pa.DataType:
    """Return the type of the newest of some layouts, with nulls for what older ones lack."""
    newest, *others = (arrays.message_table(layout.id).type for layout in layouts)
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
    newest, *others = (arrays.message_table(layout.id) for layout in layouts)
    refused: dict[int, KafkaSpecError] = {}
    made = arrays.decode_with(codec, newest, data, refused.__setitem__)
    rows = sorted({*refused, *_incomplete(made)}) if others else []
    parts, length = [_fitted(made, kind)], len(made)
    places: dict[int, int] = {}
    for table in others:
        if not rows:
            break
        content = pa.array([data[row].as_py() for row in rows], pa.binary())
        older = arrays.decode_with(codec, table, content, lambda *_: None)
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
        found, _ = arrays.decode_by_engine(codec.core, _head(topic), data)
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
def _head(topic: str) -> arrays.MessageTable:
    """Return the table of what any record of a topic begins with, up to its type."""
    layout = head_layout(topic)
    return arrays.MessageTable(layout, arrays.arrow_type(layout.root))


def _number(topic: str, data: bytes) -> int | None:
    number, stream = None, BytesIO(data)
    for field in HEADS[topic]:
        number = read_integer(stream, field.size, signed=field.signed)
        if number is None:
            break
    return number


ERROR: Final = "error"


@dataclass(frozen=True)
class MessageKind:
    """A type of record of a topic.

    Attributes:
        topic: name of the topic.
        number: the number of the type in the records.
        key: the layouts of the message in its key; none where the value says what it is.
        value: the layouts of the message in its value.
    """

    topic: str
    number: int
    key: tuple[MessageLayout, ...]
    value: tuple[MessageLayout, ...]


@cache
def kind_of_record(name: str, release: str | None = None) -> MessageKind:
    """Return the type of record that is called so.

    Args:
        name: ``OffsetCommit`` for OffsetCommitKey and OffsetCommitValue; ``Partition`` or
            ``PartitionRecord``.
        release: release of the broker that wrote the records.

    Raises:
        ValueError: no topic has such records, or not in that release.
    """
    found = [message for message in MESSAGES if name in _names(message)]
    if not found:
        known = sorted({_names(message)[0] for message in MESSAGES if _names(message)})
        detail = f"no topic has records called {name!r}; there are {', '.join(known)}"
        raise ValueError(detail + did_you_mean(name, known))
    key, value = (
        _layouts([message for message in found if message.role in roles], release)
        for roles in ((Role.KEY,), (Role.VALUE, Role.RECORD))
    )
    if not value:
        raise ValueError(f"{release} has no records called {name!r}")
    assert value[0].number is not None
    return MessageKind(value[0].topic, value[0].number, key, value)


def _names(message: MessageLayout) -> tuple[str, ...]:
    """Return what the records of a message are called, the usual name first."""
    match message.role:
        case Role.KEY:
            return (message.name.removesuffix("Key"),)
        case Role.VALUE:
            return (message.name.removesuffix("Value"),)
        case Role.RECORD:
            return message.name.removesuffix("Record"), message.name
    return ()


def _layouts(found: list[MessageLayout], release: str | None) -> tuple[MessageLayout, ...]:
    """Return the layout of a release; without one also those before it, whatever their names."""
    chosen = written_by(found, release)
    if release is not None or not found or found[0].number is None:
        return chosen
    known = in_topic(found[0].topic, found[0].role, found[0].number)
    return known[known.index(found[0]) :]


def schema_of_messages(
    kind: MessageKind, on_value_error: RaiseOrColumn, *, of_segment: bool
) -> pa.Schema:
    """Return the schema of a table of records."""
    names = ["offset", "timestamp"] if of_segment else ["partition", "offset", "timestamp"]
    fields = [pa.field(name, SIMPLE[name][0], nullable=SIMPLE[name][1]) for name in names]
    if kind.key:
        fields.append(pa.field("key", type_of_layouts(kind.key)))
    fields.append(pa.field("value", type_of_layouts(kind.value)))
    if on_value_error == "column":
        fields.append(pa.field(ERROR, pa.string()))
    return pa.schema(fields)


def read_messages(
    log: AnyLog,
    name: str,
    *,
    release: str | None = None,
    on_value_error: RaiseOrColumn = "raise",
    **options: Unpack[RequestOptions],
) -> pa.RecordBatchReader:
    """Return a reader of the records of one type; see ``Columnar.topic_messages``."""
    kind = kind_of_record(name, release)
    schema = schema_of_messages(kind, on_value_error, of_segment=isinstance(log, Segment))
    wanted = [field.name for field in schema if field.name != ERROR]
    request = request_of((), wanted, **options)
    return pa.RecordBatchReader.from_batches(schema, _batches(log, request, kind, schema))


def _batches(
    log: AnyLog, request: Request, kind: MessageKind, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    codec = log.codec if isinstance(log, Segment) else get_codec()
    logs: list[AnyLog] = [log]
    if isinstance(log, LogDirectory):
        found = partitions_of(log, request.on_unreadable)
        logs = [partition for partition in found if partition.topic == kind.topic]
    keep = ERROR in schema.names
    for one in logs:
        for batch in record_batches(one, request):
            made = decode_records(codec, kind, batch, str(one.path or ""), keep=keep)
            if made.num_rows:
                columns = [made.column(name) for name in schema.names]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)


def decode_records(
    codec: Codec, kind: MessageKind, batch: pa.RecordBatch, where: str, *, keep: bool
) -> pa.RecordBatch:
    """Return the records of one type, with their keys and values decoded.

    Args:
        codec: reads them.
        kind: the type.
        batch: records of its topic, with ``offset`` and with what says their types: ``key``, or
            ``value`` where they have none.
        where: path of their log, for errors.
        keep: whether to add a column ``error``, instead of raising the first error.

    Raises:
        KafkaSpecError: a record does not decode.
    """
    heads = batch.column("key" if kind.key else "value")
    wanted = whole_numbers((kind.number,))
    batch = choose(batch, pc.is_in(record_types(kind.topic, heads, codec), wanted))
    errors: dict[int, list[KafkaSpecError]] = {}
    columns = {field.name: batch.column(field.name) for field in batch.schema}
    for part, layouts in (("key", kind.key), ("value", kind.value)):
        if not layouts or part not in columns:
            continue

        def note(row: int, error: KafkaSpecError, part: str = part) -> None:
            offset = batch.column("offset")[row].as_py()
            errors.setdefault(row, []).append(located(error, where or None, offset, part))

        type_ = type_of_layouts(layouts)
        columns[part] = decode_layouts(codec, layouts, columns[part], type_, note)
    if errors and not keep:
        raise errors[min(errors)][0]
    if keep:
        texts = {row: "; ".join(map(str, found)) for row, found in errors.items()}
        columns[ERROR] = pa.array(map(texts.get, range(batch.num_rows)), pa.string())
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
