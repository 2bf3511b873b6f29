"""The file object that the engines of the reference codecs read from."""

from __future__ import annotations

from io import SEEK_CUR, SEEK_END, SEEK_SET


class Window:
    """A part of a buffer as a file object; nothing is copied until it is read."""

    def __init__(self, view: memoryview) -> None:
        self._view = view
        self._position = 0

    def read(self, size: int = -1) -> bytes:
        """Return up to ``size`` bytes, all that are left if it is negative."""
        begin = min(self._position, len(self._view))
        end = len(self._view) if size < 0 else min(begin + size, len(self._view))
        self._position = max(self._position, end)
        return bytes(self._view[begin:end])

    def seek(self, position: int, whence: int = SEEK_SET) -> int:
        """As ``io.IOBase.seek``."""
        base = {SEEK_SET: 0, SEEK_CUR: self._position, SEEK_END: len(self._view)}[whence]
        self._position = base + position
        return self._position

    def tell(self) -> int:
        """As ``io.IOBase.tell``."""
        return self._position

    def seekable(self) -> bool:
        """Return True: Kaitai then compares sizes with what is left before it reads."""
        return True

    def close(self) -> None:
        """Do nothing: the buffer belongs to the caller."""
