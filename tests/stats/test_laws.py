"""Laws of merging, and bounds of sketches on known sets."""

from __future__ import annotations

import hashlib
import random
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("datasketches")

import numpy as np
import pyarrow as pa

from kafkaspec import Record, SegmentWriter
from kafkaspec.codecs import codec_names, get_codec
from kafkaspec.log.opening import open_log
from kafkaspec.log.partition import Partition
from kafkaspec.stats.byte_columns import hashes
from kafkaspec.stats.distinct import MOST, Distinct, joined, number_of
from kafkaspec.stats.figures import Figures
from kafkaspec.stats.heaviest import COUNTERS, Heaviest
from kafkaspec.stats.measure import measure, measured
from kafkaspec.stats.tables import MOST_BUCKETS, TABLES, StatsTables, merged, summed
from kafkaspec.stats.units import StatsUnit, units_of_log
from tests.extent import examples
from tests.goldens import GOLDEN


def units(*directories: Path) -> list[StatsUnit]:
    """The units of partitions."""
    found = []
    for directory in directories:
        with open_log(directory) as log:
            assert isinstance(log, Partition)
            found += list(units_of_log(log))
    return found


def tree(parts: list[StatsTables], chance: random.Random) -> StatsTables:
    """Merge parts in a tree of any shape, in any order."""
    left = list(parts)
    while len(left) > 1:
        chance.shuffle(left)
        number = chance.randint(2, min(5, len(left)))
        left = [merged(left[:number]), *left[number:]]
    return merged(left)


@pytest.mark.slow
def test_merging_is_associative_and_free_of_order() -> None:
    logs = GOLDEN / "4.3.1" / "logs"
    names = ("segments-0", "transactions-segments-0", "compacted-gzip-0", "codec-mixed-0")
    parts = [measured([unit]) for unit in units(*(logs / name for name in names))]
    expected = merged(parts)
    chance = random.Random(7)
    for _ in range(examples(60)):
        found = tree(parts, chance)
        for name in TABLES:
            assert found[name].equals(expected[name]), name
    nothing = merged([])
    assert all(merged([nothing, expected])[name].equals(expected[name]) for name in TABLES)


@pytest.mark.slow
def test_units_give_together_what_they_give_alone(tmp_path: Path) -> None:
    """Also those that are damaged, compressed, or of old formats."""
    logs = [path for path in sorted(GOLDEN.glob("*/logs/*-0")) if any(path.glob("*.log"))]
    logs = [*logs[:: max(1, len(logs) // examples(6))]]
    damaged = tmp_path / "damaged-0"
    shutil.copytree(GOLDEN / "4.3.1" / "logs" / "segments-0", damaged)
    for number, file in enumerate(sorted(damaged.glob("*.log"))):
        content = bytearray(file.read_bytes())
        content[-1 - number] ^= 1
        file.write_bytes(content)
    given = units(*logs, damaged)
    assert {True, False} == {unit.is_history for unit in given}
    alone = merged([measured([unit]) for unit in given])
    assert alone["errors"].num_rows
    for together in (merged([measured(given)]), measure(given).part):
        for name in TABLES:
            assert together[name].equals(alone[name]), name


@pytest.mark.slow
def test_processes_give_the_figures_of_one() -> None:
    given = units(GOLDEN / "4.3.1" / "logs" / "segments-0")
    one, three = measure(given), measure(given, jobs=3)
    assert one.part == three.part
    assert one.partitions == three.partitions


@pytest.mark.slow
def test_buckets_of_time_become_wider_the_same_way() -> None:
    chance = random.Random(3)
    place = ("/x-0", "x", 0)
    minute = 60_000

    def part(times: list[int]) -> StatsTables:
        columns = {"time": times, "width": [minute] * len(times), "batches": [1] * len(times)}
        return merged([{"times": summed("times", [place], [0] * len(times), columns)}])

    times = [chance.randrange(1 << 41) // minute * minute for _ in range(3 * MOST_BUCKETS)]
    size = len(times) // 12
    parts = [part(times[at : at + size]) for at in range(0, len(times), size)]
    whole = part(times)
    rows = whole["times"].to_pylist()
    assert len(rows) <= MOST_BUCKETS
    assert sum(row["batches"] for row in rows) == len(times)
    (width,) = {row["width"] for row in rows}
    counts = Counter(time - time % width for time in times)
    assert {row["time"]: row["batches"] for row in rows} == counts
    for _ in range(5):
        assert tree(parts, chance)["times"].equals(whole["times"])


def test_different_keys_are_counted_exactly_or_within_bounds() -> None:
    chance = np.random.default_rng(11)
    outside = 0
    sizes = (0, 1, 100, MOST, MOST + 1, 10_000, 300_000)
    for size in sizes:
        hashes = chance.integers(0, 1 << 64, size, np.uint64)
        whole, halves = Distinct(), [Distinct(), Distinct()]
        for number, piece in enumerate(np.array_split(np.concatenate([hashes, hashes]), 9)):
            whole.add(piece)
            halves[number % 2].add(piece)
        assert (joined([half.hashes for half in halves]) == whole.hashes).all()
        found = number_of(whole.hashes)
        if size <= MOST:
            assert found.estimate == found.low == found.high == size
            assert found.is_exact
        else:
            assert found.low < found.high
            assert abs(found.estimate - size) / size < 5 / MOST**0.5
            outside += not found.low <= size <= found.high
    assert outside <= 1


@pytest.mark.slow
def test_the_heaviest_keys_are_within_bounds() -> None:
    chance = np.random.default_rng(5)
    numbers = np.concatenate([chance.zipf(1.3, 60_000), chance.integers(0, 1 << 40, 60_000)])
    chance.shuffle(numbers)
    true = Counter(numbers.tolist())
    parts: list[StatsTables] = []
    place = ("/x-0", "x", 0)
    for number, piece in enumerate(np.array_split(numbers, 6)):  # six segments
        taken = Heaviest()
        for chunk in np.array_split(piece, 5):
            keys = pa.array([str(n).encode() for n in chunk.tolist()], pa.binary_view())
            taken.add(chunk.astype(np.uint64), keys)
        kept = taken.kept
        assert kept.slack <= len(piece) / 2
        rows: dict[str, Any] = {"digest": kept.digests, "count": kept.counts, "key": kept.keys}
        rows |= {"credit": [kept.credit] * len(kept.keys), "size": kept.sizes}
        segment = {"file": [str(number)], "slack": [kept.slack]}
        parts.append({
            "heaviest": summed("heaviest", [place], [0] * len(kept.keys), rows),
            "segments": summed("segments", [place], [0], segment),
        })  # fmt: skip
    found = Figures(merged(parts)).heaviest()
    assert len(found) == 20
    for row in found:
        assert row["count"] <= true[int(row["key"])] <= row["at_most"]
    assert [int(row["key"]) for row in found[:5]] == [key for key, _ in true.most_common(5)]
    few = Heaviest()
    values = list(range(COUNTERS // 10)) * 3
    keys = pa.array([b"%d" % n for n in values], pa.binary_view())
    few.add(np.array(values, np.uint64), keys)
    assert (few.kept.slack, set(few.kept.counts.tolist())) == (0, {3})


def test_hashes_are_the_same_with_and_without_the_extension() -> None:
    keys = [b"", b"a", bytes(12), bytes(13), b"k" * 40, None, b"a", b"k" * 1000, b"k" * 40]
    column = pa.array(keys, pa.binary_view())
    core = get_codec("native").core if "native" in codec_names() else None
    found = hashes(column, core)
    there = np.array([key is not None for key in keys])
    assert (found == hashes(column, None))[there].all()
    assert (hashes(column.slice(2), core) == found[2:])[there[2:]].all()
    assert len(set(found[there].tolist())) == len(set(keys) - {None})
    assert found[7] == int.from_bytes(hashlib.md5(b"k" * 1000).digest()[:8], "little")


@pytest.mark.slow
def test_steps_back_between_segments_count(tmp_path: Path) -> None:
    stamps = [5000, 6000, 5500, 7000, 6900, 100, 9000]
    directory = tmp_path / "t-0"
    with SegmentWriter(directory, sync=False, segment_bytes=80) as writer:
        for stamp in stamps:
            writer.append_records([Record(0, stamp, b"k", b"v")], offsets="assign")
    assert len(list(directory.glob("*.log"))) == len(stamps)
    given = units(directory)
    random.Random(1).shuffle(given)
    total = measure(given).total
    assert (total["steps_back"], total["largest_step_back"]) == (3, 6800)
