"""What is new in logs, by what a lake has read: bounded, in order, and what is lost is named."""

from __future__ import annotations

import gc
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import kafkaspec as ks
from kafkaspec.errors import KafkaSpecError
from kafkaspec.lake.increments import (
    Increment,
    LakeLossError,
    LakePlace,
    LakeState,
    plan_increment,
    states_of,
)
from kafkaspec.lake.schema import PROGRESS_SCHEMA
from kafkaspec.spark.jobs.lake import LakeJob
from kafkaspec.spark.paths import find_logs
from tests.goldens import GOLDEN
from tests.spark import logs

PLACE = ("orders", 0)


def plan(
    path: Path, states: Mapping[LakePlace, LakeState] | None = None, **options: Any
) -> Increment:
    return plan_increment(find_logs(str(path), log_start=False), states or {}, **options)


def names(found: Increment) -> list[str]:
    return [Path(item.unit.path).name for item in found.segments]


def records(found: Increment) -> list[int]:
    """The offsets in what is planned, by the library's reader."""
    read: list[int] = []
    for item in (new.unit for new in found.segments):
        with ks.Segment(item.path) as segment:
            for batch in segment.batches(item.start):
                if item.end is None or batch.position < item.end:
                    first = item.start_offset or 0
                    read += [r.offset for r in batch.records() if r.offset >= first]
    return read


def after(found: Increment, before: LakeState | None = None) -> LakeState:
    """The state that the last segment of a plan leaves, by the library's reader."""
    new = found.segments[-1]
    item = new.unit
    with ks.Segment(item.path) as segment:
        batches = [b for b in segment.batches() if item.end is None or b.end <= item.end]
        size = segment.size if item.end is None else item.end
    assert new.next_offset is not None
    return LakeState(
        item.generation, new.next_offset, batches[-1].partition_leader_epoch, item.topic_id,
        Path(item.path).name, size,
    )  # fmt: skip


def write(directory: Path, base: int, *parts: tuple[int, int, int]) -> Path:
    """A segment with batches of ten records: first offset, end, leader epoch."""
    directory.mkdir(exist_ok=True)
    path = directory / f"{base:020d}.log"
    path.write_bytes(
        b"".join(
            logs.batch(first, 10, partition_leader_epoch=epoch)
            for begin, end, epoch in parts
            for first in range(begin, end, 10)
        )
    )
    return path


def three(tmp_path: Path) -> Path:
    """Segments from 0, 30 and 60 on; a broker may still write to the last one."""
    orders = tmp_path / "orders-0"
    for base in (0, 30, 60):
        write(orders, base, (base, base + 30, 1))
    return orders


def test_closed_segments_come_once_and_in_order(tmp_path: Path) -> None:
    orders = three(tmp_path)
    found = plan(tmp_path)
    assert names(found) == [f"{0:020d}.log", f"{30:020d}.log"]
    assert records(found) == list(range(60))
    assert found.active == (orders / f"{60:020d}.log").stat().st_size
    assert found.left == 0
    states = {PLACE: after(found)}
    assert states[PLACE].next_offset == 60
    assert plan(tmp_path, states).segments == ()
    write(orders, 90, (90, 100, 1))  # closes the one before it
    assert records(plan(tmp_path, states)) == list(range(60, 90))


def test_an_increment_is_bounded(tmp_path: Path) -> None:
    three(tmp_path)
    shutil.copytree(tmp_path / "orders-0", tmp_path / "orders-1")
    states: dict[LakePlace, LakeState] = {}
    seen: list[tuple[int, str]] = []
    left: list[int] = []
    while (found := plan(tmp_path, states, most=1)).segments:
        (item,) = (new.unit for new in found.segments)
        seen.append((item.partition, Path(item.path).name))
        left.append(found.left)
        states["orders", item.partition] = after(found)
    assert seen == [(p, f"{base:020d}.log") for p in (0, 1) for base in (0, 30)]
    assert left == [3, 2, 1, 0]


def test_an_active_segment_on_request_up_to_its_last_sound_batch(tmp_path: Path) -> None:
    orders = three(tmp_path)
    path = orders / f"{60:020d}.log"
    whole = path.stat().st_size
    with path.open("ab") as file:
        file.write(logs.batch(90, 10)[:-5])
    found = plan(tmp_path, active=True)
    assert records(found) == list(range(90))
    assert found.segments[-1].unit.end == whole
    states = {PLACE: after(found)}
    assert plan(tmp_path, states, active=True).segments == ()
    with path.open("r+b") as file:
        file.seek(whole)
        file.write(logs.batch(90, 10))
    more = plan(tmp_path, states, active=True)
    assert [(item.unit.start, item.unit.start_offset) for item in more.segments] == [(whole, 90)]
    assert records(more) == list(range(90, 100))
    write(orders, 100, (100, 110, 1))  # it is closed now
    (item,) = plan(tmp_path, {PLACE: after(more)}).segments or (None,)
    assert item is None or item.size == 0


def test_offsets_that_end_an_increment(tmp_path: Path) -> None:
    """A micro-batch says up to where; batches stay whole."""
    three(tmp_path)
    found = plan(tmp_path, until={PLACE: 40})
    assert records(found) == list(range(40))
    states = {PLACE: after(found)}
    found = plan(tmp_path, states, until={PLACE: 80})
    assert records(found) == list(range(40, 80))
    assert plan(tmp_path, {PLACE: after(found)}, until={PLACE: 80}).segments == ()
    assert plan(tmp_path, until={("stock", 0): 1}).segments == ()


@pytest.mark.slow
@pytest.mark.parametrize("release", ["0.11.0.3", "2.1.1", "4.3.1"])
def test_golden_logs_are_planned_whole(release: str) -> None:
    """Every batch of every closed segment, and with ``active`` of every segment."""
    place = GOLDEN / release / "logs"
    for active in (False, True):
        found = plan(place, active=active, on_loss="continue")
        wanted = set()
        for directory in sorted(place.iterdir()):
            files = sorted(directory.glob("*.log"))
            wanted |= {str(path) for path in files[:-1]}
            if active:
                wanted |= {str(path) for path in files[-1:] if path.stat().st_size}
        assert {item.unit.path for item in found.segments} == wanted
        assert all(item.unit.start == 0 for item in found.segments)


LOST: dict[str, tuple[list[tuple[int, int]], str, int, list[int]]] = {
    "retention was faster": ([(60, 90), (90, 100)], "offsets 30..59 of orders-0 are gone", 30,
        list(range(60, 90))),
    "a segment is missing": ([(0, 30), (30, 60), (90, 120), (120, 130)],
        "offsets 60 to 89 are missing", 30, [*range(30, 60), *range(90, 120)]),
}  # fmt: skip


@pytest.mark.parametrize("case", LOST)
def test_lost_offsets_end_the_job_or_are_counted(case: str, tmp_path: Path) -> None:
    parts, text, count, left = LOST[case]
    orders = three(tmp_path)
    state = LakeState(0, 30, 1, None, f"{0:020d}.log", (orders / f"{0:020d}.log").stat().st_size)
    for path in orders.iterdir():
        path.unlink()
    for begin, end in parts:
        write(orders, begin, (begin, end, 1))
    with pytest.raises(LakeLossError, match=f"orders-0.*{text}.*--on-loss continue") as caught:
        plan(tmp_path, {PLACE: state})
    assert caught.value.reason == "changed"
    found = plan(tmp_path, {PLACE: state}, on_loss="continue")
    assert records(found) == left
    assert {item.unit.generation for item in found.segments} == {0}  # offsets go on
    assert sum(item.lost for item in found.segments) == count
    assert [loss.offsets.size for loss in found.losses if loss.offsets] == [count]


TORN: dict[str, tuple[int, bytes]] = {
    "another magic": (16, b"\x09"),
    "a length below a header": (8, b"\0\0\0\5"),
    "a length beyond the file": (8, b"\x7f\0\0\0"),
}


@pytest.mark.parametrize("case", [*TORN, "cut"])
def test_a_damaged_end_of_a_closed_segment_does_not_stop_it(case: str, tmp_path: Path) -> None:
    """Its bytes are read, for ``dead``; without any, a segment that is too short is a loss."""
    path = three(tmp_path) / f"{0:020d}.log"
    whole = path.read_bytes()
    end = len(whole) - len(logs.batch(20, 10, partition_leader_epoch=1))
    at, word = TORN.get(case, (0, b""))
    path.write_bytes(whole[:-5] if case == "cut" else whole)
    if word:
        logs.overwrite(path, end + at, word)
    size = path.stat().st_size
    found = plan(tmp_path)
    assert [(item.size, item.lost) for item in found.segments] == [(size, 0), (len(whole), 10)]
    assert [loss.is_damage for loss in found.losses] == [True]
    path.write_bytes(whole[:end])
    with pytest.raises(LakeLossError, match="offsets 20 to 29 are missing"):
        plan(tmp_path)


def test_a_loss_counts_in_the_increment_that_reaches_it(tmp_path: Path) -> None:
    orders = tmp_path / "orders-0"
    for base in (0, 30, 90, 120):
        write(orders, base, (base, base + 30, 1))
    first = plan(tmp_path, most=1)
    assert [item.lost for item in first.segments] == [0]
    states = {PLACE: after(first)}
    with pytest.raises(LakeLossError, match="offsets 60 to 89"):
        plan(tmp_path, states, most=1)
    second = plan(tmp_path, states, most=1, on_loss="continue")
    assert [item.lost for item in second.segments] == [30]
    third = plan(tmp_path, {PLACE: after(second)}, most=1)
    assert [item.lost for item in third.segments] == [0]
    assert names(third) == [f"{90:020d}.log"]


CHANGED: dict[str, tuple[list[tuple[int, int, int]], str, list[int]]] = {
    "by a leader": ([(0, 100, 2), (100, 170, 4), (170, 380, 5)], "cut back to offset 170",
        list(range(170, 380))),
    "shorter": ([(0, 100, 2), (100, 170, 4), (170, 300, 7)], "cut back to offset 170",
        list(range(170, 300))),
    "made again": ([(0, 400, 0)], "cut back to offset 0 or created again", list(range(400))),
}  # fmt: skip


@pytest.mark.parametrize("case", CHANGED)
def test_a_log_that_does_not_go_on(case: str, tmp_path: Path) -> None:
    """The cases of the stream source, by the same rule: KIP-101, KIP-320."""
    parts, text, left = CHANGED[case]
    end = parts[-1][1]
    write(tmp_path / "orders-0", 0, *parts)
    write(tmp_path / "orders-0", end, (end, end + 10, 9))
    state = LakeState(0, 340, 4, None, f"{0:020d}.log", 12345)
    with pytest.raises(LakeLossError, match=f"{text}|ends at"):
        plan(tmp_path, {PLACE: state})
    found = plan(tmp_path, {PLACE: state}, on_loss="continue")
    assert records(found) == left
    assert {item.unit.generation for item in found.segments} == {1}
    again = plan(tmp_path, {PLACE: after(found)})
    assert again.segments == ()


def test_a_topic_that_was_created_again(tmp_path: Path) -> None:
    """KIP-516: the id of the topic tells, where offsets and epochs look like the old ones."""
    orders = three(tmp_path)
    metadata = orders / "partition.metadata"
    old, new = "cB2o1dUOQV6WQZ7NBn4xQQ", "Xl5mVkqkSJ2Ax0qzpOqXbg"
    metadata.write_text(f"version: 0\ntopic_id: {old}")
    states = {PLACE: after(plan(tmp_path))}
    assert states[PLACE].topic_id == old
    metadata.write_text(f"version: 0\ntopic_id: {new}")
    text = f"created again: its topic id is {new}; it was {old}"
    with pytest.raises(LakeLossError, match=text):  # a segment begins where what was read ends
        plan(tmp_path, states, active=True)
    write(orders, 90, (90, 100, 1))
    with pytest.raises(LakeLossError, match=text):
        plan(tmp_path, states)
    found = plan(tmp_path, states, on_loss="continue")
    assert records(found) == list(range(90))
    assert {(item.unit.generation, item.unit.topic_id) for item in found.segments} == {(1, new)}


def test_a_log_that_was_cut_back_to_a_segment_that_begins_where_reading_ended(
    tmp_path: Path,
) -> None:
    orders = three(tmp_path)
    states = {PLACE: after(plan(tmp_path))}
    write(orders, 30, (30, 40, 1), (40, 60, 2))
    write(orders, 60, (60, 90, 2))
    with pytest.raises(LakeLossError, match="cut back to offset 40"):
        plan(tmp_path, states, active=True)
    found = plan(tmp_path, states, active=True, on_loss="continue")
    assert records(found) == list(range(40, 90))
    assert {item.unit.generation for item in found.segments} == {1}


def test_segments_that_were_compacted_since(tmp_path: Path) -> None:
    """The cleaner puts segments together, under the name of the first; offsets decide."""
    orders = three(tmp_path)
    states = {PLACE: after(plan(tmp_path))}
    for path in sorted(orders.iterdir()):
        path.unlink()
    write(orders, 0, (0, 10, 1), (50, 90, 1))
    write(orders, 90, (90, 100, 1))
    found = plan(tmp_path, states)
    assert records(found) == list(range(60, 90))
    assert found.losses == ()


def test_the_state_is_the_newest_row_of_a_partition() -> None:
    def row(partition: int, epoch: int, next_offset: int, topic_id: str | None) -> dict[str, Any]:
        known = {"topic": "orders", "partition": partition, "epoch": epoch, "generation": epoch % 2}
        return {**known, "next_offset": next_offset, "topic_id": topic_id, "leader_epoch": 3,
            "file": "a.log", "size": epoch}  # fmt: skip

    rows = [row(0, 2, 60, None), row(1, 1, 9, "x"), row(0, 1, 30, "x")]
    batch = pa.RecordBatch.from_pylist(rows, PROGRESS_SCHEMA)
    assert states_of([batch]) == {
        ("orders", 0): LakeState(0, 60, 3, None, "a.log", 2),
        ("orders", 1): LakeState(1, 9, 3, "x", "a.log", 1),
    }
    assert states_of([]) == {}


def test_two_copies_of_a_partition_are_an_error(tmp_path: Path) -> None:
    for broker in ("one", "two"):
        (tmp_path / broker).mkdir()
        write(tmp_path / broker / "orders-0", 0, (0, 10, 1))
    text = re.escape(f"orders-0 is in {tmp_path / 'one' / 'orders-0'} too")
    with pytest.raises(KafkaSpecError, match=text):
        plan_increment(find_logs([str(tmp_path / "one"), str(tmp_path / "two")]), {})


@pytest.mark.parametrize("topic", ["a%2Fb", "a b", "..", "t" * 250])
def test_a_topic_that_kafka_does_not_allow_is_an_error(topic: str, tmp_path: Path) -> None:
    write(tmp_path / f"{topic}-0", 0, (0, 10, 1))
    with pytest.raises(KafkaSpecError, match=f"Kafka allows no topic of the name '{topic}'"):
        plan(tmp_path)


def test_a_file_without_a_partition_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "somewhere", 0, (0, 10, 1))
    with pytest.raises(KafkaSpecError, match="name directories of partitions"):
        plan(path)


@pytest.mark.slow  # imports Spark
def test_planning_collects_no_garbage(tmp_path: Path) -> None:
    """Each collection looks at all that was planned so far, so planning took more than linear
    time."""
    orders = tmp_path / "logs" / "orders-0"
    orders.mkdir(parents=True)
    for base in range(0, 4000, 10):
        write(orders, base, (base, base + 10, 1))
    job = LakeJob(str(orders.parent), str(tmp_path / "lake"), {"active": True}, create=True)
    job.plan(dry=True)
    seen: list[str] = []

    def note(phase: str, _: object) -> None:
        seen.append(phase)

    threshold = gc.get_threshold()
    gc.set_threshold(10)
    gc.callbacks.append(note)
    try:
        job.plan(dry=True)
    finally:
        gc.callbacks.remove(note)
        gc.set_threshold(*threshold)
    assert len(seen) < 20  # around it
