"""Deal out work on files to tasks, the largest first, so that all end at about the same time.

Tasks get and return rows of bytes that our own functions pickled, compressed: paths repeat.
"""

from __future__ import annotations

import heapq
import pickle
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa

from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names
from kafkaspec.io.remote import as_path
from kafkaspec.log.cuts import cuts_by_headers, too_large
from kafkaspec.log.listed import SegmentFile
from kafkaspec.log.segment import Segment
from kafkaspec.spark.schema import spark_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROUNDS: Final = 3
"""Tasks for each slot: more of them even out better, but each costs tens of milliseconds."""

PART_BYTES: Final = 16 << 20
"""Least bytes of a part of a segment: to open a file again costs as much as some."""
PIECES: Final = 4
"""Parts of a task, as far as large segments are cut: more even out better."""


_SLOTS_UNKNOWN: Final = 8
"""Slots to assume where the session does not say, as with Spark Connect."""

_RESULT: Final = pa.schema([("number", pa.int64()), ("result", pa.binary())])


class FilePart(NamedTuple):
    """Where a part of a file begins and ends (None for the end of the file), and its bytes."""

    start: int
    end: int | None
    size: int


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


def parts_of(
    spark: SparkSession, paths: Sequence[str], sizes: Sequence[int], tasks: int | None = None
) -> list[list[FilePart]]:
    """Return the parts of each file: several of a segment that would make one task much larger.

    Tasks read the headers of such a segment. It is cut at batches, and not after an entry that only
    a reader of all before it gets past, so that the parts together are what one reader finds.
    """
    target = max(PART_BYTES, -(-sum(sizes) // ((tasks or ROUNDS * slots_of(spark)) * PIECES)))
    large = [number for number, size in enumerate(sizes) if too_large(size, target)]
    work = [(paths[number], sizes[number], target) for number in large]
    found = [[FilePart(0, None, size)] for size in sizes]
    for number, cuts in computed(spark, work, [size for _, size, _ in work], _cuts, tasks):
        ends = pairwise([0, *cuts, sizes[large[number]]])
        *parts, last = (FilePart(start, end, end - start) for start, end in ends)
        found[large[number]] = [*parts, last._replace(end=None)]
    return found


def _cuts(unit: tuple[str, int, int]) -> list[int]:
    """Return where a segment is cut into parts of about so many bytes."""
    path, size, target = unit
    place = as_path(path)
    name = names.parse_segment(place.name)
    if name is None or name.kind != names.LOG:
        return []
    try:
        with Segment(place, mapped=False) as segment:
            cuts = cuts_by_headers(segment, min(size, segment.size), target)
    except KafkaSpecError:
        return []  # who reads it reports it
    return [cut.position for cut in cuts[1:-1]]


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
