"""Arithmetic of sequence numbers of producers, which begin at 0 again after the largest one.

Kafka: ``DefaultRecordBatch.incrementSequence``, ``decrementSequence``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from kafkaspec.layout import names
from kafkaspec.layout.framing import field_of
from kafkaspec.layout.kinds import KINDS

if TYPE_CHECKING:
    import numpy as np

_Numbers = TypeVar("_Numbers", int, "np.ndarray[Any, np.dtype[np.int64]]")

LARGEST_SEQUENCE: Final = min(
    field_of(kind.key, names.BASE_SEQUENCE).largest for kind in KINDS.values() if kind.has_producers
)
"""Largest sequence number that every format with producers can hold."""


def sequence_after(sequence: int, delta: int) -> int:
    """Return the sequence number ``delta`` after another; -1 if that is -1, for none."""
    return sequence if sequence < 0 else (sequence + delta) & LARGEST_SEQUENCE


def shorter_way(difference: _Numbers) -> _Numbers:
    """Return the way between sequence numbers that differ so much, forwards or backwards."""
    half = (LARGEST_SEQUENCE + 1) // 2
    return (difference + half) % (2 * half) - half


def is_later(sequence: int, before: int) -> bool:
    """Return whether a sequence number comes after another: within half of all numbers."""
    return sequence_after(0, sequence - before - 1) <= LARGEST_SEQUENCE // 2
