"""Offset commits of `__consumer_offsets` as a table, and Kafka's dump tool with its decoder."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa

import kafkaspec as ks
from benchmarks.data import MIB, at_offset, encode_batch
from benchmarks.java import MissingError, dump_command
from benchmarks.outcome import Case, Figure, Outcome, Settings, Table, number, times
from benchmarks.peers import read_aiokafka
from benchmarks.timing import Candidate, measure
from kafkaspec.arrow.messages.arrays import array_type, decode_array, encode_array
from kafkaspec.cli.commands.dump_columns import JsonMaker, read_lines
from kafkaspec.cli.commands.dump_messages import MessageLines
from kafkaspec.codecs.native import NativeCodec
from kafkaspec.codecs.native.core import Core
from kafkaspec.files.names import LOG, segment_name
from kafkaspec.log.selection import Selection
from kafkaspec.model import Record

_SIZE = 64 * MIB
_DISTINCT = 20_000
_BATCH = 20
"""Records of a batch: a consumer commits its partitions together."""
_TOMBSTONES = 50
"""One record in so many deletes an offset."""
_TABLE_GATE = 1.0
_LINES_GATE = 0.25
_TOOL_GATE = 20.0
_TABLE, _KEYS, _VALUES, _ENCODED = "topic_messages", "decode keys", "decode values", "encode values"
_PYTHON = "decode values, without C"
_LINES, _BYTES = "`dump --format json`", "`dump --format json --no-decode`"
_READ = "aiokafka, bytes alone"
_OURS = "`topic_messages` into a table"
_THEIRS = "Kafka's dump tool"
_TEXT = "`dump --format kafka --offsets-decoder`"
_GATES = {_OURS: _TOOL_GATE, _LINES: 8.0, _TEXT: 8.0}
"""How many times as long Kafka's tool has to take at least, by our program."""
_PROGRAM = """\
import sys, kafkaspec
table = kafkaspec.Segment(sys.argv[1]).topic_messages("OffsetCommit").read_all()
print(table.num_rows)
"""


def commits(count: int) -> tuple[pa.Array, pa.Array]:
    """Keys and values of offset commits as brokers of 4.1 and later write them."""
    chance = random.Random(20240229)
    groups = [f"{name}-{n}" for name in ("checkout", "billing", "search") for n in range(40)]
    topics = [(f"{name}.events.v1", chance.randbytes(16)) for name in ("order", "user", "stock")]
    keys: list[dict[str, Any]] = []
    values: list[dict[str, Any] | None] = []
    for number_ in range(count):
        topic, identity = chance.choice(topics)
        keys.append(
            {"group": chance.choice(groups), "topic": topic, "partition": chance.randrange(48),
             "unused": b""}
        )  # fmt: skip
        if chance.randrange(_TOMBSTONES) == 0:
            values.append(None)
            continue
        values.append(
            {"schema_version": 4, "offset": chance.randrange(1 << 40), "leader_epoch": 7,
             "metadata": "", "commit_timestamp": 1_700_000_000_000 + number_,
             "topic_id": identity, "tagged_fields": [], "unused": b""}
        )  # fmt: skip
    return tuple(
        encode_array(name, pa.array(rows, array_type(name)))
        for name, rows in (("OffsetCommitKey", keys), ("OffsetCommitValue", values))
    )


def write_log(path: Path, size: int) -> int:
    """Write a segment with about so many bytes; return the number of its records."""
    keys, values = (array.to_pylist() for array in commits(_DISTINCT))
    codec = NativeCodec()
    made = []
    for first in range(0, _DISTINCT, _BATCH):
        records = [
            Record(row, 1_700_000_000_000 + row, keys[row], values[row])
            for row in range(first, first + _BATCH)
        ]
        made.append(encode_batch(codec, records, "none")[0])
    offset = written = 0
    with path.open("wb") as out:
        while written < size:
            for entry in made:
                written += out.write(at_offset(entry, offset))
                offset += _BATCH
    return offset


def run(settings: Settings) -> Outcome:
    """Rates in this process, then whole processes."""
    outcome = Outcome()
    folder = settings.work / "__consumer_offsets-0"
    folder.mkdir()
    path = folder / segment_name(0, LOG)
    records = write_log(path, settings.size(_SIZE))
    _rates(path, records, settings, outcome)
    _processes(path, records, settings, outcome)
    path.unlink()
    return outcome


def _rates(path: Path, records: int, settings: Settings, outcome: Outcome) -> None:
    keys, values = commits(_DISTINCT)
    typed = decode_array("OffsetCommitValue", values)
    few, data = values.slice(0, 2000), path.read_bytes()
    candidates = [
        Candidate(
            _TABLE,
            lambda: ks.Segment(path).topic_messages("OffsetCommit").read_all().num_rows,
            records,
        ),
        Candidate(_LINES, lambda: _lines(path, decode=True), records),
        Candidate(_BYTES, lambda: _lines(path, decode=False), records),
        Candidate(_READ, lambda: read_aiokafka(data), records),
        Candidate(_KEYS, lambda: len(decode_array("OffsetCommitKey", keys)), len(keys)),
        Candidate(_VALUES, lambda: len(decode_array("OffsetCommitValue", values)), len(keys)),
        Candidate(_ENCODED, lambda: len(encode_array("OffsetCommitValue", typed)), len(keys)),
        Candidate(
            _PYTHON,
            lambda: len(decode_array("OffsetCommitValue", few, codec="python")),
            len(few),
        ),
    ]
    found = measure(candidates, settings.rounds(7))
    table = Table(
        "Offset commits, one thread",
        ("work", "ns a record", "million records a second"),
        notes=[
            "`topic_messages` reads the segment, chooses the records by their type, and decodes"
            " keys and values, into structs of Arrow. Values have version 4, with a topic id."
            " `dump`: the lines in memory, without the start of the command. aiokafka: records as"
            " objects, of which nothing is decoded."
        ],
    )
    for candidate in candidates:
        spent = found.median(candidate.name)
        table.rows.append((candidate.name, number(spent), number(1e3 / spent)))
    outcome.tables.append(table)
    outcome.figures += [
        Figure(f"{what} of `__consumer_offsets`, aiokafka ÷ ours", found.ratio(_READ, what), gate)
        for what, gate in ((_TABLE, _TABLE_GATE), (_LINES, _LINES_GATE))
    ]


def _lines(path: Path, *, decode: bool) -> int:
    """Make the lines of `dump`; return their number."""
    messages = MessageLines("__consumer_offsets", "native") if decode else None

    def maker(core: Core, segment: ks.Segment) -> JsonMaker:
        rows = None if messages is None else messages.rows(core, segment, base64=False)
        return JsonMaker(core, segment, base64=False, messages=rows)

    count = 0
    for part in read_lines(ks.Segment(path), Selection(), maker=maker, jobs=1):
        assert isinstance(part, memoryview)
        count += part.tobytes().count(b"\n")
    return count


def _spent(command: Sequence[str], output: Path) -> tuple[float, float]:
    """Seconds of wall time, and of CPU time of the process with all its threads."""
    with output.open("wb") as out:
        before = time.perf_counter()
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - before
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise AssertionError(f"{command[0]} ended with {process.returncode}")
    return wall, usage.ru_utime + usage.ru_stime


def _processes(path: Path, records: int, settings: Settings, outcome: Outcome) -> None:
    table = Table(
        "Offset commits of 64 MB, whole process",
        ("program", "wall, s", "CPU of all threads, s"),
        notes=[
            "A table is made in memory; the others write a file, Kafka's tool with"
            " `--offsets-decoder`."
        ],
    )
    outcome.tables.append(table)
    dump = [sys.executable, "-m", "kafkaspec", "dump", str(path)]
    commands = {
        _OURS: [sys.executable, "-c", _PROGRAM, str(path)],
        _LINES: [*dump, "--format", "json"],
        _TEXT: [*dump, "--format", "kafka", "--offsets-decoder"],
    }
    why = ""
    try:
        commands[_THEIRS] = [*dump_command(path), "--offsets-decoder"]
    except MissingError as error:
        why = str(error)
    walls: dict[str, list[float]] = {name: [] for name in commands}
    cpus: dict[str, list[float]] = {name: [] for name in commands}
    output = settings.work / "messages.out"
    for turn in range(settings.rounds(5)):
        for name, command in commands.items():
            wall, cpu = _spent(command, output)
            walls[name].append(wall)
            cpus[name].append(cpu)
            if not turn:
                _check(name, output, records)
    for name in commands:
        row = (name, number(median(walls[name])), number(median(cpus[name])))
        table.rows.append(row)
    if why:
        table.rows.append((_THEIRS, f"cannot run: {why}", ""))
    for name, gate in _GATES.items():
        shown = "`topic_messages`" if name == _OURS else name
        what = f"{shown} of 64 MB against Kafka's dump tool, whole process, wall"
        if why:
            outcome.figures.append(Figure(what, None, gate, why=why))
            continue
        ratio = median(b / a for a, b in zip(walls[name], walls[_THEIRS], strict=True))
        table.notes.append(f"Kafka's tool takes {times(ratio)} the time of {shown}.")
        outcome.figures.append(Figure(what, ratio, gate))
    output.unlink()


def _check(name: str, output: Path, records: int) -> None:
    """Check that a program saw every record."""
    with output.open("rb") as file:
        mark = b'"type":"OffsetCommitKey"' if name == _LINES else b'"type":"1"'
        found = int(file.read()) if name == _OURS else sum(mark in line for line in file)
    if found != records:
        raise AssertionError(f"{name} saw {found} records of {records}")


CASE = Case("messages", "Messages of internal topics", run)
