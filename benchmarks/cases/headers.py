"""All headers of a segment of 1 GiB, from a file that is mapped for it."""

from __future__ import annotations

import mmap
from functools import partial
from pathlib import Path

from aiokafka.record import MemoryRecords  # type: ignore[import-untyped]

from benchmarks.data import MIB, Shape, at_offset, batches_of
from benchmarks.outcome import Case, Figure, Outcome, Settings, Table, number
from benchmarks.timing import Candidate, Times, measure
from kafkaspec.codecs.native import NativeCodec
from kafkaspec.codecs.native.scan import scan
from kafkaspec.codecs.python import PythonCodec
from kafkaspec.io.local import Source
from kafkaspec.log.segment import Segment

_FULL = 1024 * MIB
_NATIVE_GATE, _PYTHON_GATE = 1.0, 0.4
"""Least time of aiokafka, as multiples of ours."""
_PEER = "aiokafka, of each batch the offset alone"
_SCAN = "native scan, columns, segment mapped before"
_FRESH = "native scan, columns"
_PYTHON = "plain Python scan, all columns, segment mapped before"
_TABLE = "`Segment.batch_table()`"
_OBJECTS = {name: f"`Segment.batches()`, codec `{name}`" for name in ("native", "python")}


def write_segment(path: Path, size: int) -> tuple[int, list[bytes]]:
    """A file of 16 KiB batches of ``size`` bytes: some entries repeated at later offsets.

    Returns:
        The number of batches, and the entries that are repeated.
    """
    made = list(batches_of(Shape(100), min(size, 4 * MIB)))
    offset = batches = written = 0
    with path.open("wb") as file:
        while written < size:
            for entry, records, _ in made:
                written += file.write(at_offset(entry, offset))
                offset += records
                batches += 1
    return batches, [entry for entry, _, _ in made]


def _scan(codec: NativeCodec, path: Path) -> int:
    with (
        path.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped,
        memoryview(mapped) as view,
    ):
        return scan(codec.core, view).count


def _python(buffer: memoryview) -> int:
    codec = PythonCodec()
    count = position = 0
    while table := codec.scan(buffer, position):
        for name in table.names:
            table.column(name)
        count += table.count
        position = table.position
    return count


def _aiokafka(data: bytes) -> int:
    """Go from batch to batch with aiokafka, which decodes no record that is not asked for."""
    source, count = MemoryRecords(data), 0
    while source.has_next():
        count += source.next_batch().base_offset >= 0
    return count


def _table(path: Path) -> int:
    with Segment(path, codec="native") as segment:
        rows: int = segment.batch_table().num_rows
        return rows


def _batches(path: Path, codec: str) -> int:
    with Segment(path, codec=codec) as segment:
        return sum(1 for _ in segment.batches())


def _check_equal(codec: NativeCodec, path: Path) -> None:
    table = scan(codec.core, path.read_bytes())
    with Segment(path, codec="python") as segment:
        expected = [(batch.position, batch.size, batch.num_records) for batch in segment.batches()]
    columns = [table.column(name).tolist() for name in ("position", "size", "num_records")]
    if list(zip(*columns, strict=True)) != expected:
        raise AssertionError("scans differ")


def run(settings: Settings) -> Outcome:
    """The file is in the page cache; mapping it counts."""
    codec = NativeCodec()
    path = settings.work / "headers.log"
    write_segment(path, 256 * 1024)
    _check_equal(codec, path)
    size = settings.size(_FULL)
    count, _ = write_segment(path, size)
    opened = Source(path)
    data = path.read_bytes()
    scans = measure(
        [
            Candidate(_SCAN, lambda: scan(codec.core, opened.buffer).count, count),
            Candidate(_FRESH, lambda: _scan(codec, path), count),
            Candidate(_TABLE, lambda: _table(path), count),
            Candidate(_PYTHON, lambda: _python(opened.buffer), count),
            Candidate(_PEER, lambda: _aiokafka(data), count),
        ],
        settings.rounds(15),
    )
    opened.close()
    objects = measure(
        [
            Candidate(name, partial(_batches, path, codec_name), count)
            for codec_name, name in _OBJECTS.items()
        ],
        settings.rounds(2),
    )
    path.unlink()

    def milliseconds(found: Times, name: str) -> float:
        return found.median(name) * count / 1e6 * _FULL / size

    table = Table(
        "Headers of 1 GiB of 16 KiB batches, from the page cache",
        ("reader", "ms", "ns a batch"),
        notes=[
            "All fields of every header; a scan gives columns, `batches()` objects. Unless the"
            " segment was mapped before, mapping it counts, and each page that is touched is a"
            " page fault."
        ],
    )
    for found, name in (
        (scans, _SCAN),
        (scans, _FRESH),
        (scans, _TABLE),
        (scans, _PYTHON),
        (scans, _PEER),
        *((objects, name) for name in _OBJECTS.values()),
    ):
        table.rows.append((name, number(milliseconds(found, name)), number(found.median(name))))
    figures = [
        Figure(f"headers in columns, {name}, aiokafka ÷ ours", scans.ratio(_PEER, scan_), gate)
        for name, scan_, gate in (
            ("native", _SCAN, _NATIVE_GATE),
            ("plain Python", _PYTHON, _PYTHON_GATE),
        )
    ]
    return Outcome([table], figures)


CASE = Case("headers", "Headers for planning", run)
