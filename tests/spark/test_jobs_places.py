"""Jobs where files lie elsewhere: Hadoop's ways to write a path, and an object store."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from click.testing import CliRunner

import kafkaspec as ks
import kafkaspec.spark
from kafkaspec.cli.main import main
from kafkaspec.errors import KafkaSpecError
from kafkaspec.spark.jobs.export import export, restore
from kafkaspec.spark.jobs.stats import stats
from kafkaspec.spark.jobs.verify import verify
from kafkaspec.spark.paths import check_place, local, plain
from tests.cli.helpers import fingerprint
from tests.goldens import GOLDEN
from tests.spark.reading import table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOURCE = GOLDEN / "4.3.1" / "logs" / "segments-0"


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """In a directory whose name looks different in URLs."""
    place = tmp_path / "a b%20c" / "logs"
    shutil.copytree(SOURCE, place / SOURCE.name)
    return place


def test_words_of_hadoop() -> None:
    for text in ("file:/a b/c%20d", "file:///a b/c%20d", "file://localhost/a b/c%20d"):
        assert plain(text) == local(text) == "/a b/c%20d"
    assert local("x/y") == "x/y"
    assert plain("s3a://bucket/x") == plain("s3n://bucket/x") == "s3://bucket/x"
    for text in ("s3a://bucket/x", "hdfs://host:1/x", "file://host/x"):
        assert local(text) is None


def test_no_job_writes_into_what_it_reads(logs: Path) -> None:
    """They refuse before Spark starts."""
    (logs.parent / "link").symlink_to(logs)
    inputs = (f"{logs}", f"file:{logs}", f"file://{logs}", f"{logs}/seg*-0", f"{logs.parent}/link")
    commands = (
        ["verify"],
        ["stats"],
        ["compaction"],
        ["export"],
        ["export", "--restore"],
    )
    before = fingerprint(logs.parent)
    for source in inputs:
        for out in (logs / SOURCE.name / "out", logs.parent, f"file:{logs}/{SOURCE.name}"):
            for command in commands:
                result = CliRunner().invoke(main, ["spark", *command, source, "-o", str(out)])
                assert result.exit_code == 2, (command, source, out)
                assert "must not change" in result.stderr
    result = CliRunner().invoke(main, ["spark", "stats", str(logs), "--plots", f"{logs}/plots"])
    assert result.exit_code == 2
    for source, out in (("s3a://b/x/logs", "s3://b/x"), ("s3://b/x", "s3n://b/x/y")):
        with pytest.raises(KafkaSpecError, match="must not change"):
            check_place(out, source)
    check_place("s3://b/xy", "s3://b/x")
    check_place(str(logs), "s3://b/x")
    assert fingerprint(logs.parent) == before


@pytest.mark.parametrize("scheme", ["file://", "file:"])
def test_jobs_take_paths_as_hadoop_writes_them(
    spark: SparkSession, logs: Path, tmp_path: Path, scheme: str
) -> None:
    url = f"{scheme}{logs}"
    theirs = ks.verify(logs)
    assert verify(spark, url).report.totals == theirs.totals
    total = stats(spark, url).total
    assert (total["batches"], total["records"]) == (theirs.totals.batches, theirs.totals.records)
    parquet, back = (f"{scheme}{tmp_path}/{name} %41" for name in ("rows", "back"))
    export(spark, url, parquet)
    restore(spark, parquet, back)
    columns = ["offset", "key", "value", "timestamp"]
    assert table(f"{back}/segments-0", columns).equals(table(SOURCE, columns))
    assert (tmp_path / "back %41" / "segments-0").is_dir()


@pytest.fixture
def bucket(object_stores: None) -> str:
    """Segments in an object store."""
    import s3fs

    files = s3fs.S3FileSystem(skip_instance_cache=True)
    files.mkdir("spark")
    for path in SOURCE.iterdir():
        files.put_file(str(path), f"spark/logs/{SOURCE.name}/{path.name}")
    return "s3a://spark/logs"


def test_jobs_read_an_object_store(spark: SparkSession, bucket: str) -> None:
    theirs = ks.verify(SOURCE).totals
    (row,) = stats(spark, bucket).partitions
    assert (row["batches"], row["records"], row["segments"]) == (
        theirs.batches,
        theirs.records,
        len(list(SOURCE.glob("*.log"))),
    )
    done = verify(spark, bucket, codec="all", split_bytes=300)
    assert done.report.totals.records == theirs.records
    assert {item.reason for item in done.report.findings} == set()
    frame = kafkaspec.spark.read(spark, bucket, ["offset", "value"])
    ours = sorted((item.offset, bytes(item.value or b"")) for item in frame.collect())
    expected = table(SOURCE, ["offset", "value"]).to_pylist()
    assert ours == sorted((item["offset"], item["value"] or b"") for item in expected)


def test_the_commands_with_their_options(spark: SparkSession, logs: Path, tmp_path: Path) -> None:
    big = logs / "big-0"
    with ks.SegmentWriter(big, sync=False) as writer:
        writer.append_records(
            [ks.Record(0, 1_700_000_000_000 + n, b"k", bytes(10_000)) for n in range(320)],
            offsets="assign",
        )
    out = tmp_path / "out"
    arguments = ["--split", "1", "--tasks", "3", "--format", "json", "-o", str(out / "verify")]
    run = CliRunner().invoke(main, ["spark", "verify", f"file:{logs}", *arguments])
    assert run.exit_code == 0, run.output
    summary = json.loads(run.stdout.splitlines()[-1])
    totals = ks.verify(logs, codec="all").totals
    assert {name: summary[name] for name in totals.as_dict()} == totals.as_dict()
    assert spark.read.parquet(str(out / "verify" / "files")).count() == sum(totals.files.values())
    assert spark.read.parquet(str(out / "verify" / "findings")).count() == 0
    pytest.importorskip("matplotlib")
    arguments = ["--tasks", "2", "-o", str(out / "stats"), "--plots", str(out / "plots")]
    run = CliRunner().invoke(main, ["spark", "stats", str(logs), *arguments])
    assert run.exit_code == 0, run.output
    partitions = spark.read.parquet(str(out / "stats" / "partitions"))
    assert {(r.topic, r.records) for r in partitions.collect()} >= {("big", 320)}
    for name in ("codecs", "sizes", "producers", "times", "gaps", "transactions", "errors"):
        assert spark.read.parquet(str(out / "stats" / name)).columns
    for name in ("batch-sizes.png", "compression.png", "growth.png"):
        assert (out / "plots" / name).read_bytes().startswith(b"\x89PNG")
