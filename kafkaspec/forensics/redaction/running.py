"""Redact logs: write them to a new place, with other bytes in some of their records."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Final

from kafkaspec._generated.layout.topics import Topic
from kafkaspec.broker.index_rules import INDEX_INTERVAL_BYTES
from kafkaspec.broker.leader_epochs import begun_at
from kafkaspec.codecs import get_codec
from kafkaspec.columns.keys import batches_with
from kafkaspec.conversion.entries import cut_entry
from kafkaspec.errors import KafkaSpecError, Reason, make_error, none_of, unreadable
from kafkaspec.files import names
from kafkaspec.files.checkpoints import leader_epoch_checkpoint
from kafkaspec.forensics.redaction.choices import Changes, Chosen
from kafkaspec.forensics.redaction.columns import RANGE_BYTES, ColumnRedaction
from kafkaspec.forensics.redaction.entries import KeyWatch, RedactedField, redacted_entry
from kafkaspec.io.local import read_beside
from kafkaspec.io.remote import RemotePath
from kafkaspec.log.batch import Batch
from kafkaspec.log.damage import ALWAYS_RAISED, broken_entry, byte_of
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.header_table import HeaderTable
from kafkaspec.log.headers import read_headers
from kafkaspec.log.opening import open_log
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.options import checked
from kafkaspec.output.atomic import DirectoryAside, require_new
from kafkaspec.output.places import check_output
from kafkaspec.policy import OnError, report
from kafkaspec.writing.carried import Carried, WrittenLog, carry
from kafkaspec.writing.rebuild import rebuild_indexes

_KEPT: Final = (*names.INDEXES, names.TRANSACTION_INDEX, names.PRODUCER_SNAPSHOT)
_TEXT_FILES: Final = (names.LEADER_EPOCHS, names.PARTITION_METADATA)


@dataclass(frozen=True, slots=True)
class RedactedEntry:
    """An entry of which records were redacted, as it is now.

    Nothing here depends on what was removed: neither a checksum nor a size or a place of the entry
    before, with which contents could be tried. Its offsets lead to it in the input.

    Attributes:
        file: path of the new segment.
        position: byte offset of the entry in it.
        new_size: its bytes.
        new_crc: its stored checksum.
        fields: what was redacted.
    """

    file: str
    position: int
    new_size: int
    new_crc: int
    fields: Sequence[RedactedField]


@dataclass(slots=True)
class RedactedPartition:
    """A partition that was written again.

    Attributes:
        source: path of the partition.
        target: path of its new directory.
        topic: its topic, None if its name has none.
        partition: its number, None if its name has none.
        entries: number of batches or messages.
        redacted_entries: number of those with redacted records.
        records: number of records of which something was redacted.
        fields: number of keys, values and header values that were redacted.
        resized: names of segments in which sizes may have changed, so that their indexes are new.
        deleted: number of entries below the log start offset, all or in part, that are cut; only
            of a partition whose output has no checkpoint that says so.
        left_out: bytes of entries that cannot be read, and others; they are not in the output.
        errors: why entries, or files beside the segments, were left out.
        copies: files and directories beside it that may hold the same records.
    """

    source: str
    target: str
    topic: str | None
    partition: int | None
    entries: int = 0
    redacted_entries: int = 0
    records: int = 0
    fields: int = 0
    resized: list[str] = field(default_factory=list)
    deleted: int = 0
    left_out: int = 0
    errors: list[KafkaSpecError] = field(default_factory=list)
    copies: list[str] = field(default_factory=list)


@dataclass
class Redaction:
    """The result of ``redact``.

    Attributes:
        partitions: those that were written.
        failed: errors of partitions that cannot be read, by path.
        internal: partitions of Kafka's own topics, which are left out of the output.
        checkpoints: which checkpoints of the log directory are in the output.
    """

    partitions: list[RedactedPartition] = field(default_factory=list)
    failed: dict[str, KafkaSpecError] = field(default_factory=dict)
    internal: list[str] = field(default_factory=list)
    checkpoints: Carried = field(default_factory=Carried)

    @property
    def records(self) -> int:
        """Number of records of which something was redacted."""
        return sum(item.records for item in self.partitions)

    @property
    def is_whole(self) -> bool:
        """Whether everything could be read."""
        failed = self.failed or self.checkpoints.errors
        return not failed and not any(item.left_out or item.errors for item in self.partitions)


@checked
def redact(
    source: str | PathLike[str] | Sequence[str | PathLike[str]],
    out: str | PathLike[str],
    chosen: Chosen,
    changes: Changes,
    *,
    audit: Callable[[RedactedEntry], object] | None = None,
    on_error: OnError = "raise",
    index_interval_bytes: int = INDEX_INTERVAL_BYTES,
    sync: bool = True,
) -> Redaction:
    """Write logs to a new place, with keys, values or headers of some records erased or hashed.

    Offsets, timestamps, sequence numbers, epochs, transactions and entries that have no chosen
    record stay byte for byte. Where no size changes, indexes stay valid and are copied; otherwise
    those of the segment are made again, as recovery makes them. Control records and the input
    are never changed.

    Each changed entry gets a new checksum, so it is refused if its own is wrong. Bytes outside
    entries are not copied: nobody knows what is in them. Keys of a topic that are unequal stay so.

    Args:
        source: a partition or a log directory, or several.
        out: a new or empty directory: the partition, or for a log directory and for several
            sources a log directory with one for each partition and the checkpoints that hold. A
            partition alone has no checkpoint of its log start: records below it are cut.
        chosen: which records.
        changes: what is done to them.
        audit: called with each entry that was changed.
        on_error: what happens with an entry that cannot be read; a function leaves it out.
        index_interval_bytes: ``index.interval.bytes`` of indexes that are made again.
        sync: whether to force files to disk.

    Raises:
        KafkaSpecError: ``unreadable``: a source or the output; an entry cannot be read; a source is
            of one of Kafka's own topics, whose readers need their records as they are.
            ``unencodable``: unequal keys would become equal, and a cleaner would remove records.
    """
    sources = [source] if isinstance(source, str | PathLike) else list(source)
    check_output(out, *sources)
    require_new(Path(out))
    result = Redaction()
    watches: dict[str, KeyWatch] = {}
    logs: list[WrittenLog] = []
    with DirectoryAside(out, sync=sync) as aside:
        for log, prefix in _partitions(sources, result):
            watch = None
            if changes.may_merge_keys:
                watch = watches.setdefault(log.topic or str(log.path), KeyWatch())
            work = _Partition(log, prefix, aside, chosen, changes, watch, audit, on_error)
            try:
                result.partitions.append(work.run(index_interval_bytes))
                logs.append(WrittenLog(log, aside.path / prefix, cut=not prefix))
            except KafkaSpecError as error:
                if error.reason not in ALWAYS_RAISED or aside.concerns(error) or not prefix:
                    raise
                result.failed[str(log.path)] = error
                aside.remove_directory(prefix.rstrip("/"))
        if not result.partitions:
            if result.failed:
                raise none_of([*result.failed.values()], "redacted")
            raise unreadable(", ".join(map(str, sources)), "there is nothing to redact")
        for topic, watch in watches.items():
            before, after = watch.merged
            if before:
                detail = f"{before:,} unequal keys of {topic} would become {after:,}, and a "
                detail += "cleaner would remove records that are live: hash keys"
                raise make_error(Reason.UNENCODABLE, detail)
        result.checkpoints = carry(aside, logs, root=not logs[0].cut)
    return result


def _partitions(
    sources: Sequence[str | PathLike[str]], result: Redaction
) -> Iterator[tuple[Partition, str]]:
    """Yield the partitions, each with its directory in the output."""
    several = len(sources) > 1
    used: dict[str, str] = {}
    for source in sources:
        with open_log(source) as opened:
            if isinstance(opened, Segment):
                detail = "a segment alone has no indexes to go by; name its partition"
                raise unreadable(os.fspath(source), detail)
            if isinstance(opened, LogDirectory):
                result.failed.update(opened.unreadable)
                found = [(item, f"{item.path.name}/") for item in opened.current]
            else:
                found = [(opened, f"{opened.path.absolute().name}/" if several else "")]
            for log, prefix in found:
                if log.topic in set(Topic):
                    if not isinstance(opened, LogDirectory):
                        detail = f"{log.topic} is Kafka's own: brokers need its records as they are"
                        raise unreadable(str(log.path), detail)
                    result.internal.append(str(log.path))
                    continue
                if prefix in used:
                    detail = f"its output has the name of that of {used[prefix]}"
                    raise unreadable(str(log.path), detail)
                used[prefix] = str(log.path)
                yield log, prefix


@dataclass
class _Partition:
    """One partition while it is written."""

    log: Partition
    prefix: str
    aside: DirectoryAside
    chosen: Chosen
    changes: Changes
    watch: KeyWatch | None
    audit: Callable[[RedactedEntry], object] | None
    on_error: OnError

    def __post_init__(self) -> None:
        log, target = self.log, os.path.join(self.aside.target, self.prefix).rstrip("/")
        self._result = RedactedPartition(str(log.path), target, log.topic, log.partition)
        # Above a partition alone there is no checkpoint of its log start in the output.
        self._start = None if self.prefix else log.log_start_of("checkpoint")
        self._columns: ColumnRedaction | None = None
        codec = get_codec()
        simple = self.chosen.every and self.changes.headers is None
        alone = self.watch is None and self.audit is None
        if simple and alone and codec.core is not None:
            self._columns = ColumnRedaction(codec, codec.core, self.changes)

    def run(self, interval: int) -> RedactedPartition:
        """Write the partition."""
        if not self.log.segment_paths:
            raise unreadable(str(self.log.path), "it has no segments")
        for path in self.log.paths_from(self._start):
            with closing(self.log.open_segment(path)) as segment:
                if not segment.format.is_written:
                    detail = f"entries of Kafka {segment.format.name} cannot be written; convert it"
                    raise make_error(Reason.UNREADABLE, detail, file=segment.name)
                self._segment(segment, path)
        self._copy_files()
        if self._result.resized:
            self._rebuild(interval)
        self._result.copies = list(_copies(self.log))
        return self._result

    def _segment(self, segment: Segment, path: Path) -> None:
        base = segment.base_offset or 0
        target = path.name
        if self._start is not None and self._start > base:
            target = names.SegmentName(self._start, path.suffix).sibling(path.suffix)
        name = self.prefix + target
        wanted = self._wanted(segment)
        resized = target != path.name
        with self.aside.opened(name) as file:
            position: int | None = 0
            while position is not None:
                try:
                    for headers in read_headers(segment, position):
                        resized |= self._headers(headers, wanted, file)
                        position = headers.end
                    tail = segment.tail
                    if tail is not None and tail.reason != "zeros":
                        self._result.left_out += tail.size
                    break
                except KafkaSpecError as error:
                    start = position
                    report(self.on_error, error)
                    self._result.errors.append(error)
                    _, _, position = broken_entry(segment, start, error)
                    end = segment.size if position is None else min(position, segment.size)
                    self._result.left_out += end - start
                    resized = True
        if resized:
            self._result.resized.append(target)
        # Brokers take the time of the file for that of messages without one.
        if segment.modified is not None:
            time = segment.modified * 1_000_000
            os.utime(self.aside.path / name, ns=(time, time))

    def _wanted(self, segment: Segment) -> Callable[[HeaderTable, int], bool]:
        """Return what says whether an entry may have chosen records."""
        chosen = self.chosen
        if chosen.every or chosen.where or self.watch is not None:
            return lambda _headers, _number: True
        keyed: set[int] = set()
        broken: list[int] = []

        def cannot_read(error: KafkaSpecError) -> None:
            """Remember an entry: it may have the key, and is met and reported again."""
            if self.on_error == "raise":
                raise error
            broken.append(byte_of(segment, error))

        if chosen.keys:
            keyed.update(batches_with(segment, sorted(chosen.keys), on_error=cannot_read))

        def has(headers: HeaderTable, number: int) -> bool:
            position, size = headers.position[number], headers.size[number]
            first, last = headers.first_offset[number], headers.last_offset[number]
            return (
                position in keyed
                or any(first < each.stop and each.start <= last for each in chosen.offsets)
                or bisect_left(broken, position) < bisect_left(broken, position + size)
            )

        return has

    def _headers(
        self, headers: HeaderTable, wanted: Callable[[HeaderTable, int], bool], file: IO[bytes]
    ) -> bool:
        """Write some entries; return whether the size of one changed."""
        self._result.entries += len(headers)
        resized = False
        start = self._start
        done = first = 0 if start is None else bisect_left(headers.last_offset, start)
        self._result.deleted += first
        columns_end = first
        for number in range(first, len(headers)):
            if number < done or headers.control[number]:
                continue
            cut = number == first and start is not None and headers.first_offset_of(number) < start
            if not cut and not wanted(headers, number):
                continue
            if not cut and self._columns is not None and number >= columns_end:
                columns_end = _range_end(headers, number)
                if columns_end > number + 1:
                    written, is_resized = self._in_columns(headers, done, number, columns_end, file)
                    resized |= is_resized
                    if written > number:
                        done = written
                        columns_end = min(columns_end, written + 1)  # one goes another way
                        continue
            batch = headers.batch(number)
            found = self._entry(batch, cut=cut)
            if found is None:
                continue
            new, fields = found
            file.write(headers.data(done, number))
            if fields and self.audit is not None:
                path = os.path.join(self._result.target, os.path.basename(file.name))
                crc = Segment(new).batch_at(0).crc
                self.audit(RedactedEntry(path, file.tell(), len(new), crc, fields))
            file.write(new)
            done = number + 1
            # Whether a size happens to be the same as before says something of what was there.
            resized |= batch.is_compressed or not self.changes.keeps_sizes
            resized |= len(new) != headers.size[number]
        if done < len(headers):
            file.write(headers.data(done, len(headers)))
        return resized

    def _in_columns(
        self, headers: HeaderTable, done: int, first: int, end: int, file: IO[bytes]
    ) -> tuple[int, bool]:
        """Write entries in columns, and before them what is not written yet from ``done`` on.

        Return the number of the first one that is to be written otherwise, and whether the size of
        one changed.
        """
        assert self._columns is not None
        number, resized, result = first, False, self._result
        sizes = headers.size
        for made in self._columns.ranges(headers.data(first, end), headers.segment.max_output):
            if number == first:
                file.write(headers.data(done, first))
            file.write(made.data)
            old = sum(sizes[number : number + made.batches])
            resized |= made.is_compressed or not self.changes.keeps_sizes or len(made.data) != old
            number += made.batches
            result.redacted_entries += made.batches
            result.records += made.records
            result.fields += made.fields
        return number, resized

    def _entry(
        self, batch: Batch, *, cut: bool = False
    ) -> tuple[bytes, list[RedactedField]] | None:
        """Return an entry, cut at the log start offset, and what was redacted; None if it stays."""
        named = self.audit is not None
        data = None
        try:
            if cut and self._start is not None:
                data = cut_entry(batch, self._start)
                self._result.deleted += 1
                batch = Segment(data).batch_at(0)
            found = redacted_entry(
                batch,
                self.chosen,
                self.changes,
                log=self.log.path.absolute().name if named else None,
                watch=self.watch,
            )
        except KafkaSpecError as error:
            report(self.on_error, error)
            self._result.errors.append(error)
            self._result.left_out += batch.size
            return b"", []
        if found is None:
            return None if data is None else (data, [])
        self._result.redacted_entries += 1
        self._result.records += len({item.offset for item in found[1]})
        self._result.fields += len(found[1])
        return found

    def _copy_files(self) -> None:
        """Copy the files beside the segments that stay valid."""
        resized = set(self._result.resized)
        for path in self.log.files:
            name = names.parse_segment(path.name)
            if name is None:
                wanted = path.name in _TEXT_FILES
            else:
                wanted = not name.state and name.kind in _KEPT and not self._is_gone(name)
                if name.kind in names.INDEXES and name.sibling(names.LOG) in resized:
                    wanted = False
            if not wanted:
                continue
            try:
                with read_beside(path) as source:
                    data = bytes(source.buffer)
                if path.name == names.LEADER_EPOCHS and self._start is not None:
                    epochs = leader_epoch_checkpoint.parse(data, file=str(path))
                    data = leader_epoch_checkpoint.serialize(begun_at(epochs, self._start))
                self.aside.write(self.prefix + path.name, data)
            except KafkaSpecError as error:
                if self.aside.concerns(error):
                    raise
                self._result.errors.append(error)

    def _is_gone(self, name: names.SegmentName) -> bool:
        """Return whether a file is of a segment that is cut, or a snapshot that brokers remove."""
        if self._start is None or name.base_offset > self._start:
            return False
        return name.base_offset < self._start or name.kind == names.PRODUCER_SNAPSHOT

    def _rebuild(self, interval: int) -> None:
        """Make the indexes of segments in which sizes changed."""
        with TemporaryDirectory() as place:
            made = Path(place) / "made"
            rebuild_indexes(
                self.aside.path / self.prefix, made, index_interval_bytes=interval, sync=False
            )
            old = {path.name for path in self.log.segment_paths}
            for name in self._result.resized:
                renamed = () if name in old else (names.TRANSACTION_INDEX,)
                for kind in (*names.INDEXES, *renamed):
                    path = made / Path(name).with_suffix(kind).name
                    if path.exists():
                        self.aside.write(self.prefix + path.name, path.read_bytes())


def _range_end(headers: HeaderTable, first: int) -> int:
    """Return the end of entries without control records from one on, within ``RANGE_BYTES``."""
    size = 0
    for number in range(first, len(headers)):
        if headers.control[number] or size > RANGE_BYTES:
            return number
        size += headers.size[number]
    return len(headers)


def _copies(log: Partition) -> Iterator[str]:
    """Yield the files and directories beside a partition that may hold its records, too."""
    for path in log.files:
        name = names.parse_segment(path.name)
        if name is not None and name.state and name.kind in names.SEGMENTS:
            yield str(path)
    if isinstance(log.path, RemotePath):
        return
    home = log.path.absolute()
    beside: list[Path] = []
    with suppress(OSError):
        beside = sorted(home.parent.iterdir())
    for path in beside:
        found = names.parse_partition(path.name)
        if found is None or not found.state or not path.is_dir():
            continue
        if (found.topic, found.partition) == (log.topic, log.partition):
            yield str(path)
