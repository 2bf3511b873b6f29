"""Input and output of a conversion read again, and compared record by record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest

from kafkaspec.codecs import Codec
from kafkaspec.conversion.choices import Choices
from kafkaspec.conversion.losses import Loss
from kafkaspec.conversion.partition import PartitionConversion, Progress
from kafkaspec.conversion.report import Comparison
from kafkaspec.errors import KafkaSpecError
from kafkaspec.log.batch import NO_TIMESTAMP
from kafkaspec.log.partition import Partition
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
    """Compare what was taken with what was made: in columns, or as records without PyArrow.

    Args:
        conversion: that has run.
        choices: its plan.
        codec: reads both.
        low: smallest offset that was taken, None for any.
        progress: told how many bytes of the input were compared.
    """
    sides = Sides(conversion, choices, codec, low, progress)
    try:
        from kafkaspec.conversion.compare_columns import compare_columns
    except ModuleNotFoundError as error:
        if error.name != "pyarrow":
            raise
        return _compare_records(sides)
    return compare_columns(sides)


class Sides:
    """Where both sides are, and what became of the offsets.

    Attributes:
        choices: the plan.
        losses: what need not be the same.
        low: smallest offset that was taken.
        shift: what was added to each offset.
        first: with offsets renumbered, the first one.
        control: whether control records are on both sides.
    """

    def __init__(
        self,
        conversion: PartitionConversion,
        choices: Choices,
        codec: Codec,
        low: int | None,
        progress: Progress | None,
    ) -> None:
        """Args: as ``compare``."""
        self.choices = choices
        self.low = low
        self.losses = conversion.result.losses
        self.shift = conversion.converter.offsets.shift
        self.first = choices.base_offset if choices.offsets == "renumber" else None
        self.control = choices.magic not in (0, 1)
        self._conversion = conversion
        self._codec = codec
        self._progress = progress

    def source(self) -> Iterator[Segment]:
        """What was taken, in parts that are whole batches."""
        for path, spans in self._conversion.spans:
            with self._conversion.open(path) as segment:
                for start, stop in spans:
                    yield segment.part(start, stop)
                    if self._progress is not None:
                        self._progress(segment.name or "", stop - start)

    def target(self) -> Partition:
        """What was made."""
        return Partition(self._conversion.result.target, codec=self._codec, **self._bound())

    def _bound(self) -> dict[str, int]:
        most = self.choices.max_output
        return {} if most is None else {"max_output": most}

    def may_differ(self, kind: Loss) -> bool:
        """Whether something of that kind was counted."""
        return bool(self.losses[kind].batches)


def _compare_records(sides: Sides) -> Comparison:
    columns = ("offset", "timestamp", "key", "value")
    result = Comparison(columns=columns if sides.choices.magic in (0, 1) else (*columns, "headers"))
    try:
        pairs: Iterable[tuple[Record | None, Record | None]] = zip_longest(
            _expected(sides), sides.target().records(control=True)
        )
        for expected, made in pairs:
            result.records += 1
            if expected != made:
                result.differ(f"{expected} became {made}")
    except KafkaSpecError as error:
        result.differ(f"cannot be compared: {error}")
    return result


def _expected(sides: Sides) -> Iterator[Record]:
    """The records that must have been made."""
    magic, high = sides.choices.magic, sides.choices.end_offset
    number = 0
    for part in sides.source():
        for record in part.records(control=sides.control):
            if sides.low is not None and record.offset < sides.low:
                continue
            if high is not None and record.offset >= high:
                continue
            offset = record.offset + sides.shift if sides.first is None else sides.first + number
            number += 1
            yield Record(
                offset,
                NO_TIMESTAMP if magic == 0 else record.timestamp,
                record.key,
                record.value,
                () if magic in (0, 1) else record.headers,
            )
