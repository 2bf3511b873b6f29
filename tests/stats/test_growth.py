"""The work and the memory of stats grow as broken batches do, and no faster."""

from __future__ import annotations

import tracemalloc
from functools import partial
from pathlib import Path

import pytest

from kafkaspec import Record, encode
from tests.cli.helpers import lines, run
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
