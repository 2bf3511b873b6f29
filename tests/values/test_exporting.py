"""Typed columns in files: what was written is read again by other libraries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import csv, dataset, parquet

import kafkaspec as ks
from tests.cli.helpers import run
from tests.values.test_typed import CONFLUENT, KARAPACE, table

TOPICS = ("orders", "every-type", "events", "proto-orders", "proto-mixed", "proto-legacy", "users")


@pytest.mark.slow
@pytest.mark.parametrize("topic", TOPICS)
@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_a_file_has_the_values_of_the_stream(topic: str, suffix: str, tmp_path: Path) -> None:
    out = tmp_path / f"out.{suffix}"
    result = run("export", KARAPACE / f"{topic}-0", "--value", "decode", "-o", out)
    assert result.exit_code == 0, result.output
    found = parquet.read_table(out) if suffix == "parquet" else pa.ipc.open_file(out).read_all()
    wanted = table(KARAPACE / f"{topic}-0")
    assert found.schema.names == wanted.schema.names
    assert str(found.to_pylist()) == str(wanted.to_pylist())  # as text: NaN is not NaN


@pytest.mark.slow
@pytest.mark.parametrize("topic", TOPICS)
def test_lines_are_json(topic: str, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    result = run("export", KARAPACE / f"{topic}-0", "--value", "decode", "-o", out)
    assert result.exit_code == 0, result.output
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    rows = table(KARAPACE / f"{topic}-0").to_pylist()
    for line, row in zip(lines, rows, strict=True):
        assert line["offset"] == row["offset"]
        assert (line["value"] is None) == (row["value"] is None)
        if row["value"] is not None:
            assert list(line["value"]) == list(row["value"])


def test_columns_of_fields(tmp_path: Path) -> None:
    out = tmp_path / "people.csv"
    result = run("export", CONFLUENT / "people-0", "--value", "decode", "--flatten", "-o", out)
    assert result.exit_code == 0, result.output
    found = csv.read_csv(out)
    rows = table(CONFLUENT / "people-0").to_pylist()
    assert found["value.name"].to_pylist() == [row["value"]["name"] for row in rows]
    streets = [row["value"]["home"]["street"] for row in rows]
    assert found["value.home.street"].to_pylist() == streets


def test_csv_has_no_structs(tmp_path: Path) -> None:
    out = tmp_path / "people.csv"
    result = run("export", CONFLUENT / "people-0", "--value", "decode", "-o", out)
    assert result.exit_code == 2
    assert "value; flatten it" in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_folders_by_topic_day_and_schema(tmp_path: Path) -> None:
    """Another library reads the folders, and finds every row in the one where it belongs."""
    out = tmp_path / "out"
    command: list[str | Path] = [
        "export",
        KARAPACE,
        "--topic",
        "orders",
        "--value",
        "decode",
        "--evolve",
        "each",
    ]
    result = run(*command, "--split-by", "topic,day,schema", "-o", out)
    assert result.exit_code == 0, result.output
    rows = 0
    for file in out.rglob("*.parquet"):
        topic, day, schema = (part.partition("=")[2] for part in file.relative_to(out).parts[:3])
        found = parquet.read_table(file)
        rows += len(found)
        assert topic == "orders"
        assert "topic" not in found.schema.names
        assert {str(stamp.date()) for stamp in found["timestamp"].to_pylist()} == {day}
        (number,) = found["value_schema_id"].unique().to_pylist()
        assert ("__HIVE_DEFAULT_PARTITION__" if number is None else str(number)) == schema
    assert rows == len(table(KARAPACE, topic="orders"))
    assert run(*command, "--split-by", "topic,day,schema", "-o", out).exit_code == 2


@pytest.mark.slow
def test_all_topics_of_a_log_directory(tmp_path: Path) -> None:
    out = tmp_path / "out"
    options: list[str | Path] = ["--value", "decode", "--depth", "2", "--split-by", "topic"]
    result = run("export", KARAPACE, *options, "-o", out)
    assert result.exit_code == 1, result.output  # some rows of "bad" have no value
    with ks.open(KARAPACE) as log:
        assert isinstance(log, ks.LogDirectory)
        topics = [topic for topic in log.topics if topic != "_schemas"]
        rows = {topic: len(log.of_topic(topic).to_arrow(["offset"])) for topic in topics}
    made = {path.name.partition("=")[2]: path for path in out.iterdir()}
    assert set(made) == {topic for topic in topics if rows[topic]}
    for topic, folder in made.items():
        assert dataset.dataset(folder).count_rows() == rows[topic], topic


def test_nothing_is_left_after_an_error(tmp_path: Path) -> None:
    out = tmp_path / "out"
    options: list[Any] = ["--value", "decode", "--on-value-error", "raise", "--split-by", "day"]
    result = run("export", KARAPACE / "bad-0", *options, "-o", out)
    assert result.exit_code in (1, 2)
    assert "the value of offset 1" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_wrong_use(tmp_path: Path) -> None:
    log, out = CONFLUENT / "people-0", tmp_path / "out.parquet"
    cases: list[tuple[list[str], str]] = [
        (["--schemas", str(CONFLUENT)], "say what values or keys are"),
        (["--value", "nonsense"], "no format 'nonsense'"),
        (["--value", "decode", "--evolve", "each"], "split by schema"),
        (["--value", "decode", "--evolve", "newest"], "latest, each nor a number"),
        (["--value", "decode", "--split-by", "week"], "folders are of topic"),
        (["--value", "decode", "--schemas", str(tmp_path / "none")], "none"),
        (["--value", "decode", "--messages", "OffsetCommit"], "cannot be combined with --messages"),
    ]
    for options, text in cases:
        result = run("export", log, *options, "-o", out)
        assert result.exit_code == 2, options
        assert text in result.stderr, (options, result.stderr)
    assert list(tmp_path.iterdir()) == []
