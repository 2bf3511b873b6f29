"""``SegmentWriter.roll``."""

from __future__ import annotations

from pathlib import Path

import pytest

import kafkaspec as ks
from kafkaspec.files import names


def test_a_segment_begins_where_it_is_said(tmp_path: Path) -> None:
    out = tmp_path / "t-0"
    with ks.SegmentWriter(out, sync=False) as writer:
        writer.roll()  # nothing to roll
        writer.append(ks.encode([ks.Record(0, 1, None, b"a"), ks.Record(1, 2, None, b"b")]))
        writer.roll()
        writer.append(ks.encode([ks.Record(2, 3, None, b"c")]))
        with pytest.raises(ValueError, match="base_offset 2 is below the end of the log, 3"):
            writer.roll(2)
        writer.roll(10)
        writer.append(ks.encode([ks.Record(12, 4, None, b"d")]))
        assert writer.next_offset == 13
    with pytest.raises(ValueError, match="closed"):
        writer.roll()
    with ks.Partition(out) as log:
        assert [segment.base_offset for segment in log.segments] == [0, 2, 10]
        assert [record.offset for record in log.records()] == [0, 1, 2, 12]
    snapshots = sorted(path.name for path in out.glob(f"*{names.PRODUCER_SNAPSHOT}"))
    assert [int(name[:20]) for name in snapshots] == [2, 10, 13]


def test_a_batch_without_records_is_appended(tmp_path: Path) -> None:
    """As compaction leaves the last batch of a producer."""
    directory = tmp_path / "t-0"
    with ks.SegmentWriter(directory, 3) as writer:
        writer.append_records([], base_offset=3, last_offset=9, base_timestamp=5, max_timestamp=7)
        writer.append_records([ks.Record(10, 8, b"k", b"v")], base_timestamp=6)
        assert writer.next_offset == 11
    with ks.Partition(directory) as log:
        table = log.batch_table().select(["base_offset", "last_offset", "num_records"])
        assert table.to_pylist() == [
            {"base_offset": 3, "last_offset": 9, "num_records": 0},
            {"base_offset": 10, "last_offset": 10, "num_records": 1},
        ]
