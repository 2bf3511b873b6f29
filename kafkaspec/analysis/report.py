"""The report of ``verify``: one result for each file, and totals."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar

from kafkaspec.analysis.findings import Finding, Severity
from kafkaspec.provider import InNotebook
from kafkaspec.results import as_json


class FileKind(StrEnum):
    """The kind of a file, by its name."""

    SEGMENT = "segment"
    MESSAGE_SET = "message_set"
    """A segment of Kafka 0.7."""
    KRAFT_SNAPSHOT = "kraft_snapshot"
    OFFSET_INDEX = "offset_index"
    TIME_INDEX = "time_index"
    TRANSACTION_INDEX = "transaction_index"
    PRODUCER_SNAPSHOT = "producer_snapshot"
    INDEX = "index"
    """An index that only the specification knows, as one of a draft."""
    OTHER = "other"
    """Another file beside a segment that only the specification knows."""
    LEFTOVER = "leftover"
    """Kafka's, but to be deleted or renamed: its content is not checked."""
    LEADER_EPOCH_CHECKPOINT = "leader_epoch_checkpoint"
    OFFSET_CHECKPOINT = "offset_checkpoint"
    """One of four: high watermarks, recovery points, log start offsets, cleaner offsets."""
    PARTITION_METADATA = "partition_metadata"
    META_PROPERTIES = "meta_properties"
    QUORUM_STATE = "quorum_state"
    CLEAN_SHUTDOWN = "clean_shutdown"
    LOCK = "lock"
    """The file that a running broker locks. It has no content."""
    STREAM_STATE = "stream_state"
    """What a streaming query of Spark that writes here has published last; not Kafka's."""
    UNKNOWN = "unknown"
    """Not Kafka's: not read."""


LOG_KINDS = (FileKind.SEGMENT, FileKind.MESSAGE_SET, FileKind.KRAFT_SNAPSHOT)
"""Kinds of files that hold log entries."""

UNCHECKED_KINDS = frozenset({FileKind.LEFTOVER, FileKind.STREAM_STATE, FileKind.UNKNOWN})
"""Kinds of files whose content is not checked."""


@dataclass(slots=True, kw_only=True)
class _Counts:
    """Numbers of one file or of several."""

    size: int = 0
    batches: int = 0
    records: int = 0
    unread: int = 0
    magics: Counter[str] = field(default_factory=Counter)
    codecs: Counter[str] = field(default_factory=Counter)
    findings: Counter[Severity] = field(default_factory=Counter)
    ALSO: ClassVar[tuple[str, ...]] = ("clean",)

    @property
    def clean(self) -> bool:
        """Whether there is neither error nor warning."""
        return not (self.findings[Severity.ERROR] or self.findings[Severity.WARNING])

    def add_entries(self, other: _Counts) -> None:
        """Add the numbers of log entries."""
        self.batches += other.batches
        self.records += other.records
        self.unread += other.unread
        self.magics.update(other.magics)
        self.codecs.update(other.codecs)

    def as_dict(self) -> dict[str, Any]:
        """Return all values, ready for JSON."""
        content: dict[str, Any] = as_json(self)
        return content | {
            "magics": dict(sorted(self.magics.items())),
            "codecs": dict(sorted(self.codecs.items())),
            "findings": {str(severity): self.findings[severity] for severity in Severity},
        }


@dataclass(slots=True, kw_only=True)
class FileResult(_Counts):
    """The content of one file in numbers, and whether it is sound.

    Attributes:
        file: path of the file.
        kind: its kind.
        partition: path of its partition directory, "" for a file on its own.
        size: size in bytes.
        entries: number of entries of an index, producer snapshot or checkpoint.
        padding: bytes of zeros after the entries of an index.
        batches: number of log entries.
        control_batches: number of batches with control records among them.
        records: number of records, including control records.
        unread: batches whose records could not be read.
        magics: batches by magic; those of Kafka 0.7 are ``0 (0.7)`` and ``1 (0.7)``.
        codecs: batches by compression.
        first_offset: first offset of the first batch, None for none.
        last_offset: last offset of the last batch, None for none.
        findings: number of findings by severity.
    """

    file: str
    kind: FileKind
    partition: str = ""
    entries: int = 0
    padding: int = 0
    control_batches: int = 0
    first_offset: int | None = None
    last_offset: int | None = None
    ALSO: ClassVar = ("checked", "clean")

    @property
    def checked(self) -> bool:
        """Whether its content was read."""
        return self.kind not in UNCHECKED_KINDS

    def append(self, more: FileResult) -> None:
        """Add the numbers of the next part of the same segment."""
        self.add_entries(more)
        self.control_batches += more.control_batches
        if self.first_offset is None:
            self.first_offset = more.first_offset
        if more.last_offset is not None:
            self.last_offset = more.last_offset


@dataclass(slots=True, kw_only=True)
class Totals(_Counts):
    """Sums over files.

    Attributes:
        files: number of files by kind.
        size: bytes of the files whose content was checked.
        batches: log entries.
        records: number of records, including control records.
        unread: batches whose records could not be read.
        magics: batches by magic; those of Kafka 0.7 are ``0 (0.7)`` and ``1 (0.7)``.
        codecs: batches by compression.
        findings: number of findings by severity.
    """

    files: Counter[FileKind] = field(default_factory=Counter)

    def add(self, result: FileResult) -> None:
        """Add the numbers of a file."""
        self.files[result.kind] += 1
        if result.checked:
            self.size += result.size
        self.add_entries(result)
        self.findings.update(result.findings)

    @property
    def checked(self) -> int:
        """Number of files whose content was read."""
        return sum(count for kind, count in self.files.items() if kind not in UNCHECKED_KINDS)

    def as_dict(self) -> dict[str, Any]:
        """Return all values, ready for JSON."""
        files = {str(kind): self.files[kind] for kind in FileKind if self.files[kind]}
        return _Counts.as_dict(self) | {"files": files}


@dataclass(slots=True)
class Report(InNotebook):
    """All results of ``verify``.

    Attributes:
        findings: findings in the order of files and of positions in them.
        files: one result for each file.
        totals: sums over the files.
        codecs: names of the codecs that read the data.
    """

    findings: list[Finding] = field(default_factory=list)
    files: list[FileResult] = field(default_factory=list)
    totals: Totals = field(default_factory=Totals)
    codecs: tuple[str, ...] = ()

    def add(self, event: Finding | FileResult) -> None:
        """Add a finding, or the result of a file."""
        if isinstance(event, Finding):
            self.findings.append(event)
        else:
            self.files.append(event)
            self.totals.add(event)

    @property
    def clean(self) -> bool:
        """Whether there is neither error nor warning."""
        return self.totals.clean
