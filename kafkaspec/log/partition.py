"""The directory of one partition: its segments in order, and the files beside them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from operator import attrgetter
from os import PathLike
from pathlib import Path
from typing import Unpack
from uuid import UUID

from kafkaspec.errors import KafkaSpecError, unreadable
from kafkaspec.files import names
from kafkaspec.files.checkpoints import leader_epoch_checkpoint, partition_metadata
from kafkaspec.files.checkpoints.leader_epoch_checkpoint import EpochEntry
from kafkaspec.files.checkpoints.log_directory import Checkpoints, PartitionOffsets
from kafkaspec.files.snapshots import ProducerSnapshot
from kafkaspec.io.remote import RemotePath, as_path, listed
from kafkaspec.layout.framing import LARGEST_OFFSET
from kafkaspec.log import lookup, transactions
from kafkaspec.log.base import Log
from kafkaspec.log.batch import NO_TIMESTAMP, Batch
from kafkaspec.log.headers import sound_headers
from kafkaspec.log.options import FindOptions, Isolation, LogStart, RecordOptions, SegmentOptions
from kafkaspec.log.segment import Segment
from kafkaspec.log.selection import W, selection_of
from kafkaspec.model import Record
from kafkaspec.options import UnknownNameError, checked, explained, not_there
from kafkaspec.times import Time, milliseconds


class Partition(Log):
    """The log of a partition.

    Attributes:
        path: of the directory.
        topic: from its name, None if that is not one of a partition.
        partition: number from its name, or None.
        state: ``-delete``, ``-future``, ``-stray`` or "".
        files: paths of its files, in the order of their names.
        folders: paths of folders in it, which do not belong to the partition.
    """

    path: Path
    topic: str | None
    partition: int | None
    state: str
    files: list[Path]
    folders: list[Path]

    @checked
    def __init__(
        self,
        path: str | PathLike[str],
        *,
        checkpoints: Checkpoints | None = None,
        **options: Unpack[SegmentOptions],
    ) -> None:
        """List a partition directory. No segment is opened yet.

        Args:
            path: of the directory.
            checkpoints: the broker's, if they were opened; those in the directory above if None.
            options: for each ``Segment``: ``codec``, ``crc``, ``tail``, ``max_output``,
                ``mapped``, ``log_format``.

        Raises:
            KafkaSpecError: ``unreadable``.
        """
        self.path = as_path(path)
        self._options = options
        self._followed: transactions.Transactions | None = None  # once all headers were read
        place = self.path.absolute()
        self._checkpoints = checkpoints or Checkpoints(place.parent)
        parsed = names.parse_partition(place.name)
        self.topic = parsed.topic if parsed else None
        self.partition = parsed.partition if parsed else None
        self.state = parsed.state if parsed else ""
        self.files = []
        self.folders = []
        # Whether files beside a segment are those that were listed just now, as in a store, where
        # each look is a request; then, the bytes of segments that were opened, by base offset.
        self.is_fresh = False
        self.sizes: dict[int, int] = {}
        try:
            # A broken link is a file: it must show when it is opened.
            for item, is_folder in listed(self.path):
                (self.folders if is_folder else self.files).append(item)
        except OSError as error:
            raise unreadable(str(path), error) from None

    @cached_property
    def named_files(self) -> list[tuple[names.SegmentName, Path]]:
        """The files with names of segments and of files beside them, in the same order."""
        parsed = ((names.parse_segment(path.name), path) for path in self.files)
        return [(name, path) for name, path in parsed if name is not None]

    @property
    def other_files(self) -> list[Path]:
        """The files with other names, in the same order."""
        if len(self.named_files) == len(self.files):
            return []
        return [path for path in self.files if path.name not in self._by_name]

    @cached_property
    def segment_paths(self) -> list[Path]:
        """The segments in the order of their offsets; without those being deleted or written.

        They are ``.log`` files or, where there is none, those of Kafka 0.7, ``.kafka``.
        """
        return [path for _, path in self._segments]

    @cached_property
    def base_offsets(self) -> list[int]:
        """The numbers in the names of ``segment_paths``, in the same order."""
        return [number for number, _ in self._segments]

    @cached_property
    def segments(self) -> list[Segment]:
        """The segments in order, all mapped, which takes a file descriptor each.

        ``batches``, ``records`` and ``find`` do not need them: they hold one segment at a time.

        Raises:
            KafkaSpecError: ``unreadable``.
        """
        return [self.open_segment(path) for path in self.segment_paths]

    @cached_property
    def checkpoint_paths(self) -> list[Path]:
        """The KRaft snapshots (``.checkpoint``), oldest first; read one with ``Segment``."""
        return [path for path in self.files if _is_checkpoint(path.name)]

    @cached_property
    def snapshot_paths(self) -> list[Path]:
        """The producer snapshots (``.snapshot``) in order."""
        return [path for _, path in self._named(names.PRODUCER_SNAPSHOT)]

    @property
    def snapshots(self) -> list[ProducerSnapshot]:
        """The producer snapshots in order.

        Raises:
            KafkaSpecError: ``unreadable``.
        """
        codec = self._options.get("codec")
        return [ProducerSnapshot(path, codec=codec) for path in self.snapshot_paths]

    @cached_property
    def log_start_offset(self) -> int | None:
        """First offset that a broker delivers; None without a segment.

        From ``log-start-offset-checkpoint`` in the directory above, else the name of the first
        segment: without that file records that were deleted come back, and so they do here and
        on a broker if it cannot be read. ``batches`` still begins with the first offset present;
        records, by default, and lookups by timestamp leave out lower ones.
        """
        if not self.segment_paths:
            return None
        first = self.first_base_offset or 0
        try:
            listed = self.log_start_checkpoint
        except KafkaSpecError:
            listed = None
        return first if listed is None else max(first, listed)

    @checked
    def log_start_of(self, choice: LogStart) -> int | None:
        """Return the first offset to deliver by a choice, None for any that is there."""
        if choice == "checkpoint":
            start = self.log_start_offset
            return None if start == self.first_base_offset else start
        return None if choice == "ignore" else choice

    @property
    def log_start_checkpoint(self) -> int | None:
        """The log start offset in ``log-start-offset-checkpoint``; None if it says nothing.

        Raises:
            KafkaSpecError: the checkpoint cannot be read.
        """
        return self._listed(self._checkpoints.log_start_offsets)

    @property
    def cleaner_offset(self) -> int | None:
        """First offset that compaction has not reached.

        From ``cleaner-offset-checkpoint`` in the directory above; None if it says nothing.

        Raises:
            KafkaSpecError: the checkpoint cannot be read.
        """
        return self._listed(self._checkpoints.cleaner_offsets)

    @property
    def has_cleaner_checkpoint(self) -> bool:
        """Whether ``cleaner-offset-checkpoint`` is there: it names each log that was cleaned."""
        return (self.path.absolute().parent / names.CLEANER_OFFSETS).exists()

    @property
    def first_base_offset(self) -> int | None:
        """The number in the name of the first segment, None without one."""
        return self._segments[0][0] if self.segment_paths else None

    @property
    def last_base_offset(self) -> int | None:
        """The number in the name of the last segment, None without one."""
        return self._segments[-1][0] if self.segment_paths else None

    @cached_property
    def last_stable_offset(self) -> int:
        """The first offset of a transaction that no marker has ended, or the end of the log.

        A consumer with ``read_committed`` reads up to here. As a broker does, it begins with
        the newest sound producer snapshot and reads the headers of the batches after it. All
        records count as replicated: a lower high watermark does not matter. Kafka:
        ``ProducerStateManager.firstUnstableOffset``, ``UnifiedLog.lastStableOffset``; KIP-98.

        Raises:
            KafkaSpecError: a segment cannot be read.
        """
        first = min((each.first_offset for each in self.open_transactions), default=None)
        end = self._end if first is None else first
        return max(end, self.log_start_offset or 0)

    @cached_property
    def open_transactions(self) -> list[transactions.OpenTransaction]:
        """The transactions that no marker has ended, by first offset.

        As a broker does, it begins with the newest sound producer snapshot and reads the headers
        of the batches after it. Kafka: ``ProducerStateManager``; KIP-98.

        Raises:
            KafkaSpecError: a segment cannot be read.
        """
        ongoing, start = self._snapshot_transactions(self._end)
        if not ongoing and start == self.first_base_offset and self._followed is not None:
            ongoing = list(self._followed.open.values())
        elif start < self._end:
            followed = transactions.follow_transactions(self.segments_from(start), start, ongoing)
            ongoing = list(followed.open.values())
        return sorted(ongoing, key=attrgetter("first_offset"))

    def open_at(self, offset: int) -> list[transactions.OpenTransaction]:
        """Return the transactions that were open at an offset, by the producer snapshot there."""
        ongoing, taken = self._snapshot_transactions(offset)
        return ongoing if taken == offset else []

    @property
    def log_end_offset(self) -> int:
        """The offset after the last batch; the number of the last segment if it has none.

        Raises:
            KafkaSpecError: a segment cannot be read.
        """
        return self._end_from(lambda _: 0)

    @cached_property
    def _end(self) -> int:
        """The same, from the last entry of the offset index on, as a broker finds it."""
        return self._end_from(lambda segment: lookup.start_position(segment, LARGEST_OFFSET)[0])

    def _end_from(self, position_in: Callable[[Segment], int]) -> int:
        end = 0
        for segment in self.segments_from(self.last_base_offset):
            end = segment.base_offset or 0
            for table in sound_headers(segment, position_in(segment)):
                end = max(end, table.next_offset)
        return end

    def _snapshot_transactions(self, end: int) -> tuple[list[transactions.OpenTransaction], int]:
        """Open transactions, and the offset that this holds in."""
        for snapshot in reversed(self.snapshots):
            if snapshot.offset is None or snapshot.offset > end:
                continue
            try:
                if not snapshot.crc_valid:
                    continue
                entries = snapshot.entries
            except KafkaSpecError:  # a broker takes an older one
                continue
            ongoing = [
                transactions.OpenTransaction(
                    entry.producer_id,
                    entry.producer_epoch,
                    entry.current_txn_first_offset,
                    entry.timestamp,
                )
                for entry in entries
                if entry.current_txn_first_offset >= 0
            ]
            return ongoing, snapshot.offset
        return [], self.first_base_offset or 0

    @property
    def high_watermark(self) -> int | None:
        """First offset that was not known to be on all in-sync replicas.

        From ``replication-offset-checkpoint`` in the directory above; None if it says nothing.

        Raises:
            KafkaSpecError: the checkpoint cannot be read.
        """
        return self._listed(self._checkpoints.high_watermarks)

    @property
    def recovery_point(self) -> int | None:
        """First offset that was not known to be flushed to disk.

        From ``recovery-point-offset-checkpoint`` in the directory above; None if it says nothing.

        Raises:
            KafkaSpecError: the checkpoint cannot be read.
        """
        return self._listed(self._checkpoints.recovery_points)

    @cached_property
    def leader_epochs(self) -> tuple[EpochEntry, ...]:
        """The epochs and the offsets that they begin at; () without ``leader-epoch-checkpoint``.

        Raises:
            KafkaSpecError: the checkpoint cannot be read.
        """
        path = self.path / names.LEADER_EPOCHS
        return leader_epoch_checkpoint.read(path) if path.exists() else ()

    @cached_property
    def topic_id(self) -> UUID | None:
        """The id of the topic; None without ``partition.metadata``.

        Raises:
            KafkaSpecError: the file cannot be read.
        """
        path = self.path / names.PARTITION_METADATA
        return partition_metadata.read(path).topic_id if path.exists() else None

    def batches(self, *, start_offset: int | None = None) -> Iterator[Batch]:
        """Yield the batches of all segments in order; see ``Segment.batches``."""
        for segment in self.segments_from(start_offset):
            yield from segment.batches(start_offset=start_offset)

    @checked
    def records(
        self, start_offset: int | None = None, **options: Unpack[RecordOptions]
    ) -> Iterator[Record]:
        """Yield the records of all segments in order, one batch decompressed at a time.

        Args:
            start_offset: smallest wanted offset; found through the index.
            options: ``end_offset``, ``start_timestamp``, ``end_timestamp``, ``isolation``,
                ``log_start``, ``on_error``; see ``kafkaspec.log.selection.Selection``.

        Raises:
            KafkaSpecError: a batch cannot be read.
        """
        wanted = self.resolve(selection_of(start_offset, **options))
        for segment in self.segments_from(wanted.start_offset, wanted.end_offset):
            yield from segment.select(wanted)

    def resolve(self, wanted: W) -> W:
        """Return a selection with what this partition decides: its log start and transactions.

        Raises:
            KafkaSpecError: a segment cannot be read, and ``on_error`` is ``raise``.
        """
        start, end, aborted = wanted.start_offset, wanted.end_offset, wanted.aborted
        log_start = self.log_start_of(wanted.log_start)
        if log_start is not None:
            start = log_start if start is None else max(start, log_start)
        if wanted.isolation == "read_committed":
            aborted = self.aborted_transactions(start)
            stable = self.stable_offset(strict=wanted.on_error == "raise")
            end = stable if end is None or (stable is not None and stable < end) else end
        return replace(wanted, start_offset=start, end_offset=end, aborted=aborted)

    def aborted_transactions(
        self, start_offset: int | None = None
    ) -> transactions.AbortedTransactions:
        """Return the aborted transactions with markers from the segment of an offset on.

        Raises:
            KafkaSpecError: a file cannot be opened.
        """
        found, followed = transactions.aborted_transactions(
            lambda: self.segments_from(start_offset)
        )
        first = self.first_base_offset
        if followed is not None and self.paths_from(start_offset) == self.segment_paths:
            unstable = followed.first_unstable
            if first is not None and (unstable is None or unstable >= first):
                self._followed = followed
        return found

    def stable_offset(self, *, strict: bool) -> int | None:
        """Return ``last_stable_offset``; None if damage hides it and that is not an error.

        Raises:
            KafkaSpecError: a segment cannot be read, and ``strict``.
        """
        try:
            return self.last_stable_offset
        except KafkaSpecError:
            if strict:
                raise
            return None  # whoever reads the records reports it

    @explained(FindOptions)
    @checked
    def find(
        self,
        *,
        offset: int | None = None,
        timestamp: Time | None = None,
        max_timestamp: bool = False,
        plain: bool = False,
        isolation: Isolation = "read_uncommitted",
        log_start: LogStart | None = None,
        use_index: bool = True,
    ) -> lookup.Found:
        """Find an offset or a timestamp. Give exactly one, or ``max_timestamp``.

        Args:
            ...

        Raises:
            KafkaSpecError: a batch on the way cannot be read.
        """
        if (offset is not None) + (timestamp is not None) + max_timestamp != 1:
            raise TypeError("give an offset, a timestamp or max_timestamp")
        if log_start is None:
            log_start = "checkpoint" if offset is None else "ignore"
        start = self.log_start_of(log_start)
        if offset is not None:
            lowest = offset if start is None else max(offset, start)
            return replace(self._find_offset(lowest, use_index), target=offset)
        if timestamp is None:
            found = self._find_max_timestamp(use_index)
        else:
            found = self._find_timestamp(
                milliseconds(timestamp, "timestamp"), plain, start, use_index
            )
        if isolation == "read_committed":
            found = lookup.below(found, self.last_stable_offset)
        return found

    def _find_offset(self, offset: int, use_index: bool) -> lookup.Found:
        found = lookup.Found("offset", offset, None)
        scanned = 0
        for segment in self.segments_from(offset):
            found = segment.find(offset=offset, use_index=use_index)
            scanned += found.scanned_batches
            if found.batch is not None:
                break
        return replace(found, scanned_batches=scanned)

    def _find_timestamp(
        self, timestamp: int, plain: bool, start_offset: int | None, use_index: bool
    ) -> lookup.Found:
        found = lookup.Found("plain" if plain else "broker", timestamp, None)
        scanned = 0
        for segment in self.segments_from(None):
            open_end = self._open_end(segment)
            largest = None if plain else lookup.largest_timestamp(segment, open_end=open_end)
            if largest is not None and largest.value < timestamp:
                continue
            found = segment.find(
                timestamp=timestamp, plain=plain, start_offset=start_offset, use_index=use_index
            )
            scanned += found.scanned_batches
            found = replace(found, scanned_batches=scanned, decided_by=largest)
            if found.batch is not None or largest is not None:
                break
        return found

    def _open_end(self, segment: Segment) -> bool:
        """Whether batches may follow the time index of a segment, as no broker has closed it."""
        if segment.base_offset != self.last_base_offset:
            return False
        return not (self.path.absolute().parent / names.CLEAN_SHUTDOWN).exists()

    def _find_max_timestamp(self, use_index: bool) -> lookup.Found:
        best: tuple[lookup.MaxTimestamp, Segment] | None = None
        for segment in self.segments_from(None):
            known = lookup.max_timestamp_so_far(segment, open_end=self._open_end(segment))
            if best is None or known.timestamp > best[0].timestamp:
                best = known, segment
        if best is None:
            return lookup.Found("max_timestamp", NO_TIMESTAMP, None)
        return lookup.find_max_timestamp(best[1], known=best[0], use_index=use_index)

    def __iter__(self) -> Iterator[Segment]:
        """Iterate over the segments in order, one at a time."""
        return self.segments_from(None)

    def __len__(self) -> int:
        """Return the number of segments."""
        return len(self.segment_paths)

    def __contains__(self, name: object) -> bool:
        """Return whether there is a segment with this name of a file."""
        return any(path.name == name for path in self.segment_paths)

    def __getitem__(self, name: str) -> Segment:
        """Return a segment by the name of its file, ``partition["00000000000000000000.log"]``.

        Raises:
            KeyError: there is no such segment; the text names the nearest ones.
            KafkaSpecError: ``unreadable``.
        """
        if not isinstance(name, str):
            text = f"{name!r} may be a place in the order or an offset: take segments[{name!r}] or "
            text += f"find(offset={name!r}), or the name of a file"
            raise TypeError(text)
        for path in self.segment_paths:
            if path.name == name:
                return self.open_segment(path)
        known = [path.name for path in self.segment_paths]
        raise UnknownNameError(f"{self.path}: {not_there('segment', name, known)}")

    def close(self) -> None:
        """Close the segments that were opened."""
        for segment in self.__dict__.get("segments", ()):
            segment.close()

    def __repr__(self) -> str:
        return f"<Partition {self.path}: {len(self.segment_paths)} segments>"

    def _listed(self, offsets: PartitionOffsets) -> int | None:
        if self.topic is None or self.partition is None:
            return None
        return offsets.get((self.topic, self.partition))

    @cached_property
    def _segments(self) -> list[tuple[int, Path]]:
        """Base offset and path of the segments in order."""
        return next(filter(None, map(self._named, names.SEGMENTS)), [])

    def _named(self, kind: str) -> list[tuple[int, Path]]:
        """Return base offset and path of the files of a kind in order, without temporary ones."""
        return sorted(
            (name.base_offset, path)
            for name, path in self.named_files
            if name.kind == kind and not name.state
        )

    def segments_from(self, offset: int | None, end: int | None = None) -> Iterator[Segment]:
        """Yield the segments of ``paths_from``.

        Nothing here keeps a segment: its mapping goes with its last batch.
        """
        for path in self.paths_from(offset, end):
            yield self.open_segment(path)

    def open_segment(self, path: Path) -> Segment:
        """Return a segment or KRaft snapshot of this partition, with the options given for all.

        Raises:
            KafkaSpecError: ``unreadable``.
        """
        segment = Segment(path, **self._options)
        if self.is_fresh and segment.base_offset is not None:
            self.sizes[segment.base_offset] = segment.size
        if path.lists_all if isinstance(path, RemotePath) else self.is_fresh:
            segment.listed = self._by_name
        return segment

    def beside(self, path: Path, kind: str) -> Path | None:
        """Return the file of another kind for a segment, None if none was listed."""
        name = names.parse_segment(path.name)
        return None if name is None else self._by_name.get(name.sibling(kind))

    @cached_property
    def _by_name(self) -> dict[str, Path]:
        return {path.name: path for _, path in self.named_files}

    def paths_from(self, offset: int | None, end: int | None = None) -> list[Path]:
        """Return each segment, from the last one whose name is not above ``offset`` on.

        With ``end``, those whose names are not below it are left out.
        """
        bases = self.base_offsets
        start = 0 if offset is None else max(0, bisect_right(bases, offset) - 1)
        stop = None if end is None else bisect_left(bases, end)
        return self.segment_paths[start:stop]


def _is_checkpoint(name: str) -> bool:
    parsed = names.parse_checkpoint(name)
    if parsed is not None:
        return not parsed.state
    return name == "bootstrap" + names.CHECKPOINT


PartitionLog = Segment | Partition
"""The log of a partition, or a segment of it."""
