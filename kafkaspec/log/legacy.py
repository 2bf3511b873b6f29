"""Messages of magic 0 and 1, and the wrappers that hold them compressed.

The rules are those of Kafka's own iterator (``AbstractLegacyRecordBatch.DeepRecordsIterator``):

* Exactly one level: a compressed message inside a wrapper is refused.
* Offsets follow the magic of the wrapper. In magic 0 inner offsets are absolute. In magic 1 they
  are relative, and the wrapper has the absolute offset of the last one; a wrapper with offset 0
  leaves them as they are, since old librdkafka wrote absolute ones there.
* The layout and the timestamp follow the magic of each inner message, which need not be that of
  the wrapper (KAFKA-4298, quirk Q21). Any magic but 0 has the layout of 1. With LogAppendTime the
  time of the wrapper is that of every inner message of magic 1; inner attributes do not matter for
  the time.
* An inner entry that is cut or reaches beyond the end is dropped silently, and the one before it
  becomes the last one (quirk Q13).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from kafkaspec._generated.python.model.recordbatch import Entry, LegacyMessage
from kafkaspec._generated.python.runtime import signed64
from kafkaspec.codecs import Buffer
from kafkaspec.codecs.base import Survey
from kafkaspec.errors import KafkaSpecError, Reason, TruncatedError
from kafkaspec.layout import EntryKind, names
from kafkaspec.layout.framing import ENTRY, FRAMING, HEADER_UP_TO_MAGIC, message_size
from kafkaspec.layout.kinds import KINDS, compression_of
from kafkaspec.log.batch import (
    LOG_APPEND_TIME,
    NO_TIMESTAMP,
    NO_TIMESTAMP_TYPE,
    Batch,
    Context,
    InnerMessage,
    held_payload,
    memory_error,
    payload_chunks,
    payload_error,
)
from kafkaspec.log.pieces import PIECE_BYTES, PieceWindow, Records, WrappedMessages
from kafkaspec.model import Record

_AT_ONCE: Final = 1 << 14
_MAGICS: Final = [magic for magic, kind in KINDS.items() if not kind.has_record_sets]
_MAGIC: Final = HEADER_UP_TO_MAGIC - 1
"""Position of the magic, one byte, in an entry."""


def has_relative_offsets(kind: EntryKind) -> bool:
    """Return whether offsets inside a wrapper are relative to the wrapper.

    They are in formats with timestamps: 0.10 introduced both (KIP-31 and KIP-32).
    """
    return kind.has_timestamps


@dataclass(frozen=True, slots=True)
class Shift:
    """Changes to the messages of a regular wrapper.

    Attributes:
        count: number of messages.
        untimed: number of those without timestamps.
        offset: number to add to each offset.
        base_offset: offset of the first message, after the addition.
        timestamp: replaces each timestamp, in ms; None to keep them.
    """

    count: int
    untimed: int
    offset: int
    base_offset: int
    timestamp: int | None


def shift_of(
    found: Survey | None, kind: EntryKind, offset: int, append_time: int | None
) -> Shift | None:
    """Return the changes to the messages of a wrapper; None if it is not regular.

    Args:
        found: what the messages have in common; None if they are not regular.
        offset: offset of the wrapper.
        append_time: timestamp of the wrapper in ms if it has LogAppendTime, and so the timestamp of
            all its messages; None otherwise.
    """
    if found is None or not found.count:
        return None
    shift = 0
    if has_relative_offsets(kind) and offset:
        if offset < found.last:
            return None
        shift = offset - found.last
    if append_time is not None and found.untimed:  # a message without a timestamp gets none
        if found.untimed < found.count:
            return None
        append_time = None
    first = signed64(found.first + shift)
    return Shift(found.count, found.untimed, signed64(shift), first, append_time)


class LegacyBatch(Batch):
    """An entry of magic 0 or 1: one message, or the wrapper of several compressed ones.

    Attributes:
        dropped_bytes: bytes after the last message of a wrapper; 0 before its messages are read.
        unknown_magic: magic of a message in a wrapper that does not exist; None before as well.
    """

    __slots__ = ("_base_offset", "_num_records", "dropped_bytes", "unknown_magic")

    message: LegacyMessage
    _payload_field = names.VALUE

    def __init__(
        self, message: LegacyMessage, position: int, data: memoryview, context: Context
    ) -> None:
        super().__init__(message, position, data, context)
        known = not self.is_compressed
        self._base_offset: int | None = self.message.offset if known else None
        self._num_records: int | None = 1 if known else None
        self.dropped_bytes = 0
        self.unknown_magic: int | None = None

    @property
    def base_offset(self) -> int:
        if self._base_offset is None:
            self._find_shift(held_payload(self))
            assert self._base_offset is not None
        return self._base_offset

    @property
    def last_offset(self) -> int:
        return self.message.offset

    _stored_offset = last_offset

    @property
    def num_records(self) -> int | None:
        return self._num_records

    @property
    def _ignored_bytes(self) -> int:
        return len(self.message.unused)

    @property
    def timestamp_type(self) -> str:
        return super().timestamp_type if self.kind.has_timestamps else NO_TIMESTAMP_TYPE

    @property
    def max_timestamp(self) -> int:
        timestamp = self.message.timestamp
        return NO_TIMESTAMP if timestamp is None else timestamp

    @property
    def payload(self) -> Buffer | None:
        return self.message.value

    @property
    def payload_position(self) -> int:
        return self.end - len(self.message.unused) - len(self.message.value or b"")

    def records(self, max_output: int | None = None) -> Sequence[Record]:
        self._verify()
        message = self.message
        if not self.is_compressed:
            return [Record(message.offset, self.max_timestamp, message.key, message.value)]
        try:
            payload = held_payload(self, max_output)
            runs = self._fast_runs(payload, max_output) or self._runs(payload, max_output)
            count = self._num_records
            assert count is not None
            if payload is None or len(payload) > PIECE_BYTES:
                return Records(count, runs)
            return [record for run in runs() for record in run]
        except MemoryError:
            raise memory_error(self) from None

    def regular(
        self, payload: Buffer | None, max_output: int | None = None, *, verify: bool = False
    ) -> tuple[WrappedMessages, Shift] | None:
        """Return the messages of a regular wrapper; None if it is not, or the codec cannot tell.

        Args:
            payload: what ``held_payload`` returns.
            verify: whether all checksums inside have to match.

        Raises:
            KafkaSpecError: the wrapper cannot be decompressed.
        """
        messages = WrappedMessages(
            self._context.codec, payload_chunks(self, payload, max_output), verify
        )
        appended = self.timestamp_type == LOG_APPEND_TIME
        shift = shift_of(
            messages.survey, self.kind, self.last_offset, self.max_timestamp if appended else None
        )
        if shift is None:
            return None
        self._base_offset, self._num_records = shift.base_offset, shift.count
        self.dropped_bytes = messages.dropped
        return messages, shift

    def _fast_runs(
        self, payload: Buffer | None, max_output: int | None
    ) -> Callable[[], Iterator[list[Record]]] | None:
        """Return a function that reads the records of a regular wrapper in lists."""
        codec = self._context.codec
        found = self.regular(payload, max_output, verify=self._context.crc == "raise")
        if found is None:
            return None
        messages, shift = found

        def runs() -> Iterator[list[Record]]:
            for data in messages:
                position = 0
                while position < len(data):
                    records, position = codec.message_records(
                        data, position, shift.offset, shift.timestamp
                    )
                    yield records

        return runs

    def _runs(
        self, payload: Buffer | None, max_output: int | None
    ) -> Callable[[], Iterator[list[Record]]]:
        """Return a function that reads the records of any wrapper in lists, once checked."""
        chunks = payload_chunks(self, payload, max_output)
        refused: list[InnerMessage] = []

        def check(inner: InnerMessage) -> None:
            if not refused and self._refused(inner) is not None:
                refused.append(inner)

        shift = self._measured(chunks, check)
        for inner in refused:  # again, since the text says what the offset is
            error = self._refused(inner._replace(offset=signed64(inner.offset + shift)))
            assert error is not None
            raise error

        def runs() -> Iterator[list[Record]]:
            messages = self._messages(chunks())
            while inner := list(islice(messages, _AT_ONCE)):
                yield [self._record(message, shift) for message in inner]

        return runs

    def _measured(
        self,
        chunks: Callable[[], Iterator[Buffer]],
        check: Callable[[InnerMessage], None] | None = None,
    ) -> int:
        """Return the number to add to each stored inner offset, and note what the messages show."""
        count = first = last = 0
        for inner in self._messages(chunks()):
            first, last = first if count else inner.offset, inner.offset
            count += 1
            if check is not None:
                check(inner)
        if not count:
            detail = "a compressed message that holds no message"
            raise payload_error(self, Reason.EMPTY_WRAPPER, detail)
        shift = self._shift(last)
        self._base_offset, self._num_records = signed64(first + shift), count
        return shift

    def _refused(self, inner: InnerMessage) -> KafkaSpecError | None:
        """Return the error for a message that a wrapper may not hold; None for any other."""
        if compression_of(inner.message):
            error = payload_error(
                self, Reason.NESTED_COMPRESSION, "a compressed message inside a compressed message"
            )
            error.inner_position = inner.position
            return error
        try:
            self._verify_inner(inner)
        except KafkaSpecError as error:
            return error
        return None

    def _record(self, inner: InnerMessage, shift: int) -> Record:
        message = inner.message
        timestamp = message.timestamp
        if timestamp is None:
            timestamp = NO_TIMESTAMP
        elif self.timestamp_type == LOG_APPEND_TIME and inner.magic in _MAGICS:
            timestamp = self.max_timestamp
        return Record(signed64(inner.offset + shift), timestamp, message.key, message.value)

    def inner_messages(self, max_output: int | None = None) -> Iterator[InnerMessage]:
        """Yield the messages inside a wrapper, without checking their checksums.

        Args:
            max_output: maximum number of bytes of the decompressed payload; by default that of the
                segment.

        Yields:
            At least one message for a wrapper, none for an entry that is not compressed.

        Raises:
            KafkaSpecError: the wrapper cannot be read.
        """
        if not self.is_compressed:
            return
        payload = held_payload(self, max_output)
        shift = self._find_shift(payload, max_output)
        for inner in self._messages(payload_chunks(self, payload, max_output)()):
            yield inner._replace(offset=signed64(inner.offset + shift)) if shift else inner

    def _find_shift(self, payload: Buffer | None, max_output: int | None = None) -> int:
        """Return the number to add to each stored inner offset."""
        found = self.regular(payload, max_output)
        if found is None:
            return self._measured(payload_chunks(self, payload, max_output))
        return found[1].offset

    def _messages(self, chunks: Iterator[Buffer]) -> Iterator[InnerMessage]:
        """Yield the messages inside a wrapper with their offsets as stored."""
        parse, origin = self._context.codec.parse, self._origin
        self.dropped_bytes = 0
        window, before, position = PieceWindow(chunks), 0, 0
        while True:
            payload = window.data
            data, start, place, known = payload, position, origin, True
            if len(payload) - position > _MAGIC and payload[position + _MAGIC] not in _MAGICS:
                data, start, known = _as_newest(payload, position), 0, False
                place = origin.after(position)
            entry: Entry
            try:
                entry, end = parse(ENTRY, data, start, origin=place)
            except TruncatedError:
                before += position
                window.take(position)
                position = 0
                if window.ended:  # dropped silently, as Kafka does (Q13)
                    self.dropped_bytes = len(window.data)
                    break
                window.fill(max(PIECE_BYTES, 2 * len(window.data)))
                origin = self._origin.after(before)
                continue
            after = position + end - start
            inner = payload[position:after]
            found = InnerMessage(entry.base_offset, entry.message, before + position, inner, self)
            if not known:
                self.unknown_magic = found.magic
            yield found
            position = after

    def _shift(self, last_inner: int) -> int:
        """Return the number to add to each stored inner offset."""
        if not has_relative_offsets(self.kind) or self.last_offset == 0:
            return 0
        if self.last_offset < last_inner:
            detail = f"the wrapper has offset {self.last_offset}, its last message {last_inner}"
            raise payload_error(self, Reason.WRAPPER_OFFSET, detail)
        return self.last_offset - last_inner


def _as_newest(payload: memoryview, position: int) -> memoryview:
    """Return a message of an unknown magic with that of the newest messages (quirk Q21)."""
    end = position + max(FRAMING + message_size(payload, position), HEADER_UP_TO_MAGIC)
    data = bytearray(payload[position:end])
    data[_MAGIC] = _MAGICS[-1]
    return memoryview(data)
