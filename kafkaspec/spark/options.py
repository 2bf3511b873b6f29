"""The options of the data source: names, forms and checks of Spark's own Kafka source.

Spark: ``KafkaSourceProvider`` and ``JsonUtils`` of its module ``sql-kafka-0-10``. What makes no
sense for files is refused by name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

TopicPartition = tuple[str, int]

Mode = Literal["FAILFAST", "PERMISSIVE", "DROPCORRUPT"]
"""Modes for damaged data: an error, a row that describes it, or a count and a log message."""

EARLIEST: Final = -2
LATEST: Final = -1
"""Their values in the JSON of ``startingOffsets`` and ``endingOffsets``."""

MAX_PARTITION_BYTES: Final = 128 << 20
CORRUPT_COLUMN: Final = "_corrupt_record"

_BROKER: Final = "the data source reads files, not brokers"
_REFUSED: Final = {
    "minoffsetspertrigger": "a Python data source cannot wait for more data",
    "maxtriggerdelay": "a Python data source cannot wait for more data",
    "groupidprefix": _BROKER,
}
_REFUSED_PREFIXES: Final = ("kafka.", "fetchoffset.", "kafkaconsumer.")

_KNOWN: Final = {
    name.lower(): name
    for name in (
        "path",
        "paths",
        "subscribe",
        "subscribePattern",
        "assign",
        "startingOffsets",
        "endingOffsets",
        "startingTimestamp",
        "endingTimestamp",
        "startingOffsetsByTimestamp",
        "endingOffsetsByTimestamp",
        "startingOffsetsByTimestampStrategy",
        "minPartitions",
        "maxRecordsPerPartition",
        "maxPartitionBytes",
        "maxOffsetsPerTrigger",
        "failOnDataLoss",
        "includeHeaders",
        "includeBatch",
        "includeControl",
        "kafka.isolation.level",
        "isolation.level",
        "kafka.check.crcs",
        "check.crcs",
        "mode",
        "columnNameOfCorruptRecord",
        "filterPushdown",
    )
}
_ISOLATION: Final = ("read_uncommitted", "read_committed")
_STREAMS_ONLY: Final = ("maxoffsetspertrigger",)
_BATCH_ONLY: Final = ("endingoffsets", "endingtimestamp", "endingoffsetsbytimestamp")

_SIZE = re.compile(r"(\d+)\s*([kmgt]?)b?")


class OptionError(ValueError):
    """An option that cannot be followed; the text names it."""


@dataclass(frozen=True)
class Bound:
    """Where reading begins or ends, for each topic-partition.

    Attributes:
        offsets: by topic-partition, or one for all; ``EARLIEST`` and ``LATEST`` may be among them.
        timestamps: in ms since the Unix epoch, by topic-partition or one for all, instead.
    """

    offsets: int | dict[TopicPartition, int] | None = None
    timestamps: int | dict[TopicPartition, int] | None = None


@dataclass(frozen=True)
class ReadOptions:
    """The options of a read; see docs/guide/spark.md.

    Attributes:
        paths: as they were given.
        topics: names, None for all.
        pattern: of topics, None for all.
        assigned: topic-partitions, None for all.
        start: where reading begins.
        end: where it ends, exclusive.
        latest_without_match: a starting timestamp that nothing reaches means the end of the log;
            an error otherwise.
        min_partitions: tasks that are wanted at least.
        max_records: records of a task at most, by offsets; 0 for no limit.
        max_bytes: of files for a task.
        max_offsets: of a micro-batch of a stream; 0 for no limit.
        fail_on_data_loss: whether data that is gone is an error.
        headers, batch, control: whether such columns, or records, are wanted.
        committed: isolation level ``read_committed``.
        check_crcs: whether the CRC of each batch is computed and compared.
        mode: what damaged data means.
        corrupt_column: where ``PERMISSIVE`` says what was found.
        pushdown: whether filters of a query are taken over, see docs/guide/spark.md.
    """

    paths: tuple[str, ...]
    topics: frozenset[str] | None
    pattern: str | None
    assigned: frozenset[TopicPartition] | None
    start: Bound
    end: Bound
    latest_without_match: bool
    min_partitions: int
    max_records: int
    max_bytes: int
    max_offsets: int
    fail_on_data_loss: bool
    headers: bool
    batch: bool
    control: bool
    committed: bool
    check_crcs: bool
    mode: Mode
    corrupt_column: str
    pushdown: bool

    def selects(self, topic: str | None, partition: int | None) -> bool:
        """Return whether the options ask for a topic-partition."""
        if self.topics is not None:
            return topic in self.topics
        if self.pattern is not None:
            return topic is not None and re.fullmatch(self.pattern, topic) is not None
        return self.assigned is None or (topic, partition) in self.assigned


def read_options(options: Mapping[str, str], *, streaming: bool | None = False) -> ReadOptions:
    """Return the options for reading.

    Args:
        options: names in any letter case, and their values.
        streaming: whether for a stream; None if that is not known yet.

    Raises:
        OptionError: one of them cannot be followed.
    """
    given = {name.lower(): str(value) for name, value in options.items()}
    _refuse(given, streaming)
    get = given.get
    chosen = [name for name in ("subscribe", "subscribepattern", "assign") if name in given]
    if len(chosen) > 1:
        raise OptionError("give at most one of subscribe, subscribePattern and assign")
    topics = _topics(given["subscribe"]) if "subscribe" in given else None
    return ReadOptions(
        paths=_paths(given),
        topics=topics,
        pattern=_pattern(get("subscribepattern")),
        assigned=_assigned(get("assign")),
        start=_start(given, streaming is not False),
        end=_end(given),
        latest_without_match=_strategy(given) == "latest",
        min_partitions=_number(given, "minpartitions", 1, 1),
        max_records=_number(given, "maxrecordsperpartition", 0, 1),
        max_bytes=_bytes(given, "maxpartitionbytes", MAX_PARTITION_BYTES),
        max_offsets=_number(given, "maxoffsetspertrigger", 0, 1),
        fail_on_data_loss=_flag(given, "failondataloss", True),
        headers=_flag(given, "includeheaders", False),
        batch=_flag(given, "includebatch", False),
        control=_flag(given, "includecontrol", False),
        committed=_of_consumer(given, "isolation.level", _ISOLATION) == "read_committed",
        check_crcs=_of_consumer(given, "check.crcs", ("true", "false")) == "true",
        mode=_mode(given),
        corrupt_column=get("columnnameofcorruptrecord", CORRUPT_COLUMN),
        pushdown=_flag(given, "filterpushdown", False),
    )


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
            raise OptionError(f"option {name}: {_BROKER}")
        else:
            raise OptionError(f"there is no option {name} for reading")


def _paths(given: Mapping[str, str]) -> tuple[str, ...]:
    if "paths" in given:
        paths = _json(given, "paths")
        if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
            raise OptionError("option paths is a JSON list of texts")
        found = tuple(paths)
    else:
        found = (given["path"],) if given.get("path") else ()
    if not found:
        raise OptionError("give a path: a segment, a partition directory or a log directory")
    return found


def _topics(text: str) -> frozenset[str]:
    names = frozenset(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise OptionError("option subscribe names no topic")
    return names


def _pattern(text: str | None) -> str | None:
    if text is None:
        return None
    try:
        re.compile(text)
    except re.error as error:
        raise OptionError(f"option subscribePattern: {error}") from None
    return text


def _assigned(text: str | None) -> frozenset[TopicPartition] | None:
    if text is None:
        return None
    found = _json({"assign": text}, "assign")
    if not isinstance(found, dict) or not all(
        isinstance(numbers, list) and all(_is_number(number) for number in numbers)
        for numbers in found.values()
    ):
        raise OptionError('option assign is JSON of the form {"topic":[0,1]}')
    return frozenset((topic, number) for topic, numbers in found.items() for number in numbers)


def _start(given: Mapping[str, str], streaming: bool) -> Bound:
    bound = _by_time(given, "starting")
    if bound is not None:
        return bound
    text = given.get("startingoffsets", "latest" if streaming else "earliest")
    if text.lower() == "latest" and not streaming:
        raise OptionError("option startingOffsets can't be latest when a batch is read")
    bound = Bound(_offsets(given, "startingoffsets", text))
    if isinstance(bound.offsets, dict) and not streaming and LATEST in bound.offsets.values():
        raise OptionError("option startingOffsets can't be latest (-1) when a batch is read")
    return bound


def _end(given: Mapping[str, str]) -> Bound:
    bound = _by_time(given, "ending")
    if bound is not None:
        return bound
    text = given.get("endingoffsets", "latest")
    if text.lower() == "earliest":
        raise OptionError("option endingOffsets can't be earliest")
    bound = Bound(_offsets(given, "endingoffsets", text))
    if isinstance(bound.offsets, dict) and EARLIEST in bound.offsets.values():
        raise OptionError("option endingOffsets can't be earliest (-2)")
    return bound


def _by_time(given: Mapping[str, str], side: str) -> Bound | None:
    """Choose a timestamp before timestamps by topic-partition, and these before offsets."""
    name = f"{side}timestamp"
    if name in given:
        return Bound(timestamps=_number(given, name, 0, 0))
    name = f"{side}offsetsbytimestamp"
    if name in given:
        return Bound(timestamps=_by_partition(given, name, 0))
    return None


def _offsets(given: Mapping[str, str], name: str, text: str) -> int | dict[TopicPartition, int]:
    if text.lower() in ("earliest", "latest"):
        return EARLIEST if text.lower() == "earliest" else LATEST
    return _by_partition(given, name, EARLIEST)


def _by_partition(given: Mapping[str, str], name: str, least: int) -> dict[TopicPartition, int]:
    found = _json(given, name)
    made: dict[TopicPartition, int] = {}
    if isinstance(found, dict):
        for topic, numbers in found.items():
            if not isinstance(numbers, dict):
                break
            for number, value in numbers.items():
                if not (number.isascii() and number.isdigit() and _is_number(value, least)):
                    raise OptionError(_form(name))
                made[topic, int(number)] = value
        else:
            return made
    raise OptionError(_form(name))


def _form(name: str) -> str:
    return f'option {_KNOWN[name]} is JSON of the form {{"topic":{{"0":23,"1":42}}}}'


def _is_number(value: Any, least: int = 0) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _json(given: Mapping[str, str], name: str) -> Any:
    try:
        return json.loads(given[name])
    except (ValueError, RecursionError):
        raise OptionError(f"option {_KNOWN[name]} is no JSON: {given[name]}") from None


def _strategy(given: Mapping[str, str]) -> str:
    return _choice(given, "startingoffsetsbytimestampstrategy", ("error", "latest"))


def _mode(given: Mapping[str, str]) -> Mode:
    chosen = _choice(given, "mode", ("failfast", "permissive", "dropcorrupt"))
    modes: dict[str, Mode] = {
        "failfast": "FAILFAST",
        "permissive": "PERMISSIVE",
        "dropcorrupt": "DROPCORRUPT",
    }
    return modes[chosen]


def _of_consumer(given: Mapping[str, str], name: str, choices: tuple[str, ...]) -> str:
    """Return a setting of Kafka's consumer, with Spark's prefix for such or without."""
    names = (f"kafka.{name}", name)
    found = {_choice(given, each, choices) for each in names if each in given}
    if len(found) > 1:
        raise OptionError(f"options {name} and kafka.{name} differ")
    return found.pop() if found else choices[0]


def _choice(given: Mapping[str, str], name: str, choices: tuple[str, ...]) -> str:
    """Return one of the choices, the first by default."""
    text = given.get(name, choices[0]).lower()
    if text not in choices:
        raise OptionError(f"option {_KNOWN[name]} is one of {', '.join(choices)}, not {text}")
    return text


def _flag(given: Mapping[str, str], name: str, default: bool) -> bool:
    text = given.get(name, str(default)).lower()
    if text not in ("true", "false"):
        raise OptionError(f"option {_KNOWN[name]} is true or false, not {text}")
    return text == "true"


def _number(given: Mapping[str, str], name: str, default: int, least: int) -> int:
    text = given.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit()) or not least <= int(text) < 1 << 63:
        raise OptionError(f"option {_KNOWN[name]} is a number, at least {least}, not {text}")
    return int(text)


def _bytes(given: Mapping[str, str], name: str, default: int) -> int:
    text = given.get(name)
    if text is None:
        return default
    match = _SIZE.fullmatch(text.strip().lower())
    if match is None or not int(match[1]):
        raise OptionError(f"option {_KNOWN[name]} is a size such as 128m, not {text}")
    return int(match[1]) << {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}[match[2]]
