"""The text files in the root of a log directory, each read on first access."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from os import PathLike
from typing import TypeVar

from kafkaspec.files import names
from kafkaspec.files.checkpoints import clean_shutdown, meta_properties, offset_checkpoint
from kafkaspec.files.checkpoints.clean_shutdown import CleanShutdown
from kafkaspec.files.checkpoints.meta_properties import MetaProperties
from kafkaspec.io.remote import as_path

T = TypeVar("T")
PartitionOffsets = dict[tuple[str, int], int]
"""Offsets by topic and partition."""


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
        entries = self._of(name, offset_checkpoint.read) or ()
        listed = offset_checkpoint.by_partition(entries)
        return {key: entry.offset for key, entry in listed.items()}

    def _of(self, name: str, read: Callable[[PathLike[str]], T]) -> T | None:
        path = self._path / name
        return read(path) if path.exists() else None
