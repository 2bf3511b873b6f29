"""Write the directory of a partition as a broker of a chosen version leaves it on a clean stop.

Kafka: ``UnifiedLog.append``, ``LocalLog.roll``, ``LogSegment.shouldRoll``, ``LogSegment.append``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Final, Literal, Self, Unpack
from uuid import UUID

from kafkaspec._generated.python.model.producer_snapshot import ProducerEntry
from kafkaspec._generated.python.model.transaction_index import AbortedTransaction
from kafkaspec.broker.acceptance import first_refused, too_large
from kafkaspec.broker.index_rules import (
    INDEX_INTERVAL_BYTES,
    SEGMENT_INDEX_BYTES,
    IndexBuilder,
)
from kafkaspec.broker.leader_epochs import LeaderEpochs
from kafkaspec.broker.producer_state import ProducerState, transaction_index
from kafkaspec.broker.profiles import DEFAULT_PROFILE, Profile, get_profile
from kafkaspec.broker.rolling import RollRules
from kafkaspec.broker.settings import BATCH_BYTES, SEGMENT_BYTES, SEGMENT_MS, check_settings
from kafkaspec.codecs import Buffer, Codec, get_codec
from kafkaspec.files import names
from kafkaspec.files.checkpoints import partition_metadata
from kafkaspec.layout.framing import LARGEST_OFFSET
from kafkaspec.layout.kinds import CURRENT, require_kind
from kafkaspec.log.batch import NO_TIMESTAMP, NONE
from kafkaspec.log.encoding import EncodeOptions, encode
from kafkaspec.log.header_table import HeaderTable
from kafkaspec.log.headers import read_all_headers, read_headers
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.model import Record
from kafkaspec.options import checked
from kafkaspec.output.atomic import DirectoryAside, cannot_write, writing
from kafkaspec.provider import provider
from kafkaspec.writing.editing import with_epoch

if TYPE_CHECKING:
    import pyarrow as pa

_GROUP_BYTES: Final = 1 << 20
"""Bytes of batches to append in one call."""
_BUFFER: Final = 1 << 20
"""Bytes of a log that are written at once."""


@dataclass(frozen=True, slots=True)
class WrittenSegment:
    """A segment, complete or still open.

    Attributes:
        base_offset: base offset of the segment.
        size: size of its log in bytes.
    """

    base_offset: int
    size: int


class SegmentWriter:
    """Writes the log of one partition.

    Files get their final names in ``close``, which the end of a ``with`` block calls. An exception
    in the block calls ``abort``, which removes all files.

    Attributes:
        directory: directory of the partition.
        profile: rules that are followed.
        next_offset: log end offset: the last offset so far plus one.
    """

    directory: Path
    profile: Profile
    next_offset: int

    def __init__(
        self,
        directory: str | PathLike[str],
        base_offset: int = 0,
        profile: str | Profile = DEFAULT_PROFILE,
        *,
        segment_bytes: int = SEGMENT_BYTES,
        segment_ms: int = SEGMENT_MS,
        index_interval_bytes: int = INDEX_INTERVAL_BYTES,
        segment_index_bytes: int = SEGMENT_INDEX_BYTES,
        leader_epoch: int | None = None,
        topic_id: UUID | None = None,
        sync: bool = True,
        producer_state: Iterable[ProducerEntry] | None = None,
        codec: Codec | str | None = None,
    ) -> None:
        """Begin a log.

        Args:
            directory: directory of the partition, such as ``topic-0``. It need not exist, but that
                above it has to; it must not contain a segment.
            base_offset: base offset of the first segment.
            profile: version of Kafka whose files to write, such as ``4.3`` or ``2.8.2``.
            segment_bytes: most bytes of a segment; only its first append may be larger.
            segment_ms: a segment is rolled when a record is that many ms later than its first
                record, by their timestamps, whatever the clock says.
            index_interval_bytes: bytes between entries of the indexes.
            segment_index_bytes: most bytes of an index; the segment is rolled when one is full.
            leader_epoch: leader epoch to write into every batch; None keeps those of the batches.
                It is also the epoch in the checkpoint of an empty log.
            topic_id: id in ``partition.metadata``. Without it that file is not written, and a
                broker moves the directory out of the way.
            sync: whether to force files to disk, as Kafka does at the end of a segment.
            producer_state: state of producers at ``base_offset``, as in a snapshot.
            codec: name or instance of the codec; the default codec if None.

        Raises:
            KafkaSpecError: ``unreadable``: the directory contains a segment, or cannot be written.
            ValueError: the profile is unknown, or a number is out of range.
        """
        check_settings(
            base_offset=base_offset,
            segment_bytes=segment_bytes,
            segment_ms=segment_ms,
            index_interval_bytes=index_interval_bytes,
            segment_index_bytes=segment_index_bytes,
            leader_epoch=leader_epoch,
        )
        self.profile = get_profile(profile) if isinstance(profile, str) else profile
        self.next_offset = base_offset
        self._codec = codec if isinstance(codec, Codec) else get_codec(codec)
        self._rules = RollRules(self.profile, segment_bytes, segment_ms)
        self._interval = index_interval_bytes
        self._index_bytes = segment_index_bytes
        self._leader_epoch = leader_epoch
        self._metadata = None if topic_id is None else partition_metadata.serialize(topic_id)
        self._producers = ProducerState(self.profile, producer_state or ())
        self._epochs = LeaderEpochs(self.profile.epoch_file, leader_epoch, base_offset)
        self.directory = Path(directory)
        if self.directory.exists() and Partition(self.directory).segment_paths:
            raise cannot_write(self.directory, "it contains segments already")
        self._aside = DirectoryAside(directory, sync=sync)
        self._finished: list[WrittenSegment] = []
        self._names: list[str] = []
        self._log: IO[bytes] | None = None
        self._is_open = True
        try:
            if producer_state is not None and base_offset:
                self._snapshot(base_offset)
            self._begin(base_offset)
        except BaseException:
            self.abort()
            raise

    # -- results ----------------------------------------------------------------------------

    @property
    def segments(self) -> tuple[WrittenSegment, ...]:
        """The segments so far; while the writer is open, the last one is incomplete."""
        current = WrittenSegment(self._indexes.base_offset, self._indexes.size)
        return (*self._finished, *([current] if self._is_open else []))

    @property
    def closed(self) -> bool:
        """Whether ``close`` or ``abort`` was called."""
        return not self._is_open

    # -- appending --------------------------------------------------------------------------

    def append(self, data: Buffer, *, together: bool = False) -> None:
        """Append complete entries unchanged, except for the leader epoch.

        If an entry is refused, the entries before it have been appended up to ``next_offset``,
        unless ``together`` is set.

        Args:
            data: whole entries of any magic that the profile knows. Offsets must increase.
            together: whether the entries are one append, as a fetched chunk is, or the messages of
                magic 0 or 1 of one request: they go into one segment, and profiles before 3.9.1
                add at most one entry for them to each index. Otherwise each entry is a separate
                append, as on a leader.

        Raises:
            TruncatedError: the last entry is cut.
            ChecksumError: the checksum of an entry is wrong.
            KafkaSpecError: an entry cannot be read, offsets do not increase, or the profile does
                not know the magic. ``unreadable``: a file cannot be written; the writer is then
                closed and all files are removed.
            ValueError: the writer is closed.
        """
        self._check_open()
        segment = Segment(data, codec=self._codec, tail="raise")
        if together:
            headers = read_all_headers(segment)
            if headers is None:
                return
            refused = first_refused(headers, self.next_offset, self.profile)
            refused = refused or too_large(headers, self._indexes)
            if refused is not None:
                raise refused[1]
            with self._or_abort():
                self._append_together(headers)
            return
        for headers in read_headers(segment):
            refused = first_refused(headers, self.next_offset, self.profile)
            with self._or_abort():
                self._append_each(headers, len(headers) if refused is None else refused[0])
            if refused is not None:
                raise refused[1]

    @checked
    def append_records(
        self,
        records: Iterable[Record],
        *,
        offsets: Literal["keep", "assign"] = "keep",
        magic: int | None = None,
        compression: str = "none",
        **options: Unpack[EncodeOptions],
    ) -> None:
        """Append records as one batch, or as messages of magic 0 or 1.

        Args:
            records: the records to append.
            offsets: ``keep`` those of the records, or ``assign`` new ones from ``next_offset`` on.
            magic: magic of the entries; if None, the current one of Kafka, or the newest that the
                profile knows if that is older.
            compression: one of ``kafkaspec.compression.NAMES``.
            options: other arguments of ``kafkaspec.encode``.

        Raises:
            KafkaSpecError: as ``encode`` and ``append``.
            ValueError: as ``encode``; the writer is closed.
        """
        self._check_open()
        items = list(records)
        if offsets == "assign":
            items = [
                record._replace(offset=offset)
                for offset, record in enumerate(items, self.next_offset)
            ]
        magic = min(self.profile.magic, CURRENT) if magic is None else magic
        options.setdefault("codec", self._codec)
        data = encode(items, magic=magic, compression=compression, **options)
        if data:
            self.append(data, together=True)

    @checked
    def append_columns(
        self,
        table: pa.RecordBatch | pa.Table,
        *,
        offsets: Literal["keep", "assign"] = "keep",
        magic: int | None = None,
        compression: str = "none",
        level: int | None = None,
        batch_bytes: int = BATCH_BYTES,
    ) -> None:
        """Append the records of Arrow columns, without creating record objects for batches.

        Args:
            table: columns as ``to_batches`` returns them: ``offset``, ``timestamp`` (null for
                none), ``timestamp_type`` (default ``CreateTime``), ``key``, ``value``, ``headers``.
                A column that cannot be written is an error. Rows with ``LogAppendTime`` share a
                batch only if they have the same timestamp, since such a batch has only one.
            offsets: ``keep`` those of the column, or ``assign`` new ones from ``next_offset`` on.
            magic: magic of the entries; if None, the current one of Kafka, or the newest that the
                profile knows if that is older.
            compression: one of ``kafkaspec.compression.NAMES``.
            level: level of the compression; Kafka's default if None.
            batch_bytes: most bytes of records in a batch, before compression; a larger record gets
                a separate batch.

        Raises:
            KafkaSpecError: as ``append``; ``unencodable``, such as ``LogAppendTime`` in magic 0.
            ValueError: a column cannot be written, the compression is unknown, or the writer is
                closed.
            ImportError: PyArrow is not installed.
        """
        self._check_open()
        magic = min(self.profile.magic, CURRENT) if magic is None else magic
        for batch in table.to_batches() if hasattr(table, "to_batches") else [table]:
            made = provider("encoding").encode_columns(
                batch,
                codec=self._codec,
                magic=magic,
                compression=compression,
                level=level,
                first_offset=self.next_offset if offsets == "assign" else None,
                batch_bytes=batch_bytes,
                leader_epoch=NONE if self._leader_epoch is None else self._leader_epoch,
            )
            if not require_kind(magic).has_record_sets:  # the messages of a request: one append
                for entries in made:
                    self.append(entries, together=True)
                continue
            for some in _grouped(made):
                self.append(some)

    # -- rolling ----------------------------------------------------------------------------

    def roll(self, base_offset: int | None = None) -> None:
        """Begin a new segment now, unless the current one is empty and has this base offset.

        Args:
            base_offset: base offset of the new segment, not below ``next_offset``, which it is if
                None. Compaction leaves such gaps between segments.

        Raises:
            KafkaSpecError: ``unreadable``: a file cannot be written; all files are then removed.
            ValueError: the base offset is too small, or the writer is closed.
        """
        self._check_open()
        base = self.next_offset if base_offset is None else base_offset
        if base < self.next_offset:
            raise ValueError(f"base_offset {base} is below the end of the log, {self.next_offset}")
        if base == self._indexes.base_offset:
            return
        self.next_offset = base
        with self._or_abort():
            self._roll(base, base)

    def _append_each(self, headers: HeaderTable, count: int) -> None:
        number = 0
        while number < count:
            indexes = self._indexes
            stop = self._rules.fitting(indexes, self._first_timestamp, headers, number, count)
            # An entry of the log adds at most one entry to an index.
            end = min(stop, number + indexes.room)
            if end > number:
                self._write(headers, number, end, each=True)
            number = end
            if end < count and (end == stop or not self._indexes.room):
                self._roll(headers.first_offset[end], headers.last_offset[end])

    def _append_together(self, headers: HeaderTable) -> None:
        if not self._rules.fits_together(self._indexes, self._first_timestamp, headers):
            self._roll(headers.first_offset[0], headers.last_offset[-1])
        self._write(headers, 0, len(headers), each=False)

    @contextmanager
    def _or_abort(self) -> Iterator[None]:
        """Abort, and so remove all files, if a part of the log cannot be written."""
        try:
            yield
            self._indexes.settle()
        except BaseException:
            self.abort()
            raise

    def _roll(self, first_offset: int, last_offset: int) -> None:
        """Begin a new segment for an append with these offsets."""
        base_offset = self._rules.base_offset(self.next_offset, first_offset, last_offset)
        self._finish()
        self._snapshot(base_offset)
        self._begin(base_offset)

    def _write(self, headers: HeaderTable, first: int, last: int, *, each: bool) -> None:
        """Append entries to the active segment; the caller checks that they fit."""
        if not self._indexes.size:
            stop = first + 1 if each else last
            self._first_timestamp = max(headers.max_timestamp[first:stop])
        data = headers.data(first, last)
        if self._leader_epoch is not None:
            data, headers = with_epoch(headers, first, last, self._leader_epoch)
        assert self._log is not None
        with writing(self._aside.target):
            self._log.write(data)
        append = self._indexes.append_each if each else self._indexes.append
        append(headers, first, last)
        if self.profile.producer_state:
            self._aborted += self._producers.append(headers, first, last)
        self._epochs.append(headers, first, last)
        self.next_offset = headers.last_offset[last - 1] + 1

    # -- segments ---------------------------------------------------------------------------

    def _check_open(self) -> None:
        if not self._is_open:
            raise ValueError("the writer is closed")

    def _begin(self, base_offset: int) -> None:
        """Begin a segment."""
        self._indexes = IndexBuilder(
            base_offset, self.profile, interval=self._interval, max_bytes=self._index_bytes
        )
        self._first_timestamp = NO_TIMESTAMP
        self._aborted: list[AbortedTransaction] = []
        path = self._aside.path / _name(base_offset, names.LOG)
        with writing(path):
            self._log = open(path, "xb", buffering=_BUFFER)  # noqa: SIM115

    def _finish(self) -> None:
        """Finish the segment, as a broker does when it rolls and when it stops."""
        assert self._log is not None
        base_offset = self._indexes.base_offset
        with writing(self._aside.target):
            self._log.flush()
            self._aside.force(self._log.fileno())
            self._log.close()
        self._indexes.finish()
        for kind, data in self._indexes.files().items():
            self._put(_name(base_offset, kind), data)
        data = transaction_index(self._aborted)
        if data:
            self._put(_name(base_offset, names.TRANSACTION_INDEX), data)
        self._names.append(_name(base_offset, names.LOG))
        self._finished.append(WrittenSegment(base_offset, self._indexes.size))

    def _put(self, name: str, data: bytes) -> None:
        """Write a whole file."""
        self._aside.write(name, data)
        self._names.append(name)

    def _snapshot(self, offset: int) -> None:
        """Write the state of the producers at an offset; none follows the largest."""
        if self.profile.producer_state and offset <= LARGEST_OFFSET:
            name = _name(offset, names.PRODUCER_SNAPSHOT)
            self._put(name, self._producers.snapshot(self._codec))

    def _remove_old_snapshots(self) -> None:
        """Remove snapshots before the last two segments, as brokers before 2.8 do."""
        if self.profile.snapshot_per_segment or len(self._finished) < 2:
            return
        least = _name(self._finished[-2].base_offset, names.PRODUCER_SNAPSHOT)
        for name in [*self._names]:
            if name.endswith(names.PRODUCER_SNAPSHOT) and name < least:
                self._aside.remove(name)
                self._names.remove(name)

    # -- end --------------------------------------------------------------------------------

    def close(self) -> None:
        """Finish the log and give all files their final names. Further calls do nothing.

        Raises:
            KafkaSpecError: ``unreadable``: a file cannot be written; all files are then removed.
        """
        if not self._is_open:
            return
        try:
            self._finish()
            if self.next_offset > self._finished[-1].base_offset:
                self._snapshot(self.next_offset)
            self._remove_old_snapshots()
            checkpoint = self._epochs.checkpoint()
            if checkpoint is not None:
                self._put(names.LEADER_EPOCHS, checkpoint)
            if self._metadata is not None and self.profile.partition_metadata:
                self._put(names.PARTITION_METADATA, self._metadata)
            self._aside.commit(self._names)
            self._is_open = False
        except BaseException:
            self.abort()
            raise

    def abort(self) -> None:
        """Remove all files. After ``close`` this does nothing."""
        if self._log is not None:
            with suppress(OSError):  # what is still in the buffer may not fit on the disk
                self._log.close()
        if self._is_open:
            self._is_open = False
            self._aside.discard()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
        else:
            self.abort()

    def __repr__(self) -> str:
        return f"<SegmentWriter {self.directory}: up to offset {self.next_offset}>"


def _name(offset: int, kind: str) -> str:
    return names.SegmentName(offset, kind).sibling(kind)


def _grouped(batches: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the same bytes in larger chunks, to save the cost of many small appends."""
    parts: list[bytes] = []
    size = 0
    for batch in batches:
        parts.append(batch)
        size += len(batch)
        if size >= _GROUP_BYTES:
            yield b"".join(parts)
            parts, size = [], 0
    if parts:
        yield b"".join(parts)
