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
from itertools import islice
from typing import Final

from kafkaspec._generated.python.model.recordbatch import Entry, LegacyMessage
from kafkaspec._generated.python.runtime import signed64
from kafkaspec.codecs import Buffer
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
)
from kafkaspec.log.pieces import PIECE_BYTES, Records
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


class LegacyBatch(Batch):
    """An entry of magic 0 or 1: one message, or the wrapper of several compressed ones."""

    __slots__ = ("_base_offset", "_num_records")

    message: LegacyMessage

    def __init__(
        self, message: LegacyMessage, position: int, data: memoryview, context: Context
    ) -> None:
        super().__init__(message, position, data, context)
        known = not self.is_compressed
        self._base_offset: int | None = self.message.offset if known else None
        self._num_records: int | None = 1 if known else None

    @property
    def base_offset(self) -> int:
        if self._base_offset is None:
            self._base_offset = self.inner_messages()[0].offset
        return self._base_offset

    @property
    def stored_offset(self) -> int:
        return self.message.offset

    @property
    def last_offset(self) -> int:
        return self.message.offset

    @property
    def num_records(self) -> int | None:
        return self._num_records

    @property
    def ignored_bytes(self) -> int:
        return len(self.message.unused)

    @property
    def timestamp_type(self) -> str:
        return super().timestamp_type if self.kind.has_timestamps else NO_TIMESTAMP_TYPE

    @property
    def max_timestamp(self) -> int:
        timestamp = self.message.timestamp
        return NO_TIMESTAMP if timestamp is None else timestamp

    @property
    def payload_field(self) -> str:
        return names.VALUE

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
            payload = memoryview(self.decompressed(max_output))
            runs = self._fast_runs(payload) or self._runs(payload)
            count = self._num_records
            assert count is not None
            if len(payload) > PIECE_BYTES:
                return Records(count, runs)
            return [record for run in runs() for record in run]
        except MemoryError:
            raise self.memory_error() from None

    def _fast_runs(self, payload: memoryview) -> Callable[[], Iterator[list[Record]]] | None:
        """Return a function that reads the records of a regular wrapper in lists."""
        codec = self._context.codec
        found = codec.survey(payload, self._context.crc == "error")
        appended = self.timestamp_type == LOG_APPEND_TIME
        if found is None or (appended and 0 < found.untimed < found.count):
            return None
        shift = signed64(self._shift(found.last))
        time = self.max_timestamp if appended and not found.untimed else None
        self._base_offset, self._num_records = signed64(found.first + shift), found.count

        def runs() -> Iterator[list[Record]]:
            position = 0
            while position < len(payload):
                records, position = codec.message_records(payload, position, shift, time)
                yield records

        return runs

    def _runs(self, payload: memoryview) -> Callable[[], Iterator[list[Record]]]:
        """Return a function that reads the records of any wrapper in lists, once all are checked.

        Raises:
            KafkaSpecError: the wrapper cannot be read.
        """
        count = first = last = 0
        refused: KafkaSpecError | None = None
        for inner in self._messages(payload):
            first, last = first if count else inner.offset, inner.offset
            count += 1
            if refused is None:
                refused = self._refused(inner)
        if not count:
            raise self._nothing()
        shift = self._shift(last)
        if refused is not None:
            # Again, since the text says what the offset is.
            refused = None
            for inner in self._messages(payload):
                refused = self._refused(inner._replace(offset=signed64(inner.offset + shift)))
                if refused is not None:
                    raise refused
        self._base_offset, self._num_records = signed64(first + shift), count

        def runs() -> Iterator[list[Record]]:
            messages = self._messages(payload)
            while inner := list(islice(messages, _AT_ONCE)):
                yield [self._record(message, shift) for message in inner]

        return runs

    def _refused(self, inner: InnerMessage) -> KafkaSpecError | None:
        """Return the error for a message that a wrapper may not hold; None for any other."""
        if compression_of(inner.message):
            error = self.error(
                Reason.NESTED_COMPRESSION, "a compressed message inside a compressed message"
            )
            error.inner_offset = inner.position
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

    def inner_messages(self, max_output: int | None = None) -> list[InnerMessage]:
        """Return the messages inside a wrapper, without checking their checksums.

        Args:
            max_output: maximum number of bytes of the decompressed payload; by default that of the
                segment.

        Returns:
            At least one message for a wrapper, none for an entry that is not compressed.

        Raises:
            KafkaSpecError: the wrapper cannot be read.
        """
        if not self.is_compressed:
            return []
        found = list(self._messages(memoryview(self.decompressed(max_output))))
        if not found:
            raise self._nothing()
        shift = self._shift(found[-1].offset)
        if shift:
            found = [inner._replace(offset=signed64(inner.offset + shift)) for inner in found]
        self._base_offset = found[0].offset
        self._num_records = len(found)
        return found

    def _nothing(self) -> KafkaSpecError:
        return self.error(Reason.EMPTY_WRAPPER, "a compressed message that holds no message")

    def _messages(self, payload: memoryview) -> Iterator[InnerMessage]:
        """Yield the messages inside a wrapper with their offsets as stored."""
        parse, whole = self._context.codec.parse, self._origin
        position = 0
        while position < len(payload):
            data, start, origin = payload, position, whole
            if len(payload) - position > _MAGIC and payload[position + _MAGIC] not in _MAGICS:
                data, start, origin = _as_newest(payload, position), 0, whole.after(position)
            entry: Entry
            try:
                entry, end = parse(ENTRY, data, start, origin=origin)
            except TruncatedError:  # dropped silently, as Kafka does (Q13)
                break
            after = position + end - start
            yield InnerMessage(
                entry.base_offset, entry.message, position, payload[position:after], self
            )
            position = after

    def _shift(self, last_inner: int) -> int:
        """Return the number to add to each stored inner offset."""
        if not has_relative_offsets(self.kind) or self.last_offset == 0:
            return 0
        if self.last_offset < last_inner:
            raise self.error(
                Reason.WRAPPER_OFFSET,
                f"the wrapper has offset {self.last_offset}, its last message {last_inner}",
            )
        return self.last_offset - last_inner


def _as_newest(payload: memoryview, position: int) -> memoryview:
    """Return a message of an unknown magic with that of the newest messages (quirk Q21)."""
    end = position + max(FRAMING + message_size(payload, position), HEADER_UP_TO_MAGIC)
    data = bytearray(payload[position:end])
    data[_MAGIC] = _MAGICS[-1]
    return memoryview(data)
