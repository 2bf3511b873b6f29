"""``stats`` and ``conformance``: against ``kafkaspec stats``, and codecs that lie."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

from click.testing import CliRunner

import kafkaspec as ks
from kafkaspec.analysis.parts import WHOLE, spans_of
from kafkaspec.cli.main import main
from kafkaspec.codecs import installed
from kafkaspec.codecs.python import PythonCodec
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.opening import open_log
from kafkaspec.log.segment import Segment
from kafkaspec.spark.jobs.conformance import Part, compare
from kafkaspec.spark.jobs.stats import TABLES, frames, stats
from kafkaspec.stats.running import measure
from kafkaspec.stats.units import units_of_log
from tests.cli.helpers import run
from tests.goldens import GOLDEN

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_figures_are_those_without_spark(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = tmp_path / "logs"
    for name in ("compacted-0", "segments-0", "transactions-0", "codec-mixed-0"):
        shutil.copytree(GOLDEN / "4.3.1" / "logs" / name, logs / name)
    (damaged,) = (logs / "codec-mixed-0").glob("*.log")
    data = bytearray(damaged.read_bytes())
    data[-1] ^= 1
    damaged.write_bytes(data)
    units = []
    with open_log(logs) as opened:
        assert isinstance(opened, LogDirectory)
        for log in opened.current:
            units += list(units_of_log(log))
    theirs = measure(units)
    for tasks in (2, None):
        ours = stats(spark, str(logs), tasks=tasks)
        assert ours.part == theirs.part
        assert ours.partitions == theirs.partitions
        assert ours.total == theirs.total
    assert ours.total["errors"] == 1
    tables = frames(spark, ours)
    assert tables.keys() == set(TABLES)
    rows = [row.asDict() for row in tables["partitions"].collect()]
    assert rows == theirs.partitions
    assert tables["gaps"].count() == len(theirs.rows("gaps"))
    plain = run("stats", logs, "--format", "json")
    job = CliRunner().invoke(main, ["spark", "stats", str(logs), "--format", "json"])
    assert (job.exit_code, plain.exit_code) == (1, 1)
    assert job.stdout.splitlines()[:-1] == plain.stdout.splitlines()[:-1]


NAME = "00000000000000000000.log"


class _Liar(PythonCodec):
    """Reads one field of a header and one value of a record wrongly."""

    name = "liar"

    def parse(self, type_key: str, *args: Any, **options: Any) -> tuple[Any, int]:
        value, end = super().parse(type_key, *args, **options)
        if type_key == "recordbatch.entry" and value.base_offset == 0:
            value.message.producer_epoch = 77
        return value, end

    def decode_records(self, *args: Any, **options: Any) -> list[ks.Record]:
        first, *others = super().decode_records(*args, **options)
        return [first._replace(value=b"a lie"), *others]


def test_a_codec_that_lies_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    path = next((GOLDEN / "4.3.1/logs/segments-0").glob("0*0.log"))
    place = (__name__, "_Liar", None)
    monkeypatch.setitem(installed.CODECS, "liar", place)
    (batch,) = compare(Part(str(path), "segments", 0, WHOLE, ("native", "python", "liar")))
    *rows, part = batch.to_pylist()
    batches = list(Segment(path).batches())
    assert part["batches"] == len(batches)
    assert part["differences"] == len(rows)
    assert {row["other_codec"] for row in rows} == {"liar"}
    header, *values = [row for row in rows if row["position"] == 0]
    assert (header["path"], header["value"], header["other_value"]) == (
        "producer_epoch",
        "-1",
        "77",
    )
    first = Segment(path).batch_at(0).records()[0].value
    assert first is not None
    assert values[0]["path"] == "records/0/value"
    assert first[:20].hex(" ") in values[0]["value"]
    assert b"a lie".hex(" ") in values[0]["other_value"]


def test_parts_compare_each_batch_once() -> None:
    path = GOLDEN / "4.3.1/logs/segments-0" / NAME
    spans = spans_of(path, 300)
    assert len(spans) > 1
    rows = [
        row
        for span in spans
        for batch in compare(Part(str(path), "segments", 0, span, ("native", "python")))
        for row in batch.to_pylist()
    ]
    assert sum(row["batches"] for row in rows) == len(list(Segment(path).batches()))
    assert not any(row["differences"] for row in rows)


def test_the_commands(spark: SparkSession) -> None:
    logs = str(GOLDEN / "2.8.2" / "logs" / "transactions-0")
    done = CliRunner().invoke(main, ["spark", "conformance", logs, "--format", "json"])
    assert done.exit_code == 0, done.output
    summary = json.loads(done.stdout.splitlines()[-1])
    totals = ks.verify(logs).totals
    assert (summary["batches"], summary["records"]) == (totals.batches, totals.records)
    assert summary["codecs"] == list(installed.codec_names())
    done = CliRunner().invoke(main, ["spark", "stats", logs])
    assert done.exit_code == 0, done.output
    assert "1 partition, " in done.stdout
