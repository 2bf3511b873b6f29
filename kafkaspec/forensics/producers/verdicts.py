"""What breaks in the sequence numbers of producers mean."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kafkaspec.results import Strength


class Verdict(StrEnum):
    """What a break in the sequence numbers of a producer means; a closed list."""

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


@dataclass(slots=True)
class Break:
    """A break in the sequence numbers of a producer.

    Attributes:
        verdict: what it means.
        producer_id: of the producer.
        producer_epoch: of the batch after it.
        before: last sequence number before it.
        sequence: the first one after it.
        count: how many numbers are missing, or repeated.
        first_offset: first offset after the last batch before it; for repeats and epochs the first
            offset of the batch.
        last_offset: the offset before the batch after it; for repeats the last one that repeats.
        idle_ms: time between both batches, by their timestamps; None if it is not known.
        legal: whether brokers that work make it; None where the files do not say.
        strength: how far the verdict is proven.
        message: what was found, and what can be the reason.
        file: path of the segment or snapshot.
        position: byte offset of the batch; None in a snapshot.
    """

    verdict: Verdict
    producer_id: int
    producer_epoch: int
    before: int
    sequence: int
    count: int
    first_offset: int
    last_offset: int
    idle_ms: int | None
    legal: bool | None
    strength: Strength
    message: str
    file: str
    position: int | None
