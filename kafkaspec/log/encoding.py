"""Records to the bytes of log entries, and back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from kafkaspec import compression as compressions
from kafkaspec._generated.python.model.recordbatch import (
    BatchAttributes,
    CompressionType,
    Entry,
    LegacyAttributes,
    LegacyMessage,
    RecordBatch,
    TimestampType,
)
from kafkaspec.codecs import Buffer, Codec, get_codec
from kafkaspec.compression import DEFAULT_MAX_OUTPUT
from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.layout.framing import ENTRY
from kafkaspec.log.batch import CREATE_TIME, LOG_APPEND_TIME, NO_TIMESTAMP, CrcPolicy
from kafkaspec.log.segment import Segment
from kafkaspec.model import Record

NONE: Final = -1
"""No producer, no sequence number, no leader epoch."""


@dataclass(frozen=True, slots=True)
class Options:
    """What ``encode`` was told, but the records."""

    codec: Codec
    magic: int
    compression: CompressionType
    level: int | None
    base_offset: int
    last_offset: int
    append_time: bool
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    transactional: bool
    control: bool
    partition_leader_epoch: int
    delete_horizon: int | None


def encode(
    records: Iterable[Record],
    *,
    magic: int = 2,
    compression: str = "none",
    level: int | None = None,
    base_offset: int | None = None,
    last_offset: int | None = None,
    timestamp_type: Literal["CreateTime", "LogAppendTime"] = CREATE_TIME,
    max_timestamp: int | None = None,
    producer_id: int = NONE,
    producer_epoch: int = NONE,
    base_sequence: int = NONE,
    transactional: bool = False,
    control: bool = False,
    partition_leader_epoch: int = NONE,
    delete_horizon: int | None = None,
    codec: Codec | str | None = None,
) -> bytes:
    """Write records as one batch of magic 2, or as messages of magic 0 or 1.

    Magic 0 and 1 give one entry a record, or one wrapper if compressed. Times are in ms since the
    Unix epoch.

    Args:
        records: what to write, in the order in which they shall lie there.
        magic: 0, 1 or 2.
        compression: ``none``, ``gzip``, ``snappy``, ``lz4`` or ``zstd``.
        level: of the compression (KIP-390); Kafka's default if None.
        base_offset: what offsets of the batch count from; the offset of the first record if None.
            A batch without records needs it.
        last_offset: last offset of the batch; that of the last record if None. Compaction keeps it
            when it removes that record.
        timestamp_type: ``CreateTime``, or ``LogAppendTime``: then every record is read back with
            ``max_timestamp``, and in magic 2 its own timestamp stays in the bytes unseen.
        max_timestamp: largest timestamp in the header. None: that of the records; with
            ``LogAppendTime`` they must all have the same then.
        producer_id: idempotent or transactional producer, -1 for none.
        producer_epoch: its epoch.
        base_sequence: sequence number of the first record.
        transactional: whether the records belong to a transaction.
        control: whether they are control records.
        partition_leader_epoch: epoch of the leader, -1 unknown.
        delete_horizon: when tombstones and markers may be removed (KIP-534).
        codec: name or instance; the default codec if None.

    Returns:
        The entries, checksums included. ``decode`` of them gives the records again.

    Raises:
        KafkaSpecError: ``unencodable``: the magic or a field cannot hold it; the text names the
            record or the option.
        UnsupportedError: zstd below magic 2.
        ValueError: no such magic, compression, timestamp type or codec.
    """
    if magic not in (0, 1, 2):
        raise ValueError(f"no magic {magic!r}; there are 0, 1, 2")
    if timestamp_type not in (CREATE_TIME, LOG_APPEND_TIME):
        raise ValueError(f"no timestamp type {timestamp_type!r}")
    if compression.upper() not in CompressionType.__members__:
        raise ValueError(f"no compression {compression!r}")
    items = list(records)
    if not items and base_offset is None and magic == 2:
        raise _refuse("a batch without records needs a base offset")
    first = items[0].offset if items else 0
    last = items[-1].offset if items else first if base_offset is None else base_offset
    append_time = timestamp_type == LOG_APPEND_TIME
    options = Options(
        codec=codec if isinstance(codec, Codec) else get_codec(codec),
        magic=magic,
        compression=CompressionType[compression.upper()],
        level=level,
        base_offset=first if base_offset is None else base_offset,
        last_offset=last if last_offset is None else last_offset,
        append_time=append_time,
        max_timestamp=_largest(items, append_time) if max_timestamp is None else max_timestamp,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        transactional=transactional,
        control=control,
        partition_leader_epoch=partition_leader_epoch,
        delete_horizon=delete_horizon,
    )
    if magic == 2:
        return _batch(items, options)
    _refuse_what_legacy_lacks(items, options, last_offset)
    return _wrapper(items, options) if options.compression else _messages(items, options)


def decode(
    data: Buffer,
    *,
    codec: Codec | str | None = None,
    crc: CrcPolicy = "error",
    max_output: int = DEFAULT_MAX_OUTPUT,
) -> list[Record]:
    """All records in a buffer of whole log entries, control records included.

    Args:
        data: entries of any magic; all of it must be entries.
        codec: name or instance; the default codec if None.
        crc: as ``Segment`` takes it.
        max_output: bytes that one batch may decompress to.

    Raises:
        TruncatedError: the last entry is cut.
        KafkaSpecError: an entry cannot be read.
    """
    segment = Segment(data, codec=codec, crc=crc, tail="error", max_output=max_output)
    return [record for batch in segment.batches() for record in batch.records()]


def _batch(records: Sequence[Record], options: Options) -> bytes:
    compression = options.compression if records else CompressionType.NONE
    base_timestamp = records[0].timestamp if records else NO_TIMESTAMP
    if options.delete_horizon is not None:
        base_timestamp = options.delete_horizon
    batch = RecordBatch(
        base_offset=options.base_offset,
        partition_leader_epoch=options.partition_leader_epoch,
        attributes=BatchAttributes(
            has_delete_horizon=options.delete_horizon is not None,
            is_control=options.control,
            is_transactional=options.transactional,
            timestamp_type=_timestamp_type(options),
            compression=compression,
        ),
        last_offset_delta=options.last_offset - options.base_offset,
        base_timestamp=base_timestamp,
        max_timestamp=options.max_timestamp,
        producer_id=options.producer_id,
        producer_epoch=options.producer_epoch,
        base_sequence=options.base_sequence,
        num_records=len(records),
        records=b"",
    )
    payload = options.codec.encode_records(batch, records)
    return batch_entry(batch, payload, options.codec, options.level)


def batch_entry(batch: RecordBatch, records: bytes, codec: Codec, level: int | None) -> bytes:
    """The entry of a batch.

    Args:
        batch: its header, with the compression that the records shall have.
        records: its records, not compressed.
        codec: that writes.
        level: of the compression, None for Kafka's default.

    Raises:
        KafkaSpecError: ``unencodable``: a field does not fit.
    """
    compression = batch.attributes.compression
    if compression:
        records = compressions.compress(compression, records, magic=2, level=level)
    batch.records = records
    return codec.serialize(ENTRY, Entry(base_offset=batch.base_offset, message=batch))


def _messages(records: Sequence[Record], options: Options) -> bytes:
    return b"".join(
        _message(options, record.offset, _own_timestamp(record, options), record)
        for record in records
    )


def _own_timestamp(record: Record, options: Options) -> int:
    return options.max_timestamp if options.append_time else record.timestamp


def _wrapper(records: Sequence[Record], options: Options) -> bytes:
    if not records:
        raise _refuse("a compressed message must hold at least one message")
    last = records[-1].offset
    # Kafka adds nothing to inner offsets if the wrapper has offset 0.
    base = options.base_offset if options.magic and last else 0
    if options.magic and last and base < 0:
        raise _refuse(f"record {records[0].offset}: relative offsets need a base of 0 or more")
    inner = b"".join(
        _message(options, record.offset - base, record.timestamp, record, inner=True)
        for record in records
    )
    payload = compressions.compress(
        options.compression, inner, magic=options.magic, level=options.level
    )
    wrapper = Record(last, options.max_timestamp, None, payload)
    return _message(options, last, options.max_timestamp, wrapper, wraps=True)


def _message(
    options: Options,
    offset: int,
    timestamp: int,
    record: Record,
    *,
    inner: bool = False,
    wraps: bool = False,
) -> bytes:
    message = LegacyMessage(
        offset=offset,
        magic=options.magic,
        attributes=LegacyAttributes(
            # Brokers stamp the wrapper in place and leave what is in it as the producer wrote it.
            timestamp_type=TimestampType.CREATE_TIME if inner else _timestamp_type(options),
            compression=options.compression if wraps else CompressionType.NONE,
        ),
        timestamp=timestamp if options.magic else None,
        key=record.key,
        value=record.value,
    )
    try:
        return options.codec.serialize(ENTRY, Entry(base_offset=offset, message=message))
    except KafkaSpecError as error:
        error.detail = f"record {record.offset}: {error.detail}"
        raise


def _timestamp_type(options: Options) -> TimestampType:
    return TimestampType.LOG_APPEND_TIME if options.append_time else TimestampType.CREATE_TIME


def _largest(records: Sequence[Record], append_time: bool) -> int:
    times = {record.timestamp for record in records}
    if append_time and len(times) > 1:
        raise _refuse("LogAppendTime needs max_timestamp: the records have different timestamps")
    return max(times, default=NO_TIMESTAMP)


def _refuse_what_legacy_lacks(
    records: Sequence[Record], options: Options, last_offset: int | None
) -> None:
    """Magic 0 and 1 have no place for much of what a batch holds."""
    foreign = {
        "producer_id": options.producer_id != NONE,
        "producer_epoch": options.producer_epoch != NONE,
        "base_sequence": options.base_sequence != NONE,
        "transactional": options.transactional,
        "control": options.control,
        "partition_leader_epoch": options.partition_leader_epoch != NONE,
        "delete_horizon": options.delete_horizon is not None,
        "last_offset": last_offset is not None,
        "LogAppendTime": options.magic == 0 and options.append_time,
    }
    for name, given in foreign.items():
        if given:
            raise _refuse(f"magic {options.magic} has no place for {name}")
    for record in records:
        if record.headers:
            raise _refuse(f"record {record.offset}: magic {options.magic} has no headers")
        if options.magic == 0 and record.timestamp != NO_TIMESTAMP:
            raise _refuse(f"record {record.offset}: magic 0 has no timestamps")


def _refuse(detail: str) -> KafkaSpecError:
    return make_error(Reason.UNENCODABLE, detail)
