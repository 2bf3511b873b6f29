"""``compaction`` against the ``Cleaner`` of Kafka 4.3.1 in a warm JVM, on the same partition."""

from __future__ import annotations

import random
import shutil
import struct
from pathlib import Path
from typing import Final

import pyarrow as pa

from benchmarks import java
from benchmarks.data import MIB
from benchmarks.outcome import Case, Figure, Outcome, Settings, Table, number
from benchmarks.timing import Candidate, measure
from kafkaspec.forensics.cleaner.compaction import compaction
from kafkaspec.forensics.cleaner.settings import Settings as CleanerSettings
from kafkaspec.forensics.cleaner.view import LogView
from kafkaspec.log.partition import Partition
from kafkaspec.writing.segment_writer import SegmentWriter
from tools.kafka.cleaner import Cleaner

_RECORD_BYTES: Final = 120
_VALUE_BYTES: Final = 100
_MAP_BYTES: Final = 128 * MIB
_NOW: Final = 1_800_000_000_000
_SHARES: Final = {"4 % stay": 25, "about half stays": 1}
"""Records for each key."""
_GATES: Final = dict(zip(_SHARES, (2.0, 1.2), strict=True))
_REPORT, _WRITE, _KAFKA = "report", "`-o`", "`Cleaner`"


def _partition(directory: Path, records: int, share: int) -> None:
    chance = random.Random(7)
    pool = max(records // share, 1)
    with SegmentWriter(directory, segment_bytes=records * _RECORD_BYTES // 8, sync=False) as writer:
        for start in range(0, records, 50_000):
            count = min(50_000, records - start)
            keys = [struct.pack(">q", chance.randrange(pool)) for _ in range(count)]
            values = [chance.randbytes(_VALUE_BYTES) for _ in range(count)]
            table = {
                "offset": pa.array(range(start, start + count)),
                "timestamp": pa.array([1_700_000_000_000 + start] * count),
                "key": pa.array(keys, pa.binary()),
                "value": pa.array(values, pa.binary()),
            }
            writer.append_columns(pa.table(table))


def _ours(directory: Path, target: Path | None) -> int:
    if target is not None:
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
    made = compaction(LogView(Partition(directory)), CleanerSettings(), _NOW, target=target)
    return made.records


def run(settings: Settings) -> Outcome:
    """Records of 100 B in 16 KiB batches; few or half of them stay."""
    table = Table(
        "A pass of the cleaner over 128 MiB, 100 B, ns a record that it reads",
        ("records", _REPORT, _WRITE, _KAFKA, "against `-o`", "against the report"),
        notes=[
            "CPU time of one thread, in turns; ratios of the medians of rounds. Kafka's `Cleaner`"
            " is in a warm JVM with its default buffers, loading of the log not counted. Both read"
            " each record twice, hash its key by MD5, and write segments and indexes, which are"
            " equal."
        ],
    )
    outcome = Outcome([table])
    count = max(settings.size(128 * MIB) // _RECORD_BYTES, 2_000)
    try:
        java.jars()
        judge = settings.work / "judge"
        judge.mkdir()
        with Cleaner(java.KAFKA, judge) as cleaner:
            for name, share in _SHARES.items():
                _compare(cleaner, name, share, count, settings, outcome)
    except java.MissingError as error:
        table.rows.append(("all", *[f"cannot run: {error}"] * 5))
        for name in _SHARES:
            outcome.figures.append(Figure(_what(name), None, _GATES[name], why=str(error)))
    return outcome


def _what(name: str) -> str:
    return f"`compaction -o` against Kafka's `Cleaner`, {name}"


def _compare(
    cleaner: Cleaner, name: str, share: int, count: int, settings: Settings, outcome: Outcome
) -> None:
    directory, target = settings.work / "clean-0", settings.work / "cleaned-0"
    shutil.rmtree(directory, ignore_errors=True)
    _partition(directory, count, share)
    records = _ours(directory, None)
    copy = settings.work / "kafka" / "clean-0"
    seconds = 0.0

    def kafka() -> int:
        nonlocal seconds
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(directory, copy)
        config = {"cleanup.policy": "compact"}
        seconds = cleaner.clean(copy, _NOW, config, map_bytes=_MAP_BYTES).seconds
        return records

    found = measure(
        [
            Candidate(_REPORT, lambda: _ours(directory, None), records),
            Candidate(_WRITE, lambda: _ours(directory, target), records),
            Candidate(_KAFKA, kafka, records, lambda: seconds),
        ],
        settings.rounds(5),
    )
    ours, theirs = ({p.name: p.read_bytes() for p in d.glob("*.log")} for d in (target, copy))
    assert ours == theirs, "what is left differs"
    against = found.ratio(_KAFKA, _WRITE)
    outcome.tables[0].rows.append(
        (
            name,
            *(number(found.median(each)) for each in (_REPORT, _WRITE, _KAFKA)),
            f"{number(against)} x",
            f"{number(found.ratio(_KAFKA, _REPORT))} x",
        )
    )
    outcome.figures.append(Figure(_what(name), against, _GATES[name]))
    for path in (directory, target, copy):
        shutil.rmtree(path, ignore_errors=True)


CASE = Case("cleaner", "The cleaner", run)
