"""Reads the same field of many payloads at once: one operation of NumPy for all rows.

What is wrong with a row is only noted; the functions of ``reading`` say what it is.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Numbers = npt.NDArray[np.int64]
_PAD = 64
"""Bytes of zero on both sides, so that words at the ends are within."""


def _word(value: int) -> np.uint64:
    return np.uint64(value)


_STOPS = _word(0x8080808080808080)
_LOW = tuple(map(_word, (0x007F007F007F007F, 0x00003FFF00003FFF, 0x000000000FFFFFFF)))
_HIGH = tuple(map(_word, (0x7F007F007F007F00, 0x3FFF00003FFF0000, 0x0FFFFFFF00000000)))
_SHIFT = tuple(map(_word, (1, 2, 4)))
_ONE = _word(1)


class GiveUpError(Exception):
    """The columns take more than the limit: rows have to be counted one by one."""


class AvroRows:
    """Some of the payloads, in their order: their numbers, and where each ends."""

    __slots__ = ("ends", "index")

    def __init__(self, index: Numbers, ends: Numbers) -> None:
        self.index = index
        self.ends = ends

    def __len__(self) -> int:
        return len(self.index)

    def some(self, which: Numbers) -> AvroRows:
        return AvroRows(self.index[which], self.ends[which])


class Payloads:
    """The bytes of many payloads (binary, without nulls): where they begin, and which are bad."""

    def __init__(self, array: pa.Array, output: int, items: int) -> None:
        _, offsets, content = array.buffers()
        bounds = np.frombuffer(offsets, np.int32, len(array) + 1, array.offset * 4).astype(np.int64)
        raw = np.frombuffer(content or b"", np.uint8)[bounds[0] : bounds[-1]]
        self._data = np.zeros(len(raw) + 2 * _PAD, np.uint8)
        self._data[_PAD : _PAD + len(raw)] = raw
        bounds += _PAD - bounds[0]
        self.begins = bounds[:-1]
        self.rows = AvroRows(np.arange(len(array)), bounds[1:])
        self.bad = np.zeros(len(array), np.bool_)
        self._output = output - len(raw)
        self._items = np.full(len(array), items, np.int64)

    def take(self, cost: int) -> None:
        self._output -= cost
        if self._output < 0:
            raise GiveUpError

    def count(self, rows: AvroRows, items: Numbers | int) -> npt.NDArray[np.bool_]:
        """Take items, and return which rows have more than they may; these are bad."""
        left = self._items[rows.index] - items
        self._items[rows.index] = left
        self.spoil(rows, left < 0)
        return left < 0

    def finished(self, at: Numbers) -> None:
        """Note the rows that have bytes left."""
        self.bad |= at != self.rows.ends

    def spoil(self, rows: AvroRows, wrong: npt.NDArray[np.bool_]) -> bool:
        """Note rows as bad, and return whether there are any."""
        found = bool(wrong.any())
        if found:
            self.bad[rows.index[wrong]] = True
        return found

    def moved(self, rows: AvroRows, at: Numbers) -> Numbers:
        """Return positions that are within their payloads; those after the end are bad."""
        if self.spoil(rows, at > rows.ends):
            return np.minimum(at, rows.ends)
        return at

    def words(self, at: Numbers, form: str) -> npt.NDArray[np.uint64]:
        """Return the number of a form of NumPy's that begins at each position."""
        kind = np.dtype(form)
        count = len(self._data) - kind.itemsize + 1
        return np.ndarray((count,), kind, self._data, strides=(1,))[at]

    def bytes(self, at: Numbers, size: int) -> npt.NDArray[np.uint8]:
        """Return as many bytes from each position, row after row; of bad rows, any."""
        last = len(self._data) - size
        if last < 0:
            return np.zeros((len(at), size), np.uint8)
        return np.lib.stride_tricks.sliding_window_view(self._data, size)[np.minimum(at, last)]

    def booleans(self, rows: AvroRows, at: Numbers) -> tuple[npt.NDArray[np.bool_], Numbers]:
        """Read bytes that are 0 or 1."""
        raw = self._data[at]
        self.spoil(rows, raw > 1)
        return raw == 1, self.moved(rows, at + 1)

    def longs(self, rows: AvroRows, at: Numbers) -> tuple[Numbers, Numbers]:
        """Read zigzag varints."""
        first = self._data[at]
        if len(first) and first.max() < 0x80:
            small = first.astype(np.int64)
            return (small >> 1) ^ -(small & 1), self.moved(rows, at + 1)
        word = self.words(at, "<u8")
        stops = ~word & _STOPS
        low = stops & (~stops + _ONE)
        word &= low ^ (low - _ONE)
        for mask, other, shift in zip(_LOW, _HIGH, _SHIFT, strict=True):
            word = ((word & other) >> shift) | (word & mask)
        # The exponent of a power of two, which a double has exactly.
        length = ((low.astype(np.float64).view(np.int64) >> 52) - (1023 - 8)) >> 3
        large = np.flatnonzero(stops == 0)
        if len(large):
            self._large(rows, at, large, word, length)
        numbers = (word >> _ONE).view(np.int64) ^ -(word & _ONE).view(np.int64)
        return numbers, self.moved(rows, at + length)

    def _large(
        self,
        rows: AvroRows,
        at: Numbers,
        which: Numbers,
        word: npt.NDArray[np.uint64],
        length: Numbers,
    ) -> None:
        """Complete varints of nine and ten bytes; longer ones are bad."""
        ninth, tenth = self._data[at[which] + 8], self._data[at[which] + 9]
        longest = ninth >= 0x80
        word[which] |= (ninth & 0x7F).astype(np.uint64) << _word(56)
        word[which] |= np.where(longest, tenth, 0).astype(np.uint64) << _word(63)
        length[which] = np.where(longest, 10, 9)
        self.spoil(rows.some(which), longest & (tenth > 1))

    def ints(self, rows: AvroRows, at: Numbers) -> tuple[Numbers, Numbers]:
        """Read zigzag varints of 32 bits."""
        numbers, at = self.longs(rows, at)
        self.spoil(rows, numbers != numbers.astype(np.int32))
        return numbers, at

    def lengths(self, rows: AvroRows, at: Numbers) -> tuple[Numbers, Numbers]:
        """Read lengths of bytes that are there; return where the bytes begin and end."""
        length, begin = self.longs(rows, at)
        wrong = (length < 0) | (length > rows.ends - begin)
        if self.spoil(rows, wrong):
            length = np.where(wrong, 0, length)
        return begin, begin + length

    def slices(self, begin: Numbers, end: Numbers) -> pa.Array:
        """Return the bytes between positions that grow."""
        count = len(begin)
        offsets = np.empty(2 * count + 2, np.int32)
        offsets[0 : 2 * count : 2] = begin
        offsets[1 : 2 * count : 2] = end
        offsets[2 * count :] = len(self._data)
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(self._data)]
        every = pa.Array.from_buffers(pa.binary(), 2 * count, buffers)
        return every.take(pa.array(np.arange(0, 2 * count, 2)))

    def texts(self, rows: AvroRows, begin: Numbers, end: Numbers) -> pa.Array:
        """Return the UTF-8 between positions that grow."""
        found = self.slices(begin, end)
        try:
            return found.cast(pa.string())
        except pa.ArrowInvalid:
            wrong = np.array([not _is_text(raw) for raw in found.to_pylist()], np.bool_)
            self.spoil(rows, wrong)
            return self.texts(rows, begin, np.where(wrong, begin, end))


def _is_text(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True
