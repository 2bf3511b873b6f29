"""Commands that explain or mend a log do as much for each transaction, however many there are."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from benchmarks.growth.inputs import AXES
from kafkaspec import Record, encode
from kafkaspec.forensics.headers import Unread, tables
from kafkaspec.forensics.salvage import SalvageReport, salvage
from kafkaspec.intact.division import judge
from kafkaspec.log.header_table import HeaderTable
from kafkaspec.log.headers import readable_headers
from kafkaspec.log.segment import Segment
from tests.cli.helpers import run
from tests.extent import examples
from tests.goldens import GOLDEN
from tests.log.test_isolation import Step, written
from tests.work import calls, lines


def _without_markers(path: Path) -> None:
    """Break the checksum of each control batch."""
    (file,) = path.glob("*.log")
    data = bytearray(file.read_bytes())
    with Segment(bytes(data)) as log:
        for batch in log.batches():
            if batch.is_control:
                data[batch.end - 1] ^= 0xFF
    file.write_bytes(data)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("together", "index", "options"),
    [
        (False, True, {"fill": "none"}),
        (False, False, {"fill": "all"}),
        (True, False, {"fill": "all", "markers": "abort"}),
    ],
    ids=["lost aborts", "fillers", "open transactions"],
)
def test_salvage_does_as_much_for_each_piece(
    tmp_path: Path, together: bool, index: bool, options: dict[str, Any]
) -> None:
    """Each second batch is broken: markers of one producer, or of as many as there are pieces."""
    work = []
    for pieces in (2000, 8000):
        path = tmp_path / f"{pieces}-0"
        ends: list[Step] = [
            (number * together, 1, action)
            for number in range(pieces)
            for action in ("data", "abort")
        ]
        written(path, ends, index=index)
        _without_markers(path)
        reports: list[SalvageReport] = []
        mend = partial(salvage, path, tmp_path / f"out-{pieces}", sync=False, **options)
        work.append(calls(lambda mend=mend, reports=reports: reports.append(mend())))  # type: ignore[misc]
        assert len(reports[0].partitions[0].added) == pieces, "what is counted takes part"
    assert work[1] < 4.5 * work[0], work


@pytest.mark.slow
def test_a_broken_batch_costs_little(tmp_path: Path) -> None:
    """Each second batch is broken: 80 pairs of runs were compared for each of them."""
    work = []
    for number in (1000, 2000):
        path = tmp_path / f"{number}-0"
        written(path, [(0, 1, "data") for _ in range(2 * number)])
        (file,) = path.glob("*.log")
        with Segment(file) as log:
            data = bytearray(log.path.read_bytes())  # type: ignore[union-attr]
            for batch in [*log.batches()][1::2]:
                data[batch.end - 1] ^= 0xFF
        file.write_bytes(data)
        with Segment(file) as log:
            assert len(judge(log, None).ranges) == number
            work.append(calls(partial(judge, log, None)))
    assert work[1] - work[0] < 1000 * 150, work


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "file"),
    [
        (["retention"], "log/partition.py"),
        (["producers"], "log/partition.py"),
        (["compaction", "--config", "cleanup.policy=compact"], "cleaner/aborts.py"),
    ],
    ids=["retention", "producers", "compaction"],
)
def test_a_segment_costs_the_same_beside_many(
    tmp_path: Path, command: list[str], file: str
) -> None:
    """The base offsets of a log are listed once, and not once for each segment."""
    entry = encode([Record(0, 1, b"k", b"v")])
    work = []
    for number in (150, 300, 600):
        path = tmp_path / f"t{number}-0"
        path.mkdir()
        for base in range(number):
            (path / f"{base:020d}.log").write_bytes(base.to_bytes(8, "big") + entry[8:])
        work.append(lines(partial(run, *command, path), file))
    assert work[2] - work[1] < 2.2 * (work[1] - work[0]), work


def test_headers_of_intact_entries_are_those_of_each_range(tmp_path: Path) -> None:
    chance = random.Random(4)
    found = 0
    for file in sorted(GOLDEN.glob("4.3.1/logs/segments-0/*.log")):
        for number in range(examples(3)):
            data = bytearray(file.read_bytes())
            for _ in range(3 * number):
                data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
            copy = tmp_path / f"t{number}-0" / file.name
            copy.parent.mkdir(exist_ok=True)
            copy.write_bytes(data)
            with Segment(copy) as log:
                ranges = judge(log, None).ranges
                expected = [
                    place
                    for part in ranges
                    for table in readable_headers(log, part.start, part.end)
                    if isinstance(table, HeaderTable)
                    for place in table.position
                ]
                whole: list[HeaderTable] = []
                some = tables(log, Unread(), lambda log: judge(log, None), whole.append)
                assert [place for table in some for place in table.position] == expected
                plain = tables(log, Unread())
                assert [place for table in plain for place in table.position] == [
                    place for table in whole for place in table.position
                ]
                found += len(ranges) > 1
    assert found


@pytest.mark.slow
def test_transactions_as_text_do_as_much_for_each(tmp_path: Path) -> None:
    work = []
    for number in (5000, 20000):
        path = tmp_path / f"{number}-0"
        ends = [("data", "commit"), ("data", "abort"), ("data",)]
        what: list[Step] = [(n, 1, action) for n in range(number) for action in ends[n % 3]]
        written(path, what)
        work.append(calls(partial(run, "transactions", path)))
        assert f"... and {number - 50:,} more" in run("transactions", path).stdout
    assert work[1] < 4.5 * work[0], work


@pytest.mark.slow
def test_verify_reads_an_aborted_transaction_once(tmp_path: Path) -> None:
    """Its marker was decoded again for the state of producers; most markers are alike."""
    work = []
    for number in (1, 1000, 2000):  # the first imports what the others use
        folder = tmp_path / str(number)
        folder.mkdir()
        log = AXES["aborted transactions"].make(folder, number)
        work.append(calls(partial(run, "verify", "--jobs", "1", log)))
    assert work[2] - work[1] < 1000 * 380, work


@pytest.mark.slow
def test_dump_passes_over_a_broken_batch_with_little_work(tmp_path: Path) -> None:
    """Each batch beside a broken one was handed over alone, and its headers were read alone."""
    work = []
    for number in (1000, 2000):
        folder = tmp_path / str(number)
        folder.mkdir()
        log = AXES["broken batches"].make(folder, number)
        work.append(calls(partial(run, "dump", "--format", "json", log)))
    assert work[1] - work[0] < 1000 * 400, work
