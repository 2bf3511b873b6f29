"""Names of columns: ids of the specification, with a prefix for fields of a record's batch."""

from __future__ import annotations

from typing import Final

from kafkaspec.layout import names

OF_BATCH: Final = "batch."
"""Prefix of columns that repeat a field of the header of a record's entry."""

POSITION: Final = "position"
SIZE: Final = "size"
"""Size of an entry in bytes; after the name of a byte field, the size of that field."""

BATCH_POSITION: Final = OF_BATCH + POSITION
"""Position of the entry of a record."""
BATCH_SIZE: Final = OF_BATCH + SIZE
BATCH_BASE_OFFSET: Final = OF_BATCH + names.BASE_OFFSET
"""First offset of the entry of a record, including wrappers."""
BATCH_MAGIC: Final = OF_BATCH + names.MAGIC
IS_CONTROL: Final = OF_BATCH + names.IS_CONTROL
