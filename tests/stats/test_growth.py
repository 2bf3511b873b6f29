"""The work and the memory of stats grow as broken batches do, and no faster."""

from __future__ import annotations

import tracemalloc
from functools import partial
from pathlib import Path

import pytest

from kafkaspec import Record, encode
from kafkaspec.stats.measure import measure
from tests.cli.helpers import lines, run
from tests.stats.test_laws import units
from tests.work import calls


@pytest.mark.slow
def test_broken_batches(tmp_path: Path) -> None:
    work, memory = [], []
    for number in (500, 1000):
        log = tmp_path / f"t{number}-0" / f"{0:020d}.log"
        log.parent.mkdir()
        entries = [encode([Record(at, at, b"k", b"v")]) for at in range(2 * number)]
        entries[::2] = [entry[:-1] + b"x" for entry in entries[::2]]
        log.write_bytes(b"".join(entries))
        stats = partial(run, "stats", "--jobs", "1", "--format", "json", log)
        (row,) = [item for item in lines(stats()) if item["type"] == "partition"]
        assert (row["records"], row["batches"]) == (number, number)
        work.append(calls(stats))
        tracemalloc.start()
        stats()
        memory.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert work[1] < 2.2 * work[0], work
    assert memory[1] - memory[0] < 500 * 8000, memory


@pytest.mark.slow
def test_small_partitions(tmp_path: Path) -> None:
    """A partition costs no tables of its own: it cost 19, and as many calls as 200 batches."""
    entry = encode([Record(0, 1000, b"k", b"v")])
    partitions = []
    for number in range(90):
        partitions.append(tmp_path / f"t-{number}")
        partitions[-1].mkdir()
        (partitions[-1] / f"{0:020d}.log").write_bytes(entry)
    work = {}
    for number in (30, 60, 90):
        given = units(*partitions[:number])
        work[number] = calls(lambda given=given: measure(given))  # type: ignore[misc]
        assert measure(given).total["records"] == number
    assert work[90] - work[60] < 30 * 4500, work
    assert work[90] - work[60] < 1.1 * (work[60] - work[30]), work
