"""The messages of an internal topic as typed tables, one for each type of record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from io import BytesIO
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec.arrow.arrays import choose
from kafkaspec.arrow.message_reference import read_integer
from kafkaspec.arrow.message_tables import MessageTable, arrow_type, message_table
from kafkaspec.arrow.messages import decode_by_engine, decode_with
from kafkaspec.arrow.reading import Log, partitions_of, record_batches
from kafkaspec.arrow.schema import SIMPLE, Request, request_of, whole_numbers
from kafkaspec.codecs import Codec, get_codec
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout import MessageLayout, Role
from kafkaspec.layout.message_columns import (
    HIGHEST,
    LOWEST,
    SIGNED,
    WIDTH,
    ColumnKind,
    ColumnLayout,
    MessageColumns,
    Step,
)
from kafkaspec.layout.messages import MESSAGES, written_by
from kafkaspec.log.columnar import OnMessage
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.segment import Segment

ERROR: Final = "error"


@dataclass(frozen=True)
class Kind:
    """A type of record of a topic.

    Attributes:
        topic: name of the topic.
        key: the message in its key; None where the value says what it is.
        value: the message in its value.
    """

    topic: str
    key: MessageTable | None
    value: MessageTable

    @cached_property
    def number(self) -> int:
        """The number of the type in the records."""
        *_, last = _head_lines((self.key or self.value).layout)
        return last[-1]

    @cached_property
    def head(self) -> MessageTable:
        """The table of what any record of the topic begins with, up to its type."""
        *before, last = _head_lines((self.key or self.value).layout)
        program = [number for line in before for number in line]
        step, _, after, size, plus, flags, *_ = last
        program += [step, 1, after, size, plus, flags, LOWEST, HIGHEST]
        program += [Step.END, -1, after + 1, 0, 0, 0, LOWEST, HIGHEST]
        number = ColumnLayout("number", ColumnKind.INTEGER, 8, signed=True)
        root = ColumnLayout("", ColumnKind.STRUCT, nullable=True, children=(number,))
        return MessageTable(MessageColumns("", root, tuple(program)), arrow_type(root))


def _head_lines(layout: MessageColumns) -> list[tuple[int, ...]]:
    """Return the lines that a message begins with: integers that are the same in all of them."""
    found = []
    for at in range(0, len(layout.program), WIDTH):
        line = layout.program[at : at + WIDTH]
        if line[0] != Step.INTEGER or line[1] >= 0:
            break
        found.append(line)
    return found


@cache
def kind_of_record(name: str, release: str | None = None) -> Kind:
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
        raise ValueError(f"no topic has records called {name!r}; there are {', '.join(known)}")
    key, value = (
        written_by([message for message in found if message.role in roles], release)
        for roles in ((Role.KEY,), (Role.VALUE, Role.RECORD))
    )
    if not value:
        raise ValueError(f"{release} has no records called {name!r}")
    return Kind(value[0].topic, _table(key[0]) if key else None, _table(value[0]))


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


def _table(message: MessageLayout) -> MessageTable:
    return message_table(message.key.partition(".")[0])


def schema_of_messages(kind: Kind, on_message: OnMessage, *, of_segment: bool) -> pa.Schema:
    """Return the schema of a table of records."""
    names = ["offset", "timestamp"] if of_segment else ["partition", "offset", "timestamp"]
    fields = [pa.field(name, SIMPLE[name][0], nullable=SIMPLE[name][1]) for name in names]
    if kind.key is not None:
        fields.append(pa.field("key", kind.key.type))
    fields.append(pa.field("value", kind.value.type))
    if on_message == "keep":
        fields.append(pa.field(ERROR, pa.string()))
    return pa.schema(fields)


def read_messages(
    log: Log,
    name: str,
    *,
    release: str | None = None,
    on_message: OnMessage = "fail",
    **options: Any,
) -> pa.RecordBatchReader:
    """Return a reader of the records of one type; see ``Columnar.topic_messages``."""
    if on_message not in ("fail", "keep"):
        raise ValueError(f"on_message is 'fail' or 'keep', not {on_message!r}")
    kind = kind_of_record(name, release)
    schema = schema_of_messages(kind, on_message, of_segment=isinstance(log, Segment))
    wanted = [field.name for field in schema if field.name != ERROR]
    request = request_of((), wanted, **options)
    return pa.RecordBatchReader.from_batches(schema, _batches(log, request, kind, schema))


def _batches(log: Log, request: Request, kind: Kind, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    codec = log.codec if isinstance(log, Segment) else get_codec()
    logs: list[Log] = [log]
    if isinstance(log, LogDirectory):
        found = partitions_of(log, request.on_unreadable)
        logs = [partition for partition in found if partition.topic == kind.topic]
    for one in logs:
        for batch in record_batches(one, request):
            chosen = _chosen(codec, kind, batch)
            if chosen.num_rows:
                yield _typed(codec, kind, chosen, schema, str(one.path or ""))


def _chosen(codec: Codec, kind: Kind, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the records of a type."""
    heads = batch.column("value" if kind.key is None else "key")
    wanted = whole_numbers((kind.number,))
    return choose(batch, pc.is_in(_numbers(codec, kind, heads), wanted))


def _numbers(codec: Codec, kind: Kind, heads: pa.Array) -> pa.Array:
    """Return the numbers of types, null where bytes say none."""
    if codec.core is not None:
        found, _ = decode_by_engine(codec.core, kind.head, heads)
        return found.flatten()[0]
    lines = _head_lines((kind.key or kind.value).layout)
    return pa.array([_number(lines, head.as_py() or b"") for head in heads], pa.int64())


def _number(lines: list[tuple[int, ...]], data: bytes) -> int | None:
    """Return the last of the integers that bytes begin with; None if the others do not fit."""
    value, stream = None, BytesIO(data)
    for place, (_, _, _, size, _, flags, low, high) in enumerate(lines, 1):
        value = read_integer(stream, size, signed=bool(flags & SIGNED))
        if value is None or (place < len(lines) and not low <= value <= high):
            return None
    return value


def _typed(
    codec: Codec, kind: Kind, batch: pa.RecordBatch, schema: pa.Schema, where: str
) -> pa.RecordBatch:
    """Return records with their keys and values decoded."""
    errors: dict[int, list[KafkaSpecError]] = {}
    columns = []
    for field in schema:
        if field.name == ERROR:
            continue
        column = batch.column(field.name)
        table = {"key": kind.key, "value": kind.value}.get(field.name)
        if table is not None:

            def note(row: int, error: KafkaSpecError, part: str = field.name) -> None:
                offset = batch.column("offset")[row].as_py()
                errors.setdefault(row, []).append(_located(error, offset, part, where))

            column = decode_with(codec, table, column, note)
        columns.append(column)
    if ERROR in schema.names:
        texts = {row: "; ".join(map(str, found)) for row, found in errors.items()}
        columns.append(pa.array(map(texts.get, range(batch.num_rows)), pa.string()))
    elif errors:
        raise errors[min(errors)][0]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _located(error: KafkaSpecError, offset: int, part: str, where: str) -> KafkaSpecError:
    """Say of which record an error is; its position counts from the begin of the key or value."""
    error.detail = f"record {offset}, byte {error.offset} of its {part}: {error.detail}"
    error.offset = None
    error.file = where or None
    error.path = f"/{part}{error.path}"
    return error
