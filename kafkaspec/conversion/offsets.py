"""Old offsets to new ones."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from kafkaspec.conversion.choices import Choices
from kafkaspec.errors import Reason, make_error
from kafkaspec.layout import names
from kafkaspec.layout.framing import field_of
from kafkaspec.layout.kinds import KINDS
from kafkaspec.log.batch import Batch
from kafkaspec.model import Record
from kafkaspec.writing.editing import LARGEST_OFFSET

_LARGEST_SEQUENCE: Final = min(
    field_of(kind.key, names.BASE_SEQUENCE).largest for kind in KINDS.values() if kind.has_producers
)


class Offsets:
    """The offsets of one partition, whose batches come in order.

    Attributes:
        renumbers: whether records get one offset behind the other.
        shift: what is added to each offset otherwise; 0 before the first batch has come.
        next: with ``renumbers``, the offset of the next record.
    """

    def __init__(self, choices: Choices) -> None:
        """Args: what is asked for."""
        self.renumbers = choices.offsets == "renumber"
        self.shift = 0
        self.next = choices.base_offset
        self._first: int | None = choices.base_offset if choices.offsets == "shift" else None

    def begin(self, base_offset: int) -> None:
        """Take the first offset of a batch that will be written; only the first one counts."""
        if self._first is not None:
            self.shift, self._first = self._first - base_offset, None

    def moved(self, offset: int, batch: Batch) -> int:
        """The new offset for one that is not renumbered.

        Raises:
            KafkaSpecError: ``unencodable``: there is no such offset. A negative one is left as it
                is if it does not move.
        """
        new = offset + self.shift
        if self.shift and not 0 <= new <= LARGEST_OFFSET:
            detail = f"offset {offset} cannot be shifted by {self.shift}"
            raise make_error(Reason.UNENCODABLE, detail, file=batch.file, offset=batch.position)
        return new


def sequence_after(base_sequence: int, delta: int) -> int:
    """The sequence number ``delta`` behind another, -1 for none.

    Kafka: ``DefaultRecordBatch.incrementSequence``: after the largest number comes 0.
    """
    return base_sequence if base_sequence < 0 else (base_sequence + delta) & _LARGEST_SEQUENCE


def check_rising(batch: Batch, records: list[Record]) -> None:
    """Refuse what Kafka's builder refuses (``MemoryRecordsBuilder.appendWithOffset``).

    Raises:
        KafkaSpecError: ``invalid_value``; ``unencodable``, the format had one offset for all.
    """
    if batch.shares_offset and len(records) > 1:
        detail = (
            f"{len(records)} messages of a compressed set share offset {batch.base_offset}, which "
            "no later format can say: renumber the offsets"
        )
        raise batch.error(Reason.UNENCODABLE, detail)
    for before, record in pairwise(records):
        if record.offset <= before.offset:
            detail = f"a record with offset {record.offset} follows one with {before.offset}"
            raise batch.error(Reason.INVALID_VALUE, detail)
