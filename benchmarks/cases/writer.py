"""Ready batches through ``SegmentWriter``, against a plain copy of the same bytes to a file."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

from benchmarks.cases.headers import write_segment
from benchmarks.data import MIB
from benchmarks.outcome import Case, Outcome, Settings, Table, number
from benchmarks.timing import Candidate, measure
from kafkaspec.files.names import LOG, segment_name
from kafkaspec.log.segment import Segment
from kafkaspec.writing.rebuild import rebuild_indexes
from kafkaspec.writing.segment_writer import SegmentWriter

_FULL = 256 * MIB
_SEGMENT = 64 * MIB
_COPY = "plain copy into a file"
_WRITERS = {profile: f"`append`, profile {profile}" for profile in ("4.3", "2.8", "1.1")}
_REBUILD = "`rebuild_indexes`, nothing written but the indexes"


def _copy(data: bytes, place: Path) -> int:
    return (place / "copy").write_bytes(data)


def _write(data: bytes, place: Path, profile: str) -> int:
    target = place / "orders-0"
    shutil.rmtree(target, ignore_errors=True)
    with SegmentWriter(target, 0, profile, segment_bytes=_SEGMENT, sync=False) as writer:
        writer.append(data)
    return sum(segment.size for segment in writer.segments)


def _rebuild(log: Path, place: Path) -> int:
    target = place / "indexes"
    shutil.rmtree(target, ignore_errors=True)
    return rebuild_indexes(log, target, sync=False).segments[0].valid_bytes


def _check(place: Path, data: bytes) -> None:
    logs = sorted((place / "orders-0").glob("*.log"))
    if b"".join(log.read_bytes() for log in logs) != data:
        raise AssertionError("the writer wrote other bytes")


def run(settings: Settings) -> Outcome:
    """Batches of 16 KiB; files go to the page cache and are not forced to disk."""
    log = settings.work / segment_name(0, LOG)
    write_segment(log, settings.size(_FULL))
    data = log.read_bytes()
    _write(data, settings.work, "4.3")
    _check(settings.work, data)
    with Segment(log) as segment:
        batches = sum(1 for _ in segment.batches())
    found = measure(
        [
            Candidate(_COPY, partial(_copy, data, settings.work), len(data)),
            *(
                Candidate(name, partial(_write, data, settings.work, profile), len(data))
                for profile, name in _WRITERS.items()
            ),
            Candidate(_REBUILD, partial(_rebuild, log, settings.work), len(data)),
        ],
        settings.rounds(5),
    )
    table = Table(
        "Writing ready batches of 16 KiB",
        ("what", "MB/s", "times the copy"),
        notes=[
            "With checksums verified, indexes, producer snapshots and segments of 64 MiB; a file of"
            f" {batches:,} batches, not forced to disk."
        ],
    )
    for name in (_COPY, *_WRITERS.values(), _REBUILD):
        share = found.median(name) / found.median(_COPY)
        table.rows.append((name, number(1e3 / found.median(name)), number(share)))
    for item in ("orders-0", "indexes"):
        shutil.rmtree(settings.work / item)
    for file in (log, settings.work / "copy"):
        file.unlink()
    return Outcome([table], [])


CASE = Case("writer", "Writing segments", run)
