"""Some rows of a log, which show how all of them are framed, and the schemas that rows name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa

from kafkaspec.arrow.record_batches import AnyLog, record_batches
from kafkaspec.arrow.schema import request_of
from kafkaspec.log.directory import LogDirectory
from kafkaspec.values.decoding.column import grouped, has_message, message_of, split_messages
from kafkaspec.values.definition import Definition, SchemaError, SchemaType
from kafkaspec.values.framing.frames import FRAMINGS, SchemaKey, Side
from kafkaspec.values.plan import ReaderTarget, WriterSchema

SAMPLE_ROWS: Final = 1000
"""Rows of a partition that show how it is framed."""

_SAMPLE_BYTES: Final = 1 << 20

_MOST_PARTITIONS: Final = 16


@dataclass(frozen=True, slots=True)
class Sample:
    """Keys or values of some rows of a log, and their headers if these are known."""

    values: pa.Array
    headers: pa.Array | None

    def first(self, number: int) -> Sample:
        """Return the first rows."""
        headers = None if self.headers is None else self.headers.slice(0, number)
        return Sample(self.values.slice(0, number), headers)


SampledLog = AnyLog | Sequence[Sample | AnyLog | pa.RecordBatch]
"""A log, or all rows of it: logs, and record batches with keys, values and headers."""


def rows_of(log: SampledLog, side: Side, *, sample: bool) -> Iterator[Sample]:
    """Yield keys or values with their headers: all of a log, or some of each partition."""
    if isinstance(log, Sequence):
        for part in log[:_MOST_PARTITIONS] if sample else log:
            if isinstance(part, pa.RecordBatch):
                part = Sample(part.column(side), part.column("headers"))
            if not isinstance(part, Sample):
                yield from rows_of(part, side, sample=sample)
            else:
                yield part.first(SAMPLE_ROWS) if sample else part
        return
    options: dict[str, Any] = {"layout": "binary", "on_error": _ignore, "on_unreadable": _ignore}
    if sample:
        options["max_bytes"] = _SAMPLE_BYTES
    request = request_of((side, "headers"), None, **options)
    logs = log.current[:_MOST_PARTITIONS] if sample and isinstance(log, LogDirectory) else [log]
    for each in logs:
        for batch in record_batches(each, request):
            columns = (batch.column(place) for place in range(2))
            rows = Sample(*columns)
            if not sample:
                yield rows
                continue
            yield rows.first(SAMPLE_ROWS)
            break


def _ignore(error: Exception) -> None:
    """Ignore an error: it is reported later, when the log is read as a whole."""


Seen = list[tuple[str | None, WriterSchema]]
"""Schemas that rows name, with the message for Protobuf."""


def schemas_seen(
    every: Iterable[Sample], side: Side, framing: str, catalog: Mapping[SchemaKey, WriterSchema]
) -> Seen:
    """Return the schemas that rows name."""
    found: dict[tuple[SchemaKey, str | None], WriterSchema] = {}
    for rows in every:
        split = FRAMINGS[framing](rows.values, rows.headers, side)
        for own, key in grouped(split):
            writer = catalog.get(key) if key is not None else None
            if key is None or writer is None or writer.definition is None:
                continue
            if writer.definition.type is not SchemaType.PROTOBUF:
                found[key, None] = writer
                continue
            payloads = split.payloads.take(pa.array(own))
            for message in _messages(writer.definition, payloads, framing):
                found[key, message] = writer
    return [(message, writer) for (_, message), writer in found.items()]


def types_of_given(given: ReaderTarget, seen: Seen) -> Iterator[ReaderTarget]:
    """Yield the types of a schema that was named: of Protobuf, the messages that rows name."""
    if given.definition.type is not SchemaType.PROTOBUF or given.message is not None:
        yield given
        return
    for name in dict.fromkeys(message for message, _ in seen):
        if name is not None and has_message(given.definition, name):
            yield replace(given, name=name, message=name)


def has_type(writer: WriterSchema, name: str, message: str | None) -> bool:
    """Return whether a schema has a record or message of some name."""
    if writer.definition is None:
        return False
    if writer.definition.type is not SchemaType.PROTOBUF:
        return message is None and writer.name == name
    return message is not None and has_message(writer.definition, message)


def _messages(definition: Definition, payloads: pa.Array, framing: str) -> Iterator[str]:
    """Yield the full names of the messages that payloads of a Protobuf schema name."""
    lists = split_messages(payloads, framing)
    for number, indexes in enumerate(lists.values):
        sample = np.flatnonzero(lists.groups == number)[:SAMPLE_ROWS]
        try:
            yield message_of(definition, indexes, lists.payloads.take(pa.array(sample)))[1]
        except SchemaError:
            continue
