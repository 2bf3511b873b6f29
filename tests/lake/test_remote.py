"""The last segment in remote storage, which no other one follows: its end is what it proves."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import kafkaspec as ks
from kafkaspec.lake.increments import Increment, LakeState, plan_increment, progress_of, states_of
from kafkaspec.lake.manifest import Mark
from kafkaspec.lake.units import LakeSettings, write_units
from kafkaspec.spark.paths import find_logs
from tests.spark import logs
from tests.tiered.storage import AIVEN, KAFKA, objects

PLACE = ("tiered", 0)
END = 24
"""Offset after the segments of Kafka's own tier."""
DAMAGE = {
    "checksum": (-3, 0x10),
    "offset": (0, 0x40),  # which no checksum covers
    "number of records": (57, 0x80),
    "size": (8, 0x80),
}
"""A byte of the last batch, from its start or end, and the bits that are changed."""


def read(place: Path, states: Any, lake: Path, **options: Any) -> tuple[Increment, LakeState]:
    """Read the next increment, and return it with the state after it."""
    found = plan_increment(find_logs(str(place), log_start=False), states, **options)
    units = [item.unit for item in found.segments]
    results = write_units(units, LakeSettings(place=str(lake)), Mark(len(states) + 1, "run"))
    rows = progress_of(found.segments, [item.progress for item in results], len(states) + 1)
    (state,) = states_of([rows]).values()
    return found, state


def damaged(log: Path, kind: str) -> int:
    """Damage the last batch of a segment; return its first offset."""
    data = bytearray(log.read_bytes())
    with ks.Segment(bytes(data)) as segment:
        last = list(segment.batches())[-1]
    place, bits = DAMAGE[kind]
    data[(last.end if place < 0 else last.position) + place] ^= bits
    log.write_bytes(data)
    return last.base_offset


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_manifest_says_where_it_ends(kind: str, tmp_path: Path) -> None:
    place = Path(shutil.copytree(AIVEN / "plain", tmp_path / "tier"))
    (topic,) = place.rglob("segments-*")
    with ks.open(topic) as log:
        assert isinstance(log, ks.LogDirectory)
        end = log.partitions[0].log_end_offset
    assert damaged(objects(topic, ".log")[-1], kind) < end
    _, state = read(topic, {}, tmp_path / "lake", on_loss="continue")
    assert state.next_offset == end


@pytest.mark.parametrize("kind", DAMAGE)
def test_without_one_its_sound_batches_do(kind: str, tmp_path: Path) -> None:
    """And a segment that comes later is read once, from its first record on."""
    place = Path(shutil.copytree(KAFKA[-1], tmp_path / "tier"))
    *_, log = objects(place, ".log")
    first = damaged(log, kind)
    assert first < END
    _, state = read(place, {}, tmp_path / "lake", on_loss="continue")
    assert state.next_offset == first
    for path in log.parent.glob(log.stem + ".*"):
        name = path.name.replace(log.stem, f"{END:020d}-AAAAAAAAAAAAAAAAAAAAAA")
        shutil.copy(path, path.with_name(name))
    log.with_name(f"{END:020d}-AAAAAAAAAAAAAAAAAAAAAA.log").write_bytes(logs.batch(END, 5))
    found, state = read(place, {PLACE: state}, tmp_path / "more", on_loss="continue")
    assert sum(item.size for item in found.segments) == len(logs.batch(END, 5))
    assert state.next_offset == END + 5
