"""Read input and output of a conversion again, and compare every field of the specification.

If entries correspond one to one, their headers and whole payloads are compared. Otherwise records
are compared, in columns of the core. If these differ or do not show everything, they are compared
in columns of Arrow, or as objects without PyArrow, and then the fields of headers and records that
no conversion knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest

from kafkaspec.codecs import Codec
from kafkaspec.conversion.agreement import agreeing
from kafkaspec.conversion.choices import Choices
from kafkaspec.conversion.compare_entries import compare_entries, compare_own_fields
from kafkaspec.conversion.partition import PartitionConversion, Progress
from kafkaspec.conversion.report import Comparison
from kafkaspec.conversion.sides import Sides
from kafkaspec.errors import KafkaSpecError
from kafkaspec.log.batch import NO_TIMESTAMP
from kafkaspec.log.segment import Segment
from kafkaspec.model import Record


def compare(
    conversion: PartitionConversion,
    choices: Choices,
    codec: Codec,
    *,
    low: int | None,
    progress: Progress | None = None,
) -> Comparison:
    """Compare the converted part of the input with the output.

    Args:
        conversion: a finished conversion.
        choices: plan of the conversion.
        codec: reads both sides.
        low: smallest offset to compare, None for any.
        progress: called with a file name and the number of bytes of it just compared.
    """
    sides = Sides(conversion, choices, codec, low, progress)
    result = Comparison(columns=sides.columns)
    if compare_entries(sides, result):
        return result
    records = agreeing(sides)
    result.records = records or 0
    if records is not None:
        return result
    try:
        try:
            from kafkaspec.conversion.compare_columns import compare_columns
        except ModuleNotFoundError as error:
            if error.name != "pyarrow":
                raise
            _compare_records(sides, result)
        else:
            compare_columns(sides, result)
        compare_own_fields(sides, result)
    except KafkaSpecError as error:
        result.differ(f"cannot be compared: {error}")
    return result


def _compare_records(sides: Sides, result: Comparison) -> None:
    result.columns = tuple(
        name for name in sides.columns if name in ("offset", "timestamp", "key", "value", "headers")
    )
    pairs: Iterable[tuple[Record | None, Record | None]] = zip_longest(
        _expected(sides), sides.target().records(control=True)
    )
    for expected, made in pairs:
        result.records += 1
        if expected != made:
            result.differ(f"{expected} became {made}")


def _records(part: Segment, sides: Sides) -> Iterator[Record]:
    """Yield the records in the range of timestamps."""
    if not sides.choices.by_time:
        yield from part.records(control=sides.control)
        return
    for batch in part.batches():
        if sides.control or not batch.is_control:
            yield from (record for record in batch.records() if sides.choices.takes(batch, record))


def _expected(sides: Sides) -> Iterator[Record]:
    """Yield the records that the output must have."""
    kind, high = sides.kind, sides.choices.end_offset
    number = 0
    for part in sides.source():
        for record in _records(part, sides):
            if sides.low is not None and record.offset < sides.low:
                continue
            if high is not None and record.offset >= high:
                continue
            offset = record.offset + sides.shift if sides.first is None else sides.first + number
            number += 1
            yield Record(
                offset,
                record.timestamp if kind is None or kind.has_timestamps else NO_TIMESTAMP,
                record.key,
                record.value,
                record.headers if kind is None or kind.has_headers else (),
            )
