"""A log that lacks offsets between two segments, which ``convert`` reports and keeps."""

from __future__ import annotations

from pathlib import Path

import kafkaspec as ks


def test_the_output_is_verified_and_the_gap_is_in_the_report(tmp_path: Path) -> None:
    source = tmp_path / "a-0"
    for base in (0, 5):
        (tmp_path / f"{base}").mkdir()
        with ks.SegmentWriter(tmp_path / f"{base}" / "a-0", base, sync=False) as writer:
            writer.append_records([ks.Record(base, 1, b"k", bytes(3000))])
        source.mkdir(exist_ok=True)
        made = tmp_path / f"{base}" / "a-0" / f"{base:020}.log"
        made.rename(source / made.name)
    (result,) = ks.convert(source, tmp_path / "out", segment_bytes=4000).partitions
    assert len(list((tmp_path / "out").rglob("*.log"))) == 2
    assert result.verified
    assert [item.offsets for item in result.missing] == [(1, 5)]
    assert not result.clean
