"""The options of reading and writing, each defined once: type, meaning, names elsewhere.

``checked`` checks what they get in Python; the command makes its options of them; the tables of
docs/api/ and of the guide are made of them too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal, TypedDict

from kafkaspec.codecs import Codec
from kafkaspec.log.formats import FormatName
from kafkaspec.options import Option
from kafkaspec.policy import CrcPolicy, ErrorPolicy, OnError, TailPolicy
from kafkaspec.times import Time

Isolation = Literal["read_uncommitted", "read_committed"]
"""A consumer's isolation level: all records, or none of transactions that are still open."""

LogStartWord = Literal["checkpoint", "ignore"]
LogStart = LogStartWord | int
"""First offset of a partition to deliver. ``checkpoint``: the log start offset in the checkpoint of
its broker, as a broker does, since records below it were deleted. ``ignore``: whatever is there. A
number: this offset."""

LOG_START: Final[LogStart] = "checkpoint"
"""Default in Python, in commands and in Spark: what consumers get."""

ByteLayout = Literal["view", "binary"]
"""``view``: keys and values point into the file, or into memory that was decompressed, and are
never copied. ``binary``: they are copied into new memory, which all of Arrow's functions
take (``take``, ``filter`` and ``sort`` do not take views yet)."""

HeaderKeys = Literal["string", "strict", "binary"]
"""Header keys that are not UTF-8. ``string``: each malformed sequence becomes U+FFFD, as a
Java consumer shows it. ``strict``: they are an error. ``binary``: keys are bytes, as stored."""

Evolve = Literal["latest", "each"] | int
"""Which schema a column has. ``latest``: the newest version of the subject that is not deleted;
values of older ones are read as it. ``each``: that with which each value was written, so that
record batches differ. A number: this version of the subject."""

Enums = Literal["text", "int"]
"""Symbols of enumerations as dictionaries of text, or as numbers."""

CHUNK_BYTES = 8 << 20
"""Default number of bytes of a record batch."""


MAX_OUTPUT: Final = Option(
    "Maximum number of bytes that one batch may decompress to.", "--max-output",
    more="256 MiB if None."
)  # fmt: skip
START_OFFSET: Final = Option(
    "Smallest offset.", "--from-offset", "startingOffsets", "It is found through the offset index."
)
LEVEL: Final = Option(
    "Level of the compression (KIP-390).", "--level", "compressionLevel", "Kafka's default if None."
)
PROFILE: Final = Option(
    "Version of Kafka whose rules apply to the files beside the segments.", "--profile", "profile"
)
ON_ERROR: Final = Option(
    "Treat a batch that cannot be read as an error, or skip and count it.", "--on-error", "mode",
    "See ``kafkaspec.policy.OnError``."
)  # fmt: skip


class SegmentOptions(TypedDict, total=False):
    """The options with which a segment is opened; see ``Segment``."""

    codec: Annotated[Codec | str | None, Option(
        "Codec that reads the data.", "--codec", more="Name or instance."
    )]  # fmt: skip
    crc: Annotated[CrcPolicy, Option(
        "Treat a wrong checksum as an error, or do not check it.", "--crc", "check.crcs",
        "``batches`` never checks one; ``Batch.crc_valid`` does."
    )]  # fmt: skip
    tail: Annotated[TailPolicy, Option(
        "Leave out what is not a whole entry at the end of a segment, or treat it as an error.",
        more="Kafka's reader leaves it out; here zeros end a log too (quirk Q43)."
    )]  # fmt: skip
    max_output: Annotated[int | None, MAX_OUTPUT]
    mapped: Annotated[bool, Option(
        "Map files into memory: faster than to read parts, but unsafe if one becomes shorter.",
        "--no-mmap",
        more="A file that does not fit into the address space is read in parts anyway."
    )]  # fmt: skip
    log_format: Annotated[FormatName | None, Option(
        "Read the file as this type of the specification: message_set, recordbatch ...", "--as",
        more="For a file whose name does not say what it is. The type must end with log entries."
        " ``0.7`` is ``message_set``."
    )]  # fmt: skip


class BoundOptions(TypedDict, total=False):
    """The options that say which records of a log count, next to the first offset."""

    end_offset: Annotated[int | None, Option(
        "First offset to leave out.", "--until-offset", "endingOffsets",
        "Nothing is read after the batch that reaches it."
    )]  # fmt: skip
    start_timestamp: Annotated[Time | None, Option(
        "Smallest timestamp: milliseconds since 1970, or ISO 8601 (UTC without a zone).",
        "--from-time", "startingTimestamp",
        "See ``kafkaspec.times.Time``. Batches whose header says that they end before are not"
        " read, as Kafka's own lookup does."
    )]  # fmt: skip
    end_timestamp: Annotated[Time | None, Option(
        "First timestamp to leave out.", "--until-time", "endingTimestamp",
        "With a range of timestamps, records without a timestamp are left out."
    )]  # fmt: skip
    isolation: Annotated[Isolation, Option(
        "With read_committed, leave out aborted transactions, and end at the last stable offset:"
        " where the first open transaction begins.", "--isolation", "isolation.level",
        "For partitions and log directories."
    )]  # fmt: skip
    log_start: Annotated[LogStart, Option(
        "First offset of a partition: the log start offset in the broker's checkpoint, the first"
        " one in the files, or this offset.", "--log-start", "logStart", "See ``LogStart``."
    )]  # fmt: skip


class SelectionOptions(BoundOptions, total=False):
    """The options that choose records, next to the first offset."""

    on_error: Annotated[OnError, ON_ERROR]


class RecordOptions(SelectionOptions, total=False):
    """The options of ``records``, next to the first offset; see ``Selection``."""

    include_control: Annotated[bool, Option(
        "Include control records, which no consumer sees.", "--include-control", "includeControl",
        "The column ``control_type`` distinguishes them from data."
    )]  # fmt: skip


class RangeOptions(SelectionOptions, total=False):
    """Options of ``to_batches`` that choose records."""

    start_offset: Annotated[int | None, START_OFFSET]
    max_bytes: Annotated[int, Option("Bytes of Kafka data in a record batch.")]


class ColumnOptions(RangeOptions, RecordOptions, total=False):
    """Options of ``to_batches`` that choose records, and say what their columns hold."""

    layout: Annotated[ByteLayout, Option("Layout of keys and values; see ``ByteLayout``.")]
    header_keys: Annotated[HeaderKeys, Option(
        "Header keys as text, where what is not UTF-8 is replaced or an error, or as bytes.",
        "--header-keys", more="See ``HeaderKeys``."
    )]  # fmt: skip


class BatchOptions(ColumnOptions, total=False):
    """Options of ``to_batches`` but for the columns."""

    where: Annotated[str | None, Option(
        'Only records for which this is true: "key = \'a\' and timestamp >= \'2026-01-01\'".',
        "--where",
        more="Offsets, timestamps, topics and partitions that cannot fulfil it are not read."
    )]  # fmt: skip


class DecodingOptions(TypedDict, total=False):
    """Options of ``to_typed`` that say how keys and values are decoded, of any topic."""

    key: Annotated[str, Option("Format of keys.", "--key-format", "key.decode")]
    value_schema: Annotated[Any, Option(
        "Schema of values: FILE, FILE#MESSAGE, SUBJECT or SUBJECT@VERSION.", "--value-schema",
        "value.schema",
        "Or one that a ``SchemaLog`` gives, or its definition. With ``decode``, that as which"
        " they are read."
    )]  # fmt: skip
    key_schema: Annotated[Any, Option("Schema of keys, likewise.", "--key-schema", "key.schema")]
    evolve: Annotated[Evolve, Option(
        "Read values as the latest version of the subject, as each was written, or as one.",
        "--evolve", "evolve",
        "``latest``: what was written with older ones is resolved; of several types of records in"
        " a topic, each is a field of a struct. ``each``: the result is an iterator of record"
        " batches that differ, each of the rows of one schema."
    )]  # fmt: skip
    on_value_error: Annotated[ErrorPolicy, Option(
        "Say in a column why a row has no key or value, leave the row out, or end.",
        "--on-value-error", "onValueError", "A null key or value is not an error."
    )]  # fmt: skip
    raw: Annotated[bool, Option(
        "Add columns with the bytes of keys and values.", "--raw",
        more="They are ``value_raw`` and ``key_raw``."
    )]  # fmt: skip
    unwrap: Annotated[bool, Option(
        "Make rows of Debezium's envelopes, with op and ts_ms.", "--unwrap",
        more="The columns are ``row``, ``op``, ``ts_ms`` and ``source``."
    )]  # fmt: skip
    secrets: Annotated[bool, Option(
        "Show passwords and keys of Connect's configurations.", "--secrets"
    )]  # fmt: skip
    values: Annotated[Any, Option(
        "``kafkaspec.values.options.Options``: enumerations, unions, limits ..."
    )]  # fmt: skip


class ShapeOptions(TypedDict, total=False):
    """Options of ``kafkaspec.values.options.Options`` that the command and Spark have too."""

    depth: Annotated[int, Option(
        "Levels of a type within itself that become columns; deeper ones become JSON text.",
        "--depth", "depth", "0: a schema that contains itself is an error."
    )]  # fmt: skip
    enums: Annotated[Enums, Option("Enumerations as text or numbers.", "--enums", "enums")]


class TypedOptions(DecodingOptions, total=False):
    """Options of ``to_typed`` that say how keys and values are decoded."""

    value: Annotated[str, Option(
        "Format of values.", "--value", "value.decode",
        "``bytes``: as they are. ``decode``: by the schemas that they name; how they do it is"
        " found out from a sample of the topic. ``auto``: as ``decode`` if all of the sample is"
        " so, else text if it is that, else bytes. ``avro``, ``protobuf``, ``json-schema``: with"
        " ``value_schema``. Or a format without a schema: ``text``, ``json``, ``long`` ..., see"
        " ``kafkaspec.values.fixed.FIXED_FORMATS``."
    )]  # fmt: skip
    schemas: Annotated[Any, Option(
        "Log directory with _schemas, the partition, or files of schemas.", "--schemas", "schemas",
        "Or a ``SchemaLog``; by default, that of the log, which finds ``_schemas`` beside it."
    )]  # fmt: skip
    topic: Annotated[str | None, Option(
        "Only this topic of a log directory.", "--topic", "subscribe"
    )]  # fmt: skip
    report: Annotated[Any, Option(
        "A ``kafkaspec.values.reading.ValueReport``, which is filled: what was decided, and how"
        " many rows have no value."
    )]  # fmt: skip


class TableOptions(BatchOptions, TypedOptions, total=False):
    """Options of ``to_arrow`` but for the columns: those of ``to_batches`` and ``to_typed``."""


class SchemaOptions(TableOptions, total=False):
    """Options of ``value_schema``: those of ``to_typed``."""

    columns: Annotated[Sequence[str] | None, Option(
        "Columns, in this order.", "--columns", more="Only these are built."
    )]  # fmt: skip


class FindOptions(TypedDict, total=False):
    """The target and the options of ``Partition.find``."""

    offset: Annotated[int | None, Option(
        "Find the record with this offset.", "--offset",
        more="The answer is the first batch that ends at or after it."
    )]  # fmt: skip
    timestamp: Annotated[Time | None, Option(
        "Find this time: milliseconds since 1970, or ISO 8601 (UTC if it names no zone).",
        "--timestamp", more="See ``kafkaspec.times.Time``. As a broker answers: the first segment"
        " whose largest timestamp reaches it decides, control records count, and records below"
        " ``log_start`` do not."
    )]  # fmt: skip
    max_timestamp: Annotated[bool, Option(
        "Find the largest timestamp, as a broker does.", "--max-timestamp",
        more="See ``kafkaspec.log.lookup``."
    )]  # fmt: skip
    plain: Annotated[bool, Option(
        "By timestamp: find the first data record at or after it.", "--plain",
        more="It may be in any segment."
    )]  # fmt: skip
    isolation: Annotated[Isolation, Option(
        "By timestamp: accept an answer at or after the last stable offset, or hide it.",
        "--isolation", more="``read_committed`` hides it, as a broker does."
    )]  # fmt: skip
    log_start: Annotated[LogStart | None, Option(
        "First offset that counts, except for ``max_timestamp``.",
        more="By default ``checkpoint`` by timestamp, and ``ignore`` by offset."
    )]  # fmt: skip
    use_index: Annotated[bool, Option(
        "Use the indexes.", more="The largest timestamp of a segment always comes from its time"
        " index, as for a broker; in the last segment, batches after the index count too."
    )]  # fmt: skip


class ProfileOptions(TypedDict, total=False):
    """Options of the files that a broker keeps beside segments."""

    profile: Annotated[str, PROFILE]
    index_interval_bytes: Annotated[int, Option(
        "Setting index.interval.bytes of the topic.", "--interval", "indexIntervalBytes"
    )]  # fmt: skip


class WritingOptions(TypedDict, total=False):
    """Options of logs that are written; None keeps what the input has."""

    magic: Annotated[int | None, Option(
        "Format of all entries.", "--magic", "magic", "One of ``kafkaspec.layout.kinds.MAGICS``."
    )]  # fmt: skip
    compression: Annotated[str | None, Option(
        "Compression of all batches except control batches.", "--compression", "compression",
        "One of ``kafkaspec.compression.NAMES``. Control batches keep theirs, as in a broker."
    )]  # fmt: skip
    level: Annotated[int | None, LEVEL]
    leader_epoch: Annotated[int | None, Option(
        "Leader epoch of all batches, -1 for none.", "--leader-epoch", "leaderEpoch"
    )]  # fmt: skip
    batch_bytes: Annotated[int | None, Option(
        "Put records into new batches of about this size.", "--batch-bytes", "batchSize",
        "It is the size before compression; larger batches are split. Without it, single messages"
        " that must become a batch are combined up to ``BATCH_BYTES``, as a broker combines those"
        " of one request."
    )]  # fmt: skip
    segment_bytes: Annotated[int, Option(
        "Maximum number of bytes of a segment.", "--segment-bytes", "segmentBytes"
    )]  # fmt: skip
