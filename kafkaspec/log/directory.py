"""A whole log directory of a broker: its partitions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from os import PathLike
from types import TracebackType
from typing import Any, Self

from kafkaspec.files import names
from kafkaspec.files.checkpoints.log_directory import Checkpoints
from kafkaspec.io.local import unreadable
from kafkaspec.io.remote import as_path
from kafkaspec.log.columnar import Columnar
from kafkaspec.log.lookup import Found
from kafkaspec.log.partition import Partition
from kafkaspec.model import Record


class LogDirectory(Columnar):
    """What ``log.dirs`` of a broker names.

    Attributes:
        path: of the directory.
    """

    def __init__(self, path: str | PathLike[str], **options: Any) -> None:
        """List a log directory. No segment is opened yet.

        Args:
            path: of the directory.
            options: for each ``Segment``: ``codec``, ``crc``, ``tail``, ``max_output``.

        Raises:
            KafkaSpecError: ``unreadable``.
        """
        self.path = as_path(path)
        self._options = options
        try:
            self._names = sorted(
                item
                for item in self.path.iterdir()
                if item.is_dir() and names.parse_partition(item.name)
            )
        except OSError as error:
            raise unreadable(str(path), error.strerror or str(error)) from None

    @cached_property
    def partitions(self) -> list[Partition]:
        """The partitions by topic and number, also those that are being deleted or moved.

        Raises:
            KafkaSpecError: ``unreadable``.
        """
        found = [Partition(path, **self._options) for path in self._names]
        return sorted(found, key=lambda item: (item.topic or "", item.partition or 0, item.state))

    @cached_property
    def checkpoints(self) -> Checkpoints:
        """What the broker has noted: high watermarks, log start offsets, cluster, node ..."""
        return Checkpoints(self.path)

    def records(self, *, control: bool = False) -> Iterator[Record]:
        """The records of all partitions, one partition behind the other.

        Partitions come by topic and number, those that are being deleted or moved too; within one
        the order is that of its log. One segment is open at a time, and one batch decompressed. A
        record does not say where it comes from: for that, go through ``partitions``, or ask
        ``to_batches`` for the columns ``topic`` and ``partition``.

        Args:
            control: whether control records, which no consumer sees, come too.

        Raises:
            KafkaSpecError: a batch cannot be read.
        """
        for partition in self.partitions:
            yield from partition.records(control=control)

    def find(self, **target: Any) -> Iterator[tuple[Partition, Found]]:
        """``Partition.find`` of each partition; takes what that takes."""
        for partition in self.partitions:
            yield partition, partition.find(**target)

    def close(self) -> None:
        """Close the segments that were opened."""
        for partition in self.__dict__.get("partitions", ()):
            partition.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<LogDirectory {self.path}: {len(self._names)} partitions>"
