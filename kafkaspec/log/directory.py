"""A log directory of a broker with all its partitions."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Unpack

from kafkaspec.errors import KafkaSpecError, unreadable
from kafkaspec.files import names
from kafkaspec.files.checkpoints.log_directory import Checkpoints
from kafkaspec.io.remote import as_path, listed
from kafkaspec.log import lookup
from kafkaspec.log.base import Log
from kafkaspec.log.batch import NO_TIMESTAMP, Batch
from kafkaspec.log.options import FindOptions, Isolation, RecordOptions, SegmentOptions
from kafkaspec.log.partition import Partition
from kafkaspec.model import Record
from kafkaspec.options import UnknownNameError, checked, not_there
from kafkaspec.times import Time, milliseconds


class LogDirectory(Log):
    """A directory of ``log.dirs`` of a broker.

    Attributes:
        path: of the directory.
        folders: paths of folders in it that are neither partitions nor Kafka's.
    """

    path: Path
    folders: list[Path]

    @checked
    def __init__(self, path: str | PathLike[str], **options: Unpack[SegmentOptions]) -> None:
        """List a log directory. No segment is opened yet.

        Args:
            path: of the directory.
            options: for each ``Segment``: ``codec``, ``crc``, ``tail``, ``max_output``,
                ``mapped``, ``log_format``.

        Raises:
            KafkaSpecError: ``unreadable``.
        """
        self.path = as_path(path)
        self._options = options
        try:
            found = listed(self.path)
            # No file, but perhaps a link that leads nowhere: it shows when it is opened.
            self._names = [
                item
                for item, is_folder in found
                if names.parse_partition(item.name) and (is_folder or not item.is_file())
            ]
            self.folders = [
                item
                for item, is_folder in found
                if is_folder and not names.is_of_log_directory(item.name)
            ]
        except OSError as error:
            raise unreadable(str(path), error) from None

    @cached_property
    def partitions(self) -> list[Partition]:
        """The partitions by topic and number, also those that are being deleted, moved, or stray.

        Raises:
            KafkaSpecError: ``unreadable``.
        """
        for error in self.unreadable.values():
            raise error
        return self.readable

    @property
    def readable(self) -> list[Partition]:
        """The partitions that can be listed, in the same order; ``unreadable`` has the others."""
        return self._listed[0]

    @property
    def current(self) -> list[Partition]:
        """The readable partitions that a broker delivers: not those being deleted, moved, or stray.

        They are what ``batches``, ``records``, ``find`` and ``to_batches`` read.
        """
        return [partition for partition in self.readable if not partition.state]

    @property
    def unreadable(self) -> dict[str, KafkaSpecError]:
        """Why other partitions cannot be listed, by path."""
        return self._listed[1]

    @cached_property
    def _listed(self) -> tuple[list[Partition], dict[str, KafkaSpecError]]:
        found, errors = [], {}
        for path in self._names:
            try:
                found.append(Partition(path, checkpoints=self.checkpoints, **self._options))
            except KafkaSpecError as error:
                errors[str(path)] = error
        found.sort(key=lambda item: (item.topic or "", item.partition or 0, item.state))
        return found, errors

    @property
    def topics(self) -> list[str]:
        """The names of the topics of the current partitions, sorted."""
        return sorted({item.topic for item in self.current if item.topic is not None})

    def __iter__(self) -> Iterator[Partition]:
        """Iterate over the current partitions, by topic and number."""
        return iter(self._delivered())

    def __len__(self) -> int:
        """Return the number of current partitions."""
        return len(self._delivered())

    def __contains__(self, name: object) -> bool:
        """Return whether there is a current partition: ``"orders-0"``, or ``("orders", 0)``."""
        return any(name in _names_of(partition) for partition in self.current)

    def __getitem__(self, name: str | tuple[str, int]) -> Partition:
        """Return a current partition: ``log["orders-0"]``, or ``log["orders", 0]``.

        Raises:
            KeyError: there is no such partition; the text names the nearest ones.
            KafkaSpecError: it cannot be listed.
        """
        for partition in self.current:
            if name in _names_of(partition):
                return partition
        wanted = f"{name[0]}-{name[1]}" if isinstance(name, tuple) and len(name) == 2 else name
        for path, error in self.unreadable.items():
            if as_path(path).name == wanted:
                raise error
        known = [partition.path.name for partition in self.current]
        raise UnknownNameError(f"{self.path}: {not_there('current partition', wanted, known)}")

    def of_topic(self, topic: str) -> LogDirectory:
        """Return the log directory with the partitions of one topic alone.

        Args:
            topic: its name.

        Raises:
            KeyError: no current partition is of this topic.
        """
        if topic not in self.topics:
            raise UnknownNameError(f"{self.path}: {not_there('topic', topic, self.topics)}")
        chosen = copy(self)
        for name in ("partitions", "_listed"):
            chosen.__dict__.pop(name, None)
        chosen._names = [path for path in self._names if _topic_of(path.name) == topic]
        chosen.folders = []
        return chosen

    @cached_property
    def checkpoints(self) -> Checkpoints:
        """The broker's checkpoints: high watermarks, log start offsets, cluster, node ..."""
        return Checkpoints(self.path)

    def batches(self, *, start_offset: int | None = None) -> Iterator[Batch]:
        """Yield the batches of the current partitions, one partition after the other.

        Args:
            start_offset: skip batches of each partition that end below this offset.

        Raises:
            KafkaSpecError: an entry cannot be parsed.
        """
        for partition in self._delivered():
            yield from partition.batches(start_offset=start_offset)

    @checked
    def records(
        self, start_offset: int | None = None, **options: Unpack[RecordOptions]
    ) -> Iterator[Record]:
        """Yield the records of the current partitions, one partition after the other.

        Partitions come by topic and number; within one the order is that of its log. One segment
        is open at a time, and one batch decompressed. A record does not say where it comes from:
        for that, go through ``partitions``, or ask ``to_batches`` for the columns ``topic`` and
        ``partition``.

        Args:
            start_offset: smallest wanted offset of each partition.
            options: see ``Partition.records``.

        Raises:
            KafkaSpecError: a batch cannot be read.
        """
        for partition in self._delivered():
            yield from partition.records(start_offset, **options)

    @checked
    def find(
        self,
        *,
        offset: int | None = None,
        timestamp: Time | None = None,
        max_timestamp: bool = False,
        plain: bool = False,
        isolation: Isolation = "read_uncommitted",
        use_index: bool = True,
    ) -> lookup.Found:
        """Return the earliest answer of any current partition, or the latest for ``max_timestamp``.

        ``find_each`` gives the answer of each partition, as a broker has it.

        Args:
            offset: refused, since it means another record in each partition.
            timestamp: as ``Partition.find`` takes it, and so are the others.
            max_timestamp: the largest timestamp of all partitions.
            plain: with ``timestamp``: control records do not count.
            isolation: see ``Partition.find``.
            use_index: whether the indexes are used.

        Raises:
            KafkaSpecError: a batch on the way cannot be read.
            TypeError: an offset is given, or not exactly one of the others.
        """
        if offset is not None or (timestamp is not None) + max_timestamp != 1:
            raise TypeError(
                "give a timestamp or max_timestamp; for an offset ask a partition, or find_each"
            )
        answers = [
            partition.find(
                timestamp=timestamp,
                max_timestamp=max_timestamp,
                plain=plain,
                isolation=isolation,
                use_index=use_index,
            )
            for partition in self._delivered()
        ]
        how: lookup.How = "max_timestamp" if max_timestamp else "plain" if plain else "broker"
        none = lookup.Found(
            how, NO_TIMESTAMP if timestamp is None else milliseconds(timestamp, "timestamp"), None
        )
        best = (max if max_timestamp else min)(
            (found for found in answers if found.record is not None),
            key=lambda found: found.record.timestamp if found.record else NO_TIMESTAMP,
            default=none,
        )
        return replace(best, scanned_batches=sum(found.scanned_batches for found in answers))

    @checked
    def find_each(self, **target: Unpack[FindOptions]) -> Iterator[tuple[Partition, lookup.Found]]:
        """Yield each current partition and its answer; takes what ``Partition.find`` takes."""
        for partition in self._delivered():
            yield partition, partition.find(**target)

    def _delivered(self) -> list[Partition]:
        """Return the current partitions, if all can be listed."""
        return self.current if self.partitions else []

    def close(self) -> None:
        """Close the segments that were opened."""
        for partition in self.__dict__.get("partitions", ()):
            partition.close()

    def __repr__(self) -> str:
        return f"<LogDirectory {self.path}: {len(self._names)} partitions>"


def _names_of(partition: Partition) -> tuple[object, ...]:
    return partition.path.name, (partition.topic, partition.partition)


def _topic_of(folder: str) -> str | None:
    parsed = names.parse_partition(folder)
    return None if parsed is None else parsed.topic
