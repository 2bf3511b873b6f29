"""Decide which checkpoints of a broker hold for logs that are written again, and write them.

The checkpoints lie in the log directory, outside the partitions that they speak of. Whoever
rewrites partitions asks here, and shows the answer: without ``log-start-offset-checkpoint`` a
log starts at the name of its first segment, so what deleteRecords removed would be read again.

- ``log-start-offset-checkpoint`` stays, unless the records below it are cut.
- ``replication-offset-checkpoint`` and ``cleaner-offset-checkpoint`` speak of records that were
  written and cleaned once, and hold as long as the output has those records.
- ``recovery-point-offset-checkpoint`` is never carried: after a start, a broker reads only what is
  not below it, and takes the rest for flushed and sound. Nothing has loaded these files before.

Kafka: ``LogLoader.load``, ``LogManager.loadLogs``, ``LogCleanerManager.cleanableOffsets``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from operator import attrgetter
from pathlib import Path
from typing import Final

from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names
from kafkaspec.files.checkpoints import offset_checkpoint
from kafkaspec.files.checkpoints.offset_checkpoint import PartitionOffset
from kafkaspec.log.partition import Partition
from kafkaspec.output.atomic import DirectoryAside

_LISTED: Final[Mapping[str, Callable[[Partition], int | None]]] = {
    names.LOG_START_OFFSETS: attrgetter("log_start_checkpoint"),
    names.HIGH_WATERMARKS: attrgetter("high_watermark"),
    names.CLEANER_OFFSETS: attrgetter("cleaner_offset"),
    names.RECOVERY_POINTS: attrgetter("recovery_point"),
}


class Carriage(StrEnum):
    """The fate of the entry of a partition in a checkpoint."""

    CARRIED = "carried"
    """It is in the output as it was."""
    ADAPTED = "adapted"
    """It is in the output with another offset."""
    CUT = "cut"
    """The output does not need it: the records below the log start offset are not there."""
    DROPPED = "dropped"
    """It is not in the output."""


@dataclass(frozen=True, slots=True)
class CarriedEntry:
    """The entry of a partition in a checkpoint.

    Attributes:
        file: name of the checkpoint.
        topic: the topic.
        partition: number of the partition.
        offset: its offset in the input; None if it has none.
        new_offset: its offset in the output; None if it is not there.
        carriage: what happened to it.
        why: why it is not as it was; "" if it is.
    """

    file: str
    topic: str
    partition: int
    offset: int | None
    new_offset: int | None
    carriage: Carriage
    why: str = ""


@dataclass(frozen=True, slots=True)
class Carried:
    """The fate of the checkpoints.

    Attributes:
        entries: of each partition that was written, and of each checkpoint that lists it.
        errors: checkpoints that cannot be read. A broker does not start with one of them.
    """

    entries: tuple[CarriedEntry, ...] = ()
    errors: tuple[KafkaSpecError, ...] = ()


@dataclass(frozen=True, slots=True)
class WrittenLog:
    """A partition that was written again.

    Attributes:
        source: the log that it was made of.
        path: the directory that is being written.
        shift: number that was added to each offset; None if they were renumbered.
        cut: whether records below the log start offset of the checkpoint were left out.
        revived: whether those records were asked for.
        sound_end: first offset from which the output has what the input does not; None for no such.
        cleaned: first dirty offset of the output, if a pass of the cleaner has made it.
    """

    source: Partition
    path: Path
    shift: int | None = 0
    cut: bool = False
    revived: bool = False
    sound_end: int | None = None
    cleaned: int | None = None


def carry(aside: DirectoryAside, logs: Iterable[WrittenLog], *, root: bool = True) -> Carried:
    """Write the checkpoints that hold for some logs into the log directory of the output.

    Args:
        aside: the directory that is being written, with all of it or nothing.
        logs: its partitions.
        root: whether it is a log directory. Otherwise it is a partition, and its checkpoints would
            lie outside it: nothing is written, and the log start offset needs a cut.

    Returns:
        The fate of each entry.

    Raises:
        KafkaSpecError: ``unreadable``: the output cannot be written or read.
    """
    entries: list[CarriedEntry] = []
    errors: dict[str, KafkaSpecError] = {}
    for log in logs:
        entries += _entries(log, root, errors)
    for file in _LISTED if root else ():
        listed = [
            PartitionOffset(entry.topic, entry.partition, entry.new_offset)
            for entry in entries
            if entry.file == file and entry.new_offset is not None
        ]
        if listed:
            aside.write(file, offset_checkpoint.serialize(listed))
    return Carried(tuple(entries), tuple(errors.values()))


def _entries(log: WrittenLog, root: bool, errors: dict[str, KafkaSpecError]) -> list[CarriedEntry]:
    topic, partition = log.source.topic, log.source.partition
    if topic is None or partition is None:
        return []
    found = []
    with closing(Partition(log.path)) as output:
        base, end = output.first_base_offset or 0, output.log_end_offset
    for file, listed in _LISTED.items():
        try:
            offset = listed(log.source)
        except KafkaSpecError as error:
            if root or file == names.LOG_START_OFFSETS:
                errors.setdefault(str(error), error)
            offset = None
        known = log.cleaned if file == names.CLEANER_OFFSETS else None
        if offset is None and known is None:
            continue
        new, why = _offset(log, file, offset, range(base, end)) if known is None else (known, _PASS)
        carriage = Carriage.CARRIED if new == offset else Carriage.ADAPTED
        if new is None:
            is_cut = log.cut and file == names.LOG_START_OFFSETS
            carriage = Carriage.CUT if is_cut else Carriage.DROPPED
        elif not root:
            new, carriage, why = None, Carriage.DROPPED, _OUTSIDE
        elif new == offset:
            why = ""
        found.append(CarriedEntry(file, topic, partition, offset, new, carriage, why))
    return found


_PASS: Final = "the pass of the cleaner ends there"
_OUTSIDE: Final = "the output is a partition, and its checkpoints would lie outside it"


def _offset(
    log: WrittenLog, file: str, offset: int | None, offsets: range
) -> tuple[int | None, str]:
    """Return the offset of an entry in the output, None for no entry, and why it is another."""
    assert offset is not None
    if file == names.RECOVERY_POINTS:
        return None, "a broker would take what is below it for sound, and now checks all of it once"
    if file == names.LOG_START_OFFSETS and log.revived:
        return None, "the records below it were asked for"
    if log.shift is None:
        return None, "offsets are renumbered"
    moved, why = offset + log.shift, f"all offsets are shifted by {log.shift:,}"
    if file == names.LOG_START_OFFSETS:
        if moved > offsets.start:
            return moved, why
        cut = "no record below it is left, and " if log.cut else "it is not needed: "
        return None, f"{cut}the first segment does not begin before it"
    if log.sound_end is not None and moved > log.sound_end <= offsets.stop:
        return log.sound_end, "from there on, the output has what the input does not have"
    if moved > offsets.stop:
        return offsets.stop, "the output ends there"
    if moved < offsets.start:
        return offsets.start, "the first segment begins there"
    return moved, why


def listed_counts(carried: Carried) -> Sequence[tuple[str, Carriage, str, int]]:
    """Return how many entries of each checkpoint had which fate, and why."""
    found: dict[tuple[str, Carriage, str], int] = {}
    for entry in carried.entries:
        key = entry.file, entry.carriage, entry.why
        found[key] = found.get(key, 0) + 1
    return [(*key, count) for key, count in found.items()]
