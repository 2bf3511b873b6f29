"""Read a part of a segment with the library's Arrow reader, and handle damage by the mode."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

from kafkaspec.arrow.arrays import choose
from kafkaspec.arrow.messages.topics import ERROR, decode_records, kind_of_record
from kafkaspec.arrow.reading import record_batches
from kafkaspec.arrow.schema import Request
from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.io.local import open_source
from kafkaspec.io.remote import as_path
from kafkaspec.io.window import Reading
from kafkaspec.log.damage import broken_entry
from kafkaspec.log.segment import Segment
from kafkaspec.policy import CrcPolicy
from kafkaspec.shown import without_credentials
from kafkaspec.spark.columns import Columns, finding
from kafkaspec.spark.options import ReadOptions
from kafkaspec.spark.partitions import Piece
from kafkaspec.spark.paths import LOGGER
from kafkaspec.spark.schema import Output

KAFKA_BYTES: Final = 2 << 20
"""Bytes decoded at a time: with fewer, Python costs time; with more, Spark is slower."""
NARROW_KAFKA_BYTES: Final = 4 << 20
"""The same without the large columns, so that record batches do not become too small."""
_WIDE: Final = frozenset(("key", "value", "headers"))
MOST_BYTES: Final = 4 << 20
"""Most bytes of a record batch, unless one record is larger: large batches are slower."""
FIRST_ROWS: Final = 1000
"""Most rows of the first record batch: a query for few rows stops soon."""

_HEADS: Final = ("key", "value")
"""Columns that say what type of message a record has."""
_ALWAYS: Final = (Reason.CHANGED,)
"""Reasons that are not damage: the file is no longer as it was planned."""


@dataclass(frozen=True)
class Wanted:
    """The settings for reading each piece, which are sent with the reader.

    Attributes:
        output: the columns.
        options: of the read.
    """

    output: Output
    options: ReadOptions


def open_piece(piece: Piece) -> Reading:
    """Open the file of a piece up to its end: what was appended since it was planned is ignored.

    Raises:
        KafkaSpecError: ``unreadable``; ``changed``, it is shorter than when it was planned.
    """
    file = open_source(as_path(piece.path), mapped=False)
    assert isinstance(file, Reading)
    size, file.size = file.size, piece.end
    if size < piece.end:
        file.close()
        detail = f"it had {piece.end} bytes or more when it was planned and has {size} now"
        raise make_error(Reason.CHANGED, detail, file=file.name, offset=size)
    return file


def read_piece(piece: Piece, wanted: Wanted) -> Iterator[pa.RecordBatch]:
    """Yield the record batches of a piece, as Spark takes them.

    Raises:
        KafkaSpecError: damage, in mode ``FAILFAST``; data that is gone.
    """
    if piece.lost is not None:
        yield finding(piece.lost, piece, piece.start_offset, piece.start, wanted.output)
        return
    try:
        file = open_piece(piece)
    except KafkaSpecError as error:
        if not wanted.options.fail_on_data_loss:
            LOGGER.warning("data is lost and left out: %s", error)
            return
        if error.reason in _ALWAYS or wanted.options.on_error == "raise":
            raise
        yield from _say(error, piece, None, None, wanted)
        return
    try:
        for batch in _salvaged(piece, file, wanted):
            yield from _cut(batch)
    finally:
        file.close()


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


def _salvaged(piece: Piece, file: Reading, wanted: Wanted) -> Iterator[pa.RecordBatch]:
    """Yield the record batches, and what the mode says about what cannot be read."""
    dropped = 0
    position = piece.start
    while position < piece.end:
        crc: CrcPolicy = "raise" if wanted.options.check_crcs else "ignore"
        segment = Segment(file, tail="skip" if piece.last else "raise", crc=crc)
        try:
            yield from _decoded(segment, replace(piece, start=position), wanted)
            break
        except KafkaSpecError as error:
            if wanted.options.on_error == "raise" or error.reason in _ALWAYS:
                raise
            broken, offset, after = broken_entry(segment, position, error)
            yield from _say(error, piece, offset, broken, wanted)
            dropped += 1
            position = piece.end if after is None else after
    if dropped:
        LOGGER.warning(
            "%s: %d batches are damaged and left out", without_credentials(piece.path), dropped
        )


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


def _decoded(segment: Segment, piece: Piece, wanted: Wanted) -> Iterator[pa.RecordBatch]:
    output = wanted.output
    needed = output.sources or ["offset"]
    if isinstance(output.content, tuple):
        needed = list(dict.fromkeys((*needed, "offset", *_HEADS)))
    elif output.content is not None:
        needed = output.content.needed(needed)
    request = Request(
        tuple(needed),
        start_offset=piece.start_offset,
        end_offset=piece.end_offset,
        layout="binary",
        max_bytes=KAFKA_BYTES if _WIDE.intersection(needed) else NARROW_KAFKA_BYTES,
        include_control=wanted.options.control,
        start_position=piece.start,
        aborted=piece.aborted,
    )
    columns = Columns(piece, output)
    for batch in record_batches(segment, request):
        made = _messages(segment, batch, piece, wanted)
        if made.num_rows:
            yield columns.batch(made)


def _messages(
    segment: Segment, batch: pa.RecordBatch, piece: Piece, wanted: Wanted
) -> pa.RecordBatch:
    """Return the records of the type that is asked for, decoded; all records if none is."""
    content = wanted.output.content
    if content is None:
        return batch
    if not isinstance(content, tuple):
        return content.decoded(batch, wanted.output.sources, piece.path)
    kind = kind_of_record(*content)
    policy = wanted.options.on_error
    made = decode_records(segment.codec, kind, batch, piece.path, keep=policy != "raise")
    if policy == "skip":
        sound = made.column(ERROR).is_null()
        if made.num_rows > sound.true_count:
            text = "%s: %d records do not decode and are left out"
            count = made.num_rows - sound.true_count
            LOGGER.warning(text, without_credentials(piece.path), count)
            made = choose(made, sound)
    return made
