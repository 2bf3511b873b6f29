"""What is decoded together, and memory for what is compressed in it."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from kafkaspec.codecs.native.scan import EntryTable
from kafkaspec.codecs.native.wrappers import Shift


class Arena:
    """Memory that payloads are decompressed into, one behind the other.

    Attributes:
        buffer: the memory.
        room: the same, to write to.
        size: bytes.
        used: bytes that are written.
    """

    __slots__ = ("buffer", "room", "size", "used")

    def __init__(self, size: int) -> None:
        """Args: bytes that there is to be room for."""
        self.buffer: pa.Buffer = pa.allocate_buffer(size)
        self.room = memoryview(self.buffer).cast("B")
        self.size = size
        self.used = 0


@dataclass
class Chunk:
    """Entries that are decoded together.

    Attributes:
        region: the part of the input that they lie in.
        start: position of its first byte in the input.
        table: headers of the entries, and of others.
        entries: what the core is told of each.
        rows: number of records.
        bytes: of the entries after decompression, at least.
        sources: the buffers of the entries, by number.
        cut: whether some records are outside of the range of offsets that is wanted.
        odd: whether there are messages of magic 0, whose timestamp type says nothing.
        markers: whether there are control records.
        shifts: what wrappers do to their rows, by number of the entry.
    """

    region: memoryview
    start: int
    table: EntryTable
    entries: array[int]
    rows: int
    bytes: int
    sources: Sequence[memoryview]
    cut: bool = False
    odd: bool = False
    markers: bool = False
    shifts: dict[int, Shift] = field(default_factory=dict)
