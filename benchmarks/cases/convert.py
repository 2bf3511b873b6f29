"""``convert`` with other compression and other batches; against libraries alone, and against peers.

A peer reads every record, appends it to a builder, and writes the batches to a file.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import lz4.frame  # type: ignore[import-untyped]
import zstandard
from aiokafka.record import MemoryRecords as AioRecords  # type: ignore[import-untyped]
from aiokafka.record.default_records import (  # type: ignore[import-untyped]
    DefaultRecordBatchBuilder as AioBuilder,
)
from kafka.record.default_records import (  # type: ignore[import-untyped]
    DefaultRecordBatchBuilder as KafkaBuilder,
)
from kafka.record.memory_records import MemoryRecords  # type: ignore[import-untyped]

from benchmarks.data import MIB, SMALL_BATCH, Shape, at_offset, segment
from benchmarks.outcome import Case, Figure, Outcome, Settings, Table, number, times
from benchmarks.peers import AIOKAFKA, KAFKA_PYTHON, records_aiokafka
from benchmarks.timing import Candidate, measure
from kafkaspec._generated.python.model.recordbatch import CompressionType
from kafkaspec.conversion.running import convert
from kafkaspec.files.names import LOG, segment_name
from kafkaspec.log.segment import Segment
from kafkaspec.model import Record

_FULL = 16 * MIB
_GATED = 64 * MIB
_MOST, _LEAST = 1.3, 4.0
_FROM_WRAPPERS = 1.0
_ALONE = "decompressing and compressing by the libraries alone"
_SOURCES = ("zstd", "none")
_KEPT = "`convert`, batches kept"
_MADE = "`convert`, records put into new batches"
_CHECKED = f"{_KEPT}, result verified"
_WRAPPERS = "`convert`, wrappers kept, result verified"
_PLANS: dict[str, dict[str, Any]] = {
    _KEPT: {"check": False},
    _MADE: {"check": False, "batch_bytes": SMALL_BATCH},
    _CHECKED: {},
}
_TO = CompressionType.LZ4


def _convert(log: Path, out: Path, records: int, plan: dict[str, Any]) -> int:
    shutil.rmtree(out, ignore_errors=True)
    report = convert(log, out, compression=_TO.name.lower(), **plan)
    return records if report.clean else 0


def _aiokafka_builder() -> Any:
    return AioBuilder(2, int(_TO), False, -1, -1, -1, SMALL_BATCH)


def _kafka_python_builder() -> Any:
    return KafkaBuilder(2, int(_TO), 0, -1, -1, -1, SMALL_BATCH)


def _peer(log: Path, out: Path, reader: Any, maker: Callable[[], Any]) -> int:
    """Every record read, appended to a builder, and the batches written to a file."""
    seen = first = 0
    source = reader(log.read_bytes())
    with out.open("wb") as file:
        builder = maker()
        while source.has_next():
            batch = source.next_batch()
            if not batch.validate_crc():
                raise AssertionError("checksum")
            for record in batch:
                row = (record.timestamp, record.key, record.value, record.headers)
                if builder.append(seen - first, *row) is None:
                    file.write(at_offset(bytes(builder.build()), first))
                    builder, first = maker(), seen
                    builder.append(0, *row)
                seen += 1
        file.write(at_offset(bytes(builder.build()), first))
    return seen


def _alone(payloads: list[bytes], source: str) -> int:
    """Every payload through PyPI's libraries, and thrown away."""
    zstd = zstandard.ZstdDecompressor()
    for payload in payloads:
        plain = zstd.decompressobj().decompress(payload) if source == "zstd" else payload
        lz4.frame.compress(plain)
    return len(payloads)


def _against_libraries(settings: Settings) -> Outcome:
    """Batches kept and not checked, against what no converter can save."""
    table = Table(
        "Recompressing to lz4, batches kept",
        ("from", "times the libraries alone"),
        notes=[
            "Records of 100 B in batches of 16 KiB. `convert` reads the file, verifies checksums,"
            " writes headers, indexes and the file, and syncs it. CPU time of the thread."
        ],
    )
    outcome = Outcome([table])
    for source in _SOURCES:
        made = segment(Shape(100, compression=source), settings.size(_GATED))
        log, out = settings.work / segment_name(0, LOG), settings.work / "out"
        log.write_bytes(made.data)
        payloads = [bytes(batch.payload or b"") for batch in Segment(made.data).batches()]
        count = len(payloads)
        found = measure(
            [
                Candidate(_KEPT, partial(_convert, log, out, count, _PLANS[_KEPT]), count),
                Candidate(_ALONE, partial(_alone, payloads, source), count),
            ],
            settings.rounds(7),
        )
        ratio = found.ratio(_KEPT, _ALONE)
        table.rows.append((source, number(ratio)))
        if source == _SOURCES[0]:
            what = f"`convert` of {source} to lz4, batches kept, not checked, times {_ALONE}"
            outcome.figures.append(Figure(what, ratio, _MOST, at_most=True))
        shutil.rmtree(out)
        log.unlink()
    return outcome


def _against_aiokafka(settings: Settings) -> Outcome:
    """New batches of the same compression, checked."""
    made = segment(Shape(100, compression="lz4"), settings.size(_GATED // 2))
    log, out = settings.work / segment_name(0, LOG), settings.work / "out"
    other = settings.work / "other.log"
    log.write_bytes(made.data)
    plan = {"batch_bytes": SMALL_BATCH}
    found = measure(
        [
            Candidate(_MADE, partial(_convert, log, out, made.records, plan), made.records),
            Candidate(
                AIOKAFKA,
                partial(_peer, log, other, AioRecords, _aiokafka_builder),
                made.records,
            ),
        ],
        settings.rounds(7),
    )
    if _written(out) != _written(other):
        raise AssertionError("other records")
    ratio = found.ratio(AIOKAFKA, _MADE)
    what = "`convert` of lz4 to lz4 with new batches, checked, against aiokafka"
    table = Table("lz4 to lz4 with new batches, checked", ("what", f"against {AIOKAFKA}"))
    table.rows.append((_MADE, times(ratio)))
    shutil.rmtree(out)
    other.unlink()
    log.unlink()
    return Outcome([table], [Figure(what, ratio, _LEAST)])


def _from_wrappers(settings: Settings) -> Outcome:
    """Wrappers of magic 1 become new batches of magic 2."""
    made = segment(Shape(100, compression="lz4"), settings.size(_FULL))
    log, wrapped = settings.work / segment_name(0, LOG), settings.work / "wrapped"
    log.write_bytes(made.data)
    convert(log, wrapped, magic=1, check=False)
    source, out, other = wrapped / log.name, settings.work / "out", settings.work / "other.log"
    kept = settings.work / "kept"
    plan = {"magic": 2, "batch_bytes": SMALL_BATCH, "check": False}
    peer = partial(_peer, source, other, AioRecords, _aiokafka_builder)
    found = measure(
        [
            Candidate(_MADE, partial(_convert, source, out, made.records, plan), made.records),
            Candidate(_WRAPPERS, lambda: _wrappers(source, kept, made.records), made.records),
            Candidate(AIOKAFKA, peer, made.records),
        ],
        settings.rounds(5),
    )
    if _written(out) != _written(other):
        raise AssertionError("other records")
    ratio = found.ratio(AIOKAFKA, _MADE)
    what = "`convert` of wrappers of lz4 to new batches of magic 2, not checked, against aiokafka"
    checked = found.ratio(AIOKAFKA, _WRAPPERS)
    table = Table("Wrappers of magic 1", ("what", f"against {AIOKAFKA}, to new batches"))
    table.rows += [(_MADE, times(ratio)), (_WRAPPERS, times(checked))]
    for folder in (out, wrapped, kept):
        shutil.rmtree(folder)
    for path in (other, log):
        path.unlink()
    other_what = f"{_WRAPPERS}, against {AIOKAFKA}, which makes new batches and checks nothing"
    return Outcome(
        [table],
        [Figure(what, ratio, _FROM_WRAPPERS), Figure(other_what, checked, _FROM_WRAPPERS)],
    )


def _wrappers(log: Path, out: Path, records: int) -> int:
    shutil.rmtree(out, ignore_errors=True)
    return records if convert(log, out).clean else 0


def _written(out: Path) -> list[Record]:
    logs = sorted(out.glob("*.log")) if out.is_dir() else [out]
    return [record for log in logs for record in records_aiokafka(log.read_bytes())]


def run(settings: Settings) -> Outcome:
    """Records of 100 B, from no compression to lz4; files go to the page cache."""
    made = segment(Shape(100), settings.size(_FULL))
    log = settings.work / segment_name(0, LOG)
    log.write_bytes(made.data)
    records = list(Segment(made.data).records())
    outs = {name: settings.work / f"out-{place}" for place, name in enumerate(_PLANS)}
    runs: dict[str, Callable[[], int]] = {
        name: partial(_convert, log, outs[name], made.records, plan)
        for name, plan in _PLANS.items()
    }
    for name, reader, maker in (
        (AIOKAFKA, AioRecords, _aiokafka_builder),
        (KAFKA_PYTHON, MemoryRecords, _kafka_python_builder),
    ):
        outs[name] = settings.work / name
        runs[name] = partial(_peer, log, outs[name], reader, maker)
    for name, once in runs.items():
        if once() != made.records or _written(outs[name]) != records:
            raise AssertionError(f"{name} wrote other records")
    found = measure(
        [Candidate(name, once, made.records) for name, once in runs.items()], settings.rounds(5)
    )
    table = Table(
        "Converting to lz4",
        ("what", "records/s", *(f"against {peer}" for peer in (AIOKAFKA, KAFKA_PYTHON))),
        notes=[
            f"{made.records:,} records of 100 B. `convert` writes indexes too, and syncs its files;"
            " the peers write batches to a file. CPU time of the thread."
        ],
    )
    for name in runs:
        ratios = [times(found.ratio(peer, name)) for peer in (AIOKAFKA, KAFKA_PYTHON)]
        shown = ratios if name in _PLANS else ["-", "-"]
        table.rows.append((name, number(1e9 / found.median(name)), *shown))
    for out in outs.values():
        shutil.rmtree(out) if out.is_dir() else out.unlink()
    log.unlink()
    outcome = Outcome([table], [])
    for part in (
        _against_libraries(settings),
        _against_aiokafka(settings),
        _from_wrappers(settings),
    ):
        outcome.tables += part.tables
        outcome.figures += part.figures
    return outcome


CASE = Case("convert", "Converting segments", run)
