"""``read_committed`` and withheld offsets against a model of Kafka's consumer; their growth."""

from __future__ import annotations

import random
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
from kafkaspec.layout.framing import checksum_of
from kafkaspec.log import segment, transactions
from kafkaspec.log.headers import HEADERS_AT_ONCE
from tests.cli.helpers import run
from tests.consumer import ABORT, COMMIT, marker, with_wrong_first_offsets
from tests.work import calls

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


@pytest.mark.core
@given(what=steps, index=st.booleans(), at_once=st.sampled_from([1, 2, 3, HEADERS_AT_ONCE]))
def test_all_readers_deliver_what_a_consumer_gets(
    tmp_path_factory: pytest.TempPathFactory, what: list[Step], index: bool, at_once: int
) -> None:
    path = tmp_path_factory.mktemp("log") / "t-0"
    everything, committed, aborted = written(path, what, index=index)
    with ks.open(path) as log, pytest.MonkeyPatch.context() as patch:
        # Tables that end amid transactions.
        patch.setattr(transactions, "_AT_ONCE", at_once)
        patch.setattr(segment, "HEADERS_AT_ONCE", at_once)
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


@given(what=steps)
def test_without_numpy_the_same_batches_are_left_out(
    tmp_path_factory: pytest.TempPathFactory, what: list[Step]
) -> None:
    path = tmp_path_factory.mktemp("log") / "t-0"
    _, committed, _ = written(path, what)
    for gone in (True, False):
        with ks.open(path) as log, pytest.MonkeyPatch.context() as patch:
            if gone:
                patch.delitem(sys.modules, "numpy")
            found = log.records(isolation="read_committed")
            assert [record.offset for record in found] == committed


@pytest.mark.core
@given(seed=st.integers(0, 1 << 32))
def test_one_transaction_within_another_is_what_a_consumer_makes_of_it(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    """Only a damaged index has such; the next marker ends all that its producer began."""
    log, expected = with_wrong_first_offsets(
        tmp_path_factory.mktemp("log") / "t-0", random.Random(seed)
    )
    for gone in (True, False):
        with ks.open(log.parent) as partition, pytest.MonkeyPatch.context() as patch:
            if gone:
                patch.delitem(sys.modules, "numpy")
            options: dict[str, Any] = {"isolation": "read_committed"}
            assert [record.offset for record in partition.records(**options)] == expected
            assert isinstance(partition, ks.Partition)
            batches = [each for each in partition.batches() if not each.is_control]
            aborted = partition.aborted_transactions()
            kept = (each for each in batches if not aborted.holds(each))
            assert [record.offset for each in kept for record in each.records()] == expected


@pytest.mark.parametrize("crc", ["raise", "ignore"])
def test_a_marker_with_a_wrong_checksum_aborts_nothing(tmp_path: Path, crc: Any) -> None:
    """A consumer refuses it; who does not look at checksums takes it, and all markers after it."""
    what = [(p, 1, action) for action in ("data", "abort") for p in range(6)]
    path = tmp_path / "t-0"
    written(path, what, index=False)
    with ks.Partition(path) as log:
        batches = [batch for batch in log.batches() if batch.is_control]
        file = log.segment_paths[0]
        damaged = batches[2]
    data = bytearray(file.read_bytes())
    data[damaged.position + damaged.framing.size + checksum_of(damaged.kind.key).position] ^= 1
    file.write_bytes(data)
    with ks.Partition(path, crc=crc) as log:
        aborted = log.aborted_transactions()
    expected = [p for p in range(6) if crc == "ignore" or p != 2]
    assert sorted(item.producer_id for item in aborted) == expected


def test_dump_prints_the_same_records(tmp_path: Path) -> None:
    actions = ["data"] * 9 + ["abort", "commit", "abort"]
    what = [(number % 3, 2, action) for number, action in enumerate(actions)]
    _, committed, _ = written(tmp_path / "t-0", what)
    found = run("dump", tmp_path / "t-0", "--isolation", "read_committed", "-f", "%o\n")
    assert [int(line) for line in found.stdout.split()] == committed


@pytest.mark.core
def test_pieces_of_a_log_take_their_own_transactions(tmp_path: Path) -> None:
    """As the plan of a Spark job does; the model looks at all of them for each piece."""

    def pieces(number: int) -> int:
        path = tmp_path / f"{number}-0"
        written(path, [(p, 2, action) for p in range(number) for action in ("data", "abort")])
        with ks.Partition(path) as log:
            aborted, end = log.aborted_transactions(), log.log_end_offset
        bounds = [(low, low + 10) for low in range(0, end, 10)]
        for low, high in ((None, 7), (7, None), *bounds[:20]):
            expected = [
                item
                for item in aborted
                if (high is None or item.first_offset < high)
                and (low is None or item.marker >= low)
            ]
            assert list(aborted.between(low, high)) == expected
        return calls(lambda: [aborted.between(*bound) for bound in bounds])

    assert pieces(1200) < 5 * pieces(300)


@pytest.mark.slow
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
        "columns": lambda log: log.to_arrow(["offset"], isolation="read_committed"),
        "dump": lambda log: run("dump", log.path, "--isolation", "read_committed", "-f", "%o"),
        "export": lambda log: run(
            "export",
            log.path,
            "--isolation",
            "read_committed",
            "-o",
            tmp_path / "out.parquet",
            "--force",
        ),
        "gaps": read_gaps,
    }
    for name, read in readers.items():
        small, large = work(300, read), work(1200, read)
        assert large < 5 * small, f"{name}: {small} calls for 300 transactions, {large} for 1,200"
