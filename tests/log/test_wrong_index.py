"""Look-ups and reads with an offset index whose entries lead into the middle of batches."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import kafkaspec as ks
from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.layout.framing import field_position, fixed_size
from kafkaspec.layout.names import OFFSET_INDEX_ENTRY, POSITION


@pytest.mark.slow
def test_bytes_within_a_batch_that_look_like_a_header_are_not_followed(tmp_path: Path) -> None:
    """Values of zeros give many such places."""
    chance = random.Random(3)
    with ks.SegmentWriter(tmp_path / "t-0") as writer:
        for base in range(0, 2000, 5):
            writer.append(
                ks.encode([ks.Record(base + i, base, b"k", bytes(200)) for i in range(5)])
            )
    (log,) = (tmp_path / "t-0").glob("*.log")
    index = log.with_suffix(".index")
    sound, size = index.read_bytes(), fixed_size(OFFSET_INDEX_ENTRY)
    at = field_position(LAYOUTS[OFFSET_INDEX_ENTRY], POSITION)
    for _ in range(8):
        data = bytearray(sound)
        for entry in range(0, len(data), size):
            data[entry + at : entry + size] = chance.randrange(log.stat().st_size).to_bytes(
                4, "big"
            )
        index.write_bytes(data)
        with ks.Segment(log) as segment:
            for offset in chance.sample(range(2000), 20):
                assert segment.find(offset=offset).offset == offset
                first = next(iter(segment.records(start_offset=offset)))
                assert first.offset == offset
