"""Choices for a conversion."""

from __future__ import annotations

from dataclasses import dataclass

from kafkaspec._generated.python.model.recordbatch import CompressionType
from kafkaspec.broker.profiles import DEFAULT_PROFILE
from kafkaspec.broker.settings import LARGEST_EPOCH, SEGMENT_BYTES
from kafkaspec.compression import NAMES, compress
from kafkaspec.conversion.options import AbortedChoice, OffsetChoice
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout import EntryKind
from kafkaspec.layout.framing import LARGEST_OFFSET
from kafkaspec.layout.kinds import CURRENT, require_kind
from kafkaspec.log.batch import LOG_APPEND_TIME, NONE, Batch
from kafkaspec.log.options import LOG_START, Isolation, LogStart
from kafkaspec.log.selection import is_timely
from kafkaspec.model import Record
from kafkaspec.options import checked, one_of
from kafkaspec.policy import RaiseOrSkip


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """Plan of a conversion; see ``ChoiceOptions``. None always keeps the existing value.

    Raises:
        ValueError: a choice is invalid, or choices contradict each other.
    """

    magic: int | None = None
    compression: str | None = None
    level: int | None = None
    offsets: OffsetChoice = "keep"
    base_offset: int = 0
    leader_epoch: int | None = None
    batch_bytes: int | None = None
    segment_bytes: int = SEGMENT_BYTES
    profile: str = DEFAULT_PROFILE
    start_offset: int | None = None
    end_offset: int | None = None
    start_timestamp: int | None = None
    end_timestamp: int | None = None
    isolation: Isolation = "read_uncommitted"
    aborted: AbortedChoice = "keep"
    on_error: RaiseOrSkip = "raise"
    log_start: LogStart = LOG_START
    max_output: int | None = None

    def __post_init__(self) -> None:
        kind, codec = self.kind, self.codec_id
        if self.level is not None and not codec:
            raise ValueError("a level needs a compression that has levels")
        if codec is not None:
            magic = CURRENT if kind is None else kind.magic
            try:
                compress(codec, b"", magic=magic, level=self.level)
            except KafkaSpecError as error:
                raise ValueError(f"compression {self.compression}: {error.detail}") from None
        if not 0 <= self.base_offset <= LARGEST_OFFSET:
            raise ValueError(f"base_offset must be from 0 to {LARGEST_OFFSET}")
        if self.base_offset and self.offsets == "keep":
            raise ValueError("base_offset needs offsets that are shifted or renumbered")
        if self.leader_epoch is not None and not NONE <= self.leader_epoch <= LARGEST_EPOCH:
            raise ValueError(f"leader_epoch must be from {NONE} to {LARGEST_EPOCH}")
        for name in ("batch_bytes", "segment_bytes", "max_output"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1")
        for what in ("offset", "timestamp"):
            low, high = getattr(self, f"start_{what}"), getattr(self, f"end_{what}")
            if low is not None and high is not None and low > high:
                raise ValueError(f"start_{what} {low} is after end_{what} {high}")

    @property
    def by_time(self) -> bool:
        """Whether records are chosen by their timestamps."""
        return self.start_timestamp is not None or self.end_timestamp is not None

    @property
    def drops_aborted(self) -> bool:
        """Whether records of aborted transactions are left out."""
        return self.aborted == "drop" or self.isolation == "read_committed"

    def takes(self, batch: Batch, record: Record) -> bool:
        """Return whether a record is in the range of timestamps; control records always are.

        Under the append time, that of the batch counts.
        """
        if not self.by_time or batch.is_control:
            return True
        appended = batch.kind.has_record_sets and batch.timestamp_type == LOG_APPEND_TIME
        timestamp = batch.max_timestamp if appended else record.timestamp
        return is_timely(timestamp, self.start_timestamp, self.end_timestamp)

    @property
    def kind(self) -> EntryKind | None:
        """The format of all entries, None to keep that of each."""
        return None if self.magic is None else require_kind(self.magic)

    @property
    def codec_id(self) -> CompressionType | None:
        """The compression as stored, None to keep that of each batch."""
        if self.compression is None:
            return None
        if self.compression not in NAMES:
            raise one_of("compression", self.compression, NAMES)
        return CompressionType[self.compression.upper()]
