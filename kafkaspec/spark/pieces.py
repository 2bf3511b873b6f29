"""Pieces of segments, which tasks read with the library's Arrow reader, and as Spark takes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import chain
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import InputPartition

from kafkaspec.arrow.arrays import choose, constant
from kafkaspec.arrow.headers import ROWS, batch_rows
from kafkaspec.arrow.messages.topics import ERROR, decode_records, kind_of_record
from kafkaspec.arrow.record_batches import record_batches
from kafkaspec.arrow.schema import TIMESTAMP_TYPES, Request
from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.io.window import Reading
from kafkaspec.log.batch import NO_TIMESTAMP, NO_TIMESTAMP_TYPE
from kafkaspec.log.cuts import Cut, CutClaim, open_between
from kafkaspec.log.damage import broken_entry
from kafkaspec.log.header_table import POSITION
from kafkaspec.log.segment import Segment
from kafkaspec.log.transactions import NO_TRANSACTIONS, AbortedTransactions
from kafkaspec.shown import without_credentials
from kafkaspec.spark.options import BATCHES, ReadOptions
from kafkaspec.spark.parsing import LARGEST_LONG
from kafkaspec.spark.paths import LOGGER
from kafkaspec.spark.schema import HEADERS, TIMESTAMP, WantedColumns


class TaskPiece(NamedTuple):
    """A part of a segment, on batch boundaries.

    With ``last``, the segment ended there when it was planned: bytes that are not a batch are a
    torn tail there, and an error anywhere else. A piece that says what is ``lost`` has no bytes.
    ``claims`` are those of an index about both ends, and the size of the segment: its reader
    settles them first.
    """

    path: str
    topic: str | None
    partition: int | None
    start: int
    end: int
    last: bool
    start_offset: int | None = None
    end_offset: int | None = None
    aborted: AbortedTransactions = NO_TRANSACTIONS
    lost: str | None = None
    claims: tuple[CutClaim | None, CutClaim | None, int] | None = None

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return self.end - self.start


class SegmentTask(InputPartition):
    """The pieces that one task reads, in this order."""

    def __init__(self, pieces: tuple[TaskPiece, ...]) -> None:
        """Make a task for pieces."""
        super().__init__(None)
        self.pieces = pieces

    def __repr__(self) -> str:
        return f"<SegmentTask {len(self.pieces)} pieces, {sum(p.size for p in self.pieces)} bytes>"


_MICROSECONDS: Final = 1000
_LARGEST: Final = LARGEST_LONG // _MICROSECONDS

_TYPE_IDS: Final = pa.array(
    [-1 if name == NO_TIMESTAMP_TYPE else i for i, name in enumerate(TIMESTAMP_TYPES)], pa.int32()
)
"""Kafka: ``TimestampType.id``."""

_CONSTANTS: Final = {"topic": "topic", "partition": "partition", "file": "path"}
_SPARE: Final = 8
"""An eighth more than were asked for: record batches have about as many rows, not as many."""


class SparkColumns:
    """Makes the record batches of a piece.

    A column with one value is made once, and cut to the number of rows.
    """

    def __init__(self, piece: TaskPiece, output: WantedColumns) -> None:
        """Make the columns of a piece."""
        self._piece = piece
        self._output = output
        self._schema = output.schema
        self._repeated: dict[tuple[str, Any], pa.Array] = {}

    def batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the columns as Spark takes them."""
        made = [self._column(field, batch) for field in self._schema]
        return self._output.renamed(pa.RecordBatch.from_arrays(made, schema=self._schema))

    def _column(self, field: pa.Field, batch: pa.RecordBatch) -> pa.Array:
        name = field.name
        if name == self._output.corrupt:
            if ERROR in batch.schema.names:  # of records whose messages do not decode
                return batch.column(ERROR)
            return self._constant(field, None, batch.num_rows)
        if name in _CONSTANTS:
            value = getattr(self._piece, _CONSTANTS[name])
            return self._constant(field, value, batch.num_rows)
        source = self._output.column(name).source
        values = batch.column(source)
        if name == "timestampType":
            return self._timestamp_types(field, values)
        if source in _CONVERSIONS:
            values = _CONVERSIONS[source](values, self._piece)
        return values if values.type == field.type else values.cast(field.type)

    def _timestamp_types(self, field: pa.Field, values: pa.DictionaryArray) -> pa.Array:
        numbers = values.indices
        span = pc.min_max(numbers)
        low, high = span["min"].as_py(), span["max"].as_py()
        if low == high and low is not None:  # as in nearly every segment
            return self._constant(field, _TYPE_IDS[low].as_py(), len(numbers))
        return _TYPE_IDS.take(numbers)

    def _constant(self, field: pa.Field, value: Any, rows: int) -> pa.Array:
        """Return a column with the same value in all rows."""
        found = self._repeated.get((field.name, value))
        if found is None or len(found) < rows:
            found = constant(value, field.type, rows + rows // _SPARE)
            self._repeated[field.name, value] = found
        return found.slice(0, rows)


def finding(
    text: str, piece: TaskPiece, offset: int | None, position: int | None, output: WantedColumns
) -> Any:
    """Return a row that says what could not be read, as a record batch."""
    row = {
        "topic": piece.topic,
        "partition": piece.partition,
        "offset": offset,
        "file": without_credentials(piece.path),
        "position": position,
        output.corrupt: text,
    }
    return output.renamed(pa.RecordBatch.from_pylist([row], schema=output.schema))


def has_room(numbers: pa.Array) -> pa.Array:
    """Return whether Spark has room for each timestamp in ms."""
    return pc.and_(pc.less_equal(numbers, _LARGEST), pc.greater_equal(numbers, -_LARGEST))


def _timestamps(values: pa.Array, piece: TaskPiece) -> pa.Array:
    """Return timestamps in µs; Kafka's -1 for none is a time as in Spark's source."""
    numbers = values.view(pa.int64())
    return _in_microseconds(
        numbers.fill_null(NO_TIMESTAMP) if numbers.null_count else numbers, piece
    )


def _in_microseconds(numbers: pa.Array, piece: TaskPiece) -> pa.Array:
    try:
        return pc.multiply_checked(numbers, _MICROSECONDS).view(TIMESTAMP)
    except pa.ArrowInvalid:
        beyond = pc.filter(numbers, pc.invert(has_room(numbers)))
        detail = f"Spark has no room for a timestamp of {beyond[0].as_py()} ms"
        raise make_error(Reason.INVALID_VALUE, detail, file=piece.path) from None


def _headers(values: pa.Array, piece: TaskPiece) -> pa.Array:
    """Return headers; as in Spark's source, a record without any has null."""
    fields = [HEADERS.value_type.field(i) for i in range(HEADERS.value_type.num_fields)]
    items = pa.StructArray.from_arrays(values.flatten().flatten(), fields=fields)
    empty = pc.equal(pc.list_value_length(values), 0)
    # Rows from inside a batch are a slice, and pyarrow takes no mask beside offsets of a slice.
    offsets = pc.subtract(values.offsets, values.offsets[0])
    return pa.ListArray.from_arrays(offsets, items, type=HEADERS, mask=empty)


def _as_stored(values: pa.Array, piece: TaskPiece) -> pa.Array:
    """Return timestamps in µs; null for none."""
    return _in_microseconds(values.view(pa.int64()), piece)


_CONVERSIONS: Final[dict[str, Callable[[Any, TaskPiece], pa.Array]]] = {
    **{item.name: _as_stored for item in ROWS if pa.types.is_timestamp(item.type)},
    "timestamp": _timestamps,
    "own_timestamp": _as_stored,
    "headers": _headers,
    "control_type": lambda values, _: values.is_valid(),
    "compression": lambda values, _: values.dictionary_decode(),
}


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


def open_piece(piece: TaskPiece) -> tuple[TaskPiece, Reading]:
    """Open the file of a piece up to its end: what was appended since it was planned is ignored.

    Returns:
        The piece with settled ends, and the file.
    """
    first, last, planned = piece.claims or (None, None, piece.end)
    file, start = open_between(piece.path, Cut(piece.start, first), Cut(piece.end, last), planned)
    if piece.claims is not None:
        end = file.size
        piece = piece._replace(start=start, end=end, last=end == planned, claims=None)
    return piece, file


def read_piece(
    piece: TaskPiece, output: WantedColumns, options: ReadOptions
) -> Iterator[pa.RecordBatch]:
    """Yield the record batches of a piece, as Spark takes them."""
    if piece.lost is not None:
        yield finding(piece.lost, piece, piece.start_offset, piece.start, output)
        return
    try:
        piece, file = open_piece(piece)
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
    found = (
        _header_rows(segment, piece, output, options, errors)
        if output.content == BATCHES
        else record_batches(segment, _request(piece, output, options, errors))
    )
    columns = SparkColumns(piece, output)
    position, dropped = piece.start, 0
    for batch in chain(found, (None,)):
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


def _header_rows(
    segment: Segment,
    piece: TaskPiece,
    output: WantedColumns,
    options: ReadOptions,
    errors: list[KafkaSpecError],
) -> Iterator[pa.RecordBatch]:
    """Yield the headers of batches, after the errors before them."""
    for item in batch_rows(
        segment,
        output.sources or [POSITION],
        start_position=piece.start,
        start_offset=piece.start_offset,
        end_offset=piece.end_offset,
    ):
        if not isinstance(item, KafkaSpecError):
            yield item
        elif options.on_error == "raise":
            raise item
        else:
            errors.append(item)


def _request(
    piece: TaskPiece, output: WantedColumns, options: ReadOptions, errors: list[KafkaSpecError]
) -> Request:
    """Return the request for the records of a piece."""
    needed = output.sources or ["offset"]
    if isinstance(output.content, tuple):
        needed = list(dict.fromkeys((*needed, "offset", *_HEADS)))
    elif output.content is not None and output.content != BATCHES:
        needed = output.content.needed(needed)
    return Request(
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
    if content is None or content == BATCHES:
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
