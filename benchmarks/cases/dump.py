"""The whole process of ``kafkaspec dump`` against that of Kafka's dump tool."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from benchmarks.data import MIB, Shape, segment_file
from benchmarks.java import MissingError, dump_command
from benchmarks.outcome import Case, Figure, Outcome, Settings, Table, number, times

_JSON = ("--format", "json")
_TEXT = ("--format", "kafka", "--print-data-log")
_STRING = ("--format", r"| %o %T %K %k = %S %s\n")
_GATES: Mapping[int, Mapping[tuple[str, ...], float]] = {
    64 * MIB: {_JSON: 7.0, _TEXT: 5.0, _STRING: 7.0},
    256 * MIB: {_JSON: 12.0},
}
"""Bytes of records, and how many times as long Kafka's tool has to take at least as ours with some
options."""
_OPTIONS_GATE = 1.2
_STARTS = {_JSON: b"{", _TEXT: b"| offset:", _STRING: b"| "}
"""What the line of a record begins with."""
_THEIRS = "Kafka's dump tool"


def _run(command: Sequence[str], output: Path) -> tuple[float, float]:
    """Seconds of wall time, and of CPU time of the process with all its threads.

    A file that is there is written again in its place: on a virtual machine, memory that the kernel
    has not used before comes from the host, which takes longer than all of the dump.
    """
    with output.open("r+b" if output.exists() else "wb") as out:
        before = time.perf_counter()
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - before
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise AssertionError(f"{command[0]} ended with {process.returncode}")
    return wall, usage.ru_utime + usage.ru_stime


def _lines(path: Path, start: bytes) -> int:
    with path.open("rb") as file:
        return sum(line.startswith(start) for line in file)


def run(settings: Settings) -> Outcome:
    """Records of 100 B, every record printed; output goes to a file."""
    table = Table(
        "Dump of records of 100 B, whole process",
        ("records, MB", "program", "wall, s", "CPU of all threads, s", "output, MB"),
        notes=[
            "Output to a file that is written again. Kafka's tool with the options of its start"
            " script, and `--print-data-log`, without which it prints no records."
        ],
    )
    outcome = Outcome([table])
    for size, gates in _GATES.items():
        _compare(settings, size, gates, outcome)
    for shape in (Shape(100), Shape(100, compression="lz4")):
        _with_options(settings, shape, outcome)
    return outcome


def _with_options(settings: Settings, shape: Shape, outcome: Outcome) -> None:
    """JSON of all records, or nearly all, with options and without."""
    log = settings.work / "options-0"
    log.mkdir()
    _, data = segment_file(log, shape, settings.size(64 * MIB))
    command = [sys.executable, "-c", "from kafkaspec.cli.main import main; main()", "dump", *_JSON]
    choices = {
        "--limit": ["--limit", str(data.records - 1)],
        "--from-time, --until-time": ["--from-time", "1", "--until-time", str(1 << 50)],
        "--isolation read_committed": ["--isolation", "read_committed"],
        "--crc ignore": ["--crc", "ignore"],
        "a URL": [],
    }
    spent = dict[str, list[float]]()
    for _ in range(settings.rounds(5)):
        for name, options in {"": [], **choices}.items():
            place, output = log.as_uri() if name == "a URL" else str(log), log / f"{name}.out"
            spent.setdefault(name, []).append(_run([*command, *options, place], output)[1])
            if name != "--limit" and _lines(output, b"{") != data.records:
                raise AssertionError(f"{name} wrote other records")
    table = Table(f"Dump as JSON with options, {shape.name}", ("option", "CPU, times that without"))
    for name in choices:
        ratio = median(a / b for a, b in zip(spent[name], spent[""], strict=True))
        table.rows.append((name, number(ratio)))
        what = f"`dump --format json` with {name} of {shape.name}, CPU of the process ÷ without"
        outcome.figures.append(Figure(what, ratio, _OPTIONS_GATE, at_most=True))
    outcome.tables.append(table)
    shutil.rmtree(log)


def _name(options: Sequence[str]) -> str:
    return f"`kafkaspec dump {' '.join(options)}`"


def _compare(
    settings: Settings, size: int, gates: Mapping[tuple[str, ...], float], outcome: Outcome
) -> None:
    (table,) = outcome.tables
    path, data = segment_file(settings.work, Shape(100), settings.size(size))
    command = [sys.executable, "-m", "kafkaspec", "dump"]
    commands: dict[str, tuple[list[str], bytes]] = {
        _name(options): ([*command, *options, str(path)], _STARTS[options]) for options in gates
    }
    why = ""
    try:
        commands[_THEIRS] = (dump_command(path), b"| offset:")
    except MissingError as error:
        why = str(error)
    walls: dict[str, list[float]] = {name: [] for name in commands}
    cpus: dict[str, list[float]] = {name: [] for name in commands}
    sizes: dict[str, int] = {}
    outputs = {name: settings.work / f"dump-{at}.out" for at, name in enumerate(commands)}
    for name, (arguments, start) in commands.items():
        _run(arguments, outputs[name])
        sizes[name] = outputs[name].stat().st_size
        found = _lines(outputs[name], start)
        if found != data.records:
            raise AssertionError(f"{name} wrote {found} records of {data.records}")
    for _ in range(settings.rounds(5)):
        for name, (arguments, _) in commands.items():
            wall, cpu = _run(arguments, outputs[name])
            walls[name].append(wall)
            cpus[name].append(cpu)
    megabytes = number(data.payload / 1e6)
    for name in commands:
        table.rows.append(
            (
                megabytes, name, number(median(walls[name])), number(median(cpus[name])),
                number(sizes[name] / 1e6),
            )
        )  # fmt: skip
    if why:
        table.rows.append((megabytes, _THEIRS, f"cannot run: {why}", "", ""))
    for options, gate in gates.items():
        ours = _name(options)
        what = f"{ours} of {size // MIB} MB against {_THEIRS}, whole process, wall"
        if why:
            outcome.figures.append(Figure(what, None, gate, why=why))
            continue
        pairs = zip(walls[ours], walls[_THEIRS], strict=True)
        ratio = median(theirs / mine for mine, theirs in pairs)
        table.notes.append(f"Kafka's tool takes {times(ratio)} the time of {ours}, {megabytes} MB.")
        outcome.figures.append(Figure(what, ratio, gate))
    for output in outputs.values():
        output.unlink()
    path.unlink()


CASE = Case("dump", "The dump tools", run)
