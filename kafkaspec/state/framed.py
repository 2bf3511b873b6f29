"""Records without a key, whose values say in a frame what they are: KIP-405, KIP-631."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

from kafkaspec.arrow.messages.record_types import by_type, located, record_types
from kafkaspec.codecs import get_codec
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout import Role
from kafkaspec.messages.lookup import in_topic
from kafkaspec.state.decoding import decode
from kafkaspec.tables.json_values import json_values

Value = Mapping[str, Any]
_OFFSET, _TIMESTAMP, _VALUE = COLUMNS = ("offset", "timestamp", "value")


@dataclass(kw_only=True)
class LeftOut:
    """Records that were not taken into account.

    Attributes:
        errors: why records that could not be decoded were left out.
        unknown: numbers of records by type that is not known; None for one without a type.
    """

    errors: list[KafkaSpecError] = field(default_factory=list)
    unknown: dict[int | None, int] = field(default_factory=dict)


class Change(NamedTuple):
    """A record of the metadata.

    Attributes:
        offset: of the record; -1 in a snapshot, whose offsets mean nothing.
        timestamp: of the record, ms.
        name: id of the message in the specification, ``topic_record``.
        value: its fields.
    """

    offset: int
    timestamp: int
    name: str
    value: Value


def by_api_key(
    table: pa.Table, topic: str, file: str | None, release: str | None, left_out: LeftOut
) -> Iterator[Change]:
    """Yield the records of a table, those of one type after the other."""
    types = record_types(topic, table[_VALUE].combine_chunks(), get_codec())
    for number, rows in by_type(table, types):
        layouts = () if number is None else in_topic(topic, Role.RECORD, number)
        if not layouts:
            left_out.unknown[number] = left_out.unknown.get(number, 0) + rows.num_rows
            continue
        offsets = rows[_OFFSET].to_pylist()

        def refuse(row: int, error: KafkaSpecError, offsets: list[int] = offsets) -> None:
            left_out.errors.append(located(error, file, offsets[row], _VALUE))

        decoded = decode(layouts, rows[_VALUE].combine_chunks(), release, refuse)
        times = rows[_TIMESTAMP].cast(pa.int64()).to_pylist()
        name = layouts[0].id
        for offset, time, value in zip(
            offsets, times, json_values(decoded, messages=True), strict=True
        ):
            if value is not None:
                yield Change(offset, time, name, value)
