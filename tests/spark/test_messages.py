"""The option ``messages``: typed records of one type, as the library's own tables have them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

import kafkaspec as ks
from kafkaspec.spark.parsing import OptionError
from tests.goldens import GOLDEN
from tests.spark.reading import table

ROOT = GOLDEN / "4.3.1" / "logs"
OFFSETS = "__consumer_offsets-0"


@pytest.mark.parametrize("name", ["OffsetCommit", "GroupMetadata", "TransactionLog", "Partition"])
def test_rows_are_those_of_the_library(name: str) -> None:
    ours = table(ROOT, messages=name, logStart="ignore").to_pylist()
    theirs = ks.LogDirectory(ROOT).topic_messages(name).read_all().to_pylist()
    assert len(ours) == len(theirs) > 0
    for row, expected in zip(ours, theirs, strict=True):
        for column in ("offset", "partition", "value", *(("key",) if "key" in expected else ())):
            assert row[column] == expected[column]
        assert ("key" in row) == ("key" in expected)
    assert {row["topic"] for row in ours} == {"__cluster_metadata" if name == "Partition" else
        "__transaction_state" if name == "TransactionLog" else "__consumer_offsets"}  # fmt: skip


def test_columns_and_options_go_with_it() -> None:
    few = table(ROOT, messages="OffsetCommit", startingOffsets='{"__consumer_offsets":{"0":5}}')
    every = table(ROOT, messages="OffsetCommit", includeBatch=True, includeHeaders=True)
    assert few["offset"].to_pylist() == [n for n in every["offset"].to_pylist() if n >= 5]
    assert every["producerId"].null_count == 0
    small = table(ROOT, messages="OffsetCommit", maxPartitionBytes="300")
    assert small["value"] == table(ROOT / OFFSETS, messages="OffsetCommit")["value"]


def test_early_layouts_by_their_release_or_without() -> None:
    root = GOLDEN / "4.0.2" / "logs"
    found = table(root, messages="ShareSnapshot").to_pylist()
    assert found
    assert table(root, messages="ShareSnapshot", release="4.0.2")["offset"].to_pylist() == [
        row["offset"] for row in found
    ]


def test_what_does_not_decode_by_the_mode(tmp_path: Path) -> None:
    place = tmp_path / OFFSETS
    place.mkdir()
    records = list(ks.Partition(ROOT / OFFSETS).records())
    records[2] = records[2]._replace(value=bytes(records[2].value or b"")[:-3])
    (place / f"{0:020}.log").write_bytes(b"".join(ks.encode([record]) for record in records))
    whole = table(ROOT, messages="OffsetCommit")["offset"].to_pylist()
    with pytest.raises(ks.KafkaSpecError, match="record 2, byte"):
        table(tmp_path, messages="OffsetCommit")
    kept = table(tmp_path, messages="OffsetCommit", mode="PERMISSIVE").to_pylist()
    assert [row["offset"] for row in kept] == whole
    assert [row["offset"] for row in kept if row["_corrupt_record"]] == [2]
    assert [row["offset"] for row in kept if row["value"] is None] == [2]
    left = table(tmp_path, messages="OffsetCommit", mode="DROPCORRUPT")
    assert left["offset"].to_pylist() == [offset for offset in whole if offset != 2]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"messages": "Nothing"}, "no topic has records called 'Nothing'"),
        ({"messages": "OffsetCommit", "subscribe": "plain"}, "is in __consumer_offsets"),
        (
            {"messages": "OffsetCommit", "subscribePattern": ".*"},
            "combined with subscribePattern",
        ),
        ({"messages": "OffsetCommit", "includeControl": True}, "includeControl"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        table(ROOT, **options)
