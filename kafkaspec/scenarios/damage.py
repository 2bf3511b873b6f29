"""``damage``: one partition for each kind of damage, in two log directories.

``logs`` is of a broker that stopped cleanly, and was damaged afterwards; ``crashed`` is of one
that did not, so that its checkpoints are older than its logs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.files import names
from kafkaspec.files.arrays import entry_struct
from kafkaspec.files.checkpoints import leader_epoch_checkpoint
from kafkaspec.files.checkpoints.leader_epoch_checkpoint import EpochEntry
from kafkaspec.results import OffsetRange
from kafkaspec.scenarios.partition import MadeBatch, MadePartition
from kafkaspec.scenarios.scenario_plan import DAY_MS, LOGS, ExpectedFinding, ScenarioPlan

CRASHED: Final = "crashed"
_SEGMENTS: Final = 4
_PRODUCER_ID: Final = 900
_PRODUCER: Final[dict[str, Any]] = {"producer_id": _PRODUCER_ID, "producer_epoch": 0}
_INDEXES: Final = {
    names.OFFSET_INDEX: "index.offset_index_entry",
    names.TIME_INDEX: "index.time_index_entry",
}
"""Entries of the indexes of offsets."""


@dataclass(frozen=True)
class _Place:
    """A partition that is damaged, after it was written.

    Attributes:
        base: base offset of the segment that is damaged.
    """

    plan: ScenarioPlan
    directory: str
    made: MadePartition
    base: int

    @property
    def batches(self) -> list[MadeBatch]:
        """The batches of the segment."""
        return self.made.entries[self.base]

    def position(self, number: int) -> int:
        """Return the position of a batch, or of the end of the segment."""
        return sum(len(batch.data) for batch in self.batches[:number])

    def file(self, kind: str = names.LOG) -> str:
        """Return the path of a file of the segment, in the scenario's directory."""
        name = names.SegmentName(self.base, kind).sibling(kind)
        return f"{self.directory}/{self.made.name}/{name}"

    def found(
        self, reason: str, first: int | None = None, last: int | None = None, *,
        kind: str = names.LOG, about: OffsetRange | None = None,
    ) -> ExpectedFinding:  # fmt: skip
        """Return a finding in a file of the segment.

        Args:
            first: number of the first batch that it is about; None if it is about no batch.
            last: the one after the last.
            about: offsets, if not those of the batches.
        """
        if first is None:
            return ExpectedFinding(file=self.file(kind), reason=reason, offsets=about)
        last = first + 1 if last is None else last
        place = (self.position(first), self.position(last))
        offsets = about or self.offsets(first, last)
        return ExpectedFinding(file=self.file(kind), reason=reason, bytes=place, offsets=offsets)

    def offsets(self, first: int, last: int) -> OffsetRange:
        """Return the offsets of batches, of which the last one is not included."""
        return OffsetRange(self.batches[first].first_offset, self.batches[last - 1].last_offset + 1)

    def lose(self, offsets: OffsetRange) -> None:
        """Note offsets that nobody can read any more."""
        self.made.facts["lost"] = [list(offsets)]

    def change(self, change: Callable[[bytearray], None], kind: str = names.LOG) -> None:
        """Change the bytes of a file, once it is written."""
        file = self.file(kind)

        def apply(top: Path) -> None:
            data = bytearray((top / file).read_bytes())
            change(data)
            (top / file).write_bytes(data)

        self.plan.damage.append(apply)

    def remove(self, *kinds: str) -> None:
        """Remove files of the segment, once they are written."""
        files = [self.file(kind) for kind in kinds]

        def apply(top: Path) -> None:
            for file in files:
                (top / file).unlink()

        self.plan.damage.append(apply)


def _torn_tail(place: _Place) -> Iterator[ExpectedFinding]:
    last = len(place.batches) - 1
    # Few bytes, so that the header is whole, and says which offsets are lost.
    size = place.position(last + 1) - place.plan.chance.randint(1, 6)
    place.change(lambda data: data.__delitem__(slice(size, None)))
    place.lose(place.offsets(last, last + 1))
    for kind, key in _INDEXES.items():
        place.change(_before(key, place.batches[last].first_offset - place.base), kind)
    yield place.found("torn_tail", last)
    yield place.found("missing_offsets", last)


def _before(key: str, relative: int) -> Callable[[bytearray], None]:
    """Return a function that removes the entries of an index from an offset on."""
    entry = entry_struct(key)
    at = [field.id for field in LAYOUTS[key].fields].index("relative_offset")

    def change(data: bytearray) -> None:
        kept = [each for each in entry.iter_unpack(data) if each[at] < relative]
        data[:] = b"".join(entry.pack(*each) for each in kept)

    return change


def _appended(place: _Place, data: bytes, reason: str) -> Iterator[ExpectedFinding]:
    place.change(lambda old: old.extend(data))
    end = place.position(len(place.batches))
    yield ExpectedFinding(file=place.file(), reason=reason, bytes=(end, end + len(data)))


def _zero_tail(place: _Place) -> Iterator[ExpectedFinding]:
    return _appended(place, bytes(4096), "zero_tail")


def _short_tail(place: _Place) -> Iterator[ExpectedFinding]:
    return _appended(place, b"\0\0\0\0\1", "short_tail")


def _duplicated_batch(place: _Place) -> Iterator[ExpectedFinding]:
    last = place.batches[-1]
    for finding in _appended(place, last.data, "offset_order"):
        yield replace(finding, offsets=place.offsets(len(place.batches) - 1, len(place.batches)))


def _flipped_bit(place: _Place) -> Iterator[ExpectedFinding]:
    number = place.plan.chance.randrange(1, len(place.batches) - 1)
    end = place.position(number + 1)
    place.change(lambda data: data.__setitem__(end - 1, data[end - 1] ^ 0x10))
    place.lose(place.offsets(number, number + 1))
    yield place.found("checksum_mismatch", number)
    yield place.found("missing_offsets", number)


def _hole(place: _Place) -> Iterator[ExpectedFinding]:
    number = place.plan.chance.randrange(1, len(place.batches) - 1)
    start, end = place.position(number), place.position(number + 1)
    place.change(lambda data: data.__setitem__(slice(start, end), bytes(end - start)))
    place.lose(place.offsets(number, number + 1))
    yield place.found("invalid_value", number)
    yield place.found("missing_offsets", number)


def _lost_segment(place: _Place) -> Iterator[ExpectedFinding]:
    place.remove(names.LOG, *names.INDEXES, names.PRODUCER_SNAPSHOT)
    lost = place.offsets(0, len(place.batches))
    place.lose(lost)
    before = replace(place, base=max(base for base in place.made.entries if base < place.base))
    yield before.found("missing_offsets", about=lost)


def _missing_index(place: _Place) -> Iterator[ExpectedFinding]:
    place.remove(names.OFFSET_INDEX)
    yield place.found("missing_index")


def _wrong_index(place: _Place) -> Iterator[ExpectedFinding]:
    return _wrong_entry(place, names.OFFSET_INDEX, 0, (0, 1), "index_position")


def _wrong_time_index(place: _Place) -> Iterator[ExpectedFinding]:
    return _wrong_entry(place, names.TIME_INDEX, -1, (DAY_MS, 0), "time_index_timestamp")


def _wrong_entry(
    place: _Place, kind: str, number: int, plus: tuple[int, int], reason: str
) -> Iterator[ExpectedFinding]:
    """Raise the fields of an entry of an index, counted from its end if it is negative."""
    entry = entry_struct(_INDEXES[kind])

    def change(data: bytearray) -> None:
        at = number * entry.size % len(data)
        values = entry.unpack_from(data, at)
        entry.pack_into(data, at, *map(sum, zip(values, plus, strict=True)))

    place.change(change, kind)
    yield place.found(reason, kind=kind)


def _missing_snapshot(place: _Place) -> Iterator[ExpectedFinding]:
    end = replace(place, base=place.made.end)
    end.remove(names.PRODUCER_SNAPSHOT)
    last = replace(place, base=max(place.made.entries))
    yield last.found("missing_snapshot")


def _missing_aborts(place: _Place) -> Iterator[ExpectedFinding]:
    place.remove(names.TRANSACTION_INDEX)
    last = len(place.batches) - 1
    yield place.found("transaction_missing", about=place.offsets(last, last + 1))


def _stale_epochs(place: _Place) -> Iterator[ExpectedFinding]:
    """Write the checkpoint as it was before the last epoch began."""
    *kept, (_, start) = place.made.epochs
    file = f"{place.directory}/{place.made.name}/{names.LEADER_EPOCHS}"
    data = leader_epoch_checkpoint.serialize(EpochEntry(*each) for each in kept)

    def apply(top: Path) -> None:
        (top / file).write_bytes(data)

    place.plan.damage.append(apply)
    yield ExpectedFinding(
        file=file, reason="leader_epoch_missing", offsets=OffsetRange(start, place.made.end)
    )


def _checkpoint_beyond(place: _Place) -> Iterator[ExpectedFinding]:
    end = place.made.end
    beyond = place.made.high_watermark = end + place.plan.chance.randint(1, 50)
    gone = OffsetRange(end, beyond)
    place.lose(gone)
    last = replace(place, base=max(place.made.entries))
    yield last.found("missing_offsets", about=gone)
    yield ExpectedFinding(
        file=f"{place.directory}/{names.HIGH_WATERMARKS}",
        reason="checkpoint_beyond_log",
        offsets=OffsetRange(beyond, beyond + 1),
    )


_Kind = Callable[[_Place], Iterator[ExpectedFinding]]
KINDS: Final[Mapping[str, tuple[str, _Kind]]] = {
    "flipped-bit": (LOGS, _flipped_bit),
    "lost-segment": (LOGS, _lost_segment),
    "missing-index": (LOGS, _missing_index),
    "wrong-index": (LOGS, _wrong_index),
    "wrong-time-index": (LOGS, _wrong_time_index),
    "missing-snapshot": (LOGS, _missing_snapshot),
    "missing-aborts": (LOGS, _missing_aborts),
    "stale-epochs": (LOGS, _stale_epochs),
    "checkpoint-beyond": (LOGS, _checkpoint_beyond),
    "duplicated-batch": (LOGS, _duplicated_batch),
    "hole": (LOGS, _hole),
    "torn-tail": (CRASHED, _torn_tail),
    "zero-tail": (CRASHED, _zero_tail),
    "short-tail": (CRASHED, _short_tail),
}
"""By topic: the log directory, and what damages a segment and says what is found."""


def damage(plan: ScenarioPlan) -> None:
    """Plan the scenario."""
    for directory in (LOGS, CRASHED):
        made = plan.partition("intact", directory=directory)
        _write(plan, made)
        made.crashed = directory == CRASHED
    for topic, (directory, kind) in KINDS.items():
        made = plan.partition(topic, directory=directory)
        _write(plan, made, kind)
        made.crashed = directory == CRASHED
        bases = list(made.entries)
        base = bases[-1] if directory == CRASHED else plan.chance.choice(bases[1:-1])
        plan.findings += kind(_Place(plan, directory, made, base))


def _write(plan: ScenarioPlan, made: MadePartition, kind: _Kind | None = None) -> None:
    """Append segments, with what the kind of damage is about."""
    for number in range(_SEGMENTS):
        made.roll()
        for size in plan.sizes(plan.most // _SEGMENTS, 6):
            options: dict[str, Any] = {"compression": plan.compression()}
            if kind is _missing_snapshot:
                options |= {**_PRODUCER, "base_sequence": made.end}
            made.add(plan.records(made.end, size), **options)
        if kind is _missing_aborts:
            made.add(
                plan.records(made.end, 1), **_PRODUCER, transactional=True, base_sequence=number
            )
            made.marker(_PRODUCER_ID, 0, plan.tick(), commit=False)
        if kind is _stale_epochs:
            made.epoch += 1
