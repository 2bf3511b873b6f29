"""The meanings of breaks in the sequence numbers of producers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from kafkaspec.log.batch import NONE
from kafkaspec.results import Finding


class ProducerVerdict(StrEnum):
    """The meaning of a break in the sequence numbers of a producer; a closed list."""

    REMOVED = "removed"
    """As many offsets are missing in between: batches were removed, or lost."""
    NEVER_HERE = "never_here"
    """No offsets are missing for the numbers: no leader of this log ever wrote them."""
    DUPLICATE = "duplicate"
    """The records are the same as those with the same numbers before."""
    REUSED = "reused"
    """The records differ from those with the same numbers before."""
    NOT_COMPARED = "not_compared"
    """Records with the numbers of before are gone or cannot be read, or are too many."""
    UNKNOWN_PRODUCER = "unknown_producer"
    """The broker did not know the producer, or its first batches of the epoch were removed."""
    TWO_WRITERS = "two_writers"
    """A fenced producer was served: two leaders, or a log put together by hand."""
    SNAPSHOT = "snapshot"
    """A producer snapshot and the log contradict."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Break(Finding):
    """A break in the sequence numbers of a producer.

    ``offsets`` are those between both batches; for repeats those that repeat, for epochs the first
    one of the batch. ``position`` is that of the batch after it; None in a snapshot.

    Attributes:
        producer_id: of the producer.
        producer_epoch: of the batch after it.
        before: last sequence number before it.
        sequence: the first one after it.
        count: how many numbers are missing, or repeated.
        idle_ms: time between both batches, by their timestamps; None if it is not known.
        legal: whether brokers that work make it; None where the files do not say.
    """

    reason: ProducerVerdict
    producer_id: int
    producer_epoch: int
    before: int
    sequence: int
    count: int
    idle_ms: int | None
    legal: bool | None
    ALSO: ClassVar = ("verdict", "first_offset", "last_offset")

    @property
    def verdict(self) -> ProducerVerdict:
        """``reason``, by the name that it had before 0.3."""
        return self.reason

    @property
    def first_offset(self) -> int:
        """The first of ``offsets``; -1 for none."""
        return NONE if self.offsets is None else self.offsets.start

    @property
    def last_offset(self) -> int:
        """The last of ``offsets``; -1 for none."""
        return NONE if self.offsets is None or self.offsets.end is None else self.offsets.end - 1
