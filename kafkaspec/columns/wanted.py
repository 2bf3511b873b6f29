"""Which records of a segment are read into columns, and names of columns: ids of the specification.

A field of the header of a record's entry has a prefix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kafkaspec.layout import names
from kafkaspec.layout.framing import LARGEST_OFFSET
from kafkaspec.log.options import CHUNK_BYTES
from kafkaspec.log.selection import Selection
from kafkaspec.options import checked

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


LOWEST, HIGHEST = -LARGEST_OFFSET - 1, LARGEST_OFFSET
"""Bounds of 64 bits, between which every offset and every timestamp lies."""


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted(Selection):
    """Selection for a reader, which may read some other records too, see ``Columns.cut``.

    The batch that reaches ``end_offset`` is the last one. Of timestamps only the smallest counts:
    batches that end before are skipped, with ``apart`` no control batches.

    Attributes:
        max_bytes: most bytes of Kafka data in a chunk.
        start_position: byte position of the first entry to read.
        end_position: byte position of the first entry not to read, None for the end.
        apart: whether entries of which columns do not say everything are for the caller, see
            ``Columns.entry``: control batches, batches with records outside the offsets, and
            all that the core does not decode. Wrappers are ``Columns.cut``.
        joined: whether control batches are in columns even then, and large batches in pieces.
    """

    max_bytes: int = CHUNK_BYTES
    start_position: int = 0
    end_position: int | None = None
    apart: bool = False
    joined: bool = False
