"""Remote segments against files in remote storage, deliveries against what consumers answered."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from kafkaspec.log.partition import Partition
from kafkaspec.state.remote import read_remote_segments
from kafkaspec.state.share import read_deliveries
from tests.goldens import GOLDEN, VERSIONS

_ANSWERS = ("ACKNOWLEDGED", "ARCHIVED", "AVAILABLE")
"""What ConsumeShared answers in turn: accept, reject, release."""


def test_finished_segments_are_the_files_of_the_remote_storage() -> None:
    compared = 0
    for version in VERSIONS:
        folder = GOLDEN / version / "tiered"
        log = folder / "logs" / "__remote_log_metadata-0"
        if not log.is_dir():
            continue
        found = read_remote_segments(Partition(log), release=version)
        assert not found.errors
        assert not found.unknown
        assert not found.orphans
        there = defaultdict(set)
        for row in found.segments.to_pylist():
            there[row["state"]].add((row["topic"], row["start_offset"], row["size"]))
        files = {
            (path.parent.name.split("-0-")[0], int(path.name.partition("-")[0]), _size(path))
            for path in folder.glob("remote/**/*.log")
        }
        assert there["COPY_SEGMENT_FINISHED"] == files, version
        gone = {topic for topic, _, _ in there["DELETE_SEGMENT_FINISHED"]}
        assert gone <= {"tiered-deleted"}
        compared += len(files)
    assert compared or "4.3.1" not in VERSIONS


def _size(path: Path) -> int:
    return path.stat().st_size


def test_deliveries_are_what_the_consumer_answered() -> None:
    """The scenarios read nine records."""
    compared = 0
    for version in VERSIONS:
        if version == "4.0.2":  # share groups in early access had other layouts
            continue
        for log in sorted((GOLDEN / version).glob("**/__share_group_state-0")):
            found = read_deliveries(Partition(log), release=version)
            assert not [*found.errors, *found.unknown, *found.alone], version
            for row in found.partitions.to_pylist():
                states = {
                    offset: batch["state"]
                    for batch in row["batches"]
                    for offset in range(batch["first_offset"], batch["last_offset"] + 1)
                }
                expected = {offset: _ANSWERS[offset % 3] for offset in range(9)}
                kept = {o: s for o, s in expected.items() if o >= row["start_offset"]}
                assert states == kept, (version, row)
                compared += 1
    assert compared >= 1
