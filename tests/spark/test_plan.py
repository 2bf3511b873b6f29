"""Planning: what is pruned, where segments are cut, what is packed together."""

from __future__ import annotations

import logging
import os
import shutil
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("pyspark")

import kafkaspec as ks
from kafkaspec.spark.failing import DataLossError
from kafkaspec.spark.jobs.units import dealt
from kafkaspec.spark.jobs.verify import units_of
from kafkaspec.spark.pieces import TaskPiece, open_piece
from tests.goldens import GOLDEN
from tests.spark import logs
from tests.spark.reading import stream_reader, table, tasks

RECORD_COUNT = 57
"""Byte of a batch: KIP-98."""


@pytest.fixture(name="orders", scope="module")
def _orders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three segments of about 2 KiB."""
    directory = tmp_path_factory.mktemp("plan") / "orders-0"
    return logs.make(directory, 30, segment_bytes=2000)


def pieces(path: Path | list[str], **options: object) -> list[TaskPiece]:
    return [piece for task in tasks(path, **options) for piece in task]


def between(low: int, high: int) -> dict[str, str]:
    return {
        "startingOffsets": f'{{"orders":{{"0":{low}}}}}',
        "endingOffsets": f'{{"orders":{{"0":{high}}}}}',
    }


def boundaries(path: str) -> set[int]:
    with ks.Segment(path) as segment:
        return {batch.position for batch in segment.batches()} | {segment.size}


def test_pieces_lie_on_batches_and_cover_all(orders: Path) -> None:
    found = pieces(orders, maxPartitionBytes=500)
    assert len(found) > 6
    for path in {piece.path for piece in found}:
        own = [piece for piece in found if piece.path == path]
        assert own[0].start == 0
        assert own[-1].end == Path(path).stat().st_size
        assert own[-1].last
        assert [piece.end for piece in own[:-1]] == [piece.start for piece in own[1:]]
        assert {piece.start for piece in own} <= boundaries(path)


def placed(piece: TaskPiece) -> tuple[int, int]:
    """The bytes of a piece once its task has settled them."""
    made, file = open_piece(piece)
    file.close()
    return made.start, made.end


@pytest.mark.parametrize("index", ["sound", "missing", "empty", "wrong"])
def test_without_a_sound_index_headers_are_walked(orders: Path, index: str, tmp_path: Path) -> None:
    copy = tmp_path / "orders-0"
    copy.mkdir()
    for path in orders.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    for path in copy.glob("*.index"):
        data = path.read_bytes()
        if index == "missing":
            path.unlink()
        elif index == "empty":
            path.write_bytes(b"")
        elif index == "wrong":  # each entry leads a byte too far
            with ks.Segment(path.with_suffix(".log")) as segment:
                assert segment.offset_index is not None
                entries = segment.offset_index.entries
                base = segment.base_offset or 0
            data = b"".join(
                (item.offset - base).to_bytes(4, "big") + (item.position + 1).to_bytes(4, "big")
                for item in entries
            )
            path.write_bytes(data)
    found = pieces(copy, maxPartitionBytes=500)
    for name in {piece.path for piece in found if index != "wrong"}:
        assert {piece.start for piece in found if piece.path == name} <= boundaries(name)
    for name in {piece.path for piece in found}:
        settled = [placed(piece) for piece in found if piece.path == name]
        assert {place for piece in settled for place in piece} <= boundaries(name)
        assert [end for _, end in settled[:-1]] == [start for start, _ in settled[1:]]
    assert len(found) > 6
    assert logs.offsets(table(copy, maxPartitionBytes=500)) == list(range(150))
    assert logs.offsets(table(copy, **between(33, 97))) == list(range(33, 97))


def test_no_cut_is_inside_a_broken_batch(orders: Path, tmp_path: Path) -> None:
    """The position of an error is that of a field; the piece before would end as if cut off."""
    copy = shutil.copytree(orders, tmp_path / "orders-0")
    for path in copy.glob("*.log"):
        with ks.Segment(path) as segment:
            position = list(segment.batches())[3].position
        data = bytearray(path.read_bytes())
        data[position + RECORD_COUNT] ^= 0x80  # which no batch may have
        path.write_bytes(data)
        planned = pieces(copy, maxPartitionBytes=500)
        settled = [placed(piece) for piece in planned if piece.path == str(path)]
        assert {place for piece in settled for place in piece} <= boundaries(
            str(orders / path.name)
        )
    with pytest.raises(ks.KafkaSpecError, match="not allowed"):
        table(copy, maxPartitionBytes=500)


@settings(max_examples=30)
@given(low=st.integers(0, 160), count=st.integers(0, 160), size=st.sampled_from([150, 700, 10_000]))
def test_ranges_of_offsets(low: int, count: int, size: int, orders: Path) -> None:
    found = table(orders, ["offset"], maxPartitionBytes=size, **between(low, low + count))
    assert logs.offsets(found) == [item for item in range(150) if low <= item < low + count]


def test_offsets_prune_by_name_and_index(orders: Path, caplog: pytest.LogCaptureFixture) -> None:
    with ks.open(orders) as partition:
        assert isinstance(partition, ks.Partition)
        bases = [segment.base_offset or 0 for segment in partition.segments]
    assert len(bases) >= 3
    with caplog.at_level(logging.INFO, "kafkaspec.spark"):
        found = pieces(orders, **between(bases[1] + 20, bases[1] + 25))
    assert {Path(piece.path).name for piece in found} == {f"{bases[1]:020d}.log"}
    assert sum(piece.size for piece in found) < Path(found[0].path).stat().st_size / 2
    assert f"{len(bases) - 1} segments by name" in caplog.text


@pytest.mark.parametrize("seconds", [0, 33, 75, 149])
def test_timestamps_are_looked_up(orders: Path, seconds: int) -> None:
    wanted = logs.START + 1000 * seconds
    found = table(orders, ["offset"], startingTimestamp=wanted)
    assert logs.offsets(found) == list(range(seconds, 150))
    found = table(orders, ["offset"], endingOffsetsByTimestamp=f'{{"orders":{{"0":{wanted}}}}}')
    assert logs.offsets(found) == list(range(seconds))


@pytest.mark.parametrize("modified", [logs.START // 1000 - 9, logs.START // 1000 + 10_000_000])
def test_copies_have_new_file_times(orders: Path, tmp_path: Path, modified: int) -> None:
    """A broker takes the time of a file for the largest timestamp of a segment without any."""
    copy = tmp_path / "orders-0"
    shutil.copytree(orders, copy)
    (copy / f"{0:020d}.log").rename(copy / f"{0:020d}.kept")
    for path in copy.glob(f"{0:020d}.*index"):
        path.write_bytes(b"")
    (copy / f"{0:020d}.log").touch()  # an empty first segment
    os.utime(copy / f"{0:020d}.log", (modified, modified))
    with ks.open(copy) as partition:
        assert isinstance(partition, ks.Partition)
        first = partition.base_offsets[1]
    wanted = logs.START + 1000 * 75
    starting = {"startingTimestamp": wanted}
    ending = {"endingTimestamp": wanted, "failOnDataLoss": False}  # of the first segment
    assert first < 75
    assert logs.offsets(table(copy, ["offset"], **starting)) == list(range(75, 150))
    assert logs.offsets(table(copy, ["offset"], **ending)) == list(range(first, 75))
    with ks.open(copy) as partition:
        answer = partition.find(timestamp=wanted).offset
    by_broker = {"timestampLookup": "broker", "startingOffsetsByTimestampStrategy": "latest"}
    found = table(copy, ["offset"], **starting, **by_broker)
    assert logs.offsets(found) == ([] if answer is None else list(range(answer, 150)))
    assert (answer is None) == (modified * 1000 > wanted)


def test_a_starting_timestamp_that_nothing_reaches(orders: Path) -> None:
    beyond = logs.START + 10_000_000
    with pytest.raises(ValueError, match="startingOffsetsByTimestampStrategy=latest"):
        tasks(orders, startingTimestamp=beyond)
    strategy = {"startingOffsetsByTimestampStrategy": "latest"}
    assert len(table(orders, startingTimestamp=beyond, **strategy)) == 0
    assert len(table(orders, endingTimestamp=beyond)) == 150


STARTS: tuple[dict[str, str], ...] = (
    {},
    {"startingOffsets": "earliest"},
    {"startingOffsets": '{"orders":{"0":-2}}'},
    {"startingTimestamp": "0"},
    {"startingOffsetsByTimestamp": '{"orders":{"0":0}}'},
)
"""All forms of an earliest start."""


@pytest.mark.parametrize("start", STARTS, ids=str)
def test_every_start_obeys_the_log_start_offset(tmp_path: Path, start: dict[str, str]) -> None:
    """Kafka: ``log-start-offset-checkpoint``; a broker serves from there."""
    directory = logs.make(tmp_path / "orders-0", 20, segment_bytes=1000)
    checkpoint = tmp_path / "log-start-offset-checkpoint"
    checkpoint.write_bytes(b"0\n1\norders 0 33\n")
    stream = {"startingOffsets": "earliest", **start}
    for path in (tmp_path, directory):
        assert logs.offsets(table(path, ["offset"], **start)) == list(range(33, 100))
        assert stream_reader(path, **stream).initialOffset() == {"orders": {"0": 33}}
        every = table(path, ["offset"], logStart="ignore", **start)
        assert logs.offsets(every) == list(range(100))
        beginning = stream_reader(path, logStart="ignore", **stream).initialOffset()
        assert beginning == {"orders": {"0": 0}}
    with pytest.raises(DataLossError, match=r"offsets 20\.\.32 of orders-0 are gone"):
        tasks(directory, **between(20, 40))
    there = table(directory, ["offset"], **between(20, 40), failOnDataLoss=False)
    assert logs.offsets(there) == list(range(33, 40))
    checkpoint.write_bytes(b"no checkpoint")  # a broker then begins with the first segment
    assert logs.offsets(table(directory, ["offset"], **start)) == list(range(100))


def test_offsets_that_are_gone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    late = logs.make(tmp_path / "orders-0", 4, base=100)
    with pytest.raises(DataLossError, match=r"offsets 90\.\.99 of orders-0 are gone"):
        tasks(late, **between(90, 110))
    found = table(late, **between(90, 110), failOnDataLoss=False)
    assert logs.offsets(found) == list(range(100, 110))
    assert "are gone" in caplog.text


def test_topics_and_partitions(tmp_path: Path) -> None:
    for name in ("orders-0", "orders-1", "orders.eu-0", "stock-0"):
        logs.make(tmp_path / name, 1)

    def read(**options: str) -> set[str]:
        return {Path(piece.path).parent.name for piece in pieces(tmp_path, **options)}

    assert read(subscribe="orders, stock") == {"orders-0", "orders-1", "stock-0"}
    assert read(subscribePattern="orders.*") == {"orders-0", "orders-1", "orders.eu-0"}
    assert read(assign='{"orders":[1],"stock":[0]}') == {"orders-1", "stock-0"}
    with pytest.raises(ValueError, match="startingOffsets specifies no offset for orders-1"):
        tasks(tmp_path, subscribe="orders", startingOffsets='{"orders":{"0":1}}')
    with pytest.raises(ValueError, match="for stock-0, which is not there"):
        tasks(
            tmp_path,
            assign='{"orders":[0]}',
            endingOffsets='{"orders":{"0":1},"stock":{"0":1}}',
        )


def test_topics_and_partitions_that_are_not_there(tmp_path: Path) -> None:
    logs.make(tmp_path / "orders-0", 1)
    wrong = (
        ({"subscribe": "orders,stock,bills"}, "subscribe names bills, stock, which is not there"),
        ({"assign": '{"orders":[0,1],"stock":[2]}'}, "assign names orders-1, stock-2, which"),
    )
    for options, text in wrong:
        with pytest.raises(ValueError, match=text):
            tasks(tmp_path, **options)
        with pytest.raises(ValueError, match=text):
            stream_reader(tmp_path, **options).initialOffset()
    for options, text in (
        ({"subscribe": "Order"}, "'orders'"),
        ({"assign": '{"order":[0]}'}, "'orders-0'"),
    ):
        with pytest.raises(ValueError, match=rf"which is not there; did you mean {text}\?"):
            tasks(tmp_path, **options)
    assert len(table(tmp_path, subscribe="orders")) == len(table(tmp_path)) == 5


def test_paths(tmp_path: Path) -> None:
    first = logs.make(tmp_path / "one" / "orders-0", 2)
    logs.make(tmp_path / "two" / "stock-0", 2)
    (tmp_path / "two" / "stock-0.0123456789abcdef0123456789abcdef-delete").mkdir()
    (tmp_path / "two" / "meta.properties").write_text("version=1\n")
    segment = logs.segment(first)
    assert len(table(segment)) == 10
    assert set(table(segment).column("topic").to_pylist()) == {"orders"}
    assert len(table(f"file://{segment}")) == 10
    assert len(table([str(segment), str(first), str(tmp_path / "two")])) == 20
    assert len(table(tmp_path / "*")) == 20
    assert len(table(f"{tmp_path}/*/*-0/*")) == 20
    (tmp_path / "empty").mkdir()
    assert len(table(tmp_path / "empty")) == 0
    for nothing in (tmp_path / "none", tmp_path / "no*", tmp_path / "two" / "meta.properties"):
        with pytest.raises(ks.KafkaSpecError, match=str(nothing.name).replace("*", r"\*")):
            tasks(nothing)


def test_urls(tmp_path: Path) -> None:
    import fsspec

    directory = logs.make(tmp_path / "orders-0", 20, segment_bytes=2000)
    files = fsspec.filesystem("memory")
    for path in directory.iterdir():
        files.pipe_file(f"/archive/orders-0/{path.name}", path.read_bytes())
    local = table(directory, ["topic", "partition", "offset", "value"], maxPartitionBytes=600)
    for url in ("memory://archive", "memory://archive/*/*.log", "memory://archive/orders-0"):
        assert table(url, local.column_names, maxPartitionBytes=600).equals(local)


def test_small_segments_are_packed_and_large_ones_divided(orders: Path) -> None:
    assert len(tasks(GOLDEN / "4.3.1" / "logs")) == 1
    assert len(tasks(GOLDEN / "4.3.1" / "logs", minPartitions=8)) >= 8
    planned = tasks(orders, maxRecordsPerPartition=20)
    with_rows = [len(table_of) for table_of in (tuple(task) for task in planned)]
    assert set(with_rows) == {1}
    assert len(planned) >= 150 // 20


def test_ten_thousand_small_segments(tmp_path: Path) -> None:
    directory = tmp_path / "many-0"
    directory.mkdir()
    data = logs.batch(0, 1)
    for number in range(10_000):
        base = number.to_bytes(8, "big")
        (directory / f"{number:020d}.log").write_bytes(base + data[8:])
    began = time.process_time()
    planned = tasks(tmp_path)
    taken = time.process_time() - began
    print(f"planned 10,000 segments in {taken:.2f} s of one core: {len(planned)} tasks")
    assert sum(len(task) for task in planned) == 10_000
    assert len(planned) <= 40
    some = table([piece.path for piece in planned[3]], ["offset"])
    assert logs.offsets(some) == [int(Path(piece.path).stem) for piece in planned[3]]


def test_one_large_segment_beside_a_thousand_small_ones(tmp_path: Path) -> None:
    """The largest task has no more than an eighth above what each is to have."""
    small, size = 1000, 20_000
    large = logs.make(tmp_path / "orders-0", 1000, count=5, size=100)
    data = logs.batch(0, 2, size=10)
    for number in range(1, small + 1):
        directory = tmp_path / f"orders-{number}"
        directory.mkdir()
        (directory / f"{0:020}.log").write_bytes(data)
    whole = logs.segment(large).stat().st_size
    assert whole > 25 * size
    planned = tasks(tmp_path, maxPartitionBytes=size)
    weights = [sum(piece.size for piece in pieces) for pieces in planned]
    assert sum(weights) == whole + small * len(data)
    assert max(weights) <= size + size // 8 + len(logs.batch(0, 5, 100))
    assert table(tmp_path, ["offset"], maxPartitionBytes=size).num_rows == 5000 + 2 * small
    # Jobs deal parts of segments to as many tasks as there are slots for, the largest first.
    units = units_of(tmp_path, ("native",), size)
    sizes = [unit.size for unit in units]
    hands = [sum(sizes[number] for number in hand) for hand in dealt(sizes, 6)]
    assert max(hands) <= 1.05 * sum(hands) / len(hands)
    assert len(units) > small + 20
