"""Open the indexes and snapshots of a segment to check them against its log."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import lru_cache
from pathlib import Path

from kafkaspec._generated.python.model.producer_snapshot import ProducerEntry
from kafkaspec._generated.python.model.transaction_index import AbortedTransaction
from kafkaspec.analysis.broker_start import BrokerStart
from kafkaspec.analysis.check_index import TransactionIndexCheck, check_of
from kafkaspec.analysis.compare import compare_sidecar
from kafkaspec.analysis.findings import Area, Finding, Place
from kafkaspec.analysis.reasons import FindingReason as R
from kafkaspec.analysis.report import FileKind, FileResult
from kafkaspec.codecs import get_codec
from kafkaspec.errors import KafkaSpecError, Reason, unreadable
from kafkaspec.files import names
from kafkaspec.files.arrays import read_whole
from kafkaspec.files.indexes import INDEXES
from kafkaspec.files.snapshots import ProducerSnapshot, TransactionIndex
from kafkaspec.io.remote import exists

_CACHED = 16
"""Number of entries to keep: a pass over the log accesses the same few repeatedly."""


class IndexFile:
    """An index of a segment that was opened.

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
        self._place = Place(file, Area(kind))
        name = names.parse_segment(path.name)
        assert name is not None
        self._index = INDEXES[name.kind](path, codec=codec)
        entry = lru_cache(_CACHED)(self._index.entry)
        self.check = check_of(name.kind)(len(self._index), entry, file, self._index.entry_size)
        self.check.use(get_codec(codec).core, self._index.entry_columns())
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
        for error in self._index.sanity_check():
            size = error.reason is Reason.TRAILING_BYTES
            reason = R.INDEX_SIZE if size else R.INDEX_SANITY
            yield self._place.warning(reason, error.detail, error.position, path=error.path)
        count = len(self._index)
        if not self._index.padding_is_zero:
            text = f"entry {count} has relative offset 0, where the entries would end, but others "
            text += "follow"
            yield self._place.error(R.INDEX_ORDER, text, count * self._index.entry_size)
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
        self._place = Place(file, Area.TRANSACTION_INDEX)
        self._errors: list[KafkaSpecError] = []
        self._trailing = 0
        entries: list[AbortedTransaction] = []
        self.result: FileResult | None = None
        size = 1
        if path is not None:
            index = TransactionIndex(path, codec=codec)
            size = index.entry_size
            self._trailing = index.trailing_bytes
            for number in range(len(index)):
                try:
                    entries.append(index.entry(number))
                except KafkaSpecError as error:
                    self._errors.append(error)
            self.result = FileResult(
                file=file,
                kind=FileKind.TRANSACTION_INDEX,
                partition=partition,
                size=len(index) * size + self._trailing,
                entries=len(index),
            )
        self.sound = not self._errors
        self.check = TransactionIndexCheck(
            len(entries), entries.__getitem__, file, size, base_offset
        )

    def problems(self) -> Iterator[Finding]:
        """Yield findings about the transaction index by itself."""
        yield from map(self._place.refused, self._errors)
        if self._trailing and self.result is not None:
            text = f"{self._trailing} bytes at the end are only part of an entry"
            yield self._place.warning(R.INDEX_SIZE, text, self.result.size - self._trailing)
        yield from self.check.order()

    def close(self) -> None:
        """Do nothing: the entries are in memory."""


def verify_snapshot(
    path: Path, partition: str, codecs: tuple[str, ...], start: BrokerStart
) -> Iterator[Finding | FileResult]:
    """Check a producer snapshot by itself: structure, checksum, producers."""
    place = Place(os.fspath(path), Area.PRODUCER_SNAPSHOT)
    result = FileResult(file=place.file, kind=FileKind.PRODUCER_SNAPSHOT, partition=partition)
    try:
        snapshot = ProducerSnapshot(path, codec=codecs[0])
        result.size = path.stat().st_size
        yield from compare_sidecar(path, FileKind.PRODUCER_SNAPSHOT, codecs)
        structure = snapshot.structure
    except KafkaSpecError as error:
        yield start.judged(place.refused(error), path)
        yield result
        return
    result.entries = len(structure.entries)
    unused = len(structure.unused)
    if not snapshot.crc_valid:
        yield start.judged(place.refused(snapshot.crc_error()), path)
    else:
        for message in check_snapshot(structure.entries, snapshot.offset):
            yield place.warning(R.SNAPSHOT_CONTENT, message)
        if unused:
            text = f"{unused} bytes after the producers are ignored"
            yield place.warning(R.TRAILING_BYTES, text, result.size - unused)
    yield result


def verify_other(
    path: Path, partition: str, codecs: tuple[str, ...]
) -> Iterator[Finding | FileResult]:
    """Check a file that only the specification knows by its structure, with all codecs."""
    place = Place(os.fspath(path), Area.OTHER)
    result = FileResult(file=place.file, kind=FileKind.OTHER, partition=partition)
    try:
        result.size = path.stat().st_size
        read_whole(path, codecs[0])
    except OSError as error:
        yield place.refused(unreadable(path, error))
    except KafkaSpecError as error:
        yield place.refused(error)
    else:
        yield from compare_sidecar(path, FileKind.OTHER, codecs)
    yield result


def check_snapshot(entries: Sequence[ProducerEntry], name_offset: int | None) -> Iterator[str]:
    """Yield a message for each contradiction.

    Args:
        name_offset: offset in the file name, which is above all offsets in the snapshot.
    """
    seen: set[int] = set()
    for entry in entries:
        producer = f"producer {entry.producer_id}"
        if entry.producer_id in seen:
            yield f"{producer} is listed twice"
        seen.add(entry.producer_id)
        for name, offset in (
            ("last offset", entry.last_offset),
            ("an open transaction from offset", entry.current_txn_first_offset),
        ):
            if name_offset is not None and offset >= name_offset:
                text = f"{producer} has {name} {offset}, which is not below offset {name_offset}"
                yield f"{text} of the file name"
        if entry.offset_delta < 0 or entry.offset_delta > max(entry.last_offset, 0):
            text = f"{producer} has a last batch of {entry.offset_delta + 1} offsets that ends at"
            yield f"{text} offset {entry.last_offset}"


def verify_remote_index(
    path: Path, kind: FileKind, partition: str, codecs: tuple[str, ...]
) -> Iterator[Finding | FileResult]:
    """Check an index of ``remote-log-index-cache``: size, order, its siblings.

    Its log is not local. Kafka: ``RemoteIndexCache``, which reads it as that of a segment.

    Args:
        path: path of the index, whose name has the id of a segment in remote storage.
        codecs: names of the codecs; findings come from the first one, all are compared.
    """
    file = os.fspath(path)
    name = names.parse_segment(path.name)
    assert name is not None
    opened: IndexFile | TransactionFile
    try:
        if kind is FileKind.TRANSACTION_INDEX:
            opened = TransactionFile(path, file, name.base_offset, partition, codecs[0])
        else:
            opened = IndexFile(path, kind, partition, codecs[0])
    except KafkaSpecError as error:
        yield Place(file, Area(kind)).refused(error)
        yield FileResult(file=file, kind=kind, partition=partition)
        return
    with closing(opened):
        yield from compare_sidecar(path, kind, codecs)
        yield from opened.problems()
    missing = [
        sibling
        for sibling in map(name.sibling, names.REMOTE_INDEXES)
        if not exists(path.with_name(sibling))
    ]
    if missing:
        text = f"there is no {' and no '.join(missing)} for it; when a broker starts, it deletes "
        text += "the local indexes of that segment and fetches them again"
        yield Place(file, Area.FILES).warning(R.ORPHAN_FILE, text)
    assert opened.result is not None
    yield opened.result
