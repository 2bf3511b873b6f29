"""The processor time and the memory of a command, and how they grow along an axis."""

from __future__ import annotations

import math
import os
import resource
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.growth.inputs import AXES, Axis
from benchmarks.growth.ways import Way
from kafkaspec.cli.exits import USAGE

START: Final = 0.15
"""Seconds that a command must take above its start before its growth means something."""
_PAUSE: Final = 0.005
_STEP: Final = math.sqrt(10)
_FIRST: Final = 3000
_WALL: Final = 10.0
"""Seconds on the clock for a second of the processor, on a machine that has other work."""


@dataclass(frozen=True)
class Spent:
    """The resources that a process and its children used.

    Attributes:
        seconds: of the processor; infinite if it was stopped because it took too many.
        memory: most MiB of a process, without pages of files.
        code: how it ended.
    """

    seconds: float
    memory: float
    code: int


@dataclass
class Cell:
    """A command along an axis: what it took by size, and why it could not be measured."""

    command: str
    way: Way
    axis: Axis
    spent: dict[int, Spent] = field(default_factory=dict)
    failure: str = ""

    @property
    def above(self) -> dict[int, float]:
        """Seconds above those of the smallest size, by size, where they mean something."""
        start = self.spent[min(self.spent)].seconds
        return {
            size: each.seconds - start
            for size, each in sorted(self.spent.items())
            if START <= each.seconds - start < math.inf
        }

    @property
    def exponent(self) -> float | None:
        """Slope of log time over log size in the upper half; None where time is that of the start.

        Infinite where the largest size was stopped.
        """
        if any(each.seconds == math.inf for each in self.spent.values()):
            return math.inf
        found = list(self.above.items())
        if len(found) < 2:
            return None
        (small, little), (large, much) = found[-min(3, len(found))], found[-1]
        return math.log(much / little) / math.log(large / small)

    @property
    def largest(self) -> int:
        """The largest size."""
        return max(self.spent)


def spend(command: Sequence[str], most: float) -> Spent:
    """Run a command, and return what it took; ``most`` seconds of the processor stop it."""
    limit = math.ceil(most)
    began = time.monotonic()
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True,
        preexec_fn=partial(resource.setrlimit, resource.RLIMIT_CPU, (limit, limit + 1)),
    )  # fmt: skip
    assert process.stderr is not None
    os.set_blocking(process.stderr.fileno(), False)
    said = b""
    memory = 0
    while True:
        pid, status, used = os.wait4(process.pid, os.WNOHANG)
        said = (said + (process.stderr.read() or b""))[-1000:]
        if pid:
            break
        if time.monotonic() - began > most * _WALL:
            os.killpg(process.pid, 9)
        memory = max(memory, _anonymous(process.pid))
        time.sleep(_PAUSE)
    process.stderr.close()
    process.returncode = code = os.waitstatus_to_exitcode(status)
    if code < 0:
        return Spent(math.inf, memory / 1024, code)
    if code >= USAGE:
        raise AssertionError(f"{' '.join(command)} ended with {code}: {said.decode()}")
    return Spent(used.ru_utime + used.ru_stime, memory / 1024, code)


def _anonymous(pid: int) -> int:
    """Return KiB of a process beside pages of files."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("RssAnon:"))


class Inputs:
    """Inputs in a folder, each made once."""

    def __init__(self, work: Path) -> None:
        self._work = work

    def of(self, axis: Axis, size: int) -> Path:
        """Return an input."""
        folder = self._work / f"{axis.name.replace(' ', '-')}-{size}"
        made = folder.with_suffix(".made")
        if not made.is_symlink():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            made.symlink_to(axis.make(folder, size))
        return made.readlink()

    def output(self) -> Path:
        """Return a name that is free."""
        out = self._work / "out"
        shutil.rmtree(out, ignore_errors=True)
        for file in self._work.glob("out*"):
            file.unlink()
        return out


def measure_cell(cell: Cell, inputs: Inputs, budget: float, most: int) -> None:
    """Measure a command along an axis, up to the largest size that fits in some seconds."""
    try:
        for size in _sizes(cell, budget, most):
            path, out = inputs.of(cell.axis, size), inputs.output()
            cell.spent[size] = spend(cell.way.command(path, out, size), max(30.0, 4 * budget))
    except AssertionError as error:
        cell.failure = str(error)


def _sizes(cell: Cell, budget: float, most: int) -> Iterator[int]:
    """Yield sizes, each after it is known what those before it took."""
    size = least = 1 if cell.axis.unit else 10
    yield least
    end = min(most, cell.axis.most)
    following = min(end, 16 if cell.axis.unit else _FIRST)
    above = 0.0
    while following > size and above * following / size <= budget:
        yield following
        size = following
        above = cell.spent[size].seconds - cell.spent[least].seconds
        following = min(end, round(size * (_STEP if above > START else _STEP**2)))


def measure(
    cells: Sequence[Cell], work: Path, seconds: float, most: int, tell: Callable[[Cell], None]
) -> None:
    """Measure commands along axes, in at most so many seconds on the clock.

    All along one axis come before any comes along the next, as they read the same inputs.
    """
    inputs, began, order = Inputs(work), time.monotonic(), list(AXES)
    for number, cell in enumerate(sorted(cells, key=lambda cell: order.index(cell.axis.name))):
        left = seconds - (time.monotonic() - began)
        if left <= 0:
            cell.failure = "the time of the run was over"
            continue
        measure_cell(cell, inputs, max(0.5, left / (len(cells) - number)), most)
        tell(cell)
