"""``convert``: everything under a path into a new directory, verified at the end."""

from __future__ import annotations

import os
import shutil
from os import PathLike
from pathlib import Path
from typing import Any, Final

from kafkaspec.analysis.verification import verify
from kafkaspec.codecs import Codec, get_codec
from kafkaspec.conversion.choices import Choices
from kafkaspec.conversion.compare import compare
from kafkaspec.conversion.partition import PartitionConversion, Progress
from kafkaspec.conversion.report import ConversionReport, PartitionResult
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.opening import open_log
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment

_LOST: Final = (
    "what it says of producers before the first segment: it has offsets and sequence numbers that"
    " are others now"
)


def convert(
    path: str | PathLike[str],
    out: str | PathLike[str],
    *,
    codec: Codec | str | None = None,
    check: bool = True,
    progress: Progress | None = None,
    **choices: Any,
) -> ConversionReport:
    """Write logs anew: in another magic or compression, with other offsets, in other segments.

    Nothing is changed under ``path``. Indexes, producer snapshots and checkpoints of partitions are
    made anew, as a broker of the profile would; files of the log directory itself are not.
    Partitions that are being deleted or moved, and KRaft snapshots, are left out, which the report
    says. What lies below the log start offset was deleted and is left out too.

    What only a producer snapshot says of producers, since their batches are gone, is carried over
    where offsets and magic stay: a broker goes on to know these producers. Otherwise the report has
    the snapshot among what was left out.

    Args:
        path: a segment, a partition directory or a log directory.
        out: a directory that does not exist yet, or is empty: the partition directory for a segment
            or a partition, the log directory for a log directory.
        codec: name or instance; the default codec if None.
        check: whether the result is read again: by ``verify``, and record by record against the
            input.
        progress: takes the name of a file and how many bytes of it were done since the last call;
            with ``check`` each byte is done twice.
        choices: see ``Choices``.

    Returns:
        What was done, counted, and what the check found.

    Raises:
        KafkaSpecError: something cannot be read or written; what was made is removed again.
        ValueError: a choice that cannot be, or an ``out`` that cannot be used.
    """
    plan = Choices(**choices)
    reader = codec if isinstance(codec, Codec) else get_codec(codec)
    source, target = Path(path), Path(out)
    _check_places(source, target)
    report = ConversionReport()
    made: list[Path] = []
    existed = target.exists()
    with open_log(source, codec=reader) as opened:
        try:
            for item, place in _items(opened, target, report):
                made.append(place)
                result, lost = _convert(item, place, plan, reader, check, progress)
                report.partitions.append(result)
                if lost is not None:
                    report.left_out.append((os.fspath(lost), _LOST))
        except BaseException:
            for place in made:
                shutil.rmtree(place, ignore_errors=True)
            if not existed and target.is_dir():
                target.rmdir()
            raise
    return report


def _check_places(source: Path, target: Path) -> None:
    """Refuse to write where the input is.

    Raises:
        ValueError: ``out`` cannot be used.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ValueError(f"{target} is there already")
    ours, theirs = target.resolve(), source.resolve()
    if theirs in (ours, *ours.parents) or ours in theirs.parents:
        raise ValueError(f"{target} and {source} must not lie in each other")
    if not target.absolute().parent.is_dir():
        raise ValueError(f"there is no directory {target.absolute().parent}")


def _items(
    opened: Segment | Partition | LogDirectory, target: Path, report: ConversionReport
) -> list[tuple[Segment | Partition, Path]]:
    """What is converted, and where to."""
    if isinstance(opened, Segment):
        return [(opened, target)]
    if isinstance(opened, Partition):
        _leave_out(opened, report)
        return [(opened, target)]
    target.mkdir(exist_ok=True)
    found: list[tuple[Segment | Partition, Path]] = []
    for partition in opened.partitions:
        if partition.state:
            report.left_out.append(
                (os.fspath(partition.path), f"it is on its way: {partition.state}")
            )
            continue
        _leave_out(partition, report)
        if partition.segment_paths:
            found.append((partition, target / partition.path.name))
    return found


def _leave_out(partition: Partition, report: ConversionReport) -> None:
    report.left_out += [
        (os.fspath(path), "a KRaft snapshot") for path in partition.checkpoint_paths
    ]


def _convert(
    item: Segment | Partition,
    target: Path,
    plan: Choices,
    codec: Codec,
    check: bool,
    progress: Progress | None,
) -> tuple[PartitionResult, Path | None]:
    """What became of a partition, and the producer snapshot that was not carried over."""
    start: int | None = None
    if isinstance(item, Partition):
        paths, start = item.segment_paths, item.log_start_offset
    else:
        assert item.path is not None
        paths = [item.path]
    source = os.fspath(item.path or "")
    conversion = PartitionConversion(
        source, paths, target, plan, codec, log_start_offset=start, progress=progress
    )
    conversion.run()
    result = conversion.result
    if check:
        bounds = [bound for bound in (start, plan.start_offset) if bound is not None]
        result.comparison = compare(
            conversion, plan, codec, low=max(bounds, default=None), progress=progress
        )
        result.findings = list(
            verify(target, codec=codec.name, max_output=plan.max_output).findings
        )
    return result, conversion.lost_snapshot
