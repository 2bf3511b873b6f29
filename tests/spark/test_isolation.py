"""``read_committed`` against the transactions that producers committed, aborted and left open."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from kafkaspec.files import names
from tests.goldens import FULL, GOLDEN, partitions, produced
from tests.spark.reading import table, tasks


def transactional() -> list[Any]:
    return [
        pytest.param(version, path, id=f"{version}-{path.name}")
        for version in FULL
        for path in partitions(version)
        if any(record["transaction"] for record in produced(version).get(path.name, ()))
        and "compacted" not in path.name
    ]


def committed(version: str, name: str) -> list[tuple[int, bytes | None, bytes | None]]:
    """The records of a consumer: up to the first open transaction, none that was aborted."""
    records = sorted(produced(version)[name], key=lambda record: record["offset"])
    opened = [record["offset"] for record in records if record["transaction"] == "open"]
    end = min(opened, default=1 << 62)
    return [
        (record["offset"], record["key"], record["value"])
        for record in records
        if record["offset"] < end and record["transaction"] != "aborted"
    ]


def rows(path: Path, **options: Any) -> list[tuple[int, bytes | None, bytes | None]]:
    columns = ["offset", "key", "value"]
    found = table(path, columns, isolation_level="read_committed", **options)
    return list(zip(*(column.to_pylist() for column in found.columns), strict=True))


@pytest.mark.parametrize(("version", "path"), transactional())
def test_read_committed_is_what_was_committed(version: str, path: Path) -> None:
    expected = committed(version, path.name)
    assert rows(path) == expected
    assert rows(path, maxPartitionBytes=200) == expected


@pytest.mark.parametrize(("version", "path"), transactional())
def test_markers_say_the_same_as_transaction_indexes(
    version: str, path: Path, tmp_path: Path
) -> None:
    copy = tmp_path / path.name
    shutil.copytree(path, copy)
    for index in copy.glob("*" + names.TRANSACTION_INDEX):
        index.unlink()
    expected = committed(version, path.name)
    assert rows(copy) == expected
    middle = expected[len(expected) // 2][0]
    topic, number = path.name.rsplit("-", 1)
    start = json.dumps({topic: {number: middle}})
    assert rows(copy, startingOffsets=start) == [row for row in expected if row[0] >= middle]


def test_the_goldens_have_aborted_and_open_transactions() -> None:
    kinds = {
        record["transaction"]
        for version in FULL
        for path in partitions(version)
        for record in produced(version).get(path.name, ())
    }
    assert {"committed", "aborted", "open"} <= kinds


def test_pieces_carry_only_transactions_that_reach_into_them() -> None:
    path = GOLDEN / "4.3.1" / "logs" / "transactions-segments-0"
    pieces = [
        piece
        for task in tasks(path, isolation_level="read_committed", maxPartitionBytes=200)
        for piece in task
    ]
    assert any(piece.aborted for piece in pieces)
    assert any(not piece.aborted for piece in pieces)
