"""``verify`` in tasks says what ``kafkaspec verify`` says."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from click.testing import CliRunner

import kafkaspec as ks
from kafkaspec.cli.main import main
from kafkaspec.spark.jobs.units import dealt
from kafkaspec.spark.jobs.verify import verify
from tests.goldens import GOLDEN

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """A log directory with several things wrong in it."""
    logs = tmp_path / "logs"
    for name in ("segments-0", "transactions-segments-0", "plain-0"):
        shutil.copytree(GOLDEN / "4.3.1" / "logs" / name, logs / name)
    log = sorted((logs / "segments-0").glob("*.log"))[1]
    data = bytearray(log.read_bytes())
    data[150] ^= 1
    log.write_bytes(data)
    (logs / "plain-0" / "nobody.txt").write_text("?")
    (logs / "empty-0").mkdir()
    return logs


def test_totals_and_findings_are_those_of_one_machine(spark: SparkSession, damaged: Path) -> None:
    golden = GOLDEN / "2.8.2" / "logs" / "transactions-0"
    places = [damaged, golden, golden]  # each is looked at by itself
    done = verify(spark, [str(place) for place in places], split_bytes=400)
    theirs = [ks.verify(place) for place in places]
    findings = [item.as_dict() for report in theirs for item in report.findings]
    files = [item.as_dict() for report in theirs for item in report.files]

    def order(item: object) -> str:
        return json.dumps(item, sort_keys=True)

    rows = [row.asDict() for row in done.findings.collect()]
    assert findings
    assert sorted(rows, key=order) == sorted(findings, key=order)
    rows = [row.asDict() for row in done.files.collect()]
    assert sorted(rows, key=order) == sorted(files, key=order)
    totals = done.report.totals
    assert totals.records == sum(report.totals.records for report in theirs)
    assert totals.size == sum(report.totals.size for report in theirs)


def test_the_command(spark: SparkSession, damaged: Path, tmp_path: Path) -> None:
    run = CliRunner().invoke(
        main, ["spark", "verify", str(damaged), "-o", str(tmp_path / "out"), "--format", "json"]
    )
    assert run.exit_code == 1, run.output
    alone = CliRunner().invoke(main, ["verify", str(damaged), "--format", "json"])
    summaries = [json.loads(out.stdout.splitlines()[-1]) for out in (run, alone)]
    assert [each.pop("command") for each in summaries] == ["spark verify", "verify"]
    assert summaries[0] == summaries[1]
    stored = spark.read.parquet(str(tmp_path / "out" / "findings"))
    assert stored.count() == len(ks.verify(damaged).findings)
    text = CliRunner().invoke(main, ["spark", "verify", str(damaged / "plain-0")])
    assert text.stdout == CliRunner().invoke(main, ["verify", str(damaged / "plain-0")]).stdout


def test_the_former_name_of_the_comparison(spark: SparkSession) -> None:
    logs = str(GOLDEN / "2.8.2" / "logs" / "transactions-0")
    codecs = ["--codec", "native", "--codec=python"]
    for given, names in ((codecs, "native,python"), ([], "all")):
        alone = CliRunner().invoke(main, ["verify", logs, "--codec", names])
        former = CliRunner().invoke(main, ["spark", "conformance", logs, *given])
        assert (former.exit_code, former.stdout) == (0, alone.stdout)
        assert "conformance is now spark verify" in former.stderr


def test_a_path_that_is_not_there(spark: SparkSession) -> None:
    with pytest.raises(ks.KafkaSpecError, match="no such file"):
        verify(spark, "/nowhere")


def test_units_are_dealt_out_evenly() -> None:
    hands = dealt([5, 100, 5, 5, 80, 5, 0, 0], 3)
    assert sorted(number for hand in hands for number in hand) == list(range(8))
    assert [1] in hands
    assert [4] in hands
    assert dealt([], 3) == [[]]
