"""The messages of an internal topic as typed tables, one for each type of record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final, Unpack

import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec.arrow.arrays import choose
from kafkaspec.arrow.messages.layouts import decode_layouts, located, record_types, type_of_layouts
from kafkaspec.arrow.reading import AnyLog, partitions_of, record_batches
from kafkaspec.arrow.schema import SIMPLE, Request, RequestOptions, request_of, whole_numbers
from kafkaspec.codecs import Codec, get_codec
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout import MessageLayout, Role
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.segment import Segment
from kafkaspec.messages.lookup import MESSAGES, in_topic, written_by
from kafkaspec.options import did_you_mean
from kafkaspec.policy import RaiseOrColumn

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
