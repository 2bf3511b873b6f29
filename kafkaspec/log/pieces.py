"""Read the records of a large batch in pieces, so that memory does not grow with the batch.

A few bytes can say that millions of empty records follow. So a batch whose records have more than
``PIECE_BYTES`` is read twice: once to see that all of it can be read, and then piece by piece, as
often as wanted. A batch delivers all of its records or none, whatever its size.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, Final, NamedTuple, TypeVar, overload

from kafkaspec.codecs import Codec, Origin
from kafkaspec.codecs.base import Survey
from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.layout.kinds import kind_of, records_field
from kafkaspec.model import Buffer, Record

PIECE_BYTES: Final = 2 << 20
"""Bytes of records, after decompression, that are read at once; a larger record is read alone."""

WHOLE_BYTES: Final = 4 * PIECE_BYTES
"""Bytes of records that are decoded at once where no objects are made of them."""

HELD_BYTES: Final = 8 * PIECE_BYTES
"""Bytes of a decompressed payload that is held in memory while its pieces are read; a larger one is
decompressed again each time."""

MOST_RECORDS: Final = 1 << 20
"""Most records of a batch that are in memory at once as objects; more can only be read in pieces.
As objects so many records take a few hundred MB."""

MOST_HEADERS: Final = 1 << 20
"""Most headers of a record, in the core in C too. Kafka has no limit; real records have a few. As
objects so many headers take about 100 MB."""


class Piece(NamedTuple):
    """Some records of a batch that follow one another.

    Attributes:
        message: header of the batch, with the number of these records.
        data: their bytes, not compressed.
        first: number of the first one in the batch.
        position: position of their bytes in the payload, after decompression.
    """

    message: Any
    data: Buffer
    first: int
    position: int


T = TypeVar("T", covariant=True)


class Records(Sequence[T]):
    """The records of a large batch: a sequence that is read again each time.

    Args:
        runs: returns the records in lists, from the first one on.
    """

    def __init__(self, count: int, runs: Callable[[], Iterator[Sequence[T]]]) -> None:
        self._count = count
        self.runs = runs

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[T]:
        return chain.from_iterable(self.runs())

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> list[T]: ...

    def __getitem__(self, index: int | slice) -> T | list[T]:
        """Return a record, or those of a slice; the records before it are read again."""
        if isinstance(index, slice):
            start, stop, step = index.indices(self._count)
            if step < 0:
                return list(self)[index]
            return list(islice(self, start, stop, step))
        number = range(self._count)[index]
        return next(islice(self, number, None))


def runs_of(records: Sequence[T], most: int | None = None) -> Iterator[Sequence[T]]:
    """Yield records in sequences that are in memory, of ``most`` records if that is given."""
    for run in records.runs() if isinstance(records, Records) else (records,):
        if most is None or len(run) <= most:
            yield run
        else:
            yield from (run[first : first + most] for first in range(0, len(run), most))


class Pieces:
    """The records of a batch in pieces, each of ``PIECE_BYTES`` or of one larger record.

    Args:
        chunks: returns the payload, after decompression, in parts of any size.
        memory_error: returns the error for a payload that takes more memory than there is.

    Raises:
        KafkaSpecError: as ``Codec.decode_records`` for the whole payload; ``TOO_LARGE`` for a
            record with more than ``MOST_HEADERS`` headers.
    """

    def __init__(
        self,
        codec: Codec,
        message: Any,
        origin: Origin,
        chunks: Callable[[], Iterator[Buffer]],
        memory_error: Callable[[], KafkaSpecError],
    ) -> None:
        self._codec = codec
        self._message = message
        self._origin = origin
        self._chunks = chunks
        self._memory_error = memory_error
        self._bounds: list[tuple[int, int]] = []
        window = PieceWindow(chunks())
        try:
            self._bounds = list(self._measured(window))
        except KafkaSpecError:
            window.skip()  # a payload that cannot be decompressed is an error of its own
            raise
        except MemoryError:
            raise memory_error() from None

    @property
    def count(self) -> int:
        """Number of records."""
        count: int = getattr(self._message, kind_of(self._message).count)
        return count

    @property
    def largest(self) -> int:
        """Bytes of the largest piece."""
        return max((size for _, size in self._bounds), default=0)

    def __iter__(self) -> Iterator[Piece]:
        window = PieceWindow(self._chunks())
        first = position = 0
        for count, size in self._bounds:
            data = window.take(size)
            yield Piece(header_of(self._message, count), data, first, position)
            first += count
            position += size

    def records(self) -> Records[Record]:
        """Return the records as a sequence."""
        return Records(self.count, self._runs)

    def _runs(self) -> Iterator[list[Record]]:
        for piece in self:
            try:
                records = self._codec.decode_records(piece.message, piece.data)
            except MemoryError:
                raise self._memory_error() from None
            yield records
            del records

    def _measured(self, window: PieceWindow) -> Iterator[tuple[int, int]]:
        """Check all records, and yield number and size of those of each piece."""
        codec, message = self._codec, self._message
        first = position = 0
        while first < self.count:
            rows = self.count - first
            window.fill(PIECE_BYTES)
            while True:
                try:
                    self._check_headers(window.data)
                    count, size = codec.whole_records(message, window.data, rows)
                    if count or window.ended:
                        break
                except KafkaSpecError as error:
                    raise self._located(error, first, position) from None
                window.fill(2 * len(window.data))
                rows = 1
            if not count:
                self._refuse(window.data, first, position)
                count, size = 1, len(window.data)
            first += count
            if first == self.count:
                self._check_end(window, count, size, position)
            yield count, size
            window.take(size)
            position += size

    def _check_headers(self, data: Buffer) -> None:
        """Check the number of headers of the first record as far as ``data`` shows it."""
        found = self._codec.count_headers(self._message, data)
        if found is None or found.value <= MOST_HEADERS:
            return
        detail = f"a record with {found.value} headers; at most {MOST_HEADERS} are read"
        raise make_error(
            Reason.TOO_LARGE, detail, offset=found.position, path=found.path, spec=found.location
        )

    def _refuse(self, data: Buffer, first: int, position: int) -> None:
        """Raise the error for a payload that ends before its last record does."""
        field = records_field(self._message)
        try:
            self._codec.parse(field.type, data, parameters=(self._message,), complete=True)
        except KafkaSpecError as error:
            raise self._located(error, first, position) from None

    def _check_end(self, window: PieceWindow, count: int, size: int, position: int) -> None:
        """Check what follows the last record, as a record set ends with it."""
        window.fill(size + 1)
        if len(window.data) == size:
            return
        window.fill(None)
        _, start = self._codec.whole_records(self._message, window.data, count - 1)
        kind = kind_of(self._message)
        self._codec.parse(
            kind.record_set,
            window.data,
            start,
            parameters=(header_of(self._message, 1),),
            complete=True,
            origin=self._origin.after(position),
        )

    def _located(self, error: KafkaSpecError, first: int, position: int) -> KafkaSpecError:
        error.path = f"/{records_field(self._message).id}/{first}{error.path}"
        return self._origin.after(position).locate(error)


def header_of(message: Any, count: int) -> Any:
    """Return the header of a batch with another number of records."""
    made = copy.copy(message)
    setattr(made, kind_of(message).count, count)
    return made


class WrappedMessages:
    """The messages of a wrapper in pieces, each of ``PIECE_BYTES`` or of one larger message.

    Args:
        chunks: returns the payload, after decompression, in parts of any size.
        verify: whether all checksums have to match.

    Attributes:
        survey: what the messages have in common; None if the wrapper is not regular.
        dropped: bytes after the last whole message, which readers drop (quirk Q13).
    """

    def __init__(self, codec: Codec, chunks: Callable[[], Iterator[Buffer]], verify: bool) -> None:
        self._chunks = chunks
        self._sizes: list[int] = []
        self.dropped = 0
        self.survey = self._surveyed(codec, verify)

    def __iter__(self) -> Iterator[memoryview]:
        window = PieceWindow(self._chunks())
        for size in self._sizes:
            yield window.take(size)

    def _surveyed(self, codec: Codec, verify: bool) -> Survey | None:
        window = PieceWindow(self._chunks())
        found = Survey(0, 0, 0, 0, 0)
        wanted = PIECE_BYTES
        while window.fill(wanted):
            part = codec.survey(window.data, verify)
            if part is None:
                return None
            if part.size:
                found = found.add(part)
                self._sizes.append(part.size)
                window.take(part.size)
            elif window.ended:
                break
            wanted = PIECE_BYTES if part.size else 2 * len(window.data)
        self.dropped = len(window.data)
        return found if found.count else None


class PieceWindow:
    """The part of a payload that is looked at.

    Attributes:
        data: the bytes.
        ended: whether no more follow.
    """

    def __init__(self, chunks: Iterator[Buffer]) -> None:
        self._chunks = chunks
        self._chunk = self._joined = self.data = memoryview(b"")
        self._begin = self._end = 0
        self.ended = False

    def fill(self, size: int | None) -> int:
        """Have at least ``size`` bytes, or all that there are; return how many there are.

        What lies in one chunk is not copied.
        """
        wanted, have = sys.maxsize if size is None else size, len(self.data)
        before = [self._joined]
        while not self.ended and have < wanted:
            more = min(len(self._chunk) - self._end, wanted - have)
            self._end += more
            have += more
            if not more:
                before.append(self._chunk[self._begin :])
                chunk = next(self._chunks, None)
                self.ended = chunk is None
                self._chunk = memoryview(b"" if chunk is None else chunk).cast("B")
                self._begin = self._end = 0
        found = self._chunk[self._begin : self._end]
        if any(before):
            parts = [part for part in (*before, found) if part]
            self._joined = memoryview(b"".join(parts)) if len(parts) > 1 else parts[0]
            self._begin = self._end
        self.data = self._joined or found
        return len(self.data)

    def take(self, size: int) -> memoryview:
        """Return the next bytes and go on after them."""
        self.fill(size)
        found = self.data[:size]
        self.data = self.data[size:]
        if self._joined:
            self._joined = self.data
        else:
            self._begin += len(found)
        return found

    def skip(self) -> None:
        """Go through all that follows."""
        for _ in self._chunks:
            pass
