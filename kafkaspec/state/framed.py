"""Records of internal topics, decoded whatever release wrote them, and columns for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec.arrow.messages.arrays import message_table
from kafkaspec.arrow.messages.topics import (
    by_type,
    decode_layouts,
    located,
    record_types,
    type_of_layouts,
)
from kafkaspec.codecs import get_codec
from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.layout import MessageLayout, Role
from kafkaspec.layout.names import MESSAGE_FRAME, TAGGED_FIELDS
from kafkaspec.messages.lookup import by_name, in_topic, may_have_key, written_by
from kafkaspec.tables.json_values import json_values

FrameValue = Mapping[str, Any]
_OFFSET, _TIMESTAMP, _VALUE, _KEY = COLUMNS = ("offset", "timestamp", "value", "key")
_FRAME: Final = MESSAGE_FRAME - {TAGGED_FIELDS}
_TAG: Final = "tag"
OWNERS: Final = ("group_id", "group", "transactional_id")
"""Fields of keys that say whose a record is."""


@dataclass
class UnknownPart:
    """Records, or tagged fields in them, of which it is not known what they change.

    Attributes:
        record_type: number of the type of the records; None for bytes that say none.
        message: Kafka's name of the message; None if the specification has none of that type.
        field: path of the structure that has the tagged field, "" for the message itself; None for
            whole records.
        tag: number of the tagged field; None for whole records.
        count: how many there are.
        first_offset: of the first record.
    """

    record_type: int | None
    message: str | None
    field: str | None
    tag: int | None
    count: int
    first_offset: int


class OtherRecord(NamedTuple):
    """The last record of a key of a type that no table of a state has, by the specification alone.

    Attributes:
        record: Kafka's name of the message, without ``Key`` and ``Value``.
        record_type: number of its type.
        key: fields of its key; None if the specification does not describe it.
        value: fields of its value.
        log_offset: of the record.
        timestamp: of the record, ms.
        pending: whether its transaction has not ended.
    """

    record: str
    record_type: int | None
    key: FrameValue | None
    value: FrameValue
    log_offset: int
    timestamp: int
    pending: bool = False

    @property
    def owner(self) -> str | None:
        """The group or transactional id that it is about, None if its key names none."""
        key = self.key or {}
        return next((key[name] for name in OWNERS if name in key), None)

    @classmethod
    def of(cls, name: str, row: Mapping[str, Any], *, pending: bool = False) -> OtherRecord:
        """Return the record in a row of ``json_rows`` with ``key`` and ``value``."""
        (layout, *_) = by_name(name)
        key, value = own_fields(row[_KEY]), own_fields(row[_VALUE])
        return cls(name, layout.number, key, value, row[_OFFSET], row[_TIMESTAMP], pending)


@dataclass(kw_only=True)
class LeftOut:
    """Records that were not taken into account, or not in full.

    Attributes:
        errors: why records that could not be decoded were left out.
        unknown: what is not known, by type of record, message, field and tag.
        records: those that only the specification describes.
    """

    errors: list[KafkaSpecError] = field(default_factory=list)
    unknown: dict[tuple[Any, ...], UnknownPart] = field(default_factory=dict)
    records: list[OtherRecord] = field(default_factory=list)

    @property
    def left_out(self) -> int:
        """Number of records that are not in the state at all."""
        return len(self.errors) + sum(p.count for p in self.unknown.values() if p.tag is None)

    def is_unknown(
        self,
        offsets: Iterable[int],
        record_type: int | None,
        message: str | None = None,
        place: str | None = None,
        tag: int | None = None,
    ) -> None:
        """Note records at some offsets, of which it is not known what they change."""
        rows = list(offsets)
        own = record_type, message, place, tag
        part = self.unknown.setdefault(own, UnknownPart(*own, 0, min(rows)))
        part.count += len(rows)
        part.first_offset = min(part.first_offset, *rows)

    def note_tags(self, layout: MessageLayout, values: pa.Array, offsets: pa.Array) -> None:
        """Note the tagged fields of messages that the specification does not have."""
        for place, tags, rows in _unknown_tags(values, offsets, ""):
            for number in tags.unique().to_pylist():
                found = rows.filter(pc.equal(tags, number)).to_pylist()
                self.is_unknown(found, layout.number, layout.name, place, number)


def _unknown_tags(
    values: pa.Array, rows: pa.Array, place: str
) -> Iterator[tuple[str, pa.Array, pa.Array]]:
    """Yield the numbers of tagged fields with the rows they are in, by the path of what has them.

    Those that the specification has are separate columns, and not among them.
    """
    if pa.types.is_list(values.type):
        if pa.types.is_struct(values.type.value_type):
            inner = rows.take(pc.list_parent_indices(values))
            yield from _unknown_tags(values.flatten(), inner, place)
    elif pa.types.is_struct(values.type):
        for column, child in zip(values.type, values.flatten(), strict=True):
            if column.name != TAGGED_FIELDS:
                yield from _unknown_tags(child, rows, f"{place}/{column.name}")
            elif tags := child.flatten():
                yield place, tags.field(_TAG), rows.take(pc.list_parent_indices(child))


def own_fields(value: FrameValue | None) -> dict[str, Any]:
    """Return the fields of a message that say what it describes, with unknown tagged ones."""
    return {name: item for name, item in (value or {}).items() if name not in _FRAME}


class Change(NamedTuple):
    """A record of the metadata.

    Attributes:
        offset: of the record; -1 in a snapshot, whose offsets mean nothing.
        timestamp: of the record, ms.
        name: id of the message in the specification, ``topic_record``.
        value: its fields.
        key: bytes of its key, None without one.
    """

    offset: int
    timestamp: int
    name: str
    value: FrameValue
    key: bytes | None = None


def by_api_key(
    table: pa.Table, topic: str, file: str | None, release: str | None, left_out: LeftOut
) -> Iterator[Change]:
    """Yield the records of a table, by type; their values say in a frame what they are: KIP-631.

    A record with a key is left out where Kafka refuses it.
    """
    if not may_have_key(topic):
        for offset in table.filter(table[_KEY].is_valid())[_OFFSET].to_pylist():
            error = make_error(Reason.INVALID_VALUE, f"a record of {topic} must not have a key")
            left_out.errors.append(located(error, file, offset, _KEY))
        table = table.filter(table[_KEY].is_null())
    types = record_types(topic, table[_VALUE].combine_chunks(), get_codec())
    for number, rows in by_type(table, types):
        layouts = () if number is None else in_topic(topic, Role.RECORD, number)
        if not layouts:
            left_out.is_unknown(rows[_OFFSET].to_pylist(), number)
            continue
        offsets = rows[_OFFSET].to_pylist()

        def refuse(row: int, error: KafkaSpecError, offsets: list[int] = offsets) -> None:
            left_out.errors.append(located(error, file, offsets[row], _VALUE))

        decoded = decode(layouts, rows[_VALUE].combine_chunks(), release, refuse)
        left_out.note_tags(layouts[0], decoded, rows[_OFFSET].combine_chunks())
        times = rows[_TIMESTAMP].cast(pa.int64()).to_pylist()
        keys = rows[_KEY].to_pylist()
        values = json_values(decoded, messages=True)
        for offset, time, value, key in zip(offsets, times, values, keys, strict=True):
            if value is not None:
                yield Change(offset, time, layouts[0].id, value, key)


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
