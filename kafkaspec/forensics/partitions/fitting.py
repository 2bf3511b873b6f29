"""Which partitioner the keys in the partitions of a topic fit, and which keys are elsewhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkaspec.arrow.record_batches import together
from kafkaspec.errors import KafkaSpecError
from kafkaspec.forensics.partitions.partitioners import (
    HASHES,
    PARTITIONERS,
    Hashes,
    hash_keys,
    partition_of,
    partitions_of,
)
from kafkaspec.layout import names
from kafkaspec.log.partition import Partition
from kafkaspec.results import Assumption, Strength

_COLUMNS: Final = (names.OFFSET, names.KEY)
_MOST_COUNTS: Final = 4096
"""Earlier numbers of partitions that are tried."""
_SAMPLE: Final = 20_000
"""Records that an earlier number is tried with."""
_SURE: Final = 30
"""Bits of chance against which all keys would be in the right place by accident."""
_SHARE: Final = 0.9
"""Share of records that a partitioner has to explain."""
MISPLACED: Final = pa.schema([
    ("topic", pa.string()), ("partition", pa.int32()), ("offset", pa.int64()),
    ("belongs", pa.int32()),
])  # fmt: skip
"""Columns of records whose keys belong into another partition."""


@dataclass(frozen=True, slots=True)
class Fit:
    """How the keys of a topic fit a hash.

    Attributes:
        hash: name of the hash.
        partitioners: those of this hash that the records without a key allow.
        fits: records whose partition is the one for their key.
        earlier: further ones, which are in the partition for an earlier number of partitions.
        before: that earlier number, None if none explains anything.
        keyed: records with a key that is not empty.
        distinct: different hashes among them.
        strength: how well the records prove the hash.
    """

    hash: str
    partitioners: tuple[str, ...]
    fits: int
    earlier: int
    before: int | None
    keyed: int
    distinct: int
    strength: Strength


@dataclass(frozen=True, slots=True)
class GrowthPoint:
    """Where the keys of a partition begin to follow a new number of partitions.

    Attributes:
        offset: of the first record that follows the new number, and all after it.
        timestamp: of that record, None if there is none, or it has none.
        records: keyed records before it.
    """

    offset: int | None
    timestamp: int | None
    records: int


@dataclass(slots=True)
class Placement:
    """The keys in a partition.

    Attributes:
        partition: its number.
        path: of its directory.
        keyed: records with a key that is not empty.
        null_keys: records without a key.
        empty_keys: records with a key of no bytes.
        fits: keyed records that are in the right place, now or by the earlier number.
        misplaced: keyed records that are not.
        growth: where the number of partitions changed, None if it did not.
    """

    partition: int
    path: str
    keyed: int = 0
    null_keys: int = 0
    empty_keys: int = 0
    fits: int = 0
    misplaced: int = 0
    growth: GrowthPoint | None = None


@dataclass(slots=True)
class TopicKeys:
    """The answer for a topic.

    Attributes:
        topic: its name.
        count: number of partitions.
        fits: by hash, the best first.
        best: the hash that explains the records, None if none does.
        placements: of the partitions that are here, in order.
        misplaced: a table with the columns ``MISPLACED``.
        assumptions: what the files do not say.
        errors: batches and files that could not be read.
    """

    topic: str
    count: int
    fits: list[Fit] = field(default_factory=list)
    best: Fit | None = None
    placements: list[Placement] = field(default_factory=list)
    misplaced: pa.Table = field(default_factory=MISPLACED.empty_table)
    assumptions: list[Assumption] = field(default_factory=list)
    errors: list[KafkaSpecError] = field(default_factory=list)


@dataclass(slots=True)
class _Keys:
    """The keyed records of a partition: 20 bytes for each."""

    number: int
    partition: Partition
    placement: Placement
    offsets: NDArray[np.int64]
    hashes: dict[str, Hashes]

    def misfits(self, name: str, count: int) -> Hashes:
        """Return the hashes of keys that belong into another partition."""
        found = self.hashes[name]
        wrong: Hashes = found[partitions_of(name, found, count) != self.number]
        return wrong


def place_keys(
    partitions: Sequence[Partition], *, count: int | None = None, why: str = "given"
) -> TopicKeys:
    """Say which partitioner placed the keys of a topic, and which keys it would place elsewhere.

    Args:
        partitions: partitions of one topic, some or all.
        count: number of partitions of the topic; None for that of the highest number here.
        why: where ``count`` is from.

    Raises:
        ValueError: no partitions, of several topics, or a number that is not below ``count``.
    """
    topics = {item.topic for item in partitions}
    if len(topics) != 1:
        raise ValueError("give partitions of one topic")
    numbers = [item.partition or 0 for item in partitions]
    if count is None:
        count, why = max(numbers) + 1, "the highest number of a directory, and one"
    if max(numbers) >= count:
        raise ValueError(f"partition {max(numbers)} is not one of {count}")
    found = TopicKeys(topics.pop() or "", count)
    found.assumptions.append(Assumption("partitions", str(count), why))
    keys = [
        _read(item, number, found.errors)
        for number, item in sorted(zip(numbers, partitions, strict=True), key=lambda each: each[0])
    ]
    found.placements = [item.placement for item in keys]
    found.fits = sorted(
        (_fit(name, keys, count) for name in HASHES),
        key=lambda fit: fit.fits + fit.earlier,
        reverse=True,
    )
    best = found.fits[0]
    if best.strength is not Strength.UNKNOWN:
        found.best = best
        _place(found, keys, best)
    return found


def _read(partition: Partition, number: int, errors: list[KafkaSpecError]) -> _Keys:
    placement = Placement(number, str(partition.path))
    offsets: list[NDArray[np.int64]] = []
    hashes: dict[str, list[Hashes]] = {name: [] for name in HASHES}
    try:
        reader = partition.to_batches(
            _COLUMNS, layout="binary", log_start="ignore", on_error=errors.append
        )
        for batch in together(reader, lambda batch: batch.nbytes):
            column = batch.column(names.KEY)
            placement.null_keys += column.null_count
            sizes = pc.fill_null(pc.binary_length(column), 0).to_numpy(zero_copy_only=False)
            kept = np.flatnonzero(sizes)
            placement.empty_keys += batch.num_rows - column.null_count - len(kept)
            if not len(kept):
                continue
            places, data = _places(column)
            starts, lengths = places[:-1][kept], sizes[kept].astype(np.int64)
            offsets.append(batch.column(names.OFFSET).to_numpy()[kept])
            for name in HASHES:
                hashes[name].append(hash_keys(name, data, starts, lengths))
    except KafkaSpecError as error:
        errors.append(error)
    placement.keyed = sum(map(len, offsets))
    return _Keys(
        number,
        partition,
        placement,
        np.concatenate(offsets) if offsets else np.empty(0, dtype=np.int64),
        {
            name: np.concatenate(items) if items else np.empty(0, dtype=np.uint32)
            for name, items in hashes.items()
        },
    )


def _places(column: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return where each key begins, and the bytes that all are in."""
    kind = np.int64 if pa.types.is_large_binary(column.type) else np.int32
    _, ends, data = column.buffers()
    places = np.frombuffer(ends, dtype=kind)[column.offset : column.offset + len(column) + 1]
    held = b"" if data is None else data
    return places.astype(np.int64), np.frombuffer(held, dtype=np.uint8)


def _fit(name: str, keys: Sequence[_Keys], count: int) -> Fit:
    keyed = sum(item.placement.keyed for item in keys)
    ordered = np.sort(np.concatenate([item.hashes[name] for item in keys]))
    distinct = int(np.count_nonzero(np.diff(ordered))) + bool(len(ordered))  # unique() takes longer
    wrong = [(item.number, item.misfits(name, count)) for item in keys]
    fits = keyed - sum(len(hashes) for _, hashes in wrong)
    before, earlier = _earlier(name, wrong, count)
    return Fit(
        name,
        _allowed(name, keys, count),
        fits,
        earlier,
        before,
        keyed,
        distinct,
        _strength(fits + earlier, keyed, distinct, before or count),
    )


def _strength(fits: int, keyed: int, distinct: int, count: int) -> Strength:
    """Return how well records prove a hash; with one partition, every hash fits."""
    if not keyed or count < 2 or fits < keyed * _SHARE:
        return Strength.UNKNOWN
    if distinct * math.log2(count) < _SURE:
        return Strength.CONSISTENT
    return Strength.STRONG if fits == keyed else Strength.LIKELY


def _allowed(name: str, keys: Sequence[_Keys], count: int) -> tuple[str, ...]:
    """Return the partitioners of a hash that could have put records without keys where they are."""
    found = []
    for partitioner, each in PARTITIONERS.items():
        if each.hash != name:
            continue
        places = {item.number for item in keys if item.placement.null_keys}
        others = {item.number for item in keys if item.placement.empty_keys}
        only = {partition_of(partitioner, b"" if each.empty else None, count)}
        null = {partition_of(partitioner, None, count)}
        if (each.null and not places <= null) or (each.empty and not others <= only):
            continue
        found.append(partitioner)
    return tuple(found)


def _earlier(name: str, wrong: Sequence[tuple[int, Hashes]], count: int) -> tuple[int | None, int]:
    """Return the earlier number of partitions that explains most misplaced keys, and how many."""

    # Below the highest partition with such a record there is no earlier number.
    def explained_by(earlier: int, records: Sequence[tuple[int, Hashes]]) -> int:
        found = ((partitions_of(name, hashes, earlier), number) for number, hashes in records)
        return sum(int(np.count_nonzero(places == number)) for places, number in found)

    total = sum(len(hashes) for _, hashes in wrong)
    if not total:
        return None, 0
    lowest = max(number for number, hashes in wrong if len(hashes)) + 1
    step = max(1, total // _SAMPLE)
    sample = [(number, hashes[::step]) for number, hashes in wrong]
    best, most = None, 0
    for earlier in range(max(lowest, 1), min(count, lowest + _MOST_COUNTS)):
        explained = explained_by(earlier, sample)
        if explained > most:
            best, most = earlier, explained
    sampled = sum(len(hashes) for _, hashes in sample)
    if best is None or most < sampled * _SHARE:
        return None, 0
    return best, explained_by(best, wrong)


def _place(found: TopicKeys, keys: Sequence[_Keys], best: Fit) -> None:
    """Fill in the placements and the misplaced records."""
    tables = []
    for item in keys:
        hashes = item.hashes[best.hash]
        belongs = partitions_of(best.hash, hashes, found.count)
        wrong = belongs != item.number
        if best.before is not None and item.number < best.before and len(hashes):
            earlier = partitions_of(best.hash, hashes, best.before)
            before = np.concatenate(([0], np.cumsum(earlier != item.number)))
            after = np.concatenate(([0], np.cumsum(wrong)))
            cut = int(np.argmin(before + (after[-1] - after)))  # fewest in a wrong place
            if cut:
                item.placement.growth = _growth(item, cut)
                belongs[:cut] = earlier[:cut]
                wrong = belongs != item.number
        rows = np.flatnonzero(wrong)
        item.placement.misplaced = len(rows)
        item.placement.fits = item.placement.keyed - len(rows)
        columns = [
            pa.array([found.topic] * len(rows), pa.string()),
            pa.array(np.full(len(rows), item.number, dtype=np.int32)),
            pa.array(item.offsets[rows]),
            pa.array(belongs[rows].astype(np.int32)),
        ]
        tables.append(pa.table(columns, schema=MISPLACED))
    found.misplaced = pa.concat_tables(tables)


def _growth(item: _Keys, cut: int) -> GrowthPoint:
    if cut == len(item.offsets):
        return GrowthPoint(None, None, cut)
    offset = int(item.offsets[cut])
    record = item.partition.find(offset=offset).record
    known = record is not None and record.timestamp >= 0
    return GrowthPoint(offset, record.timestamp if record is not None and known else None, cut)
