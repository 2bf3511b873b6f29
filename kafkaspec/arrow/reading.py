"""Record batches of segments, partitions and log directories."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from kafkaspec.arrow.columns import LITTLE_ENDIAN
from kafkaspec.arrow.encoding import encode_columns
from kafkaspec.arrow.headers import PLACE_FIELDS, SCHEMA, read_segment_headers, with_place
from kafkaspec.arrow.rows import Rows, wanted
from kafkaspec.arrow.schema import DEFAULT_COLUMNS, PLACE_COLUMNS, Place, Request, request_of
from kafkaspec.errors import KafkaSpecError
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
    for batch, position in _positioned(segment, request, place):
        yield batch
        del batch  # the next one is made while this one may go
        progress.at(position)
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


def _positioned(
    segment: Segment, request: Request, place: Place
) -> Iterator[tuple[pa.RecordBatch, int]]:
    """Record batches, and how far the segment was read for each."""
    if segment.codec.name == "native" and LITTLE_ENDIAN:
        from kafkaspec.arrow.native import NativeReader
        from kafkaspec.codecs.native import NativeCodec

        assert isinstance(segment.codec, NativeCodec)
        reader = NativeReader(segment, segment.codec, request, place)
        for made in reader:
            yield made, reader.position
            del made
    else:
        yield from _by_python(segment, request, place)


def _by_python(
    segment: Segment, request: Request, place: Place
) -> Iterator[tuple[pa.RecordBatch, int]]:
    rows = Rows(request, place, segment.codec)
    high, earliest = request.end_offset, request.start_timestamp
    try:
        for batch in segment.batches(request.start_position, start_offset=request.start_offset):
            default = batch.magic == 2
            known = default or not batch.is_compressed
            if high is not None and known and batch.base_offset >= high:
                break
            skipped = batch.is_control and not request.include_control
            skipped |= default and earliest is not None and batch.max_timestamp < earliest
            if not skipped:
                rows.add(batch, wanted(batch.records(), request))
                if rows.cost >= request.max_bytes:
                    yield rows.take(segment.name), batch.end
            if high is not None and batch.last_offset >= high - 1:
                break
    except KafkaSpecError:
        if rows.rows:
            yield rows.take(segment.name), 0  # what lies before the error
        raise
    if rows.rows:
        yield rows.take(segment.name), segment.size
