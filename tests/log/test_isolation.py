"""``read_committed`` and withheld offsets against a model of Kafka's consumer; their growth."""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kafkaspec as ks
from kafkaspec import Record, encode
from kafkaspec.forensics.gaps.reading import read_gaps
from tests.cli.helpers import run

ABORT, COMMIT = 0, 1
Step = tuple[int, int, str]
"""A producer, a number of records, and what it does, such as ``abort``."""

steps = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.integers(1, 4),
        st.sampled_from(["data", "data", "abort", "commit", "plain"]),
    ),
    min_size=1,
    max_size=40,
)


def marker(offset: int, producer: int, kind: int) -> bytes:
    record = Record(offset, offset, struct.pack(">hh", 0, kind), struct.pack(">hi", 0, 0))
    return encode(
        [record], producer_id=producer, producer_epoch=0, transactional=True, control=True
    )


def written(
    path: Path, what: list[Step], *, index: bool = True
) -> tuple[list[int], list[int], set[int]]:
    """Write a partition; return what each isolation level delivers, and the aborted offsets.

    The model follows ``CompletedFetch``: a batch of a producer is left out from the first offset of
    an aborted transaction of it to the marker.
    """
    data, everything, offset = [], [], 0
    running: dict[int, list[int]] = {}
    aborted: set[int] = set()
    for producer, count, action in what:
        if action in ("abort", "commit"):
            data.append(marker(offset, producer, ABORT if action == "abort" else COMMIT))
            offset += 1
            ended = running.pop(producer, [])
            aborted |= set(ended) if action == "abort" else set()
            continue
        offsets = list(range(offset, offset + count))
        transactional = action == "data"
        if transactional:
            running.setdefault(producer, []).extend(offsets)
        elif producer in running:  # no broker takes it
            continue
        records = [Record(number, number, b"k", b"v") for number in offsets]
        own: dict[str, Any] = {"producer_id": producer, "producer_epoch": 0, "transactional": True}
        data.append(encode(records, **own) if transactional else encode(records))
        everything += offsets
        offset += count
    with ks.SegmentWriter(path) as writer:
        writer.append(b"".join(data))
    if not index:
        for each in (*path.glob("*.txnindex"), *path.glob("*.snapshot")):
            each.unlink()
    stable = min((offsets[0] for offsets in running.values()), default=offset)
    committed = [number for number in everything if number < stable and number not in aborted]
    return everything, committed, aborted


@given(what=steps, index=st.booleans())
def test_all_readers_deliver_what_a_consumer_gets(
    tmp_path_factory: pytest.TempPathFactory, what: list[Step], index: bool
) -> None:
    path = tmp_path_factory.mktemp("log") / "t-0"
    everything, committed, aborted = written(path, what, index=index)
    with ks.open(path) as log:
        assert [record.offset for record in log.records()] == everything
        for isolation, expected in (
            ("read_uncommitted", everything),
            ("read_committed", committed),
        ):
            options: dict[str, Any] = {"isolation": isolation}
            assert [record.offset for record in log.records(**options)] == expected
            assert log.to_arrow(["offset"], **options)["offset"].to_pylist() == expected
        assert isinstance(log, ks.Partition)
        ranges = read_gaps(log).ranges.to_pylist()
    withheld = [row for row in ranges if row["why"] == "aborted"]
    offsets = [n for row in withheld for n in range(row["first_offset"], row["last_offset"] + 1)]
    assert sorted(offsets) == sorted(aborted), "each offset once"
    assert sum(row["missing"] for row in withheld) == len(aborted)


def test_dump_prints_the_same_records(tmp_path: Path) -> None:
    actions = ["data"] * 9 + ["abort", "commit", "abort"]
    what = [(number % 3, 2, action) for number, action in enumerate(actions)]
    _, committed, _ = written(tmp_path / "t-0", what)
    found = run("dump", tmp_path / "t-0", "--isolation", "read_committed", "-f", "%o\n")
    assert [int(line) for line in found.stdout.split()] == committed


def calls(function: Callable[[], Any]) -> int:
    """Return how many functions a function calls, of Python and of C."""
    count = 0

    def note(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("index", [True, False])
def test_work_grows_as_the_log_does(tmp_path: Path, index: bool) -> None:
    def work(number: int, read: Callable[[Any], Any]) -> int:
        path = tmp_path / f"{number}-0"
        if not path.exists():
            # All of them are open at the same time.
            written(path, [(p, 2, action) for action in ("data", "abort") for p in range(number)],
                    index=index)  # fmt: skip
        with ks.open(path) as log:
            return calls(lambda: read(log))

    readers: dict[str, Callable[[Any], Any]] = {
        "records": lambda log: list(log.records(isolation="read_committed")),
        "batches": lambda log: log.to_arrow(isolation="read_committed"),
        "gaps": read_gaps,
    }
    for name, read in readers.items():
        small, large = work(300, read), work(1200, read)
        assert large < 5 * small, f"{name}: {small} calls for 300 transactions, {large} for 1,200"
