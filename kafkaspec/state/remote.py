"""Segments in remote storage: their state by ``__remote_log_metadata``."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Unpack

import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec._generated.layout.messages import MESSAGES
from kafkaspec._generated.layout.topics import Topic
from kafkaspec._generated.python.model.enumeration import RemoteLogSegmentState
from kafkaspec.arrow.messages.arrays import message_table
from kafkaspec.layout.kinds import shown_name
from kafkaspec.layout.names import MESSAGE_FRAME
from kafkaspec.log.partition import PartitionLog
from kafkaspec.messages.lookup import by_id
from kafkaspec.options import checked
from kafkaspec.state.framed import (
    COLUMNS,
    Change,
    LeftOut,
    OtherRecord,
    by_api_key,
    columns_of,
    own_fields,
)
from kafkaspec.state.latest import StateOptions, tables_of

_STATE: Final = "enumeration.remote_log_segment_state"
STARTED: Final = shown_name(_STATE, RemoteLogSegmentState.COPY_SEGMENT_STARTED)
"""State of a segment that is being copied."""
FINISHED: Final = frozenset(
    shown_name(_STATE, state)
    for state in (
        RemoteLogSegmentState.COPY_SEGMENT_FINISHED,
        RemoteLogSegmentState.DELETE_SEGMENT_FINISHED,
    )
)
"""States in which nothing is under way."""
DELETING: Final = frozenset(
    shown_name(_STATE, state)
    for state in (
        RemoteLogSegmentState.DELETE_SEGMENT_STARTED,
        RemoteLogSegmentState.DELETE_SEGMENT_FINISHED,
    )
)
"""States in which no broker reads a segment any more."""
_RECORD: Final = "remote_log_segment_metadata_record"
_UPDATE: Final = "remote_log_segment_metadata_update_record"
_DELETION: Final = "RemotePartitionDeleteMetadataRecord"
_PLACE: Final = f"{_RECORD}.remote_log_segment_id.topic_id_partition"
_FIELDS: Final = {
    "start_offset": "start_offset",
    "end_offset": "end_offset",
    "size": "segment_size_in_bytes",
    "max_timestamp": "max_timestamp_ms",
    "leader_epochs": "segment_leader_epochs",
    "broker_id": "broker_id",
}
"""Fields of the messages by the columns that have them."""
_HEAD: Final = frozenset(
    {"remote_log_segment_id", "remote_log_segment_state", "event_timestamp_ms"}
)


def _further() -> Iterator[pa.Field]:
    """Yield columns for the other fields of segments and updates, whatever these are."""
    seen = MESSAGE_FRAME | _HEAD | {*_FIELDS.values()}
    known = {layout.id for layout in MESSAGES}  # a specification may leave one out
    for message in (name for name in (_RECORD, _UPDATE) if name in known):
        for column in message_table(message).layout.root.children:
            if column.name not in seen:
                seen |= {column.name}
                (field,) = columns_of(message, column.name)
                is_id = pa.types.is_fixed_size_binary(field.type)
                yield field.with_type(pa.string()) if is_id else field


SEGMENTS: Final = pa.schema([
    *columns_of(_PLACE, topic="name"),
    ("topic_id", pa.string()),
    *columns_of(_PLACE, "partition"),
    ("segment_id", pa.string()),
    *columns_of(_RECORD, "start_offset", "end_offset"),
    ("state", pa.string()),
    *columns_of(
        _RECORD,
        size="segment_size_in_bytes", max_timestamp="max_timestamp_ms",
        leader_epochs="segment_leader_epochs", broker_id="broker_id",
        started="event_timestamp_ms", updated="event_timestamp_ms",
    ),
    *_further(),
])  # fmt: skip
"""Columns of segments; sizes in bytes, times in ms. ``end_offset`` is that of the last record.
``started`` and ``updated`` are the times of the first and the last event. Columns after these are
fields of the last event that has them. Where records have keys, compaction may have removed the
first event: what only that said is null then."""
_FURTHER: Final = tuple(each.name for each in _further())


@dataclass
class RemoteSegments(LeftOut):
    """The state in a partition of ``__remote_log_metadata``.

    Attributes:
        segments: see ``SEGMENTS``.
        orphans: numbers of updates by segment id for segments that were never announced here.
    """

    segments: pa.Table = field(default_factory=SEGMENTS.empty_table)
    orphans: dict[str, int] = field(default_factory=dict)

    @property
    def deletions(self) -> dict[tuple[str, int], OtherRecord]:
        """The last record about the deletion of each partition, by topic id and number."""
        found = [each for each in self.records if each.record == _DELETION]
        places = [record.value["topic_id_partition"] for record in found]
        keys = ((place["id"], place["partition"]) for place in places)
        return dict(zip(keys, found, strict=True))


@checked
def read_remote_segments(log: PartitionLog, **options: Unpack[StateOptions]) -> RemoteSegments:
    """Return the segments that a partition of ``__remote_log_metadata`` names, in any state.

    An update changes the state of the segment with the same id. Kafka:
    ``RemoteLogMetadataCache``, ``RemoteLogSegmentState``; KIP-405. For the arguments see
    ``kafkaspec.state.groups.read_groups``.
    """
    found = RemoteSegments()
    fold = _Fold(found)
    file = None if log.path is None else str(log.path)
    release = options.get("release")
    for table in tables_of(log, COLUMNS, **options):
        gone = pc.and_(table["value"].is_null(), table["key"].is_valid())
        deleted = table.filter(gone)
        changes: list[Change | tuple[int, bytes]] = list(
            by_api_key(
                table.filter(pc.invert(gone)), Topic.REMOTE_LOG_METADATA, file, release, found
            )
        )
        changes += zip(deleted["offset"].to_pylist(), deleted["key"].to_pylist(), strict=True)
        for change in sorted(changes, key=lambda each: each[0]):
            fold.apply(change) if isinstance(change, Change) else fold.delete(change[1])
    rows = sorted(fold.segments.values(), key=in_order)
    found.segments = pa.Table.from_pylist(rows, SEGMENTS)
    found.records = list(fold.others.values())
    return found


def in_order(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what segments are sorted by; those without a known first offset come last."""
    start = row.get("start_offset")
    return row["topic"], row["partition"], start is None, start or 0


def together(found: Iterable[RemoteSegments]) -> pa.Table:
    """Return the segments that several partitions of the topic name; see ``SEGMENTS``."""
    return pa.concat_tables([SEGMENTS.empty_table(), *(each.segments for each in found)])


class _Fold:
    """Applies records, and holds what is left of them.

    A null value deletes what records of its key said. A record with a key may be the only one of
    its segment that is left (KIP-1266), so that it counts without the one that announced it.
    """

    def __init__(self, found: RemoteSegments) -> None:
        self._found = found
        self.segments: dict[str, dict[str, Any]] = {}
        self.others: dict[Any, OtherRecord] = {}
        self._of_key: dict[bytes, set[str]] = {}

    def delete(self, key: bytes) -> None:
        for segment in self._of_key.pop(key, ()):
            self.segments.pop(segment, None)
        self.others.pop(key, None)

    def apply(self, change: Change) -> None:
        place = change.value.get("remote_log_segment_id")
        if place is None or change.name not in (_RECORD, _UPDATE):
            self._put_other(change)
            return
        segment = place["id"]
        if change.name == _RECORD or (segment not in self.segments and change.key is not None):
            where = place["topic_id_partition"]
            self.segments[segment] = {
                "topic": where["name"],
                "topic_id": where["id"],
                "partition": where["partition"],
                "segment_id": segment,
            }
        known = self.segments.get(segment)
        if known is None:
            self._found.orphans[segment] = self._found.orphans.get(segment, 0) + 1
            return
        if change.key is not None:
            self._of_key.setdefault(change.key, set()).add(segment)
        value = change.value
        if change.name == _RECORD:
            known["started"] = value["event_timestamp_ms"]
        known |= {name: _stored(value[name]) for name in _FURTHER if value.get(name) is not None}
        known |= {
            name: value[of]
            for name, of in _FIELDS.items()
            if known.get(name) is None and value.get(of) is not None
        } | {
            "state": shown_name(_STATE, value["remote_log_segment_state"]),
            "updated": value["event_timestamp_ms"],
        }

    def _put_other(self, change: Change) -> None:
        layout = by_id(change.name)
        own = layout.identity
        if own is None:
            self._found.is_unknown([change.offset], layout.number, layout.name)
        identity: Any = change.offset if own is None else [change.value[name] for name in own]
        self.others[change.key or f"{change.name} {identity}"] = OtherRecord(
            layout.name,
            layout.number,
            None,
            own_fields(change.value),
            change.offset,
            change.timestamp,
        )


def _stored(value: Any) -> Any:
    """Return bytes that JSON shows as text as themselves again."""
    return b64decode(value["base64"]) if isinstance(value, dict) and "base64" in value else value
