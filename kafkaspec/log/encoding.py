"""Encode records as log entries, and decode them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Annotated, Any, Final, Literal, TypedDict

from kafkaspec import compression as compressions
from kafkaspec._generated.layout import LAYOUTS
from kafkaspec._generated.python.model.control_record import (
    ControlRecordType,
    EndTransactionMarker,
)
from kafkaspec._generated.python.model.recordbatch import (
    CompressionType,
    LegacyMessage,
    TimestampType,
)
from kafkaspec.codecs import Buffer, Codec, get_codec
from kafkaspec.compression import DEFAULT_MAX_OUTPUT
from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.layout import EntryKind, kinds, names
from kafkaspec.layout.framing import ENTRY, field_of, largest_size
from kafkaspec.log.batch import CREATE_TIME, LOG_APPEND_TIME, NO_TIMESTAMP, NONE
from kafkaspec.log.control import encode_control
from kafkaspec.log.legacy import has_relative_offsets
from kafkaspec.log.options import LEVEL
from kafkaspec.log.segment import Segment
from kafkaspec.model import Record
from kafkaspec.options import Option, checked, explained, one_of
from kafkaspec.policy import CrcPolicy
from kafkaspec.times import Time, milliseconds

_FRAMED: Final = LAYOUTS[LAYOUTS[kinds.KINDS[kinds.CURRENT].record_set].fields[0].type]
RECORD_OVERHEAD: Final = sum(
    map(
        largest_size,
        takewhile(
            lambda field: field.id != names.KEY,
            (_FRAMED.fields[0], *LAYOUTS[kinds.KINDS[kinds.CURRENT].record].fields),
        ),
    )
)
"""Bytes Kafka adds to the size of a record (``DefaultRecord.MAX_RECORD_OVERHEAD``)."""

MOST_DELTA: Final = min(
    field_of(kind.key, names.LAST_OFFSET_DELTA).largest
    for kind in kinds.KINDS.values()
    if kind.has_record_sets
)
"""Largest difference between the offsets of a batch (Kafka: ``MemoryRecordsBuilder``)."""


_COMPUTED: Final = frozenset(
    (
        names.MAGIC, names.BASE_OFFSET, names.OFFSET, names.TIMESTAMP_TYPE, names.COMPRESSION,
        names.LAST_OFFSET_DELTA, names.BASE_TIMESTAMP, names.MAX_TIMESTAMP,
    )
)  # fmt: skip
"""Fields of a header that follow from the records or have a separate argument."""


BatchTime = Literal["CreateTime", "LogAppendTime"]
"""Whose times the records of a batch have: those of producers, or the broker's."""


@dataclass(frozen=True, slots=True)
class EncodeArguments:
    """The arguments of ``encode``, without the records."""

    codec: Codec
    kind: EntryKind
    compression: CompressionType
    level: int | None
    base_offset: int
    last_offset: int
    append_time: bool
    base_timestamp: int | None
    max_timestamp: int
    header: Mapping[str, Any]
    """Fields of the header that do not have their default, by name."""
    fields: Sequence[Mapping[str, Any]] | None


class EncodeOptions(TypedDict, total=False):
    """Options of ``encode`` that a writer does not decide itself."""

    level: Annotated[int | None, LEVEL]
    base_offset: Annotated[int | None, Option("Base of the offsets of the batch; the offset of the"
        " first record if None. A batch without records needs it.")]  # fmt: skip
    last_offset: Annotated[int | None, Option("Last offset of the batch; that of the last record if"
        " None. Compaction keeps it when it removes that record.")]  # fmt: skip
    timestamp_type: Annotated[BatchTime, Option("``CreateTime``, or ``LogAppendTime``: then every"
        " record is read back with ``max_timestamp``, and in magic 2 its own timestamp stays in the"
        " bytes unseen.")]  # fmt: skip
    base_timestamp: Annotated[Time | None, Option("Base of the timestamps of the batch; the"
        " timestamp of the first record if None. Compaction keeps it when it removes that record."
        " With ``delete_horizon`` it is that time.")]  # fmt: skip
    max_timestamp: Annotated[Time | None, Option("Largest timestamp in the header. None: that of"
        " the records, which with ``LogAppendTime`` must all have the same.")]  # fmt: skip
    producer_id: Annotated[int, Option(
        "Id of the idempotent or transactional producer, -1 for none.")]  # fmt: skip
    producer_epoch: Annotated[int, Option("Its epoch.")]
    base_sequence: Annotated[int, Option(
        "Sequence number of the first record; batches of a producer have one.")]  # fmt: skip
    transactional: Annotated[bool, Option("Whether the records belong to a transaction.")]
    control: Annotated[bool, Option("Whether they are control records.")]
    partition_leader_epoch: Annotated[int, Option("Epoch of the leader, -1 if unknown.")]
    delete_horizon: Annotated[Time | None, Option(
        "Time when tombstones and markers may be removed (KIP-534).")]  # fmt: skip
    header: Annotated[Mapping[str, Any] | None, Option("Values for fields of the header that no"
        " other argument sets, by their dotted name in the specification, such as"
        " ``attributes.reserved``.")]  # fmt: skip
    fields: Annotated[Iterable[Mapping[str, Any]] | None, Option("For each record, values for"
        " fields that ``Record`` does not have, such as ``attributes``.")]  # fmt: skip
    codec: Annotated[Codec | str | None, Option("Name or instance; the default codec if None.")]


@explained(EncodeOptions)
@checked
def encode(
    records: Iterable[Record],
    *,
    magic: int = kinds.CURRENT,
    compression: str = "none",
    level: int | None = None,
    base_offset: int | None = None,
    last_offset: int | None = None,
    timestamp_type: BatchTime = CREATE_TIME,
    base_timestamp: Time | None = None,
    max_timestamp: Time | None = None,
    producer_id: int = NONE,
    producer_epoch: int = NONE,
    base_sequence: int = NONE,
    transactional: bool = False,
    control: bool = False,
    partition_leader_epoch: int = NONE,
    delete_horizon: Time | None = None,
    header: Mapping[str, Any] | None = None,
    fields: Iterable[Mapping[str, Any]] | None = None,
    codec: Codec | str | None = None,
) -> bytes:
    """Write records as one batch, or as messages of magic 0 or 1.

    Magic 0 and 1 give one entry a record, or one wrapper if compressed. For times see
    ``kafkaspec.times.Time``; those of records are in ms since the Unix epoch.

    Args:
        records: the records, in the order in which they are stored.
        magic: one of ``kafkaspec.layout.kinds.MAGICS``: 0, 1 or 2.
        compression: one of ``kafkaspec.compression.NAMES``: ``none``, ``gzip`` and so on.
        ...

    Returns:
        The entries, checksums included. ``decode`` of them gives the records again.

    Raises:
        KafkaSpecError: ``unencodable``: the magic or a field cannot hold it; the text names the
            record or the option.
        UnsupportedError: zstd below magic 2.
        ValueError: no such magic, compression, timestamp type or codec.
    """
    kind = kinds.require_kind(magic)
    if compression not in compressions.NAMES:
        raise one_of("compression", compression, compressions.NAMES)
    computed = sorted(_COMPUTED.union((kind.count, kind.payload)).intersection(header or ()))
    if computed:
        raise _refuse(f"header cannot set {', '.join(computed)}: records or arguments say it")
    items = list(records)
    if not items and base_offset is None and kind.has_record_sets:
        raise _refuse("a batch without records needs a base offset")
    first = items[0].offset if items else 0
    last = items[-1].offset if items else first if base_offset is None else base_offset
    append_time = timestamp_type == LOG_APPEND_TIME
    given: dict[str, Any] = {
        names.PRODUCER_ID: producer_id,
        names.PRODUCER_EPOCH: producer_epoch,
        names.BASE_SEQUENCE: base_sequence,
        names.LEADER_EPOCH: partition_leader_epoch,
    }
    own = {name: value for name, value in given.items() if value != NONE}
    flags = {
        names.IS_TRANSACTIONAL: transactional,
        names.IS_CONTROL: control,
        names.HAS_DELETE_HORIZON: delete_horizon is not None,
    }
    own |= {name: True for name, value in flags.items() if value}
    options = EncodeArguments(
        codec=codec if isinstance(codec, Codec) else get_codec(codec),
        kind=kind,
        compression=CompressionType[compression.upper()],
        level=level,
        base_offset=first if base_offset is None else base_offset,
        last_offset=last if last_offset is None else last_offset,
        append_time=append_time,
        base_timestamp=_base_timestamp(base_timestamp, delete_horizon),
        max_timestamp=_largest(items, append_time)
        if max_timestamp is None
        else milliseconds(max_timestamp, "max_timestamp"),
        header={**own, **(header or {})},
        fields=None if fields is None else list(fields),
    )
    _refuse_what_records_lack(items, kind)
    if kind.has_record_sets:
        return _batch(items, options)
    _refuse_what_messages_lack(options, last_offset)
    return _wrapper(items, options) if options.compression else _messages(items, options)


def _base_timestamp(given: Time | None, horizon: Time | None) -> int | None:
    """Return the base timestamp that was asked for; a delete horizon is one.

    Raises:
        KafkaSpecError: ``unencodable``: it is not the delete horizon.
    """
    times = {
        milliseconds(time, name)
        for name, time in (("base_timestamp", given), ("delete_horizon", horizon))
        if time is not None
    }
    if len(times) > 1:
        raise _refuse("with delete_horizon the base timestamp is that time")
    return next(iter(times), None)


def encode_marker(
    kind: ControlRecordType, offset: int, timestamp: int, *,
    producer_id: int, producer_epoch: int, partition_leader_epoch: int = NONE,
) -> bytes:  # fmt: skip
    """Write a marker that ends a transaction, as a batch.

    Raises:
        KafkaSpecError: ``unencodable``: a number does not fit.
    """
    key, value = encode_control(kind, EndTransactionMarker(version=0, coordinator_epoch=0))
    return encode(
        [Record(offset, timestamp, key, value)], control=True, transactional=True,
        producer_id=producer_id, producer_epoch=producer_epoch,
        partition_leader_epoch=partition_leader_epoch,
    )  # fmt: skip


@checked
def decode(
    data: Buffer,
    *,
    codec: Codec | str | None = None,
    crc: CrcPolicy = "raise",
    max_output: int = DEFAULT_MAX_OUTPUT,
) -> list[Record]:
    """Return all records in a buffer of whole log entries, control records included.

    Args:
        data: entries of any magic; all of it must be entries.
        codec: name or instance; the default codec if None.
        crc: as ``Segment`` takes it.
        max_output: bytes that one batch may decompress to.

    Raises:
        TruncatedError: the last entry is cut.
        KafkaSpecError: an entry cannot be read.
    """
    segment = Segment(data, codec=codec, crc=crc, tail="raise", max_output=max_output)
    return [record for batch in segment.batches() for record in batch.records()]


def _batch(records: Sequence[Record], options: EncodeArguments) -> bytes:
    compression = options.compression if records else CompressionType.NONE
    base_timestamp = options.base_timestamp
    if base_timestamp is None:
        base_timestamp = records[0].timestamp if records else NO_TIMESTAMP
    batch = kinds.new_message(
        options.kind,
        {
            **options.header,
            names.BASE_OFFSET: options.base_offset,
            names.TIMESTAMP_TYPE: _timestamp_type(options),
            names.COMPRESSION: compression,
            names.LAST_OFFSET_DELTA: options.last_offset - options.base_offset,
            names.BASE_TIMESTAMP: base_timestamp,
            names.MAX_TIMESTAMP: options.max_timestamp,
            options.kind.count: len(records),
            options.kind.payload: b"",
        },
    )
    payload = options.codec.encode_records(batch, records, options.fields)
    return batch_entry(batch, payload, options.codec, options.level)


def batch_entry(batch: Any, records: bytes, codec: Codec, level: int | None) -> bytes:
    """Return the entry that holds a batch.

    Args:
        batch: its header, an object of the typed model, with the compression of the records.
        level: level of the compression, None for Kafka's default.

    Raises:
        KafkaSpecError: ``unencodable``: a field does not fit.
    """
    compression = kinds.compression_of(batch)
    if compression:
        records = compressions.compress(
            compression, records, magic=kinds.magic_of(batch), level=level
        )
    setattr(batch, kinds.kind_of(batch).payload, records)
    return codec.serialize(ENTRY, kinds.new_entry(batch, getattr(batch, names.BASE_OFFSET)))


def _messages(records: Sequence[Record], options: EncodeArguments) -> bytes:
    template = _template(options, _timestamp_type(options), CompressionType.NONE)
    return b"".join(
        _message(template, options, record.offset, _own_timestamp(record, options), record)
        for record in records
    )


def _own_timestamp(record: Record, options: EncodeArguments) -> int:
    return options.max_timestamp if options.append_time else record.timestamp


def _wrapper(records: Sequence[Record], options: EncodeArguments) -> bytes:
    if not records:
        raise _refuse("a compressed message must hold at least one message")
    last = records[-1].offset
    # Kafka adds nothing to inner offsets if the wrapper has offset 0.
    relative = has_relative_offsets(options.kind) and last != 0
    base = options.base_offset if relative else 0
    if relative and base < 0:
        raise _refuse(f"record {records[0].offset}: relative offsets need a base of 0 or more")
    # Brokers stamp the wrapper in place and leave its content as the producer wrote it.
    template = _template(options, TimestampType.CREATE_TIME, CompressionType.NONE)
    inner = b"".join(
        _message(template, options, record.offset - base, record.timestamp, record)
        for record in records
    )
    payload = compressions.compress(
        options.compression, inner, magic=options.kind.magic, level=options.level
    )
    wrapper = Record(last, options.max_timestamp, None, payload)
    template = _template(options, _timestamp_type(options), options.compression)
    return _message(template, options, last, options.max_timestamp, wrapper)


def _template(
    options: EncodeArguments, timestamp_type: TimestampType, compression: CompressionType
) -> LegacyMessage:
    """Return a message without the fields of each record."""
    message: LegacyMessage = kinds.new_message(
        options.kind,
        {
            **options.header,
            names.OFFSET: 0,
            names.TIMESTAMP_TYPE: timestamp_type,
            names.COMPRESSION: compression,
        },
    )
    return message


def _message(
    template: LegacyMessage, options: EncodeArguments, offset: int, timestamp: int, record: Record
) -> bytes:
    message = replace(
        template,
        offset=offset,
        timestamp=timestamp if options.kind.has_timestamps else None,
        key=record.key,
        value=record.value,
    )
    try:
        return options.codec.serialize(ENTRY, kinds.new_entry(message, offset))
    except KafkaSpecError as error:
        error.detail = f"record {record.offset}: {error.detail}"
        raise


def _timestamp_type(options: EncodeArguments) -> TimestampType:
    return TimestampType.LOG_APPEND_TIME if options.append_time else TimestampType.CREATE_TIME


def _largest(records: Sequence[Record], append_time: bool) -> int:
    times = {record.timestamp for record in records}
    if append_time and len(times) > 1:
        raise _refuse("LogAppendTime needs max_timestamp: the records have different timestamps")
    return max(times, default=NO_TIMESTAMP)


def _refuse_what_messages_lack(options: EncodeArguments, last_offset: int | None) -> None:
    """Refuse options that a message has no place for; the error names the option."""
    kind = options.kind
    foreign = [name for name in options.header if name not in kind.header]
    lacking = {
        "last_offset": last_offset is not None,
        "base_timestamp": options.base_timestamp is not None,
        "LogAppendTime": options.append_time and not kind.has_timestamps,
        "fields of records": options.fields is not None,
    }
    foreign += [name for name, given in lacking.items() if given]
    if foreign:
        raise _refuse(f"magic {kind.magic} has no place for {', '.join(foreign)}")


def _refuse_what_records_lack(records: Sequence[Record], kind: EntryKind) -> None:
    if kind.has_headers and kind.has_timestamps:
        return
    for record in records:
        if record.headers and not kind.has_headers:
            raise _refuse(f"record {record.offset}: magic {kind.magic} has no headers")
        if record.timestamp != NO_TIMESTAMP and not kind.has_timestamps:
            raise _refuse(f"record {record.offset}: magic {kind.magic} has no timestamps")


def _refuse(detail: str) -> KafkaSpecError:
    return make_error(Reason.UNENCODABLE, detail)
