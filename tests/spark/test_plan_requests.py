"""What planning asks of a file system, and that no index makes a row come twice or not at all."""

from __future__ import annotations

import os
import struct
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

pytest.importorskip("pyspark")
pytest.importorskip("fsspec")

import kafkaspec as ks
from kafkaspec.io.window import LEAST_SPARSE
from kafkaspec.lake.increments import plan_increment
from kafkaspec.spark.options import read_options
from kafkaspec.spark.paths import find_logs
from kafkaspec.spark.planning import plan
from tests.counting import Counted, counted
from tests.lake.test_increments import after
from tests.spark import logs
from tests.spark.reading import table, tasks
from tests.work import calls

MEBIBYTE = 1 << 20
COUNT = 60


def test_small_segments_take_one_read_each(tmp_path: Path) -> None:
    root = tmp_path / "many"
    for partition in range(4):
        logs.make(root / f"orders-{partition}", 60, segment_bytes=500)
    segments = len(list(root.rglob("*.log")))
    with counted(root) as url:
        assert sum(map(len, tasks(url))) == segments > 100
        assert set(Counted.of(".log").values()) == {1}
        assert len(Counted.reads) == segments + 2 * 4  # the indexes of each last segment
        # The sizes are in the listing; each range is asked whether it is of the same version.
        more = Counter(Counted.stats) - Counter(path for path, _, _ in Counted.reads)
        assert {path for path in more if not path.endswith("checkpoint")} == {"/many"}
        assert sum(more.values()) <= 6
        assert len(Counted.listings) == 4 + 2


@pytest.mark.parametrize(("size", "pieces"), [("100m", 2), ("4m", 8)])
def test_large_segments_take_one_read_each_and_are_cut_by_their_index(
    tmp_path: Path, size: str, pieces: int
) -> None:
    root = tmp_path / "big"
    logs.make(
        root / "orders-0", 400, 10, 8000, segment_bytes=20 * MEBIBYTE, index_interval_bytes=4096
    )
    whole = sum(path.stat().st_size for path in root.rglob("*.log"))
    with counted(root) as url:
        assert sum(map(len, tasks(url, maxPartitionBytes=size))) == pieces
        assert list(Counted.of(".log").values()) == [1, 1]
        assert Counted.bytes_of(".log") == 2 * LEAST_SPARSE
        Counted.forget()
        assert logs.offsets(table(url, ["offset"], maxPartitionBytes=size)) == list(range(4000))
        assert Counted.bytes_of(".log") <= 1.05 * whole


def entries(path: Path, magic: int, compression: str, inner: bytes) -> list[tuple[int, int]]:
    """Write a segment, and return the offset and position of each of its batches."""
    places, data = [], b""
    for first in range(0, COUNT, 5):
        records = [
            ks.Record(
                offset,
                logs.START + offset if magic else -1,
                b"k",
                inner if offset % 3 else b"plain",
            )
            for offset in range(first, first + 5)
        ]
        places.append((first + 4 if compression != "none" or magic == 2 else first, len(data)))
        data += ks.encode(records, magic=magic, compression=compression)
    path.write_bytes(data)
    return places


CHANGES = st.one_of(
    st.none(),
    st.tuples(st.just("moved"), st.integers(-300, 300)),
    st.tuples(st.just("offsets"), st.integers(-30, 30)),
    st.tuples(st.just("older"), st.integers(0, 11)),
    st.tuples(st.just("random"), st.lists(st.integers(0, 12_000), max_size=24)),
    st.tuples(st.just("reversed"), st.just(0)),
)


@settings(max_examples=100, deadline=None)
@given(
    change=CHANGES,
    kind=st.sampled_from([(0, "none"), (1, "none"), (1, "gzip"), (2, "none"), (2, "gzip")]),
    size=st.sampled_from([150, 700, 2500, 1 << 20]),
    low=st.integers(0, COUNT + 3),
    count=st.integers(0, COUNT),
)
@example(change=("moved", 61 + 8), kind=(2, "none"), size=150, low=0, count=COUNT)
def test_no_index_makes_a_row_come_twice_or_not_at_all(
    tmp_path_factory: pytest.TempPathFactory,
    change: Any,
    kind: tuple[int, str],
    size: int,
    low: int,
    count: int,
) -> None:
    """Values that hold whole batches are in it, as in a topic of segments."""
    directory = tmp_path_factory.mktemp("any") / "orders-0"
    directory.mkdir()
    path = directory / f"{0:020d}.log"
    listed = entries(path, *kind, inner=logs.batch(7, 2) + logs.batch(9, 1))
    how: str
    by: Any
    how, by = change or ("", 0)
    if how == "moved":
        listed = [(offset, max(0, position + by)) for offset, position in listed]
    elif how == "offsets":
        listed = [(max(0, offset + by), position) for offset, position in listed]
    elif how == "older":
        listed = listed[:by]
    elif how == "random":
        listed = list(zip(by[::2], by[1::2], strict=False))
    elif how == "reversed":
        listed = listed[::-1]
    path.with_suffix(".index").write_bytes(b"".join(struct.pack(">ii", *e) for e in listed))
    options = {"maxPartitionBytes": size, "failOnDataLoss": False}
    bounds = {
        "startingOffsets": f'{{"orders":{{"0":{low}}}}}',
        "endingOffsets": f'{{"orders":{{"0":{low + count}}}}}',
    }
    assert logs.offsets(table(directory, ["offset"], **options)) == list(range(COUNT))
    found = logs.offsets(table(directory, ["offset"], **options, **bounds))
    assert found == list(range(COUNT))[low : low + count]


def many(root: Path, partitions: int, segments: int) -> Path:
    """So many partitions, of segments with one batch of three records."""
    tail = logs.batch(0, 3)[8:]  # the base offset is outside of the checksum
    for partition in range(partitions):
        directory = root / f"orders-{partition}"
        directory.mkdir(parents=True)
        for number in range(segments):
            base = 3 * number
            (directory / f"{base:020d}.log").write_bytes(base.to_bytes(8, "big") + tail)
    return root


def opened(root: Path) -> Counter[str]:
    """How often planning opened the files of each kind."""
    found: Counter[str] = Counter()
    real = os.open

    def noting(path: Any, *arguments: Any, **options: Any) -> int:
        found[Path(os.fsdecode(path)).suffix] += 1
        return real(path, *arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "open", noting)
        plan(read_options({"path": str(root)}))
    return found


def test_local_segments_are_opened_once(tmp_path: Path) -> None:
    assert opened(many(tmp_path, 5, 8)) == {".log": 5 * 8}


@pytest.mark.slow
def test_planning_does_the_same_for_each_segment(tmp_path: Path) -> None:
    """Counted, since others use the machine: ``benchmarks`` has the times."""
    few = many(tmp_path / "few", 100, 20)
    lots = tmp_path / "lots"
    for copy in range(5):
        for partition in range(100):
            target = lots / f"orders-{100 * copy + partition}"
            target.mkdir(parents=True)
            for path in (few / f"orders-{partition}").iterdir():
                os.link(path, target / path.name)

    def work(root: Path, segments: int) -> float:
        def planned() -> None:
            (task,) = plan(read_options({"path": str(root), "maxPartitionBytes": "64g"}))
            assert len(task.pieces) == segments

        planned()  # what is imported and cached is so
        return calls(planned) / segments

    assert work(lots, 10_000) <= 1.05 * work(few, 2_000)


def test_an_increment_of_a_lake_takes_one_read_of_each_segment(tmp_path: Path) -> None:
    root = tmp_path / "many"
    for partition in range(4):
        logs.make(root / f"orders-{partition}", 60, segment_bytes=500)
    with counted(root) as url:
        found = find_logs(url, log_start=False)
        assert Counted.reads == []
        made = plan_increment(found, {})
        closed = len(made.segments)
        assert closed == len(list(root.rglob("*.log"))) - 4 > 100  # the active ones wait
        assert max(Counted.of(".log").values()) == 1
        assert len(Counted.of(".log")) <= closed + 4


def test_the_next_increment_takes_one_read_more(tmp_path: Path) -> None:
    """Of the segment where the last one ended: by its leader epoch, the log is the same."""
    orders = logs.make(tmp_path / "many" / "orders-0", 60, segment_bytes=500)
    first = plan_increment(find_logs(str(orders.parent), log_start=False), {}, most=10)
    with counted(orders.parent) as url:
        found = find_logs(url, log_start=False)
        made = plan_increment(found, {("orders", 0): after(first)})
        assert len(made.segments) > 10
        assert set(Counted.of(".log").values()) == {1}
        assert len(Counted.of(".log")) == len(made.segments) + 1
