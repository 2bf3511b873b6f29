"""``read_committed`` beside ``read_uncommitted``, of logs with aborted transactions and without."""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path
from shutil import rmtree
from typing import Any

from click.testing import CliRunner

import kafkaspec as ks
from benchmarks.outcome import Case, Figure, Outcome, Settings, Table, number
from benchmarks.timing import Candidate, measure
from kafkaspec import Record, encode
from kafkaspec.cli.main import main

_GATE = 1.5
_AT_ONCE = 100
"""Transactions that are open at the same time."""
_BATCHES = 8
_LEVELS = ("read_uncommitted", "read_committed")

_LOGS = {
    "all aborted, batches of 1 record": (16_000, 1, 1, True),
    "all aborted, batches of 1 record, without an index": (16_000, 1, 1, False),
    "1 in 10 aborted, batches of 100 records": (1_000, 100, 10, True),
    "1 in 10 aborted, batches of 100 records, without an index": (1_000, 100, 10, False),
    "none aborted, batches of 1 record": (16_000, 1, 0, False),
}
"""Transactions, records of a batch, of how many transactions one is aborted (0 for none), and
whether there is a transaction index; brokers write none where nothing was aborted."""


def write_log(path: Path, transactions: int, records: int, one_in: int) -> None:
    """Write a partition without a producer snapshot."""
    parts, offset = [], 0
    for first in range(0, transactions, _AT_ONCE):
        producers = range(first, min(first + _AT_ONCE, transactions))
        for batch in range(_BATCHES + 1):
            ends = batch == _BATCHES
            for producer in producers:
                if ends:
                    commits = not one_in or producer % one_in != 0
                    body = struct.pack(">hh", 0, commits), struct.pack(">hi", 0, 0)
                    made = [Record(offset, offset, *body)]
                else:
                    numbers = range(offset, offset + records)
                    made = [Record(each, each, b"key", b"value %d" % each) for each in numbers]
                parts.append(
                    encode(
                        made,
                        producer_id=producer,
                        producer_epoch=0,
                        transactional=True,
                        control=ends,
                    )
                )
                offset += len(made)
    with ks.SegmentWriter(path) as writer:
        writer.append(b"".join(parts))
    for snapshot in path.glob("*.snapshot"):
        snapshot.unlink()


def _records(path: Path, isolation: Any) -> int:
    with ks.open(path) as log:
        deque(log.records(isolation=isolation), 0)
    return 1


def _batches(columns: list[str] | None, path: Path, isolation: Any) -> int:
    with ks.open(path) as log:
        deque(log.to_batches(columns, isolation=isolation), 0)
    return 1


def _command(words: tuple[str, ...], path: Path, isolation: str) -> int:
    arguments = [words[0], str(path), "--isolation", isolation, "--jobs", "1", *words[1:]]
    result = CliRunner().invoke(main, arguments)
    if result.exit_code:
        raise AssertionError(result.output)
    return 1


def run(settings: Settings) -> Outcome:
    """Each way to read, both levels in turns; opening the log counts."""
    output = str(settings.work / "committed.parquet")
    readers: dict[str, Callable[[Path, Any], int]] = {
        "`records()`": _records,
        "`to_batches()`": partial(_batches, None),
        "`to_batches(['offset', 'timestamp'])`": partial(_batches, ["offset", "timestamp"]),
        "`dump --format json`": partial(_command, ("dump", "--format", "json")),
        "`export`": partial(_command, ("export", "-o", output, "--force")),
    }
    table = Table(
        "`read_committed` beside `read_uncommitted`",
        ("log", "reader", "ms uncommitted", "ms committed", "ratio"),
        notes=[
            f"At any time, {_AT_ONCE} transactions of {_BATCHES} batches each are open. The log has"
            " no producer snapshot, so finding the last stable offset means reading all headers."
        ],
    )
    figures = []
    for title, (transactions, size, one_in, indexed) in _LOGS.items():
        path = settings.work / "committed-0"
        write_log(path, min(transactions, 200) if settings.quick else transactions, size, one_in)
        for index in path.glob("*.txnindex") if not indexed else ():
            index.unlink()
        for name, read in readers.items():
            candidates = [Candidate(each, partial(read, path, each), 1) for each in _LEVELS]
            found = measure(candidates, settings.rounds(5))
            ratio = found.ratio(_LEVELS[1], _LEVELS[0])
            spent = (number(found.median(level) / 1e6) for level in _LEVELS)
            table.rows.append((title, name, *spent, f"{number(ratio)} x"))
            figures.append(Figure(f"{name}, {title}", ratio, _GATE, True))
        rmtree(path)
    return Outcome([table], figures)


CASE = Case("committed", "Committed records", run)
