"""Read a part of a segment with the library's Arrow reader, and handle damage by the mode."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import chain
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
from kafkaspec.shown import without_credentials
from kafkaspec.spark.columns import SparkColumns, finding
from kafkaspec.spark.options import ReadOptions
from kafkaspec.spark.partitions import TaskPiece
from kafkaspec.spark.paths import LOGGER
from kafkaspec.spark.schema import WantedColumns

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


def open_piece(piece: TaskPiece) -> Reading:
    """Open the file of a piece up to its end: what was appended since it was planned is ignored."""
    file = open_source(as_path(piece.path), mapped=False)
    assert isinstance(file, Reading)
    size, file.size = file.size, piece.end
    if size < piece.end:
        file.close()
        detail = f"it had {piece.end} bytes or more when it was planned and has {size} now"
        raise make_error(Reason.CHANGED, detail, file=file.name, offset=size)
    return file


def read_piece(
    piece: TaskPiece, output: WantedColumns, options: ReadOptions
) -> Iterator[pa.RecordBatch]:
    """Yield the record batches of a piece, as Spark takes them."""
    if piece.lost is not None:
        yield finding(piece.lost, piece, piece.start_offset, piece.start, output)
        return
    try:
        file = open_piece(piece)
    except KafkaSpecError as error:
        if not options.fail_on_data_loss:
            LOGGER.warning("data is lost and left out: %s", error)
            return
        if error.reason is Reason.CHANGED or options.on_error == "raise":
            raise
        yield from _told(error, piece, None, None, output)
        return
    with closing(file):
        for batch in _batches(piece, file, output, options):
            yield from _cut(batch)


def _cut(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Yield slices of a bounded size."""
    rows, size = batch.num_rows, batch.nbytes
    step = rows if size <= MOST_BYTES else max(1, rows * MOST_BYTES // size)
    for start in range(0, rows, step or 1):
        yield batch.slice(start, step)


def _batches(
    piece: TaskPiece, file: Reading, output: WantedColumns, options: ReadOptions
) -> Iterator[pa.RecordBatch]:
    """Yield the record batches, and what the mode says about what cannot be read."""
    segment = Segment(
        file,
        tail="skip" if piece.last else "raise",
        crc="raise" if options.check_crcs else "ignore",
    )
    errors: list[KafkaSpecError] = []
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
        include_control=options.include_control,
        start_position=piece.start,
        aborted=piece.aborted,
        on_error="raise" if options.on_error == "raise" else errors.append,
    )
    columns = SparkColumns(piece, output)
    position, dropped = piece.start, 0
    for batch in chain(record_batches(segment, request), (None,)):
        for error in errors:  # met before this batch
            broken, offset, after = broken_entry(segment, position, error)
            yield from _told(error, piece, offset, broken, output)
            position = piece.end if after is None else after
            dropped += 1
        errors.clear()
        made = None if batch is None else _messages(segment, batch, piece, output, options)
        if made is not None and made.num_rows:
            yield columns.batch(made)
    if dropped:
        LOGGER.warning(
            "%s: %d batches are damaged and left out", without_credentials(piece.path), dropped
        )


def _told(
    error: KafkaSpecError,
    piece: TaskPiece,
    offset: int | None,
    position: int | None,
    output: WantedColumns,
) -> Iterator[pa.RecordBatch]:
    if output.corrupt is not None:
        yield finding(str(error), piece, offset, position, output)
    else:
        LOGGER.warning("left out: %s", error)


def _messages(
    segment: Segment,
    batch: pa.RecordBatch,
    piece: TaskPiece,
    output: WantedColumns,
    options: ReadOptions,
) -> pa.RecordBatch:
    """Return the records of the type that is asked for, decoded; all records if none is."""
    content = output.content
    if content is None:
        return batch
    if not isinstance(content, tuple):
        return content.decoded(batch, output.sources, piece.path)
    kind = kind_of_record(*content)
    made = decode_records(segment.codec, kind, batch, piece.path, keep=options.on_error != "raise")
    if options.on_error == "skip":
        sound = made.column(ERROR).is_null()
        left_out = made.num_rows - sound.true_count
        if left_out:
            text = "%s: %d records do not decode and are left out"
            LOGGER.warning(text, without_credentials(piece.path), left_out)
            made = choose(made, sound)
    return made
