"""Turn rows of a DataFrame into columns for the writer of segments, by topic and partition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec.arrow.schema import TIMESTAMP
from kafkaspec.log.batch import TIMESTAMP_TYPES
from kafkaspec.spark.parsing import OptionError, check_topic
from kafkaspec.spark.schema import OWN_COLUMNS
from kafkaspec.spark.write_options import WriteOptions

RECORD_COLUMNS: Final = ("offset", "timestamp", "key", "value", "headers")
COLUMNS: Final = (*RECORD_COLUMNS, "topic", "partition", "timestampType", *OWN_COLUMNS)
"""Columns that can be written: those of Spark's Kafka source, and fields that only the
specification knows. Only ``value`` is required."""

_TYPES: Final = pa.array(TIMESTAMP_TYPES)
"""By the number in the column ``timestampType`` (Kafka: ``TimestampType.id``)."""
_NO_TYPE: Final = -1
"""Of records of magic 0. Written in another magic, they have CreateTime and no time."""
_TYPE_COLUMN: Final = "timestamp_type"


def spelled(names: Sequence[str]) -> list[str]:
    """Return names of columns as they are documented; Spark ignores letter case."""
    known = {name.lower(): name for name in COLUMNS}
    return [known.get(name.lower(), name) for name in names]


def check_columns(names: Sequence[str], options: WriteOptions) -> bool:
    """Refuse columns that cannot be written; return whether offsets are those of the rows."""
    unknown = [name for name in names if name not in COLUMNS]
    if unknown:
        raise OptionError(
            f"column {unknown[0]!r} cannot be written; there are {', '.join(COLUMNS)}: "
            "leave the others out with drop or select"
        )
    if "value" not in names:
        raise OptionError("there is no column value")
    if "topic" not in names and options.topic is None:
        raise OptionError("the topic is not known: give a column topic, or the option topic")
    keep = "offset" in names if options.keep_offsets is None else options.keep_offsets
    if keep and "offset" not in names:
        raise OptionError("offsets=keep needs a column offset")
    return keep


def by_partition(
    batch: pa.RecordBatch, options: WriteOptions, keep: bool
) -> Iterator[tuple[str, int, pa.RecordBatch]]:
    """Yield the rows of each topic and partition once, as ``SegmentWriter`` takes them."""
    if not batch.num_rows:
        return
    columns = record_columns(batch, keep)
    places = _places(batch, options)
    starts = _starts(places, batch.num_rows)
    found = _values(places, starts)
    if len(set(found)) < len(found):  # a place comes again after another: group its rows
        names = [str(number) for number in range(len(places))]
        order = pc.sort_indices(
            pa.table(places, names=names), sort_keys=[(name, "ascending") for name in names]
        )  # a stable sort, as Arrow documents it
        columns = columns.take(order)
        places = [place.take(order) for place in places]
        starts = _starts(places, batch.num_rows)
        found = _values(places, starts)
    for (topic, partition), start, stop in zip(
        found, starts, [*starts[1:], batch.num_rows], strict=True
    ):
        yield (
            check_topic(options.topic or str(topic)),
            partition,
            columns.slice(start, stop - start),
        )


def _places(batch: pa.RecordBatch, options: WriteOptions) -> list[pa.Array]:
    """Return topic and partition of each row."""
    rows = batch.num_rows
    names = batch.schema.names
    topic = pa.nulls(rows, pa.string())
    if options.topic is None:
        topic = _known(batch.column("topic").cast(pa.string()), "topic")
    if options.partition is not None or "partition" not in names:
        partition = pa.repeat(pa.scalar(options.partition or 0, pa.int32()), rows)
    else:
        partition = _known(_cast(batch.column("partition"), pa.int32(), "partition"), "partition")
        if pc.min(partition).as_py() < 0:
            raise ValueError("column partition has a negative number")
    return [topic, partition]


def _known(column: pa.Array, name: str) -> pa.Array:
    if column.null_count:
        raise ValueError(f"column {name} is null in {column.null_count} rows")
    return column


def _starts(places: list[pa.Array], rows: int) -> list[int]:
    """Return the first row, and those whose place is not that of the row before."""
    starts = {0}
    for place in places:
        if place.null_count < rows:
            differs = pc.not_equal(place.slice(1), place.slice(0, rows - 1))
            starts.update(number + 1 for number in pc.indices_nonzero(differs).to_pylist())
    return sorted(starts)


def _values(places: list[pa.Array], rows: list[int]) -> list[tuple[str | None, int]]:
    chosen = pa.array(rows, pa.int64())
    topics, partitions = (place.take(chosen).to_pylist() for place in places)
    return list(zip(topics, partitions, strict=True))


def record_columns(batch: pa.RecordBatch, keep: bool) -> pa.RecordBatch:
    """Return the columns of records as the writer of segments takes them."""
    given = {name: batch.column(name) for name in batch.schema.names}
    made = {name: given[name] for name in ("key", "value", "headers") if name in given}
    if keep:
        made["offset"] = _known(_cast(given["offset"], pa.int64(), "offset"), "offset")
    if "timestamp" in given:
        made["timestamp"] = _milliseconds(given["timestamp"])
    if "timestampType" in given:
        types = _timestamp_types(given["timestampType"])
        if types is not None:
            made[_TYPE_COLUMN] = types
    for name, column in OWN_COLUMNS.items():
        if name in given:
            made[column.source] = given[name]
    return pa.RecordBatch.from_arrays(list(made.values()), names=list(made))


def _cast(column: pa.Array, kind: pa.DataType, name: str) -> pa.Array:
    try:
        return column.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise ValueError(f"column {name} cannot be written: {error}") from None


def _milliseconds(column: pa.Array) -> pa.Array:
    """Return milliseconds, rounded down as Spark does with its microseconds."""
    if not pa.types.is_timestamp(column.type):
        raise ValueError(f"column timestamp is of type {column.type}, not a timestamp")
    return _cast(pc.floor_temporal(column, unit="millisecond"), TIMESTAMP, "timestamp")


def _timestamp_types(column: pa.Array) -> pa.Array | None:
    """Return names of timestamp types; None if all are CreateTime, which needs no column."""
    numbers = _cast(column, pa.int32(), "timestampType")
    span = pc.min_max(numbers)
    low, high = (span[end].as_py() for end in ("min", "max"))
    if low is None or (low >= _NO_TYPE and high <= 0):
        return None
    if low < _NO_TYPE or high >= len(_TYPES):
        unknown = low if low < _NO_TYPE else high
        raise ValueError(f"column timestampType has {unknown}, which is not a timestamp type")
    codes = pc.fill_null(pc.equal(numbers, high), False).cast(pa.int8())
    return pa.DictionaryArray.from_arrays(codes, _TYPES)


def together(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Return one record batch of several that ``by_partition`` gave."""
    if len(batches) == 1:
        return batches[0]
    if len({_TYPE_COLUMN in batch.schema.names for batch in batches}) > 1:
        batches = [_with_types(batch) for batch in batches]
    return pa.concat_batches(batches)


def _with_types(batch: pa.RecordBatch) -> pa.RecordBatch:
    if _TYPE_COLUMN in batch.schema.names:
        return batch
    codes = pa.repeat(pa.scalar(0, pa.int8()), batch.num_rows)
    return batch.append_column(_TYPE_COLUMN, pa.DictionaryArray.from_arrays(codes, _TYPES))
