"""Lakes that are filled: every record once, whatever ends a driver, and however many there are."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter
from operator import itemgetter
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

pytest.importorskip("pyspark")

import kafkaspec as ks
from kafkaspec.errors import KafkaSpecError
from kafkaspec.lake.base import LakeConflictError
from kafkaspec.lake.epochs import write_manifest
from kafkaspec.lake.increments import LakeLossError
from kafkaspec.lake.restoring import restore_logs
from kafkaspec.lake.schema import BATCHES, DEAD, FOLDERS, PROGRESS, RAW, SCHEMAS
from kafkaspec.lake.tables import open_lake
from kafkaspec.spark.jobs import lake as job
from tests.goldens import GOLDEN
from tests.lake.driver import filled
from tests.lake.test_increments import write
from tests.pages import blocks
from tests.spark import logs

pytestmark = pytest.mark.slow  # ``test_tables.py`` and ``test_units.py`` are for make quick

ROOT = Path(__file__).parents[2]
GOLDENS = ("0.8.2.2", "0.10.2.2", "4.3.1")
"""Releases whose brokers wrote magic 0, 1 and 2."""


def wanted(place: Path) -> Counter[tuple[Any, ...]]:
    """The records of a log directory, control records aside, by the library."""
    with ks.LogDirectory(place) as log:
        return Counter(
            (directory.topic, directory.partition, r.offset, r.key, r.value)
            for directory in log.partitions
            for r in directory.records(log_start="ignore")
        )


def committed(place: Path) -> Counter[tuple[Any, ...]]:
    """The records that are committed, also those that wait for an open transaction before them.

    Up to the last stable offset, the library says which; after it, golden logs have nothing of a
    transaction that has ended.
    """
    found: Counter[tuple[Any, ...]] = Counter()
    with ks.LogDirectory(place) as log:
        for directory in log.partitions:
            stable = directory.last_stable_offset
            place_ = (directory.topic, directory.partition)
            for r in directory.records(log_start="ignore", isolation="read_committed"):
                assert r.offset < stable
                found[(*place_, r.offset, r.key, r.value)] += 1
            for batch in directory.batches():
                if batch.base_offset >= stable and not batch.is_transactional:
                    for r in batch.records():
                        found[(*place_, r.offset, r.key, r.value)] += 1
    return found


def rows(place: Path, *columns: str, table: str = RAW) -> list[tuple[Any, ...]]:
    found = open_lake(str(place)).table(table).scan(list(columns)).read_all()
    return list(zip(*(found.column(name).to_pylist() for name in columns), strict=True))


def records(place: Path) -> Counter[tuple[Any, ...]]:
    return Counter(rows(place, "topic", "partition", "offset", "key", "value"))


def files(place: Path) -> set[str]:
    return {str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()}


def marks(place: Path) -> dict[str, Any]:
    lake = open_lake(str(place))
    return {name: lake.table(name).mark() for name in lake.tables()}


def small(tmp_path: Path) -> Path:
    """Partitions with three segments, one of them with a control batch."""
    place = tmp_path / "logs"
    place.mkdir()
    for number in range(2):
        logs.make(place / f"orders-{number}", 9, segment_bytes=600)
    shutil.copytree(GOLDEN / "4.3.1" / "logs" / "transactions-0", place / "transactions-0")
    return place


@pytest.mark.slow
@pytest.mark.parametrize("release", GOLDENS)
def test_golden_logs_in_increments(to: str, release: str, tmp_path: Path) -> None:
    """Each record once, in any number of increments, and nothing more from a run without news."""
    logs_, place = GOLDEN / release / "logs", tmp_path / "lake"
    first = filled(str(logs_), place, to=to, max_segments=40)
    assert all(item.segments <= 40 for item in first.increments)
    assert first.active > 0
    report = filled(str(logs_), place, active=True)
    assert report.active == 0
    assert records(place) == wanted(logs_)
    # Invariant 1 of the lake: rows, batches that are not control batches, and progress.
    counts = rows(place, "records", "control_type", table=BATCHES)
    total = sum(count for count, control in counts if control is None)
    said = sum(count for (count,) in rows(place, "rows", table=PROGRESS))
    assert total == said == sum(records(place).values())
    before = files(place), marks(place)
    assert filled(str(logs_), place, active=True).increments == ()
    assert (files(place), marks(place)) == before


def test_segments_that_come_between_runs(to: str, tmp_path: Path) -> None:
    source = small(tmp_path)
    place, grows = tmp_path / "lake", tmp_path / "grows" / "orders-0"
    grows.mkdir(parents=True)
    first, *others = sorted((source / "orders-0").glob("*.log"))
    shutil.copy(first, grows)
    assert filled(str(grows.parent), place, to=to).increments == ()
    assert not place.exists()  # nothing is new, and nothing is written
    for path in others:
        shutil.copy(path, grows)
        (made,) = filled(str(grows.parent), place, to=to).increments
        assert made.rows == len(rows(place, "epoch")) - sum(
            epoch < made.epoch for (epoch,) in rows(place, "epoch")
        )
    filled(str(grows.parent), place, active=True)
    assert records(place) == wanted(grows.parent)
    assert len({epoch for (epoch,) in rows(place, "epoch")}) > 2


@pytest.mark.slow
def test_drivers_that_are_killed_at_each_step(to: str, tmp_path: Path) -> None:
    """A kill at each moment of the steps, then a whole run; and one lake that has all the kills."""
    source = small(tmp_path)
    expected = wanted(source)
    lakes = tmp_path / "lakes"
    done = subprocess.run(
        [sys.executable, "-m", "tests.lake.driver", str(source), str(lakes), to],
        cwd=ROOT, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    places = list(lakes.iterdir())
    assert len(places) > 15
    for place in places:
        assert records(place) == expected, place
        entries = Counter(rows(place, "topic", "partition", "base_offset", table=BATCHES))
        assert set(entries.values()) == {1}, place


TRANSACTIONS = (
    "transactions-0", "transactions-1", "compacted-transactions-0", "transactions-open-0",
)  # fmt: skip


def test_the_query_of_the_guide_leaves_out_what_is_not_committed(to: str, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    source, place = tmp_path / "logs", tmp_path / "lake"
    for name in TRANSACTIONS:
        shutil.copytree(GOLDEN / "4.4.0" / "logs" / name, source / name)
    filled(str(source), place, to=to, active=True)
    expected = committed(source)
    hidden = {(topic, partition) for topic, partition, *_ in wanted(source) - expected}
    assert len(hidden) == len(TRANSACTIONS)  # each has what is to be left out
    (block,) = blocks(ROOT / "docs" / "guide" / "lake.md", "sql")
    with duckdb.connect() as connection:
        for name in (RAW, BATCHES):
            connection.register(name, open_lake(str(place)).table(name).scan().read_all())
        found = connection.sql(block.text).select('topic, partition, "offset", key, value')
        assert Counter(found.fetchall()) == expected


def test_two_drivers_at_once(to: str, tmp_path: Path) -> None:
    """The one that commits first owns the increment; the other stops, and its files are orphans."""
    source, place = small(tmp_path), tmp_path / "lake"
    filled(str(source), place, to=to, max_segments=1, topics=["transactions"], active=True)
    real = write_manifest
    other: list[Any] = []

    def meanwhile(*args: Any) -> Any:
        if not other:
            other.append(None)
            other[0] = filled(str(source), place, active=True)
        return real(*args)

    with patch.object(job, "write_manifest", meanwhile), pytest.raises(LakeConflictError):
        filled(str(source), place, active=True, max_segments=1)
    assert other[0].increments
    assert records(place) == wanted(source)
    assert filled(str(source), place, active=True).increments == ()


def test_a_driver_that_dies_beside_another(to: str, tmp_path: Path) -> None:
    """The other one, which has begun, finishes the increment before it plans its next one."""
    source, place = small(tmp_path), tmp_path / "lake"
    real = job.LakeJob.run
    runs: list[int] = []

    def half(lake: Any, manifest: Any) -> None:
        files_ = [file for file in manifest.files if file.table == PROGRESS]
        columns = SCHEMAS[PROGRESS], FOLDERS[PROGRESS]
        lake.table(PROGRESS).append(files_, manifest.mark, *columns)
        raise KeyboardInterrupt

    def run(*args: Any) -> Any:
        runs.append(len(runs))
        made = real(*args)
        if len(runs) == 1:
            with patch.object(job, "commit", half), pytest.raises(KeyboardInterrupt):
                filled(str(source), place, active=True, max_segments=1)
        return made

    with patch.object(job.LakeJob, "run", run):
        report = filled(str(source), place, to=to, active=True, max_segments=1)
    assert (report.finished, [item.epoch for item in report.increments][:2]) == (2, [1, 3])
    assert records(place) == wanted(source)


def test_a_driver_that_others_have_passed(to: str, tmp_path: Path) -> None:
    """Its increment is older than what the lake has by now."""
    source, place = small(tmp_path), tmp_path / "lake"
    real = write_manifest
    done: list[Any] = []

    def meanwhile(*args: Any) -> Any:
        if not done:
            done.append(None)
            done[0] = filled(str(source), place, to=to, active=True, max_segments=1)
        return real(*args)

    with patch.object(job, "write_manifest", meanwhile), pytest.raises(LakeConflictError):
        filled(str(source), place, to=to, active=True, max_segments=2)
    assert len(done[0].increments) > 2
    assert records(place) == wanted(source)


def test_damage_is_in_dead_and_the_rest_in_raw(to: str, tmp_path: Path) -> None:
    source, place = small(tmp_path), tmp_path / "lake"
    whole = wanted(source)
    path = sorted((source / "orders-0").glob("*.log"))[0]
    with ks.Segment(path) as segment:
        batch = list(segment.batches())[1]
        hidden = {("orders", 0, r.offset, r.key, r.value) for r in batch.records()}
    logs.overwrite(path, batch.end - 1, b"\xff")
    report = filled(str(source), place, to=to, active=True)
    assert sum(item.dead for item in report.increments) == 1
    assert records(place) == Counter({k: n for k, n in whole.items() if k not in hidden})
    ((position, payload, reason),) = rows(place, "position", "payload", "reason", table=DEAD)
    assert (position, reason) == (batch.position, "checksum_mismatch")
    assert payload == path.read_bytes()[batch.position : batch.end]


def test_a_log_that_was_cut_back_comes_back_whole(to: str, tmp_path: Path) -> None:
    """Each offset of the newest generation that has it, byte for byte; KIP-101."""
    source, place = tmp_path / "logs", tmp_path / "lake"
    source.mkdir()
    orders = source / "orders-0"
    histories = (
        ((0, 30, ((0, 30, 1),)), (30, 60, ((30, 60, 1),)), (60, 90, ((60, 90, 2),))),
        ((0, 30, ((0, 30, 1),)), (30, 80, ((30, 40, 1), (40, 80, 3))), (80, 120, ((80, 120, 3),))),
        ((0, 30, ((0, 30, 1),)), (30, 80, ((30, 40, 1), (40, 50, 3), (50, 80, 4)))),
        ((0, 20, ((0, 20, 1),)), (20, 60, ((20, 60, 5),)), (60, 70, ((60, 70, 5),))),
        ((20, 100, ((20, 100, 0),)),),  # created again: what is below it is of the one before
    )
    for number, history in enumerate(histories):
        for path in orders.glob("*"):
            path.unlink()
        for base, _, parts in history:
            write(orders, base, *parts)
        if number == 0:  # the torn end of a broker that died
            with (orders / f"{30:020}.log").open("ab") as file:
                file.write(logs.batch(60, 10)[:-5])
        filled(str(source), place, to=to, active=True, exact=True, on_loss="continue")
        keys = Counter(rows(place, "topic", "partition", "generation", "offset"))
        assert max(keys.values()) == 1
        out = tmp_path / f"out {number}"
        (log,) = restore_logs(open_lake(str(place)), out, sync=False).logs
        assert log.generation == number
        assert all(segment.is_identical for segment in log.segments)
        again = out / "orders-0"
        assert {path.name: path.read_bytes() for path in again.glob("*.log")} == {
            path.name: path.read_bytes() for path in orders.glob("*.log")
        }


def test_what_is_lost_is_counted_in_progress(to: str, tmp_path: Path) -> None:
    source, place = small(tmp_path), tmp_path / "lake"
    filled(str(source), place, to=to, topics="transactions", active=True)
    gone = sorted((source / "orders-1").glob("*.log"))[1]
    with ks.Segment(gone) as segment:
        count = len(list(segment.records()))
    for path in gone.parent.glob(f"{gone.stem}.*"):
        path.unlink()
    before = records(place)
    with pytest.raises(LakeLossError, match="orders-1"):
        filled(str(source), place, topics=["orders"], active=True)
    report = filled(str(source), place, active=True, on_loss="continue")
    assert sum(item.lost for item in report.increments) == count
    assert sum(lost for (lost,) in rows(place, "lost", table=PROGRESS)) == count
    assert before - records(place) == Counter()
    assert records(place) == wanted(source)


def test_wrong_places_and_words(to: str, tmp_path: Path) -> None:
    source = small(tmp_path)
    place = tmp_path / "lake"
    other = {"delta": "iceberg", "iceberg": "delta"}[to]
    filled(str(source), place, to=to, topics="transactions", active=True)
    with pytest.raises(KafkaSpecError, match=f"tables are {to}, not {other}"):
        filled(str(source), place, to=other)
    with pytest.raises(ValueError, match="there is no topic 'order'; did you mean 'orders'"):
        filled(str(source), place, topics=["order"])
    with pytest.raises(KafkaSpecError, match="must not change"):
        filled(str(source), source / "lake", to=to)
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(KafkaSpecError, match="there is no segment here"):
        filled(str(empty), tmp_path / "new", to=to)
    used = tmp_path / "used"
    used.mkdir()
    (used / "letters.txt").write_text("mine")
    with pytest.raises(KafkaSpecError, match=r"is not a lake, and has other files: letters\.txt"):
        filled(str(source), used, to=to)
    assert files(used) == {"letters.txt"}
    with pytest.raises(ValueError, match="file_size is a size such as 128m"):
        filled(str(source), place, file_size="big")


def test_a_table_keeps_its_types_and_what_has_no_room_is_dead(to: str, tmp_path: Path) -> None:
    """Iceberg makes numbers longer, Delta does not; no table takes text for numbers."""
    source, place = tmp_path / "logs" / "orders-0", tmp_path / "lake"
    source.mkdir(parents=True)
    increments: dict[str, list[bytes | None]] = {
        "integer": [number.to_bytes(4, "big") for number in range(3)],
        "long": [(7).to_bytes(8, "big"), (1 << 40).to_bytes(8, "big"), None],
        "string": [b"8", None],
    }
    dead: list[int] = []
    for epoch, (format_, values) in enumerate(increments.items()):
        base = 3 * epoch
        made = [ks.Record(base + n, logs.START, None, value) for n, value in enumerate(values)]
        (source / f"{base:020d}.log").write_bytes(ks.encode(made))
        report = filled(str(source.parent), place, to=to, value=format_, active=True)
        dead += [made.dead for made in report.increments]
    typed = rows(place, "offset", "value", table="typed_orders")
    found = rows(place, "offset", "reason", "detail", "value", table=DEAD)
    assert dead == [0, 0 if to == "iceberg" else 1, 1]
    assert sorted(typed) == sorted(
        [(0, 0), (1, 1), (2, 2), (3, 7), (5, None), (7, None)]
        + ([(4, 1 << 40)] if to == "iceberg" else [])
    )
    kept = "int64" if to == "iceberg" else "int32"
    text = f"the value: value is {kept} in the table, and {{}} here"
    assert (6, "range", text.format("string"), b"8") in found
    if to == "delta":
        assert (4, "range", text.format("int64"), increments["long"][1]) in found
    assert len(typed) + len(found) == sum(records(place).values())  # invariant 1


def test_fields_that_differ_in_case_alone(to: str, tmp_path: Path) -> None:
    """The second has a number; one that a table has in the other case has no column there."""
    root, place = tmp_path / "logs", tmp_path / "lake"

    def add(topic: str, base: int, records: list[tuple[bytes | None, bytes]]) -> None:
        made = [ks.Record(base + n, logs.START, *each) for n, each in enumerate(records)]
        (root / topic).mkdir(parents=True, exist_ok=True)
        (root / topic / f"{base:020d}.log").write_bytes(ks.encode(made))

    # Of Avro: 1; null and 2, 3 and 4.
    increments = (("N", [b"\2\2"]), ("nN", [b"\0\2\4", b"\2\6\2\x08"]))
    for number, (names, values) in enumerate(increments):
        fields = [{"name": name, "type": ["null", "int"], "default": None} for name in names]
        schema = json.dumps({"type": "record", "name": "O", "fields": fields})
        named = {"subject": "orders-value", "version": number + 1}
        key, value = {"keytype": "SCHEMA", "magic": 1, **named}, {"id": number, "schema": schema}
        add("_schemas-0", number, [(json.dumps(key).encode(), json.dumps(named | value).encode())])
        add("orders-0", number, [(None, b"\0" + number.to_bytes(4, "big") + v) for v in values])
        filled(str(root), place, to=to, value="decode", evolve="latest", active=True)
    assert sorted(rows(place, "offset", "value", table="typed_orders"), key=itemgetter(0)) == [
        (0, {"N": 1, "N_2": None}),
        (1, {"N": None, "N_2": 2}),
    ]
    text = "the value: value.n differs in case alone from a field of the table"
    assert rows(place, "offset", "reason", "detail", table=DEAD) == [(2, "range", text)]
