"""The options of the data source as Python names them: an underscore stands for a dot.

Values may be of Python's types or, as everywhere in Spark, texts. The tables in ``options`` and
``write_options`` parse them; a test compares their names with these.
"""

from __future__ import annotations

from typing import Literal, TypedDict

from kafkaspec.policy import ErrorPolicy
from kafkaspec.times import Time

Flag = bool | Literal["true", "false"]
Number = int | str
"""A whole number, or its text; a text with a unit where the option takes one: ``128m``."""

Formats = str | bool | None
"""What keys or values are: ``decode``, ``avro``, ``text`` ...; True is ``decode``."""


class _Topics(TypedDict, total=False):
    subscribe: str


class _Isolation(TypedDict, total=False):
    isolation_level: Literal["read_committed", "read_uncommitted"]


class _Damage(TypedDict, total=False):
    mode: Literal["FAILFAST", "PERMISSIVE", "DROPCORRUPT"]


class _Others(TypedDict, total=False):
    assign: str
    subscribePattern: str
    startingOffsets: str
    startingOffsetsByTimestamp: str
    startingOffsetsByTimestampStrategy: Literal["error", "latest"]
    startingTimestamp: Time
    endingOffsets: str
    endingOffsetsByTimestamp: str
    endingTimestamp: Time
    timestampLookup: Literal["records", "broker"]
    logStart: Literal["checkpoint", "ignore"]
    minPartitions: Number
    maxRecordsPerPartition: Number
    maxPartitionBytes: Number
    maxOffsetsPerTrigger: Number
    failOnDataLoss: Flag
    includeControl: Flag
    kafka_isolation_level: Literal["read_committed", "read_uncommitted"]
    check_crcs: Flag
    kafka_check_crcs: Flag
    columnNameOfCorruptRecord: str
    filterPushdown: Flag
    messages: str
    release: str
    value_decode: Formats
    key_decode: Formats
    value_schema: str
    key_schema: str
    schemas: str
    evolve: Number
    value_depth: Number
    value_enums: Literal["text", "int"]
    value_errors: ErrorPolicy


class TopicsNames(_Topics, _Damage, _Others, total=False):
    """Options of a read of what is committed, but for the columns that come with records."""


class CommittedNames(_Isolation, _Others, total=False):
    """Options of a read of one topic, likewise."""


class RecordsNames(_Topics, _Isolation, _Others, total=False):
    """Options of a read, likewise."""


class ReadNames(RecordsNames, _Damage, total=False):
    """Options of a read."""

    includeHeaders: Flag
    includeBatch: Flag


class WriteNames(TypedDict, total=False):
    """Options of a write."""

    topic: str
    partition: Number
    offsets: Literal["keep", "assign"]
    startingOffset: Number
    allowGaps: Flag
    magic: Number
    compression: str
    compressionLevel: Number
    batchSize: Number
    segmentBytes: Number
    indexIntervalBytes: Number
    profile: str
    leaderEpoch: Number
    topicId: str
    sync: Flag
