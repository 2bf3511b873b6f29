"""``spark verify --state``: what a table remembers is what the file of ``verify`` does."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("deltalake")

from click.testing import CliRunner
from deltalake import DeltaTable, write_deltalake

import kafkaspec as ks
from kafkaspec.analysis import FindingReason, Report
from kafkaspec.analysis.changes import SegmentChange
from kafkaspec.cli.main import main
from kafkaspec.spark.jobs.verify import verify
from tests.analysis.test_remembered import Growing, flip
from tests.goldens import GOLDEN

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOURCE = GOLDEN / "4.3.1" / "logs"
PARTITIONS = ("segments-0", "transactions-segments-0", "plain-0")


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A log directory with three partitions."""
    for name in PARTITIONS:
        shutil.copytree(SOURCE / name, tmp_path / "logs" / name)
    return tmp_path / "logs"


def told(report: Report) -> tuple[list[str], list[str], dict[str, Any]]:
    """All that a report says; a state has no time of a reading that says when a run was."""
    findings = [item.as_dict() for item in report.findings]
    for item in findings:
        if item["reason"] == FindingReason.DAMAGE_AT_REST:
            item["message"] = str(item["message"]).split(" at ", maxsplit=1)[0]
    rows = [item.as_dict() for item in report.files]
    first, second = (sorted(json.dumps(row) for row in found) for found in (findings, rows))
    return first, second, report.totals.as_dict()


def invoke(*words: object) -> tuple[int, dict[str, Any]]:
    result = CliRunner().invoke(main, [str(word) for word in words])
    assert result.stdout, result.output
    return result.exit_code, json.loads(result.stdout.splitlines()[-1])


@pytest.mark.slow
@pytest.mark.parametrize("hidden", [False, True])
def test_a_table_says_after_each_change_what_a_file_says(
    spark: SparkSession, tmp_path: Path, hidden: bool
) -> None:
    growing = Growing(tmp_path, 3)
    for name in PARTITIONS:
        shutil.copytree(SOURCE / name, growing.top / f"x-{name}", dirs_exist_ok=True)
    file, table = tmp_path / "file", tmp_path / "table"
    reread = "100%" if hidden else "0%"
    for _ in range(6):
        theirs = ks.verify(growing.top, state=file, reread=reread)
        ours = verify(spark, str(growing.top), state=str(table), reread=reread)
        assert told(ours.report) == told(theirs)
        growing.step(hidden)


def test_only_what_is_new_is_read(spark: SparkSession, logs: Path, tmp_path: Path) -> None:
    table = tmp_path / "table"
    code, first = invoke("spark", "verify", "--format", "json", "--state", table, logs)
    segments = sorted(logs.glob("*/*.log"))
    assert code == 0
    assert first["bytes_read"] == sum(path.stat().st_size for path in segments)
    assert first["segments"] == {"new": len(segments)}
    arguments = ("spark", "verify", "--format", "json", "--state", table, logs)
    assert invoke(*arguments)[1]["bytes_read"] == 0
    # A part of the old is read again, and what is not as it was is damage at rest.
    flip(segments[0], 100, hidden=True)
    assert invoke(*arguments)[0] == 0
    code, found = invoke(*arguments, "--reread", "100%")
    assert (code, FindingReason.DAMAGE_AT_REST in found["reasons"]) == (1, True)
    code, found = invoke(*arguments, "--start-over")
    assert found["segments"] == {"new": len(segments)}
    # The table can be queried: a row for each partition.
    rows = DeltaTable(str(table)).to_pyarrow_table().to_pylist()
    found = {row["log"]: (row["segments"], row["size"]) for row in rows if row["log"]}
    sizes = {str(place): [path.stat().st_size for path in place.glob("*.log")]
             for place in logs.iterdir()}  # fmt: skip
    assert found == {log: (len(each), sum(each)) for log, each in sizes.items()}


def test_one_partition_and_a_file_of_verify(
    spark: SparkSession, logs: Path, tmp_path: Path
) -> None:
    """A file that ``verify`` has written is a state for Spark, and the other way round."""
    partition, state = logs / "segments-0", tmp_path / "state"
    ks.verify(partition, state=state)
    last = max(partition.glob("*.log"))
    flip(last, 100)
    theirs = ks.verify(partition, state=shutil.copy(state, tmp_path / "copy"))
    ours = verify(spark, str(partition), state=str(state))
    assert told(ours.report) == told(theirs)
    assert ours.remembered["segments"][SegmentChange.REWRITTEN] == 1
    after = ks.verify(partition, state=state)
    assert FindingReason.CHANGED_SINCE not in {item.reason for item in after.findings}


def test_states_are_compared_wherever_they_are(
    spark: SparkSession, logs: Path, tmp_path: Path
) -> None:
    other = shutil.copytree(logs, tmp_path / "other")
    flip(min((other / "segments-0").glob("*.log")), 100)
    states = {}
    for name, place in (("a", logs), ("b", other)):
        ks.verify(place, state=tmp_path / f"{name}.file")
        verify(spark, str(place), state=str(tmp_path / f"{name}.table"))
        states[name] = [tmp_path / f"{name}.{kind}" for kind in ("file", "table")]
    found = []
    for kinds in ((0, 0), (0, 1), (1, 0), (1, 1)):
        pair = [states[name][kind] for name, kind in zip("ab", kinds, strict=True)]
        result = CliRunner().invoke(main, ["diff", "--format", "json", *map(str, pair)])
        assert result.exit_code == 1, result.output
        found.append(result.stdout)
    assert len(set(found)) == 1
    assert invoke("diff", "--format", "json", *states["a"])[1]["differences"] == 0


def test_what_no_state_can_be_is_refused(spark: SparkSession, logs: Path, tmp_path: Path) -> None:
    def refused(*options: object) -> str:
        result = CliRunner().invoke(main, ["spark", "verify", str(logs), *map(str, options)])
        assert result.exit_code == 2, result.output
        return result.output

    state = ("--state", tmp_path / "table")
    assert "need --state" in refused("--reread", "5%")
    assert "need --state" in refused("--start-over")
    assert "a task reads a partition" in refused(*state, "--split", 1)
    assert "not a share" in refused(*state, "--reread", "much")
    assert "must not change" in refused("--state", logs / "table")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "note").write_text("mine")
    assert "neither a table of Delta" in refused("--state", folder)
    assert "neither a table of Delta" in refused("--state", folder / "note")
    write_deltalake(str(tmp_path / "else"), spark.range(3).toArrow())
    assert "something else" in refused("--state", tmp_path / "else")
    invoke("spark", "verify", "--format", "json", *state, logs)
    table = DeltaTable(str(tmp_path / "table"))
    table.update({"line": "replace(line, '\"read\":', '\"red\":')"})
    assert "it is missing" in refused(*state)
    assert (folder / "note").read_text() == "mine"
