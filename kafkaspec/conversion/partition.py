"""Stream one partition through the converter into a new directory."""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from os import PathLike
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from kafkaspec._generated.python.model.producer_snapshot import ProducerEntry
from kafkaspec.broker.settings import LARGEST_TIME
from kafkaspec.codecs import Buffer, Codec
from kafkaspec.conversion.choices import Choices
from kafkaspec.conversion.entries import EntryConverter
from kafkaspec.conversion.losses import Loss
from kafkaspec.conversion.ranges import ByRanges
from kafkaspec.conversion.report import Damage, PartitionResult, TailNote
from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.files import names
from kafkaspec.files.checkpoints import partition_metadata
from kafkaspec.jobs import in_order
from kafkaspec.log.batch import Batch
from kafkaspec.log.damage import ALWAYS_RAISED
from kafkaspec.log.header_table import HeaderTable
from kafkaspec.log.headers import readable_headers
from kafkaspec.log.options import CHUNK_BYTES
from kafkaspec.log.segment import Segment
from kafkaspec.log.transactions import Markers
from kafkaspec.writing.segment_writer import SegmentWriter

FileProgress = Callable[[str, int], None]
"""Called with the name of a file and the number of bytes read from it since the last call."""

_APPEND_BYTES: Final = 1 << 20
"""Size in bytes of the chunks that the writer gets."""
_MESSAGES: Final = 64
"""Number of messages to convert one by one before trying to convert many at once again."""
_BATCHES: Final = 16, 1 << 14
"""The same for batches: at first, and at most, since it doubles as long as that is in vain."""


class PartitionConversion:
    """Converts one partition.

    Attributes:
        spans: parts of the input that were taken.
        lost_snapshot: producer snapshot before the first segment that was not carried over, None if
            there is none.
    """

    def __init__(
        self,
        source: str,
        paths: list[Path],
        target: str | PathLike[str],
        choices: Choices,
        codec: Codec,
        *,
        log_start_offset: int | None = None,
        progress: FileProgress | None = None,
        jobs: int = 1,
    ) -> None:
        """Prepare to convert; read all transactions first if the plan needs their outcomes."""
        self.lost_snapshot: Path | None = None
        self._paths = paths
        self._target = Path(target)
        self._choices = choices
        self._codec = codec
        self._log_start = log_start_offset
        self._progress = progress
        self._jobs = jobs
        self._last: int | None = None
        self._done = 0
        self.result = PartitionResult(source=source, target=str(target))
        self.spans = Spans()
        kind = choices.kind
        needs = choices.drops_aborted or (kind is not None and not kind.has_transactions)
        self.converter = EntryConverter(
            choices,
            codec,
            markers=Markers(self._all_headers()) if needs else None,
            log_start_offset=log_start_offset,
        )

    def run(self) -> None:
        """Read, convert and write everything.

        Raises:
            KafkaSpecError: something cannot be read or written; the new directory is removed.
        """
        pieces = _joined(self._pieces())
        first = next(pieces, None)
        base_offset = self._base_offset(first)
        with SegmentWriter(
            self._target,
            base_offset,
            self._choices.profile,
            segment_bytes=self._choices.segment_bytes,
            segment_ms=LARGEST_TIME,
            topic_id=self._topic_id(),
            producer_state=self._producer_state(base_offset),
            codec=self._codec,
        ) as writer:
            while first is not None:
                writer.append(first)
                first = next(pieces, None)
        self.result.written_segments = len(writer.segments)
        self.result.written_size = sum(segment.size for segment in writer.segments)
        self.result.losses = self.converter.losses

    # -- reading ----------------------------------------------------------------------------

    def open(self, path: Path) -> Segment:
        """Open a segment of the input, which is never mapped: another may cut it at any time."""
        options: dict[str, Any] = {}
        if self._choices.max_output is not None:
            options["max_output"] = self._choices.max_output
        segment = Segment(path, codec=self._codec, crc="raise", mapped=False, **options)
        if self._choices.magic is None and not segment.format.is_written:
            segment.close()
            detail = f"the format of Kafka {segment.format.name} cannot be written: choose a magic"
            raise make_error(Reason.UNENCODABLE, detail, file=segment.name)
        return segment

    def _all_headers(self) -> Iterator[HeaderTable | KafkaSpecError]:
        for segment in self._segments():
            yield from readable_headers(segment)

    def _segments(self, note: Callable[[KafkaSpecError], None] | None = None) -> Iterator[Segment]:
        """Yield the segments, closed when the next one is asked for.

        ``note`` is called with the error of each that is left out as unreadable. If none can be
        opened, the first error is raised.
        """
        first: KafkaSpecError | None = None
        opened = 0
        for path in self._paths:
            try:
                segment = self.open(path)
            except KafkaSpecError as error:
                if self._choices.on_error == "raise" or error.reason not in ALWAYS_RAISED:
                    raise
                first = first or error
                if note is not None:
                    note(error)
                continue
            opened += 1
            with segment:
                yield segment
        if first is not None and not opened:
            raise first

    def _pieces(self) -> Iterator[Buffer]:
        """Yield entries for the writer."""
        for segment in self._segments(self._leave_out):
            assert segment.path is not None
            self.result.segments += 1
            self.result.size += segment.size
            self.spans.begin(segment.path)
            yield from self._segment(segment)
        yield from self.converter.flush()

    def _leave_out(self, error: KafkaSpecError) -> None:
        """Note a file that cannot be read."""
        self.result.unread.append(Damage.of(error))

    def _segment(self, segment: Segment) -> Iterator[Buffer]:
        """Yield entries for the writer: many regular ones at once, all others one by one."""
        self._done = position = 0
        by_columns = self._codec.core is not None and segment.format.has_columns
        batches, most = _BATCHES
        while position < segment.size:
            if by_columns:
                before = position
                for path in self.converter.paths:
                    position = yield from self._by_columns(path, segment, position)
                if position > before:
                    batches = _BATCHES[0]
                    continue
            position = yield from self._one_by_one(segment, position, batches, by_columns)
            batches = min(2 * batches, most)
        self._tell(segment, segment.size)

    def _by_columns(
        self, path: ByRanges, segment: Segment, position: int
    ) -> Generator[Buffer, None, int]:
        """Yield what the regular entries from a position on become; return their end."""
        if not path.available:
            return position

        def taken(read: Iterator[tuple[list[Any], bool]]) -> Iterator[Any]:
            nonlocal position
            for chunks, whole in read:
                for chunk in chunks:
                    if not path.settle(chunk):
                        return
                    self.result.batches += chunk.batches
                    self.result.taken += chunk.batches
                    self.spans.add(chunk.start, chunk.end)
                    self._last, position = chunk.last_offset, chunk.end
                    self._tell(segment, position)
                    yield path.group(chunk)
                if not whole:
                    return

        ranges = path.ranges(segment, position, self._last)
        with (
            closing(in_order(path.read, ranges, self._jobs)) as read,
            closing(in_order(path.write, taken(read), self._jobs)) as made,
        ):
            yield from made
        return position

    def _one_by_one(
        self, segment: Segment, position: int, most: int, by_columns: bool
    ) -> Generator[Buffer, None, int]:
        """Yield some entries; return the position of the next one, or the end of the segment."""
        messages = batches = 0
        for item in segment.scan(position):
            try:
                if isinstance(item, KafkaSpecError):
                    raise item
                self.result.batches += 1
                self._check_order(item)
                yield from self.converter.convert(item)
                if self.converter.took:
                    self.result.taken += 1
                    self.spans.add(item.position, item.end)
                self._last = item.last_offset
            except KafkaSpecError as error:
                if self._choices.on_error == "raise":
                    raise
                self.result.damage(error)
                self.converter.losses.add(Loss.DAMAGED, batches=1)
            if isinstance(item, Batch):
                self._tell(segment, item.end)
                messages += not item.kind.has_record_sets and not item.is_compressed
                batches += item.kind.has_record_sets
                if by_columns and (messages == _MESSAGES or batches == most):
                    return item.end
        tail = segment.tail
        if tail is not None:
            name = segment.name or ""
            self.result.tails.append(TailNote(name, tail.position, tail.size, tail.reason))
        return segment.size

    def _tell(self, segment: Segment, position: int) -> None:
        if self._progress is not None:
            self._progress(segment.name or "", position - self._done)
        self._done = position

    def _check_order(self, batch: Batch) -> None:
        """Refuse offsets that no broker would append after those before them."""
        # Only decompression reveals the first offset of a wrapper; a broker avoids it here too.
        first = batch.last_offset if batch.is_wrapper else batch.base_offset
        if (self._last is not None and first <= self._last) or batch.last_offset < first:
            detail = f"offsets {first} to {batch.last_offset} do not follow {self._last}"
            raise make_error(Reason.INVALID_VALUE, detail, file=batch.file, offset=batch.position)

    # -- writing ----------------------------------------------------------------------------

    def _base_offset(self, first: Buffer | None) -> int:
        """Return the base offset of the first segment."""
        choices = self._choices
        if choices.offsets != "keep":
            return choices.base_offset
        name = names.parse_segment(self._paths[0].name) if self._paths else None
        bounds = (name and name.base_offset, self._log_start, choices.start_offset)
        least = max((bound for bound in bounds if bound is not None), default=0)
        if first is None:
            return max(least, 0)
        batch = next(Segment(first, codec=self._codec).batches())
        return min(max(least, 0), batch.base_offset) if batch.base_offset >= 0 else 0

    def _producer_state(self, base_offset: int) -> list[ProducerEntry] | None:
        """Return the state of producers before the first segment, from the snapshot there.

        A broker has this state on the same log. The snapshot contains offsets and sequence numbers,
        so it is invalid if the log begins at another offset, or if offsets or the magic change.
        """
        segment = next(self._segments(), None)
        if segment is None:
            return None
        found: list[ProducerEntry] = []
        snapshot = None
        with segment:
            try:
                snapshot = segment.producer_snapshot
                if snapshot is not None and not snapshot.crc_valid:
                    raise snapshot.crc_error()
                found = [] if snapshot is None else snapshot.entries
            except KafkaSpecError as error:  # a broker removes such a file and goes on without it
                self._leave_out(error)
            same = segment.base_offset == base_offset and self._choices.offsets == "keep"
        if not found or snapshot is None:
            return None
        kind = self._choices.kind
        if same and (kind is None or kind.has_producers):
            return found
        self.lost_snapshot = snapshot.path
        return None

    def _topic_id(self) -> UUID | None:
        """Return the topic id beside the segments, None if there is none."""
        path = self._paths[0].with_name(names.PARTITION_METADATA) if self._paths else None
        if path is None or not (path.exists() or os.path.lexists(path)):
            return None
        try:
            return partition_metadata.read(path).topic_id
        except KafkaSpecError as error:
            self._leave_out(error)
            return None


def _joined(pieces: Iterator[Buffer]) -> Iterator[Buffer]:
    """Yield the same bytes in larger chunks."""
    waiting = bytearray()
    for piece in pieces:
        if not waiting and len(piece) >= _APPEND_BYTES // 4:
            yield piece
            continue
        waiting += piece
        if len(waiting) >= _APPEND_BYTES:
            yield waiting
            waiting = bytearray()
    if waiting:
        yield waiting


class Spans:
    """Runs of whole batches, in order, each of bounded size unless a batch alone is larger."""

    def __init__(self) -> None:
        self._files: list[tuple[Path, array[int]]] = []

    def begin(self, file: Path) -> None:
        """Continue with another file."""
        self._files.append((file, array("q")))

    def add(self, start: int, stop: int) -> None:
        """Add whole batches of the current file, which come after those that were added."""
        spans = self._files[-1][1]
        if spans and spans[-1] == start and stop - spans[-2] <= CHUNK_BYTES:
            spans[-1] = stop
        else:
            spans.extend((start, stop))

    def __iter__(self) -> Iterator[tuple[Path, Iterator[tuple[int, int]]]]:
        for file, spans in self._files:
            yield file, zip(spans[::2], spans[1::2], strict=True)
