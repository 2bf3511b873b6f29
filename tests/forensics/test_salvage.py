"""``salvage`` against the truth: the segment of a real broker before the accident."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import kafkaspec as ks
from kafkaspec.forensics.salvage import Fate
from kafkaspec.forensics.salvage.plan import SegmentPlan, plan_segment
from kafkaspec.forensics.strength import Strength
from kafkaspec.log.segment import Segment
from tests.goldens import GOLDEN
from tests.loops import each
from tools.golden.accidents import ACCIDENTS, AMBIGUOUS, MOVING, UNSEEN, happen

_BOTH = frozenset({"bits", "headers"})
_LOGS = (
    "4.3.1/logs/codec-mixed-0", "4.3.1/logs/codec-zstd-0", "4.3.1/logs/transactions-0",
    "4.3.1/logs/headers-0", "4.3.1/logs/compacted-0", "4.3.1/logs/idempotent-0",
    "0.10.2.2/logs/codec-gzip-0", "0.10.2.2/logs/codec-none-0", "0.10.2.2/logs/codec-lz4-0",
    "0.8.2.2/logs/codec-snappy-0", "0.8.2.2/logs/codec-none-0", "0.8.2.2/logs/codec-gzip-0",
)  # fmt: skip


@dataclass(frozen=True)
class Log:
    """A segment of a broker, or one that is made of such.

    Attributes:
        name: for messages.
        data: its bytes.
        places: byte offsets of its entries, and of the end.
    """

    name: str
    data: bytes
    places: tuple[int, ...]

    @property
    def entries(self) -> list[bytes]:
        return [
            self.data[start:end] for start, end in zip(self.places, self.places[1:], strict=False)
        ]

    def __str__(self) -> str:
        return self.name


def _log(name: str, data: bytes) -> Log:
    return Log(name, data, (*(batch.position for batch in Segment(data).batches()), len(data)))


def _foreign() -> Iterator[Log]:
    """Logs of which values are segments: of earlier offsets, of later ones, of the next ones."""
    records = [ks.Record(number, number, b"k", b"value %d " % number * 9) for number in range(60)]
    for name, first in (("earlier", 0), ("later", 400), ("next", 20), ("own", 18), ("all", 10)):
        parts, number = [], 0
        for start in range(0, 40, 2):
            values = [bytes(90), bytes(range(200))]
            if start in (0, 10, 18, 20, 38):
                inner = b"".join(
                    ks.encode([record._replace(offset=first + record.offset + start)])
                    for record in records[number : number + 6]
                )
                values[0] = inner if start != 20 else inner[:-30]
            number = (number + 6) % 50
            made = [
                ks.Record(start + place, 1000 + start, None, value)
                for place, value in enumerate(values)
            ]
            parts.append(ks.encode(made, partition_leader_epoch=0))
        yield _log(f"values with {name} offsets", b"".join(parts))


@cache
def _logs() -> tuple[Log, ...]:
    found = []
    for name in _LOGS:
        path = min((GOLDEN / name).glob("*.log"), key=lambda path: -path.stat().st_size)
        found.append(_log(name, path.read_bytes()))
    return (*found, *_foreign())


def _planned(
    tmp_path: Path, data: bytes, base: int, how: frozenset[str] = frozenset()
) -> tuple[SegmentPlan, list[bytes]]:
    """The plan for a segment with these bytes, and the entries that it takes over."""
    path = tmp_path / f"{base:020}.log"
    path.write_bytes(data)
    with Segment(path) as segment:
        plan = plan_segment(segment, None, how)  # type: ignore[arg-type]
    found = []
    for piece in plan.pieces:
        part = data[piece.start : piece.end] if piece.data is None else piece.data
        found += [bytes(batch.data) for batch in Segment(part).batches()]
    return plan, found


@each(
    "log, name",
    [(log, name) for log in _logs() for name in ACCIDENTS],
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
        if name in AMBIGUOUS:
            unclear = b"".join(
                data[item.position : item.end]
                for item in plan.stretches
                if item.fate is Fate.AMBIGUOUS
            )
            lost = [number for number in lost if truth[number] not in unclear]
        if name not in MOVING:
            assert not lost, f"{how}: intact entries {lost} are lost: {plan.stretches}"


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
