"""Records of internal topics, decoded whatever release wrote them, and columns for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

from kafkaspec.arrow.messages.arrays import message_table
from kafkaspec.arrow.messages.topics import (
    by_type,
    decode_layouts,
    located,
    record_types,
    type_of_layouts,
)
from kafkaspec.codecs import get_codec
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout import MessageLayout, Role
from kafkaspec.layout.names import TAGGED_FIELDS
from kafkaspec.messages.lookup import in_topic, written_by
from kafkaspec.tables.json_values import json_values

FrameValue = Mapping[str, Any]
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
    value: FrameValue


def by_api_key(
    table: pa.Table, topic: str, file: str | None, release: str | None, left_out: LeftOut
) -> Iterator[Change]:
    """Yield the records of a table, by type; their values say in a frame what they are: KIP-631."""
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


def decode(
    layouts: Sequence[MessageLayout],
    data: pa.Array,
    release: str | None,
    on_error: Callable[[int, KafkaSpecError], None],
) -> pa.StructArray:
    """Return messages in the type of the newest layout; null where they cannot be decoded.

    Without a release, all layouts are tried, as ``decode_layouts`` does. Fields that the newest one
    does not have are left out, those that an older one lacks are null. ``on_error`` is called with
    the number of a row and the error of the first layout tried.
    """
    tried = written_by(layouts, release) or layouts
    return decode_layouts(get_codec(), tried, data, type_of_layouts(tuple(layouts)), on_error)


def columns_of(message: str, *names: str, **renamed: str) -> list[pa.Field]:
    """Return columns of the types that fields of a message have, or fields of fields: ``a.b``.

    Args:
        message: id of the message in the specification, and perhaps the path of a structure in it.
        names: fields whose columns have their names.
        renamed: fields of other columns.
    """
    name, *path = message.split(".")
    kind = _inner(message_table(name).type, path)
    wanted = dict(zip(names, names, strict=True)) | renamed
    return [pa.field(each, _shown(_inner(kind, of.split(".")))) for each, of in wanted.items()]


def _inner(kind: pa.DataType, path: list[str]) -> pa.DataType:
    for name in path:
        kind = (kind.value_type if pa.types.is_list(kind) else kind).field(name).type
    return kind


def _shown(kind: pa.DataType) -> pa.DataType:
    """Return a type without tagged fields, in which all may be null."""
    if pa.types.is_list(kind):
        return pa.list_(_shown(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct(
            [(each.name, _shown(each.type)) for each in kind if each.name != TAGGED_FIELDS]
        )
    return kind
