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
