"""Deal out work on files to tasks, the largest first, so that all end at about the same time.

Tasks get and return rows of bytes that our own functions pickled, compressed: paths repeat.
"""

from __future__ import annotations

import heapq
import pickle
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from kafkaspec.errors import KafkaSpecError
from kafkaspec.log.listed import SegmentFile
from kafkaspec.spark.schema import spark_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROUNDS: Final = 3
"""Tasks for each slot: more of them even out better, but each costs tens of milliseconds."""

_SLOTS_UNKNOWN: Final = 8
"""Slots to assume where the session does not say, as with Spark Connect."""

_RESULT: Final = pa.schema([("number", pa.int64()), ("result", pa.binary())])


def slots_of(spark: SparkSession) -> int:
    """Return the number of tasks that run at the same time."""
    try:
        return int(spark.sparkContext.defaultParallelism)
    except Exception:  # Spark Connect has no context; its error has changed with versions
        return _SLOTS_UNKNOWN


def size_of(item: SegmentFile) -> int:
    """Return the bytes of a segment; 0 if unreadable, which its task reports."""
    try:
        return item.size
    except KafkaSpecError:
        return 0


def dealt(sizes: Sequence[int], hands: int) -> list[list[int]]:
    """Divide the numbers of the units into ``hands`` of about equal size."""
    made: list[list[int]] = [[] for _ in range(max(1, min(hands, len(sizes))))]
    heap = [(0, hand) for hand in range(len(made))]
    for number in sorted(range(len(sizes)), key=lambda n: (-sizes[n], n)):
        total, hand = heapq.heappop(heap)
        made[hand].append(number)
        heapq.heappush(heap, (total + max(1, sizes[number]), hand))
    return made


def spread(
    spark: SparkSession, units: Sequence[Any], sizes: Sequence[int], tasks: int | None = None
) -> DataFrame:
    """Return the units, pickled, as rows; one partition for each hand."""
    hands = dealt(sizes, tasks or ROUNDS * slots_of(spark))
    rows = [
        (hand, bytearray(packed(units[number])))
        for hand, numbers in enumerate(hands)
        for number in numbers
    ]
    frame = spark.createDataFrame(rows, "hand int, unit binary")
    # A hash would lay several hands into one partition, and for ranges Spark reads all rows first.
    return frame.repartitionById(len(hands), "hand").select("unit")


def computed(
    spark: SparkSession,
    units: Sequence[Any],
    sizes: Sequence[int],
    function: Callable[[Any], Any],
    tasks: int | None = None,
) -> Iterator[tuple[int, Any]]:
    """Yield the number of each unit and the result of ``function``, as tasks end.

    The function is one of a module, so that workers find it; by default there are three tasks a
    slot.
    """
    numbered = list(enumerate(units))
    results = rows_of(spark, numbered, sizes, partial(_result, function), _RESULT, tasks)
    for row in results.collect() if units else ():
        yield row.number, unpacked(row.result)


def _result(function: Callable[[Any], Any], unit: tuple[int, Any]) -> Iterator[pa.RecordBatch]:
    result = packed(function(unit[1]))
    yield pa.RecordBatch.from_pylist([{"number": unit[0], "result": result}], _RESULT)


def rows_of(
    spark: SparkSession,
    units: Sequence[Any],
    sizes: Sequence[int],
    function: Callable[[Any], Iterator[pa.RecordBatch]],
    schema: pa.Schema,
    tasks: int | None = None,
) -> DataFrame:
    """Return the record batches of ``function`` for the units as a DataFrame; see ``computed``."""
    kinds = spark_schema(schema)
    if not units:
        return spark.createDataFrame([], kinds)
    return spread(spark, units, sizes, tasks).mapInArrow(partial(_rows, function), kinds)


def _rows(
    function: Callable[[Any], Iterator[pa.RecordBatch]], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for unit in batch.column(0):
            yield from function(unpacked(unit.as_py()))


def told(function: Callable[[Any], Any], unit: Any) -> Any:
    """Return the result, or our error as one: Spark would make another error of it."""
    try:
        return function(unit)
    except KafkaSpecError as error:
        return error


def packed(unit: Any) -> bytes:
    """Return a unit or a result as bytes."""
    return zlib.compress(pickle.dumps(unit), 1)


def unpacked(data: bytes | bytearray) -> Any:
    """Return what ``packed`` got."""
    return pickle.loads(zlib.decompress(data))
