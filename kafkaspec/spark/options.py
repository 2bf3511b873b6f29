"""The options of the data source: names, forms and checks of Spark's own Kafka source.

Spark: ``KafkaSourceProvider`` and ``JsonUtils`` of its module ``sql-kafka-0-10``. Options
that make no sense for files are refused by name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, Protocol

from kafkaspec.arrow.messages.topics import kind_of_record
from kafkaspec.options import did_you_mean
from kafkaspec.policy import ErrorPolicy
from kafkaspec.spark.parsing import OptionError, Table, flag, lowered, one_of, parse, text, whole
from kafkaspec.spark.patterns import from_java
from kafkaspec.times import milliseconds

TopicPartition = tuple[str, int]
MessageChoice = tuple[str, str | None]
"""A type of record of one of Kafka's own topics, and the release of its layout, None for any."""


class _Typed(Protocol):
    """Typed keys and values; see ``kafkaspec.spark.typed``."""

    @property
    def columns(self) -> Mapping[str, Any]:
        """The columns by name, as ``kafkaspec.spark.schema.SparkColumn``."""

    def needed(self, sources: Sequence[str]) -> list[str]:
        """Return the columns to read."""

    def decoded(self, batch: Any, sources: Sequence[str], path: str) -> Any:
        """Return records with typed columns."""


RecordContent = MessageChoice | _Typed | None
"""What records hold, None for bytes."""

EARLIEST: Final = -2
LATEST: Final = -1
"""Their values in the JSON of ``startingOffsets`` and ``endingOffsets``."""


@dataclass(frozen=True)
class RangeBound:
    """Where reading begins or ends: offsets or times in ms, by topic-partition or one for all."""

    offsets: int | dict[TopicPartition, int] | None = None
    timestamps: int | dict[TopicPartition, int] | None = None


@dataclass(frozen=True)
class ReadOptions:
    """The options of a read; see docs/guide/spark.md.

    Attributes:
        paths: as they were given.
        start: where reading begins.
        end: where it ends, exclusive.
        log_start: whether reading begins at the log start offset, as on a broker, and not at the
            first segment.
        topics: names, None for all.
        pattern: of topics, as Python writes it; None for all.
        assigned: topic-partitions, None for all.
        broker_times: whether timestamps are looked up as a broker does; otherwise the first record
            that reaches one counts.
        latest_without_match: whether a starting timestamp that nothing reaches means the end of
            the log; otherwise it is an error.
        min_partitions: smallest number of tasks.
        max_records: most records of a task, counted by offsets; 0 for no limit.
        max_bytes: about how many bytes of files a task reads.
        max_offsets: most offsets of a micro-batch of a stream; 0 for no limit.
        fail_on_data_loss: whether missing data is an error.
        headers, batch, include_control: whether to read such columns, or records.
        committed: isolation level ``read_committed``.
        check_crcs: whether the CRC of each batch is computed and compared.
        on_error: what happens with damaged data; ``mode`` in Spark.
        corrupt_column: column in which ``PERMISSIVE`` describes damage.
        pushdown: whether to use filters of a query, see docs/guide/spark.md.
        messages: type of the records of one of Kafka's own topics to read, decoded; None for
            records as they are.
        release: release of the brokers that wrote them, None if it is not known.
        value_decode, key_decode: what values and keys are, ``decode`` by the schemas that they
            name; None for bytes.
        value_schema, key_schema: a file, or a subject with or without a version; None for none.
        schemas: where the schemas are, None for beside the logs.
        evolve: version of the subject as which values are read.
        value_errors: what happens with a row that has no key or value.
        depth: levels of a type within itself that become columns; deeper ones become JSON text.
        enums: enumerations as text or numbers.
        typed: the types of keys and values, once they are planned.
    """

    paths: tuple[str, ...]
    start: RangeBound
    end: RangeBound
    log_start: bool = True
    topics: frozenset[str] | None = None
    pattern: str | None = None
    assigned: frozenset[TopicPartition] | None = None
    broker_times: bool = False
    latest_without_match: bool = False
    min_partitions: int = 1
    max_records: int = 0
    max_bytes: int = 128 << 20
    max_offsets: int = 0
    fail_on_data_loss: bool = True
    headers: bool = False
    batch: bool = False
    include_control: bool = False
    committed: bool = False
    check_crcs: bool = True
    on_error: ErrorPolicy = "raise"
    corrupt_column: str = "_corrupt_record"
    pushdown: bool = False
    messages: str | None = None
    release: str | None = None
    value_decode: str | None = None
    key_decode: str | None = None
    value_schema: str | None = None
    key_schema: str | None = None
    schemas: str | None = None
    evolve: int | Literal["latest"] = "latest"
    value_errors: ErrorPolicy = "column"
    depth: int = 0
    enums: Literal["text", "int"] = "text"
    typed: _Typed | None = None

    @property
    def content(self) -> RecordContent:
        """The content of records: Kafka's messages, or typed keys and values; None for bytes."""
        if self.typed is not None:
            return self.typed
        return None if self.messages is None else (self.messages, self.release)

    @property
    def corrupt(self) -> str | None:
        """Name of the column that describes damage; None in the modes without one."""
        return self.corrupt_column if self.on_error == "column" else None

    def selects(self, topic: str | None, partition: int | None) -> bool:
        """Return whether the options ask for a topic-partition."""
        if self.topics is not None:
            return topic in self.topics
        if self.pattern is not None:
            return topic is not None and re.fullmatch(self.pattern, topic) is not None
        return self.assigned is None or (topic, partition) in self.assigned


def read_options(options: Mapping[str, str], *, streaming: bool | None = False) -> ReadOptions:
    """Return the options for reading; ``streaming`` is None if that is not known yet."""
    given = lowered(options)
    _refuse(given, streaming)
    if len(given.keys() & {"subscribe", "subscribepattern", "assign"}) > 1:
        raise OptionError("give at most one of subscribe, subscribePattern and assign")
    made = ReadOptions(
        paths=_paths(given),
        start=_start(given, streaming is not False),
        end=_end(given),
        **parse(given, _TABLE),
    )
    return _of_topic(made) if made.messages is not None else made


def _of_topic(options: ReadOptions) -> ReadOptions:
    """Return options that choose the topic of the messages, if none of them does."""
    assert options.messages is not None
    try:
        topic = kind_of_record(options.messages, options.release).topic
    except ValueError as error:
        raise OptionError(f"option messages: {error}") from None
    if options.pattern is not None or options.include_control:
        raise OptionError(
            "option messages cannot be combined with subscribePattern or includeControl"
        )
    topics = options.topics or frozenset(name for name, _ in options.assigned or ())
    if topics - {topic}:
        others = ", ".join(sorted(topics - {topic}))
        raise OptionError(f"option messages: {options.messages} is in {topic}, not in {others}")
    return options if topics else replace(options, topics=frozenset({topic}))


def _refuse(given: Mapping[str, str], streaming: bool | None) -> None:
    for name in given:
        if name in _KNOWN:
            if name in _STREAMS_ONLY and streaming is False:
                raise OptionError(f"option {_KNOWN[name]} is for streams")
            if name in _BATCH_ONLY and streaming:
                raise OptionError(f"option {_KNOWN[name]} is not for streams")
        elif name in _REFUSED:
            raise OptionError(f"option {name}: {_REFUSED[name]}")
        elif name.startswith(_REFUSED_PREFIXES):
            raise OptionError(f"option {name}: {_BROKER}" + did_you_mean(name, _KNOWN.values()))
        else:
            raise OptionError(
                f"there is no option {name} for reading" + did_you_mean(name, _KNOWN.values())
            )


def _paths(given: Mapping[str, str]) -> tuple[str, ...]:
    found: Any = [given["path"]] if given.get("path") else []
    if "paths" in given:
        found = _json("paths", given["paths"])
        if not isinstance(found, list) or not all(isinstance(path, str) for path in found):
            raise OptionError("option paths is a JSON list of texts")
    if not found:
        raise OptionError(
            "give a path: a segment, a partition directory or a log directory. A table keeps its"
            " path if CREATE TABLE names no columns; otherwise add WITH (path = '...') to the query"
        )
    return tuple(found)


def _topics(_: str, value: str) -> frozenset[str]:
    names = frozenset(name.strip() for name in value.split(",") if name.strip())
    if not names:
        raise OptionError("option subscribe names no topic")
    return names


def _pattern(name: str, value: str) -> str:
    try:
        return from_java(value).pattern
    except ValueError as error:
        raise OptionError(f"option {name}: {error}") from None


def _assigned(name: str, value: str) -> frozenset[TopicPartition]:
    found = _json(name, value)
    if not isinstance(found, dict) or not all(
        isinstance(numbers, list) and all(_is_number(number) for number in numbers)
        for numbers in found.values()
    ):
        raise OptionError('option assign is JSON of the form {"topic":[0,1]}')
    return frozenset((topic, number) for topic, numbers in found.items() for number in numbers)


def _start(given: Mapping[str, str], streaming: bool) -> RangeBound:
    bound = _bound(given, "starting", "latest" if streaming else "earliest")
    if not streaming and bound.offsets == LATEST:
        raise OptionError("option startingOffsets can't be latest when a batch is read")
    if not streaming and isinstance(bound.offsets, dict) and LATEST in bound.offsets.values():
        raise OptionError("option startingOffsets can't be latest (-1) when a batch is read")
    return bound


def _end(given: Mapping[str, str]) -> RangeBound:
    bound = _bound(given, "ending", "latest")
    if bound.offsets == EARLIEST:
        raise OptionError("option endingOffsets can't be earliest")
    if isinstance(bound.offsets, dict) and EARLIEST in bound.offsets.values():
        raise OptionError("option endingOffsets can't be earliest (-2)")
    return bound


def _bound(given: Mapping[str, str], side: str, default: str) -> RangeBound:
    """Choose a timestamp before timestamps by topic-partition, and these before offsets."""
    name = f"{side}Timestamp"
    if name.lower() in given:
        return RangeBound(timestamps=_time(name, given[name.lower()]))
    name = f"{side}OffsetsByTimestamp"
    if name.lower() in given:
        return RangeBound(timestamps=_by_partition(name, given[name.lower()], 0, times=True))
    name = f"{side}Offsets"
    value = given.get(name.lower(), default)
    fixed = {"earliest": EARLIEST, "latest": LATEST}.get(value.lower())
    return RangeBound(_by_partition(name, value, EARLIEST) if fixed is None else fixed)


def _time(name: str, value: str) -> int:
    """Parse a time: ms since the Unix epoch, as Spark has it, or ISO 8601."""
    try:
        found = milliseconds(value)
    except ValueError as error:
        raise OptionError(f"option {name}: {error}") from None
    parsed: int = whole(0)(name, str(found))
    return parsed


def _by_partition(
    name: str, value: str, least: int, *, times: bool = False
) -> dict[TopicPartition, int]:
    found = _json(name, value)
    made: dict[TopicPartition, int] = {}
    try:
        for topic, numbers in found.items():
            for number, offset in numbers.items():
                if times and isinstance(offset, str):
                    offset = _time(name, offset)
                if not (number.isascii() and number.isdigit() and _is_number(offset, least)):
                    raise ValueError
                made[topic, int(number)] = offset
    except OptionError:
        raise
    except (AttributeError, ValueError):
        form = '{"topic":{"0":23,"1":42}}'
        raise OptionError(f"option {name} is JSON of the form {form}") from None
    return made


def _is_number(value: Any, least: int = 0) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _json(name: str, value: str) -> Any:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise OptionError(f"option {name} is not JSON: {value}") from None


def _bytes(name: str, value: str) -> int:
    match = re.fullmatch(r"(\d+)\s*([kmgt]?)b?", value.strip().lower())
    if match is None or not int(match[1]):
        raise OptionError(f"option {name} is a size such as 128m, not {value}")
    return int(match[1]) << {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}[match[2]]


def _format(_: str, value: str) -> str:
    return "decode" if value.lower() == "true" else value


def _evolve(name: str, value: str) -> int | str:
    return "latest" if value.lower() == "latest" else whole(1)(name, value)


_COMMITTED: Final = one_of({"read_uncommitted": False, "read_committed": True})
_MODES: Final = one_of({"failfast": "raise", "permissive": "column", "dropcorrupt": "skip"})
_TABLE: Final[Table] = {
    "subscribe": ("topics", _topics),
    "subscribePattern": ("pattern", _pattern),
    "assign": ("assigned", _assigned),
    "logStart": ("log_start", one_of({"checkpoint": True, "ignore": False})),
    "timestampLookup": ("broker_times", one_of({"records": False, "broker": True})),
    "startingOffsetsByTimestampStrategy": (
        "latest_without_match",
        one_of({"error": False, "latest": True}),
    ),
    "minPartitions": ("min_partitions", whole(1)),
    "maxRecordsPerPartition": ("max_records", whole(1)),
    "maxPartitionBytes": ("max_bytes", _bytes),
    "maxOffsetsPerTrigger": ("max_offsets", whole(1)),
    "failOnDataLoss": ("fail_on_data_loss", flag),
    "includeHeaders": ("headers", flag),
    "includeBatch": ("batch", flag),
    "includeControl": ("include_control", flag),
    # Settings of Kafka's consumer, with Spark's prefix for such or without.
    "kafka.isolation.level": ("committed", _COMMITTED),
    "isolation.level": ("committed", _COMMITTED),
    "kafka.check.crcs": ("check_crcs", flag),
    "check.crcs": ("check_crcs", flag),
    "mode": ("on_error", _MODES),
    "columnNameOfCorruptRecord": ("corrupt_column", text),
    "filterPushdown": ("pushdown", flag),
    "messages": ("messages", text),
    "release": ("release", text),
    "value.decode": ("value_decode", _format),
    "key.decode": ("key_decode", _format),
    "value.schema": ("value_schema", text),
    "key.schema": ("key_schema", text),
    "schemas": ("schemas", text),
    "evolve": ("evolve", _evolve),
    "value.depth": ("depth", whole(0, 64)),
    "value.enums": ("enums", one_of({"text": "text", "int": "int"})),
    "value.errors": (
        "value_errors",
        one_of({"column": "column", "skip": "skip", "raise": "raise"}),
    ),
}
DOTTED: Final = {name.replace(".", "_"): name for name in _TABLE if "." in name}
"""Options with a dot in their names, by those that Python writes."""
_STREAMS_ONLY: Final = ("maxoffsetspertrigger",)
_ENDS: Final = ("endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp")
_BATCH_ONLY: Final = tuple(name.lower() for name in _ENDS)
_STARTS: Final = ("startingOffsets", "startingTimestamp", "startingOffsetsByTimestamp")
_KNOWN: Final = {name.lower(): name for name in ("path", "paths", *_STARTS, *_ENDS, *_TABLE)}
_BROKER: Final = "the data source reads files, not brokers"
_REFUSED: Final = {
    "minoffsetspertrigger": "a Python data source cannot wait for more data",
    "maxtriggerdelay": "a Python data source cannot wait for more data",
    "groupidprefix": _BROKER,
}
_REFUSED_PREFIXES: Final = ("kafka.", "fetchoffset.", "kafkaconsumer.")
