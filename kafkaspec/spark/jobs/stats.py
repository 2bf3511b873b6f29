"""Statistics of logs by topic-partition, from a DataFrame of the headers of all batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql import Window
from pyspark.sql import functions as f

from kafkaspec.arrow.headers import read_segment_headers
from kafkaspec.errors import KafkaSpecError
from kafkaspec.io.remote import as_path
from kafkaspec.log.batch import Batch
from kafkaspec.log.opening import open_log
from kafkaspec.log.segment import Segment
from kafkaspec.spark.jobs.units import rows_of, size_of
from kafkaspec.spark.paths import find_logs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_TIME: Final = pa.timestamp("us", tz="UTC")
_COLUMNS: Final[dict[str, tuple[pa.DataType, str]]] = {
    "position": (pa.int64(), "bigint"),
    "size": (pa.int64(), "bigint"),
    "base_offset": (pa.int64(), "bigint"),
    "last_offset": (pa.int64(), "bigint"),
    "num_records": (pa.int32(), "int"),
    "magic": (pa.int32(), "int"),
    "compression": (pa.string(), "string"),
    "timestamp_type": (pa.string(), "string"),
    "base_timestamp": (_TIME, "timestamp"),
    "max_timestamp": (_TIME, "timestamp"),
    "leader_epoch": (pa.int32(), "int"),
    "producer_id": (pa.int64(), "bigint"),
    "producer_epoch": (pa.int32(), "int"),
    "base_sequence": (pa.int32(), "int"),
    "last_sequence": (pa.int32(), "int"),
    "transactional": (pa.bool_(), "boolean"),
    "control": (pa.bool_(), "boolean"),
    "payload": (pa.int64(), "bigint"),
    "uncompressed": (pa.int64(), "bigint"),
    "error": (pa.string(), "string"),
}
_PLACE: Final = {
    "topic": (pa.string(), "string"),
    "partition": (pa.int32(), "int"),
    "file": (pa.string(), "string"),
}
_ALL: Final = {**_PLACE, **_COLUMNS}
BATCHES: Final = ", ".join(f"{name} {kind}" for name, (_, kind) in _ALL.items())
"""Columns of ``Stats.batches``. ``payload`` and ``uncompressed`` are bytes of compressed records
before and after decompression, null where there is nothing compressed."""
_ARROW: Final = pa.schema([(name, kind) for name, (kind, _) in _ALL.items()])

_WRITTEN: Final = "error is null"


@dataclass(frozen=True)
class Place:
    """A segment, and what it belongs to."""

    path: str
    topic: str | None
    partition: int | None
    ratios: bool


@dataclass
class Stats:
    """DataFrames, each with ``topic`` and most with ``partition``.

    Attributes:
        batches: the headers of all batches; one row with ``error`` for each that cannot be read.
        partitions: segments, bytes, batches, records, offsets, timestamps, magics; a row for each
            that was found, also without batches.
        codecs: batches, records, bytes and ratio by magic and compression.
        sizes: batches by size, in steps of powers of two.
        producers: batches, records and offsets of each producer id and epoch.
        times: batches, records and bytes by hour of the largest timestamp of a batch.
        gaps: offsets that no batch covers, between two that follow each other.
    """

    batches: DataFrame
    partitions: DataFrame
    codecs: DataFrame
    sizes: DataFrame
    producers: DataFrame
    times: DataFrame
    gaps: DataFrame

    def unpersist(self) -> None:
        """Give back the memory that the headers take."""
        self.batches.unpersist()


def stats(
    spark: SparkSession,
    paths: str | Sequence[str],
    *,
    ratios: bool = True,
    tasks: int | None = None,
) -> Stats:
    """Return statistics of the logs under paths.

    Args:
        spark: a session whose workers have kafkaspec and see the same files.
        paths: segments, partition directories, log directories, globs or URLs.
        ratios: whether compressed batches are decompressed to say what they hold. Otherwise only
            headers are read, and of wrappers of magic 0 and 1 the records are not known.
        tasks: how many there are to be; three a slot by default.

    Raises:
        KafkaSpecError: ``unreadable``: there is nothing under a path.
    """
    logs = find_logs([paths] if isinstance(paths, str) else paths)
    found = [(log, item) for log in logs for item in log.segments]
    units = [Place(str(item.path), log.topic, log.partition, ratios) for log, item in found]
    sizes = [size_of(item) for _, item in found]
    batches = rows_of(spark, units, sizes, read_headers, BATCHES, tasks).persist()
    rows = [
        (log.topic, log.partition, str(log.directory), len(log.segments), sum(map(size_of, parts)))
        for log in logs
        for parts in [log.segments]
    ]
    places = spark.createDataFrame(
        rows, "topic string, partition int, directory string, segments int, file_bytes bigint"
    )
    return Stats(batches, *_summaries(batches, places))


def _summaries(batches: DataFrame, places: DataFrame) -> tuple[DataFrame, ...]:
    log = ("topic", "partition")
    sound = batches.where(_WRITTEN)
    records = f.sum(f.when(~f.col("control"), f.col("num_records"))).alias("records")
    count, size = f.count("*").alias("batches"), f.sum("size").alias("bytes")
    first, last = f.min("base_offset").alias("first_offset"), f.max("last_offset")
    by_log = batches.groupBy(*log).agg(
        f.count("size").alias("batches"),
        records,
        f.count_if("control").alias("control_batches"),
        f.count_if("transactional").alias("transactional_batches"),
        size,
        first,
        last.alias("last_offset"),
        f.min("base_timestamp").alias("first_timestamp"),
        f.max("max_timestamp").alias("last_timestamp"),
        f.sort_array(f.collect_set("magic")).alias("magics"),
        f.sort_array(f.collect_set("compression")).alias("codecs"),
        f.max("size").alias("largest_batch"),
        f.count("error").alias("errors"),
    )
    same = [f.col(f"p.{name}").eqNullSafe(f.col(f"b.{name}")) for name in log]
    known = places.alias("p").join(by_log.alias("b"), same, "left")
    partitions = known.select("p.*", *(f"b.{name}" for name in by_log.columns if name not in log))
    partitions = partitions.na.fill(0, ["batches", "records", "bytes", "errors"])
    codecs = sound.groupBy(*log, "magic", "compression").agg(
        count,
        records,
        size,
        f.sum("payload").alias("payload"),
        f.sum("uncompressed").alias("uncompressed"),
        f.try_divide(f.sum("uncompressed"), f.sum("payload")).alias("ratio"),
    )
    step = f.pow(f.lit(2), f.floor(f.log2("size"))).cast("bigint").alias("size_from")
    sizes = sound.groupBy(*log, step).agg(count, records, size)
    producers = (
        sound.where("producer_id >= 0")
        .groupBy(*log, "producer_id", "producer_epoch")
        .agg(
            f.count_if(~f.col("control")).alias("batches"),
            records,
            f.count_if("control").alias("markers"),
            first,
            last.alias("last_offset"),
            f.max("last_sequence").alias("last_sequence"),
        )
    )
    hour = f.date_trunc("hour", "max_timestamp").alias("hour")
    times = sound.groupBy(*log, hour).agg(count, records, size)
    before = f.lag("last_offset").over(Window.partitionBy(*log).orderBy("last_offset"))
    gaps = (
        sound.where("base_offset is not null")
        .select(*log, "file", "position", before.alias("after_offset"), "base_offset")
        .withColumn("missing", f.col("base_offset") - f.col("after_offset") - 1)
        .where("missing > 0")
    )
    return partitions, codecs, sizes, producers, times, gaps


def read_headers(place: Place) -> Iterator[pa.RecordBatch]:
    """Yield the headers of a segment as rows of ``BATCHES``, in a task."""
    try:
        opened = open_log(as_path(place.path), mapped=False)
    except KafkaSpecError as error:
        yield _made([_error_row(error)], place)
        return
    assert isinstance(opened, Segment)
    with opened as segment:
        try:
            table = read_segment_headers(segment)
        except KafkaSpecError:
            yield from _one_by_one(segment, place)
            return
        for batch in table.to_batches(max_chunksize=_ROWS):
            yield _from_headers(batch, segment, place)


_ROWS: Final = 10_000


def _from_headers(batch: pa.RecordBatch, segment: Segment, place: Place) -> pa.RecordBatch:
    rows = batch.num_rows
    columns: dict[str, Any] = {}
    for name, (kind, _) in _COLUMNS.items():
        if name not in batch.schema.names:
            continue
        values = batch.column(name)
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        columns[name] = values.cast(kind) if values.type != kind else values
    extra: dict[str, list[Any]] = {name: [None] * rows for name in ("payload", "uncompressed")}
    extra["error"] = [None] * rows
    if place.ratios:
        wrappers: dict[int, Batch] = {}
        for row, name in enumerate(columns["compression"].to_pylist()):
            if name != "none":
                found = segment.batch_at(columns["position"][row].as_py())
                _measure(found, row, extra)
                if not found.kind.has_record_sets:
                    wrappers[row] = found
        if wrappers:
            _fill(wrappers, columns)
    for name, values in extra.items():
        columns[name] = pa.array(values, _COLUMNS[name][0])
    return _placed(columns, rows, place)


def _measure(batch: Batch, row: int, extra: dict[str, list[Any]]) -> None:
    try:
        extra["uncompressed"][row] = len(batch.decompressed())
        extra["payload"][row] = len(batch.payload or b"")
    except KafkaSpecError as error:
        extra["error"][row] = str(error)


def _fill(wrappers: dict[int, Batch], columns: dict[str, Any]) -> None:
    """Add the values that only the inner messages of wrappers have."""
    numbers, bases = columns["num_records"].to_pylist(), columns["base_offset"].to_pylist()
    for row, batch in wrappers.items():
        try:
            records = batch.records()
        except KafkaSpecError:
            continue  # its row has the error, or the records are not asked for
        numbers[row], bases[row] = len(records), records[0].offset
    columns["num_records"] = pa.array(numbers, pa.int32())
    columns["base_offset"] = pa.array(bases, pa.int64())


def _placed(columns: dict[str, Any], rows: int, place: Place) -> pa.RecordBatch:
    values = {"topic": place.topic, "partition": place.partition, "file": place.path}
    made = []
    for name, kind in zip(_ARROW.names, _ARROW.types, strict=True):
        if name in values:
            made.append(pa.repeat(pa.scalar(values[name], kind), rows))
        else:
            made.append(columns[name])
    return pa.RecordBatch.from_arrays(made, schema=_ARROW)


def _one_by_one(segment: Segment, place: Place) -> Iterator[pa.RecordBatch]:
    """Yield the headers of a segment in which some cannot be read."""
    rows: list[dict[str, Any]] = []
    for item in segment.scan():
        if isinstance(item, KafkaSpecError):
            rows.append(_error_row(item))
        else:
            rows.append(_row(item, place))
        if len(rows) == _ROWS:
            yield _made(rows, place)
            rows = []
    if rows:
        yield _made(rows, place)


def _error_row(error: KafkaSpecError) -> dict[str, Any]:
    return {"position": error.offset, "error": str(error)}


def _row(batch: Batch, place: Place) -> dict[str, Any]:
    extra: dict[str, list[Any]] = {"payload": [None], "uncompressed": [None], "error": [None]}
    number, base = batch.num_records, batch.base_offset if batch.kind.has_record_sets else None
    if not batch.kind.has_record_sets and not batch.is_compressed:
        number, base = 1, batch.last_offset
    if place.ratios and batch.is_compressed:
        _measure(batch, 0, extra)
        if not batch.kind.has_record_sets:
            number = None
    return {
        "position": batch.position,
        "size": batch.size,
        "base_offset": base,
        "last_offset": batch.last_offset,
        "num_records": number,
        "magic": batch.magic,
        "compression": batch.compression_name,
        "timestamp_type": batch.timestamp_type,
        "base_timestamp": _time(batch.base_timestamp),
        "max_timestamp": _time(batch.max_timestamp),
        "leader_epoch": batch.partition_leader_epoch,
        "producer_id": batch.producer_id,
        "producer_epoch": batch.producer_epoch,
        "base_sequence": batch.base_sequence,
        "last_sequence": batch.last_sequence,
        "transactional": batch.is_transactional,
        "control": batch.is_control,
        **{name: values[0] for name, values in extra.items()},
    }


_LARGEST: Final = ((1 << 63) - 1) // 1000


def _time(milliseconds: int | None) -> int | None:
    """Return a time in microseconds; None also for one out of Spark's range."""
    if milliseconds is None or milliseconds == -1 or abs(milliseconds) > _LARGEST:
        return None
    return milliseconds * 1000


def _made(rows: list[dict[str, Any]], place: Place) -> pa.RecordBatch:
    columns = {
        name: pa.array([row.get(name) for row in rows], kind)
        for name, (kind, _) in _COLUMNS.items()
    }
    return _placed(columns, len(rows), place)
