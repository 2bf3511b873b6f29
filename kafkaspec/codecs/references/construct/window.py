"""A stream over a part of a buffer that knows where it is in the whole."""

from __future__ import annotations

import io
from typing import Any

Buffer = bytes | bytearray | memoryview


class Window:
    """What Construct reads from: ``buffer[start:end]``, with positions that count from its start.

    Construct's own substreams copy their bytes and count from zero, so that an error inside of
    one cannot say where in the file it is.

    Attributes:
        buffer: the whole buffer; it is not copied.
        start: where the window begins in it.
        end: where the window ends in it.
        exact: the end is that of the structure, not just that of the bytes there are so far.
        position: where the next byte is read from.
    """

    __slots__ = ("buffer", "end", "exact", "position", "start")

    def __init__(self, buffer: Buffer, start: int, end: int, *, exact: bool) -> None:
        self.buffer = buffer
        self.start = start
        self.end = end
        self.exact = exact
        self.position = start

    @classmethod
    def over(cls, stream: Any) -> Window:
        """A window over the rest of any seekable stream, with the positions of that stream."""
        position = stream.tell()
        stream.seek(0)
        data = stream.read()
        window = cls(data, 0, len(data), exact=False)
        window.start = window.position = position
        return window

    @property
    def left(self) -> int:
        """Bytes between the position and the end, 0 behind the end."""
        return max(self.end - self.position, 0)

    def window(self, size: int | None) -> Window:
        """The next ``size`` bytes, of which there must be so many, as a window of their own.

        None is all that is left; such a window ends where this one does, for the same reason.
        """
        if size is None:
            return Window(self.buffer, self.position, self.end, exact=self.exact)
        return Window(self.buffer, self.position, self.position + size, exact=True)

    def take(self) -> Buffer:
        """All that is left, as a slice of the buffer: of a memoryview without a copy."""
        begin = self.position
        self.position = max(self.end, begin)
        return self.buffer[begin : self.position]

    def read(self, size: int = -1) -> bytes:
        """At most ``size`` bytes, all that are left if it is negative."""
        begin = self.position
        stop = begin + size
        if size < 0 or stop > self.end:
            stop = max(self.end, begin)
        self.position = stop
        return bytes(self.buffer[begin:stop])

    def tell(self) -> int:
        """The position in the buffer."""
        return self.position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to a position in the buffer."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self.position, io.SEEK_END: self.end}[whence]
        self.position = base + offset
        return self.position
