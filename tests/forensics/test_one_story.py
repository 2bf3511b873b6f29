"""One story: whatever happens to a log directory, all commands name the same lost offsets.

Ten kinds of damage happen to partitions that brokers of all releases wrote. What is lost is known
from the undamaged log, and each command says it in its own words:

* ``verify``: findings ``missing_offsets``;
* ``gaps``: ranges whose reason is a loss; those that compaction may have made are ``unknown``;
* ``salvage``: ``lost_offsets``;
* ``doctor``: troubles ``lost_offsets``;
* ``dump`` and ``convert``, told to skip what is damaged: the lines "... missing". They do not read
  on where the size of a batch is wrong: what is intact after it they name as not delivered.

A batch that is cut out without a trace is no loss to any of them, as compaction leaves the same:
only an index that lists one of its offsets shows it.
"""

from __future__ import annotations

import json
import random
import re
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import kafkaspec as ks
from kafkaspec.conversion import convert
from kafkaspec.errors import Reason
from kafkaspec.forensics.doctor import diagnose
from kafkaspec.forensics.gaps import Why, read_gaps
from kafkaspec.forensics.salvage import Fate, SalvagedPartition, salvage
from kafkaspec.intact.moves import OF_ITSELF
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.model import Record
from tests import extent
from tests.cli.helpers import run
from tests.goldens import GOLDEN, VERSIONS
from tests.loops import each

Ranges = list[tuple[int, int]]
_LOSSES = {str(why) for why in (Why.UNREADABLE, Why.SEGMENT_LOST, Why.CUT, Why.LOST)}
_MISSING = re.compile(r"offsets? (\d+)(?: to (\d+))? (?:is|are) missing")


@dataclass(frozen=True)
class Entry:
    """An entry of the undamaged log."""

    path: Path
    position: int
    end: int
    first: int
    last: int
    data: bytes


def _entries(partition: Path) -> list[Entry]:
    found = []
    for path in sorted(partition.glob("*.log")):
        for batch in Segment(path.read_bytes()).batches():
            found.append(
                Entry(
                    path, batch.position, batch.end, batch.base_offset, batch.last_offset,
                    bytes(batch.data),
                )
            )  # fmt: skip
    return found


# -- damage: each returns whether the directory is another one now ----------------------------

Damage = Callable[[Path, list[Entry], random.Random], bool]


def _edit(path: Path, change: Callable[[bytearray], bytes | bytearray | None]) -> bool:
    data = bytearray(path.read_bytes())
    before = bytes(data)
    changed = change(data)
    after = bytes(data if changed is None else changed)
    path.write_bytes(after)
    return before != after


def _bit(low: int, high: int | None) -> Damage:
    """A bit of a random entry, between two of its bytes."""

    def damage(_: Path, entries: list[Entry], chance: random.Random) -> bool:
        entry = chance.choice(entries)
        place = entry.position + chance.randrange(low, high or entry.end - entry.position)

        def change(data: bytearray) -> None:
            data[place] ^= 1 << chance.randrange(8)

        return _edit(entry.path, change)

    return damage


def _torn(_: Path, entries: list[Entry], chance: random.Random) -> bool:
    entry = chance.choice(entries)
    return _edit(entry.path, lambda data: data[: chance.randrange(entry.position + 1, entry.end)])


def _gone(kept: tuple[str, ...]) -> Damage:
    """A whole segment, perhaps without some of its files."""

    def damage(partition: Path, _: list[Entry], chance: random.Random) -> bool:
        paths = sorted(partition.glob("*.log"))
        path = chance.choice(paths)
        if len(paths) == 1 or not path.stat().st_size:
            return False
        for each_path in partition.glob(f"{path.stem}.*"):
            if each_path.suffix not in kept:
                each_path.unlink()
        return True

    return damage


def _zeros(_: Path, entries: list[Entry], chance: random.Random) -> bool:
    entry = chance.choice(entries)
    size = chance.randrange(40, 400)

    def change(data: bytearray) -> None:
        start = chance.randrange(entry.position, entry.end)
        data[start : start + size] = bytes(min(size, len(data) - start))

    return _edit(entry.path, change)


def _swapped(_: Path, entries: list[Entry], chance: random.Random) -> bool:
    entry = chance.choice(entries)
    size = chance.randrange(50, 300)

    def change(data: bytearray) -> None:
        if len(data) >= 2 * size:
            at = chance.randrange(len(data) - 2 * size + 1)
            one, other = data[at : at + size], data[at + size : at + 2 * size]
            data[at : at + 2 * size] = other + one

    return _edit(entry.path, change)


def _twice(_: Path, entries: list[Entry], chance: random.Random) -> bool:
    entry = chance.choice(entries)
    return _edit(entry.path, lambda data: data[: entry.end] + entry.data + data[entry.end :])


def _foreign(_: Path, entries: list[Entry], chance: random.Random) -> bool:
    entry = chance.choice(entries)
    block = chance.randbytes(chance.randrange(20, 200))
    return _edit(entry.path, lambda data: data[: entry.end] + block + data[entry.end :])


def _cut_out(_: Path, entries: list[Entry], chance: random.Random) -> bool:
    entry = chance.choice(entries)
    return _edit(entry.path, lambda data: data[: entry.position] + data[entry.end :])


def _halves(_: Path, entries: list[Entry], chance: random.Random) -> bool:
    """The two halves of a segment in each other's place, between two entries."""
    path = chance.choice(entries).path
    own = [entry for entry in entries if entry.path == path]
    if len(own) < 2:
        return False
    place = own[len(own) // 2].position
    return _edit(path, lambda data: data[place:] + data[:place])


def _halves_inside(_: Path, entries: list[Entry], chance: random.Random) -> bool:
    """The two halves of a segment in each other's place; the border is inside of an entry."""
    entry = chance.choice(entries)
    place = chance.randrange(entry.position + 1, entry.end)
    return _edit(entry.path, lambda data: data[place:] + data[:place])


DAMAGES: dict[str, Damage] = {
    "a bit of a payload": _bit(17, None),
    "a bit of a base offset": _bit(0, 8),
    "a bit of a size": _bit(8, 12),
    "a torn tail": _torn,
    "a segment is gone": _gone(()),
    "a segment is gone, its indexes are not": _gone((".index", ".timeindex", ".txnindex")),
    "a block of zeros": _zeros,
    "two blocks in each other's place": _swapped,
    "an entry twice": _twice,
    "a foreign block": _foreign,
    "a batch is cut out": _cut_out,
    "two halves in each other's place": _halves,
    "two halves with a part of an entry each": _halves_inside,
}


# -- what each command names ------------------------------------------------------------------


def _joined(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Return ranges in order; those that touch are one."""
    found: Ranges = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(found[-1][1], last)
        else:
            found.append((first, last))
    return found


def _in_text(texts: Iterable[str]) -> Ranges:
    matches = (match for text in texts for match in _MISSING.finditer(text))
    return _joined((int(match[1]), int(match[2] or match[1])) for match in matches)


def _told(place: Path, out: Path) -> tuple[dict[str, Ranges], SalvagedPartition | None]:
    """Return what each command calls lost in the only partition of a log directory."""
    (partition,) = (path for path in place.iterdir() if path.is_dir())
    told = {}
    told["verify"] = _in_text(
        item.message for item in ks.verify(partition).findings if item.reason == "missing_offsets"
    )
    with Partition(partition) as log:
        rows = read_gaps(log).ranges.to_pylist()
    told["gaps"] = _joined(
        (row["first_offset"], row["last_offset"]) for row in rows if row["why"] in _LOSSES
    )
    (salvaged,) = salvage(partition, out / "salvaged", sync=False).partitions
    told["salvage"] = _joined((item.first_offset, item.last_offset) for item in salvaged.lost)
    told["doctor"] = _joined(
        (item.offsets[0], (item.offsets[1] or 0) - 1)
        for item in diagnose([place]).troubles
        if item.kind == "lost_offsets" and item.offsets is not None
    )
    told["dump"] = _in_text(
        run("dump", "--format", "json", "--log-start", "ignore", partition).stderr.splitlines()
    )
    try:
        report = convert(
            partition, out / "converted", on_error="skip", log_start="ignore", check=False
        )
    except ks.KafkaSpecError as error:
        # Offsets that do not follow each other cannot be written: it names that batch, and stops.
        if error.reason is not Reason.UNENCODABLE:
            raise
        return told, salvaged
    told["convert"] = _in_text(
        item.message for result in report.partitions for item in result.missing if item.is_loss
    )
    return told, salvaged


_PARTITIONS = sorted(
    path
    for path in GOLDEN.glob("*/logs/*")
    if path.is_dir()
    and any(file.stat().st_size for file in path.glob("*.log"))
    and sum(file.stat().st_size for file in path.glob("*.log")) < 20_000
)
_CASES = [(version, name) for version in VERSIONS for name in DAMAGES]
if extent.quick:
    _CASES = [(version, [*DAMAGES][n % len(DAMAGES)]) for n, version in enumerate(VERSIONS)]


def _damaged(case: tuple[str, str], tmp_path: Path) -> tuple[Path, list[Entry]] | None:
    version, name = case
    chance = random.Random(f"{version} {name}")
    source = chance.choice([path for path in _PARTITIONS if path.parts[-3] == version])
    place = tmp_path / "logs"
    place.mkdir()
    for path in source.parent.iterdir():
        if path.is_file():
            shutil.copy(path, place)
    partition = Path(shutil.copytree(source, place / source.name))
    entries = _entries(partition)
    return (place, entries) if DAMAGES[name](partition, entries, chance) else None


@pytest.mark.slow
@each("case", _CASES, lambda case: f"{case[0]}: {case[1]}")
def test_all_commands_name_the_same_lost_offsets(case: tuple[str, str], tmp_path: Path) -> None:
    found = _damaged(case, tmp_path)
    if found is None:
        return
    place, entries = found
    told, salvaged = _told(place, tmp_path)
    assert len({json.dumps(ranges) for ranges in told.values()}) == 1, told
    assert salvaged is not None
    entries = _not_deleted(salvaged, entries)
    _check_salvage(salvaged, entries)
    _check_truth(case[1], told["salvage"], salvaged, entries)


def _not_deleted(found: SalvagedPartition, entries: list[Entry]) -> list[Entry]:
    """Return the entries as an output without a checkpoint has them: cut at the log start offset.

    The one with that offset inside of it has other bytes there, and the same records from it on.
    """
    with Partition(found.source) as log:
        start = log.log_start_checkpoint or 0
    kept = [entry for entry in entries if entry.last >= start]
    if not kept or kept[0].first >= start:
        return kept
    wanted = [record for record in _records(kept[0].data) if record.offset >= start]
    for entry in _entries(Path(found.target)):
        if entry.last == kept[0].last and _records(entry.data) == wanted:
            kept[0] = replace(kept[0], first=start, data=entry.data)
    return kept


def _records(data: bytes) -> list[Record]:
    return [*Segment(data).records()]


def _check_salvage(found: SalvagedPartition, entries: list[Entry]) -> None:
    """Each intact entry is there or refused with a reason, and there is nothing else."""
    out = {entry.data for entry in _entries(Path(found.target))}
    known = {entry.data for entry in entries}
    bodies = {data[17:] for data in known}  # of an offset, nothing proves which one it was
    foreign = [data for data in out - known if data[17:] not in bodies]
    added = len(found.added)
    assert len(foreign) <= added, "only fillers and markers are new"
    for segment in found.segments:
        data = Path(segment.path).read_bytes()
        for entry in entries:
            place = data.find(entry.data)
            if place < 0 or entry.data in out:
                continue
            stretch = next(item for item in segment.stretches if place < item.end)
            assert stretch.fate in (Fate.LOST, Fate.AMBIGUOUS)
            assert stretch.cause, f"an intact entry at {place} is left out without a reason"


def _check_halves(found: SalvagedPartition, entries: list[Entry], kept: set[bytes]) -> None:
    """All that is intact is there, but for an entry by itself whose offset nothing confirms."""
    data = {segment.path: Path(segment.path).read_bytes() for segment in found.segments}
    left = [
        entry for entry in entries if entry.data not in kept and entry.data in data[str(entry.path)]
    ]
    assert len(left) <= 1, left
    for entry in left:
        place = data[str(entry.path)].find(entry.data)
        (segment,) = (item for item in found.segments if item.path == str(entry.path))
        stretch = next(item for item in segment.stretches if place < item.end)
        assert stretch.cause == OF_ITSELF


def _check_truth(name: str, lost: Ranges, found: SalvagedPartition, entries: list[Entry]) -> None:
    """No offset is called lost of which an entry is in the output, and what is lost is named."""
    kept = {entry.data for entry in _entries(Path(found.target))}
    named = {offset for first, last in lost for offset in range(first, last + 1)}
    moved = name == "a bit of a base offset"
    tells = name in ("a bit of a payload", "a bit of a size", "a block of zeros")
    last = max(entry.last for entry in entries)
    if name.startswith("two halves"):
        _check_halves(found, entries, kept)
    for entry in entries:
        own = set(range(entry.first, entry.last + 1))
        if entry.data in kept and not moved:
            assert not own & named, f"{entry.first} to {entry.last} are there"
        if entry.data not in kept and tells and entry.last < last:
            assert own <= named, f"{entry.first} to {entry.last} are lost and not named"
