"""``salvage`` against the truth: the segment of a real broker before the accident."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from kafkaspec.forensics.salvage import Fate
from kafkaspec.forensics.salvage.plan import SegmentPlan, plan_segment
from kafkaspec.intact.walk import Walker
from kafkaspec.log.segment import Segment
from kafkaspec.results import Strength
from tests import extent
from tests.cli.test_mutations import damage
from tests.goldens import GOLDEN
from tests.loops import each
from tools.golden.accidents import ACCIDENTS, AMBIGUOUS, MOVING, UNSEEN, happen
from tools.golden.corpus import Log, corpus

_BOTH = frozenset({"bits", "headers"})


def _planned(
    tmp_path: Path,
    data: bytes,
    base: int,
    how: frozenset[str] = frozenset(),
    *,
    ambiguous: bool = False,
) -> tuple[SegmentPlan, list[bytes]]:
    """The plan for a segment with these bytes, and the entries that it takes over."""
    path = tmp_path / f"{base:020}.log"
    path.write_bytes(data)
    with Segment(path) as segment:
        plan = plan_segment(segment, None, how, ambiguous=ambiguous)  # type: ignore[arg-type]
    found = []
    for piece in plan.pieces:
        part = data[piece.start : piece.end] if piece.data is None else piece.data
        found += [bytes(batch.data) for batch in Segment(part).batches()]
    return plan, found


@pytest.mark.slow
@each(
    "log, name",
    [(log, name) for log in corpus() for name in ACCIDENTS][:: 4 if extent.quick else 1],
    lambda case: f"{case[0]}: {case[1]}",
)
def test_every_intact_entry_and_nothing_else(log: Log, name: str, tmp_path: Path) -> None:
    data = happen(name, log.data, log.places)
    truth = log.entries
    intact = [entry for entry in truth if entry in data]
    for how in (frozenset(), _BOTH):
        plan, found = _planned(tmp_path, data, 0, how)
        _accounts(plan, len(data))
        there = set(found)
        known = set(truth)
        if name in UNSEEN:
            known |= {entry[17:] for entry in truth}
            foreign = [entry for entry in found if entry not in known and entry[17:] not in known]
        else:
            foreign = [entry for entry in found if entry not in known]
        assert not foreign, f"{how}: {len(foreign)} entries that the log never had"
        lost = [truth.index(entry) for entry in intact if entry not in there]
        if name in AMBIGUOUS and "values" not in log.name:
            _, more = _planned(tmp_path, data, 0, how, ambiguous=True)
            assert all(entry in more for entry in intact), "those that may be in a value too"
        if name in AMBIGUOUS:
            unclear = b"".join(
                data[item.position : item.end]
                for item in plan.stretches
                if item.fate is Fate.AMBIGUOUS
            )
            lost = [number for number in lost if truth[number] not in unclear]
        if name not in MOVING:
            assert not lost, f"{how}: intact entries {lost} are lost: {plan.stretches}"


@pytest.mark.slow
@each("seed", range(extent.examples(400)))
def test_nothing_foreign_whatever_the_damage(seed: int, tmp_path: Path) -> None:
    """Each entry of the output is one of the log, but for the fields that no checksum covers."""
    chance = random.Random(seed)
    log = chance.choice(corpus())
    data = bytearray(log.data)
    for _ in range(chance.randint(1, 5)):
        data = damage(data, chance) if data else data
    known = {entry[17:] for entry in log.entries}
    for how in (frozenset(), _BOTH):
        plan, found = _planned(tmp_path, bytes(data), 0, how)
        _accounts(plan, len(data))
        assert not [entry for entry in found if entry[17:] not in known]


def _accounts(plan: SegmentPlan, size: int) -> None:
    """Every byte has one fate, offsets rise, and what is kept is proven somehow."""
    position = 0
    for stretch in plan.stretches:
        assert stretch.position == position
        assert stretch.size > 0
        position = stretch.end
        if stretch.fate is Fate.KEPT:
            assert stretch.strength in (Strength.PROOF, Strength.STRONG, Strength.LIKELY)
    assert position == size
    last = -1
    for piece in plan.pieces:
        assert last < piece.first <= piece.last
        last = piece.last


_SEGMENTS = [
    path for path in sorted(GOLDEN.glob("*/logs/*/*.log")) if 0 < path.stat().st_size < 60_000
]


@pytest.mark.slow
@each("path", _SEGMENTS[:: 500 if extent.quick else 10], lambda path: str(path.relative_to(GOLDEN)))
def test_a_bit_of_a_base_offset_costs_no_neighbour(path: Path, tmp_path: Path) -> None:
    """No checksum covers base offsets. The entry is refused, and not the ones around it.

    In a compacted log, holes may leave open which of two entries has the wrong offset; so may the
    first offsets of compressed messages of magic 0 and 1. Then one of them is named.
    """
    data, base = path.read_bytes(), int(path.stem)
    entries = [(batch.position, bytes(batch.data)) for batch in Segment(data).batches()]
    for number, (position, own) in [*enumerate(entries)][:3] + [*enumerate(entries)][-1:]:
        for bit in range(64):
            flipped = bytearray(data)
            flipped[position + 7 - bit // 8] ^= 1 << bit % 8
            plan, found = _planned(tmp_path, bytes(flipped), base)
            _accounts(plan, len(data))
            assert not [entry for entry in found if entry not in flipped]
            others = {entry for _, entry in entries} - {own}
            lost = others - set(found)
            is_open = "compacted" in path.parent.name or entries[0][1][16] < 2
            assert len(lost) <= is_open, f"entry {number}, bit {bit}"
            assert all(item.cause for item in plan.stretches if item.fate is Fate.LOST)


def test_work_grows_with_the_number_of_broken_pieces(tmp_path: Path) -> None:
    """Headers are read a bounded number of times, also by those who read what is kept."""
    log = next(log for log in corpus() if log.entries[0][16] == 2)
    (tmp_path / "t").mkdir()
    path = tmp_path / "t" / f"{0:020}.log"
    reads = []
    for pieces in (50, 400):
        data = bytearray()
        for number in range(3 * pieces):
            entry = bytearray(log.entries[0])
            count = int.from_bytes(entry[23:27], "big") + 1
            entry[:8] = (number * count).to_bytes(8, "big")
            entry[30] ^= number % 3 == 1
            data += entry
        path.write_bytes(data)
        with Segment(path) as segment:
            plan = plan_segment(segment, None)
            walker = Walker(segment, None)
            for piece in plan.pieces:
                list(walker.headers(piece.start, piece.end))
        assert len(plan.pieces) == pieces + 1
        reads.append(walker.scanned)
    assert reads[1] < 9 * reads[0], reads
