"""Sound batches of a segment, many at a time, in columns.

The core says of each entry whether its records agree with its header, and whether it continues the
one before it. What it does not call sound is for the checks of single batches, which are the
reference and make the findings.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkaspec.analysis.check_batch import HEADER_RULES, LATEST, RECORD_RULES
from kafkaspec.analysis.check_order import CONTINUING, SAME_PRODUCER, within
from kafkaspec.analysis.report import FileResult
from kafkaspec.codecs.native.core import Core
from kafkaspec.codecs.native.scan import EntryTable
from kafkaspec.columns import inspection
from kafkaspec.columns.conditions import Compare, Condition, Marks
from kafkaspec.columns.wanted import POSITION
from kafkaspec.errors import KafkaSpecError
from kafkaspec.jobs import in_order
from kafkaspec.layout import EntryKind, names
from kafkaspec.layout.kinds import KINDS
from kafkaspec.log.batch import compression_name
from kafkaspec.log.segment import Segment

if TYPE_CHECKING:
    from kafkaspec.columns.messages import Decoding

PART_BYTES: Final = 8 << 20
"""Bytes of the entries that are worked on at a time, by each thread."""

_ALONE: Final = 1
"""Marks an entry that has to be checked by itself."""
_BEGINS: Final = 2
"""Marks a batch that does not continue the one before it."""
_OTHER: Final = 4
"""Marks a batch that does not continue the data of the producer of the one before it."""
_CONTROL: Final = 8
"""Marks a batch of control records."""
_MOST_PAYLOAD: Final = 256
"""Bytes of a marker that are looked at; it has about 20."""
_MARKED: Final = re.compile(rb"[^\0]")
_BREAKS: Final = bytes(mark & (_ALONE | _CONTROL | _BEGINS) for mark in range(256))
_OTHERS: Final = bytes(mark & _OTHER for mark in range(256))
_RECORDS_AT, _RECORDS_SIZE = f"{names.RECORDS}.position", f"{names.RECORDS}.size"
_HEADER: Final = (
    POSITION, names.BASE_OFFSET, names.LAST_OFFSET, names.LEADER_EPOCH, names.PRODUCER_ID,
    names.PRODUCER_EPOCH, names.BASE_SEQUENCE, names.LAST_SEQUENCE, names.MAX_TIMESTAMP,
    names.IS_TRANSACTIONAL, names.IS_CONTROL, names.NUM_RECORDS,
)  # fmt: skip
"""Columns of the fields of a ``HeaderRow`` after the first one."""


_DECODED: Final = (Compare(names.IS_CONTROL, "!=", 0), Compare(inspection.UNDECODED, "==", 0))
"""The condition for an entry of data of an internal topic."""


class HeaderRow(NamedTuple):
    """The header of a batch in a table; a ``Header`` for ``LogOrder``."""

    kind: EntryKind
    position: int
    base_offset: int
    last_offset: int
    partition_leader_epoch: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    last_sequence: int
    max_timestamp: int
    is_transactional: int
    is_control: int
    num_records: int


@dataclass
class RegularPart(inspection.Inspected):
    """Entries of a segment.

    Attributes:
        marks: a byte for each entry; see ``runs``.
    """

    marks: bytearray = field(default_factory=bytearray)

    def stops(self) -> Iterator[int]:
        """Yield the number after each run: sound batches that continue each other, or one entry."""
        breaks = self.marks.translate(_BREAKS)
        stop = 0
        while stop < len(breaks):
            stop = _next(breaks, stop + 1)
            yield stop

    def data(self, first: int, stop: int) -> Iterator[tuple[int, int]]:
        """Yield the parts of a run that have one producer each, without those that have none."""
        ids = self.column(names.PRODUCER_ID)
        others, start = self.marks[first:stop].translate(_OTHERS), first
        while first < stop:
            end = start + _next(others, first - start + 1)
            if ids[first] >= 0:
                yield first, end
            first = end

    def is_alone(self, number: int) -> bool:
        """Return whether an entry has to be checked by itself."""
        return bool(self.marks[number] & (_ALONE | _CONTROL))

    def marker(self, number: int) -> tuple[int, bytes] | None:
        """Return magic and stored bytes of the one record of a sound control batch of a producer.

        None for any other entry. The same bytes mean the same in each batch that they are in.
        """
        size = self.column(_RECORDS_SIZE)[number]
        if (
            self.marks[number] & (_ALONE | _CONTROL) != _CONTROL
            or self.column(names.COMPRESSION)[number]
            or self.column(names.NUM_RECORDS)[number] != 1
            or self.column(names.PRODUCER_ID)[number] < 0
            or size > _MOST_PAYLOAD
        ):
            return None
        start = self.column(_RECORDS_AT)[number]
        return self.column(names.MAGIC)[number], bytes(self.buffer[start : start + size])

    def position(self, number: int) -> int:
        """Return the byte offset of an entry in the log; that of the end after the last one."""
        if number == self.table.count:
            return self.end
        return self.start + self.column(POSITION)[number]

    def row(self, number: int) -> HeaderRow:
        """Return the header of a batch."""
        position, *fields = [column[number] for column in self._header]
        return HeaderRow(KINDS[self.column(names.MAGIC)[number]], self.start + position, *fields)

    @cached_property
    def _header(self) -> list[memoryview]:
        return [self.column(name) for name in _HEADER]

    def count(self, result: FileResult, first: int, stop: int) -> None:
        """Add a run of sound entries to a result: data of one magic, or a marker."""
        base_offset = self.column(names.BASE_OFFSET)[first]
        result.batches += stop - first
        result.magics[str(self.column(names.MAGIC)[first])] += stop - first
        if self.column(names.IS_CONTROL)[first]:
            result.control_batches += stop - first
        result.records += sum(self.column(names.NUM_RECORDS)[first:stop])
        if result.first_offset is None:
            result.first_offset = base_offset
        result.last_offset = self.column(names.LAST_OFFSET)[stop - 1]
        for codec, count in _counts(self.column(names.COMPRESSION)[first:stop]):
            result.codecs[compression_name(codec)] += count


def _counts(numbers: memoryview) -> Iterable[tuple[int, int]]:
    """Return each of some numbers with how often it is there; quickly if all are the same."""
    data = numbers.tobytes()
    if data == data[: numbers.itemsize] * len(numbers):
        return ((numbers[0], len(numbers)),)
    return Counter(numbers).items()


def _next(marks: bytes | bytearray, number: int) -> int:
    """Return the number of the next mark that is not 0, from a number on; of the end without."""
    found = _MARKED.search(marks, number)
    return len(marks) if found is None else found.start()


class RegularReader:
    """Reads a segment in parts, as far as its entries are regular.

    Args:
        segment: the segment, with a codec that has a core.
        part_bytes: bytes of the entries of a part, unless one entry is larger.
        topic: the internal topic whose records the segment has, None for the user's.
    """

    def __init__(
        self,
        segment: Segment,
        core: Core,
        jobs: int,
        part_bytes: int = PART_BYTES,
        topic: str | None = None,
    ) -> None:
        self._segment = segment
        self._core = core
        self._jobs = jobs
        self._part_bytes = part_bytes
        self._local = threading.local()
        self._messages: Decoding | None = None
        self._marks = _marks(core)
        if topic is not None:
            from kafkaspec.columns.messages import Decoding

            self._messages = Decoding(core, topic)
            self._marks = self._marks.and_also([(_DECODED, _ALONE)])
        if segment.base_offset is not None:
            inside = within(segment.base_offset)
            self._marks = self._marks.and_also((condition, _BEGINS) for condition in inside)

    def parts(self, position: int, end: int | None) -> Iterator[RegularPart]:
        """Yield the parts up to the first entry that is not regular.

        Args:
            end: byte offset of the entry to stop before, None for the end of the segment.

        Raises:
            KafkaSpecError: ``changed``, ``unreadable``.
        """
        end = self._segment.size if end is None else end
        jobs = self._jobs if end - position > self._part_bytes else 1
        errors: list[KafkaSpecError] = []
        yield from in_order(self._part, self._tables(position, end, errors), jobs)
        if errors:
            raise errors[0]

    def _tables(
        self, position: int, end: int, errors: list[KafkaSpecError]
    ) -> Iterator[tuple[EntryTable, memoryview, int]]:
        """Yield tables; an error is kept until the parts before it were taken."""
        try:
            yield from inspection.tables(self._segment, self._core, position, end, self._part_bytes)
        except KafkaSpecError as error:
            errors.append(error)

    def _part(self, item: tuple[EntryTable, memoryview, int]) -> RegularPart:
        inspector: inspection.Inspector | None = getattr(self._local, "inspector", None)
        if inspector is None:
            inspector = self._local.inspector = inspection.Inspector(
                self._segment, self._part_bytes, self._messages
            )
        inspected = inspector.inspect(*item)
        part = RegularPart(inspected.table, inspected.buffer, inspected.start, inspected.facts)
        part.marks = self._marks.of(self._core, part.column, part.table.count)
        return part


@cache
def _marks(core: Core) -> Marks:
    return Marks(
        (
            *((condition, _ALONE) for condition in _sound(core)),
            ((Compare(names.IS_CONTROL, "==", 0),), _CONTROL),
            *((condition, _BEGINS) for condition in CONTINUING),
            *((condition, _OTHER) for condition in SAME_PRODUCER),
        )
    )


def _sound(core: Core) -> Iterator[Condition]:
    """Yield the conditions for an entry of data about which the checks of batches say nothing."""
    yield (Compare(inspection.STATUS, "==", core.module.OK),)
    yield (Compare(names.NUM_RECORDS, ">", 0),)
    yield (Compare(inspection.UNUSED_SIZE, "==", 0),)
    # Indexes are compared with the largest timestamp of the records, and with that of the header.
    yield (Compare(names.MAX_TIMESTAMP, "==", LATEST),)
    for rule in HEADER_RULES:
        yield rule.condition
    for record_rule in RECORD_RULES:
        yield record_rule.condition
