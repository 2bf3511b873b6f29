"""A part of an input at a time: the whole of it where it is mapped, windows where it is read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Protocol

from kafkaspec.errors import Reason, make_error

if TYPE_CHECKING:
    from typing_extensions import Buffer

Allocate = Callable[[int], "Buffer"]
"""Gives a writable buffer of so many bytes; what is in it does not matter."""

LEAST_AHEAD: Final = 256 << 10
"""Bytes of the first window. Each one that follows on is twice as large."""
MOST_AHEAD: Final = 8 << 20
"""Bytes of a window at most, unless a single entry needs more."""


LEAST_SPARSE: Final = 16 << 10
"""Bytes of the first window of a pass that only wants headers."""


class Cursor(Protocol):
    """What one pass over an input holds of it. Each thread and each pass has its own."""

    def at(self, position: int, size: int) -> tuple[memoryview, int]:
        """Bytes from ``position`` on: at least ``size``, or all that are left.

        Returns:
            A buffer, and the position in the input of its first byte, which is not behind
            ``position``. The buffer stays as it is when the cursor moves on.
        """


class WholeCursor:
    """A cursor over an input that is in memory."""

    __slots__ = ("_buffer",)

    def __init__(self, buffer: memoryview) -> None:
        """Args: all bytes of the input."""
        self._buffer = memoryview(buffer)  # one of its own: the input may be closed meanwhile

    def at(self, position: int, size: int) -> tuple[memoryview, int]:
        """See ``Cursor.at``."""
        return self._buffer, 0


class Reading(ABC):
    """An input that is read in parts and never mapped.

    Memory holds the windows that are in use and no more. As nothing is mapped, a file that becomes
    shorter is a short read, which is an error, and never a fault.

    Attributes:
        name: path or URL as it was given.
        size: bytes at the time of opening.
        modified: modification time in ms since the Unix epoch, None if that is not known.
        request_bytes: bytes that take as long to read as it takes to begin. A pass that only wants
            headers reads over batches that are not larger, and hops over those that are.
    """

    mapped = False
    request_bytes = 64 << 10

    name: str
    size: int
    modified: int | None

    @abstractmethod
    def read_into(self, position: int, target: memoryview) -> int:
        """Fill ``target`` from ``position`` on; how many bytes there were.

        Raises:
            KafkaSpecError: ``unreadable``.
        """

    def check(self) -> None:  # noqa: B027  # a short read says the same
        """Make sure that the input is not shorter than it was."""

    @abstractmethod
    def close(self) -> None:
        """Give back what the input holds."""

    def cursor(
        self, allocate: Allocate = bytearray, most: int = MOST_AHEAD, *, sparse: bool = False
    ) -> Cursor:
        """A cursor with windows in memory of ``allocate``.

        Args:
            allocate: where memory for windows comes from.
            most: bytes of a window.
            sparse: the pass only wants headers.
        """
        if sparse:
            return WindowCursor(self, allocate, most, LEAST_SPARSE, self.request_bytes)
        return WindowCursor(self, allocate, most)

    def read(self, position: int, size: int, allocate: Allocate = bytearray) -> memoryview:
        """Exactly ``size`` bytes.

        Raises:
            KafkaSpecError: ``changed``, the input became shorter; ``unreadable``.
        """
        target = self.memory(size, allocate)
        self.fill(position, target)
        return target.toreadonly()

    def memory(self, size: int, allocate: Allocate) -> memoryview:
        """Memory for so many bytes.

        Raises:
            KafkaSpecError: ``unreadable``, there is none.
        """
        try:
            return memoryview(allocate(size)).cast("B")[:size]
        except MemoryError:
            detail = f"there is no memory for {size} bytes of it at once"
            raise make_error(Reason.UNREADABLE, detail, file=self.name) from None

    def fill(self, position: int, target: memoryview) -> None:
        """Fill all of ``target``.

        Raises:
            KafkaSpecError: as ``read``.
        """
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


class WindowCursor:
    """A cursor that reads ahead, the further the longer a pass goes on."""

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
            source: what it reads.
            allocate: where memory for windows comes from.
            most: bytes of a window.
            least: bytes of the first one, and of the first one behind a gap.
            gap: bytes left out between windows that are no gap: reading more at once is better.
        """
        self._source = source
        self._allocate = allocate
        self._most = most
        self._gap = gap
        self._least = min(least, most)
        self._ahead = self._least
        self._start = 0
        self._window: Any = memoryview(b"")

    def at(self, position: int, size: int) -> tuple[memoryview, int]:
        """See ``Cursor.at``.

        Raises:
            KafkaSpecError: ``changed``, ``unreadable``.
        """
        stop = self._start + len(self._window)
        if not self._start <= position <= stop:
            if not stop < position <= stop + self._gap:
                self._ahead = self._least
            self._window, stop = memoryview(b""), position
            self._start = position
        if min(position + size, self._source.size) > stop:
            kept = self._window[position - self._start :]
            size = min(max(size, self._ahead), self._source.size - position)
            window = self._source.memory(size, self._allocate)
            window[: len(kept)] = kept
            self._source.fill(stop, window[len(kept) :])
            self._start, self._window = position, window.toreadonly()
            self._ahead = min(2 * self._ahead, self._most)
        return self._window, self._start
