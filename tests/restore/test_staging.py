"""Partitions on the way to a restored cluster."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest

import kafkaspec as ks
from kafkaspec.io.local import unmapped
from kafkaspec.restore.staging import RestoredLogs


@pytest.mark.parametrize("mapped", [True, False])
def test_records_that_are_left_out_take_no_others_with_them(tmp_path: Path, mapped: bool) -> None:
    """Also of batches larger than what a pass over headers reads."""
    data = [ks.encode([ks.Record(i, 0, None, bytes(100_000))], base_offset=i) for i in range(9)]
    path = tmp_path / "orders-0" / f"{0:020}.log"
    path.parent.mkdir()
    path.write_bytes(b"".join(data))
    with nullcontext() if mapped else unmapped():
        RestoredLogs(tmp_path).leave_out("orders", 0, [4])
    assert path.read_bytes().startswith(b"".join(data[:4]))
    assert path.read_bytes().endswith(b"".join(data[5:]))
