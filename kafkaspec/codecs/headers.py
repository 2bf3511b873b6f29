"""Headers of entries by columns in plain Python: bytes of all rows at once, no object for any."""

from __future__ import annotations

import sys
from array import array
from collections.abc import MutableSequence, Sequence
from typing import Final, Protocol

from kafkaspec.layout import HeaderBits, HeaderColumns, HeaderInteger

_WIDTH: Final = 8
"""Bytes of a value in a column, a signed 64-bit integer of this machine."""
_SIGNS: Final = bytes(128) + b"\xff" * 128
"""Sign extension of a number, by its highest byte."""


Hopped = tuple[MutableSequence[int], bytes | bytearray]
"""Positions of entries, then the end of the last one; and their headers."""


class Scan(Protocol):
    """Headers of entries that come one after the other, as a codec reads them.

    Attributes:
        names: the columns that entries may have.
        count: number of entries.
        position: byte offset after the last one.
    """

    names: tuple[str, ...]
    count: int
    position: int

    def column(self, name: str) -> Sequence[int]:
        """Return a column of signed 64-bit integers: ``position``, ``size`` or dotted ids of the
        specification. Values that an entry does not have are undefined."""

    def has(self, name: str, entry: int) -> bool:
        """Return whether the entry has that column."""


class HeaderScan:
    """Headers of one kind of entry; see ``Scan``. A column is made when it is asked for."""

    def __init__(
        self, layout: HeaderColumns, positions: MutableSequence[int], data: bytes | bytearray
    ) -> None:
        """Keep the headers.

        Args:
            layout: where columns are.
            positions: where the entries begin, and where the last one ends.
            data: their headers.
        """
        self.position = positions.pop()
        self.count = len(positions)
        self._layout = layout
        self._data = data
        self.names = ("position", *layout.integers, *layout.bits, *layout.made)
        self._columns: dict[str, Sequence[int]] = {"position": array("q", positions)}

    def column(self, name: str) -> Sequence[int]:
        """See ``Scan.column``. A column that the kind does not have is a ``KeyError``."""
        column, layout = self._columns.get(name), self._layout
        if column is None:
            if name in layout.integers:
                column = self._integers(layout.integers[name])
            elif name in layout.bits:
                column = self._bits(layout.bits[name])
            else:
                column = layout.made[name](self.column)
            self._columns[name] = column
        return column

    def has(self, name: str, entry: int) -> bool:
        """See ``Scan.has``."""
        condition = self._layout.conditions.get(name)
        return bool(condition(self.column)[entry]) if condition else name in self.names

    def _integers(self, field: HeaderInteger) -> memoryview:
        """Return one byte after the other, each of all rows; the input is big-endian."""
        column = bytearray(_WIDTH * self.count)
        for index in range(field.size):
            column[_byte(field.size - 1 - index) :: _WIDTH] = self._bytes(field.position + index)
        if field.signed and field.size < _WIDTH:
            signs = self._bytes(field.position).translate(_SIGNS)
            for index in range(field.size, _WIDTH):
                column[_byte(index) :: _WIDTH] = signs
        return memoryview(column).cast("q")

    def _bits(self, field: HeaderBits) -> memoryview:
        """Return a column of bits; each of its bytes joins parts of two stored bytes."""
        column = bytearray(_WIDTH * self.count)
        last = field.position + field.size - 1
        place, shift = divmod(field.shift, 8)
        for index in range((field.width + 7) // 8):
            mask = (1 << min(8, field.width - 8 * index)) - 1
            lower = self._bytes(last - place - index)
            values = lower.translate(bytes(byte >> shift & mask for byte in range(256)))
            if shift and place + index + 1 < field.size:
                upper = self._bytes(last - place - index - 1)
                table = bytes(byte << (8 - shift) & mask for byte in range(256))
                both = int.from_bytes(values, "big") | int.from_bytes(upper.translate(table), "big")
                values = both.to_bytes(self.count, "big")
            column[_byte(index) :: _WIDTH] = values
        return memoryview(column).cast("q")

    def _bytes(self, position: int) -> bytes | bytearray:
        return self._data[position :: self._layout.size]


def _byte(index: int) -> int:
    """Where byte ``index`` of a value, the lowest being 0, lies in memory."""
    return index if sys.byteorder == "little" else _WIDTH - 1 - index
