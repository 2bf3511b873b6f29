"""``salvage`` of a segment with ten damages against ``verify`` of the same file."""

from __future__ import annotations

import shutil
import time
from functools import partial
from pathlib import Path

from benchmarks.data import MIB, Shape, segment_file
from benchmarks.outcome import Case, Figure, Outcome, Settings, Table, number
from benchmarks.timing import Candidate, measure
from kafkaspec.analysis.verification import verify
from kafkaspec.forensics.salvage import Fate, salvage

_SIZE = 256 * MIB
_MOST = 1.6
"""Most time of ``salvage``, as a multiple of that of ``verify``."""
_DAMAGES = 10


def _partition(settings: Settings) -> tuple[Path, int]:
    """A partition with one damaged segment, and the number of records before that."""
    directory = settings.work / "salvage-0"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    log, data = segment_file(directory, Shape(100), settings.size(_SIZE))
    size = log.stat().st_size
    with open(log, "r+b") as file:
        for number_ in range(_DAMAGES):
            file.seek((2 * number_ + 1) * size // (2 * _DAMAGES))
            byte = file.read(1)[0]
            file.seek(-1, 1)
            file.write(bytes([byte ^ 4]))
    return directory, data.records


def _verify(directory: Path, records: int) -> int:
    return 0 if verify(directory, jobs=1).clean else records


class _Salvage:
    """Salvages, and times itself without the removal of the last output."""

    def __init__(self, directory: Path, out: Path, records: int) -> None:
        self.directory, self.out, self.records = directory, out, records
        self.spent = 0.0

    def __call__(self) -> int:
        shutil.rmtree(self.out, ignore_errors=True)
        before = time.thread_time()
        (partition,) = salvage(self.directory, self.out, sync=False).partitions
        self.spent = time.thread_time() - before
        return self.records if partition.bytes[Fate.LOST] else 0

    def seconds(self) -> float:
        return self.spent


def run(settings: Settings) -> Outcome:
    """CPU time of one thread; the output is written, and not forced to disk."""
    outcome = Outcome()
    table = Table(
        "Salvage of 256 MiB of records of 100 B in 16 KiB batches, with ten flipped bits",
        ("`verify`, ns", "`salvage`, ns", "ratio"),
        notes=["Nanoseconds a record, CPU time of one thread, in turns, the output included."],
    )
    directory, records = _partition(settings)
    out = settings.work / "salvaged-0"
    salvaging = _Salvage(directory, out, records)
    candidates = [
        Candidate("verify", partial(_verify, directory, records), records),
        Candidate("salvage", salvaging, records, salvaging.seconds),
    ]
    found = measure(candidates, settings.rounds(9))
    ratio = found.ratio("salvage", "verify")
    table.rows.append(
        (number(found.median("verify")), number(found.median("salvage")), f"{number(ratio)} x")
    )
    outcome.figures.append(Figure("`salvage` against `verify`", ratio, _MOST, at_most=True))
    outcome.tables.append(table)
    for path in (directory, out):
        shutil.rmtree(path)
    return outcome


CASE = Case("salvage", "Salvage", run)
