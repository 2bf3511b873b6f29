"""Read, write and work on a magic 3 beside magic 2 with Spark. Run by test_public.py.

The specification has ``magic_3_beside``. Where its header has a field without a default,
``topic_id``, Spark has no value for it, and must refuse to write by that name.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

import kafkaspec as ks
import kafkaspec.spark
from kafkaspec.analysis.findings import FindingReason
from kafkaspec.cli.main import main
from kafkaspec.compression import NAMES
from kafkaspec.layout.kinds import KINDS
from kafkaspec.spark.jobs.export import export, restore
from kafkaspec.spark.jobs.stats import stats
from kafkaspec.spark.jobs.verify import verify
from tests.spark.session import session
from tests.specgen.programs.checks import run

OWN: dict[str, Any] = {"topic_id": bytes(range(16))} if "topic_id" in KINDS[3].header else {}
START = 1_700_000_000_000
EPOCH = 70_000
"""Of a producer: more than magic 2 has room for."""
ABORT, COMMIT, MARKER = b"\0\0\0\0", b"\0\0\0\1", b"\0\0\0\0\0\7"


def record(offset: int, key: bytes | None = None, value: bytes | None = None) -> ks.Record:
    return ks.Record(
        offset, START + offset, key or b"k%d" % (offset % 7), value or b"%040d" % offset
    )


def batch(first: int, magic: int = 3, count: int = 3, **options: Any) -> bytes:
    records = [record(first + number) for number in range(count)]
    if magic == 0:
        records = [item._replace(timestamp=-1) for item in records]
    return ks.encode(records, magic=magic, header=OWN if magic == 3 else None, **options)


def log(path: Path, *segments: tuple[int, list[bytes]]) -> Path:
    path.mkdir(parents=True)
    for base, batches in segments:
        (path / f"{base:020d}.log").write_bytes(b"".join(batches))
    return path


def logs(root: Path) -> Path:
    """One partition of magic 3 alone, one of all magics."""
    alone = [batch(3 * n, compression=NAMES[n % len(NAMES)]) for n in range(10)]
    mixed = [batch(3 * n, n % 4) for n in range(10)]
    active = [batch(30, 3, compression="zstd"), batch(33, 2, compression="gzip")]
    log(root / "logs" / "alone-0", (0, alone), (30, [batch(30)]))
    log(root / "logs" / "mixed-0", (0, mixed), (30, active))
    return root / "logs"


def listed(rows: Any) -> list[tuple[Any, ...]]:
    columns = ("topic", "offset", "key", "value")
    return sorted(tuple(row) for row in rows.select(*columns).collect())


def content(root: Path, *names: str) -> list[tuple[Any, ...]]:
    """The same by the reference codec."""
    return sorted(
        (name.rpartition("-")[0], item.offset, item.key, item.value)
        for name in names
        for item in ks.Partition(root / name, codec="python").records()
    )


def read_alone_and_mixed(spark: SparkSession, root: Path) -> None:
    path = logs(root)
    expected = content(path, "alone-0", "mixed-0")
    limits: list[dict[str, Any]] = [{"maxPartitionBytes": 900}, {"maxRecordsPerPartition": 9}]
    for limit in limits:
        rows = kafkaspec.spark.read(spark, str(path), None, **limit)
        assert listed(rows) == expected, limit
    rows = kafkaspec.spark.read(spark, str(path), includeBatch=True, includeHeaders=True)
    magics = {(row.offset, row.magic) for row in rows.where("topic = 'mixed'").collect()}
    assert magics == {(n, n // 3 % 4) for n in range(30)} | {(30 + n, 3 - n // 3) for n in range(6)}
    found = rows.where("topic = 'alone'").select("compression").distinct().collect()
    assert {row.compression for row in found} == set(NAMES)
    end = kafkaspec.spark.read(
        spark, str(path), subscribe="mixed", startingOffsets='{"mixed":{"0":20}}'
    )
    assert listed(end) == [row for row in expected if row[0] == "mixed" and row[1] >= 20]


def transactions(spark: SparkSession, root: Path) -> None:
    given: dict[str, Any] = {"magic": 3, "producer_id": 4, "producer_epoch": EPOCH}
    given |= {"transactional": True, "header": OWN}

    def marker(offset: int, key: bytes) -> bytes:
        return ks.encode([ks.Record(offset, START, key, MARKER)], control=True, **given)

    def sent(first: int, sequence: int) -> bytes:
        records = [record(first + number) for number in range(3)]
        return ks.encode(records, base_sequence=sequence, **given)

    made = [sent(0, 0), marker(3, ABORT), sent(4, 3), marker(7, COMMIT), batch(8), sent(11, 6)]
    path = str(log(root / "t-0", (0, [*made, batch(14)])))
    options: dict[str, Any] = {"isolation_level": "read_committed", "includeBatch": "true"}
    rows = kafkaspec.spark.read(spark, path, None, **options)
    found = {row.offset: row.producerEpoch for row in rows.collect()}
    assert found == dict.fromkeys((4, 5, 6), EPOCH) | dict.fromkeys((8, 9, 10), -1), found
    done = stats(spark, path)
    (producer,) = done.rows("producers")
    names = ("producer_id", "producer_epoch", "markers")
    assert tuple(producer[name] for name in names) == (4, EPOCH, 2)


def stream(spark: SparkSession, root: Path) -> None:
    path = logs(root)
    frame = spark.readStream.format("kafkasegment").option("startingOffsets", "earliest")
    writer = frame.load(str(path)).writeStream.format("memory").queryName("magic3")
    for _ in range(20):  # a busy machine starts the planner too late for Spark
        try:
            writer.trigger(availableNow=True).start().awaitTermination()
            break
        except Exception as error:
            if "failed to connect back" not in str(error):
                raise
    assert listed(spark.table("magic3")) == content(path, "alone-0", "mixed-0")


def damage(spark: SparkSession, root: Path) -> None:
    batches = [batch(0), batch(3), batch(6)]
    path = str(log(root / "t-0", (0, batches)))
    (file,) = Path(path).glob("*.log")
    data = bytearray(b"".join(batches))
    data[len(batches[0]) + len(batches[1]) // 2] ^= 1
    file.write_bytes(data)
    rows = kafkaspec.spark.read(spark, path, mode="DROPCORRUPT")
    assert sorted(row.offset for row in rows.collect()) == [0, 1, 2, 6, 7, 8]
    rows = kafkaspec.spark.read(spark, path, mode="PERMISSIVE")
    (bad,) = rows.where("_corrupt_record is not null").collect()
    assert bad.offset == 3, bad
    data[len(batches[0]) + 16] = 9  # its magic
    file.write_bytes(data)
    done = stats(spark, path)
    assert [row["position"] for row in done.rows("errors")] == [len(batches[0]) + 16]
    assert [(row["magic"], row["batches"]) for row in done.rows("codecs")] == [(3, 2)]


def jobs(spark: SparkSession, root: Path) -> None:
    path = logs(root)
    done = stats(spark, str(path))
    found = {row["topic"]: row for row in done.partitions}
    assert (found["alone"]["magics"], found["mixed"]["magics"]) == ([3], [0, 1, 2, 3])
    assert (found["alone"]["records"], found["mixed"]["records"]) == (33, 36)
    assert {row["compression"]: row["ratio"] is None for row in done.codecs()}["zstd"] is False
    report = verify(spark, str(path), split_bytes=300, codec="all").report
    assert {item.reason for item in report.findings} == {FindingReason.MISSING_INDEX}
    assert report.findings == ks.verify(path, codec="all").findings
    assert report.totals.records == 69
    run = CliRunner().invoke(main, ["spark", "stats", str(path)], catch_exceptions=False)
    assert run.exit_code == 0, run.output
    assert "0 1 2 3" in run.output


def compaction(spark: SparkSession, root: Path) -> None:
    path = logs(root)
    rows = kafkaspec.spark.latest(kafkaspec.spark.read(spark, str(path), includeHeaders=True))
    last = {
        (topic, key): (topic, offset, key, value)
        for topic, offset, key, value in content(path, "alone-0", "mixed-0")
    }
    assert listed(rows) == sorted(last.values())
    out = root / "out"
    if not OWN:  # which no row has
        kafkaspec.spark.write(rows.drop("timestampType"), str(out), magic=3, allowGaps=True)
        assert content(out, "alone-0", "mixed-0") == sorted(last.values())


def export_and_restore(spark: SparkSession, root: Path) -> None:
    path = logs(root)
    export(spark, str(path), str(root / "parquet"), batch=True)
    restore(spark, str(root / "parquet"), str(root / "back"), compression="zstd")
    assert content(root / "back", "alone-0", "mixed-0") == content(path, "alone-0", "mixed-0")
    assert ks.verify(root / "back").findings == []


def write(spark: SparkSession, root: Path) -> None:
    path = logs(root)
    rows = kafkaspec.spark.read(spark, str(path), includeHeaders=True)
    kafkaspec.spark.write(rows, str(root / "two"), compression="lz4")
    assert {b.magic for b in ks.Partition(root / "two" / "mixed-0").batches()} == {2}
    if OWN:
        with pytest.raises(Exception, match="topic_id"):
            kafkaspec.spark.write(rows, str(root / "three"), magic=3)
        assert not list((root / "three").glob("*-0"))
        return
    for name in ("none", "zstd"):
        out = root / name
        kafkaspec.spark.write(rows, str(out), magic=3, compression=name, segmentBytes=600, tasks=1)
        assert content(out, "alone-0", "mixed-0") == content(path, "alone-0", "mixed-0"), name
        assert {b.magic for b in ks.Partition(out / "mixed-0").batches()} == {3}
        assert ks.verify(out).findings == []
        plain = rows.where("topic = 'alone'").select("value").write.format("kafkasegment")
        plain.mode("append").option("topic", "alone").option("magic", 3).save(str(out))
        assert [r.offset for r in ks.Partition(out / "alone-0").records()] == list(range(66))
        assert ks.verify(out).findings == []


CHECKS: tuple[Callable[[SparkSession, Path], None], ...] = (
    read_alone_and_mixed,
    transactions,
    stream,
    damage,
    jobs,
    compaction,
    export_and_restore,
    write,
)
OF_OWN = (read_alone_and_mixed, compaction, write)
"""What differs where the header has a field of its own."""


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        spark = session(Path(place))
        try:
            run(OF_OWN if OWN else CHECKS, spark)
        finally:
            spark.stop()
