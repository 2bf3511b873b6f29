"""``compact`` against brokers' own cleaner, ``export`` against the records that went in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

from click.testing import CliRunner

import kafkaspec as ks
from kafkaspec.cli.main import main
from kafkaspec.spark.jobs.compact import compact, write_compacted
from tests.goldens import GOLDEN, produced

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

VERSION = "4.3.1"
LOGS = GOLDEN / VERSION / "logs"

Live = list[tuple[int, bytes | None, bytes | None]]


def live(place: Path, *, tombstones: bool = True) -> Live:
    """Offset, key and value of what a partition holds."""
    records = [item for log in sorted(place.glob("*.log")) for item in ks.open(log).records()]
    return [(r.offset, r.key, r.value) for r in records if tombstones or r.value is not None]


def rows(frame: DataFrame, topic: str) -> Live:
    chosen = frame.where(f"topic = '{topic}'").orderBy("offset").collect()
    return [(row.offset, _bytes(row.key), _bytes(row.value)) for row in chosen]


def _bytes(value: Any) -> bytes | None:
    return None if value is None else bytes(value)


def uncleaned(folder: Path, name: str) -> None:
    """The partition as it was before the cleaner: what the producers sent, rolled where the
    active segment of the golden begins."""
    active = max(int(path.stem) for path in (LOGS / name).glob("*.log"))
    records = [
        ks.Record(item["offset"], item["timestamp"], item["key"], item["value"])
        for item in produced(VERSION)[name]
        if item["transaction"] in (None, "committed")
    ]
    place = folder / name
    place.mkdir(parents=True)
    for base, chosen in (
        (0, [record for record in records if record.offset < active]),
        (active, [record for record in records if record.offset >= active]),
    ):
        data = b"".join(ks.encode([record], magic=2) for record in chosen)
        (place / f"{base:020}.log").write_bytes(data)


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("uncleaned")
    for name in ("compacted-0", "compacted-transactions-0"):
        uncleaned(folder, name)
    skewed = folder / "skewed-0"
    skewed.mkdir()
    hot = [ks.Record(n, n, b"hot" if n % 50 else b"k%d" % n, b"%d" % n) for n in range(5000)]
    tail = [ks.Record(5000, 5000, b"hot", b"active"), ks.Record(5001, 5001, None, b"no key")]
    hot[7] = hot[7]._replace(key=None)
    (skewed / f"{0:020}.log").write_bytes(ks.encode(hot, magic=2))
    (skewed / f"{5000:020}.log").write_bytes(ks.encode(tail, magic=2))
    return folder


def test_a_brokers_cleaner_left_the_same(spark: SparkSession, logs: Path) -> None:
    done = compact(spark, str(logs))
    assert rows(done.records, "compacted") == live(LOGS / "compacted-0")
    active = max(int(path.stem) for path in (LOGS / "compacted-transactions-0").glob("*.log"))
    theirs = [item for item in live(LOGS / "compacted-transactions-0") if item[0] < active]
    ours = rows(done.records, "compacted-transactions")
    assert [item for item in ours if item[0] < active] == theirs
    keys = [f"k{n}".encode() for n in range(0, 5000, 50)]
    hot = rows(done.records, "skewed")
    assert [key for _, key, _ in hot] == [*keys, b"hot", b"hot", None]
    assert hot[-3:] == [(4999, b"hot", b"4999"), (5000, b"hot", b"active"), (5001, None, b"no key")]
    counts = {row.topic: row.asDict() for row in done.counts.collect()}
    assert counts["compacted"]["kept"] == len(live(LOGS / "compacted-0"))
    assert counts["skewed"] == {
        "topic": "skewed",
        "partition": 0,
        "records": 5002,
        "kept": 103,
        "superseded": 4898,
        "keyless": 1,
        "tombstones": 0,
        "not_committed": 0,
    }


def test_transactions_that_were_aborted_are_left_out(spark: SparkSession) -> None:
    done = compact(spark, str(LOGS / "transactions-segments-0"), clean="all", keep_tombstones=False)
    sent = produced(VERSION)["transactions-segments-0"]
    last = {item["key"]: item for item in sent if item["transaction"] == "committed"}
    keyed = [item for key, item in last.items() if key is not None and item["value"] is not None]
    expected = sorted((item["offset"], item["key"], item["value"]) for item in keyed)
    assert rows(done.records, "transactions-segments") == expected
    (count,) = done.counts.collect()
    assert count.not_committed == sum(item["transaction"] == "aborted" for item in sent)


def test_new_segments_hold_the_same(spark: SparkSession, logs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run = CliRunner().invoke(
        main, ["spark", "compact", str(logs / "compacted-0"), "-o", str(out), "--drop-tombstones"]
    )
    assert run.exit_code == 0, run.output
    assert "compacted-0: " in run.stdout
    active = max(int(path.stem) for path in (LOGS / "compacted-0").glob("*.log"))
    theirs = [
        item for item in live(LOGS / "compacted-0") if item[2] is not None or item[0] >= active
    ]
    assert live(out / "compacted-0") == theirs
    assert ks.verify(out).clean


def test_the_export_command(spark: SparkSession, tmp_path: Path) -> None:
    out = tmp_path / "json"
    arguments = ["spark", "export", str(LOGS / "plain-0"), "-o", str(out), "--to", "json"]
    run = CliRunner().invoke(main, arguments)
    assert run.exit_code == 0, run.output
    count = len(produced(VERSION)["plain-0"])
    assert f"{count} records in" in run.stdout.replace(",", "")
    back = tmp_path / "back"
    run = CliRunner().invoke(
        main, ["spark", "export", "--restore", str(out), "-o", str(back), "--to", "json"]
    )
    assert run.exit_code == 0, run.output
    assert live(back / "plain-0") == live(LOGS / "plain-0")


def test_fields_that_rows_do_not_have_are_refused_by_name(
    spark: SparkSession, tmp_path: Path
) -> None:
    """New batches hold records of many old ones, and would lose what these had of their own."""
    records = [ks.Record(n, 1_700_000_000_000, b"k", b"v") for n in range(3)]
    own: list[dict[str, Any]] = [{}, {"attributes": 5}, {}]
    log = tmp_path / "logs" / "t-0"
    log.mkdir(parents=True)
    data = ks.encode(records, header={"attributes.reserved": 1}, fields=own)
    (log / f"{0:020d}.log").write_bytes(data)
    done = compact(spark, str(tmp_path / "logs"), clean="all")
    with pytest.raises(ks.KafkaSpecError, match=r"attributes in 1 .*attributes\.reserved in 1"):
        write_compacted(done, str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()
