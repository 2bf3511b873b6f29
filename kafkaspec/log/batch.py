"""One entry of a log, with the same interface for every magic."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, TypeVar

from kafkaspec import compression
from kafkaspec._generated.python.model.recordbatch import CompressionType
from kafkaspec.checksum import CHECKSUMS
from kafkaspec.codecs import Buffer, Codec, Origin
from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.layout import Checksum, EntryKind, names
from kafkaspec.layout.framing import LOG_FRAMING, Framing, checksum_of, field_of
from kafkaspec.layout.kinds import KINDS, compression_of, magic_of, value_names
from kafkaspec.layout.stand_ins import NO_TIMESTAMP as NO_TIMESTAMP
from kafkaspec.layout.stand_ins import NONE as NONE
from kafkaspec.log.control import ControlRecord, decode_control, decode_controls
from kafkaspec.log.pieces import HELD_BYTES, MOST_RECORDS
from kafkaspec.model import Record
from kafkaspec.options import deprecated
from kafkaspec.policy import CrcPolicy
from kafkaspec.provider import InNotebook

T = TypeVar("T")

CREATE_TIME: Final = "CreateTime"
LOG_APPEND_TIME: Final = "LogAppendTime"
NO_TIMESTAMP_TYPE: Final = "NoTimestampType"
TIMESTAMP_TYPES: Final = tuple(
    name.title().replace("_", "") for name in value_names(names.TIMESTAMP_TYPE)
)
"""Names of the stored timestamp types by their number."""

_timestamp_type: Final[Callable[[Any], int]] = attrgetter(names.TIMESTAMP_TYPE)
_is_transactional: Final[Callable[[Any], int]] = attrgetter(names.IS_TRANSACTIONAL)
_is_control: Final[Callable[[Any], int]] = attrgetter(names.IS_CONTROL)


def compression_name(number: int) -> str:
    """Return ``none``, ``gzip`` and so on for the id of a codec, ``unknown(5)`` if it has none."""
    try:
        return CompressionType(number).name.lower()
    except ValueError:
        return f"unknown({number})"


@dataclass(frozen=True, slots=True)
class Context:
    """Settings that all batches of one input share.

    Attributes:
        codec: the codec that reads the records.
        file: name of the input for errors.
        crc: policy for a wrong CRC.
        max_output: maximum number of bytes that one batch may decompress to.
        check: function that raises an error if the input has changed.
        base_offset: position of the input in its log, for formats whose offsets are positions.
    """

    codec: Codec
    file: str | None
    crc: CrcPolicy
    max_output: int
    check: Callable[[], None]
    base_offset: int = 0


class InnerMessage(NamedTuple):
    """A message inside a compressed one.

    Attributes:
        offset: absolute offset.
        message: the message as it is stored; in magic 1 ``message.offset`` is relative.
        position: byte offset of its entry in the decompressed payload that holds it.
        data: the bytes of its entry.
        batch: the entry that holds it.
    """

    offset: int
    message: Any
    position: int
    data: memoryview
    batch: Batch

    @property
    def kind(self) -> EntryKind:
        """Properties of the format as which it is read."""
        return self.batch.kinds[magic_of(self.message)]

    @property
    def magic(self) -> int:
        """The stored magic, which may be none that exists (quirk Q21)."""
        end = self.batch.framing.up_to_magic
        return int.from_bytes(self.data[end - 1 : end], "big", signed=True)

    @property
    def crc(self) -> int:
        """The stored CRC-32."""
        stored: int = getattr(self.message, checksum_of(self.kind.key).field)
        return stored

    @property
    def computed_crc(self) -> int:
        """CRC-32 of the stored bytes."""
        return _computed(checksum_of(self.kind.key), self.data, self.batch.framing)

    @property
    def crc_valid(self) -> bool:
        """Whether the stored checksum matches the bytes."""
        return self.computed_crc == self.crc


class Batch(InNotebook, ABC):
    """One log entry: a record batch of magic 2, a message of magic 0 or 1, or a wrapper of those.

    Only the header is parsed at first. ``records`` decompresses and parses the rest each time it
    is called and keeps nothing.

    Attributes:
        kind: properties of its format, from the specification.
        position: byte offset of the entry in the file.
        size: bytes of the entry, its offset and size fields included.
        message: the parsed header, an object of the typed model.
    """

    __slots__ = ("_bytes", "_context", "_crc_valid", "kind", "message", "position", "size")

    framing: ClassVar[Framing] = LOG_FRAMING
    kinds: ClassVar[Mapping[int, EntryKind]] = KINDS
    log_format: ClassVar[str | None] = None
    """``0.7`` for entries of Kafka 0.7, which has its own magics."""

    inner_name: ClassVar[str] = "the message with offset {}"
    """Text for a message inside it, with a place for its offset, for errors."""

    kind: EntryKind
    position: int
    size: int
    message: Any

    def __init__(self, message: Any, position: int, data: memoryview, context: Context) -> None:
        self.message = message
        self.kind = self.kinds[magic_of(message)]
        self.position = position
        self.size = len(data)
        self._bytes = data
        self._context = context
        self._crc_valid: bool | None = None

    # -- identity ---------------------------------------------------------------------------

    @property
    def file(self) -> str | None:
        """Name of the file that holds the entry, None for a bare buffer."""
        return self._context.file

    @property
    def end(self) -> int:
        """Byte offset after the entry."""
        return self.position + self.size

    @property
    def data(self) -> memoryview:
        """The bytes of the entry as they are stored."""
        return self._bytes

    @property
    def magic(self) -> int:
        """Number of the format: 0, 1 or 2. ``kind`` says what the format has."""
        return self.kind.magic

    @property
    def is_wrapper(self) -> bool:
        """Whether it is a compressed message, which holds other entries."""
        return self.is_compressed and not self.kind.has_record_sets

    @property
    def compression(self) -> int:
        """Id of the codec as stored, 0 to 7; ids from 5 on mean nothing."""
        return compression_of(self.message)

    @property
    def compression_name(self) -> str:
        """``none``, ``gzip``, ``snappy``, ``lz4``, ``zstd``, or ``unknown(5)`` and so on."""
        return compression_name(self.compression)

    @property
    def is_compressed(self) -> bool:
        """Whether the codec is not ``none``."""
        return self.compression != CompressionType.NONE

    # -- offsets ----------------------------------------------------------------------------

    @property
    @abstractmethod
    def base_offset(self) -> int:
        """First offset.

        Magic 2: as first written, of a record that compaction may have removed. Magic 0 and 1:
        of the first record, for which a wrapper is decompressed when this is first asked.

        Raises:
            KafkaSpecError: a wrapper cannot be read.
        """

    @property
    @abstractmethod
    def _stored_offset(self) -> int:
        """Offset field of the entry, as it is stored: first of a batch, last of a wrapper."""

    @property
    @abstractmethod
    def last_offset(self) -> int:
        """Last offset as first written; the next batch begins after it. Never decompresses."""

    @property
    def next_offset(self) -> int:
        """The smallest offset that the next batch may have."""
        return self.last_offset + 1

    @property
    def _shares_offset(self) -> bool:
        """Whether all its records have the same offset, that of the entry."""
        return False

    @property
    def _ignored_bytes(self) -> int:
        """Bytes that readers skip; of a compressed entry, as far as they are known."""
        return 0

    @property
    @abstractmethod
    def num_records(self) -> int | None:
        """Number of records, None for a legacy wrapper that is not decompressed yet."""

    # -- times ------------------------------------------------------------------------------

    @property
    def timestamp_type(self) -> str:
        """``CreateTime``, ``LogAppendTime``, or ``NoTimestampType`` for magic 0."""
        return TIMESTAMP_TYPES[_timestamp_type(self.message)]

    @property
    @abstractmethod
    def max_timestamp(self) -> int:
        """Largest timestamp by the header, in ms since the Unix epoch, -1 for none."""

    @property
    def base_timestamp(self) -> int | None:
        """Base of the timestamp deltas of magic 2, in ms since the Unix epoch; None below."""
        return self._stored(names.BASE_TIMESTAMP, None)

    @property
    def delete_horizon(self) -> int | None:
        """Time when tombstones and markers may go (KIP-534), in ms since the epoch, or None."""
        return self._stored(names.DELETE_HORIZON, None)

    # -- producer ---------------------------------------------------------------------------

    @property
    def partition_leader_epoch(self) -> int:
        """Epoch of the leader that appended it, -1 if unknown or below magic 2."""
        return self._stored(names.LEADER_EPOCH, NONE)

    @property
    def producer_id(self) -> int:
        """Id of the idempotent or transactional producer, -1 for none."""
        return self._stored(names.PRODUCER_ID, NONE)

    @property
    def producer_epoch(self) -> int:
        """Epoch of the producer, -1 for none."""
        return self._stored(names.PRODUCER_EPOCH, NONE)

    @property
    def base_sequence(self) -> int:
        """Sequence number of the first record, -1 for none."""
        return self._stored(names.BASE_SEQUENCE, NONE)

    @property
    def last_sequence(self) -> int:
        """Sequence number of the last record as first written, -1 for none."""
        return self._stored(names.LAST_SEQUENCE, NONE)

    @property
    def is_transactional(self) -> bool:
        """Whether the records belong to a transaction."""
        return bool(self.kind.has_transactions and _is_transactional(self.message))

    @property
    def is_control(self) -> bool:
        """Whether the records are control records, which no consumer sees."""
        return bool(self.kind.has_transactions and _is_control(self.message))

    def sequence(self, offset: int) -> int:
        """Return the sequence number of the record with this offset, -1 for none."""
        return NONE

    def _stored(self, name: str, otherwise: T) -> int | T:
        """Return a field of the header, or ``otherwise`` for a format without it."""
        if name not in self.kind.header:
            return otherwise
        value: int | T = getattr(self.message, name)
        return value

    # -- checksum ---------------------------------------------------------------------------

    @property
    def crc(self) -> int:
        """The stored checksum: CRC-32 of magic 0 and 1, CRC-32C of magic 2."""
        stored: int = getattr(self.message, checksum_of(self.kind.key).field)
        return stored

    @property
    def crc_valid(self) -> bool:
        """Whether the stored checksum matches the bytes; computed once, on first use."""
        if self._crc_valid is None:
            self._context.check()
            self._crc_valid = computed_crc(self) == self.crc
        return self._crc_valid

    def _verify_inner(self, inner: InnerMessage) -> None:
        """Raise an error if the checksum of an inner message has to match and does not."""
        if self._context.crc != "raise" or inner.crc_valid:
            return
        checksum = checksum_of(inner.kind.key)
        raise make_error(
            Reason.CHECKSUM_MISMATCH,
            f"stored {checksum.algorithm} of {self.inner_name.format(inner.offset)} is"
            f" {inner.crc:#010x},"
            f" of its bytes it is {inner.computed_crc:#010x}",
            file=self.file,
            offset=self.payload_position,
            inner_offset=inner.position + self.framing.size + checksum.position,
            path=f"{payload_path(self)}{self.framing.message_path}/{checksum.field}",
            spec=field_of(inner.kind.key, checksum.field).location,
        )

    # -- records ----------------------------------------------------------------------------

    @property
    @abstractmethod
    def _payload_field(self) -> str:
        """Id of the field that may be compressed."""

    @property
    @abstractmethod
    def payload(self) -> Buffer | None:
        """The payload as it is stored: records, or the value of a legacy message."""

    @property
    @abstractmethod
    def payload_position(self) -> int:
        """Byte offset of ``payload`` in the file."""

    def decompressed(self, max_output: int | None = None) -> Buffer:
        """Return the payload after decompression; itself if it is not compressed.

        Args:
            max_output: maximum number of bytes; that of the segment by default.

        Raises:
            UnsupportedError: an id without codec, or one that the magic may not use.
            CorruptError: not a valid stream, or larger than ``max_output``.
        """
        self._context.check()
        payload = self.payload
        if payload is None:
            raise payload_error(
                self, Reason.NULL_WRAPPER_VALUE, "a compressed message without a value"
            )
        if not self.is_compressed:
            return payload
        limit = self._context.max_output if max_output is None else max_output
        try:
            return compression.decompress(
                self.compression, payload, magic=self.magic, max_output=limit
            )
        except KafkaSpecError as error:
            raise self._not_decompressed(error) from None
        except MemoryError:
            raise memory_error(self) from None

    @abstractmethod
    def records(self, max_output: int | None = None) -> Sequence[Record]:
        """Return all records, control records included, in stored order.

        Of a large batch they are not a list but are read again each time, a few MiB at once.

        Args:
            max_output: bytes that the payload may decompress to; that of the segment by default.

        Raises:
            KafkaSpecError: the batch cannot be read; with the CRC policy ``error`` also a wrong
                checksum, of a wrapper's inner message too.
        """

    def control_records(self, max_output: int | None = None) -> Sequence[ControlRecord]:
        """Return the records of a control batch, decoded; [] for any other batch.

        Those of a large batch are not a list, as in ``records``.

        Raises:
            KafkaSpecError: as ``records``, or a key or value cannot be decoded.
        """
        if not self.is_control:
            return []
        return decode_controls(
            self.records(max_output), codec=self._context.codec, origin=self._origin
        )

    def marker(self) -> ControlRecord | None:
        """Return the first record of a control batch; Kafka reads no other one as a marker.

        Raises:
            KafkaSpecError: as ``control_records``.
        """
        for record in self.records() if self.is_control else ():
            return decode_control(record, codec=self._context.codec, origin=self._origin)
        return None

    def _verify(self) -> None:
        if self._context.crc == "raise" and not self.crc_valid:
            raise crc_error(self)

    @property
    def _origin(self) -> Origin:
        """Return the origin of the payload, for errors about its content."""
        return Origin(self.file, self.payload_position, self.is_compressed, payload_path(self))

    def _not_decompressed(self, error: KafkaSpecError) -> KafkaSpecError:
        """Return the error for a payload that is not decompressed, with the records that it has."""
        detail = error.detail
        if error.reason is Reason.DECOMPRESSED_TOO_LARGE:
            detail = f"{detail}; {self._left_out()}"
        return payload_error(self, error.reason, detail)

    def _left_out(self) -> str:
        """Say which records do not come if the payload is too large; none of them does."""
        if self.num_records is None:
            return f"the records up to offset {self.last_offset} are left out"
        places = f"offsets {self.base_offset} to {self.last_offset}"
        if self.base_offset == self.last_offset:
            places = f"offset {self.last_offset}"
        records = "record" if self.num_records == 1 else "records"
        return f"its {self.num_records} {records}, {places}, are left out"

    if not TYPE_CHECKING:  # a type checker is to know these no more

        def __getattr__(self, name: str) -> Any:
            """Return what a former name stands for, until 0.4.0."""
            try:
                function, is_method, instead = FORMER[name]
            except KeyError:
                text = f"{type(self).__name__!r} object has no attribute {name!r}"
                raise AttributeError(text, name=name, obj=self) from None
            deprecated(f"Batch.{name}", instead)
            return partial(function, self) if is_method else function(self)

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} magic {magic_name(self)} at {self.position}:"
            f" {self.size} bytes, last offset {self.last_offset}, {self.compression_name}>"
        )


def check_count(batch: Batch, count: int) -> None:
    """Raise an error if so many records are not to be in memory as objects."""
    if count > MOST_RECORDS:
        detail = f"more than {MOST_RECORDS} records of one batch are only read in pieces"
        raise payload_error(batch, Reason.TOO_LARGE, detail)


def payload_chunks(
    batch: Batch, payload: Buffer | None, max_output: int | None = None
) -> Callable[[], Iterator[Buffer]]:
    """Return a function that returns the payload after decompression, in parts of any size.

    Args:
        payload: what ``held_payload`` returns.
    """

    def chunks() -> Iterator[Buffer]:
        if payload is None:
            return decompressed_pieces(batch, max_output)
        batch._context.check()
        return iter([payload])

    return chunks


def crc_error(batch: Batch) -> KafkaSpecError:
    """Return the error for a checksum that does not match."""
    checksum = checksum_of(batch.kind.key)
    return make_error(
        Reason.CHECKSUM_MISMATCH,
        f"stored {checksum.algorithm} is {batch.crc:#010x},"
        f" of the bytes it is {computed_crc(batch):#010x}",
        file=batch.file,
        offset=batch.position + batch.framing.size + checksum.position,
        path=f"{batch.framing.message_path}/{checksum.field}",
        spec=field_of(batch.kind.key, checksum.field).location,
    )


def computed_crc(batch: Batch) -> int:
    """Return the checksum of the stored bytes."""
    return _computed(checksum_of(batch.kind.key), batch._bytes, batch.framing)


def decompressed_pieces(batch: Batch, max_output: int | None = None) -> Iterator[Buffer]:
    """Return what ``decompressed`` does piece by piece.

    Raises:
        KafkaSpecError: as ``decompressed``, after the pieces before the fault.
    """
    batch._context.check()
    payload = batch.payload
    assert payload is not None
    limit = batch._context.max_output if max_output is None else max_output
    try:
        yield from compression.decompress_pieces(
            batch.compression, payload, magic=batch.magic, max_output=limit
        )
    except KafkaSpecError as error:
        raise batch._not_decompressed(error) from None
    except MemoryError:
        raise memory_error(batch) from None


def payload_error(batch: Batch, reason: Reason, detail: str) -> KafkaSpecError:
    """Return an error about the payload as a whole."""
    return make_error(
        reason,
        detail,
        file=batch.file,
        offset=batch.payload_position,
        path=payload_path(batch),
        spec=field_of(batch.kind.key, batch._payload_field).location,
    )


def held_payload(batch: Batch, max_output: int | None = None) -> Buffer | None:
    """Return the payload after decompression; None if it is too large to be held in memory.

    Raises:
        KafkaSpecError: as ``decompressed``.
    """
    limit = batch._context.max_output if max_output is None else max_output
    try:
        return batch.decompressed(min(limit, HELD_BYTES))
    except KafkaSpecError as error:
        if error.reason is not Reason.DECOMPRESSED_TOO_LARGE or limit <= HELD_BYTES:
            raise
        return None


def memory_error(batch: Batch) -> KafkaSpecError:
    """Return the error for a payload that takes more memory than there is."""
    return payload_error(batch, Reason.TOO_LARGE, "there is not enough memory to read it")


def payload_path(batch: Batch) -> str:
    """Return the path of the payload in the data."""
    return f"{batch.framing.message_path}/{batch._payload_field}"


def payload_origin(batch: Batch) -> Origin:
    """Return the origin of the payload, for errors about a record in it."""
    return Origin(batch.file, batch.payload_position, path=payload_path(batch))


def magic_name(batch: Batch) -> str:
    """Return the magic as text: ``2``; ``1 (0.7)`` for the format of Kafka 0.7."""
    return f"{batch.magic} ({batch.log_format})" if batch.log_format else str(batch.magic)


def ignored_bytes(batch: Batch) -> int:
    """Return the number of bytes that readers skip; of a compressed entry, as far as known."""
    return batch._ignored_bytes


def shares_offset(batch: Batch) -> bool:
    """Return whether all records of an entry have the same offset, that of the entry."""
    return batch._shares_offset


def stored_offset(batch: Batch) -> int:
    """Return the offset field of an entry: first offset of a batch, last one of a wrapper.

    Never decompresses.
    """
    return batch._stored_offset


FORMER: Final[Mapping[str, tuple[Callable[..., Any], bool, str]]] = {
    "check_count": (check_count, True, "records"),
    "chunks": (payload_chunks, True, "decompressed"),
    "computed_crc": (computed_crc, True, "crc_valid"),
    "crc_error": (crc_error, True, "crc_valid"),
    "decompressed_pieces": (decompressed_pieces, True, "decompressed"),
    "error": (payload_error, True, "the errors of records"),
    "held": (held_payload, True, "decompressed"),
    "ignored_bytes": (ignored_bytes, False, "verify, which reports them"),
    "magic_name": (magic_name, False, "magic"),
    "memory_error": (memory_error, True, "the errors of records"),
    "payload_field": (attrgetter("_payload_field"), False, "kind.payload"),
    "payload_path": (payload_path, False, "the path of an error"),
    "shares_offset": (shares_offset, False, "last_offset"),
    "stored_offset": (stored_offset, False, "base_offset or last_offset"),
}
"""Members of a batch until 0.2: what does it now, whether it is called, what users take instead."""


def _computed(checksum: Checksum, data: memoryview, framing: Framing) -> int:
    return CHECKSUMS[checksum.algorithm](data[framing.size + checksum.start :])
