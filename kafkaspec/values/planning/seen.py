"""Which schemas the rows of a log name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa

from kafkaspec.values.decoding.column import grouped
from kafkaspec.values.decoding.compiling import (
    has_message,
    message_of,
    split_messages,
)
from kafkaspec.values.definition import Definition, SchemaError, SchemaType
from kafkaspec.values.framing.frames import FRAMINGS, SchemaKey, Side
from kafkaspec.values.plan import Target, Writer
from kafkaspec.values.planning.sampling import SAMPLE_ROWS, Sample

Seen = list[tuple[str | None, Writer]]
"""Schemas that rows name, with the message for Protobuf."""


def schemas_seen(
    every: Iterable[Sample], side: Side, framing: str, catalog: Mapping[SchemaKey, Writer]
) -> Seen:
    """Return the schemas that rows name."""
    found: dict[tuple[SchemaKey, str | None], Writer] = {}
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


def types_of_given(given: Target, seen: Seen) -> Iterator[Target]:
    """Yield the types of a schema that was named: of Protobuf, the messages that rows name."""
    if given.definition.type is not SchemaType.PROTOBUF or given.message is not None:
        yield given
        return
    for name in dict.fromkeys(message for message, _ in seen):
        if name is not None and has_message(given.definition, name):
            yield replace(given, name=name, message=name)


def has_type(writer: Writer, name: str, message: str | None) -> bool:
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
