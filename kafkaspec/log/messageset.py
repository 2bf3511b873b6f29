"""Messages of Kafka 0.7 (``.kafka``), each alone or in a set that is compressed as a whole.

Nothing stores an offset: that of a message is the position of its first byte in the log, which is
the position in the file plus the number in the file name. Messages of a compressed set do not
have their own offsets; a consumer fetches the whole set, and all of them get the offset of the set
here. No key, no null, no timestamp exists.

The rules of a set are those of Kafka's own iterator (``ByteBufferMessageSet.internalIterator``):

* Sets may lie in sets, to any depth; the iterator gives the messages in order.
* A message that is cut, and fewer than 4 bytes at the end, are dropped silently; but a set
  whose first message is cut is refused.
* A set may be empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from kafkaspec import compression as compressions
from kafkaspec._generated.layout import ENTRY_KINDS
from kafkaspec._generated.python.model.message_set import CompressionCodec, MessageV0, MessageV1
from kafkaspec.codecs import Buffer, Codec
from kafkaspec.codecs.base import Parser
from kafkaspec.errors import KafkaSpecError, Reason, TruncatedError, make_error
from kafkaspec.layout.framing import Framing
from kafkaspec.log.batch import (
    NO_TIMESTAMP,
    NO_TIMESTAMP_TYPE,
    Batch,
    Context,
    InnerMessage,
    payload_error,
)
from kafkaspec.model import Record

FRAMING: Final = Framing.of("message_set.framed_message")
"""The framing of messages."""

PAYLOAD: Final = "payload"
"""Field with the data of a message."""
_CODECS: Final = {int(codec): codec.name.lower() for codec in CompressionCodec}


class MessageSetBatch(Batch):
    """An entry of a Kafka 0.7 log: one message, or a compressed set of messages."""

    __slots__ = ("_dropped", "_num_records")

    framing = FRAMING
    kinds = ENTRY_KINDS[FRAMING.entry]
    log_format = "0.7"
    inner_name = "a message in the set"
    timestamp_type = NO_TIMESTAMP_TYPE
    max_timestamp = NO_TIMESTAMP
    _payload_field = PAYLOAD

    message: MessageV0 | MessageV1

    def __init__(
        self, message: MessageV0 | MessageV1, position: int, data: memoryview, context: Context
    ) -> None:
        super().__init__(message, position, data, context)
        self._num_records = None if self.is_compressed else 1
        self._dropped = 0

    @property
    def compression(self) -> int:
        return codec_of(self.message)

    @property
    def compression_name(self) -> str:
        return _CODECS.get(self.compression, f"unknown({self.compression})")

    @property
    def base_offset(self) -> int:
        return self._context.base_offset + self.position

    last_offset = _stored_offset = base_offset

    @property
    def next_offset(self) -> int:
        return self._context.base_offset + self.end

    @property
    def num_records(self) -> int | None:
        return self._num_records

    @property
    def _shares_offset(self) -> bool:
        return self.is_compressed

    @property
    def _ignored_bytes(self) -> int:
        return self._dropped

    @property
    def payload(self) -> Buffer:
        return self.message.payload

    @property
    def payload_position(self) -> int:
        return self.end - len(self.payload)

    def decompressed(self, max_output: int | None = None) -> Buffer:
        self._context.check()
        if not self.is_compressed:
            return self.payload
        return self._open(self.message, self._limit(max_output))

    def records(self, max_output: int | None = None) -> list[Record]:
        self._verify()
        offset = self.base_offset
        if not self.is_compressed:
            return [Record(offset, NO_TIMESTAMP, None, bytes(self.payload))]
        records = []
        for inner in self.inner_messages(max_output):
            self._verify_inner(inner)
            if not codec_of(inner.message):
                records.append(Record(offset, NO_TIMESTAMP, None, bytes(inner.message.payload)))
        self._num_records = len(records)
        return records

    def inner_messages(self, max_output: int | None = None) -> Iterator[InnerMessage]:
        """Yield the messages inside a compressed set, sets in it before their messages.

        Args:
            max_output: bytes that the set, and all sets in it together, may decompress to; that
                of the segment by default.

        Raises:
            KafkaSpecError: the set cannot be read.
        """
        if not self.is_compressed:
            return
        self._context.check()
        self._dropped = 0
        left = self._limit(max_output)
        opened: list[Iterator[InnerMessage]] = []
        message: MessageV0 | MessageV1 | None = self.message
        while message is not None or opened:
            if message is not None:
                payload = memoryview(self._open(message, left))
                left -= len(payload)
                opened.append(self._messages(payload))
            inner = next(opened[-1], None)
            message = None
            if inner is None:
                opened.pop()
                continue
            yield inner
            if codec_of(inner.message):
                message = inner.message

    def _messages(self, payload: memoryview) -> Iterator[InnerMessage]:
        """Yield the messages of one set, without those of sets in it."""
        position = 0
        while len(payload) - position >= FRAMING.size:
            try:
                message, after = self._context.codec.parse(
                    FRAMING.entry, payload, position, origin=self._origin
                )
            except TruncatedError:
                if not position:
                    raise
                break
            yield InnerMessage(self.base_offset, message, position, payload[position:after], self)
            position = after
        self._dropped += len(payload) - position

    def _limit(self, max_output: int | None) -> int:
        return self._context.max_output if max_output is None else max_output

    def _open(self, message: MessageV0 | MessageV1, max_output: int) -> bytes:
        """Decompress the payload of a set."""
        codec = codec_of(message)
        try:
            if codec not in _CODECS:
                detail = f"Kafka 0.7 has no compression with id {codec}"
                raise make_error(Reason.UNSUPPORTED_COMPRESSION, detail)
            return compressions.decompress(
                codec, message.payload, magic=message.magic, max_output=max_output
            )
        except KafkaSpecError as error:
            raise payload_error(self, error.reason, error.detail) from None


class MessageSetCodec(Codec):
    """A codec that reads messages of Kafka 0.7 one by one, and nothing by columns.

    The fast paths of codecs are for magic 0 and later; this codec only has ``parse``.
    """

    name = "message_set"

    def __init__(self, codec: Codec) -> None:
        """Wrap a codec."""
        self._codec = codec

    def parser(self, type_key: str) -> Parser:
        return self._codec.parser(type_key)

    def write(self, type_key: str, value: Any, parameters: Sequence[Any], raw: bool) -> bytes:
        return self._codec.write(type_key, value, parameters, raw)


def codec_of(message: MessageV0 | MessageV1) -> int:
    """Return the compression of a message, 0 for one that is not a set."""
    return 0 if isinstance(message, MessageV0) else message.attributes.compression
