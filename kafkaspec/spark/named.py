"""The options of the data source, each defined once: its type, what it sets, and what it means.

An underscore in a name stands for a dot. Values may be of Python's types or, as everywhere in
Spark, texts. ``options`` and ``write_options`` parse them by these definitions.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from kafkaspec.broker.settings import BOUNDS
from kafkaspec.compression import NAMES
from kafkaspec.layout.kinds import MAGICS
from kafkaspec.log.options import Enums, Isolation, LogStartWord
from kafkaspec.policy import ErrorPolicy
from kafkaspec.spark.parsing import (
    LARGEST_INT,
    Sets,
    assigned,
    epoch,
    one_of,
    pattern,
    profile,
    size,
    topic,
    topic_id,
    topics,
    value_format,
    version,
    whole,
)
from kafkaspec.times import Time

Flag = bool | Literal["true", "false"]
Number = int | str
"""A whole number, or its text; a text with a unit where the option takes one: ``128m``."""

Formats = str | bool | None
"""What keys or values are: ``decode``, ``avro``, ``text`` ...; True is ``decode``."""


class CommittedNames(TypedDict, total=False):
    """Options of a read of one topic, but for the columns that come with records."""

    isolation_level: Annotated[Isolation, Sets("committed", values=(False, True))]
    assign: Annotated[str, Sets("assigned", 'Topic-partitions: ``{"orders":[0,1]}``.', assigned)]
    subscribePattern: Annotated[str, Sets("pattern", "Java's pattern of topics.", pattern)]
    startingOffsets: Annotated[str, Sets("", "``earliest``, ``latest``, or offsets by "
        'topic-partition: ``{"orders":{"0":23}}``.')]  # fmt: skip
    startingOffsetsByTimestamp: Annotated[str, Sets("", "Times by topic-partition, likewise.")]
    startingOffsetsByTimestampStrategy: Annotated[Literal["error", "latest"], Sets(
        "latest_without_match", "A starting time that nothing reaches is an error, or the end.",
        values=(False, True))]  # fmt: skip
    startingTimestamp: Annotated[Time, Sets("")]
    endingOffsets: Annotated[str, Sets("", "As ``startingOffsets``; the end is exclusive.")]
    endingOffsetsByTimestamp: Annotated[str, Sets("", "Times by topic-partition, likewise.")]
    endingTimestamp: Annotated[Time, Sets("")]
    timestampLookup: Annotated[Literal["records", "broker"], Sets("broker_times",
        "Look times up in records, or as a broker does.", values=(False, True))]  # fmt: skip
    logStart: Annotated[LogStartWord, Sets("log_start",
        "Begin at the log start offset, as a broker does, or at the first segment.",
        values=(True, False))]  # fmt: skip
    minPartitions: Annotated[Number, Sets("min_partitions", "Smallest number of tasks.")]
    maxRecordsPerPartition: Annotated[Number, Sets("max_records", "Most records of a task.")]
    maxPartitionBytes: Annotated[Number, Sets("max_bytes", "Bytes of files for a task: ``128m``;"
        " ``1g`` for ``rows=batches`` on local files.", size)]  # fmt: skip
    maxOffsetsPerTrigger: Annotated[Number, Sets("max_offsets", "Most offsets of a micro-batch.")]
    failOnDataLoss: Annotated[Flag, Sets("fail_on_data_loss", "Missing records are an error.")]
    includeControl: Annotated[Flag, Sets("include_control")]
    kafka_isolation_level: Annotated[Isolation, Sets("committed", values=(False, True))]
    kafka_check_crcs: Annotated[Flag, Sets("check_crcs", "Compute and compare checksums.")]
    check_crcs: Annotated[Flag, Sets("check_crcs", "Compute and compare checksums.")]
    columnNameOfCorruptRecord: Annotated[str, Sets("corrupt_column",
        "Column in which ``PERMISSIVE`` describes damage.")]  # fmt: skip
    filterPushdown: Annotated[Flag, Sets("pushdown", "Use the filters of a query.")]
    messages: Annotated[str, Sets("messages", "Type of the records of one of Kafka's own topics, "
        "decoded: ``OffsetCommit`` ...")]  # fmt: skip
    release: Annotated[str, Sets("release", "Release of the brokers that wrote these.")]
    value_decode: Annotated[Formats, Sets("value_decode", "What values are: ``decode`` or ``true`` "
        "by the schemas that they name; ``auto``; a format without a schema: ``json``, ``long`` "
        "...", value_format)]  # fmt: skip
    key_decode: Annotated[Formats, Sets("key_decode", "What keys are, likewise.", value_format)]
    value_schema: Annotated[str, Sets("value_schema")]
    key_schema: Annotated[str, Sets("key_schema")]
    schemas: Annotated[str, Sets("schemas")]
    evolve: Annotated[Number, Sets("evolve", "``latest``, or a version of the subject as which all "
        "values are read.", version)]  # fmt: skip
    depth: Annotated[Number, Sets("depth", parser=whole(0, 64))]
    enums: Annotated[Enums, Sets("enums")]
    onValueError: Annotated[ErrorPolicy, Sets("on_value_error")]


class RecordsNames(CommittedNames, total=False):
    """Options of a read, likewise."""

    subscribe: Annotated[str, Sets("topics", "Names of topics, with commas.", topics)]


class ReadNames(RecordsNames, total=False):
    """Options of a read."""

    mode: Annotated[Literal["FAILFAST", "PERMISSIVE", "DROPCORRUPT"], Sets("on_error",
        "Damaged data is an error, a row that describes it, or counted in the log.",
        values=("raise", "column", "skip"))]  # fmt: skip
    rows: Annotated[Literal["records", "batches"], Sets("batch_rows",
        "A row for each record, or for each batch, by its header alone.",
        values=(False, True))]  # fmt: skip
    includeHeaders: Annotated[Flag, Sets("headers", "Read the headers of records.")]
    includeBatch: Annotated[Flag, Sets("batch", "Read the columns of batches.")]


class WriteNames(TypedDict, total=False):
    """Options of a write."""

    topic: Annotated[str, Sets("topic", "Topic of all rows, whatever the column says.", topic)]
    partition: Annotated[Number, Sets("partition", "Partition of all rows; by default that of the "
        "column, and 0 without one.", whole(0, LARGEST_INT))]  # fmt: skip
    offsets: Annotated[Literal["keep", "assign"], Sets("keep_offsets",
        "Keep the column ``offset``, or continue the log; by default, keep it if it is there.",
        values=(True, False))]  # fmt: skip
    startingOffset: Annotated[Number, Sets("starting_offset", "First offset of a new partition, "
        "where offsets are assigned.", whole(*BOUNDS["base_offset"]))]  # fmt: skip
    allowGaps: Annotated[Flag, Sets("allow_gaps", "Allow gaps between offsets that are kept, as in "
        "a compacted log.")]  # fmt: skip
    magic: Annotated[Number, Sets("magic", parser=one_of({str(each): each for each in MAGICS}))]
    compression: Annotated[str, Sets("compression", parser=one_of({each: each for each in NAMES}))]
    compressionLevel: Annotated[Number, Sets("level", parser=whole(-LARGEST_INT, LARGEST_INT))]
    batchSize: Annotated[Number, Sets("batch_bytes", parser=whole(1, LARGEST_INT))]
    segmentBytes: Annotated[Number, Sets("segment_bytes", parser=whole(*BOUNDS["segment_bytes"]))]
    indexIntervalBytes: Annotated[Number, Sets("index_interval_bytes",
        parser=whole(*BOUNDS["index_interval_bytes"]))]  # fmt: skip
    profile: Annotated[str, Sets("profile", parser=profile)]
    leaderEpoch: Annotated[Number, Sets("leader_epoch", "Leader epoch of all batches, or ``none``.",
        epoch)]  # fmt: skip
    topicId: Annotated[str, Sets("topic_id", "Id of the topic, for ``partition.metadata``, which is"
        " not written without.", topic_id)]  # fmt: skip
    sync: Annotated[Flag, Sets("sync", "Force files to disk.")]
