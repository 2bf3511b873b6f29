"""The whole chain of a lake on Spark: tasks write, the driver commits, and all readers agree."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("deltalake")
pytest.importorskip("pyiceberg")

import deltalake
import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog

import kafkaspec.spark
from kafkaspec.lake.schema import RAW
from kafkaspec.lake.tables import FORMATS, open_lake
from kafkaspec.spark.jobs import lake as job
from tests.cli.helpers import run
from tests.goldens import GOLDEN
from tests.lake.test_driver import marks, records, wanted
from tests.spark import logs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOGS = GOLDEN / "4.3.1" / "logs"
COLUMNS = ("topic", "partition", "offset", "key", "value")
NAMES = ("segments-0", "transactions-0", "log-append-time-0", "compression-zstd-0")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    place = tmp_path / "logs"
    place.mkdir()
    for name in NAMES:
        if (LOGS / name).is_dir():
            shutil.copytree(LOGS / name, place / name)
    return place


@pytest.mark.parametrize("to", sorted(FORMATS))
def test_all_readers_see_the_records(
    to: Any, spark: SparkSession, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a plan in tasks, and segments that are cut."""
    duckdb = pytest.importorskip("duckdb")
    monkeypatch.setattr(job, "HAND_FILES", 1)
    monkeypatch.setattr(job, "HAND_BYTES", 4096)
    place = tmp_path / "lake"
    seen: list[int] = []
    kafkaspec.spark.lake(
        spark, str(source), str(place), to=to, max_segments=2,
        on_increment=lambda made: seen.append(made.epoch),
    )  # fmt: skip
    report = kafkaspec.spark.lake(spark, str(source), str(place), active=True)
    assert seen == list(range(1, len(seen) + 1))
    assert len(seen) > 1
    assert [item.epoch for item in report.increments] == [len(seen) + 1]
    expected = wanted(source)
    assert records(place) == expected
    files = [str(place / file.path) for file in open_lake(str(place)).table(RAW).files()]
    query = 'SELECT topic, partition, "offset", key, value FROM read_parquet(?)'
    rows = duckdb.execute(query, [files]).fetchall()
    assert Counter(rows) == expected
    found = spark.read.parquet(*files).select(*COLUMNS)
    rows = [(t, p, o, k and bytes(k), v and bytes(v)) for t, p, o, k, v in found.collect()]
    assert Counter(rows) == expected
    table = directly(place, to)
    rows = list(zip(*(table.column(name).to_pylist() for name in COLUMNS), strict=True))
    assert Counter(rows) == expected


def directly(place: Path, to: str) -> pa.Table:
    """The rows of raw as deltalake or PyIceberg finds them, without the library."""
    if to == "delta":
        return deltalake.DeltaTable(str(place / RAW)).to_pyarrow_table()
    catalog = SqlCatalog("kafkaspec", uri=f"sqlite:///{place}/catalog.db")
    return catalog.load_table(("kafka", RAW)).scan().to_arrow()


def test_a_stream_feeds_a_lake(spark: SparkSession, tmp_path: Path) -> None:
    """Each micro-batch is an increment; one that is repeated adds nothing."""
    orders, place = logs.make(tmp_path / "logs" / "orders-0", 6), tmp_path / "lake"
    add = kafkaspec.spark.lake_batches(str(orders.parent), str(place))

    def twice(rows: Any, number: int) -> None:
        add(rows, number)
        before = marks(place)
        add(rows, number)
        assert marks(place) == before

    def follow() -> None:
        kafkaspec.spark.register(spark)
        rows = spark.readStream.format("kafkasegment").option("startingOffsets", "earliest")
        writing = rows.load(str(orders.parent)).writeStream.foreachBatch(twice)
        at = str(tmp_path / "at")
        writing.option("checkpointLocation", at).trigger(
            availableNow=True
        ).start().awaitTermination()

    follow()
    assert records(place) == wanted(orders.parent)
    with logs.segment(orders, -1).open("ab") as file:
        file.write(logs.batch(30, 5))
    follow()
    assert records(place) == wanted(orders.parent)
    assert sum(records(place).values()) == 35


@pytest.mark.parametrize(
    "options", [("--value", "nosuch"), ("--value", "text", "--key-format", "?")]
)
def test_a_format_that_is_none_is_refused_before_anything_is_written(
    source: Path, tmp_path: Path, options: tuple[str, ...]
) -> None:
    done = run("spark", "lake", source, "-o", tmp_path / "lake", "--active", *options)
    assert done.exit_code == 2
    assert f"no format {options[-1]!r}; there are " in done.stderr
    assert not (tmp_path / "lake").exists()


def test_the_command_and_back(spark: SparkSession, source: Path, tmp_path: Path) -> None:
    place, back = tmp_path / "lake", tmp_path / "back"
    done = run("spark", "lake", source, "-o", place, "--active", "--exact")
    assert done.exit_code == 0, done.output
    count = sum(wanted(source).values())
    assert f"{count} records added to {place}" in done.stdout.replace(",", "")
    done = run("spark", "lake", source, "-o", place, "--active", "--exact")
    assert (done.exit_code, done.stdout) == (0, "nothing is new\n")
    done = run("spark", "lake", "--maintain", "-o", place)
    assert done.exit_code == 0, done.output
    done = run("spark", "lake", "--status", source, "-o", place, "--active")
    assert f"{count} records" in done.stdout.replace(",", "")
    assert "new: 0 segments" in done.stdout
    done = run("spark", "lake", "--restore", place, "-o", back)
    assert done.exit_code == 0, done.output
    ours = {path.relative_to(back): path.read_bytes() for path in back.rglob("*.log")}
    theirs = {path.relative_to(source): path.read_bytes() for path in source.rglob("*.log")}
    assert ours == {name: data for name, data in theirs.items() if data}


def test_wrong_usage(source: Path, tmp_path: Path) -> None:
    place = tmp_path / "lake"
    for arguments, text in {
        ("-o", place): "Missing argument 'PATH...'",
        (source,): "Missing option '-o'",
        (source, "-o", place, "--to", "hudi"): "there are delta, iceberg",
        (source, "-o", place, "--catalog", "uri"): "write NAME=VALUE",
        (source, "-o", place, "--file-size", "big"): "is a size such as 128m",
        (source, "-o", place, "--dry-run", "--status"): "give one of",
        (source, "-o", place, "--status"): "no lake is there",
        (source, "-o", place, "--topic", "segment"): "did you mean 'segments'?",
        (source / "nothing", "-o", place): "there is no such file or directory",
        (source, "-o", source / "lake"): "must not change",
        ("--restore", place, "-o", tmp_path / "back"): "no lake is there",
        ("--maintain", source, "-o", place): "--maintain none",
        ("--restore", place, "-o", tmp_path / "back", "--exact"): "--exact does not go with",
        ("--maintain", "-o", place, "--topic", "a"): "--topic does not go with --maintain",
    }.items():
        done = run("spark", "lake", *arguments)
        assert done.exit_code == 2, (arguments, done.output)
        assert text in done.output, (arguments, done.output)
    assert not place.exists()


def test_what_is_lost_ends_the_command_with_its_own_code(tmp_path: Path) -> None:
    orders = logs.make(tmp_path / "logs" / "orders-0", 9, segment_bytes=600)
    for path in orders.glob(f"{logs.segment(orders, 1).stem}.*"):
        path.unlink()
    for option in ("--dry-run", "--tasks=1"):
        done = run("spark", "lake", orders.parent, "-o", tmp_path / "lake", option)
        assert done.exit_code == 3, done.output
        assert "orders-0: " in done.stderr
        assert "--on-loss continue goes on with what is there" in done.stderr
