"""The records of a segment, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from kafkaspec.codecs.base import PlainRecords
from kafkaspec.model import Record

if TYPE_CHECKING:
    from kafkaspec.log.segment import Segment


def runs(
    segment: Segment, check: Callable[[], None] | None, start_offset: int | None, control: bool
) -> Iterator[Iterable[Record]]:
    """The records of a batch, or of many: what is iterated without running any Python.

    Args:
        segment: where they are.
        check: see ``Codec.plain_records``.
        start_offset: smallest offset that is wanted.
        control: whether control records come too.

    Raises:
        KafkaSpecError: a batch cannot be read.
    """
    position = 0
    cursor = segment.cursor()
    plain: PlainRecords | None = None
    while True:
        while start_offset is None and position < segment.size:
            segment.check()
            buffer, base = segment.around(cursor, position)
            verify = segment.crc == "error"
            plain = segment.codec.plain_records(buffer, position - base, verify, check)
            if plain is None:
                break
            yield plain
            if base + plain.end == position:
                break
            position = base + plain.end
        # Entries that need more than decoding, one after the other.
        for batch in segment.batches(position, start_offset=start_offset):
            position = batch.end
            if not batch.is_control or control:
                records = batch.records()
                if start_offset is not None:  # offsets may go back: each is looked at
                    records = [record for record in records if record.offset >= start_offset]
                yield records
            if batch.is_control and plain is not None:
                break  # plain ones may follow again
        else:
            return
