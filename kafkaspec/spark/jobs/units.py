"""Work on files, dealt out to tasks: the largest first, so that all end at about the same time.

What a task gets and gives are rows of bytes, which our own functions wrote on the other side.
"""

from __future__ import annotations

import heapq
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from kafkaspec.errors import KafkaSpecError
from kafkaspec.spark.paths import SegmentFile

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


ROUNDS: Final = 3
"""Tasks a slot. More even out better, and each costs tens of milliseconds."""

_SLOTS_UNKNOWN: Final = 8
"""Slots that are assumed where the session does not say, as one of Spark Connect."""

_RESULT: Final = "number bigint, result binary"


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
    """Return the units as rows of ``number`` and pickled ``unit``, one partition for each hand."""
    hands = dealt(sizes, tasks or ROUNDS * slots_of(spark))
    rows = [
        (hand, number, bytearray(pickle.dumps(units[number])))
        for hand, numbers in enumerate(hands)
        for number in numbers
    ]
    frame = spark.createDataFrame(rows, "hand int, number bigint, unit binary")
    # By range, as a hash would lay several hands into one partition.
    return frame.repartitionByRange(len(hands), "hand").select("number", "unit")


def units_in(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, Any]]:
    """Yield numbers and units, in a task."""
    for batch in batches:
        for number, unit in zip(batch.column(0), batch.column(1), strict=True):
            yield number.as_py(), pickle.loads(unit.as_py())


class _Each:
    """Calls a function on each unit, in a task."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number, unit in units_in(batches):
            result = pickle.dumps(self._function(unit))
            yield pa.RecordBatch.from_arrays(
                [pa.array([number], pa.int64()), pa.array([result], pa.binary())],
                names=["number", "result"],
            )


def computed(
    spark: SparkSession,
    units: Sequence[Any],
    sizes: Sequence[int],
    function: Callable[[Any], Any],
    tasks: int | None = None,
) -> Iterator[tuple[int, Any]]:
    """Yield the number of each unit and the result of ``function``, as tasks end.

    Args:
        spark: a session whose workers have kafkaspec and see the same files.
        units: what can be pickled.
        sizes: of the work on each.
        function: of a module, so that workers find it.
        tasks: how many there are to be; three a slot by default.
    """
    if not units:
        return
    frame = spread(spark, units, sizes, tasks).mapInArrow(_Each(function), _RESULT)
    for row in frame.collect():
        yield row.number, pickle.loads(bytes(row.result))


class _Rows:
    """Calls a function that gives record batches for each unit, in a task."""

    def __init__(self, function: Callable[[Any], Iterator[pa.RecordBatch]]) -> None:
        self._function = function

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _, unit in units_in(batches):
            yield from self._function(unit)


def rows_of(
    spark: SparkSession,
    units: Sequence[Any],
    sizes: Sequence[int],
    function: Callable[[Any], Iterator[pa.RecordBatch]],
    schema: str,
    tasks: int | None = None,
) -> DataFrame:
    """Return the record batches of ``function`` for the units as a DataFrame; see ``computed``."""
    if not units:
        return spark.createDataFrame([], schema)
    return spread(spark, units, sizes, tasks).mapInArrow(_Rows(function), schema)
