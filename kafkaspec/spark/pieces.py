"""A part of a segment through the library's Arrow reader, and what its damage means."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

from kafkaspec.arrow.reading import record_batches
from kafkaspec.arrow.schema import Request
from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.io.local import open_source
from kafkaspec.io.remote import as_path
from kafkaspec.io.window import Reading
from kafkaspec.layout.framing import FRAMING, HEADER_UP_TO_MAGIC, MINIMUM_MESSAGE, message_size
from kafkaspec.log.batch import CrcPolicy
from kafkaspec.log.segment import Segment
from kafkaspec.spark.columns import Columns, finding
from kafkaspec.spark.isolation import COLUMNS as ISOLATION_COLUMNS
from kafkaspec.spark.isolation import without_aborted
from kafkaspec.spark.options import Mode
from kafkaspec.spark.partitions import Piece
from kafkaspec.spark.schema import Output

LOGGER: Final = logging.getLogger("kafkaspec.spark")

KAFKA_BYTES: Final = 2 << 20
"""Of Kafka data that is decoded at a time: with less Python shows, with more Spark is slower."""
NARROW_KAFKA_BYTES: Final = 4 << 20
"""The same where no column is wanted whose size is that of the data: more would be little."""
_WIDE: Final = frozenset(("key", "value", "headers"))
MOST_BYTES: Final = 4 << 20
"""Of a record batch, but for a record that is larger by itself: larger ones are slower."""
FIRST_ROWS: Final = 1000
"""Of the first record batch: who wants few rows stops soon."""

_ALWAYS: Final = (Reason.CHANGED,)
"""Reasons that are no damage of data: what was planned is not there any more."""


@dataclass(frozen=True)
class Wanted:
    """The settings for reading each piece, which are sent with the reader.

    Attributes:
        output: the columns.
        mode: what damage means.
        control: whether control records are wanted.
        fail_on_data_loss: whether a file that is gone or became shorter is an error.
        check_crcs: whether a wrong CRC is damage.
    """

    output: Output
    mode: Mode
    control: bool
    fail_on_data_loss: bool
    check_crcs: bool


class Part(Reading):
    """A file up to a position: what was appended since it was planned does not count.

    Attributes: as ``Reading``.
    """

    def __init__(self, piece: Piece) -> None:
        """Open the file of a piece.

        Raises:
            KafkaSpecError: ``unreadable``; ``changed``, it is shorter than when it was planned.
        """
        self._whole = _open(piece.path)
        self.name = str(self._whole.name)
        self.size = piece.end
        self.modified = self._whole.modified
        self.request_bytes = self._whole.request_bytes
        if self._whole.size < piece.end:
            size = self._whole.size
            self._whole.close()
            detail = f"it had {piece.end} bytes or more when it was planned and has {size} now"
            raise make_error(Reason.CHANGED, detail, file=self.name, offset=size)

    def read_into(self, position: int, target: memoryview) -> int:
        """See ``Reading.read_into``."""
        return self._whole.read_into(position, target)

    def close(self) -> None:
        """Close the file."""
        self._whole.close()


def _open(path: str) -> Reading:
    source = open_source(as_path(path), mapped=False)
    assert isinstance(source, Reading)
    return source


def read_piece(piece: Piece, wanted: Wanted) -> Iterator[pa.RecordBatch]:
    """Yield the record batches of a piece, as Spark takes them.

    Raises:
        KafkaSpecError: damage, in mode ``FAILFAST``; data that is gone.
    """
    try:
        part = Part(piece)
    except KafkaSpecError as error:
        if not wanted.fail_on_data_loss:
            LOGGER.warning("data is lost and left out: %s", error)
            return
        if error.reason in _ALWAYS or wanted.mode == "FAILFAST":
            raise
        yield from _say(error, piece, None, None, wanted)
        return
    try:
        for batch in _salvaged(piece, part, wanted):
            yield from _cut(batch)
    finally:
        part.close()


def _cut(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Yield slices of a bounded size."""
    rows, size = batch.num_rows, batch.nbytes
    if rows == 0:
        return
    if size <= MOST_BYTES:
        yield batch
        return
    step = max(1, rows * MOST_BYTES // size)
    for start in range(0, rows, step):
        yield batch.slice(start, step)


def _salvaged(piece: Piece, part: Part, wanted: Wanted) -> Iterator[pa.RecordBatch]:
    """Yield the record batches, and what the mode says about what cannot be read."""
    dropped = 0
    position = piece.start
    while position < piece.end:
        crc: CrcPolicy = "error" if wanted.check_crcs else "ignore"
        segment = Segment(part, tail="stop" if piece.last else "error", crc=crc)
        try:
            yield from _decoded(segment, replace(piece, start=position), wanted)
            break
        except KafkaSpecError as error:
            if wanted.mode == "FAILFAST" or error.reason in _ALWAYS:
                raise
            broken, offset, behind = _where(segment, position, error)
            yield from _say(error, piece, offset, broken, wanted)
            dropped += 1
            position = piece.end if behind is None else behind
    if dropped:
        LOGGER.warning("%s: %d batches are damaged and left out", piece.path, dropped)


def _say(
    error: KafkaSpecError,
    piece: Piece,
    offset: int | None,
    position: int | None,
    wanted: Wanted,
) -> Iterator[pa.RecordBatch]:
    if wanted.output.corrupt is not None:
        yield finding(str(error), piece, offset, position, wanted.output)
    else:
        LOGGER.warning("left out: %s", error)


def _where(
    segment: Segment, position: int, error: KafkaSpecError
) -> tuple[int | None, int | None, int | None]:
    """Return position and base offset of the batch of an error, and the position after it.

    The position after it is None if the size of the batch is broken.
    """
    if error.offset is None:
        raise error
    start, offset, end = position, None, None
    for item in segment.scan(position):
        if isinstance(item, KafkaSpecError) or item.position > error.offset:
            break
        start, offset, end = item.position, item.base_offset, item.end
        if end > error.offset:
            return start, offset, end
        start, offset = end, None
    buffer, base = segment.around(segment.cursor(), start)
    if len(buffer) - (start - base) < HEADER_UP_TO_MAGIC:
        return start, None, None
    size = message_size(buffer, start - base)
    return start, None, start + FRAMING + size if size >= MINIMUM_MESSAGE else None


def _decoded(segment: Segment, piece: Piece, wanted: Wanted) -> Iterator[pa.RecordBatch]:
    output = wanted.output
    sources = output.sources or ["offset"]
    needed = list(dict.fromkeys([*sources, *(ISOLATION_COLUMNS if piece.aborted else ())]))
    request = Request(
        tuple(needed),
        start_offset=piece.start_offset,
        end_offset=piece.end_offset,
        layout="binary",
        max_bytes=KAFKA_BYTES if _WIDE.intersection(needed) else NARROW_KAFKA_BYTES,
        include_control=wanted.control,
        start_position=piece.start,
    )
    columns = Columns(piece, output)
    for batch in record_batches(segment, request):
        if piece.aborted:
            batch = without_aborted(batch, piece.aborted)
        if batch.num_rows:
            yield columns.batch(batch)
