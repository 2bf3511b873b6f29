"""Runs drivers in processes that end at one step, without a word to anybody.

A parent that has not used deltalake forks each of them, so that none has to import it.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import deltalake.fs
import pyarrow.dataset
import pyiceberg.avro.file
import pyiceberg.io.pyarrow
import sqlalchemy.dialects.sqlite
from deltalake import DeltaTable
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Transaction

from kafkaspec.lake.epochs import EPOCHS
from kafkaspec.lake.store import Store
from kafkaspec.lake.tables import open_lake
from tests.lake.increments import drive

KILLED = 77
LOADED = (deltalake.fs, pyarrow.dataset, pyiceberg.avro.file, pyiceberg.io.pyarrow, sqlalchemy)
"""Before the fork, so that no driver loads them again."""
CALLS: list[tuple[Any, str]] = [
    (DeltaTable, "create"),
    (DeltaTable, "create_write_transaction"),
    (SqlCatalog, "create_namespace"),
    (SqlCatalog, "create_table"),
    (SqlCatalog, "commit_table"),
    (Transaction, "add_files"),
]
"""The calls that change something. A driver ends before or after the n-th of them."""


class Counter:
    """Ends the process at a step after the files were written; each call has two."""

    def __init__(self, last: int | None) -> None:
        self.last = last
        self.names: list[str] = []
        write = Store.write

        def written(store: Store, path: str, data: bytes) -> None:
            if path.startswith(EPOCHS):
                self.step("before the manifest")
            write(store, path, data)
            if path.startswith(EPOCHS):
                self.step("after the manifest")

        setattr(Store, "write", written)  # noqa: B010
        for owner, name in CALLS:
            self.around(owner, name)

    def step(self, name: str) -> None:
        if len(self.names) == self.last:
            os._exit(KILLED)
        self.names.append(name)

    def around(self, owner: Any, name: str) -> None:
        call: Callable[..., Any] = getattr(owner, name)

        def counted(*arguments: Any, **named: Any) -> Any:
            self.step(f"before {name}")
            result = call(*arguments, **named)
            self.step(f"after {name}")
            return result

        within = vars(owner).get(name)
        setattr(owner, name, staticmethod(counted) if isinstance(within, classmethod) else counted)


def driver(place: str, to: str, last: int | None) -> int:
    """Fork a driver, and return how it ended."""
    process = os.fork()
    if not process:
        try:
            counter = Counter(last)
            drive(open_lake(place, to, create=True))
            Path(f"{place}.steps").write_text("\n".join(counter.names), "utf-8")
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def count(place: str, to: str) -> int:
    """Run a driver, and return the number of its steps."""
    assert driver(place, to, None) == 0
    return len(Path(f"{place}.steps").read_text("utf-8").splitlines())


def kill_new(place: str, to: str, part: int, parts: int) -> None:
    """Kill the first driver of a lake at each step."""
    for step in range(part, count(f"{place}/steps", to), parts):
        lake = f"{place}/new-{step}"
        assert driver(lake, to, step) == KILLED, step
        assert driver(lake, to, None) == 0, step


def kill_later(place: str, to: str, times: int, part: int, parts: int) -> None:
    """Kill later drivers of a lake at each step, so often."""
    count(f"{place}/steps", to)  # the first one has other steps
    count(f"{place}/steps", to)
    for step in range(part, count(f"{place}/steps", to), parts):
        lake, killed = f"{place}/later-{step}", 0
        assert driver(lake, to, None) == 0
        while killed < times:
            ended = driver(lake, to, step)  # an increment without dead rows has fewer steps
            assert ended in (0, KILLED), step
            killed += ended == KILLED
            assert ended == 0 or driver(lake, to, None) == 0, step


if __name__ == "__main__":
    PLACE, TO, *NUMBERS = sys.argv[1:]
    TIMES, PART, PARTS = map(int, NUMBERS)
    if TIMES == 1:
        kill_new(PLACE, TO, PART, PARTS)
    else:
        kill_later(PLACE, TO, TIMES, PART, PARTS)
