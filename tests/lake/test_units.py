"""Rows that one task of an increment writes: none is missing, and none is made up."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from kafka.record.memory_records import MemoryRecords  # type: ignore[import-untyped]

import kafkaspec as ks
from benchmarks.data import Shape, segment_file
from kafkaspec.lake.manifest import LakeFile, Mark
from kafkaspec.lake.schema import SCHEMAS
from kafkaspec.lake.units import LakeSettings, LakeUnit, UnitResult, write_units
from tests.analysis.test_positions import SEGMENTS, damaged
from tests.extent import some
from tests.goldens import GOLDEN, VERSIONS, distinct
from tests.loops import each

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MARK = Mark(1, "run")
Tables = dict[str, list[dict[str, Any]]]


def written(place: Path | str, *paths: Path | str, **settings: Any) -> tuple[UnitResult, Tables]:
    """Return the result of a task that reads segments, and the rows that it has written."""
    units = [LakeUnit(path=str(path), topic="orders", partition=3) for path in paths]
    results = write_units(units, LakeSettings(place=str(place), **settings), MARK)
    return results[-1], rows_of(place, results[-1].files)


def rows_of(place: Path | str, files: tuple[LakeFile, ...]) -> Tables:
    found: Tables = {"raw": [], "batches": [], "dead": []}
    for file in files:
        path = Path(place) / file.path
        table = pq.ParquetFile(path).read()
        assert (len(table), path.stat().st_size) == (file.rows, file.size)
        assert table.schema.equals(SCHEMAS[file.table])
        found[file.table] += shown(table)
    return found


def shown(table: pa.Table) -> list[dict[str, Any]]:
    """Return rows with times in µs, as the times of Python end with the year 9999."""
    if "timestamp" in table.schema.names:
        place = table.schema.get_field_index("timestamp")
        table = table.set_column(place, "timestamp", table["timestamp"].cast(pa.int64()))
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def read(segment: ks.Segment) -> Iterator[tuple[ks.Batch, list[ks.Record]]]:
    """Yield the sound batches with their records, as objects: another way than by columns."""
    for item in segment.scan():
        try:
            if not isinstance(item, ks.KafkaSpecError):
                yield item, list(item.records())
        except ks.KafkaSpecError:
            continue


def check(tables: Tables, data: bytes, base_offset: int = 0) -> None:
    """Compare the rows of a segment with its records, read as objects, and with its bytes."""
    sound = list(read(ks.Segment(data, base_offset=base_offset)))
    wanted = [
        (batch, record) for batch, records in sound if not batch.is_control for record in records
    ]
    assert len(tables["raw"]) == len(wanted)
    wanted.sort(key=lambda pair: pair[1].offset)
    raw = sorted(tables["raw"], key=lambda row: row["offset"])  # of the files of several days
    for row, (batch, record) in zip(raw, wanted, strict=True):
        stamp = None if record.timestamp == -1 else record.timestamp * 1000
        beyond = stamp is not None and abs(stamp) >= 1 << 63
        headers = [{"key": key, "value": value} for key, value in record.headers]
        assert row["timestamp"] == (None if beyond else stamp)
        assert (row["offset"], row["key"], row["value"]) == record[:1] + record[2:4]
        assert (row["headers"], row["batch_base_offset"]) == (headers, batch.base_offset)
        producer = None if batch.producer_id == -1 else batch.producer_id
        assert (row["producer_id"], row["transactional"]) == (producer, batch.is_transactional)
        assert (row["topic"], row["partition"], row["epoch"]) == ("orders", 3, 1)
        if row["day"] is not None:
            assert row["day"] == (EPOCH + timedelta(milliseconds=record.timestamp)).date()
    assert [
        (row["position"], row["length"], row["base_offset"], row["last_offset"], row["records"])
        for row in tables["batches"]
    ] == [
        (batch.position, batch.size, batch.base_offset, batch.last_offset, len(records))
        for batch, records in sound
    ]
    for row, (batch, _) in zip(tables["batches"], sound, strict=True):
        assert (row["crc"], row["magic"], row["max_timestamp"]) == (
            batch.crc, batch.magic, batch.max_timestamp
        )  # fmt: skip
        assert (row["control_type"] is not None) == batch.is_control
    places = [(row["position"], row["length"], row["payload"]) for row in tables["batches"]]
    damage = [row for row in tables["dead"] if row["position"] is not None]
    places += [(row["position"], len(row["payload"]), row["payload"]) for row in damage]
    end = 0
    for position, length, payload in sorted(places, key=lambda place: place[0]):
        assert position == end  # nothing is lost between, or counted twice
        end += length
        assert payload in (None, data[position:end])
    assert end == len(data)
    assert all(row["reason"] and row["detail"] for row in tables["dead"])


@pytest.mark.slow
@each("golden", distinct(".log"))
def test_the_rows_of_all_releases(golden: Any, tmp_path: Path) -> None:
    result, tables = written(tmp_path, golden.path, exact=True)
    data = golden.path.read_bytes()
    check(tables, data)
    progress = result.progress
    assert progress["size"] == len(data)
    assert progress["rows"] == len(tables["raw"])
    assert progress["rows"] == sum(
        row["records"] for row in tables["batches"] if row["control_type"] is None
    )
    assert (progress["batches"], progress["dead"]) == (len(tables["batches"]), len(tables["dead"]))
    assert all(row["exact"] or row["payload"] for row in tables["batches"])
    if tables["batches"]:
        assert progress["next_offset"] == max(row["last_offset"] for row in tables["batches"]) + 1
        assert progress["leader_epoch"] == tables["batches"][-1]["leader_epoch"]


@each("version", VERSIONS)
def test_another_reader_reads_the_same_rows(version: str, tmp_path: Path) -> None:
    (path,) = (GOLDEN / version / "logs" / "plain-0").glob("*.log")
    _, tables = written(tmp_path, path)
    found = [
        (item.offset, item.timestamp, item.key, item.value)
        for batch in MemoryRecords(path.read_bytes())
        for item in batch
    ]
    assert [
        (row["offset"], row["timestamp"] and row["timestamp"] // 1000, row["key"], row["value"])
        for row in tables["raw"]
    ] == found


@pytest.mark.slow
@each("name, seed", [(name, seed) for name in SEGMENTS for seed in range(some(12))])
def test_damage_loses_nothing_else(name: str, seed: int, tmp_path: Path) -> None:
    (log,) = (GOLDEN / name).glob("*.log")
    chance = random.Random(seed)
    data = damaged(log.read_bytes(), seed, repaired=bool(seed % 2))
    if seed % 3 == 0:
        data = data[: chance.randrange(len(data))]
    path = tmp_path / log.name
    path.write_bytes(data)
    _, tables = written(tmp_path / "lake", path, exact=True)
    check(tables, data)


def segment(folder: Path, *parts: bytes) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "00000000000000000000.log"
    path.write_bytes(b"".join(parts))
    return path


def test_damage_can_be_an_error(tmp_path: Path) -> None:
    good, bad = (ks.encode([ks.Record(n, 1000, b"key", b"value")]) for n in range(2))
    path = segment(tmp_path / "log", good, bad[:-1] + b"?", good[:20])
    result, tables = written(tmp_path / "lake", path)
    reasons = [(row["position"], row["reason"], row["offset"]) for row in tables["dead"]]
    assert reasons == [
        (len(good), "checksum_mismatch", 1),
        (2 * len(good), "torn_tail", None),
    ]
    assert (result.progress["rows"], result.progress["next_offset"]) == (1, 1)  # of what is sound
    with pytest.raises(ks.KafkaSpecError) as raised:
        written(tmp_path / "other", path, on_error="raise")
    assert raised.value.position is not None
    assert not list((tmp_path / "other").rglob("*.*"))


def test_ranges_and_first_offsets(tmp_path: Path) -> None:
    parts = [ks.encode([ks.Record(n, 1000 + n, None, b"%d" % n)]) for n in range(6)]
    path = segment(tmp_path / "log", *parts)
    size = len(parts[0])
    unit = LakeUnit(
        path=str(path), topic="orders", partition=3, start=size, end=5 * size, start_offset=3
    )
    results = write_units([unit], LakeSettings(place=str(tmp_path / "lake")), MARK)
    tables = rows_of(tmp_path / "lake", results[-1].files)
    assert [row["offset"] for row in tables["raw"]] == [3, 4]
    assert [row["position"] for row in tables["batches"]] == [3 * size, 4 * size]
    assert results[0].progress["size"] == 5 * size
    path.write_bytes(b"".join(parts)[: 4 * size])
    with pytest.raises(ks.KafkaSpecError, match="planned"):
        write_units([unit], LakeSettings(place=str(tmp_path / "lake")), MARK)


def test_times_that_tables_have_no_room_for(tmp_path: Path) -> None:
    """No timestamp, the last one in µs, the first one beyond, and a year after 9999."""
    last = ((1 << 63) - 1) // 1000
    stamps = [-1, 0, last, last + 1, 253_402_300_800_000, 253_402_300_799_999]
    records = [ks.Record(n, stamp, None, b"") for n, stamp in enumerate(stamps)]
    path = segment(tmp_path / "log", ks.encode(records))
    _, tables = written(tmp_path / "lake", path)
    rows = {row["offset"]: row for row in tables["raw"]}
    for number, stamp in enumerate(stamps):
        row = rows[number]
        beyond = stamp > last
        assert row["timestamp"] == (None if stamp == -1 or beyond else stamp * 1000)
        assert row["own_timestamp"] == (stamp if beyond else None)
        dated = 0 <= stamp < 253_402_300_800_000
        assert row["day"] == ((EPOCH + timedelta(milliseconds=stamp)).date() if dated else None)


@pytest.mark.slow
def test_files_end_at_their_size_and_have_their_folders(tmp_path: Path) -> None:
    chance = random.Random(1)
    day = 86_400_000
    parts = [
        ks.encode([ks.Record(n, n % 2 * day, None, chance.randbytes(1 << 20))]) for n in range(100)
    ]
    path = segment(tmp_path / "log", *parts)
    result, tables = written(tmp_path / "lake", path, file_size=20 << 20)
    files = [file for file in result.files if file.table == "raw"]
    assert len(files) == 4
    for file in files:
        assert file.path.startswith(f"raw/topic=orders/day={file.values['day']}/1-run-")
        assert file.size < 60 << 20
        days = pq.ParquetFile(tmp_path / "lake" / file.path).read(["day", "offset"]).to_pylist()
        assert {row["day"] for row in days} == {file.values["day"]}
        assert [row["offset"] for row in days] == sorted(row["offset"] for row in days)
    assert sorted(row["offset"] for row in tables["raw"]) == list(range(100))


def test_an_attempt_that_fails_leaves_no_open_file(tmp_path: Path) -> None:
    good = segment(tmp_path / "log", ks.encode([ks.Record(0, 1000, None, b"value")]))
    with pytest.raises(ks.KafkaSpecError):
        written(tmp_path / "lake", good, tmp_path / "missing" / good.name)
    assert not [path for path in (tmp_path / "lake").rglob("*") if path.is_file()]


def test_two_attempts_have_different_names(tmp_path: Path) -> None:
    path = segment(tmp_path / "log", ks.encode([ks.Record(0, 1000, None, b"value")]))
    first, second = (written(tmp_path / "lake", path)[0] for _ in range(2))
    assert {file.path for file in first.files}.isdisjoint(file.path for file in second.files)


def test_urls_in_and_out(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    store = fsspec.filesystem("memory")
    (path,) = (GOLDEN / "4.4.0" / "logs" / "plain-0").glob("*.log")
    place = f"memory://{tmp_path.name}"
    store.pipe(f"{place}/in/{path.name}", path.read_bytes())
    url = f"{place}/in/{path.name}"
    unit = LakeUnit(path=url, topic="orders", partition=3)
    results = write_units([unit], LakeSettings(place=f"{place}/lake"), MARK)
    store.get(f"{place}/lake", str(tmp_path / "copy"), recursive=True)
    check(rows_of(tmp_path / "copy", results[-1].files), path.read_bytes())
    missing = LakeUnit(path=f"{place}/in/0.log", topic="orders", partition=3)
    with pytest.raises(ks.KafkaSpecError):
        write_units([unit, missing], LakeSettings(place=f"{place}/failed"), MARK)
    assert not store.find(f"{place}/failed")


MEMORY = """
import sys
import pyarrow as pa
from kafkaspec.lake.manifest import Mark
from kafkaspec.lake.units import LakeSettings, LakeUnit, write_units
unit = LakeUnit(path=sys.argv[1], topic="orders", partition=0)
write_units([unit], LakeSettings(place=sys.argv[2]), Mark(1, "run"))
print(pa.default_memory_pool().max_memory())
"""


@pytest.mark.slow
@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_memory_does_not_grow_with_the_segment(compression: str, tmp_path: Path) -> None:
    shape = Shape(200, compression=compression)
    found = []
    for number, size in enumerate((64 << 20, 256 << 20)):
        path, _ = segment_file(tmp_path, shape, size)
        command = [sys.executable, "-c", MEMORY, str(path), str(tmp_path / str(number))]
        found.append(int(subprocess.run(command, check=True, capture_output=True).stdout))
        path.unlink()
    assert found[1] < 1.25 * found[0]
    assert found[1] < 256 << 20
