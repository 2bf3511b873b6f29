"""Statistics of logs by topic-partition, from a DataFrame of the headers of all batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Window
from pyspark.sql import functions as f

from kafkaspec.arrow.arrays import constant
from kafkaspec.arrow.headers import SCHEMA, readable_headers
from kafkaspec.errors import KafkaSpecError
from kafkaspec.io.remote import address, as_path
from kafkaspec.log.opening import open_log
from kafkaspec.log.segment import Segment
from kafkaspec.shown import without_credentials
from kafkaspec.spark.columns import has_room
from kafkaspec.spark.jobs.units import PLACE, beside, rows_of, size_of
from kafkaspec.spark.paths import Log, find_logs
from kafkaspec.spark.schema import TIMESTAMP, spark_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_HEADERS: Final = [
    pa.field(field.name, spark_arrow(field.type))
    for field in SCHEMA
    if field.name not in ("delete_horizon", "crc")
]
BATCHES: Final = pa.schema(
    [
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("file", pa.string()),
        *_HEADERS,
        pa.field("payload", pa.int64()),
        pa.field("uncompressed", pa.int64()),
        pa.field("error", pa.string()),
    ]
)
"""Columns of ``Stats.batches``. ``payload`` and ``uncompressed`` are bytes of compressed records
before and after decompression, null where there is nothing compressed."""

_MEASURED: Final = ("payload", "uncompressed", "error")
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
    logs = find_logs(paths)
    found = [(log, item) for log in logs for item in log.segments]
    units = [Place(address(item.path), log.topic, log.partition, ratios) for log, item in found]
    sizes = [size_of(item) for _, item in found]
    batches = rows_of(spark, units, sizes, read_headers, BATCHES, tasks).persist()
    places = spark.createDataFrame(
        [_log_row(log) for log in logs],
        "topic string, partition int, directory string, segments int, file_bytes bigint",
    )
    return Stats(batches, *_summaries(batches, places))


def _log_row(log: Log) -> tuple[Any, ...]:
    size = sum(size_of(item) for item in log.segments)
    return log.topic, log.partition, str(log.directory), len(log.segments), size


def _summaries(batches: DataFrame, places: DataFrame) -> tuple[DataFrame, ...]:
    sound = batches.where(_WRITTEN)
    records = f.sum(f.when(~f.col("control"), f.col("num_records"))).alias("records")
    count, size = f.count("*").alias("batches"), f.sum("size").alias("bytes")
    first, last = f.min("base_offset").alias("first_offset"), f.max("last_offset")
    by_log = batches.groupBy(*PLACE).agg(
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
    partitions = beside(places, by_log).na.fill(0, ["batches", "records", "bytes", "errors"])
    codecs = sound.groupBy(*PLACE, "magic", "compression").agg(
        count,
        records,
        size,
        f.sum("payload").alias("payload"),
        f.sum("uncompressed").alias("uncompressed"),
        f.try_divide(f.sum("uncompressed"), f.sum("payload")).alias("ratio"),
    )
    step = f.pow(f.lit(2), f.floor(f.log2("size"))).cast("bigint").alias("size_from")
    sizes = sound.groupBy(*PLACE, step).agg(count, records, size)
    producers = (
        sound.where("producer_id >= 0")
        .groupBy(*PLACE, "producer_id", "producer_epoch")
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
    times = sound.groupBy(*PLACE, hour).agg(count, records, size)
    before = f.lag("last_offset").over(Window.partitionBy(*PLACE).orderBy("last_offset"))
    gaps = (
        sound.where("base_offset is not null")
        .select(*PLACE, "file", "position", before.alias("after_offset"), "base_offset")
        .withColumn("missing", f.col("base_offset") - f.col("after_offset") - 1)
        .where("missing > 0")
    )
    return partitions, codecs, sizes, producers, times, gaps


def read_headers(place: Place) -> Iterator[pa.RecordBatch]:
    """Yield the headers of a segment as rows of ``BATCHES``, in a task."""
    try:
        opened = open_log(as_path(place.path), mapped=False)
    except KafkaSpecError as error:
        yield _made({"position": [error.offset], "error": [str(error)]}, 1, place)
        return
    assert isinstance(opened, Segment)
    with opened as segment:
        for found in readable_headers(segment):
            if isinstance(found, KafkaSpecError):
                yield _made({"position": [found.offset], "error": [str(found)]}, 1, place)
            else:
                yield _from_headers(found, segment, place)


def _from_headers(batch: pa.RecordBatch, segment: Segment, place: Place) -> pa.RecordBatch:
    columns = {field.name: _cast(batch.column(field.name), field.type) for field in _HEADERS}
    if place.ratios:
        _measure(segment, columns)
    return _made(columns, batch.num_rows, place)


def _cast(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if kind == TIMESTAMP:  # one that Spark has no room for is null
        room = has_room(values.view(pa.int64()))
        return pc.if_else(room, values, pa.scalar(None, values.type)).cast(kind)
    return values.cast(kind)


def _measure(segment: Segment, columns: dict[str, Any]) -> None:
    """Add what only decompression reveals."""
    found: list[dict[str, Any]] = []
    inner: dict[int, tuple[int, int]] = {}
    for row, name in enumerate(columns["compression"].to_pylist()):
        found.append({})
        if name == "none":
            continue
        batch = segment.batch_at(columns["position"][row].as_py())
        try:
            found[row] = {"uncompressed": len(batch.decompressed())}
            found[row]["payload"] = len(batch.payload or b"")
        except KafkaSpecError as error:
            found[row] = {"error": str(error)}
        if not batch.kind.has_record_sets:
            with suppress(KafkaSpecError):  # its row has the error
                records = batch.records()
                inner[row] = len(records), records[0].offset
    for number, name in enumerate(("num_records", "base_offset") if inner else ()):
        columns[name] = columns[name].to_pylist()
        for row, values in inner.items():
            columns[name][row] = values[number]
    columns |= {name: [row.get(name) for row in found] for name in _MEASURED}


def _made(columns: dict[str, Any], rows: int, place: Place) -> pa.RecordBatch:
    """Return rows of ``BATCHES``; a column that is not given is null."""
    of_place = {
        "topic": place.topic,
        "partition": place.partition,
        "file": without_credentials(place.path),
    }
    made = []
    for field in BATCHES:
        values = columns.get(field.name)
        if values is None:
            made.append(constant(of_place.get(field.name), field.type, rows))
        else:
            made.append(values if isinstance(values, pa.Array) else pa.array(values, field.type))
    return pa.RecordBatch.from_arrays(made, schema=BATCHES)
