"""CPU time of importing the package and of starting the command, each time in a new process."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from statistics import median

from benchmarks.outcome import Case, Figure, Outcome, Settings, Table, number

_GATE = 10.0
"""Least time of importing aiokafka, as a multiple of that of importing ours."""
_PROGRAM = """
import time
before = time.process_time()
{statement}
spent = time.process_time() - before
import sys
assert not {{"pyarrow", "numpy"}} & set(sys.modules)
print(spent * 1000)
"""
_COMMANDS = {
    "`python -c pass`": ("-c", "pass"),
    "`kafkaspec --version`": ("-m", "kafkaspec", "--version"),
    "`kafkaspec --help`": ("-m", "kafkaspec", "--help"),
}
_MOST = 3.0
_ALONE = "`import pyarrow`"
_LOGS = Path(__file__).parents[2] / "tests" / "golden" / "4.3.1" / "logs"
_ON_A_LOG = {_ALONE: ("-c", "import pyarrow")} | {
    f"`kafkaspec {name}`": ("-m", "kafkaspec", name, str(_LOGS / partition), *more)
    for name, partition, *more in (
        ("dump", "plain-0", "--format", "json"),
        ("verify", "plain-0"),
        ("find", "plain-0", "--offset", "1"),
        ("groups", "__consumer_offsets-0"),
        ("gaps", "plain-0"),
        ("stats", "plain-0"),
        ("transactions", "transactions-0"),
        ("sql", "plain-0", 'SELECT count(*) FROM "plain"'),
    )
}
_MOST_WITHOUT = 1.6
"""Of ``_ALONE``, for commands that do without PyArrow."""
_WITHOUT = ("dump", "verify", "find")
_MOST_ON_A_LOG = 3.5
"""Of ``_ALONE``, for the others: 0.45 s where that takes 0.13."""
_PEER = "import aiokafka"
_STATEMENTS = (
    "import kafkaspec",
    "from kafkaspec import Segment",
    "from kafkaspec.codecs.native import NativeCodec; NativeCodec()",
    _PEER,
)


def run(settings: Settings) -> Outcome:
    """Processes in turns; the time that Python itself takes to start does not count."""
    spent: dict[str, list[float]] = {statement: [] for statement in _STATEMENTS}
    for _ in range(settings.rounds(15)):
        for statement in _STATEMENTS:
            done = subprocess.run(
                [sys.executable, "-c", _PROGRAM.format(statement=statement)],
                capture_output=True,
                text=True,
                check=True,
            )
            spent[statement].append(float(done.stdout))
    table = Table("Import, ms of CPU time", ("statement", "ms"))
    table.notes.append("Neither pyarrow nor numpy is loaded by any of them.")
    table.rows = [(f"`{name}`", number(median(values))) for name, values in spent.items()]
    ratio = median(
        theirs / ours for theirs, ours in zip(spent[_PEER], spent[_STATEMENTS[0]], strict=True)
    )
    figures = [Figure("`import kafkaspec`, `import aiokafka` ÷ ours", ratio, _GATE)]
    started, of_python = _start(settings)
    small, of_pyarrow = _on_a_log(settings)
    return Outcome([table, started, small], [*figures, of_python, *of_pyarrow])


def _start(settings: Settings) -> tuple[Table, Figure]:
    """Whole processes in turns, and Python alone among them."""
    spent = _in_turns(settings, _COMMANDS)
    table = Table("Start of the command, ms of CPU time of the whole process", ("command", "ms"))
    table.rows = [(name, number(median(values))) for name, values in spent.items()]
    alone, version, _ = spent.values()
    ratio = median(ours / python for ours, python in zip(version, alone, strict=True))
    return table, Figure("`kafkaspec --version` ÷ `python -c pass`", ratio, _MOST, at_most=True)


def _on_a_log(settings: Settings) -> tuple[Table, list[Figure]]:
    """Commands on a small partition, and a process that only imports their largest library."""
    spent = _in_turns(settings, _ON_A_LOG)
    alone = spent[_ALONE]
    table = Table(
        "Commands on a small partition, ms of CPU time of the whole process",
        ("command", "ms", f"÷ {_ALONE}"),
    )
    ratios = {
        name: median(ours / library for ours, library in zip(values, alone, strict=True))
        for name, values in spent.items()
    }
    table.rows = [
        (name, number(median(values)), number(ratios[name])) for name, values in spent.items()
    ]
    light = {f"`kafkaspec {name}`" for name in _WITHOUT}
    slowest = max(ratio for name, ratio in ratios.items() if name in light)
    largest = max(ratio for name, ratio in ratios.items() if name not in light)
    what = f"on a small partition ÷ {_ALONE}"
    return table, [
        Figure(f"slowest of {', '.join(sorted(light))} {what}", slowest, _MOST_WITHOUT, True),
        Figure(f"slowest command with PyArrow {what}", largest, _MOST_ON_A_LOG, True),
    ]


def _in_turns(
    settings: Settings, commands: Mapping[str, tuple[str, ...]]
) -> dict[str, list[float]]:
    spent: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(settings.rounds(15)):
        for name, command in commands.items():
            spent[name].append(_cpu(command))
    return spent


def _cpu(command: tuple[str, ...]) -> float:
    """CPU time of a process in ms, that of the system for it included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *command], capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000


CASE = Case("imports", "Import", run)
