"""Golden partitions written again, append by append: the files of the broker come out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import kafkaspec as ks
from kafkaspec.log.checkpoints import partition_metadata
from kafkaspec.log.sidecars import ProducerSnapshot
from tests import goldens

MIXED = "format-mixed"
"""Topics that went back to magic 0: the broker removes the epochs then."""

METADATA = "__cluster_metadata-0"
FOREVER = 1 << 60


@cache
def scenarios(version: str) -> dict[str, dict[str, Any]]:
    text = (goldens.GOLDEN / version / "manifest.json").read_text(encoding="utf-8")
    return {f"{item['topic']}-{item['partition']}": item for item in json.loads(text)["scenarios"]}


def partitions() -> list[Path]:
    return [
        path
        for version in goldens.VERSIONS
        for path in goldens.partitions(version)
        if path.name not in goldens.compacted(version) and not path.name.startswith("__")
    ]


def appends(version: str, log: Path) -> Iterator[bytes]:
    """The bytes of a segment as the leader appended them: batches, or the messages of a request."""
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


def is_modern(path: Path) -> bool:
    with ks.Partition(path) as partition:
        return all(batch.magic == 2 for batch in partition.batches())


@pytest.mark.parametrize(
    "path",
    [path for path in partitions() if is_modern(path)],
    ids=lambda p: "-".join(p.parts[-3::2]),
)
def test_a_partition_of_batches_comes_out_as_the_broker_left_it(path: Path, tmp_path: Path) -> None:
    version = path.parts[-3]
    settings = scenarios(version)[path.name]["topic_settings"]
    metadata = path / "partition.metadata"
    out = tmp_path / path.name
    with ks.SegmentWriter(
        out,
        profile=version,
        segment_bytes=int(
            settings.get("segment.bytes") or settings.get("internal.segment.bytes") or 1 << 30
        ),
        segment_ms=FOREVER,
        index_interval_bytes=int(settings.get("index.interval.bytes", 4096)),
        leader_epoch=0,
        topic_id=partition_metadata.read(metadata).topic_id if metadata.exists() else None,
        sync=False,
    ) as writer:
        for log in sorted(path.glob("*.log")):
            for data in appends(version, log):
                writer.append(data)
    theirs, ours = ({item.name for item in place.iterdir()} for place in (path, out))
    assert ours == theirs
    assert [name for name in sorted(theirs) if not same(name, path, out)] == []
    assert ks.verify(out).findings == []
