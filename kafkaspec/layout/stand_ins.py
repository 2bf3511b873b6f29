"""Values that stand in for fields that the header of an entry does not have.

Formats differ in their fields. Code that reads all of them asks here, so that a message of magic 0
or 1 reads as a batch with one record. Kafka: ``AbstractLegacyRecordBatch``, ``RecordBatch``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kafkaspec._generated.layout.files import FILES
from kafkaspec.layout import EntryKind, names
from kafkaspec.layout.kinds import KINDS

NONE: Final = -1
"""Value for no producer, no sequence number, no leader epoch."""
NO_TIMESTAMP: Final = -1
"""Value of a missing timestamp, as Kafka reports it."""
UNTYPED: Final = -1
"""Kafka's id for ``NoTimestampType``."""
UNKNOWN: Final = -1
"""First offset, or number of records, of a compressed message: only decompression reveals it."""

STAND_INS: Final[Mapping[str, str | int]] = {
    **{file.largest.name: NONE for file in FILES.values() if file.largest is not None},
    names.LAST_OFFSET: names.BASE_OFFSET,
    names.NUM_RECORDS: 1,
    names.TIMESTAMP: NO_TIMESTAMP,
    names.MAX_TIMESTAMP: names.TIMESTAMP,
    names.TIMESTAMP_TYPE: UNTYPED,
    names.BASE_TIMESTAMP: NO_TIMESTAMP,
    names.DELETE_HORIZON: NO_TIMESTAMP,
    names.LEADER_EPOCH: NONE,
    names.PRODUCER_ID: NONE,
    names.PRODUCER_EPOCH: NONE,
    names.BASE_SEQUENCE: NONE,
    names.LAST_SEQUENCE: NONE,
    names.IS_TRANSACTIONAL: 0,
    names.IS_CONTROL: 0,
    names.HAS_DELETE_HORIZON: 0,
}
"""For a field that not all formats have, the field or the number in its place. Every entry stores
an offset before its message, ``BASE_OFFSET``; that of a message is its last one."""

IN_WRAPPERS: Final = (names.BASE_OFFSET, names.NUM_RECORDS)
"""What is ``UNKNOWN`` of a compressed message, a wrapper."""

CONDITIONS: Final = {names.DELETE_HORIZON: names.HAS_DELETE_HORIZON}
"""Fields that an entry has only where a flag of its header is set."""


def _lacks(kind: EntryKind, name: str) -> bool:
    if name == names.TIMESTAMP_TYPE:  # a bit without a meaning in messages without timestamps
        return not kind.has_timestamps
    return name not in kind.header


LACKING: Final = {
    name: frozenset(magic for magic, kind in KINDS.items() if _lacks(kind, name))
    for name in STAND_INS
}
"""Magics of the formats that lack a field."""
