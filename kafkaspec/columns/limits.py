"""Limits of one batch, as Kafka's producers and brokers count them."""

from __future__ import annotations

from typing import Final

from kafkaspec.layout import names
from kafkaspec.layout.framing import field_of
from kafkaspec.layout.kinds import KINDS

RECORD_OVERHEAD: Final = 21
"""Bytes Kafka adds to the size of a record (``DefaultRecord.MAX_RECORD_OVERHEAD``)."""

MOST_DELTA: Final = min(
    field_of(kind.key, names.LAST_OFFSET_DELTA).largest
    for kind in KINDS.values()
    if kind.has_record_sets
)
"""Largest difference between the offsets of a batch (Kafka: ``MemoryRecordsBuilder``)."""
