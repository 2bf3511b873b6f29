"""Record batches of segments, partitions and log directories."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, Unpack

import pyarrow as pa

from kafkaspec.arrow.arrays import choose, constant
from kafkaspec.arrow.headers import (
    PLACE_FIELDS,
    ROWS,
    SCHEMA,
    batch_rows,
    read_segment_headers,
    with_place,
)
from kafkaspec.arrow.record_arrays import Arrays, allocate, own_of, sources_of
from kafkaspec.arrow.schema import (
    DEFAULT_COLUMNS,
    PLACE_COLUMNS,
    ColumnPlace,
    Request,
    RequestOptions,
    request_of,
)
from kafkaspec.columns.memory import Layout
from kafkaspec.columns.reader import Reader
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names
from kafkaspec.io.remote import RemotePath
from kafkaspec.jobs import flows_in_order
from kafkaspec.log.damage import ALWAYS_RAISED, broken_entry
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.headers import divided, header_tables
from kafkaspec.log.lookup import start_position
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.log.selection import check_isolation
from kafkaspec.policy import OnError, report

if TYPE_CHECKING:
    from kafkaspec.arrow.where.condition import Where

_SMALL_ROWS: Final = 1 << 10
_SMALL_BYTES: Final = 2 << 20
_SMALL_BATCHES: Final = 1 << 8
"""How many rows, bytes and batches ``together`` joins, at most."""

AnyLog = Segment | Partition | LogDirectory


def default_columns(log: AnyLog) -> tuple[str, ...]:
    """Return the names of the default columns."""
    if isinstance(log, Segment):
        return DEFAULT_COLUMNS
    return PLACE_COLUMNS + DEFAULT_COLUMNS


def schema_of(log: AnyLog) -> pa.Schema:
    """Return the schema of the default columns; see ``Columnar.schema``."""
    return request_of(default_columns(log), None).schema


def read(
    log: AnyLog,
    *,
    columns: Sequence[str] | None = None,
    where: str | None = None,
    **options: Unpack[RequestOptions],
) -> pa.RecordBatchReader:
    """Return a reader of record batches; see ``Columnar.to_batches``."""
    condition = None
    if where is not None:
        from kafkaspec.arrow.where.condition import Where

        condition = Where(where)
    request = request_of(default_columns(log), columns, where=condition, **options)
    return pa.RecordBatchReader.from_batches(request.schema, record_batches(log, request))


def record_batches(log: AnyLog, request: Request) -> Iterator[pa.RecordBatch]:
    """Yield the record batches of a request."""
    if request.where is not None:
        yield from _where(log, request, request.where)
        return
    if isinstance(log, Segment):
        check_isolation(request.isolation)
        yield from _segment(log, request, place_of(log))
        return
    yield from _partitions(log, request, None)


def _where(log: AnyLog, request: Request, where: Where) -> Iterator[pa.RecordBatch]:
    """Yield the same with a condition: its columns are read too, and left out afterwards."""
    others = tuple(name for name in where.columns if name not in request.columns)
    whole = replace(request, columns=request.columns + others, where=None)
    if isinstance(log, Segment):
        check_isolation(request.isolation)
        place = place_of(log)
        found = _segment(log, whole, place) if where.may_be_in(place.topic, place.partition) else ()
    else:
        found = _partitions(log, whole, where)
    for batch in found:
        kept = choose(batch, where.mask(batch))
        del batch
        if kept.num_rows:
            yield kept.select(request.columns) if others else kept


def _partitions(
    log: Partition | LogDirectory, request: Request, where: Where | None
) -> Iterator[pa.RecordBatch]:
    partitions = partitions_of(log, request.on_unreadable)
    topics = tuple(sorted({item.topic for item in partitions if item.topic is not None}))

    def read(segment: Segment, resolved: Request, place: ColumnPlace) -> Iterator[pa.RecordBatch]:
        return _segment(segment, resolved, replace(place, topics=topics))

    may_be_in = _anywhere if where is None else where.may_be_in
    yield from _of_segments(partitions, request, may_be_in, read)


def _anywhere(_topic: str | None, _partition: int | None) -> bool:
    return True


def _of_segments(
    partitions: Sequence[Partition],
    request: Request,
    may_be_in: Callable[[str | None, int | None], bool],
    read: Callable[[Segment, Request, ColumnPlace], Iterator[pa.RecordBatch]],
) -> Iterator[pa.RecordBatch]:
    """Yield what is read of each segment that a request is about."""
    for partition in partitions:
        place = ColumnPlace(partition.topic, partition.partition)
        if not may_be_in(place.topic, place.partition):
            continue
        try:
            resolved = partition.resolve(request)
        except KafkaSpecError as error:
            _go_on(request, error)
            continue
        for path in partition.paths_from(resolved.start_offset, resolved.end_offset):
            try:
                yield from read(partition.open_segment(path), resolved, place)
            except KafkaSpecError as error:
                _go_on(request, error)


BATCH_ROWS: Final = pa.schema([*PLACE_FIELDS, *ROWS])
"""Columns where a row is a batch."""


def read_headers(log: AnyLog) -> pa.Table:
    """Return the headers of all batches; see ``Columnar.batch_table``."""
    if isinstance(log, Segment):
        return read_segment_headers(log)
    tables = [pa.schema([*PLACE_FIELDS, *SCHEMA]).empty_table()]
    for partition in partitions_of(log):
        place = ColumnPlace(partition.topic, partition.partition)
        for segment in partition.segments_from(None):
            tables.append(with_place(read_segment_headers(segment), place, segment.name))
    return pa.concat_tables(tables)


def batch_row_batches(
    log: AnyLog,
    request: Request,
    columns: Sequence[str],
    may_be_in: Callable[[str | None, int | None], bool] = _anywhere,
) -> Iterator[pa.RecordBatch]:
    """Yield headers in record batches; see ``batch_rows``.

    Args:
        log: the log.
        request: says which offsets, and what happens with what cannot be read.
        columns: names of ``BATCH_ROWS``.
        may_be_in: whether entries of a topic-partition are wanted.
    """
    if isinstance(log, Segment):
        yield from _header_rows(log, request, columns, place_of(log))
        return

    def read(segment: Segment, resolved: Request, place: ColumnPlace) -> Iterator[pa.RecordBatch]:
        return _header_rows(segment, resolved, columns, place)

    yield from _of_segments(partitions_of(log, request.on_unreadable), request, may_be_in, read)


def _header_rows(
    segment: Segment, request: Request, columns: Sequence[str], place: ColumnPlace
) -> Iterator[pa.RecordBatch]:
    where = (place.topic, place.partition, segment.name)
    known = dict(zip(PLACE_FIELDS, where, strict=True))
    same = {field.name: (value, field.type) for field, value in known.items()}
    own = [name for name in columns if name not in same] or [ROWS.names[0]]
    for item in batch_rows(
        segment, own, start_offset=request.start_offset, end_offset=request.end_offset
    ):
        if isinstance(item, KafkaSpecError):
            report(request.on_error, item)
            continue
        arrays = [
            constant(*same[name], item.num_rows) if name in same else item.column(name)
            for name in columns
        ]
        yield pa.RecordBatch.from_arrays(arrays, names=list(columns))


def partitions_of(
    log: Partition | LogDirectory, on_unreadable: OnError = "raise"
) -> list[Partition]:
    """Return the partitions to read; of a directory, the current ones."""
    if isinstance(log, Partition):
        return [log]
    for error in log.unreadable.values():
        report(on_unreadable, error)
    return log.current


def _go_on(request: Request, error: KafkaSpecError) -> None:
    """Report the error of a whole file, after which others can be read; raise any other."""
    if error.reason not in ALWAYS_RAISED:
        raise error
    report(request.on_unreadable, error)


def place_of(segment: Segment) -> ColumnPlace:
    """Return topic and partition of a segment, from the name of its directory."""
    if segment.path is None:
        return ColumnPlace()
    parsed = names.parse_partition(segment.path.absolute().parent.name)
    return ColumnPlace(parsed.topic, parsed.partition) if parsed else ColumnPlace()


def _segment(segment: Segment, request: Request, place: ColumnPlace) -> Iterator[pa.RecordBatch]:
    progress = ReadProgress(segment, request)
    while True:
        try:
            yield from _from(segment, request, place, progress)
            break
        except KafkaSpecError as error:
            if error.reason in ALWAYS_RAISED:
                raise
            report(request.on_error, error)
            _, _, position = broken_entry(segment, request.start_position, error)
            if position is None:
                break
            request = replace(request, start_position=position)
    progress.at(segment.size)


def _from(
    segment: Segment, request: Request, place: ColumnPlace, progress: ReadProgress
) -> Iterator[pa.RecordBatch]:
    remote = isinstance(segment.path, RemotePath)
    threads = 0 if segment.codec.core is None or remote else request.jobs - 1
    parts = _parts(segment, request) if threads else [request]
    work = partial(_read, segment, place)
    for batch, position in flows_in_order(work, parts, threads, 1):
        if isinstance(batch, KafkaSpecError):
            report(request.on_error, batch)
            continue
        if batch is None or position is None:
            return
        if batch.num_rows:
            yield batch
        del batch  # so that its memory can be freed before the next one is made
        progress.at(position)


def _read(
    segment: Segment, place: ColumnPlace, request: Request
) -> Iterator[tuple[pa.RecordBatch | KafkaSpecError, int] | tuple[None, None]]:
    """Yield record batches and the position reached, and errors of entries that are passed over.

    None follows if nothing after is wanted.
    """
    errors: list[KafkaSpecError] = []
    reader = Reader(
        segment,
        sources_of(request),
        request,
        layout=Layout.VIEW if request.layout == "view" else Layout.BINARY,
        allocate=allocate,
        unpacked=request.unpacked,
        own=own_of(request),
        broken=None if request.on_error == "raise" else errors.append,
    )

    def told() -> Iterator[tuple[KafkaSpecError, int]]:
        while errors:
            yield errors.pop(0), reader.position

    made = Arrays(request, place, segment.codec, segment.name)
    try:
        for columns in reader:
            batch = made.batch(columns)
            del columns
            yield from told()
            yield batch, reader.position
            del batch
    except KafkaSpecError:
        yield from told()
        raise
    yield from told()
    if reader.ended:
        yield None, None


def together(
    batches: Iterable[pa.RecordBatch], size: Callable[[pa.RecordBatch], int]
) -> Iterator[pa.RecordBatch]:
    """Yield records, many small batches as one; damage, for one, makes small ones.

    Args:
        size: returns about how many bytes a batch of few records holds.
    """
    waiting: list[pa.RecordBatch] = []
    rows = octets = 0
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            rows += batch.num_rows
            octets += size(batch) if rows < _SMALL_ROWS else 0
        if rows >= _SMALL_ROWS or octets >= _SMALL_BYTES or len(waiting) == _SMALL_BATCHES:
            yield _joined(waiting)
            waiting, rows, octets = [], 0, 0
    if waiting:
        yield _joined(waiting)


def _joined(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]


def _parts(segment: Segment, request: Request) -> Iterator[Request]:
    """Divide a request into ranges of bytes; the last one begins with what is not regular."""
    position = request.start_position
    if request.start_offset is not None:
        position = max(position, start_position(segment, request.start_offset)[0])
    for table in header_tables(segment, position):
        for start, end in divided(table, request.max_bytes):
            yield replace(request, start_position=start, end_position=end)
        position = table.end
    if position < segment.size:
        yield replace(request, start_position=position)


class ReadProgress:
    """Reports how much of a segment was read.

    Args:
        segment: the segment that is read.
        request: has the function to report to, if any.
    """

    def __init__(self, segment: Segment, request: Request) -> None:
        self._tell = request.progress
        self._name = segment.name or ""
        self._last = 0

    def at(self, position: int) -> None:
        """Report that everything before ``position`` was read."""
        if self._tell is not None and position > self._last:
            self._tell(self._name, position - self._last)
            self._last = position
