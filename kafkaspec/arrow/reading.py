"""Record batches of segments, partitions and log directories."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from kafkaspec.arrow.columns import Arrays, allocate, sources_of
from kafkaspec.arrow.encoding import encode_columns
from kafkaspec.arrow.headers import PLACE_FIELDS, SCHEMA, read_segment_headers, with_place
from kafkaspec.arrow.schema import DEFAULT_COLUMNS, PLACE_COLUMNS, Place, Request, request_of
from kafkaspec.columns.memory import Layout
from kafkaspec.columns.reader import Reader
from kafkaspec.files import names
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment

__all__ = ["encode_columns", "read", "read_headers", "record_batches", "schema_of"]

Log = Segment | Partition | LogDirectory


def default_columns(log: Log) -> tuple[str, ...]:
    """Columns where nobody names any."""
    if isinstance(log, Segment):
        return DEFAULT_COLUMNS
    return PLACE_COLUMNS + DEFAULT_COLUMNS


def schema_of(log: Log) -> pa.Schema:
    """See ``Columnar.schema``."""
    return request_of(default_columns(log), None).schema


def read(log: Log, *, columns: Any = None, **options: Any) -> pa.RecordBatchReader:
    """See ``Columnar.to_batches``."""
    request = request_of(default_columns(log), columns, **options)
    return pa.RecordBatchReader.from_batches(request.schema, record_batches(log, request))


def record_batches(log: Log, request: Request) -> Iterator[pa.RecordBatch]:
    """The record batches of a request, one at a time."""
    if isinstance(log, Segment):
        yield from _segment(log, request, place_of(log))
        return
    partitions = [log] if isinstance(log, Partition) else list(partitions_of(log))
    topics = tuple(sorted({item.topic for item in partitions if item.topic is not None}))
    for partition in partitions:
        place = Place(partition.topic, partition.partition, topics)
        for segment in segments_of(partition, request):
            yield from _segment(segment, request, place)


def read_headers(log: Log) -> pa.Table:
    """See ``Columnar.batch_table``."""
    if isinstance(log, Segment):
        return read_segment_headers(log)
    tables = [pa.schema([*PLACE_FIELDS, *SCHEMA]).empty_table()]
    for partition in [log] if isinstance(log, Partition) else partitions_of(log):
        place = Place(partition.topic, partition.partition)
        for segment in partition.segments_from(None):
            tables.append(with_place(read_segment_headers(segment), place, segment.name))
    return pa.concat_tables(tables)


def partitions_of(directory: LogDirectory) -> Iterator[Partition]:
    """The partitions whose records count: those being deleted, moved or strays do not."""
    for partition in directory.partitions:
        if not partition.state:
            yield partition


def segments_of(partition: Partition, request: Request) -> Iterator[Segment]:
    """The segments that may hold wanted offsets, one open at a time."""
    for segment in partition.segments_from(request.start_offset):
        high = request.end_offset
        if high is not None and segment.base_offset is not None and segment.base_offset >= high:
            return
        yield segment


def place_of(segment: Segment) -> Place:
    """What the directory of a segment says."""
    if segment.path is None:
        return Place()
    parsed = names.parse_partition(segment.path.absolute().parent.name)
    return Place(parsed.topic, parsed.partition) if parsed else Place()


def _segment(segment: Segment, request: Request, place: Place) -> Iterator[pa.RecordBatch]:
    progress = Progress(segment, request)
    reader = Reader(
        segment,
        sources_of(request),
        request.wanted,
        layout=Layout.VIEW if request.layout == "view" else Layout.BINARY,
        allocate=allocate,
    )
    made = Arrays(request, place, segment.codec, segment.name)
    for columns in reader:
        batch = made.batch(columns)
        del columns
        if batch.num_rows:
            yield batch
        del batch  # the next one is made while this one may go
        progress.at(reader.position)
    progress.at(segment.size)


class Progress:
    """Tells how much of a segment was done."""

    def __init__(self, segment: Segment, request: Request) -> None:
        """Args: what is read, and who wants to know."""
        self._tell = request.progress
        self._name = segment.name or ""
        self._last = 0

    def at(self, position: int) -> None:
        """What lies before ``position`` is done."""
        if self._tell is not None and position > self._last:
            self._tell(self._name, position - self._last)
            self._last = position
