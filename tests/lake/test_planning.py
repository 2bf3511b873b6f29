"""The plan of an increment in tasks, and large segments that several tasks read."""

from __future__ import annotations

import pickle
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark")
pytest.importorskip("deltalake")

import kafkaspec as ks
from kafkaspec.lake.increments import LakeState, plan_increment, planned_here
from kafkaspec.lake.restoring import restore_logs
from kafkaspec.lake.schema import BATCHES, RAW
from kafkaspec.lake.tables import open_lake
from kafkaspec.lake.units import LakeSettings, LakeUnit, parts_of, write_units
from kafkaspec.spark.jobs import lake as job
from kafkaspec.spark.jobs.units import dealt
from kafkaspec.spark.paths import find_logs
from tests.counting import Counted, counted
from tests.goldens import GOLDEN
from tests.lake import driver
from tests.lake.driver import filled
from tests.lake.test_driver import records, rows, wanted
from tests.lake.test_increments import write
from tests.lake.test_units import MARK, rows_of
from tests.spark import logs

Work = Callable[[Sequence[Any]], Sequence[Any]]


def apart(function: Work, units: Sequence[Any], _: Sequence[int]) -> Iterator[Any]:
    """Plan each log by itself, as far away as a task is."""
    for unit in units:
        yield from pickle.loads(pickle.dumps(function(pickle.loads(pickle.dumps([unit])))))


def state(topic: str, next_offset: int, file: str, size: int, epoch: int = 0) -> Any:
    return {(topic, 0): LakeState(0, next_offset, epoch, None, file, size)}


@pytest.mark.slow
@pytest.mark.parametrize("release", ["0.10.2.2", "4.4.0"])
@pytest.mark.parametrize("active", [False, True])
def test_tasks_plan_what_the_driver_would(release: str, active: bool) -> None:
    """New logs, one that goes on in the middle, and one that was created again."""
    found = find_logs(str(GOLDEN / release / "logs"), log_start=False)
    (log,) = [log for log in found if (log.topic, log.partition) == ("segments", 0)]
    first, second, *_ = log.segments
    base = second.base_offset or 0
    states = [
        {},
        state("segments", base, first.path.name, first.size),
        state("segments", base + 1, second.path.name, second.size // 2),
        state("segments", 1 << 40, second.path.name, 1),
    ]
    seen = set()
    for known in states:
        for most in (None, 3):
            options: dict[str, Any] = {"active": active, "most": most, "on_loss": "continue"}
            here = plan_increment(found, known, **options)
            assert plan_increment(found, known, **options, planner=apart) == here
            assert len(here.segments) <= (most or len(here.segments))
            seen.add((len(here.segments), len(here.losses)))
    assert len(seen) > 4


@pytest.mark.slow
def test_the_driver_reads_no_segment(tmp_path: Path) -> None:
    """It lists; a task reads the end of each segment once, and asks for no size that was listed."""
    root = tmp_path / "many"
    for partition in range(3):
        logs.make(root / f"orders-{partition}", 60, segment_bytes=500)
    inside: list[tuple[list[Any], list[str]]] = []

    def noting(function: Work, units: Sequence[Any], sizes: Sequence[int]) -> Sequence[Any]:
        before = len(Counted.reads), len(Counted.stats)
        try:
            return function(units)
        finally:
            inside.append((Counted.reads[before[0] :], Counted.stats[before[1] :]))

    with counted(root) as url:
        found = find_logs(url, log_start=False)
        listed = len(Counted.stats)
        made = plan_increment(found, {}, planner=noting)
        closed = len(made.segments)
        assert closed > 80
        assert [item for reads, _ in inside for item in reads] == Counted.reads
        assert [item for _, stats in inside for item in stats] == Counted.stats[listed:]
        assert set(Counted.of(".log").values()) == {1}
        assert len(Counted.of(".log")) == closed
        # A question before each range: whether it is of the version that was listed.
        more = Counter(Counted.stats[listed:]) - Counter(path for path, _, _ in Counted.reads)
        assert not [path for path in more if path.endswith(".log")]


@pytest.mark.slow
def test_a_plan_that_reads_much_is_made_in_tasks(tmp_path: Path) -> None:
    """Its losses end the job as those of a plan in the driver do."""
    source = tmp_path / "logs"
    source.mkdir()
    for number in range(3):
        for base in (0, 30, 60):
            write(source / f"orders-{number}", base, (base, base + 30, 1))
    asked: list[str] = []

    def noting(function: Any, *args: Any) -> Any:
        asked.append(getattr(function, "__name__", "cut"))
        return planned_here(function, *args)

    with patch.object(job, "planned_here", noting):
        filled(str(source), tmp_path / "lake")
    assert "read_ends" not in asked
    assert records(tmp_path / "lake") == Counter({key: 1 for key in wanted(source) if key[2] < 60})
    (source / "orders-1" / f"{30:020d}.log").unlink()
    with pytest.raises(ks.KafkaSpecError, match=r"orders-1.*offsets 30 to 59") as caught:
        filled(str(source), tmp_path / "lost")
    assert caught.value.reason == "changed"


_BLOCKED = """
import pickle, sys
sys.modules |= dict.fromkeys(("deltalake", "pyiceberg", "sqlalchemy", "fastavro", "orjson"))
for line in sys.stdin:
    print(pickle.loads(bytes.fromhex(line)).func.__name__)
"""


@pytest.mark.slow
def test_workers_need_neither_format(tmp_path: Path) -> None:
    """The libraries of Delta and Iceberg are for the driver, those of values for typed tables."""
    (tmp_path / "logs").mkdir()
    for base in range(0, 180, 30):
        write(tmp_path / "logs" / "orders-0", base, (base, base + 30, 1))
    functions: list[str] = []
    real = driver.computed

    def noting(spark: Any, units: Any, sizes: Any, function: Any, tasks: Any) -> Any:
        functions.append(pickle.dumps(function).hex())
        return real(spark, units, sizes, function, tasks)

    with patch.object(driver, "computed", noting):
        filled(str(tmp_path / "logs"), tmp_path / "lake")
    done = subprocess.run(
        [sys.executable, "-c", _BLOCKED],
        input="\n".join(functions), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.split() == ["told", "write_units"], done.stderr


def damaged(path: Path, number: int, byte: int, bit: int = 0x40) -> None:
    """Change the n-th batch of a segment, at one of its bytes."""
    with ks.Segment(path) as segment:
        position = list(segment.batches())[number].position
    data = bytearray(path.read_bytes())
    data[position + byte] ^= bit
    path.write_bytes(data)


LAST_OFFSET_DELTA, RECORD_COUNT = 23, 57
"""Bytes of a batch: KIP-98."""


@pytest.mark.slow
def test_a_damaged_offset_is_not_where_a_log_goes_on(tmp_path: Path) -> None:
    """The next segment begins where it did; the batch itself is in ``dead``."""
    source = tmp_path / "logs"
    source.mkdir()
    for base in (0, 30, 60):
        write(source / "orders-0", base, (base, base + 30, 1))
    damaged(source / "orders-0" / f"{30:020d}.log", -1, LAST_OFFSET_DELTA)
    assert filled(str(source), tmp_path / "lake").increments[0].dead == 1
    write(source / "orders-0", 90, (90, 120, 1))
    filled(str(source), tmp_path / "lake")
    found = [offset for _, _, offset, *_ in records(tmp_path / "lake").elements()]
    assert sorted(found) == [*range(50), *range(60, 90)]


def test_what_is_read_after_damage_is_not_read_again(tmp_path: Path) -> None:
    """A batch whose offset is damaged is read again, and no other that the lake has."""
    path = write(tmp_path, 0, (0, 60, 1))
    damaged(path, 1, LAST_OFFSET_DELTA)
    unit = LakeUnit(path=str(path), topic="orders", partition=0, start_offset=40)
    (result,) = write_units([unit], LakeSettings(place=str(tmp_path / "lake")), MARK)
    assert (result.progress["rows"], result.progress["dead"]) == (20, 1)


@pytest.mark.parametrize("index", [None, 0, 1])
@pytest.mark.parametrize("number", [None, *range(0, 10, 2)])
def test_each_batch_is_in_one_part(index: int | None, number: int | None, tmp_path: Path) -> None:
    """Also if the offset index is wrong, and a batch that begins a part is damaged."""
    path = write(tmp_path, 0, (0, 100, 1))
    with ks.Segment(path) as segment:
        places = [(batch.last_offset, batch.position) for batch in segment.batches()][1:]
    if index is not None:
        path.with_suffix(".index").write_bytes(
            b"".join(struct.pack(">ii", last, place + index) for last, place in places)
        )
    if number is not None:
        damaged(path, number, RECORD_COUNT, 0x80)
    unit = LakeUnit(path=str(path), topic="orders", partition=0)
    parts = [part for part, _ in parts_of(unit, path.stat().st_size, 800)]
    found = {}
    for name, units in (("whole", [unit]), ("parts", parts)):
        results = write_units(units, LakeSettings(place=str(tmp_path / name)), MARK)
        tables = rows_of(tmp_path / name, results[-1].files)
        found[name] = {table: sorted(map(repr, rows)) for table, rows in tables.items()}
    assert found["parts"] == found["whole"]
    assert len(found["whole"]["dead"]) == (number is not None)
    assert len(parts) > 1 or number in (0, 2)  # no header after it is read to cut


@pytest.fixture(name="skewed")
def _skewed(tmp_path: Path) -> Path:
    """A closed segment of 2 MB, with an index and without, beside many small ones."""
    source = tmp_path / "logs"
    for number in range(2):
        big = logs.make(source / f"big-{number}", 400, 5, 800, segment_bytes=4 << 20)
        path = logs.segment(big)
        write(big, 400 * 5, (2000, 2010, 1))
        if number:
            for other in big.glob(f"{path.stem}.*index"):
                other.unlink()
    logs.make(source / "small-0", 200, segment_bytes=500)
    return source


@pytest.mark.slow
@pytest.mark.parametrize("to", ["delta", "iceberg"])
def test_a_large_segment_is_divided_among_tasks(to: Any, skewed: Path, tmp_path: Path) -> None:
    """Each task gets about the same bytes, and each batch is read by one of them."""
    place = tmp_path / "lake"
    hands: list[list[int]] = []

    def noting(sizes: Sequence[int], most: int) -> list[list[int]]:
        made = dealt(sizes, most)
        hands.append([sum(sizes[number] for number in hand) for hand in made])
        return made

    with patch.object(driver, "HAND_BYTES", 64 << 10), patch.object(job, "dealt", noting):
        made = filled(str(skewed), place, to=to, active=True, exact=True)
    assert made.increments[0].segments == len(list(skewed.rglob("*.log")))
    weights = hands[-1]
    assert len(weights) == 3 * 2
    assert max(weights) <= 1.15 * sum(weights) / len(weights)
    assert records(place) == wanted(skewed)
    entries = Counter(rows(place, "topic", "partition", "base_offset", "position", table=BATCHES))
    assert set(entries.values()) == {1}
    assert len(entries) == sum(1 for log in ks.LogDirectory(skewed) for _ in log.batches())
    for file in open_lake(str(place)).table(RAW).files():
        table = pq.read_table(place / file.path, columns=["topic", "partition", "offset"])
        found = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
        assert found == sorted(found)
    out = tmp_path / "back"
    for log in restore_logs(open_lake(str(place)), out, sync=False).logs:
        assert all(segment.is_identical for segment in log.segments)
    assert filled(str(skewed), place, active=True).increments == ()
