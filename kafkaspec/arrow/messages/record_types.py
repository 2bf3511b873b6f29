"""The types of the records of Kafka's own topics, by columns; errors of a record."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from io import BytesIO

import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec.arrow.messages.arrays import decode_by_engine
from kafkaspec.arrow.messages.reference import read_integer
from kafkaspec.arrow.messages.tables import MessageTable, arrow_type
from kafkaspec.codecs import Codec
from kafkaspec.columns.messages import head_layout
from kafkaspec.errors import KafkaSpecError
from kafkaspec.messages.lookup import HEADS


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
