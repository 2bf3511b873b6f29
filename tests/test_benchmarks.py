"""Each case runs on tiny data, where all readers have to give the same records; no timing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

pytest.importorskip("pyarrow")
pytest.importorskip("kafkaspec._native")

from benchmarks import java
from benchmarks.__main__ import main
from benchmarks.cases import all_cases
from benchmarks.data import KIB, Shape, segment
from benchmarks.outcome import Case, Figure, Outcome, Settings, Table
from benchmarks.peers import records_aiokafka
from benchmarks.report import report
from benchmarks.spark.planning import main as planning
from benchmarks.timing import Candidate, Times, measure
from kafkaspec.compression import CompressionType
from kafkaspec.log.segment import Segment
from tools.brokers.maven import cache_root

pytestmark = pytest.mark.slow

CASES = {case.name: case for case in all_cases()}
HAVE_JARS = (cache_root() / "brokers" / java.KAFKA.name / "jars").is_dir()


def no_java(*_: object) -> Path:
    raise java.MissingError("mvn not found")


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_every_case_runs_and_its_readers_agree(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not HAVE_JARS:  # a test fetches nothing
        monkeypatch.setattr(java, "jars", no_java)
    outcome = case.run(Settings(True, tmp_path))
    assert all(table.rows for table in outcome.tables)
    for table in outcome.tables:
        assert {len(row) for row in table.rows} == {len(table.columns)}
    for figure in outcome.figures:
        assert (figure.value is None) == bool(figure.why)
    assert not list(tmp_path.glob("*.out"))


@pytest.mark.parametrize(("name", "theirs"), [("java", "Records`"), ("dump", "Kafka's dump tool")])
def test_without_java_the_rows_say_so(
    name: str, theirs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(java, "jars", no_java)
    outcome = CASES[name].run(Settings(True, tmp_path))
    against = [figure for figure in outcome.figures if theirs in figure.what]
    assert against
    assert [figure for figure in outcome.figures if figure.value is None] == against
    assert all("mvn" in figure.why for figure in against)
    assert "cannot run: mvn not found" in report([outcome], "x")


@pytest.mark.parametrize("compression", ["none", "lz4", "zstd", "snappy", "gzip"])
def test_data_is_the_same_in_every_run_and_what_it_says(compression: str) -> None:
    shape = Shape(100, headers=3, compression=compression)
    first = segment(shape, 64 * KIB)
    segment.cache_clear()
    assert segment(shape, 64 * KIB) == first
    records = records_aiokafka(first.data)
    assert len(records) == first.records
    assert [record.offset for record in records] == list(range(first.records))
    assert {len(record.headers) for record in records} == {3}
    assert 80 < sum(len(record.value or b"") for record in records) / len(records) < 120
    kinds = {batch.compression for batch in Segment(first.data).batches()}
    assert kinds == {CompressionType[compression.upper()]}


def test_repeated_entries_go_on_with_the_offsets() -> None:
    size = 17 * KIB * KIB
    data = segment(Shape(1024, batch=1024 * KIB), size)
    assert data.payload >= size
    expected = 0
    for batch in Segment(data.data).batches():
        assert batch.base_offset == expected
        assert batch.crc_valid
        expected = batch.last_offset + 1
    assert expected == data.records


def test_a_reader_that_misses_a_record_is_an_error() -> None:
    with pytest.raises(AssertionError, match="saw 2 records instead of 3"):
        measure([Candidate("blind", lambda: 2, 3)], 1)


def test_a_ratio_is_the_median_of_the_rounds() -> None:
    times = Times({"a": [10.0, 20.0, 90.0], "b": [5.0, 5.0, 10.0], "c": [5.0, 5.0, 20.0]})
    assert times.ratio("a", "b", "c") == 2.0
    assert times.median("a") == 20.0


def test_the_report_has_each_figure_beside_its_gate() -> None:
    table = Table("Some", ("what", "ns"), [("row", "1")], ["A note."])
    figures = [
        Figure("fast", 3.0, 2.0),
        Figure("slow", 1.5, 2.0),
        Figure("small", 1.5, 2.0, at_most=True, unit="ms"),
        Figure("large", 2.5, 2.0, at_most=True, unit=""),
        Figure("absent", None, 2.0, why="no Java"),
    ]
    text = report([Outcome([table], figures)], "python -m benchmarks")
    assert "| fast | ≥ 2 x | 3.00 x | yes |" in text
    assert "| slow | ≥ 2 x | 1.50 x | **no** |" in text
    assert "| small | ≤ 2 ms | 1.50 ms | yes |" in text
    assert "| large | ≤ 2 | 2.50 | **no** |" in text
    assert "| absent | ≥ 2 x | - | cannot run: no Java |" in text
    assert "A note." in text
    assert f"Python {sys.version.split()[0]}" in text


def test_the_command() -> None:
    runner = CliRunner()
    done = runner.invoke(main, ["--quick", "--only", "imports"])
    assert done.exit_code == 0, done.output
    assert "| `import kafkaspec`, `import aiokafka` ÷ ours |" in done.output
    assert runner.invoke(main, ["--only", "nothing"]).exit_code == 2


@pytest.mark.slow
def test_cases_of_one_run_share_no_file() -> None:
    """Two of them write a partition of the same name."""
    done = CliRunner().invoke(main, ["--quick", "--only", "messages", "--only", "find"])
    assert done.exit_code == 0, done.output


def test_planning_is_compared_with_counts_by_headers() -> None:
    options = ["--partitions", "3", "--segments", "2", "--rounds", "1"]
    found = CliRunner().invoke(planning, options)
    assert found.exit_code == 0, found.output
    assert found.output.startswith("planning of 3 partitions of 2 segments"), found.output
