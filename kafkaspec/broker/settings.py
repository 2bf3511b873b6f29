"""Settings for writing a log: Kafka's defaults, and the ranges of values."""

from __future__ import annotations

from typing import Final

from kafkaspec.broker.acceptance import LARGEST_SEGMENT
from kafkaspec.files.indexes import TimeIndex
from kafkaspec.layout import names
from kafkaspec.layout.framing import LARGEST_OFFSET, field_of, fixed_size
from kafkaspec.layout.kinds import KINDS

SEGMENT_BYTES: Final = 1 << 30
"""Kafka's default of ``segment.bytes``."""
SEGMENT_MS: Final = 7 * 24 * 60 * 60 * 1000
"""Kafka's default of ``segment.ms``."""
BATCH_BYTES: Final = 16 << 10
"""Kafka's default of ``batch.size``, a setting of producers."""

_LEAST_INDEX: Final = 2 * fixed_size(TimeIndex.type_key)
"""Size of an index with room for one entry and the one that closing adds."""
LARGEST_EPOCH: Final = max(
    field_of(kind.key, names.LEADER_EPOCH).largest
    for kind in KINDS.values()
    if kind.has_leader_epochs
)
LARGEST_TIME: Final = field_of(TimeIndex.type_key, "timestamp").largest
"""Largest time in ms."""

BOUNDS: Final = {
    "base_offset": (0, LARGEST_OFFSET),
    "segment_bytes": (1, LARGEST_SEGMENT),
    "segment_ms": (1, LARGEST_TIME),
    "index_interval_bytes": (0, LARGEST_SEGMENT),
    "segment_index_bytes": (_LEAST_INDEX, LARGEST_SEGMENT),
    "leader_epoch": (0, LARGEST_EPOCH),
}
"""Smallest and largest value of each setting."""


def check_settings(**settings: int | None) -> None:
    """Refuse numbers that a broker would not accept.

    Args:
        settings: values by name, None for those that are not set.

    Raises:
        ValueError: a number is out of range.
    """
    for name, value in settings.items():
        least, most = BOUNDS[name]
        if value is not None and not least <= value <= most:
            raise ValueError(f"{name} is {value}; it must be from {least} to {most}")
