"""Put the runs of one partition together to one log, which may continue an existing one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kafkaspec.broker.profiles import get_profile
from kafkaspec.errors import Reason, make_error
from kafkaspec.files import names
from kafkaspec.files.checkpoints import leader_epoch_checkpoint
from kafkaspec.files.checkpoints.leader_epoch_checkpoint import EpochEntry
from kafkaspec.io.local import read_beside
from kafkaspec.log.headers import read_headers
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.output.atomic import put, writing
from kafkaspec.spark.staging import StagedRun, gap
from kafkaspec.spark.write_options import WriteOptions
from kafkaspec.writing.editing import move_offsets

_DIGITS: Final = len(names.SegmentName(0, "").sibling(""))
"""Characters of a base offset in a name."""
_SEGMENTS_WITH_SNAPSHOT: Final = 2
"""Number of segments whose snapshots brokers before 2.8 keep."""


@dataclass(frozen=True, slots=True)
class Additions:
    """Files for a partition directory, in the order in which they appear: a log after its indexes.

    Those of ``replaced`` take the place of another file.
    """

    directory: Path
    names: tuple[str, ...]
    replaced: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Existing:
    """The existing log, with the state of its producers at its end if a file has it."""

    end: int
    epochs: tuple[EpochEntry, ...]
    snapshot: bytes | None
    has_epochs: bool
    has_metadata: bool


def prepare(
    options: WriteOptions,
    staging: Path,
    runs: Sequence[StagedRun],
    existing: Path | None,
    target: Path,
    *,
    keep: bool,
) -> Additions:
    """Move the files of runs to an empty directory, with their names and offsets in one log.

    ``existing`` is the log that they continue; with ``keep``, their offsets are final.
    """
    log = None if existing is None else _read(existing)
    ordered = sorted(runs, key=lambda run: run.first_offset) if keep else list(runs)
    if keep:
        _check(options, ordered, None if log is None else log.end)
    end = options.starting_offset if log is None else log.end
    first_offset = ordered[0].first_offset + (0 if keep else end)
    moved: list[str] = []
    bases: list[int] = []
    for run in ordered:
        distance = 0 if keep else end
        moved += _segments(staging / run.directory, dict(run.segments), distance, target, options)
        bases += (base + distance for base, _ in run.segments)
        end = run.next_offset + distance
    first = staging / ordered[0].directory
    moved += _snapshots(options, log, bases, end, first, target)
    order = sorted(moved, key=lambda name: (name[:_DIGITS], name.endswith(names.LOG)))
    others, replaced = _beside(options, log, first_offset, first, target)
    return Additions(target, (*others, *order), replaced)


def _check(options: WriteOptions, runs: Sequence[StagedRun], end: int | None) -> None:
    """Check that runs follow each other, and the existing log."""
    for run in runs:
        if end is not None and run.first_offset < end:
            detail = (
                f"offsets {run.first_offset} to {run.next_offset - 1} of {run.place} overlap with "
                f"others up to {end - 1}: a task must have all rows of a range of offsets, and no "
                "offset may be written twice; kafkaspec.spark.write sees to the first"
            )
            raise make_error(Reason.UNENCODABLE, detail)
        if end is not None and run.first_offset > end and not options.allow_gaps:
            raise gap(run.place, f"from {end} to {run.first_offset - 1}")
        end = run.next_offset


def _read(path: Path) -> _Existing:
    """Return the required facts about the existing log."""
    with Partition(path) as partition:
        if not partition.segment_paths:
            raise make_error(Reason.UNREADABLE, "it has no segment", file=os.fspath(path))
        epochs, end = partition.leader_epochs, partition.last_base_offset or 0
        with Segment(partition.segment_paths[-1], tail="raise") as segment:
            for headers in read_headers(segment):
                end = headers.last_offset[-1] + 1
    snapshot = path / _snapshot_name(end)
    with writing(path):
        state = bytes(read_beside(snapshot).buffer) if snapshot.exists() else None
    return _Existing(
        end,
        epochs,
        state,
        (path / names.LEADER_EPOCHS).exists(),
        (path / names.PARTITION_METADATA).exists(),
    )


def _snapshot_name(offset: int) -> str:
    return names.SegmentName(offset, "").sibling(names.PRODUCER_SNAPSHOT)


def _segments(
    source: Path, sizes: dict[int, int], distance: int, target: Path, options: WriteOptions
) -> list[str]:
    """Move the segments of a run, give them other offsets, and return the names of the files."""
    moved = []
    with writing(source):
        for path in sorted(source.iterdir()):
            name = names.parse_segment(path.name)
            if name is None or name.kind == names.PRODUCER_SNAPSHOT:
                continue
            if name.kind == names.LOG:
                size = path.stat().st_size
                if size != sizes.get(name.base_offset):
                    detail = f"it has {size} bytes, not {sizes.get(name.base_offset)}"
                    raise make_error(Reason.CHANGED, detail, file=os.fspath(path))
                move_offsets(path, distance, sync=options.sync)
            moved.append(name._replace(base_offset=name.base_offset + distance).sibling(name.kind))
            os.rename(path, target / moved[-1])
    return moved


def _snapshots(
    options: WriteOptions,
    log: _Existing | None,
    bases: Sequence[int],
    end: int,
    first: Path,
    target: Path,
) -> list[str]:
    """Write the producer snapshots: before each segment except the first, and at the end.

    No batch of ours has a producer, so all snapshots are the same: empty, or what was known at the
    end of the existing log. If that is not known, the broker rebuilds it.
    """
    if log is None:
        known = sorted(first.glob(f"*{names.PRODUCER_SNAPSHOT}"))
        state = bytes(read_beside(known[0]).buffer) if known else None
        offsets = [*bases[1:], end]
    else:
        state = log.snapshot
        offsets = [*(base for base in bases if base != log.end), end]
    if state is None:
        return []
    profile = get_profile(options.profile)
    if not profile.snapshot_per_segment and len(bases) >= _SEGMENTS_WITH_SNAPSHOT:
        offsets = [offset for offset in offsets if offset >= bases[-_SEGMENTS_WITH_SNAPSHOT]]
    made = [_snapshot_name(offset) for offset in offsets]
    for name in made:
        put(target / name, state, sync=options.sync)
    return made


def _beside(
    options: WriteOptions, log: _Existing | None, first_offset: int, first: Path, target: Path
) -> tuple[list[str], tuple[str, ...]]:
    """Write what a partition directory has once; return names, and those that replace a file."""
    made: list[str] = []
    replaced: tuple[str, ...] = ()
    metadata = first / names.PARTITION_METADATA
    with writing(target):
        if metadata.exists() and (log is None or not log.has_metadata):
            os.rename(metadata, target / metadata.name)
            made.append(metadata.name)
        checkpoint = first / names.LEADER_EPOCHS
        if not checkpoint.exists():
            return made, replaced
        empty = not checkpoint.stat().st_size
    epochs = () if empty else leader_epoch_checkpoint.read(checkpoint)
    entries = [EpochEntry(item.epoch, first_offset) for item in epochs]
    if log is not None and log.epochs:
        latest = log.epochs[-1].epoch
        if entries and entries[-1].epoch < latest:
            detail = f"its leader epoch is {latest}: give an option leaderEpoch of {latest} or more"
            raise make_error(Reason.UNENCODABLE, detail, file=os.fspath(target.name))
        entries = [item for item in entries if item.epoch > latest]
        if not entries:
            return made, replaced
        entries = [*log.epochs, *entries]
    if log is not None and (log.epochs or log.has_epochs):
        replaced = (checkpoint.name,)
    data = leader_epoch_checkpoint.serialize(entries) if entries else b""
    put(target / checkpoint.name, data, sync=options.sync)
    return [*made, checkpoint.name], replaced
