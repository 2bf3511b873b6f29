"""The options of the data source: names, forms and checks of Spark's own Kafka source.

Spark: ``KafkaSourceProvider`` and ``JsonUtils`` of its module ``sql-kafka-0-10``. Options
that make no sense for files are refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, Protocol, get_type_hints

from kafkaspec.arrow.messages.topics import kind_of_record
from kafkaspec.log.options import Enums
from kafkaspec.options import did_you_mean
from kafkaspec.policy import ErrorPolicy
from kafkaspec.spark.named import ReadNames
from kafkaspec.spark.parsing import (
    OptionError,
    TopicPartition,
    is_number,
    lowered,
    parse,
    parse_json,
    table_of,
    whole,
)
from kafkaspec.times import milliseconds

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


BATCHES: Final = "batches"

RecordContent = MessageChoice | _Typed | Literal["batches"] | None
"""What records hold, None for bytes; ``batches`` if rows are not records, but headers."""

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
    """The options of a read, parsed; ``kafkaspec.spark.named`` says what they mean.

    None stands for all topics and partitions, or for bytes as they are, and 0 for no limit; of
    ``max_bytes``, for what planning takes. ``end``
    is exclusive, ``pattern`` as Python writes it, ``on_error`` is Spark's ``mode``. ``typed`` are
    the types of keys and values, once they are planned.
    """

    paths: tuple[str, ...]
    start: RangeBound
    end: RangeBound
    columns: tuple[str, ...] | None = None
    log_start: bool = True
    topics: frozenset[str] | None = None
    pattern: str | None = None
    assigned: frozenset[TopicPartition] | None = None
    broker_times: bool = False
    latest_without_match: bool = False
    min_partitions: int = 1
    max_records: int = 0
    max_bytes: int = 0
    max_offsets: int = 0
    fail_on_data_loss: bool = True
    headers: bool = False
    batch: bool = False
    batch_rows: bool = False
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
    on_value_error: ErrorPolicy = "column"
    depth: int = 0
    enums: Enums = "text"
    typed: _Typed | None = None

    @property
    def content(self) -> RecordContent:
        """The content of rows: Kafka's messages, typed keys and values, headers of batches."""
        if self.batch_rows:
            return BATCHES
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
        columns=_columns(given),
        **parse(given, _TABLE),
    )
    if made.batch_rows and (
        about := [name for name in _KNOWN if name in _OF_RECORDS & given.keys()]
    ):
        names = ", ".join(_KNOWN[name] for name in about)
        raise OptionError(f"rows=batches reads headers alone: {names} is about records")
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
        found = parse_json("paths", given["paths"])
        if not isinstance(found, list) or not all(isinstance(path, str) for path in found):
            raise OptionError("option paths is a JSON list of texts")
    if not found:
        raise OptionError(
            "give a path: a segment, a partition directory or a log directory. A table keeps its"
            " path if CREATE TABLE has OPTIONS (path '...', columns '...') instead of a list of"
            " columns; otherwise add WITH (path = '...') to the query"
        )
    return tuple(found)


def _columns(given: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the names that ``columns`` lists: what ``.schema`` says, for SQL."""
    if "columns" not in given:
        return None
    names = tuple(name.strip() for name in given["columns"].split(","))
    if not all(names):
        raise OptionError("option columns lists names of columns, with commas")
    return names


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
    found = parse_json(name, value)
    made: dict[TopicPartition, int] = {}
    try:
        for topic, numbers in found.items():
            for number, offset in numbers.items():
                if times and isinstance(offset, str):
                    offset = _time(name, offset)
                if not (number.isascii() and number.isdigit() and is_number(offset, least)):
                    raise ValueError
                made[topic, int(number)] = offset
    except OptionError:
        raise
    except (AttributeError, ValueError):
        form = '{"topic":{"0":23,"1":42}}'
        raise OptionError(f"option {name} is JSON of the form {form}") from None
    return made


_TABLE: Final = table_of(ReadNames)
_STREAMS_ONLY: Final = ("maxoffsetspertrigger",)
_ENDS: Final = ("endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp")
_BATCH_ONLY: Final = tuple(name.lower() for name in _ENDS)
_NAMES: Final = (name.replace("_", ".") for name in get_type_hints(ReadNames))
_KNOWN: Final = {name.lower(): name for name in ("path", "paths", "columns", *_NAMES)}
_OF_RECORDS: Final = frozenset(
    name.lower().replace("_", ".")
    for name in get_type_hints(ReadNames)
    if name.startswith(("kafka_", "check_", "isolation_", "include", "value_", "key_"))
    or name in ("messages", "release", "schemas", "evolve", "depth", "enums", "onValueError")
)
_BROKER: Final = "the data source reads files, not brokers"
_REFUSED: Final = {
    "minoffsetspertrigger": "a Python data source cannot wait for more data",
    "maxtriggerdelay": "a Python data source cannot wait for more data",
    "groupidprefix": _BROKER,
}
_REFUSED_PREFIXES: Final = ("kafka.", "fetchoffset.", "kafkaconsumer.")
