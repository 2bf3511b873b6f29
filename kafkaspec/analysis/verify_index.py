"""Open the indexes and snapshots of a segment to check them against its log."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Generic, TypeVar, overload

from kafkaspec._generated.python.model.index import OffsetIndexEntry, TimeIndexEntry
from kafkaspec.analysis.check_index import OffsetIndexCheck, TimeIndexCheck
from kafkaspec.analysis.check_snapshot import check_snapshot
from kafkaspec.analysis.check_transactions import TransactionEntry, TransactionIndexCheck
from kafkaspec.analysis.compare_sidecars import compare_sidecar
from kafkaspec.analysis.findings import (
    Area,
    Finding,
    FindingReason,
    Severity,
    finding_of_error,
)
from kafkaspec.analysis.report import FileKind, FileResult
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files.indexes import Index, OffsetIndex, TimeIndex
from kafkaspec.files.snapshots import ProducerSnapshot, TransactionIndex

Entry = TypeVar("Entry", OffsetIndexEntry, TimeIndexEntry)


class _Entries(Sequence[Entry], Generic[Entry]):
    """Entries of an index as a sequence that parses each on access.

    A pass over the log accesses the same few entries repeatedly; these are cached.
    """

    def __init__(self, index: Index[Entry]) -> None:
        self._length = len(index)
        self._entry: Callable[[int], Entry] = lru_cache(maxsize=16)(index.entry)

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, number: int) -> Entry: ...
    @overload
    def __getitem__(self, number: slice) -> list[Entry]: ...
    def __getitem__(self, number: int | slice) -> Entry | list[Entry]:
        if isinstance(number, slice):
            chosen = range(*number.indices(len(self)))
            return [self._entry(each) for each in chosen]
        return self._entry(number)


class IndexFile:
    """An offset index or time index that was opened.

    Attributes:
        result: result to yield after the log was read.
        check: check that takes the batches of the log.
    """

    def __init__(self, path: Path, kind: FileKind, partition: str, codec: str) -> None:
        """Open the index.

        Raises:
            KafkaSpecError: ``unreadable``.
        """
        file = os.fspath(path)
        self._area = Area(str(kind))
        self._index: Index[Any]
        self.check: OffsetIndexCheck | TimeIndexCheck
        if kind is FileKind.OFFSET_INDEX:
            offsets = self._index = OffsetIndex(path, codec=codec)
            self.check = OffsetIndexCheck(_Entries(offsets), file, offsets.entry_size)
        else:
            times = self._index = TimeIndex(path, codec=codec)
            self.check = TimeIndexCheck(_Entries(times), file, times.entry_size)
        self.result = FileResult(
            file=file,
            kind=kind,
            partition=partition,
            size=self._index.size,
            entries=len(self._index),
            padding=self._index.padding,
        )

    def problems(self) -> Iterator[Finding]:
        """Yield findings about the index by itself."""
        file = self.result.file
        for error in self._index.sanity_check():
            reason = FindingReason(str(error.reason))
            size = reason is FindingReason.TRAILING_BYTES
            yield Finding(
                file,
                Severity.WARNING,
                self._area,
                FindingReason.INDEX_SIZE if size else FindingReason.INDEX_SANITY,
                error.detail,
                error.offset,
                path=error.path,
            )
        if not self._index.padding_is_zero:
            yield Finding(
                file,
                Severity.ERROR,
                self._area,
                FindingReason.INDEX_ORDER,
                f"entry {len(self._index)} has relative offset 0, where the entries would end, "
                "but others follow",
                len(self._index) * self._index.entry_size,
            )
        yield from self.check.order()

    def close(self) -> None:
        """Release the mapping."""
        self._index.close()


class TransactionFile:
    """An opened transaction index, or an empty one if there is no file.

    Attributes:
        result: result to yield after the log was read, None without a file.
        check: check that takes the batches of the log.
    """

    def __init__(
        self, path: Path | None, log: str, base_offset: int | None, partition: str, codec: str
    ) -> None:
        """Open the index; without one, ``path`` is None and findings are about the ``log``.

        Raises:
            KafkaSpecError: ``unreadable``.
        """
        file = log if path is None else os.fspath(path)
        self._errors: list[KafkaSpecError] = []
        self._trailing = 0
        self._whole = 0
        entries: list[TransactionEntry] = []
        self.result: FileResult | None = None
        size = 1
        if path is not None:
            index = TransactionIndex(path, codec=codec)
            size = index.entry_size
            self._trailing = index.trailing_bytes
            self._whole = len(index) * size
            for number in range(len(index)):
                try:
                    entries.append(index.entry(number))
                except KafkaSpecError as error:
                    self._errors.append(error)
            self.result = FileResult(
                file=file,
                kind=FileKind.TRANSACTION_INDEX,
                partition=partition,
                size=self._whole + self._trailing,
                entries=len(index),
            )
        self._file = file
        self.sound = not self._errors
        self.check = TransactionIndexCheck(entries, file, base_offset, size)

    def problems(self) -> Iterator[Finding]:
        """Yield findings about the transaction index by itself."""
        for error in self._errors:
            yield finding_of_error(error, Area.TRANSACTION_INDEX, file=self._file)
        if self._trailing:
            yield Finding(
                self._file,
                Severity.WARNING,
                Area.TRANSACTION_INDEX,
                FindingReason.INDEX_SIZE,
                f"{self._trailing} bytes at the end are only part of an entry",
                self._whole,
            )
        yield from self.check.order()


def verify_snapshot(
    path: Path, partition: str, codecs: tuple[str, ...]
) -> Iterator[Finding | FileResult]:
    """Check a producer snapshot: structure, checksum, producers."""
    file = os.fspath(path)
    result = FileResult(file=file, kind=FileKind.PRODUCER_SNAPSHOT, partition=partition)
    try:
        snapshot = ProducerSnapshot(path, codec=codecs[0])
        result.size = path.stat().st_size
        yield from compare_sidecar(path, FileKind.PRODUCER_SNAPSHOT, codecs)
        structure = snapshot.structure
    except KafkaSpecError as error:
        yield finding_of_error(error, Area.PRODUCER_SNAPSHOT, file=file)
        yield result
        return
    result.entries = len(structure.entries)
    if not snapshot.crc_valid:
        yield finding_of_error(snapshot.crc_error(), Area.PRODUCER_SNAPSHOT, file=file)
    else:
        yield from check_snapshot(structure.entries, snapshot.offset, file)
        if len(structure.unused):
            yield Finding(
                file,
                Severity.WARNING,
                Area.PRODUCER_SNAPSHOT,
                FindingReason.TRAILING_BYTES,
                f"{len(structure.unused)} bytes after the producers are ignored",
                result.size - len(structure.unused),
            )
    yield result
