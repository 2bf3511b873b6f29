"""``salvage`` of segments whose parts are in each other's place."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import kafkaspec as ks
from kafkaspec.forensics.salvage import Fate, salvage
from kafkaspec.forensics.salvage.plan import SegmentPlan, plan_segment
from kafkaspec.intact import moves
from kafkaspec.intact.choice import EMBEDDED
from kafkaspec.intact.heads import Seeker
from kafkaspec.intact.walk import Walker
from kafkaspec.log.header_table import HeaderTable
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from tests.cli.helpers import run
from tests.loops import each
from tools.golden.corpus import Log, corpus

_FIRST = f"{0:020}.log"


def _planned(tmp_path: Path, data: bytes) -> tuple[SegmentPlan, list[bytes]]:
    """The plan for a segment, and the entries of the output."""
    (tmp_path / _FIRST).write_bytes(data)
    with Segment(tmp_path / _FIRST) as segment:
        plan = plan_segment(segment, None)
    pieces = [data[piece.start : piece.end] for piece in plan.pieces]
    return plan, [bytes(batch.data) for part in pieces for batch in Segment(part).batches()]


def _swapped(data: bytes, place: int) -> bytes:
    return data[place:] + data[:place]


@cache
def _borders(log: Log) -> list[int]:
    """Where sound entries begin and end, also those inside of values."""
    seeker, found = Seeker(memoryview(log.data), None), set[int]()
    head = seeker.first(0)
    while head is not None:
        found.update((head.position, head.end))
        head = seeker.first(head.position + 1)
    return sorted(found)


def _places(log: Log) -> list[int]:
    chance = random.Random(log.name)
    return sorted({*_borders(log), *chance.sample(range(len(log.data)), 60)})


@pytest.mark.slow
@each(
    "log, place",
    ((log, place) for log in corpus() for place in _places(log)),
    lambda case: f"{case[0]}: {case[1]}",
)
def test_swapped_halves_are_put_in_order(log: Log, place: int, tmp_path: Path) -> None:
    """Wherever the border is, between entries, inside of one, or between two in a value."""
    data = _swapped(log.data, place)
    plan, found = _planned(tmp_path, data)
    intact = [entry for entry in log.entries if entry in data]
    if len(found) != len(intact):
        # Compaction has left holes, and which offset one entry by itself had is not known.
        (left,) = (entry for entry in intact if entry not in found)
        (stretch,) = (item for item in plan.stretches if data[item.position : item.end] == left)
        assert "compacted" in log.name
        assert (stretch.fate, stretch.cause) == (Fate.LOST, moves.OF_ITSELF)
        intact.remove(left)
    assert found == intact, "in the order that they had"


def _log(count: int, records: int = 20) -> list[bytes]:
    chance = random.Random(1)
    return [
        ks.encode(
            [ks.Record(n, 1000 + n, b"key %d" % n, chance.randbytes(40)) for n in range(low, high)],
            partition_leader_epoch=3,
            producer_id=7,
            producer_epoch=0,
            base_sequence=low,
        )
        for low, high in ((at * records, (at + 1) * records) for at in range(count))
    ]


@pytest.mark.parametrize("shift", [0, 1, 30, 61, 500])
def test_the_order_is_named_and_verify_finds_only_what_is_lost(shift: int, tmp_path: Path) -> None:
    entries = _log(100)
    source = tmp_path / "in" / "t-0"
    source.mkdir(parents=True)
    half = len(b"".join(entries[:60]))
    data = _swapped(b"".join(entries), half + shift)
    (source / _FIRST).write_bytes(data)
    shown = run("salvage", source, "-o", tmp_path / "out", "--format", "json")
    assert shown.exit_code == 1
    lines = [json.loads(line) for line in shown.stdout.splitlines()]
    moved = [line for line in lines if line.get("moved")]
    (line,) = moved
    first = 60 + bool(shift)
    assert line["type"] == "kept"
    assert line["cause"] == "moved to the place of its offsets"
    there = data[line["position"] : line["position"] + line["size"]]
    assert there in (b"".join(entries[:60]), b"".join(entries[first:]))
    lost = [
        (line["first_offset"], line["last_offset"])
        for line in lines
        if line["type"] == "lost_offsets"
    ]
    assert lost == ([(1200, 1219)] if shift else [])
    with Partition(tmp_path / "out") as log:
        out = [bytes(batch.data) for batch in log.batches()]
    assert out == entries[:60] + entries[first:]
    findings = [item for item in ks.verify(tmp_path / "out").findings if item.severity == "error"]
    assert not findings
    text = run("salvage", source, "-o", tmp_path / "text").stdout
    assert "moved to the place of its" in " ".join(text.split())


@pytest.mark.slow
def test_halves_with_more_damage_keep_a_reason_for_each_byte(tmp_path: Path) -> None:
    """The entry across both ends is broken too, and others: no entry is lost without a reason."""
    entries = _log(40)
    whole = b"".join(entries)
    half = len(b"".join(entries[:24]))
    chance = random.Random(5)
    for shift in (0, 30, 700):
        for _ in range(12):
            data = bytearray(_swapped(whole, half + shift))
            for _ in range(2):
                data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
            plan, found = _planned(tmp_path, bytes(data))
            assert {entry[17:] for entry in found} <= {entry[17:] for entry in entries}
            for entry in entries:
                place = data.find(entry)
                if place >= 0 and entry not in found:
                    item = next(item for item in plan.stretches if place < item.end)
                    assert item.fate in (Fate.LOST, Fate.AMBIGUOUS)
                    assert item.cause
                    assert item.cause != EMBEDDED


def test_blocks_in_any_order_are_put_in_order(tmp_path: Path) -> None:
    entries = _log(40)
    chance = random.Random(2)
    for _ in range(20):
        cuts = sorted(chance.sample(range(1, 40), 5))
        blocks = [entries[a:b] for a, b in zip([0, *cuts], [*cuts, 40], strict=True)]
        chance.shuffle(blocks)
        _, found = _planned(tmp_path, b"".join(entry for block in blocks for entry in block))
        assert found == entries


def test_what_contradicts_the_order_stays_out(tmp_path: Path) -> None:
    """Sequence numbers and leader epochs rise with offsets: entries of another log do not."""
    own = _log(10)
    for field, values in (
        ("base_sequence", [400 + 20 * n for n in range(10)]),
        ("partition_leader_epoch", [9] * 10),
        ("producer_epoch", [1] * 10),
    ):
        other = []
        for number, value in enumerate(values):
            records = [ks.Record(n, n, b"other", b"") for n in range(number * 20, number * 20 + 20)]
            made = {
                "partition_leader_epoch": 3, "producer_id": 7, "producer_epoch": 0,
                "base_sequence": number * 20, field: value,
            }  # fmt: skip
            other.append(ks.encode(records, **made))  # type: ignore[arg-type]  # all are integers
        plan, found = _planned(tmp_path, b"".join(own[4:] + other[:4]))
        assert found == own[4:], field
        (left,) = (item for item in plan.stretches if item.fate is not Fate.KEPT)
        assert left.cause == moves.CONTRADICTED


def test_an_offset_that_is_free_elsewhere_moves_no_entry(tmp_path: Path) -> None:
    """A wrong base offset: the place in the file has room for the one that the entry had."""
    entries = _log(12, 1)
    wrong = bytearray(entries[4])
    wrong[7] ^= 8  # 12, the offset after the end
    plan, found = _planned(tmp_path, b"".join([*entries[:4], bytes(wrong), *entries[5:]]))
    assert found == entries[:4] + entries[5:]
    assert not any(item.moved for item in plan.stretches)


def test_copies_of_moved_entries_are_not_written_twice(tmp_path: Path) -> None:
    entries = _log(12)
    swapped = entries[7:] + entries[:7]
    _, found = _planned(tmp_path, b"".join(swapped + swapped))
    assert found == entries


def test_the_input_stays_and_the_report_is_not_sound(tmp_path: Path) -> None:
    entries = _log(12)
    source = tmp_path / "in" / "t-0"
    source.mkdir(parents=True)
    data = b"".join(entries[7:] + entries[:7])
    (source / _FIRST).write_bytes(data)
    report = salvage(source, tmp_path / "out", sync=False)
    (partition,) = report.partitions
    assert not report.is_sound
    assert not partition.lost
    assert partition.bytes[Fate.KEPT] == partition.size == len(data)
    assert (source / _FIRST).read_bytes() == data
    again = salvage(tmp_path / "out", tmp_path / "again", sync=False)
    assert again.is_sound


@pytest.mark.slow
def test_work_grows_with_the_number_of_moved_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = 0
    plain = Walker.headers

    def counted(self: Walker, start: int, end: int) -> Iterator[tuple[HeaderTable, int]]:
        nonlocal read
        for headers, count in plain(self, start, end):
            read += len(headers)
            yield headers, count

    monkeypatch.setattr(Walker, "headers", counted)
    entries, reads = _log(1600, 1), []
    for pieces in (50, 400):
        read = 0
        blocks = [entries[4 * n : 4 * n + 4] for n in reversed(range(pieces))]
        _, found = _planned(tmp_path, b"".join(entry for block in blocks for entry in block))
        assert found == entries[: 4 * pieces]
        reads.append(read)
    assert reads[1] < 9 * reads[0], reads
