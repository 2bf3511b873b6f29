"""Segments in remote storage: their state by ``__remote_log_metadata``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, Unpack

import pyarrow as pa

from kafkaspec._generated.layout.topics import Topic
from kafkaspec._generated.python.model.enumeration import RemoteLogSegmentState
from kafkaspec.layout.kinds import shown_name
from kafkaspec.log.partition import PartitionLog
from kafkaspec.options import checked
from kafkaspec.state.framed import COLUMNS, Change, LeftOut, by_api_key, columns_of
from kafkaspec.state.latest import StateOptions, tables_of

_STATE: Final = "enumeration.remote_log_segment_state"
FINISHED: Final = frozenset(
    shown_name(_STATE, state)
    for state in (
        RemoteLogSegmentState.COPY_SEGMENT_FINISHED,
        RemoteLogSegmentState.DELETE_SEGMENT_FINISHED,
    )
)
"""States in which nothing is under way."""
_RECORD: Final = "remote_log_segment_metadata_record"
_PLACE: Final = f"{_RECORD}.remote_log_segment_id.topic_id_partition"
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
])  # fmt: skip
"""Columns of segments; sizes in bytes, times in ms. ``end_offset`` is that of the last record.
``started`` and ``updated`` are the times of the first and the last event."""


@dataclass
class RemoteSegments(LeftOut):
    """The state in a partition of ``__remote_log_metadata``.

    Attributes:
        segments: see ``SEGMENTS``.
        orphans: numbers of updates by segment id for segments that were never announced here.
    """

    segments: pa.Table = field(default_factory=SEGMENTS.empty_table)
    orphans: dict[str, int] = field(default_factory=dict)


@checked
def read_remote_segments(log: PartitionLog, **options: Unpack[StateOptions]) -> RemoteSegments:
    """Return the segments that a partition of ``__remote_log_metadata`` names, in any state.

    An update changes the state of the segment with the same id. Kafka:
    ``RemoteLogMetadataCache``, ``RemoteLogSegmentState``; KIP-405. For the arguments see
    ``kafkaspec.state.groups.read_groups``.
    """
    found = RemoteSegments()
    segments: dict[str, dict[str, Any]] = {}
    file = None if log.path is None else str(log.path)
    release = options.get("release")
    for table in tables_of(log, COLUMNS, **options):
        changes = by_api_key(table, Topic.REMOTE_LOG_METADATA, file, release, found)
        for change in sorted(changes, key=lambda each: each.offset):
            _apply(segments, change, found.orphans)
    rows = sorted(
        segments.values(), key=lambda row: (row["topic"], row["partition"], row["start_offset"])
    )
    found.segments = pa.Table.from_pylist(rows, SEGMENTS)
    return found


def together(found: Iterable[RemoteSegments]) -> pa.Table:
    """Return the segments that several partitions of the topic name; see ``SEGMENTS``."""
    return pa.concat_tables([SEGMENTS.empty_table(), *(each.segments for each in found)])


def _apply(segments: dict[str, dict[str, Any]], change: Change, orphans: dict[str, int]) -> None:
    value = change.value
    place = value.get("remote_log_segment_id")
    if place is None:  # of a whole partition, or of a snapshot file
        return
    segment = place["id"]
    state = {
        "state": shown_name(_STATE, value["remote_log_segment_state"]),
        "updated": value["event_timestamp_ms"],
    }
    if "start_offset" not in value:
        if segment in segments:
            segments[segment] |= state
        else:
            orphans[segment] = orphans.get(segment, 0) + 1
        return
    where = place["topic_id_partition"]
    segments[segment] = state | {
        "topic": where["name"],
        "topic_id": where["id"],
        "partition": where["partition"],
        "segment_id": segment,
        "start_offset": value["start_offset"],
        "end_offset": value["end_offset"],
        "size": value["segment_size_in_bytes"],
        "max_timestamp": value["max_timestamp_ms"],
        "leader_epochs": value["segment_leader_epochs"],
        "broker_id": value["broker_id"],
        "started": value["event_timestamp_ms"],
    }
