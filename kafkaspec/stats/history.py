"""Figures that need all segments of a log in order: its transactions and missing offsets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from kafkaspec.errors import KafkaSpecError
from kafkaspec.forensics.gaps.reading import read_gaps
from kafkaspec.forensics.timeline.reading import read_timeline
from kafkaspec.io.remote import as_path
from kafkaspec.log.opening import open_log
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.stats.tables import StatsTables, summed
from kafkaspec.stats.units import StatsUnit


def measure_history(unit: StatsUnit) -> StatsTables:
    """Return what the headers of all segments of a log say. What cannot be read is left out.

    The segments themselves report it.
    """
    known: dict[str, Any] = {}
    found: StatsTables = {}
    try:
        with _opened(unit) as log:
            timeline = read_timeline(log)
            gaps = read_gaps(log, checksums=unit.records)
    except KafkaSpecError as error:
        if not unit.paths:
            found["errors"] = error_rows(unit, unit.directory, [error])
            known["errors"] = [1]
    else:
        rows = timeline.transactions
        found["transactions"] = summed(
            "transactions",
            unit.place,
            {
                "outcome": rows["outcome"],
                "transactions": [1] * len(rows),
                "batches": rows["batches"],
                "records": rows["records"],
                "longest_ms": rows["duration_ms"],
                "first_offset": rows["first_offset"],
            },
            len(rows),
        )
        ranges = gaps.ranges
        missing = ranges["missing"]
        columns = {"kind": ranges["kind"], "why": ranges["why"], "ranges": [1] * len(ranges)}
        columns |= {"missing": missing, "largest": missing}
        found["gaps"] = summed("gaps", unit.place, columns, len(ranges))
        known["start_offset"] = [timeline.log_start_offset]
        known["end_offset"] = [timeline.log_end_offset]
        known["stable_offset"] = [timeline.last_stable_offset]
    found["logs"] = summed("logs", unit.place, known, 1)
    return found


@contextmanager
def _opened(unit: StatsUnit) -> Iterator[Partition | Segment]:
    if len(unit.paths) == 1:
        opened = open_log(as_path(unit.paths[0]))
        assert isinstance(opened, Segment)
        log: Partition | Segment = opened
        directory = Partition(as_path(unit.directory))
        if len(directory.segment_paths) == 1 and directory.segment_paths[0].name == (
            as_path(unit.paths[0]).name
        ):
            log = directory
    else:
        log = Partition(as_path(unit.directory))
        wanted = {Path(path).name for path in unit.paths}
        others = {path for path in log.segment_paths if path.name not in wanted}
        if others:
            log = Partition(as_path(unit.directory))
            log.files = [path for path in log.files if path not in others]
    with log:
        yield log


def error_rows(unit: StatsUnit, file: str, errors: list[KafkaSpecError]) -> pa.Table:
    """Return errors as rows."""
    columns = {
        "file": [file] * len(errors),
        "position": [error.position for error in errors],
        "reason": [str(error.reason) for error in errors],
        "message": [error.detail for error in errors],
        "count": [1] * len(errors),
    }
    return summed("errors", unit.place, columns, len(errors))
