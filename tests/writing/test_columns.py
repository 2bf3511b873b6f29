"""Columns that are appended are the columns that are read."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kafkaspec as ks
from kafkaspec.analysis.reasons import FindingReason
from kafkaspec.broker.profiles import PROFILES
from kafkaspec.errors import KafkaSpecError
from kafkaspec.model import Record
from tests.extent import examples
from tests.goldens import Directory, directories
from tests.log import strategies
from tests.loops import each

SETTINGS = settings(
    deadline=None,
    max_examples=examples(50),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
NAMES = ["offset", "timestamp", "key", "value", "headers"]


def table_of(records: list[Record], codec: str | None = None) -> pa.Table:
    """The records of readers for records that ``encode`` wrote."""
    entries = b"".join(ks.encode([record]) for record in records)
    return ks.Segment(entries, codec=codec).to_arrow(NAMES, header_keys="binary")


@pytest.mark.slow
@pytest.mark.parametrize("codec", ["native", "python"])
@pytest.mark.parametrize("compression", ["none", "lz4"])
@SETTINGS
@given(records=strategies.records(2, least=1))
def test_columns_survive_a_round_trip(
    tmp_path_factory: pytest.TempPathFactory, codec: str, compression: str, records: list[Record]
) -> None:
    records = [record for record in records if record.timestamp >= -1]
    table = table_of(records)
    out = tmp_path_factory.mktemp("columns") / "a-0"
    for part in (table, table.slice(1)):
        with ks.SegmentWriter(out, codec=codec, sync=False) as writer:
            writer.append_columns(part, compression=compression, batch_bytes=100)
        with ks.Partition(out) as partition:
            assert partition.to_arrow(NAMES, header_keys="binary") == part
            for batch in partition.batches():
                assert batch.max_timestamp == max(item.timestamp for item in batch.records())
        for item in out.iterdir():
            item.unlink()


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_every_magic_and_bounded_batches(tmp_path: Path, magic: int) -> None:
    table = pa.table({"key": [b"k", None] * 50, "value": ["text"] * 100})
    with ks.SegmentWriter(tmp_path / "a-0", 7, leader_epoch=3, sync=False) as writer:
        writer.append_columns(
            table, offsets="assign", magic=magic, compression="gzip", batch_bytes=260
        )
        assert writer.next_offset == 107
    with ks.Partition(tmp_path / "a-0") as partition:
        batches = list(partition.batches())
        assert [len(batch.records()) for batch in batches] == [10] * 10
        assert {batch.magic for batch in batches} == {magic}
        assert {batch.partition_leader_epoch for batch in batches} == {3 if magic == 2 else -1}
        expected = [(7 + n, -1, None if n % 2 else b"k", b"text") for n in range(100)]
        assert [record[:4] for record in partition.records()] == expected
    assert ks.verify(tmp_path / "a-0").findings == []


@pytest.mark.parametrize(
    ("columns", "options"),
    [
        ({"value": [b"v"], "topic": ["t"]}, {"offsets": "assign"}),
        ({"value": [b"v"]}, {}),
        ({"value": [1.5]}, {"offsets": "assign"}),
        ({"value": [b"v"], "timestamp_type": ["LogAppendTime"]}, {"offsets": "assign", "magic": 0}),
        ({"value": [b"v"], "timestamp_type": ["logappendtime"]}, {"offsets": "assign"}),
        ({"value": [b"v"], "timestamp_type": [None]}, {"offsets": "assign"}),
        ({"offset": [1, None], "value": [b"v", b"w"]}, {}),
        ({"offset": [2, 1], "value": [b"v", b"w"]}, {}),
        ({"offset": [1, 1], "value": [b"v", b"w"]}, {}),
    ],
)
def test_columns_that_cannot_be_written(
    tmp_path: Path, columns: dict[str, Any], options: dict[str, Any]
) -> None:
    with ks.SegmentWriter(tmp_path / "a-0", sync=False) as writer:
        with pytest.raises((ValueError, KafkaSpecError)):
            writer.append_columns(pa.table(columns), **options)
        assert writer.next_offset == 0


def typed_tables() -> st.SearchStrategy[pa.Table]:
    """Rows of both timestamp types, in runs that share a timestamp or not."""
    types = st.sampled_from(["CreateTime", "LogAppendTime"])
    rows = st.lists(st.tuples(types, st.integers(-1, 3)), min_size=1, max_size=30)
    return rows.map(
        lambda found: pa.table(
            {
                "offset": range(5, 5 + len(found)),
                "timestamp": pa.array(
                    [None if time < 0 else time for _, time in found], pa.timestamp("ms", "UTC")
                ),
                "timestamp_type": pa.array([name for name, _ in found]),
                "value": [b"%d" % number for number in range(len(found))],
            }
        )
    )


@pytest.mark.slow
@pytest.mark.parametrize("codec", ["native", "python"])
@pytest.mark.parametrize(
    ("magic", "compression"), [(1, "none"), (1, "gzip"), (2, "none"), (2, "lz4")]
)
@SETTINGS
@given(table=typed_tables())
def test_an_entry_has_one_timestamp_type_and_one_append_time(
    tmp_path_factory: pytest.TempPathFactory,
    codec: str,
    magic: int,
    compression: str,
    table: pa.Table,
) -> None:
    out = tmp_path_factory.mktemp("columns") / "a-0"
    with ks.SegmentWriter(out, 5, codec=codec, sync=False) as writer:
        writer.append_columns(table, magic=magic, compression=compression)
    rows = table.to_pylist()
    with ks.Partition(out) as partition:
        found = partition.to_arrow(table.column_names, header_keys="binary").to_pylist()
        assert found == rows
        for batch in partition.batches():
            items = batch.records()
            assert batch.timestamp_type == rows[items[0].offset - 5]["timestamp_type"]
            assert batch.max_timestamp == max(item.timestamp for item in items)
        kinds = [
            (batch.timestamp_type, batch.timestamp_type == "LogAppendTime" and batch.max_timestamp)
            for batch in partition.batches()
        ]
        # No more entries than needed: neighbours differ in what an entry has once.
        if (magic, compression) != (1, "none"):
            assert all(one != other for one, other in pairwise(kinds))
    assert ks.verify(out).findings == []


APPENDED = [
    item
    for item in directories(".log")
    if re.match("log-append-time|time-types-mixed|segments-log-append-time", item.name)
]


@each("golden", APPENDED)
def test_append_times_of_brokers_are_written_again(tmp_path: Path, golden: Directory) -> None:
    names = [*NAMES, "timestamp_type"]
    source = ks.Partition(golden.files[0].path.parent)
    magic = max(batch.magic for batch in source.batches())
    table = source.to_arrow(names, header_keys="binary")
    base = source.segments[0].base_offset or 0
    with ks.SegmentWriter(tmp_path / "a-0", base, golden.version, sync=False) as writer:
        writer.append_columns(table, magic=magic)
    with ks.Partition(tmp_path / "a-0") as partition:
        assert partition.to_arrow(names, header_keys="binary") == table
        kinds = [{batch.timestamp_type for batch in log.batches()} for log in (source, partition)]
        assert "LogAppendTime" in kinds[0]
        assert kinds[1] == kinds[0]
    source.close()
    assert ks.verify(tmp_path / "a-0").findings == []


def test_offsets_that_are_far_from_each_other_share_no_batch(tmp_path: Path) -> None:
    far = [0, 1, 1 << 31, (1 << 31) + 1, 1 << 40]
    with ks.SegmentWriter(tmp_path / "a-0", sync=False) as writer:
        writer.append_columns(pa.table({"offset": far, "value": [b"v"] * 5}))
    with ks.Partition(tmp_path / "a-0") as partition:
        assert [record.offset for record in partition.records()] == far
        assert [item.base_offset for item in partition.segments] == [0, 1 << 31, 1 << 40]
    # Nothing tells these gaps from segments that are lost.
    found = ks.verify(tmp_path / "a-0").findings
    assert [(item.reason, item.offset) for item in found] == [
        (FindingReason.MISSING_OFFSETS, 2),
        (FindingReason.MISSING_OFFSETS, (1 << 31) + 2),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("profile", [item.since for item in PROFILES if item.magic == 2])
def test_batches_of_columns_are_appends_of_their_own(tmp_path: Path, profile: str) -> None:
    """As many small appends of the same batches make the same files."""
    times = pa.array([number * 7 % 5000 for number in range(4000)], pa.timestamp("ms", "UTC"))
    table = pa.table({"timestamp": times, "value": [b"%900d" % n for n in range(4000)]})
    ours, theirs = tmp_path / "ours" / "a-0", tmp_path / "theirs" / "a-0"
    options: dict[str, Any] = {
        "segment_bytes": 1_500_000, "segment_ms": 4990, "sync": False, "leader_epoch": 1,
    }  # fmt: skip
    for path in (ours, theirs):
        path.parent.mkdir()
    with ks.SegmentWriter(ours, 5, profile, **options) as writer:
        writer.append_columns(table, offsets="assign", batch_bytes=5000)
    with ks.SegmentWriter(theirs, 5, profile, **options) as writer, ks.Partition(ours) as partition:
        for batch in partition.batches():
            writer.append(bytes(batch.data), together=True)
    found = {item.name: item.read_bytes() for item in ours.iterdir()}
    assert found == {item.name: item.read_bytes() for item in theirs.iterdir()}
    assert sum(name.endswith(".log") for name in found) >= 3
