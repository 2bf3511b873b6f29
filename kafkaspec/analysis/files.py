"""List all files under a path, each with its kind, and divide partitions into groups."""

from __future__ import annotations

import os
from collections.abc import Container, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kafkaspec.analysis.report import LOG_KINDS, FileKind
from kafkaspec.errors import KafkaSpecError, unreadable
from kafkaspec.files import names
from kafkaspec.io.remote import TIERED, RemotePath, is_directory, is_mounted
from kafkaspec.log.opening import logs_below
from kafkaspec.provider import provider

_KINDS = {
    **dict.fromkeys(names.SIDECARS, FileKind.OTHER),
    **dict.fromkeys(names.INDEXES, FileKind.INDEX),
    names.LOG: FileKind.SEGMENT,
    names.MESSAGE_SET: FileKind.MESSAGE_SET,
    names.OFFSET_INDEX: FileKind.OFFSET_INDEX,
    names.TIME_INDEX: FileKind.TIME_INDEX,
    names.TRANSACTION_INDEX: FileKind.TRANSACTION_INDEX,
    names.PRODUCER_SNAPSHOT: FileKind.PRODUCER_SNAPSHOT,
}

_TEXT = {
    names.LEADER_EPOCHS: FileKind.LEADER_EPOCH_CHECKPOINT,
    names.PARTITION_METADATA: FileKind.PARTITION_METADATA,
    names.QUORUM_STATE: FileKind.QUORUM_STATE,
    **dict.fromkeys(names.OFFSET_CHECKPOINTS, FileKind.OFFSET_CHECKPOINT),
    names.META_PROPERTIES: FileKind.META_PROPERTIES,
    names.CLEAN_SHUTDOWN: FileKind.CLEAN_SHUTDOWN,
    names.LOCK: FileKind.LOCK,
}

_UNFINISHED = (*names.STATES, ".part", ".tmp")


def kind_of(name: str) -> FileKind:
    """Return the kind of a file by its name."""
    segment = names.parse_segment(name)
    if segment is not None:
        return FileKind.LEFTOVER if segment.state else _KINDS[segment.kind]
    checkpoint = names.parse_checkpoint(name)
    if checkpoint is not None:
        return FileKind.LEFTOVER if checkpoint.state else FileKind.KRAFT_SNAPSHOT
    if name == "bootstrap" + names.CHECKPOINT:
        return FileKind.KRAFT_SNAPSHOT
    if name in _TEXT:
        return _TEXT[name]
    if names.is_stream_state(name):
        return FileKind.STREAM_STATE
    stem, dot, suffix = name.rpartition(".")
    if f"{dot}{suffix}" in _UNFINISHED and (
        stem in _TEXT or kind_of(stem) is not FileKind.UNKNOWN or names.CHECKPOINT in name
    ):
        return FileKind.LEFTOVER
    return FileKind.UNKNOWN


@dataclass(slots=True)
class Directory:
    """The files of one directory.

    Attributes:
        path: path of the directory.
        is_partition: whether it has the name of a partition, or contains segments.
        files: all files by kind, each list in the order of names, which is that of offsets.
        unread: subdirectories that are not read.
        error: why a partition directory could not be listed, None if it could.
    """

    path: Path
    is_partition: bool = False
    files: dict[FileKind, list[Path]] = field(default_factory=dict)
    unread: list[Path] = field(default_factory=list)
    error: KafkaSpecError | None = None

    def of(self, *kinds: FileKind) -> list[Path]:
        """Return the files of these kinds."""
        return [path for kind in kinds for path in self.files.get(kind, ())]

    @property
    def sizes(self) -> list[int]:
        """Sizes of the segments in bytes, on which the work depends."""
        found = []
        for path in self.of(*LOG_KINDS):
            with suppress(OSError, KafkaSpecError):
                found.append(path.stat().st_size)
        return found


def read_directories(path: Path) -> list[Directory]:
    """Return the directory and, for a log directory, the partitions in it.

    Segments in remote storage are shown as a log directory or a partition.

    Raises:
        KafkaSpecError: ``unreadable``, if ``path`` cannot be listed, or if there is neither a
            segment nor any other file of a partition in it.
    """
    top, children = _list(path)
    directories = [top]
    if not top.is_partition:
        for child in children:
            cache = child.name == names.REMOTE_INDEX_CACHE
            if not names.is_of_log_directory(child.name):
                top.unread.append(child)
                continue
            try:
                directory, below = _list(child)
            except KafkaSpecError as error:
                directory, below = Directory(child, error=error), []
            directory.is_partition = directory.is_partition or not cache
            directory.unread.extend(below)
            directories.append(directory)
    else:
        top.unread.extend(children)
    kinds = (*_KINDS.values(), FileKind.KRAFT_SNAPSHOT)
    if not any(item.error is not None or item.of(*kinds) for item in directories):
        tiered = None if is_mounted(path) else provider(TIERED).mounted(path)
        if tiered is not None:
            return read_directories(tiered)
        detail = "there is no Kafka log here: neither segments (00000000000000000000.log) nor "
        detail += "partition directories (topic-0) with segments"
        raise unreadable(path, detail + (logs_below(path) or provider("foreign").found_below(path)))
    return directories


def segment_bytes(path: Path) -> int:
    """Return the size of the segments under a path in bytes, without those that cannot be read."""
    try:
        if path.is_dir():
            return sum(sum(directory.sizes) for directory in read_directories(path))
        return path.stat().st_size
    except (OSError, KafkaSpecError):
        return 0


def _list(path: Path) -> tuple[Directory, list[Path]]:
    directory = Directory(path)
    children = []
    if isinstance(path, RemotePath):
        found: list[tuple[Path, bool]] = [(each, is_directory(each)) for each in path.iterdir()]
    else:
        try:
            with os.scandir(path) as entries:
                found = [(Path(entry.path), _is_directory(entry)) for entry in entries]
        except OSError as error:
            raise unreadable(path, error) from None
    for item, is_folder in sorted(found, key=lambda each: each[0].name):
        if is_folder:
            children.append(item)
        else:  # perhaps a pipe, or a link that leads nowhere: its reader says so
            directory.files.setdefault(kind_of(item.name), []).append(item)
    directory.is_partition = bool(directory.of(*_KINDS.values()))
    return directory, children


def _is_directory(entry: os.DirEntry[str]) -> bool:
    """Return whether it is a directory, or a link with the name of a partition to nothing."""
    with suppress(OSError):  # links in a circle
        if entry.is_dir():
            return True
    missing = entry.is_symlink() and not os.path.exists(entry.path)
    return missing and names.parse_partition(entry.name) is not None


MANY: Final = 1000
"""Partitions of small segments that are worth other processes, however few bytes they have."""
MANY_BYTES: Final = 256 << 20
"""Bytes of small segments that are worth other processes, in however few partitions."""
_MOST: Final = 16
_MOST_BYTES: Final = 16 << 20
"""Partitions and bytes of a group."""


@dataclass(slots=True)
class Group:
    """Neighbours in the order of a log directory.

    Attributes:
        directories: the partitions.
        size: bytes of their segments.
        small: whether no segment is large; a large one is the only partition of its group.
    """

    directories: list[Directory] = field(default_factory=list)
    size: int = 0
    small: bool = True


def groups_of(
    directories: Sequence[Directory], part_bytes: int, done: Container[Path] = ()
) -> list[Group]:
    """Return all partitions in groups, in their order; a segment up to ``part_bytes`` is small.

    Those that are ``done`` are groups by themselves, and not small.

    Threads share the work on a large segment. A small one takes most of its time in Python, so
    that many of them are verified faster by several processes.
    """
    groups, group = list[Group](), Group()
    for directory in directories:
        sizes = directory.sizes
        small, size = max(sizes, default=0) <= part_bytes, sum(sizes)
        small &= directory.path not in done
        full = len(group.directories) == _MOST or group.size + size > _MOST_BYTES
        if group.directories and (full or not small):
            groups.append(group)
            group = Group()
        if not small:
            groups.append(Group([directory], size, small=False))
            continue
        group.directories.append(directory)
        group.size += size
    return [*groups, group] if group.directories else groups


def are_worth_processes(groups: Sequence[Group]) -> bool:
    """Return whether the small segments take longer than the start of other processes."""
    small = [group for group in groups if group.small]
    if len(small) < 2:
        return False
    partitions = sum(len(group.directories) for group in small)
    return partitions >= MANY or sum(group.size for group in small) >= MANY_BYTES
