"""Read a remote file from one place on in large ranges, the next of them while one is used."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Final

from kafkaspec.errors import KafkaSpecError
from kafkaspec.io.remote import RemoteReading
from kafkaspec.io.window import Allocate, Cursor, Reading

AHEAD_BYTES: Final = 8 << 20
"""Bytes of a range: a request that takes 30 ms then costs a third of the time or less."""
FIRST_BYTES: Final = 1 << 20
"""Bytes of the first range: some readers stop soon."""


class AheadReading(Reading):
    """A file that one pass reads from its start to its end, each byte once.

    At most three ranges are in memory. Other reads go to the file itself: of places that the pass
    has left, and those of a pass that only reads headers.

    Args:
        source: the file, which is closed with this.
        start: byte offset at which the pass begins; it ends at the size of the file.
    """

    def __init__(self, source: Reading, start: int) -> None:
        self.name, self.size, self.modified = source.name, source.size, source.modified
        self.request_bytes = source.request_bytes
        self._source = source
        self._start = start
        self._thread = ThreadPoolExecutor(1)
        self._ranges: dict[int, Future[memoryview]] = {}
        self._passed = 0
        self._lock = Lock()

    def read_into(self, position: int, target: memoryview) -> int:
        """See ``Reading.read_into``."""
        number = self._number(position)
        if position >= self.size:
            return 0
        with self._lock:
            if number < self._passed:
                return self._source.read_into(position, target)
            self._passed = number
            for wanted in (number, number + 1):
                if wanted not in self._ranges and self._bounds(wanted)[0] < self.size:
                    self._ranges[wanted] = self._thread.submit(self._read, wanted)
            for old in [each for each in self._ranges if each < number]:
                del self._ranges[old]
            found = self._ranges[number]
        start, end = self._bounds(number)
        try:
            data = found.result()
        except KafkaSpecError:  # other bytes of the range may be why
            return self._source.read_into(position, target)
        count = min(len(target), end - position)
        target[:count] = data[position - start :][:count]
        return count

    def _read(self, number: int) -> memoryview:
        start, end = self._bounds(number)
        return self._source.read(start, end - start)

    def _number(self, position: int) -> int:
        """Return the number of the range with a byte; -1 before the start."""
        after = position - self._start - FIRST_BYTES
        return -1 if position < self._start else 0 if after < 0 else 1 + after // AHEAD_BYTES

    def _bounds(self, number: int) -> tuple[int, int]:
        start = self._start + (FIRST_BYTES + (number - 1) * AHEAD_BYTES if number else 0)
        return start, min(start + (AHEAD_BYTES if number else FIRST_BYTES), self.size)

    def cursor(
        self, allocate: Allocate = bytearray, most: int = AHEAD_BYTES, *, sparse: bool = False
    ) -> Cursor:
        """See ``Reading.cursor``."""
        if sparse:
            return self._source.cursor(allocate, most, sparse=True)
        return super().cursor(allocate, most)

    def check(self) -> None:
        """See ``Reading.check``."""
        self._source.check()

    def data_from(self, position: int) -> int:
        """See ``Reading.data_from``."""
        return self._source.data_from(position)

    def close(self) -> None:
        """See ``Reading.close``."""
        self._thread.shutdown(cancel_futures=True)
        self._ranges.clear()
        self._source.close()


def read_ahead(file: Reading, start: int) -> Reading:
    """Return a file for one pass from a byte offset on: a remote one, if it is large, with this."""
    if isinstance(file, RemoteReading) and file.size - start > FIRST_BYTES:
        return AheadReading(file, start)
    return file
