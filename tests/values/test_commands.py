"""``dump`` and ``find`` with typed keys and values."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.helpers import run
from tests.values.test_typed import CONFLUENT, KARAPACE, table


@pytest.mark.slow
def test_dump_shows_what_is_decoded() -> None:
    result = run("dump", KARAPACE / "bad-0", "--value", "decode", "--format", "json")
    assert result.exit_code == 1
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    rows = table(KARAPACE / "bad-0").to_pylist()
    for line, row in zip(lines, rows, strict=True):
        assert line["value"] == row["value"]
        assert line["value_error"] == row["value_error"]
    text = run("dump", KARAPACE / "bad-0", "--value", "decode", "--limit", "2")
    assert '"ok"  {"url":"/ok","ms":1}' in text.stdout
    assert "null  (truncated)" in text.stdout
    assert len(text.stdout.splitlines()) == 3


@pytest.mark.slow
def test_dump_of_a_topic_of_a_directory_where_a_field_is() -> None:
    command = ["--topic", "orders", "--value", "decode", "--where", "value.qty > 14"]
    result = run("dump", KARAPACE, *command, "--format", "json")
    assert result.exit_code == 0, result.stderr
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    rows = table(KARAPACE, topic="orders", where="value.qty > 14").to_pylist()
    assert [(line["partition"], line["offset"]) for line in lines] == [
        (row["partition"], row["offset"]) for row in rows
    ]
    assert len(rows) > 3


def test_find_the_record_where_a_field_is() -> None:
    options = ["--value", "decode", "--where", "value.name = 'p3'", "--format", "json"]
    result = run("find", CONFLUENT / "people-0", *options)
    assert result.exit_code == 0, result.stderr
    (found,) = [json.loads(line) for line in result.stdout.splitlines()]
    rows = table(CONFLUENT / "people-0").to_pylist()
    (wanted,) = [row for row in rows if row["value"]["name"] == "p3"]
    assert found["record"]["offset"] == wanted["offset"]
    assert found["how"] == "where"
    none = run("find", CONFLUENT / "people-0", "--value", "decode", "--where", "value.name = 'x'")
    assert none.exit_code == 1
    every = run("find", CONFLUENT / "people-0", *options[:2], "--where", "offset > 1", "--all")
    assert every.stdout.count("offset") >= len(rows) - 2


def test_wrong_use() -> None:
    people = CONFLUENT / "people-0"
    cases: tuple[tuple[list[str | Path], str], ...] = (
        (["dump", people, "--value", "decode", "--batches"], "are for records"),
        (["dump", people, "--value", "decode", "-f", "%o"], "are for records"),
        (["dump", people, "--value", "decode", "--where", "value.nothing = 1"], "nothing"),
        (["dump", people, "--value", "nonsense"], "no format 'nonsense'"),
        (["find", people, "--value", "decode", "--offset", "1"], "go with --where"),
        (["find", people, "--where", "value.name = 'x'"], "name"),
    )
    for command, text in cases:
        result = run(*command)
        assert result.exit_code == 2, command
        assert text in result.stderr, (command, result.stderr)


@pytest.mark.slow
def test_views_are_typed_where_schemas_are() -> None:
    query = "SELECT value.name AS name FROM people ORDER BY 1"
    result = run("sql", CONFLUENT, query, "--format", "json")
    assert result.exit_code == 0, result.stderr
    found = [json.loads(line)["name"] for line in result.stdout.splitlines()]
    rows = table(CONFLUENT / "people-0").to_pylist()
    assert found == sorted(row["value"]["name"] for row in rows)
    assert "are decoded, by the schemas beside them" in result.stderr
    plain = run("sql", CONFLUENT, query, "--value", "bytes")
    assert plain.exit_code == 2
    assert "not a struct" in plain.stderr


@pytest.mark.parametrize("command", ["dump", "find"])
def test_a_field_that_some_version_lacks_is_an_error_of_the_condition(command: str) -> None:
    options = ("--value", "decode", "--evolve", "each", "--where", "value.age > 3")
    result = run(command, CONFLUENT / "people-0", *options)
    assert result.exit_code == 2
    assert "there is no field age; there are name, home" in result.stderr
