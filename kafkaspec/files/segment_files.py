"""The indexes and the producer snapshot of a segment."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from kafkaspec.codecs import Codec
from kafkaspec.files import names
from kafkaspec.files.indexes import OffsetIndex, TimeIndex
from kafkaspec.files.names import SegmentName
from kafkaspec.files.snapshots import ProducerSnapshot, TransactionIndex


class SegmentFiles:
    """The indexes and the producer snapshot of a segment, as far as they exist.

    Attributes:
        path: path of the segment, None for a buffer.
        base_offset: base offset of the segment, None if it is not known.
        codec: codec that parses the files.
        listed: files beside it by name, where they were listed and each look costs a request; None
            to look for them.
    """

    path: Path | None
    base_offset: int | None
    codec: Codec
    listed: Mapping[str, Path] | None = None
    _file_name: SegmentName | None

    @cached_property
    def offset_index(self) -> OffsetIndex | None:
        """The ``.index`` of the segment, None if there is none.

        Raises:
            KafkaSpecError: ``unreadable``.
        """
        path = self.sidecar(names.OFFSET_INDEX)
        return OffsetIndex(path, base_offset=self.base_offset, codec=self.codec) if path else None

    @cached_property
    def time_index(self) -> TimeIndex | None:
        """The ``.timeindex`` of the segment, None if there is none.

        Raises:
            KafkaSpecError: ``unreadable``.
        """
        path = self.sidecar(names.TIME_INDEX)
        return TimeIndex(path, base_offset=self.base_offset, codec=self.codec) if path else None

    @cached_property
    def transaction_index(self) -> TransactionIndex | None:
        """The ``.txnindex`` of the segment, None if there is none.

        Raises:
            KafkaSpecError: ``unreadable``.
        """
        path = self.sidecar(names.TRANSACTION_INDEX)
        return TransactionIndex(path, codec=self.codec) if path else None

    @cached_property
    def producer_snapshot(self) -> ProducerSnapshot | None:
        """The ``.snapshot`` for the base offset of the segment, None if there is none.

        Raises:
            KafkaSpecError: ``unreadable``.
        """
        path = self.sidecar(names.PRODUCER_SNAPSHOT)
        return ProducerSnapshot(path, codec=self.codec) if path else None

    def sidecar(self, kind: str) -> Path | None:
        """Return the path of the file of another kind for this segment, None if there is none."""
        if self.path is None or self._file_name is None:
            return None
        name = self._file_name.sibling(kind)
        if self.listed is not None:
            return self.listed.get(name)
        path = self.path.with_name(name)
        return path if path.exists() else None

    def close_indexes(self) -> None:
        """Close the indexes that were opened."""
        for name in ("offset_index", "time_index"):
            index = self.__dict__.get(name)
            if index is not None:
                index.close()
