"""The common interface of a segment, a partition and a log directory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Self, Unpack

from kafkaspec.log.batch import Batch
from kafkaspec.log.columnar import Columnar
from kafkaspec.log.lookup import Found
from kafkaspec.log.options import RecordOptions
from kafkaspec.model import Record
from kafkaspec.provider import InNotebook
from kafkaspec.times import Time


class Log(InNotebook, Columnar, ABC):
    """A segment, a partition or a log directory, as ``kafkaspec.open`` returns it."""

    @abstractmethod
    def batches(self, *, start_offset: int | None = None) -> Iterator[Batch]:
        """Yield the batches in order; see ``Segment.batches``."""

    @abstractmethod
    def records(
        self, start_offset: int | None = None, **options: Unpack[RecordOptions]
    ) -> Iterator[Record]:
        """Yield the records in order; see ``Segment.records``."""

    @abstractmethod
    def find(
        self,
        *,
        offset: int | None = None,
        timestamp: Time | None = None,
        max_timestamp: bool = False,
        plain: bool = False,
        use_index: bool = True,
    ) -> Found:
        """Find an offset or a timestamp; see ``Segment.find``."""

    @abstractmethod
    def close(self) -> None:
        """Close the files that were opened."""

    def __bool__(self) -> bool:
        """A log counts as true, whatever is in it."""
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
