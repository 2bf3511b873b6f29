"""Find the copies of partitions in log directories, and what each of them holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kafkaspec._generated.layout.topics import Topic
from kafkaspec.errors import KafkaSpecError, Reason, unreadable
from kafkaspec.files import names as files
from kafkaspec.files.checkpoints import kafka_uuid
from kafkaspec.files.checkpoints.log_directory import Checkpoints
from kafkaspec.files.checkpoints.meta_properties import MetaProperties
from kafkaspec.forensics.headers import Unread, tables
from kafkaspec.io.remote import as_path, is_mounted
from kafkaspec.layout import names
from kafkaspec.log.batch import NONE
from kafkaspec.log.damage import Kept, judge
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.missing import Account, Missing, MissingWhy, passed_over
from kafkaspec.log.opening import open_log
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.restore.restore_plan import RestoreFinding, RestoreReason
from kafkaspec.results import OffsetRange
from kafkaspec.state.remote import DELETING, RemoteSegments, read_remote_segments
from kafkaspec.tiered.mount import segment_id, without_segments

_DAMAGE = frozenset(
    {MissingWhy.BROKEN, MissingWhy.CUT, MissingWhy.BEHIND, MissingWhy.END, MissingWhy.NAME}
)
"""What a copy is salvaged for; a torn tail alone a broker cuts itself."""

_OFFSETS = ("high_watermarks", "log_start_offsets", "cleaner_offsets")
"""Checkpoints of a log directory that a restore reads."""


@dataclass(slots=True)
class LogContent:
    """The content of a log, by the headers of its intact batches.

    Attributes:
        end_offset: the offset after the last one.
        last_epoch: the largest leader epoch, -1 for none.
        producer_id: the largest producer id, -1 for none.
        late: first offset of the first batch with a timestamp after a point in time; None for none.
        lost: what is missing in the log.
        broken_end: whether a reader fails at the end, which is more than one batch cut off.
    """

    end_offset: int
    last_epoch: int = NONE
    producer_id: int = NONE
    late: int | None = None
    lost: list[Missing] = field(default_factory=list)
    broken_end: bool = False


@dataclass(slots=True)
class PartitionCopy:
    """A copy of a partition.

    Attributes:
        log: the copy.
        directory: its log directory.
        owner: what ``meta.properties`` of that directory says; None without it.
        topic_id: of its topic, None if it has no ``partition.metadata``.
        content: what it holds.
        listed: its log start offset by the checkpoint; None if that says nothing.
        deleted: of a copy in remote storage, the first offset of a segment that is left out since
            a broker was deleting it; None for none.
    """

    log: Partition
    directory: Path
    owner: MetaProperties | None
    topic_id: str | None
    content: LogContent
    listed: int | None = None
    deleted: int | None = None

    @property
    def path(self) -> str:
        """Its path."""
        return str(self.log.path)

    @property
    def place(self) -> Path:
        """The resolved path of its log directory."""
        return resolved(self.directory)

    @property
    def topic(self) -> str:
        """Name of its topic."""
        assert self.log.topic is not None
        return self.log.topic

    @property
    def partition(self) -> int:
        """Its number."""
        assert self.log.partition is not None
        return self.log.partition

    @property
    def log_start(self) -> int:
        """Where a broker lets it begin: it does not believe a checkpoint that says less."""
        return max(self.listed or 0, self.log.first_base_offset or 0)

    @property
    def is_remote(self) -> bool:
        """Whether it is in remote storage: the segments that its broker has deleted, and others."""
        return is_mounted(self.log.path)

    @property
    def is_damaged(self) -> bool:
        """Whether a broker would lose more of it than the end that was never written."""
        lost = any(each.reason in _DAMAGE and each.is_loss for each in self.content.lost)
        return lost or self.content.broken_end

    @property
    def before_first(self) -> OffsetRange | None:
        """The offsets before its first segment that one of its files names; None for none."""
        found = [each for each in self.content.lost if each.reason is MissingWhy.START]
        return found[0].offsets if found else None

    def has_all_before(self, end: int) -> bool:
        """Return whether it is local, and lost nothing before an offset but at its own ends."""
        if self.is_remote or self.content.broken_end:
            return False
        return not any(
            each.is_loss
            and each.reason not in (MissingWhy.START, MissingWhy.END)
            and (each.offsets is None or each.offsets.start < end)
            for each in self.content.lost
        )

    @property
    def rank(self) -> tuple[int, int, bool]:
        """The order in which copies are taken: Kafka's order of logs, then soundness (KIP-101)."""
        return self.content.last_epoch, self.content.end_offset, not self.is_damaged


@dataclass(slots=True)
class Inventory:
    """The copies and metadata in some log directories.

    Attributes:
        replicas: the copies, by topic and number.
        metadata: directories of ``__cluster_metadata-0``.
        directories: log directories, with what ``meta.properties`` says.
        findings: what cannot be read, and what is not restored.
    """

    replicas: dict[tuple[str, int], list[PartitionCopy]] = field(default_factory=dict)
    metadata: list[Path] = field(default_factory=list)
    directories: dict[Path, MetaProperties | None] = field(default_factory=dict)
    findings: list[RestoreFinding] = field(default_factory=list)


def take_inventory(sources: Sequence[Path], stack: ExitStack, at: int | None) -> Inventory:
    """Return the copies in log directories, each read once, whatever the order of the sources.

    Args:
        sources: log directories, or directories of ``__cluster_metadata-0``.
        stack: closes them.
        at: a point in time, ms, that logs are to be cut at.

    Raises:
        KafkaSpecError: ``unreadable``: a source is none of that.
    """
    found = Inventory()
    stores: list[LogDirectory] = []
    places = {str(resolved(path)): path for path in sources}
    for source in (places[text] for text in sorted(places)):
        name = files.parse_partition(source.absolute().name)
        if name is not None and name.topic == Topic.CLUSTER_METADATA:
            found.metadata.append(source)
            continue
        opened = stack.enter_context(open_log(source))
        if not isinstance(opened, LogDirectory):
            raise unreadable(source, "a source is a log directory, or __cluster_metadata-0")
        if is_mounted(opened.path):
            stores.append(opened)
        else:
            _take(found, opened, at, {})
    states = [
        read_remote_segments(copy.log, on_error=_passed_over)
        for copy in each_replica(found)
        if stores and copy.topic == Topic.REMOTE_LOG_METADATA
    ]
    for store in stores:
        shown, deleted = _without_deleted(found, store, states)
        _take(found, shown, at, deleted)
    return found


def _without_deleted(
    found: Inventory, store: LogDirectory, states: Sequence[RemoteSegments]
) -> tuple[LogDirectory, dict[tuple[str, int], int]]:
    """Return remote storage without what brokers were deleting, and where the first of it was.

    No broker reads that any more: ``RemoteLogMetadataCache``.
    """
    rows = (row for state in states for row in state.segments.to_pylist())
    ids = {row["segment_id"] for row in rows if row["state"] in DELETING}
    places = {place for state in states for place in state.deletions}
    hidden: set[str] = set()
    firsts: dict[tuple[str, int], int] = {}
    for log in store.current if ids or places else ():
        assert log.topic is not None
        assert log.partition is not None
        whole = log.topic_id is not None and (
            (kafka_uuid.to_text(log.topic_id), log.partition) in places
        )
        segments = zip(map(segment_id, log.segment_paths), log.base_offsets, strict=True)
        gone = {name: base for name, base in segments if name and (whole or name in ids)}
        if gone:
            text = f"segments in remote storage that a broker was deleting: {len(gone)}"
            found.findings.append(
                RestoreFinding(
                    reason=RestoreReason.COPY, message=text, topic=log.topic,
                    partition=log.partition,
                )
            )  # fmt: skip
            hidden |= gone.keys()
            firsts[log.topic, log.partition] = min(gone.values())
    return LogDirectory(without_segments(store.path, hidden)) if hidden else store, firsts


def _take(
    found: Inventory,
    directory: LogDirectory,
    at: int | None,
    deleted: Mapping[tuple[str, int], int],
) -> None:
    path = as_path(directory.path)
    try:
        owner = Checkpoints(path).meta_properties
    except KafkaSpecError as error:
        owner = None
        found.findings.append(_unreadable(error))
    found.directories[path] = owner
    for note in passed_over(directory):
        found.findings.append(
            RestoreFinding(reason=RestoreReason.COPY, message=note.message, file=note.file)
        )
    found.findings += [_unreadable(error) for error in directory.unreadable.values()]
    for name in _OFFSETS:
        _read_or_leave(found, directory.checkpoints, name, {})
    for log in directory.current:
        if log.topic is None or log.partition is None:
            continue
        first = deleted.get((log.topic, log.partition))
        if first is not None and not log.segment_paths:
            continue
        if log.topic == Topic.CLUSTER_METADATA:
            found.metadata.append(as_path(log.path))
            continue
        try:
            replica = _replica(found, log, path, owner, at)
        except KafkaSpecError as error:
            found.findings.append(_unreadable(error, log.topic, log.partition))
            continue
        replica.deleted = first
        found.replicas.setdefault((log.topic, log.partition), []).append(replica)


def resolved(path: Path) -> Path:
    """Return a path without links and relative parts; a URL is one already."""
    return path.resolve() if isinstance(path, Path) else path


def _read_or_leave(
    found: Inventory, holder: Checkpoints | Partition, name: str, none: Any, *place: Any
) -> None:
    """Read what a checkpoint says; take one that cannot be read as missing, and say so."""
    try:
        getattr(holder, name)
    except KafkaSpecError as error:
        found.findings.append(_unreadable(error, *place))
        setattr(holder, name, none)


def _replica(
    found: Inventory, log: Partition, path: Path, owner: MetaProperties | None, at: int | None
) -> PartitionCopy:
    older = [each.name for each in log.segment_paths if each.suffix != files.LOG]
    if older:
        detail = f"no broker of today reads {older[0]}: convert the log first"
        raise unreadable(str(log.path), detail)
    text = None
    try:
        text = None if log.topic_id is None else kafka_uuid.to_text(log.topic_id)
    except KafkaSpecError as error:  # the records are there all the same
        found.findings.append(_unreadable(error, log.topic, log.partition))
    _read_or_leave(found, log, "leader_epochs", (), log.topic, log.partition)
    listed = None if is_mounted(log.path) else log.log_start_checkpoint
    return PartitionCopy(log, path, owner, text, content_of(log, at), listed)


def content_of(log: Partition, at: int | None = None) -> LogContent:
    """Return what the headers of a log say; all bytes are read for their checksums.

    Args:
        log: the log.
        at: a point in time, ms.

    Raises:
        KafkaSpecError: a segment cannot be read.
    """
    found = LogContent(log.last_base_offset or 0)
    account = Account(log, ends_only=False, judge=judge)
    found.lost += account.beside()

    def kept(segment: Segment) -> Kept | None:
        found.lost += account.of(segment, check=True) or ()
        return account.kept

    unread = Unread()
    for table in tables(log, unread, kept):
        found.end_offset = max(found.end_offset, int(table.numpy(names.LAST_OFFSET).max()) + 1)
        found.last_epoch = max(found.last_epoch, int(table.numpy(names.LEADER_EPOCH).max()))
        found.producer_id = max(found.producer_id, int(table.numpy(names.PRODUCER_ID).max()))
        if at is not None and found.late is None:
            late = np.flatnonzero(table.numpy(names.MAX_TIMESTAMP) > at)
            found.late = table.first_offset_of(int(late[0])) if len(late) else None
    for error in unread.errors:
        if error.reason is Reason.UNREADABLE:
            raise error
    try:
        _ = log.log_end_offset
    except KafkaSpecError:
        found.broken_end = True
    return found


def _passed_over(error: KafkaSpecError) -> None:
    """Go on after a batch that is noted when what is taken is read."""


def _unreadable(
    error: KafkaSpecError, topic: str | None = None, partition: int | None = None
) -> RestoreFinding:
    return RestoreFinding(
        reason=RestoreReason.UNREADABLE, message=error.detail, file=error.file,
        position=error.position, topic=topic, partition=partition,
    )  # fmt: skip


def each_replica(found: Inventory) -> Iterator[PartitionCopy]:
    """Yield all copies."""
    for replicas in found.replicas.values():
        yield from replicas
