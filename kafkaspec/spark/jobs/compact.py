"""The last record of each key, as rows; ``compaction`` is what leaves logs as Kafka's cleaner does.

Kafka: ``Cleaner`` and ``LogCleanerManager.cleanableOffsets``. The cleaner keeps a record that has
a key and is the last one of it, in all segments but the active one; what is in that stays as it
is, and does not push out what lies before it. It removes records without a key, and those of
aborted transactions. It stops at the first open transaction.

Where this differs: records of aborted and open transactions are left out everywhere, since rows
that are written again have no producer, and consumers would take them for committed ones. Markers
are not rows. How many rows each rule leaves out is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, Unpack

from pyspark.sql import Window
from pyspark.sql import functions as f

from kafkaspec.conversion.fields import header_values, record_values
from kafkaspec.errors import Reason, make_error
from kafkaspec.layout import names
from kafkaspec.layout.framing import ENTRY, field_of
from kafkaspec.log.segment import Segment
from kafkaspec.options import checked
from kafkaspec.spark import read, write
from kafkaspec.spark.jobs.units import PLACE, beside, computed, size_of
from kafkaspec.spark.named import TopicsNames, WriteNames
from kafkaspec.spark.paths import SegmentFile, check_place, find_logs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Clean = Literal["closed", "all"]
"""Which segments: all but the active one, the last, as Kafka does; or that too."""

_LAST_OFFSET: Final = field_of(ENTRY, names.BASE_OFFSET).largest


@dataclass
class Compaction:
    """The result of ``compact``.

    Attributes:
        records: the rows that are left, with the columns of the data source.
        counts: by topic-partition: all ``records``, those ``kept``, and those left out:
            ``superseded`` by a later record of the same key, ``keyless``, ``tombstones``,
            ``not_committed`` (of aborted or open transactions).
        segments: that the rows come from.
        paths: that were read.
    """

    records: DataFrame
    counts: DataFrame
    segments: Sequence[SegmentFile] = ()
    paths: str | Sequence[str] = ()


@checked(own=True)
def compact(
    spark: SparkSession,
    paths: str | Sequence[str],
    *,
    clean: Clean = "closed",
    keep_tombstones: bool = True,
    **options: Unpack[TopicsNames],
) -> Compaction:
    """Return the state that Kafka's cleaner would leave.

    A key with most of the rows does no harm: each task keeps its last record of it only, before
    rows go to where keys meet.

    Args:
        spark: a session.
        paths: a partition or log directory, a glob or a URL, or several.
        clean: which segments.
        keep_tombstones: whether a key whose last record has no value keeps that record. Kafka
            keeps it for ``delete.retention.ms`` and removes it then.
        options: of the data source.

    Raises:
        KafkaSpecError: ``unreadable``: there is nothing under a path.
    """
    logs = find_logs(paths)
    ends = [(log.topic, log.partition, _clean_end(log.segments, clean)) for log in logs]
    bounds = spark.createDataFrame(ends, "topic string, partition int, clean_end bigint")
    rows = read(spark, paths, includeHeaders=True, isolation_level="read_committed", **options)
    columns = rows.columns
    placed = beside(rows, f.broadcast(bounds))
    cleaned = f.col("offset") < f.col("clean_end")
    keyed = placed.where(cleaned & f.col("key").isNotNull())
    last_first = Window.partitionBy(*PLACE, "key").orderBy(f.desc("offset"))
    last = keyed.withColumn("_rank", f.row_number().over(last_first)).where("_rank = 1")
    live = last if keep_tombstones else last.where("value is not null")
    kept = live.select(*columns).unionByName(placed.where(~cleaned).select(*columns))
    counts = _counts(spark, paths, bounds, keep_tombstones, options)
    segments = [segment for log in logs for segment in log.segments]
    return Compaction(kept, counts, segments, paths)


def _clean_end(segments: Sequence[Any], clean: Clean) -> int:
    if clean == "all":
        return _LAST_OFFSET
    return (segments[-1].base_offset or 0) if segments else 0


def _counts(
    spark: SparkSession,
    paths: str | Sequence[str],
    bounds: DataFrame,
    keep_tombstones: bool,
    options: TopicsNames,
) -> DataFrame:
    """Count records; this reads of values only whether there are any."""
    columns = ("topic", "partition", "offset", "key", "value")
    everything = read(spark, paths, ["topic", "partition", "offset"], **options)
    total = everything.groupBy(*PLACE).agg(f.count("*").alias("records"))
    committed = read(spark, paths, columns, isolation_level="read_committed", **options)
    placed = beside(committed, f.broadcast(bounds))
    cleaned = f.col("offset") < f.col("clean_end")
    by_key = (
        placed.where(cleaned & f.col("key").isNotNull())
        .groupBy(*PLACE, "key")
        .agg(
            f.count("*").alias("n"),
            f.max_by(f.col("value").isNull(), "offset").alias("is_tombstone"),
        )
        .groupBy(*PLACE)
        .agg(
            f.sum("n").alias("keyed"),
            f.count("*").alias("keys"),
            f.count_if("is_tombstone").alias("dead"),
        )
    )
    others = placed.groupBy(*PLACE).agg(
        f.count("*").alias("committed"),
        f.count_if(cleaned & f.col("key").isNull()).alias("keyless"),
    )
    joined = beside(beside(total, others), by_key).na.fill(0)
    tombstones = f.lit(0) if keep_tombstones else f.col("dead")
    superseded = f.col("keyed") - f.col("keys")
    kept = f.col("committed") - f.col("keyless") - superseded - tombstones
    return joined.select(
        *PLACE,
        "records",
        kept.alias("kept"),
        superseded.alias("superseded"),
        "keyless",
        tombstones.cast("bigint").alias("tombstones"),
        (f.col("records") - f.col("committed")).alias("not_committed"),
    )


def write_compacted(
    done: Compaction, path: str, *, as_create_time: bool = False, **options: Unpack[WriteNames]
) -> None:
    """Write the remaining records as new segments, with their old offsets.

    Args:
        done: what ``compact`` gave.
        path: a local directory, or one that is mounted alike on all machines; partition
            directories are made in it.
        as_create_time: whether timestamps of brokers (LogAppendTime) become ones of producers.
        options: of the writer: ``compression``, ``segmentBytes`` ...

    Raises:
        KafkaSpecError: ``unencodable``: some field of a header or a record that rows do not have
            differs from its default; the new batches would lose it. ``unreadable``: the
            directory overlaps what was read.
    """
    check_place(path, done.paths)
    _refuse_own_fields(done)
    rows = done.records.drop("timestampType") if as_create_time else done.records
    chosen: WriteNames = {"allowGaps": True, "offsets": "keep", **options}
    write(rows, path, **chosen)


def _refuse_own_fields(done: Compaction) -> None:
    """Refuse what new batches cannot carry, since they hold records of many old ones."""
    found: Counter[str] = Counter()
    sizes = [size_of(segment) for segment in done.segments]
    for _, counts in computed(done.records.sparkSession, done.segments, sizes, _own_fields):
        found.update(counts)
    if found:
        listed = ", ".join(f"{name} in {count} batches" for name, count in sorted(found.items()))
        detail = f"compaction makes new batches, which would lose fields of the old ones: {listed}"
        raise make_error(Reason.UNENCODABLE, detail)


def _own_fields(segment: SegmentFile) -> Counter[str]:
    """Count the batches that have each field that rows do not have, as far as it is not default."""
    found: Counter[str] = Counter()
    with Segment(segment.path, mapped=False) as log:
        for batch in log.batches():
            if batch.is_control or not batch.kind.has_record_sets:
                continue
            own = {name for name, _ in header_values(batch.kind, batch.message)}
            values = record_values(batch, batch.message, batch.decompressed(), log.codec)
            own.update(name for record in values or () for name in record)
            found.update(own)
    return found
