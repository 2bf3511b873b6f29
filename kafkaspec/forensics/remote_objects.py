"""Segments that ``__remote_log_metadata`` names, joined with the objects in remote storage.

The topic says what brokers meant to do, the storage what is there: copies that never finished,
deletions that left something, objects that are gone, objects that nothing names.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from kafkaspec._generated.python.model.enumeration import RemoteLogSegmentState as State
from kafkaspec.errors import KafkaSpecError, unreadable
from kafkaspec.files import segment_manifest
from kafkaspec.files.checkpoints import kafka_uuid
from kafkaspec.layout.kinds import shown_name
from kafkaspec.results import Assumption, Strength
from kafkaspec.state.remote import SEGMENTS, in_order
from kafkaspec.tiered import layouts
from kafkaspec.tiered.layouts import ObjectLayout, ObjectPlace, Objects


class RemoteVerdict(StrEnum):
    """The fate of a segment."""

    STORED = "stored"
    """Its copy finished, and its objects are there."""
    DELETED = "deleted"
    """Its deletion finished, and no part of it is there."""
    COPY_UNFINISHED = "copy_unfinished"
    """Its copy began and did not finish: no broker reads it."""
    DELETE_UNFINISHED = "delete_unfinished"
    """Its deletion began and did not finish."""
    LEFT_BEHIND = "left_behind"
    """Its deletion finished, and something of it is still there."""
    GONE = "gone"
    """Its copy finished, and something that is needed to read it is not there."""
    OTHER_SIZE = "other_size"
    """It is there with another number of bytes than the metadata has."""
    ORPHAN = "orphan"
    """It is there, and the metadata does not name it."""


SOUND: Final = frozenset({RemoteVerdict.STORED, RemoteVerdict.DELETED})
"""Verdicts that need nothing to be done."""

JOINED: Final = pa.schema([
    ("verdict", pa.string()), ("strength", pa.string()), *SEGMENTS,
    ("objects", pa.list_(pa.string())), ("stored_bytes", pa.int64()),
])  # fmt: skip
"""Columns of a join: those of ``SEGMENTS``, null for an orphan but for what names say; the paths of
the objects that are there, and the bytes of the segment as they say it, null if they do not."""

_Found = tuple[ObjectPlace, Objects]
_STARTED, _FINISHED, _DELETING, _DELETED = (
    shown_name("enumeration.remote_log_segment_state", state)
    for state in (
        State.COPY_SEGMENT_STARTED,
        State.COPY_SEGMENT_FINISHED,
        State.DELETE_SEGMENT_STARTED,
        State.DELETE_SEGMENT_FINISHED,
    )
)


@dataclass(frozen=True)
class Join:
    """The segments in metadata and storage.

    Attributes:
        segments: see ``JOINED``; by topic, partition and first offset.
        others: files in the directories of partitions that are not objects of a known layout.
        errors: manifests that cannot be read.
        assumptions: what the verdicts depend on.
    """

    segments: pa.Table
    others: list[Path]
    errors: list[KafkaSpecError]
    assumptions: list[Assumption]


def join_objects(
    segments: pa.Table, storage: Path, *, whole: bool = False, at: int | None = None
) -> Join:
    """Join segments in metadata with the objects in remote storage.

    Args:
        segments: all segments that partitions of ``__remote_log_metadata`` name; see ``SEGMENTS``.
        storage: directory or URL of the remote storage.
        whole: whether these are all partitions of ``__remote_log_metadata``, from offset 0 on: then
            it is known that nothing names an orphan.
        at: time of the state of the metadata, ms since the Unix epoch, None for the end.

    Raises:
        KafkaSpecError: ``unreadable``: there are files, but no remote storage of a known layout.
    """
    rows = segments.to_pylist()
    there: dict[tuple[str, int, str, int], _Found] = {}
    starts: dict[tuple[str, int, str], int] = {}
    others: list[Path] = []
    errors: list[KafkaSpecError] = []
    for place, group, rest in layouts.stored(storage):
        others += rest
        if group is not None:
            own = kafka_uuid.to_text(place.topic_id), place.partition
            there[*own, group.segment_id, group.start_offset] = place, group
            starts[*own, group.segment_id] = group.start_offset
    latest: dict[tuple[str, int], _Latest] = {}
    for row in rows:
        of = latest.setdefault((row["topic_id"], row["partition"]), _Latest())
        of.copied = max(of.copied, row["started"] or -1)
        if row["state"] in (_DELETING, _DELETED):
            of.deleted = max(of.deleted, row["updated"])
    joined = []
    for row in rows:
        own = row["topic_id"], row["partition"]
        if row["start_offset"] is None:  # compaction removed what said it
            row["start_offset"] = starts.get((*own, row["segment_id"]))
        found = there.pop((*own, row["segment_id"], row["start_offset"]), None)
        size = None if found is None else _size(*found, errors)
        verdict, strength = _judged(row, found, size, latest[own])
        joined.append(row | _columns(verdict, strength, found, size))
    for (topic_id, number, segment_id, _), found in there.items():
        known = whole or (topic_id, number) in latest
        row = {
            "topic": found[0].topic,
            "topic_id": topic_id,
            "partition": number,
            "segment_id": segment_id,
            "start_offset": found[1].start_offset,
        }
        strength = Strength.STRONG if whole else Strength.LIKELY if known else Strength.UNKNOWN
        size = _size(*found, errors)
        joined.append(row | _columns(RemoteVerdict.ORPHAN, strength, found, size))
    joined.sort(key=in_order)
    read = "the end of the metadata" if at is None else str(at)
    assumptions = [
        Assumption("remote storage", str(storage), "given: the brokers keep these topics there"),
        Assumption("clock", read, "what was under way then may have ended since"),
    ]
    return Join(pa.Table.from_pylist(joined, JOINED), others, errors, assumptions)


@dataclass(slots=True)
class _Latest:
    """The times of the last copy that began in a partition, and of its last deletion."""

    copied: int = -1
    deleted: int = -1


def _judged(
    row: dict[str, Any], found: _Found | None, size: int | None, latest: _Latest
) -> tuple[RemoteVerdict, Strength]:
    """Return the verdict about a segment, and how well it is proven.

    A broker copies the segments of a partition one after the other, and deletes them so: what did
    not end before the next one began will hardly end. But after a change of leaders two brokers
    may be at work. Kafka: ``RemoteLogManager``, RLMCopyTask and RLMExpirationTask.
    """
    state = row["state"]
    if state == _STARTED:
        passed = row["updated"] < latest.copied
        return RemoteVerdict.COPY_UNFINISHED, Strength.LIKELY if passed else Strength.CONSISTENT
    if state == _DELETING:
        passed = row["updated"] < latest.deleted
        return RemoteVerdict.DELETE_UNFINISHED, Strength.LIKELY if passed else Strength.CONSISTENT
    if state == _DELETED:
        gone = found is None
        return RemoteVerdict.DELETED if gone else RemoteVerdict.LEFT_BEHIND, Strength.STRONG
    if state != _FINISHED:  # a state of a later release
        return RemoteVerdict.STORED, Strength.UNKNOWN
    if found is None or found[1].missing(found[0].layout):
        return RemoteVerdict.GONE, Strength.STRONG
    if None not in (size, row["size"]) and size != row["size"]:
        return RemoteVerdict.OTHER_SIZE, Strength.PROOF
    compared = None not in (size, row["size"])
    return RemoteVerdict.STORED, Strength.STRONG if compared else Strength.LIKELY


def _columns(
    verdict: RemoteVerdict, strength: Strength, found: _Found | None, size: int | None
) -> dict[str, Any]:
    paths: Iterable[Path] = () if found is None else found[1].files.values()
    return {
        "verdict": str(verdict),
        "strength": str(strength),
        "objects": sorted(map(str, paths)),
        "stored_bytes": size,
    }


def _size(place: ObjectPlace, group: Objects, errors: list[KafkaSpecError]) -> int | None:
    """Return the bytes of a segment as its objects say it."""
    try:
        if place.layout is ObjectLayout.LOCAL:
            log = group.files.get(layouts.LOG)
            return None if log is None else int(log.stat().st_size)
        manifest = group.files.get(layouts.MANIFEST)
        if manifest is None:
            return None
        return segment_manifest.read(manifest).chunks.original_size
    except KafkaSpecError as error:
        errors.append(error)
    except OSError as error:
        errors.append(unreadable(str(place.path), error))
    return None
