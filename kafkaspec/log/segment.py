"""One segment: its batches, records, columns and lookups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import chain
from typing import NoReturn, Unpack

from kafkaspec.codecs.base import PlainRecords
from kafkaspec.log import lookup
from kafkaspec.log.base import Log
from kafkaspec.log.batch import Batch
from kafkaspec.log.entries import Entries
from kafkaspec.log.headers import HEADERS_AT_ONCE, scanned, skip
from kafkaspec.log.options import RecordOptions
from kafkaspec.log.pieces import WHOLE_BYTES, runs_of
from kafkaspec.log.selection import (
    Selection,
    check_isolation,
    chosen,
    first_position,
    left_out,
    selected,
    selection_of,
)
from kafkaspec.model import Buffer, Record
from kafkaspec.options import checked
from kafkaspec.times import Time, milliseconds


class Segment(Entries, Log):
    """A log segment (``.log``) or a KRaft snapshot (``.checkpoint``); or a buffer with entries.

    Attributes: those of ``Entries``.
    """

    def batches(
        self, start_position: int = 0, *, start_offset: int | None = None, use_index: bool = True
    ) -> Iterator[Batch]:
        """Yield the batches in order. Only headers are read.

        Args:
            start_position: byte offset of an entry to start at.
            start_offset: skip batches that end below this offset. The offset index leads close to
                it; without one, only the headers of the batches before it are read
                    (for a URL: if that is less than reading on).
            use_index: whether ``start_offset`` may be looked up in the offset index. The batches
                are the same; an entry that cannot be right is ignored.

        Raises:
            KafkaSpecError: an entry that cannot be parsed; with ``tail="raise"`` also bytes at
                the end that are not an entry.
        """
        if start_offset is not None and use_index:
            start_position = max(start_position, lookup.start_position(self, start_offset)[0])
        if start_offset is not None:
            start_position, _ = skip(self, start_position, start_offset)
        for batch in self.entries(start_position):
            if start_offset is None or batch.last_offset >= start_offset:
                yield batch

    def part(self, start: int, end: int) -> Segment:
        """Return a segment of the entries from one byte offset to another, each of an entry."""
        buffer, base = self.cursor().at(start, end - start)
        base_offset = self.base_offset
        if base_offset is not None and self.format.offsets_are_positions:
            base_offset += start
        return Segment(
            buffer[start - base : end - base],
            codec=self._context.codec,
            name=self.name,
            max_output=self.max_output,
            base_offset=base_offset,
            log_format=None if self.first else self.format.name,
        )

    @checked
    def records(
        self, start_offset: int | None = None, **options: Unpack[RecordOptions]
    ) -> Iterator[Record]:
        """Return the records in order, one batch decompressed at a time.

        Args:
            start_offset: smallest wanted offset; found through the index.
            options: ``end_offset``, ``start_timestamp``, ``end_timestamp``, ``on_error``; see
                ``kafkaspec.log.selection.Selection``.

        Raises:
            KafkaSpecError: a batch cannot be read.
            ValueError: ``read_committed``, which needs a partition.
        """
        wanted = selection_of(start_offset, **options)
        check_isolation(wanted.isolation)
        return self.select(wanted)

    def select(self, wanted: Selection) -> Iterator[Record]:
        """Return the selected records; see ``records``. A partition has resolved the selection."""
        if not wanted.is_plain:
            return chain.from_iterable(records for _, records in selected(self, wanted))
        # Between two records any time may pass, in which a mapped file may become shorter.
        check = self.check if self.path and self._source.mapped else None
        return chain.from_iterable(self._runs(check, wanted))

    def find(
        self,
        *,
        offset: int | None = None,
        timestamp: Time | None = None,
        max_timestamp: bool = False,
        plain: bool = False,
        start_offset: int | None = None,
        use_index: bool = True,
    ) -> lookup.Found:
        """Find an offset or a timestamp. Give exactly one, or ``max_timestamp``.

        Args:
            offset: finds the first batch that ends at or after it, and in it the first record at
                or after it. Kafka: ``LogSegment.translateOffset``.
            timestamp: a time, see ``kafkaspec.times.Time``; finds the first record, control
                records included, at or after it, as ``LogSegment.findOffsetByTimestamp`` says.
            max_timestamp: the largest one; see ``kafkaspec.log.lookup``.
            plain: with ``timestamp``: control records do not count.
            start_offset: with ``timestamp``: records below it do not count.
            use_index: whether the indexes are used. The answer is the same without.

        Raises:
            KafkaSpecError: a batch on the way cannot be read.
        """
        if (offset is not None) + (timestamp is not None) + max_timestamp != 1:
            raise TypeError("give an offset, a timestamp or max_timestamp")
        if max_timestamp:
            return lookup.find_max_timestamp(self, use_index=use_index)
        if offset is not None:
            return lookup.find_offset(self, offset, use_index=use_index)
        assert timestamp is not None
        return lookup.find_timestamp(
            self,
            milliseconds(timestamp),
            plain=plain,
            start_offset=start_offset,
            use_index=use_index,
        )

    @cached_property
    def largest_timestamp(self) -> lookup.LargestTimestamp:
        """Return the largest timestamp of this segment, as a broker sees it, and its source."""
        return lookup.largest_timestamp(self)

    def __iter__(self) -> Iterator[Batch]:
        """Iterate over the batches in order."""
        return self.batches()

    def __len__(self) -> NoReturn:
        text = "the batches of a segment are not counted before they are read: sum(1 for batch in "
        text += "segment) counts them, and size is the number of bytes"
        raise TypeError(text)

    def __contains__(self, item: object) -> NoReturn:
        raise TypeError(f"ask find(offset={item!r}) whether a segment has an offset")

    def __getitem__(self, item: object) -> NoReturn:
        text = f"{item!r} may be an offset, a position or a place in the order: take "
        text += f"find(offset={item!r}).batch, batch_at({item!r}) or list(segment)[{item!r}]"
        raise TypeError(text)

    def __repr__(self) -> str:
        return f"<Segment {self.name or 'buffer'}: {self.size} bytes>"

    def _runs(
        self, check: Callable[[], None] | None, wanted: Selection
    ) -> Iterator[Iterable[Record]]:
        """Yield the records of one batch or of many, which iterate without running Python code."""
        position = first_position(self, wanted)
        cursor = self.cursor()
        plain: PlainRecords | None = None
        more = True
        while more:
            while wanted.start_offset is None and position < self.size:
                self.check()
                buffer, base = self.around(cursor, position)
                plain = self._plain(buffer, position - base, check, wanted)
                if plain is None:
                    break
                yield plain
                if base + plain.end == position:
                    break
                position = base + plain.end
            # Entries that need more than decoding, one after the other.
            for item in self.entries(position):
                position = item.end
                batch, more = chosen(item, wanted)
                for records in runs_of(batch.records()) if batch is not None else ():
                    if wanted.is_range:  # offsets may go back: check each
                        records = [record for record in records if wanted.keeps(record)]
                    yield records
                alone = item.is_control or not item.is_compressed
                if not more or (plain is not None and alone and item.kind.has_record_sets):
                    break  # plain ones may follow again
            else:
                return

    def _plain(
        self, buffer: Buffer, start: int, check: Callable[[], None] | None, wanted: Selection
    ) -> PlainRecords | None:
        """Return the records of the next batches as far as they need only decoding."""
        headers = None
        if not wanted.takes_all:
            table = scanned(self, buffer, 0, start, HEADERS_AT_ONCE)
            if table is None or table.scan is None:
                return None
            headers = table.scan, left_out(table, wanted)
        verify = self.crc == "raise"
        return self.codec.plain_records(buffer, start, verify, WHOLE_BYTES, check, headers)
