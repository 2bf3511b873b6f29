"""Damage: an error with its place, a row that says so, or a count. What is sound is read."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

pytest.importorskip("pyspark")

import kafkaspec as ks
from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.layout.framing import FRAMING, field_position
from kafkaspec.spark.failing import DataLossError
from tests.spark import logs
from tests.spark.reading import table

MAGIC = FRAMING + LAYOUTS["recordbatch.message"].peeks[0].position
CRC = FRAMING + field_position(LAYOUTS["recordbatch.record_batch"], "crc")
SIZE = field_position(LAYOUTS["recordbatch.entry"], "len_message")


@pytest.fixture(name="orders")
def _orders(tmp_path: Path) -> Path:
    return logs.make(tmp_path / "orders-0", 12)


def batches(directory: Path) -> list[ks.Batch]:
    with ks.Segment(logs.segment(directory)) as segment:
        return [item for item in segment.scan() if isinstance(item, ks.Batch)]


def damage(directory: Path, number: int, at: int, data: bytes = b"\xff") -> int:
    """Overwrite a part of a batch, from its end with a negative position."""
    batch = batches(directory)[number]
    start = batch.position if at >= 0 else batch.end
    logs.overwrite(logs.segment(directory), start + at, data)
    return batch.position


def rest(*numbers: int) -> list[int]:
    """The offsets that are left without some batches of five."""
    return [offset for offset in range(60) if offset // 5 not in numbers]


def test_failfast_says_where(orders: Path) -> None:
    position = damage(orders, 4, -3)
    with pytest.raises(ks.ChecksumError) as caught:
        table(orders)
    assert str(logs.segment(orders)) in str(caught.value)
    assert caught.value.position is not None
    assert position <= caught.value.position < batches(orders)[5].position
    assert f"at byte {caught.value.position}" in str(caught.value)


def test_a_wrong_crc_is_no_damage_to_who_does_not_check(orders: Path) -> None:
    clean = table(orders)
    damage(orders, 4, CRC)
    with pytest.raises(ks.ChecksumError):
        table(orders)
    assert table(orders, check_crcs=False) == clean


def test_dropcorrupt_counts(orders: Path, caplog: pytest.LogCaptureFixture) -> None:
    damage(orders, 4, -3)
    damage(orders, 7, MAGIC, b"\x09")
    with caplog.at_level(logging.WARNING, "kafkaspec.spark"):
        found = table(orders, mode="DROPCORRUPT")
    assert logs.offsets(found) == rest(4, 7)
    assert "2 batches are damaged and left out" in caplog.text
    assert "_corrupt_record" not in found.column_names


def test_permissive_has_a_row_for_each(orders: Path) -> None:
    places = [damage(orders, 4, -3), damage(orders, 6, -3), damage(orders, 5, MAGIC, b"\x09")]
    places.sort()
    found = table(orders, mode="PERMISSIVE", includeBatch=True).to_pylist()
    assert [row["offset"] for row in found if row["_corrupt_record"] is None] == rest(4, 5, 6)
    refused = [row for row in found if row["_corrupt_record"] is not None]
    assert [row["position"] for row in refused] == places
    assert [row["offset"] for row in refused] == [20, None, 30]
    for row in refused:
        assert row["file"] == str(logs.segment(orders))
        assert (row["topic"], row["partition"], row["value"]) == ("orders", 0, None)
        assert row["file"] in row["_corrupt_record"]


def test_permissive_without_its_column_is_refused(orders: Path) -> None:
    with pytest.raises(ValueError, match="_corrupt_record STRING"):
        table(orders, ["offset"], mode="permissive")
    named = table(orders, ["offset", "why"], mode="permissive", columnNameOfCorruptRecord="why")
    assert named.column("why").null_count == 60


def test_behind_a_broken_size_the_index_leads_on(orders: Path) -> None:
    damage(orders, 5, SIZE, b"\x00\x00\x00\x01")
    whole = table(orders, mode="DROPCORRUPT")
    assert logs.offsets(whole) == list(range(25))
    split = logs.offsets(table(orders, mode="DROPCORRUPT", maxPartitionBytes=400))
    assert split[:25] == list(range(25))
    assert split[-10:] == list(range(50, 60))
    with pytest.raises(ks.KafkaSpecError, match="at byte"):
        table(orders)


def test_a_torn_tail_is_the_end_and_not_damage(
    orders: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = logs.segment(orders)
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - 7)
    with pytest.raises(DataLossError, match=r"offsets 55 to 59 are missing: .* its offset index"):
        table(orders)
    assert logs.offsets(table(orders, failOnDataLoss=False)) == rest(11)
    for path in (*orders.glob("*index"), *orders.glob("*.snapshot")):
        path.unlink()  # nothing shows that the batch was ever complete
    caplog.clear()
    assert logs.offsets(table(orders)) == rest(11)
    assert "the last 218 bytes are the beginning of a batch that is cut off" in caplog.text
    assert logs.offsets(table(orders, maxPartitionBytes=300)) == rest(11)


def test_an_unreadable_file_is_a_finding(orders: Path) -> None:
    path = logs.segment(orders)
    other = orders.parent / "orders-1"
    shutil.copytree(orders, other)
    path.unlink()
    path.symlink_to(orders / "nowhere")
    with pytest.raises(ks.KafkaSpecError, match=str(path)):
        table(orders.parent)
    assert logs.offsets(table(orders.parent, mode="DROPCORRUPT")) == rest()
    found = table(orders.parent, mode="PERMISSIVE")
    assert found.column("_corrupt_record").null_count == 60
    assert len(found) == 61


@example(flips=[(466, 0)], compression="none")  # a wrapper of no known codec
@settings(max_examples=60)
@given(
    flips=st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), max_size=4),
    compression=st.sampled_from(["none", "lz4"]),
)
def test_the_other_rows_are_those_of_records(
    flips: list[tuple[int, int]], compression: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    directory = tmp_path_factory.mktemp("any") / "orders-0"
    path = logs.segment(logs.make(directory, 8, compression=compression))
    for position, value in flips:
        logs.overwrite(path, position % path.stat().st_size, bytes([value]))
    expected: list[tuple[int, bytes | None]] = []
    with ks.Segment(path) as segment:
        for item in segment.scan():
            if isinstance(item, ks.KafkaSpecError) or item.is_control:
                continue
            try:
                expected += [(record.offset, record.value) for record in item.records()]
            except ks.KafkaSpecError:
                continue
    found = table(path, ["offset", "value"], mode="DROPCORRUPT")
    assert list(zip(*(item.to_pylist() for item in found.columns), strict=True)) == expected
