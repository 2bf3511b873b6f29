"""Names of columns: those of a record are ids of the specification, of its batch with a prefix."""

from __future__ import annotations

from typing import Final

from kafkaspec.layout import names

OF_BATCH: Final = "batch."
"""Begins the name of a column that says what the header of a record's entry does."""

POSITION: Final = "position"
SIZE: Final = "size"
"""Of a whole entry; after the name of bytes, of these."""

BATCH_POSITION: Final = OF_BATCH + POSITION
"""Where the entry of a record begins."""
BATCH_SIZE: Final = OF_BATCH + SIZE
BATCH_BASE_OFFSET: Final = OF_BATCH + names.BASE_OFFSET
"""The first offset of the entry of a record, of a wrapper too."""
BATCH_MAGIC: Final = OF_BATCH + names.MAGIC
IS_CONTROL: Final = OF_BATCH + names.IS_CONTROL
