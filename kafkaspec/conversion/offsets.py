"""Map old offsets to new ones."""

from __future__ import annotations

from itertools import pairwise
from operator import itemgetter, lt
from typing import Final

from kafkaspec.conversion.choices import Choices
from kafkaspec.errors import Reason, make_error
from kafkaspec.layout import names
from kafkaspec.layout.framing import LARGEST_OFFSET
from kafkaspec.log.batch import Batch, payload_error, shares_offset
from kafkaspec.model import Record

_OFFSET: Final = itemgetter(Record._fields.index(names.OFFSET))
"""Gets the offset of a record, faster than by name."""


class Offsets:
    """The offsets of one partition, whose batches come in order.

    Attributes:
        renumbers: whether records get consecutive offsets.
        shift: number to add to each offset otherwise; 0 before the first batch.
        next: with ``renumbers``, the offset of the next record.
    """

    def __init__(self, choices: Choices) -> None:
        """Begin before the first batch."""
        self.renumbers = choices.offsets == "renumber"
        self.shift = 0
        self.next = choices.base_offset
        self._first: int | None = choices.base_offset if choices.offsets == "shift" else None

    def begin(self, base_offset: int) -> None:
        """Note the first offset of a batch that will be written; only the first call counts."""
        if self._first is not None:
            self.shift, self._first = self._first - base_offset, None

    def take(self, count: int, batch: Batch | None = None) -> int:
        """Return the first of the next ``count`` offsets, for records that are renumbered.

        Raises:
            KafkaSpecError: ``unencodable``: they are out of range.
        """
        first, self.next = self.next, self.next + count
        if count and self.next - 1 > LARGEST_OFFSET:
            detail = f"offset {self.next - 1} is above the largest one, {LARGEST_OFFSET}"
            file, position = (None, None) if batch is None else (batch.file, batch.position)
            raise make_error(Reason.UNENCODABLE, detail, file=file, offset=position)
        return first

    def moved(self, offset: int, batch: Batch) -> int:
        """Return the new offset for one that is kept or shifted; one that is kept may be negative.

        Raises:
            KafkaSpecError: ``unencodable``: the new offset is out of range.
        """
        new = offset + self.shift
        if self.shift and not 0 <= new <= LARGEST_OFFSET:
            detail = f"offset {offset} cannot be shifted by {self.shift}"
            raise make_error(Reason.UNENCODABLE, detail, file=batch.file, offset=batch.position)
        return new


def check_rising(batch: Batch, records: list[Record]) -> None:
    """Refuse records whose offsets do not increase.

    Kafka: ``MemoryRecordsBuilder.appendWithOffset``.

    Raises:
        KafkaSpecError: ``invalid_value``; ``unencodable``: the records share one offset.
    """
    if shares_offset(batch) and len(records) > 1:
        detail = (
            f"{len(records)} messages of a compressed set share offset {batch.base_offset}, which "
            "no later format can express: renumber the offsets"
        )
        raise payload_error(batch, Reason.UNENCODABLE, detail)
    offsets = list(map(_OFFSET, records))
    if all(map(lt, offsets, offsets[1:])):
        return
    before, offset = next(pair for pair in pairwise(offsets) if pair[0] >= pair[1])
    detail = f"a record with offset {offset} follows one with {before}"
    raise payload_error(batch, Reason.INVALID_VALUE, detail)
