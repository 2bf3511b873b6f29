"""Write golden partitions again, append by append, and compare them with what the broker left."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import kafkaspec as ks
from kafkaspec.broker.profiles import Profile
from kafkaspec.files.checkpoints import partition_metadata
from kafkaspec.files.names import LOG, PARTITION_METADATA, PRODUCER_SNAPSHOT
from kafkaspec.files.snapshots import ProducerSnapshot
from tools.golden import keep

_FOREVER = 1 << 60
_WITHOUT_RESTART = (
    "plain", "empty", "large", "codec", "blocks", "recompressed", "headers", "create-time",
    "log-append-time", "time-types", "idempotent", "transaction", "segments", "format",
)  # fmt: skip
"""Scenarios whose log one leader wrote in one run, and from which nothing was removed."""


@cache
def _scenarios(golden: Path) -> dict[str, dict[str, Any]]:
    rows = keep.read_manifest(golden)["scenarios"]
    return {f"{row['topic']}-{row['partition']}": row for row in rows}


def _scenario(path: Path) -> dict[str, Any]:
    return _scenarios(path.parents[1]).get(path.name, {})


def settings_of(path: Path) -> dict[str, str]:
    """Return the settings of the topic of a partition directory; {} for an internal one."""
    found: dict[str, str] = _scenario(path).get("topic_settings", {})
    return found


def index_interval(path: Path) -> int:
    """Return ``index.interval.bytes`` of a partition."""
    return int(settings_of(path).get("index.interval.bytes", 4096))


def segment_bytes(path: Path) -> int:
    """Return ``segment.bytes`` of a partition."""
    settings = settings_of(path)
    return int(settings.get("segment.bytes") or settings.get("internal.segment.bytes") or (1 << 30))


def segment_index_bytes(path: Path) -> int:
    """Return ``segment.index.bytes`` of a partition."""
    return int(settings_of(path).get("segment.index.bytes", 10 << 20))


def is_modern(path: Path) -> bool:
    """Return whether a partition consists of batches of magic 2."""
    with ks.Partition(path) as partition:
        return all(batch.magic == 2 for batch in partition.batches())


def is_written_once(path: Path) -> bool:
    """Return whether one leader wrote a partition in one run, and nothing was removed from it."""
    return path.name.startswith(_WITHOUT_RESTART) and not _scenario(path).get("compacted", True)


def _appends(log: Path) -> Iterator[bytes]:
    """Yield the bytes of a segment as a leader appends them: batch by batch."""
    data = log.read_bytes()
    with ks.Segment(log) as segment:
        for batch in segment.batches():
            yield data[batch.position : batch.end]


def write(path: Path, out: Path, profile: str | Profile) -> None:
    """Write a partition again, with the settings of its broker and the rules of a profile."""
    metadata = path / PARTITION_METADATA
    with ks.SegmentWriter(
        out,
        profile=profile,
        segment_bytes=segment_bytes(path),
        segment_ms=_FOREVER,
        index_interval_bytes=index_interval(path),
        segment_index_bytes=segment_index_bytes(path),
        leader_epoch=0,
        topic_id=partition_metadata.read(metadata).topic_id if metadata.exists() else None,
        sync=False,
    ) as writer:
        for log in sorted(path.glob(f"*{LOG}")):
            for data in _appends(log):
                writer.append(data)


def differences(theirs: Path, ours: Path) -> list[str]:
    """Return the names of the files that only one partition has, or that differ."""
    names = [{item.name for item in place.iterdir()} for place in (theirs, ours)]
    both = names[0] & names[1]
    return sorted((names[0] ^ names[1]) | {n for n in both if not _is_same(n, theirs, ours)})


def _is_same(name: str, theirs: Path, ours: Path) -> bool:
    if not name.endswith(PRODUCER_SNAPSHOT):
        return (theirs / name).read_bytes() == (ours / name).read_bytes()
    both = [ProducerSnapshot(path / name) for path in (theirs, ours)]
    entries = [sorted(map(repr, snapshot.entries)) for snapshot in both]  # in hash order
    return all(snapshot.crc_valid for snapshot in both) and entries[0] == entries[1]
