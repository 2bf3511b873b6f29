"""The findings of ``diagnose`` in log directories, what happens to them, and what that costs."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import ClassVar, Final

from kafkaspec.broker.actions import BrokerAction
from kafkaspec.broker.text_files import fault_of
from kafkaspec.errors import KafkaSpecError
from kafkaspec.results import Assumption, Finding, OffsetRange


def quoted(path: Path) -> str:
    """Return a path as a word of a shell."""
    return shlex.quote(str(path))


def move_away(path: Path) -> str:
    """Return the command that moves something out of the log directory that it is in."""
    root = path.parent if path.is_dir() else path.parent.parent
    return f"mv {quoted(path)} {quoted(above(root) / path.name)}"


def above(root: Path) -> Path:
    """Return the directory that a log directory is in, also of one that is named by ``.``."""
    return root.absolute().parent


class Effect(StrEnum):
    """The reaction of a starting broker; the worst first."""

    KILLS = "kills"
    """The broker does not start."""
    OFFLINE = "offline"
    """The broker gives the log directory up, and does not start if it has no other."""
    DELETES = "deletes"
    """Files or segments are deleted."""
    CUTS = "cuts"
    """A segment is cut or emptied."""
    HIDES = "hides"
    """Records are not delivered, and their offsets are given out again."""
    RENAMES = "renames"
    """The directory is renamed, and its partition is no longer served from it."""
    PROMOTES = "promotes"
    """A copy takes the place of the partition."""
    SPLITS = "splits"
    """A segment becomes several."""
    RESETS = "resets"
    """A value that the broker cannot use is replaced."""
    RECOVERS = "recovers"
    """Segments are read again and their indexes rebuilt; nothing is lost."""
    IGNORES = "ignores"
    """The broker does not notice, and something stays wrong."""
    NOTHING = "nothing"
    """Nothing; worth knowing."""


FAULTS: Final = {
    BrokerAction.REFUSES_LOG: (Effect.OFFLINE, "the broker gives the log directory up"),
    BrokerAction.REFUSES_START: (Effect.KILLS, "the broker does not start"),
    BrokerAction.RESETS_OFFSET: (Effect.RESETS, "the broker goes on"),
}
"""What a broker does about a text file that it cannot use, and the same in words."""


def bad_file(path: Path, error: KafkaSpecError) -> tuple[Effect, str]:
    """Return what a broker does about a text file with an error."""
    return FAULTS[fault_of(path, error)]


class TroubleKind(StrEnum):
    """The kinds of findings."""

    DIRECTORY_NAME = "directory_name"
    DUPLICATE = "duplicate"
    METADATA_TWICE = "metadata_twice"
    METADATA_MISSING = "metadata_missing"
    META_PROPERTIES = "meta_properties"
    OTHER_CLUSTER = "other_cluster"
    OTHER_NODE = "other_node"
    DIRECTORY_ID = "directory_id"
    CHECKPOINT = "checkpoint"
    QUORUM_STATE = "quorum_state"
    LEADER_EPOCHS = "leader_epochs"
    PARTITION_METADATA = "partition_metadata"
    STRAY = "stray"
    OTHER_NAME = "other_name"
    FUTURE = "future"
    DELETED_PARTITION = "deleted_partition"
    STRAY_KEPT = "stray_kept"
    MISSING = "missing"
    EMPTY = "empty"
    UNREADABLE = "unreadable"
    FILE_NUMBER = "file_number"
    NOT_LOADED = "not_loaded"
    BASE_OFFSET = "base_offset"
    LOST_OFFSETS = "lost_offsets"
    CUT = "cut"
    HIDDEN = "hidden"
    DAMAGED = "damaged"
    REMOVED = "removed"
    SPLIT = "split"
    ENDS_BEFORE_START = "ends_before_start"
    BELOW_START = "below_start"
    NO_INDEX = "no_index"
    PADDED_INDEX = "padded_index"
    ORPHAN = "orphan"
    DELETED_FILE = "deleted_file"
    CLEANED_FILE = "cleaned_file"
    SWAP_FILE = "swap_file"
    REPLACED = "replaced"
    UNCLEAN_STOP = "unclean_stop"
    FOREIGN_FILE = "foreign_file"


@dataclass(frozen=True, slots=True)
class Trouble(Finding):
    """One thing that a starting broker meets.

    Attributes:
        reason: what it is.
        effect: what the broker does about it.
        file: path of the file or directory.
        message: what is there, and what the broker does, for people.
        position: byte offset in the file, None if it is about the whole file.
        offsets: the offsets that are lost or concerned.
        strength: how well the files prove it.
        remedy: what to do before the start; None if nothing has to be done.
        command: a command that does it, None if there is none.
        topic: topic of the partition, None for none.
        partition: its number.
        size: bytes that are lost or concerned, None if that does not matter.
    """

    reason: TroubleKind
    message: str
    file: str
    effect: Effect
    remedy: str | None = None
    command: str | None = None
    topic: str | None = None
    partition: int | None = None
    size: int | None = None
    ALSO: ClassVar = ("kind",)

    @property
    def kind(self) -> TroubleKind:
        """``reason``, by the name that it had before 0.3."""
        return self.reason

    @property
    def counts(self) -> bool:
        """Whether it needs somebody's attention."""
        return self.effect not in (Effect.NOTHING, Effect.RECOVERS)


@dataclass(frozen=True, slots=True)
class SegmentOutcome:
    """The fate of a segment.

    Attributes:
        name: of its file after the start.
        size: its bytes now; None if it is made at the start.
        kept: its bytes after the start; None if it is deleted.
        alone: whether it is recovered because its offset index is missing.
    """

    name: str
    size: int | None
    kept: int | None
    alone: bool = False


@dataclass(slots=True)
class DirectoryFate:
    """The fate of the directory of a partition.

    Attributes:
        path: of the directory.
        topic: from its name.
        partition: number from its name.
        state: ``-delete``, ``-future``, ``-stray`` or "" now.
        becomes: name of the directory after the start; ``*`` stands for an id that the broker
            chooses.
        segments: its segments in order.
        start_offset: log start offset after the start; None if the broker does not load it.
        end_offset: log end offset; None as above, or if a segment is split.
        read_bytes: bytes of segments that the start has to read.
    """

    path: Path
    topic: str
    partition: int
    state: str = ""
    becomes: str = ""
    segments: list[SegmentOutcome] = field(default_factory=list)
    start_offset: int | None = None
    end_offset: int | None = None
    read_bytes: int = 0

    @property
    def lost_bytes(self) -> int:
        """Bytes of segments that the start removes."""
        return sum((item.size or 0) - (item.kept or 0) for item in self.segments)

    @property
    def segments_after(self) -> dict[str, int]:
        """Sizes of the segments after the start, by name."""
        return {item.name: item.kept for item in self.segments if item.kept is not None}


@dataclass(slots=True)
class Diagnosis:
    """The effects of a broker's start on log directories.

    Attributes:
        directories: paths of the log directories.
        troubles: in the order of directories and names.
        outcomes: of the directories of partitions, in the same order.
        assumptions: what the files do not say.
        offline: log directories that the broker gives up.
        unread: number of files and directories that could not be read.
    """

    directories: tuple[Path, ...]
    troubles: list[Trouble] = field(default_factory=list)
    outcomes: list[DirectoryFate] = field(default_factory=list)
    assumptions: list[Assumption] = field(default_factory=list)
    offline: set[Path] = field(default_factory=set)
    unread: int = 0

    @property
    def starts(self) -> bool:
        """Whether the broker starts: nothing kills it, and not all directories are given up."""
        return not self.killers and len(self.offline) < len(self.directories)

    @property
    def killers(self) -> list[Trouble]:
        """The troubles for which the broker does not start."""
        return [item for item in self.troubles if item.effect is Effect.KILLS]

    @property
    def findings(self) -> list[Trouble]:
        """The troubles that need somebody's attention."""
        return [item for item in self.troubles if item.counts]

    def add(self, troubles: Iterable[Trouble]) -> None:
        """Take over some troubles."""
        self.troubles.extend(troubles)


class LossKind(StrEnum):
    """The fates of data of a partition, the worst first."""

    CUT = "cut"
    """Bytes of segments are cut off or deleted."""
    HIDDEN = "hidden"
    """Records are not delivered, and their offsets are given out again."""
    RENAMED = "renamed"
    """The directory becomes a stray one, and is served no more."""
    DELETED = "deleted"
    """The directory is deleted."""
    DAMAGED = "damaged"
    """Damage that the start does not look at: consumers fail at it."""
    MISSING = "missing"
    """The only replica is not there: an empty directory takes its place."""


_KINDS: Final = {
    TroubleKind.CUT: LossKind.CUT,
    TroubleKind.REMOVED: LossKind.CUT,
    TroubleKind.ENDS_BEFORE_START: LossKind.CUT,
    TroubleKind.HIDDEN: LossKind.HIDDEN,
    TroubleKind.STRAY: LossKind.RENAMED,
    TroubleKind.DELETED_PARTITION: LossKind.DELETED,
    TroubleKind.MISSING: LossKind.MISSING,
    TroubleKind.DAMAGED: LossKind.DAMAGED,
}


@dataclass(slots=True)
class PartitionLoss:
    """The fate of data of one partition.

    Attributes:
        what: what happens.
        topic: topic of the partition.
        partition: its number.
        size: bytes that are concerned, 0 if that does not matter.
        offsets: ranges of offsets that are concerned, in order.
    """

    what: LossKind
    topic: str
    partition: int
    size: int = 0
    offsets: list[OffsetRange] = field(default_factory=list)


def losses(troubles: Iterable[Trouble], offline: Iterable[Path]) -> list[PartitionLoss]:
    """Return what is lost, the worst first, by partition in the order of the directories.

    Args:
        troubles: what was found.
        offline: log directories that the broker gives up: nothing happens to their partitions.
    """
    found: dict[tuple[LossKind, str, int], PartitionLoss] = {}
    given_up = tuple(offline)
    for trouble in troubles:
        kind = _KINDS.get(trouble.reason)
        if kind is None or trouble.topic is None or trouble.partition is None or not trouble.counts:
            continue
        if any(root in Path(trouble.file).parents for root in given_up):
            continue
        key = (kind, trouble.topic, trouble.partition)
        loss = found.setdefault(key, PartitionLoss(*key))
        loss.size += trouble.size or 0
        if trouble.offsets is not None:
            loss.offsets.append(trouble.offsets)
    for loss in found.values():
        loss.offsets = list(_joined(loss.offsets))
    ranks = list(LossKind)
    return sorted(found.values(), key=lambda loss: ranks.index(loss.what))


def _joined(ranges: Sequence[OffsetRange]) -> Iterator[OffsetRange]:
    """Yield ranges in order, adjacent ones as one."""
    begin: int | None = None
    end: int | None = None
    for first, stop in sorted(ranges, key=lambda each: each[0]):
        if begin is not None and (end is None or first <= end):
            end = None if end is None or stop is None else max(end, stop)
            continue
        if begin is not None:
            yield OffsetRange(begin, end)
        begin, end = first, stop
    if begin is not None:
        yield OffsetRange(begin, end)
