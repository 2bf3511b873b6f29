"""Read the metadata of a cluster: a snapshot, and the records after it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from kafkaspec._generated.layout.topics import Topic
from kafkaspec._generated.python.model.control_record import (
    KraftVersionRecord,
    LeaderChangeMessage,
    SnapshotFooterRecord,
    UnknownControlRecord,
    VotersRecord,
)
from kafkaspec.errors import KafkaSpecError, unreadable
from kafkaspec.files import names
from kafkaspec.files.checkpoints import kafka_uuid
from kafkaspec.log.control import ControlRecord
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.options import checked
from kafkaspec.policy import OnError, report
from kafkaspec.state.framed import COLUMNS, Change, LeftOut, by_api_key
from kafkaspec.state.image import Image, Watch


@dataclass
class Cluster(LeftOut):
    """The metadata of a cluster.

    Attributes:
        image: the state.
        snapshot: the snapshot that it began with, None for the start of the log.
        end_offset: the records before this offset count.
        notes: what is not proven.
        epoch: of the last batch.
        timestamp: of the last batch, ms.
        skipped: offsets of the records that were left out on request.
    """

    image: Image = field(default_factory=Image)
    snapshot: Path | None = None
    end_offset: int = 0
    notes: list[str] = field(default_factory=list)
    epoch: int = 0
    timestamp: int = 0
    skipped: set[int] = field(default_factory=set)


@checked
def read_cluster(
    source: Partition | Segment,
    *,
    end_offset: int | None = None,
    release: str | None = None,
    on_error: OnError = "raise",
    watch: Watch | None = None,
    without: Collection[int] = (),
) -> Cluster:
    """Return the metadata of a cluster, as a controller that starts on these files has it.

    The newest snapshot comes first, then the records of the log from its offset on. Kafka:
    ``MetadataLoader``, ``MetadataDelta``; KIP-630.

    Args:
        source: the directory of ``__cluster_metadata-0``, or a snapshot or segment of it alone.
        end_offset: the state before the record at this offset; None for that at the end of the log.
        release: of the controllers that wrote it, ``3.0``; None if it is not known.
        on_error: what happens with a batch that cannot be read; what is left out makes the state
            unproven.
        watch: is called with the state and each record before it is applied; the oldest snapshot
            that the log continues comes first then, if it does not begin at 0, so that all is seen.
        without: offsets of records of the log that do not count, see ``edit_cluster``.

    Raises:
        KafkaSpecError: a batch cannot be read, or the log begins after ``end_offset``.
    """
    cluster = Cluster(image=Image(watch))

    def apply(
        segment: Segment, first: int | None, end: int | None, without: Collection[int] = ()
    ) -> None:
        changes = list(_changes(cluster, segment, first, end, release, on_error))
        cluster.skipped.update(each.offset for each in changes if each.offset in without)
        kept = (each for each in changes if each.offset not in without)
        cluster.image.apply(sorted(kept, key=lambda each: each.offset))

    if isinstance(source, Segment):
        if names.parse_checkpoint(source.path.name if source.path else "") and not _is_whole(
            source
        ):
            cluster.notes.append(_TORN.format(source.name))
        apply(source, None, end_offset)
        return _told(cluster)
    start, first = 0, source.first_base_offset
    torn: list[tuple[int, Path]] = []
    for path in reversed(source.checkpoint_paths) if watch is None else source.checkpoint_paths:
        name = names.parse_checkpoint(path.name)
        if name is None or name.state or (end_offset is not None and name.end_offset > end_offset):
            continue
        if watch is not None and (not first or name.end_offset < first):
            continue
        with source.open_segment(path) as segment:
            whole = _is_whole(segment)
        if whole:
            cluster.snapshot, start = path, name.end_offset
            break
        cluster.notes.append(_TORN.format(path))
        torn.append((name.end_offset, path))
    if cluster.snapshot is None and torn and first != 0:
        start, cluster.snapshot = torn[0]  # some of it is better than nothing
    if cluster.snapshot is not None:
        apply(source.open_segment(cluster.snapshot), None, None)
    if first is not None and first > start:
        detail = f"the log begins at offset {first}, after the newest snapshot, at offset {start}"
        if end_offset is not None and end_offset < first:
            raise unreadable(str(source.path), detail)
        cluster.notes.append(f"{detail}: what was between them is missing")
    cluster.image.offset = start - 1
    cluster.end_offset = start
    for segment in source.segments_from(start):
        apply(segment, start, end_offset, without)
    if cluster.image.pending is not None:
        held = len(cluster.image.pending)
        cluster.notes.append(f"a metadata transaction has not ended; records left out: {held}")
    return _told(cluster)


_TORN: Final = "{}: the snapshot does not end with its footer, so that records may be missing"


def _is_whole(snapshot: Segment) -> bool:
    """Return whether a snapshot ends with a footer, and all of it can be read: KIP-630."""
    last = None
    for batch in snapshot.scan():
        if isinstance(batch, KafkaSpecError):
            return False
        last = batch
    if snapshot.tail is not None or last is None or not last.is_control:
        return False
    try:
        return isinstance(last.control_records()[-1].body, SnapshotFooterRecord)
    except KafkaSpecError:
        return False


def topic_configs(log: Partition) -> dict[str, dict[str, str]]:
    """Return what is set for topics, by topic and name; "" are the defaults of all topics.

    Args:
        log: the directory of ``__cluster_metadata-0``.

    Raises:
        KafkaSpecError: it cannot be read.
    """
    return read_cluster(log).image.topic_configs()


def _told(cluster: Cluster) -> Cluster:
    """Note the records of which it is not known what they change."""
    cluster.unknown |= cluster.image.left_out.unknown
    return cluster


def _changes(
    cluster: Cluster,
    segment: Segment,
    start: int | None,
    end: int | None,
    release: str | None,
    on_error: OnError,
) -> Iterator[Change]:
    for batch in segment.scan():
        if isinstance(batch, KafkaSpecError):
            continue  # the columns say it
        after = batch.next_offset if end is None else min(batch.next_offset, end)
        cluster.end_offset = max(cluster.end_offset, after)
        cluster.epoch = max(cluster.epoch, batch.partition_leader_epoch or 0)
        cluster.timestamp = max(cluster.timestamp, batch.max_timestamp or 0)
        if batch.is_control and (end is None or batch.base_offset < end):
            try:
                controls = batch.control_records()
            except KafkaSpecError as error:
                report(on_error, error)
                continue
            for control in controls:
                name, value = _control(control)
                yield Change(control.record.offset, control.record.timestamp, name, value)
    reader = segment.to_batches(
        COLUMNS, layout="binary", start_offset=start, end_offset=end, on_error=on_error
    )
    for piece in reader:
        table = pa.Table.from_batches([piece])
        yield from by_api_key(table, Topic.CLUSTER_METADATA, segment.name, release, cluster)


def _control(control: ControlRecord) -> tuple[str, dict[str, Any]]:
    body = control.body
    if isinstance(body, VotersRecord):
        voters = [
            {
                "voter_id": voter.voter_id,
                "voter_directory_id": kafka_uuid.bytes_to_text(voter.voter_directory_id),
                "endpoints": [
                    {
                        "name": bytes(each.name).decode(errors="replace"),
                        "host": bytes(each.host).decode(errors="replace"),
                        "port": each.port,
                    }
                    for each in voter.endpoints
                ],
            }
            for voter in body.voters
        ]
        return "voters_record", {"voters": voters}
    if isinstance(body, LeaderChangeMessage):
        return "leader_change_message", {
            "leader_id": body.leader_id,
            "voters": [voter.voter_id for voter in body.voters],
        }
    if isinstance(body, KraftVersionRecord):
        return "kraft_version_record", {"kraft_version": body.kraft_version}
    if body is None or isinstance(body, UnknownControlRecord):
        return f"control record of type {control.key.type}", {}
    return "control_record", {}
