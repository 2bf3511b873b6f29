"""Access to an input in parts: the whole of a mapped input, windows of one that is read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Protocol

from kafkaspec.errors import KafkaSpecError, Reason, make_error, unreadable

if TYPE_CHECKING:
    from typing_extensions import Buffer

Allocate = Callable[[int], "Buffer"]
"""Returns a writable buffer of that many bytes; its content does not matter."""

LEAST_AHEAD: Final = 256 << 10
"""Bytes of the first window. Each following adjacent one is twice as large."""
MOST_AHEAD: Final = 8 << 20
"""Largest number of bytes of a window, unless a single entry needs more."""
LEAST_SPARSE: Final = 16 << 10
"""Bytes of the first window of a pass that only reads headers."""
MOST_REQUESTS: Final = 32
"""Times ``request_bytes`` that such a window has at most: of a file, 2 MiB, which stay in the cache
of the processor until they are scanned."""


class Cursor(Protocol):
    """The part of an input that one pass over it holds. Each thread and each pass has its own."""

    @property
    def descriptor(self) -> int | None:
        """The descriptor of a file whose headers can be read one by one; None for other inputs."""

    def at(self, position: int, size: int) -> tuple[memoryview, int]:
        """Return bytes from ``position`` on: at least ``size``, or all to the end.

        Returns:
            A buffer, and the position of its first byte in the input, which is at or before
            ``position``. The buffer does not change when the cursor moves on.
        """


class WholeCursor:
    """A cursor over an input that is in memory, or over the part of one that is wanted."""

    __slots__ = ("_buffer", "_start")

    descriptor: Final = None

    def __init__(self, buffer: memoryview, start: int = 0) -> None:
        """Make a cursor over bytes; the first one has the position ``start`` in the input."""
        self._buffer = memoryview(buffer)  # its own view: the input may be closed meanwhile
        self._start = start

    def at(self, position: int, size: int) -> tuple[memoryview, int]:
        """See ``Cursor.at``."""
        return self._buffer, self._start


class Reading(ABC):
    """An input that is read in parts and never mapped.

    Memory holds only the windows that are in use. As nothing is mapped, a file that becomes
    shorter is a short read, which raises an error, and never a fault.

    Attributes:
        name: path or URL as it was given.
        size: bytes at the time of opening.
        modified: modification time in ms since the Unix epoch, None if that is not known.
        request_bytes: number of bytes that take as long to read as a request takes to begin. A pass
            that only reads headers reads batches up to this size, and skips larger ones.
    """

    mapped = False
    request_bytes = 64 << 10

    name: str
    size: int
    modified: int | None

    @property
    def descriptor(self) -> int | None:
        """The descriptor of a local file, whose headers can be read one by one; else None."""
        return None

    @abstractmethod
    def read_into(self, position: int, target: memoryview) -> int:
        """Fill ``target`` from ``position`` on, and return the number of bytes read."""

    def check(self) -> None:  # noqa: B027  # a short read shows the same
        """Check that the input has not become shorter."""

    def data_from(self, position: int) -> int:
        """Return the first position from ``position`` on that may hold anything but zeros.

        Sparse files have holes that nothing has to be read of.
        """
        return position

    @abstractmethod
    def close(self) -> None:
        """Release the input."""

    def cursor(
        self, allocate: Allocate = bytearray, most: int = MOST_AHEAD, *, sparse: bool = False
    ) -> Cursor:
        """Return a cursor with windows in memory from ``allocate``, of ``most`` bytes.

        ``sparse`` is for a pass that only reads headers.
        """
        if sparse:
            most = min(most, MOST_REQUESTS * self.request_bytes)
            return WindowCursor(self, allocate, most, LEAST_SPARSE, self.request_bytes)
        return WindowCursor(self, allocate, most)

    def read(self, position: int, size: int, allocate: Allocate = bytearray) -> memoryview:
        """Return exactly ``size`` bytes.

        Raises:
            KafkaSpecError: ``changed``, the input became shorter; ``unreadable``.
        """
        target = self.memory(size, allocate)
        self.fill(position, target)
        return target.toreadonly()

    def memory(self, size: int, allocate: Allocate) -> memoryview:
        """Allocate memory for that many bytes."""
        try:
            return memoryview(allocate(size)).cast("B")[:size]
        except MemoryError:
            detail = f"there is no memory for {size} bytes of it at once"
            raise unreadable(self.name, detail) from None

    def fill(self, position: int, target: memoryview) -> None:
        """Fill all of ``target``."""
        done = 0
        while done < len(target):
            count = self.read_into(position + done, target[done:])
            if count <= 0:
                now = position + done
                raise make_error(
                    Reason.CHANGED,
                    f"it had {self.size} bytes when it was opened and ends at {now} now",
                    file=self.name,
                    offset=now,
                )
            done += count


class HeldReading(Reading):
    """Bytes of an input that another pass holds, at the positions that they have in it."""

    def __init__(self, name: str | None, buffer: memoryview, start: int) -> None:
        """Hold bytes, the first of which has the position ``start``; the input ends with them."""
        self.name = name or ""
        self.size = start + len(buffer)
        self.modified = None
        self._buffer = buffer
        self._start = start

    def read_into(self, position: int, target: memoryview) -> int:
        """See ``Reading.read_into``."""
        found = self._buffer[position - self._start :][: len(target)]
        target[: len(found)] = found
        return len(found)

    def cursor(
        self, allocate: Allocate = bytearray, most: int = MOST_AHEAD, *, sparse: bool = False
    ) -> Cursor:
        """Return a cursor over the bytes, which are not read again."""
        return WholeCursor(self._buffer, self._start)

    def close(self) -> None:
        """Release nothing: who read the bytes holds them."""


class WindowCursor:
    """A cursor that reads ahead, further and further in the course of a pass."""

    __slots__ = ("_ahead", "_allocate", "_gap", "_least", "_most", "_source", "_start", "_window")

    def __init__(
        self,
        source: Reading,
        allocate: Allocate,
        most: int,
        least: int = LEAST_AHEAD,
        gap: int = 0,
    ) -> None:
        """Make a cursor that has read nothing.

        Args:
            source: input to read.
            allocate: provides the memory for windows.
            most: largest number of bytes of a window.
            least: bytes of the first window, and of the first one after a gap.
            gap: largest distance between windows that is not a gap: reading it too is faster.
        """
        self._source = source
        self._allocate = allocate
        self._most = most
        self._gap = gap
        self._least = min(least, most)
        self._ahead = self._least
        self._start = 0
        self._window: Any = memoryview(b"")

    @property
    def descriptor(self) -> int | None:
        """See ``Cursor``."""
        return self._source.descriptor

    def at(self, position: int, size: int) -> tuple[memoryview, int]:
        """See ``Cursor.at``."""
        stop = self._start + len(self._window)
        if not self._start <= position <= stop:
            if not stop < position <= stop + self._gap:
                self._ahead = self._least
            self._window, stop = memoryview(b""), position
            self._start = position
        if min(position + size, self._source.size) > stop:
            left = self._source.size - position
            needed, size = min(size, left), min(max(size, self._ahead), left)
            try:
                self._fill(position, stop, size)
            except KafkaSpecError:
                if size == needed:
                    raise
                self._fill(position, stop, needed)  # what lies ahead may be damaged
            self._ahead = min(2 * self._ahead, self._most)
        return self._window, self._start

    def _fill(self, position: int, stop: int, size: int) -> None:
        """Read a window, whose bytes before ``stop`` are in the last one."""
        kept = self._window[position - self._start :]
        window = self._source.memory(size, self._allocate)
        window[: len(kept)] = kept
        self._source.fill(stop, window[len(kept) :])
        self._start, self._window = position, window.toreadonly()
