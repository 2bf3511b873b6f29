"""Golden partitions written again, append by append: the files of the broker come out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import kafkaspec as ks
from kafkaspec.files.checkpoints import partition_metadata
from kafkaspec.files.snapshots import ProducerSnapshot
from tests import goldens
from tests.loops import each
from tests.writing.golden_settings import (
    index_interval,
    is_modern,
    partitions,
    segment_bytes,
    segment_index_bytes,
)

FOREVER = 1 << 60
WITHOUT_RESTART = (
    "plain", "empty", "large", "codec", "blocks", "recompressed", "headers", "create-time",
    "log-append-time", "time-types", "idempotent", "transaction", "segments", "format",
)  # fmt: skip
"""Scenarios whose log one leader wrote in one run, and from which nothing was removed."""


def written() -> list[Path]:
    return [
        path
        for path in partitions()
        if path.name.startswith(WITHOUT_RESTART)
        and path.name not in goldens.compacted(path.parts[-3])
    ]


def appends(log: Path) -> Iterator[bytes]:
    """The bytes of a segment as a leader appends them: batch by batch."""
    data = log.read_bytes()
    with ks.Segment(log) as segment:
        for batch in segment.batches():
            yield data[batch.position : batch.end]


def same(name: str, theirs: Path, ours: Path) -> bool:
    if name.endswith(".snapshot"):  # entries are in hash order
        both = [ProducerSnapshot(path / name) for path in (theirs, ours)]
        assert all(snapshot.crc_valid for snapshot in both)
        first, second = (sorted(map(repr, snapshot.entries)) for snapshot in both)
        return first == second
    return (theirs / name).read_bytes() == (ours / name).read_bytes()


@pytest.mark.slow
@each(
    "path",
    [path for path in written() if is_modern(path)],
    goldens.label,
)
def test_a_partition_of_batches_comes_out_as_the_broker_left_it(path: Path, tmp_path: Path) -> None:
    metadata = path / "partition.metadata"
    out = tmp_path / path.name
    with ks.SegmentWriter(
        out,
        profile=path.parts[-3],
        segment_bytes=segment_bytes(path),
        segment_ms=FOREVER,
        index_interval_bytes=index_interval(path),
        segment_index_bytes=segment_index_bytes(path),
        leader_epoch=0,
        topic_id=partition_metadata.read(metadata).topic_id if metadata.exists() else None,
        sync=False,
    ) as writer:
        for log in sorted(path.glob("*.log")):
            for data in appends(log):
                writer.append(data)
    theirs, ours = ({item.name for item in place.iterdir()} for place in (path, out))
    assert ours == theirs
    assert [name for name in sorted(theirs) if not same(name, path, out)] == []
    assert ks.verify(out).findings == []
