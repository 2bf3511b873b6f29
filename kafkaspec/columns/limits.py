"""How much goes into one batch, as Kafka's own producers and brokers count it."""

from __future__ import annotations

from typing import Final

from kafkaspec.layout import names
from kafkaspec.layout.framing import field_of
from kafkaspec.layout.kinds import KINDS

RECORD_OVERHEAD: Final = 21
"""What Kafka counts for a record beside its bytes (``DefaultRecord.MAX_RECORD_OVERHEAD``)."""

MOST_DELTA: Final = min(
    field_of(kind.key, names.LAST_OFFSET_DELTA).largest
    for kind in KINDS.values()
    if kind.has_record_sets
)
"""Offsets of a batch reach so far (Kafka: ``MemoryRecordsBuilder``)."""
