"""Producers whose batches are gone, so that only a snapshot before the log knows them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import kafkaspec as ks
from kafkaspec.files.snapshots import ProducerSnapshot
from tests import goldens

SOURCE = goldens.GOLDEN / "4.3.1/logs/transactions-segments-0"


def without_first_segment(directory: Path) -> tuple[Path, int]:
    """A copy of a partition that retention has taken the first segment of, and where it begins."""
    path = Path(shutil.copytree(SOURCE, directory / SOURCE.name))
    first, second = sorted(path.glob("*.log"))[:2]
    for file in path.glob(f"{first.stem}.*"):
        file.unlink()
    return path, int(second.stem)


def entries(path: Path) -> list[str]:
    return sorted(map(repr, ProducerSnapshot(path).entries))


@pytest.mark.parametrize("choices", [{}, {"compression": "zstd"}, {"segment_bytes": 400}])
def test_they_are_carried_over(tmp_path: Path, choices: dict[str, Any]) -> None:
    path, base = without_first_segment(tmp_path)
    report = ks.convert(path, tmp_path / "out", profile="4.3", **choices)
    assert report.left_out == []
    out = tmp_path / "out"
    assert (out / f"{base:020d}.snapshot").exists()
    last = sorted(out.glob("*.snapshot"))[-1]
    # The broker wrote it when all batches were there.
    assert entries(last) == entries(SOURCE / last.name)
    theirs = b"".join(item.read_bytes() for item in sorted(path.glob("*.txnindex")))
    assert b"".join(item.read_bytes() for item in sorted(out.glob("*.txnindex"))) == theirs


@pytest.mark.parametrize(
    "choices",
    [
        {"offsets": "shift", "base_offset": 5},
        {"offsets": "renumber"},
        {"magic": 1, "compression": "none", "profile": "0.10.2"},
        {"start_offset": 30},
    ],
)
def test_lost_producers_are_named(tmp_path: Path, choices: dict[str, Any]) -> None:
    path, base = without_first_segment(tmp_path)
    report = ks.convert(path, tmp_path / "out", **choices)
    ((left, why),) = report.left_out
    assert left == str(path / f"{base:020d}.snapshot")
    assert "producers before the first segment" in why


def test_a_snapshot_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    path, base = without_first_segment(tmp_path)
    snapshot = path / f"{base:020d}.snapshot"
    data = bytearray(snapshot.read_bytes())
    data[-1] ^= 1
    snapshot.write_bytes(data)
    report = ks.convert(path, tmp_path / "out", check=False)
    assert report.left_out == []
    assert not (tmp_path / "out" / snapshot.name).exists()
