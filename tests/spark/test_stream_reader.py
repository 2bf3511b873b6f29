"""The stream reader without a JVM: growing, rolled, torn and deleted logs."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from kafkaspec.spark.failing import DataLossError
from tests.goldens import GOLDEN, produced
from tests.spark import logs
from tests.spark.reading import stream_reader

ALL = ReadAllAvailable()


def reader(path: Path, **options: Any) -> Any:
    return stream_reader(path, **{"startingOffsets": "earliest", **options})


def offsets(found: Any, start: dict[str, Any], end: dict[str, Any], column: str = "offset") -> Any:
    """The rows of the tasks of a micro-batch, through a second reader as in Spark."""
    sent = pickle.dumps(found)
    planned = pickle.loads(pickle.dumps(found.partitions(start, end)))
    return [
        value
        for task in planned
        for batch in pickle.loads(sent).read(task)
        for value in batch.column(column).to_pylist()
    ]


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def segment(directory: Path, base: int, data: bytes = b"") -> Path:
    directory.mkdir(exist_ok=True)
    path = directory / f"{base:020d}.log"
    path.write_bytes(data)
    return path


def test_appended_records_come_once(tmp_path: Path) -> None:
    path = segment(tmp_path / "orders-0", 0, logs.batch(0, 3))
    found = reader(tmp_path)
    start = found.initialOffset()
    assert start == {"orders": {"0": 0}}
    end = found.latestOffset(start, ALL)
    assert end == {"orders": {"0": 3}}
    assert offsets(found, start, end) == [0, 1, 2]
    assert found.latestOffset(end, ALL) == end
    assert offsets(found, end, end) == []
    append(path, logs.batch(3, 2))
    segment(tmp_path / "orders-0", 5, logs.batch(5, 1))
    segment(tmp_path / "stock-3", 0, logs.batch(0, 1))
    newer = found.latestOffset(end, ALL)
    assert newer == {"orders": {"0": 6}, "stock": {"3": 1}}
    assert offsets(found, end, newer) == [3, 4, 5, 0]


def test_the_same_offsets_are_the_same_text(tmp_path: Path) -> None:
    for name in ("b-10", "b-9", "a-1"):
        segment(tmp_path / name, 0, logs.batch(0, 1))
    found = reader(tmp_path)
    end = found.latestOffset(found.initialOffset(), ALL)
    again = reader(tmp_path).latestOffset(json.loads(json.dumps(end)), ALL)
    assert json.dumps(again) == json.dumps(end)


@pytest.mark.parametrize("cut", [1, 8, 12, 17, 40, 61, 70])
def test_half_a_batch_is_not_yet(tmp_path: Path, cut: int) -> None:
    more = logs.batch(3, 2)
    path = segment(tmp_path / "orders-0", 0, logs.batch(0, 3) + more[:cut])
    found = reader(tmp_path)
    start = found.initialOffset()
    end = found.latestOffset(start, ALL)
    assert end == {"orders": {"0": 3}}
    assert offsets(found, start, end) == [0, 1, 2]
    append(path, more[cut:])
    assert offsets(found, end, found.latestOffset(end, ALL)) == [3, 4]


def test_a_tail_with_a_wrong_checksum_is_not_yet(tmp_path: Path) -> None:
    more = logs.batch(3, 2)
    path = segment(tmp_path / "orders-0", 0, logs.batch(0, 3) + more[:-4] + bytes(4))
    found = reader(tmp_path)
    start = found.initialOffset()
    end = found.latestOffset(start, ALL)
    assert offsets(found, start, end) == [0, 1, 2]
    logs.overwrite(path, path.stat().st_size - 4, more[-4:])
    append(path, logs.batch(5, 1))
    assert offsets(found, end, found.latestOffset(end, ALL)) == [3, 4, 5]


def test_preallocated_zeros_are_not_yet(tmp_path: Path) -> None:
    path = segment(tmp_path / "orders-0", 0, logs.batch(0, 3) + bytes(4096))
    size = len(logs.batch(0, 3))
    found = reader(tmp_path)
    start = found.initialOffset()
    end = found.latestOffset(start, ALL)
    assert offsets(found, start, end) == [0, 1, 2]
    logs.overwrite(path, size, logs.batch(3, 4))
    again = reader(tmp_path)  # the size is the same; a query that was started again sees it
    assert offsets(again, end, again.latestOffset(end, ALL)) == [3, 4, 5, 6]
    assert offsets(found, end, found.latestOffset(end, ALL)) == [3, 4, 5, 6]


def test_an_empty_segment_was_just_rolled(tmp_path: Path) -> None:
    segment(tmp_path / "orders-0", 0, logs.batch(0, 3))
    segment(tmp_path / "orders-0", 3)
    found = reader(tmp_path)
    start = found.initialOffset()
    assert offsets(found, start, found.latestOffset(start, ALL)) == [0, 1, 2]


def test_a_limit_is_shared_out_by_backlog(tmp_path: Path) -> None:
    segment(tmp_path / "orders-0", 0, logs.batch(0, 60))
    segment(tmp_path / "orders-1", 0, logs.batch(0, 30))
    segment(tmp_path / "orders-2", 0)
    found = reader(tmp_path, maxOffsetsPerTrigger=9)
    assert found.getDefaultReadLimit() == ReadMaxRows(9)
    start = found.initialOffset()
    end = found.latestOffset(start, ReadMaxRows(9))
    assert end == {"orders": {"0": 6, "1": 3, "2": 0}}
    assert found.latestOffset(start, ALL) == {"orders": {"0": 60, "1": 30, "2": 0}}
    seen: list[int] = []
    position = start
    for _ in range(10):
        end = found.latestOffset(position, ReadMaxRows(9))
        seen += offsets(found, position, end)
        position = end
    assert sorted(seen) == sorted([*range(60), *range(30)])
    assert found.latestOffset(position, ReadMaxRows(9)) == position


def test_available_now_has_a_target(tmp_path: Path) -> None:
    path = segment(tmp_path / "orders-0", 0, logs.batch(0, 3))
    found = reader(tmp_path)
    found.prepareForTriggerAvailableNow()
    append(path, logs.batch(3, 2))
    segment(tmp_path / "stock-0", 7, logs.batch(7, 1))
    assert found.latestOffset(found.initialOffset(), ALL)["orders"] == {"0": 3}
    assert found.latestOffset({"orders": {"0": 0}}, ALL) == {"orders": {"0": 3}}
    assert found.reportLatestOffset() == {"orders": {"0": 5}, "stock": {"0": 8}}


def test_latest_is_where_the_log_ends(tmp_path: Path) -> None:
    path = segment(tmp_path / "orders-0", 0, logs.batch(0, 3))
    found = reader(tmp_path, startingOffsets="latest")
    start = found.initialOffset()
    assert start == {"orders": {"0": 3}}
    append(path, logs.batch(3, 2))
    assert offsets(found, start, found.latestOffset(start, ALL)) == [3, 4]
    timed = reader(tmp_path, startingTimestamp=logs.START + 4000)
    assert timed.initialOffset() == {"orders": {"0": 4}}
    exact = reader(tmp_path, startingOffsets='{"orders":{"0":-1}}')
    assert exact.initialOffset() == {"orders": {"0": 5}}


def test_retention_underfoot(tmp_path: Path) -> None:
    first = segment(tmp_path / "orders-0", 0, logs.batch(0, 3))
    segment(tmp_path / "orders-0", 3, logs.batch(3, 3))
    found = reader(tmp_path)
    start = found.initialOffset()
    end = found.latestOffset(start, ALL)
    first.unlink()
    with pytest.raises(DataLossError, match=r"offsets 0\.\.2 of orders-0 are gone"):
        found.partitions(start, end)
    lenient = reader(tmp_path, failOnDataLoss="false")
    assert offsets(lenient, start, end) == [3, 4, 5]
    assert offsets(found, {"orders": {"0": 3}}, end) == [3, 4, 5]  # nothing unread is gone


def test_a_log_that_became_shorter(tmp_path: Path) -> None:
    path = segment(tmp_path / "orders-0", 0, logs.batch(0, 3) + logs.batch(3, 3))
    found = reader(tmp_path)
    end = found.latestOffset(found.initialOffset(), ALL)
    path.write_bytes(logs.batch(0, 3))
    for again in (found, reader(tmp_path)):
        with pytest.raises(DataLossError, match="orders-0 ends at 3; its next offset was 6"):
            again.latestOffset(end, ALL)
        with pytest.raises(DataLossError, match="ends at 3"):
            again.partitions({"orders": {"0": 3}}, end)
    lenient = reader(tmp_path, failOnDataLoss="false")
    assert offsets(lenient, {"orders": {"0": 0}}, end) == [0, 1, 2]
    back = lenient.latestOffset(end, ALL)
    assert back == {"orders": {"0": 3}}
    append(path, logs.batch(3, 1))
    assert offsets(lenient, back, lenient.latestOffset(back, ALL)) == [3]


def test_a_log_that_was_removed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = segment(tmp_path / "orders-0", 0, logs.batch(0, 3))
    segment(tmp_path / "stock-0", 0, logs.batch(0, 1))
    found, lenient = reader(tmp_path), reader(tmp_path, failOnDataLoss="false")
    end = found.latestOffset(found.initialOffset(), ALL)
    path.unlink()
    with pytest.raises(DataLossError, match="orders-0 ends at 0; its next offset was 3"):
        found.latestOffset(end, ALL)
    path.parent.rmdir()
    with pytest.raises(DataLossError, match="orders-0 is gone; its next offset was 3"):
        found.latestOffset(end, ALL)
    for _ in range(3):
        assert lenient.latestOffset(end, ALL) == end
        assert offsets(lenient, end, end) == []
    assert caplog.text.count("orders-0 is gone") == 1


def epochs(*parts: tuple[int, int, int]) -> bytes:
    """Batches of ten records: first offset, end, leader epoch."""
    return b"".join(
        logs.batch(first, 10, partition_leader_epoch=epoch)
        for begin, end, epoch in parts
        for first in range(begin, end, 10)
    )


READ: dict[str, Any] = {"orders": {"0": {"offset": 340, "leaderEpoch": 4}}}
CHANGED: list[tuple[list[tuple[int, int, int]], str, list[int]]] = [
    ([(0, 100, 2), (100, 170, 4), (170, 380, 5)], "cut back to offset 170", [*range(170, 380)]),
    ([(0, 100, 2), (100, 170, 4), (170, 300, 7)], "ends at 300", [*range(170, 300)]),
    ([(0, 100, 2), (100, 170, 4)], "ends at 170", []),
    ([(0, 400, 0)], "cut back to offset 0 or created again", [*range(400)]),
    ([(0, 90, 5), (90, 400, 6)], "cut back to offset 0 or created again", [*range(400)]),
]
"""Logs of which 340 offsets were read, in leader epoch 4: what they are now, what that is called,
what is left to read."""


@pytest.mark.parametrize(("now", "text", "left"), CHANGED, ids=lambda item: str(item)[:40])
@pytest.mark.parametrize("rolled", [False, True])
def test_a_log_that_was_cut_and_grew_past_the_end(
    tmp_path: Path, now: list[tuple[int, int, int]], text: str, left: list[int], rolled: bool
) -> None:
    """KIP-320: a log with another epoch before the offset is another log from somewhere on."""
    path = segment(tmp_path / "orders-0", 0, epochs((0, 100, 2), (100, 340, 4)))
    found, lenient = reader(tmp_path), reader(tmp_path, failOnDataLoss="false")
    start = found.initialOffset()
    assert found.latestOffset(start, ALL) == lenient.latestOffset(start, ALL) == READ
    assert found.latestOffset(READ, ALL) == READ
    if rolled:
        path.write_bytes(b"")
        for first, end, epoch in now:
            segment(tmp_path / "orders-0", first, epochs((first, end, epoch)))
    else:
        path.write_bytes(epochs(*now))
    for again in (found, reader(tmp_path)):  # in the same process, and after a restart
        with pytest.raises(DataLossError, match=text):
            again.latestOffset(READ, ALL)
        with pytest.raises(DataLossError, match=text):
            again.partitions(READ, {"orders": {"0": now[-1][1]}})
    for again in (lenient, reader(tmp_path, failOnDataLoss="false")):
        seen, position = [], READ
        while position != (end := again.latestOffset(position, ReadMaxRows(77))):
            seen += offsets(again, position, end)
            position = end
        assert seen == left
    assert offsets(lenient, READ, lenient.latestOffset(READ, ALL)) == left


def topic_id(directory: Path, text: str) -> str:
    """``partition.metadata`` as brokers of 2.8 and newer write it."""
    (directory / "partition.metadata").write_text(f"version: 0\ntopic_id: {text}")
    return text


@pytest.mark.parametrize("epoch", [0, -1])
@pytest.mark.parametrize("end", [40, 100])
def test_a_topic_that_was_created_again(tmp_path: Path, end: int, epoch: int) -> None:
    """KIP-516: the offsets and epochs of the new topic look like those of the old one."""
    orders = tmp_path / "orders-0"
    path = segment(orders, 0, epochs((0, 60, epoch)))
    old = topic_id(orders, "cB2o1dUOQV6WQZ7NBn4xQQ")
    found = reader(tmp_path)
    read = found.latestOffset(found.initialOffset(), ALL)
    known = {} if epoch < 0 else {"leaderEpoch": epoch}
    assert read == {"orders": {"0": {"offset": 60, **known, "topicId": old}}}
    assert offsets(found, {"orders": {"0": 0}}, read) == list(range(60))
    path.write_bytes(epochs((0, end, epoch)))
    new = topic_id(orders, "Xl5mVkqkSJ2Ax0qzpOqXbg")
    for again in (found, reader(tmp_path)):
        with pytest.raises(
            DataLossError, match=f"created again: its topic id is {new}; it was {old}"
        ):
            again.latestOffset(read, ALL)
        with pytest.raises(DataLossError, match="created again"):
            again.partitions({"orders": {"0": 0}}, read)
    for most in (7, 60, 1000):  # 60: a micro-batch that ends at the old offset
        lenient = reader(tmp_path, failOnDataLoss="false")
        seen, position = [], read
        while position != (to := lenient.latestOffset(position, ReadMaxRows(most))):
            seen += offsets(lenient, position, to)
            position = to
        assert seen == list(range(end))


def test_checkpoints_and_logs_without_a_topic_id(tmp_path: Path) -> None:
    """As earlier versions of this source wrote them, and brokers before 2.8."""
    orders = tmp_path / "orders-0"
    path = segment(orders, 0, epochs((0, 60, 0)))
    before = {"orders": {"0": {"offset": 20, "leaderEpoch": 0}}}
    found = reader(tmp_path)
    end = found.latestOffset(before, ALL)
    assert end == {"orders": {"0": {"offset": 60, "leaderEpoch": 0}}}
    topic_id(orders, "Xl5mVkqkSJ2Ax0qzpOqXbg")  # after an upgrade
    assert found.latestOffset(end, ALL) == end
    append(path, epochs((60, 70, 0)))
    newer = found.latestOffset(end, ALL)
    assert newer["orders"]["0"]["topicId"] == "Xl5mVkqkSJ2Ax0qzpOqXbg"
    assert offsets(found, before, newer) == list(range(20, 70))
    (orders / "partition.metadata").write_bytes(b"damaged")
    append(path, epochs((70, 80, 0)))
    assert offsets(found, newer, found.latestOffset(newer, ALL)) == list(range(70, 80))


def test_growth_and_new_leaders_are_no_loss(tmp_path: Path) -> None:
    path = segment(tmp_path / "orders-0", 0, epochs((0, 100, 2), (100, 340, 4)))
    found = reader(tmp_path)
    assert found.latestOffset(READ, ALL) == READ
    append(path, epochs((340, 400, 6)))
    end = found.latestOffset(READ, ALL)
    assert end == {"orders": {"0": {"offset": 400, "leaderEpoch": 6}}}
    assert offsets(found, READ, end) == list(range(340, 400))
    first = found.latestOffset({"orders": {"0": 0}}, ReadMaxRows(95))
    assert first == {"orders": {"0": {"offset": 95, "leaderEpoch": 2}}}


def test_checkpoints_of_earlier_versions_hold_numbers(tmp_path: Path) -> None:
    segment(tmp_path / "orders-0", 0, epochs((0, 340, 4)))
    old = {"orders": {"0": 340}}
    found = reader(tmp_path)
    assert found.latestOffset(old, ALL) == old  # an idle query stays idle
    assert offsets(found, {"orders": {"0": 330}}, old) == list(range(330, 340))
    assert found.latestOffset({"orders": {"0": 330}}, ALL) == READ


def test_damage_in_the_middle_is_not_taken_for_the_tail(tmp_path: Path) -> None:
    broken = logs.batch(3, 3)
    data = logs.batch(0, 3) + broken[:-2] + b"zz" + logs.batch(6, 1)
    segment(tmp_path / "orders-0", 0, data)
    found = reader(tmp_path)
    start = found.initialOffset()
    end = found.latestOffset(start, ALL)
    assert end == {"orders": {"0": 7}}
    with pytest.raises(ValueError, match=r"at byte \d+"):
        offsets(found, start, end)
    lenient = reader(tmp_path, mode="DROPCORRUPT")
    assert offsets(lenient, start, end) == [0, 1, 2, 6]


def test_read_committed_ends_at_the_first_open_transaction() -> None:
    path = GOLDEN / "4.3.1" / "logs" / "transactions-open-0"
    records = produced("4.3.1")[path.name]
    opened = min(record["offset"] for record in records if record["transaction"] == "open")
    found = reader(path, isolation_level="read_committed")
    start = found.initialOffset()
    end = found.latestOffset(start, ALL)
    known = (path / "partition.metadata").read_text().split()[-1]
    reached = {"offset": opened, "leaderEpoch": 0, "topicId": known}
    assert end == {"transactions-open": {"0": reached}}
    expected = [
        record["offset"]
        for record in records
        if record["offset"] < opened and record["transaction"] != "aborted"
    ]
    assert sorted(offsets(found, start, end)) == sorted(expected)


def test_two_logs_of_one_partition_are_refused(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        segment(tmp_path / name / "orders-0", 0, logs.batch(0, 1))
    with pytest.raises(ValueError, match="orders-0 is in"):
        reader(tmp_path / "*").initialOffset()
