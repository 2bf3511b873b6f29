"""Columns against Kafka's own readers in a warm JVM, over the same files."""

from __future__ import annotations

import time
from pathlib import Path

from benchmarks.core import PLAIN, read_columns, record_batches, records_of_batches
from benchmarks.data import KIB, MIB, Shape, segment
from benchmarks.java import MissingError, Reader, touched
from benchmarks.outcome import Case, Figure, Outcome, Settings, Table, number, times
from benchmarks.timing import Candidate, measure

_FILE, _MEMORY, _FILE_RECORDS, _MEMORY_RECORDS = "file", "memory", "FileRecords", "MemoryRecords"
_CORE = "columns"
_FILE_GATE = 2.5
_MEMORY_GATES = {"none": 1.8, "lz4": 1.8, "snappy": 1.6, "zstd": 1.5, "gzip": 2.2}
_WARM_SECONDS = 3.0


def _what(compression: str) -> str:
    if compression == "none":
        return "columns against `MemoryRecords`, 100 B"
    return f"columns against `MemoryRecords`, 100 B, {compression}"


def run(settings: Settings) -> Outcome:
    """Every compression, 16 KiB batches."""
    table = Table(
        "Columns against Kafka's own Java, 100 B, ns a record",
        (
            "records", "file: `to_batches`", "`FileRecords`", "against ours",
            "memory: bare core", "`to_batches`", "`MemoryRecords`", "against the core",
            "against `to_batches`",
        ),
        notes=[
            "Our side is `Segment(...).to_batches(...)`. Kafka's is a warm JVM for each reader and"
            " compression, CPU time of its reading thread alone (collector and compiler run in"
            " others): `ensureValid` of each batch, then its streaming iterator with buffers that"
            " are used again; offset, timestamp, first byte and size of key and value touched."
            " File: the time of mapping, or opening, it counts on both sides."
        ],
    )  # fmt: skip
    outcome = Outcome([table])
    try:
        for compression in _MEMORY_GATES:
            with Reader(_FILE) as files, Reader(_MEMORY) as memory:
                _compare(files, memory, compression, settings, outcome)
    except MissingError as error:
        table.rows.append(("all", *[f"cannot run: {error}"] * 8))
        _missing(outcome, str(error))
    return outcome


def _missing(outcome: Outcome, why: str) -> None:
    what = "columns against `FileRecords` from a file, 100 B"
    outcome.figures = [Figure(what, None, _FILE_GATE, why=why)]
    for name, gate in _MEMORY_GATES.items():
        outcome.figures.append(Figure(_what(name), None, gate, why=why))


def _compare(
    files: Reader, memory: Reader, compression: str, settings: Settings, outcome: Outcome
) -> None:
    shape = Shape(100, compression=compression)
    full = 64 * MIB if compression == "none" else 48 * MIB
    data = segment(shape, settings.size(full))
    path = settings.work / f"{compression}.log"
    path.write_bytes(data.data)
    for reader in (files, memory):
        _check_equal(reader, shape, settings.work / "small.log")
        _warm(reader, path, settings)
    ours_file, ours_memory = f"{_FILE} columns", f"{_MEMORY} columns"
    found = measure(
        [
            Candidate(
                ours_file, lambda: record_batches(path, PLAIN), data.records
            ),
            Candidate(
                _FILE_RECORDS, lambda: files.read(path), data.records, lambda: files.seconds
            ),
            Candidate(ours_memory, lambda: record_batches(data.data, PLAIN), data.records),
            Candidate(_CORE, lambda: read_columns(data.data, PLAIN), data.records),
            Candidate(
                _MEMORY_RECORDS, lambda: memory.read(path), data.records, lambda: memory.seconds
            ),
        ],
        settings.rounds(7),
    )  # fmt: skip
    from_file = found.ratio(_FILE_RECORDS, ours_file)
    in_memory = found.ratio(_MEMORY_RECORDS, ours_memory)
    bare = found.ratio(_MEMORY_RECORDS, _CORE)
    outcome.tables[0].rows.append(
        (
            shape.name,
            number(found.median(ours_file)),
            number(found.median(_FILE_RECORDS)),
            times(from_file),
            number(found.median(_CORE)),
            number(found.median(ours_memory)),
            number(found.median(_MEMORY_RECORDS)),
            times(bare),
            times(in_memory),
        )
    )
    if compression == "none":
        what = "columns against `FileRecords` from a file, 100 B"
        outcome.figures.append(Figure(what, from_file, _FILE_GATE))
    outcome.figures.append(Figure(_what(compression), in_memory, _MEMORY_GATES[compression]))
    path.unlink()


def _check_equal(reader: Reader, shape: Shape, path: Path) -> None:
    small = segment(shape, 64 * KIB).data
    path.write_bytes(small)
    expected = touched(records_of_batches(small))
    reader.read(path)
    if reader.sum != expected:
        raise AssertionError(f"Kafka's reader saw other records: {shape.name}")


def _warm(reader: Reader, path: Path, settings: Settings) -> None:
    """Let the JVM compile what it is going to run."""
    end = time.monotonic() + (0 if settings.quick else _WARM_SECONDS)
    while time.monotonic() < end:
        reader.read(path)


CASE = Case("java", "Kafka's own Java", run)
