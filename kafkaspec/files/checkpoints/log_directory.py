"""The text files in the root of a log directory, each read on first access."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cached_property, lru_cache
from os import PathLike
from pathlib import Path
from typing import Final, TypeVar

from kafkaspec.files import names
from kafkaspec.files.checkpoints import clean_shutdown, meta_properties, offset_checkpoint
from kafkaspec.files.checkpoints.clean_shutdown import CleanShutdown
from kafkaspec.files.checkpoints.meta_properties import MetaProperties
from kafkaspec.io.remote import as_path

T = TypeVar("T")
PartitionOffsets = dict[tuple[str, int], int]
"""Offsets by topic and partition."""


_SETTLED_NS: Final = 2_000_000_000
"""Age from which a file's time of change tells its contents from others, on all file systems."""


def _offsets(path: Path) -> PartitionOffsets:
    """Read a checkpoint once for all the partitions that it lists, if a later change would show.

    The time of an object in a store may be unknown, that of a file too coarse.
    """
    status = path.stat()
    if not status.st_ino or time.time_ns() - status.st_mtime_ns < _SETTLED_NS:
        return _read_offsets(path)
    return _kept_offsets(path, (status.st_ino, status.st_size, status.st_mtime_ns))


@lru_cache(maxsize=8)
def _kept_offsets(path: Path, version: tuple[int, int, int]) -> PartitionOffsets:
    return _read_offsets(path)


def _read_offsets(path: Path) -> PartitionOffsets:
    listed = offset_checkpoint.by_partition(offset_checkpoint.read(path))
    return {key: entry.offset for key, entry in listed.items()}


class Checkpoints:
    """The files in which a broker describes its log directory as a whole.

    Each property raises ``KafkaSpecError`` for a file that exists and cannot be read; Kafka would
    not start with it either. For a missing file it is {} or None.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        """Remember the path; nothing is read yet.

        Args:
            path: path of the log directory.
        """
        self._path = as_path(path)

    @cached_property
    def high_watermarks(self) -> PartitionOffsets:
        """First offsets that were not known to be on all in-sync replicas."""
        return self._offsets(names.HIGH_WATERMARKS)

    @cached_property
    def recovery_points(self) -> PartitionOffsets:
        """First offsets that were not known to be flushed to disk."""
        return self._offsets(names.RECOVERY_POINTS)

    @cached_property
    def log_start_offsets(self) -> PartitionOffsets:
        """First offsets that are delivered, if not the base offset of the first segment."""
        return self._offsets(names.LOG_START_OFFSETS)

    @cached_property
    def cleaner_offsets(self) -> PartitionOffsets:
        """First offsets that compaction has not reached."""
        return self._offsets(names.CLEANER_OFFSETS)

    @cached_property
    def meta_properties(self) -> MetaProperties | None:
        """Ids of cluster, node and directory."""
        return self._of(names.META_PROPERTIES, meta_properties.read)

    @cached_property
    def clean_shutdown(self) -> CleanShutdown | None:
        """The flag of a clean stop, None if the broker is running or was not stopped cleanly."""
        return self._of(names.CLEAN_SHUTDOWN, clean_shutdown.read)

    def _offsets(self, name: str) -> PartitionOffsets:
        return self._of(name, _offsets) or {}

    def _of(self, name: str, read: Callable[[Path], T]) -> T | None:
        path = self._path / name
        return read(path) if path.exists() else None
