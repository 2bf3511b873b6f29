"""Convert everything under a path into a new directory, and verify the result."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Final, Unpack

from kafkaspec.analysis.reasons import FindingReason
from kafkaspec.analysis.verification import verify
from kafkaspec.codecs import Codec, get_codec
from kafkaspec.conversion.choices import Choices
from kafkaspec.conversion.compare import compare
from kafkaspec.conversion.offsets import Offsets
from kafkaspec.conversion.options import ChoiceOptions
from kafkaspec.conversion.partition import FileProgress, PartitionConversion
from kafkaspec.conversion.report import ConversionReport, PartitionResult
from kafkaspec.errors import KafkaSpecError, none_of
from kafkaspec.io.local import unmapped
from kafkaspec.log.damage import judge
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.missing import missing, passed_over
from kafkaspec.log.opening import open_log
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.log.selection import check_isolation
from kafkaspec.options import checked
from kafkaspec.output.atomic import DirectoryAside, require_new
from kafkaspec.output.places import check_output
from kafkaspec.times import with_milliseconds
from kafkaspec.writing.carried import WrittenLog, carry

_LOST: Final = (
    "left out: the state of producers before the first segment: its offsets and sequence numbers"
    " do not match the output"
)


@checked
def convert(
    path: str | PathLike[str],
    out: str | PathLike[str],
    *,
    codec: Codec | str | None = None,
    check: bool = True,
    progress: FileProgress | None = None,
    jobs: int = 1,
    **choices: Unpack[ChoiceOptions],
) -> ConversionReport:
    """Rewrite logs with another magic, compression, offsets, batches or segments.

    Nothing changes under ``path``. Indexes, producer snapshots and checkpoints of partitions are
    rebuilt as by a broker of the profile. Of a log directory, the checkpoints that hold are written
    again, with the new offsets; its other files are not. Partitions
    that are being deleted or moved, and KRaft snapshots, are left out, as the report says. Records
    below the log start offset were deleted and are left out too. What is missing in the input is in
    the report, see ``kafkaspec.log.missing``.

    An error of one partition of a log directory stays with it: the report has it, and the others
    are converted. With ``on_error="skip"``, a batch or segment that cannot be read is left out
    instead.

    The state of producers that only a producer snapshot contains, since their batches are gone, is
    carried over if offsets and magic stay, so a broker still knows these producers. Otherwise the
    report lists the snapshot as left out.

    Args:
        path: a segment, a partition directory or a log directory.
        out: a new or empty directory: the partition directory for a segment or a partition, the log
            directory for a log directory.
        codec: name or instance of the codec; the default codec if None.
        check: whether to read the result again, to ``verify`` it and to compare it with the input
            record by record.
        progress: called with the name of a file and the number of bytes read from it since the last
            call; with ``check`` each byte is reported twice.
        jobs: number of threads that convert batches of a partition, and that verify the result. The
            output is the same for any number.
        choices: see ``Choices``.

    Returns:
        The results, with counts and the findings of the check.

    Raises:
        KafkaSpecError: nothing can be read, something cannot be written, or ``out`` cannot be used.
            There is no output then: all of it is published at the end, by one rename.
        ValueError: a choice is invalid.
    """
    plan = Choices(**with_milliseconds(choices))
    reader = codec if isinstance(codec, Codec) else get_codec(codec)
    check_output(out, path)
    require_new(Path(out))
    report = ConversionReport()
    with open_log(path, codec=reader) as opened:
        if isinstance(opened, Segment):
            check_isolation(plan.isolation)
        aside = DirectoryAside(out)

        def final(name: str) -> str:
            return name.replace(os.fspath(aside.path), os.fspath(out))

        logs: list[WrittenLog] = []
        try:
            for item, place in _items(opened, aside.path, report):
                try:
                    result, lost, offsets = _convert(
                        item, place, plan, reader, check, progress, jobs
                    )
                except KafkaSpecError as error:
                    if not isinstance(opened, LogDirectory) or aside.concerns(error):
                        raise
                    aside.remove_directory(place.name)
                    report.failed[os.fspath(item.path or "")] = error
                    continue
                report.partitions.append(_renamed(result, final))
                if isinstance(item, Partition):
                    logs.append(_written(item, place, plan, offsets))
                if lost is not None:
                    report.left_out.append((os.fspath(lost), _LOST))
            if report.failed and not report.partitions:
                raise none_of([*report.failed.values()], "converted")
            report.checkpoints = carry(aside, logs, root=isinstance(opened, LogDirectory))
            aside.commit()
        except BaseException as error:
            aside.discard()
            if isinstance(error, KafkaSpecError) and error.file is not None:
                error.file = final(error.file)
            raise
    return report


def _renamed(result: PartitionResult, final: Callable[[str], str]) -> PartitionResult:
    """Return a result with the final names of files."""
    result.target = final(result.target)
    result.findings = [replace(item, file=final(item.file)) for item in result.findings]
    if result.comparison is not None:
        result.comparison.examples = list(map(final, result.comparison.examples))
    return result


def _written(source: Partition, path: Path, plan: Choices, offsets: Offsets) -> WrittenLog:
    """Return what decides which checkpoints hold for a partition."""
    start, chosen = source.log_start_of("checkpoint"), source.log_start_of(plan.log_start)
    revived = start is not None and (chosen is None or chosen < start)
    shift = None if offsets.renumbers else offsets.shift
    return WrittenLog(source, path, shift=shift, cut=not revived, revived=revived)


def _items(
    opened: Segment | Partition | LogDirectory, target: Path, report: ConversionReport
) -> list[tuple[Segment | Partition, Path]]:
    """Return the partitions to convert, and their target directories."""
    if isinstance(opened, Segment):
        return [(opened, target)]
    if isinstance(opened, Partition):
        _leave_out(opened, report)
        return [(opened, target)]
    report.left_out += [(item.file, item.message) for item in passed_over(opened)]
    report.failed |= opened.unreadable
    found: list[tuple[Segment | Partition, Path]] = []
    for partition in opened.current:
        _leave_out(partition, report)
        if partition.segment_paths:
            found.append((partition, target / partition.path.name))
    return found


def _leave_out(partition: Partition, report: ConversionReport) -> None:
    report.left_out += [
        (os.fspath(path), "left out: a KRaft snapshot") for path in partition.checkpoint_paths
    ]


def _committed(partition: Partition, plan: Choices) -> Choices:
    """Return a plan that ends at the last stable offset, if that is what it asks for."""
    if plan.isolation != "read_committed":
        return plan
    stable = partition.stable_offset(strict=plan.on_error == "raise")
    ends = [end for end in (stable, plan.end_offset) if end is not None]
    return replace(plan, end_offset=max(min(ends), plan.start_offset or 0)) if ends else plan


def _convert(
    item: Segment | Partition,
    target: Path,
    plan: Choices,
    codec: Codec,
    check: bool,
    progress: FileProgress | None,
    jobs: int,
) -> tuple[PartitionResult, Path | None, Offsets]:
    """Return the result of a partition, the producer snapshot left out, and the offsets."""
    start: int | None = None
    with unmapped():  # side files too: others may change any file of the input
        if isinstance(item, Partition):
            paths, start = item.segment_paths, item.log_start_of(plan.log_start)
            plan = _committed(item, plan)
        else:
            assert item.path is not None
            paths = [item.path]
        source = os.fspath(item.path or "")
        conversion = PartitionConversion(
            source,
            paths,
            target,
            plan,
            codec,
            log_start_offset=start,
            progress=progress,
            jobs=jobs,
        )
        conversion.run()
        result = conversion.result
        result.note_missing(
            missing(
                item,
                start_offset=plan.start_offset,
                end_offset=plan.end_offset,
                log_start=plan.log_start,
                judge=judge,
                check=result.damaged > 0,
            )
        )
    if check:
        bounds = [bound for bound in (start, plan.start_offset) if bound is not None]
        result.comparison = compare(
            conversion, plan, codec, low=max(bounds, default=None), progress=progress
        )
        found = verify(target, codec=codec.name, max_output=plan.max_output, jobs=jobs).findings
        # What compaction removed had offsets of its own, which are gone if all are consecutive.
        expected = {FindingReason.SEQUENCE_GAP} if plan.offsets == "renumber" else set()
        # What is missing in the input is in the report, and the comparison knows of any other.
        expected.add(FindingReason.MISSING_OFFSETS)
        result.findings = [finding for finding in found if finding.reason not in expected]
    return result, conversion.lost_snapshot, conversion.converter.offsets
