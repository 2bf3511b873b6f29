"""Parse options of the data source: texts by name, in any letter case."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, get_args
from uuid import UUID

from kafkaspec.broker.profiles import get_profile
from kafkaspec.broker.settings import BOUNDS
from kafkaspec.files.checkpoints import kafka_uuid
from kafkaspec.files.names import MOST_TOPIC, is_topic
from kafkaspec.options import deprecated, options_of, words_of
from kafkaspec.spark.patterns import from_java

_Parser = Callable[[str, str], Any]
"""Function that takes the documented name of an option and its text."""

Table = Mapping[str, tuple[str, _Parser]]
"""Of each option, by its documented name: the attribute that it sets, and its parser."""

TopicPartition = tuple[str, int]

LARGEST_INT: Final = (1 << 31) - 1
"""Largest number of a partition, and largest setting of Kafka that is an int."""
LARGEST_LONG: Final = (1 << 63) - 1
"""Largest offset or time."""
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,19}")


class OptionError(ValueError):
    """An option that cannot be followed; the text names it."""


_FORMER: Final = {"value.depth": "depth", "value.enums": "enums", "value.errors": "onValueError"}
"""Former names of options, and what they are until the next minor version."""


def lowered(options: Mapping[str, object]) -> dict[str, str]:
    """Return options by their names in small letters, former names as what they are now."""
    found = {name.lower(): str(value) for name, value in options.items()}
    for old in _FORMER.keys() & found.keys():
        deprecated(f"the option {old}", _FORMER[old])
        found.setdefault(_FORMER[old].lower(), found.pop(old))
    return found


def parse(given: Mapping[str, str], table: Table) -> dict[str, Any]:
    """Return the attributes that options set, by a table; two options that set one must agree."""
    found: dict[str, tuple[str, Any]] = {}
    for name, (attribute, parser) in table.items():
        if name.lower() in given:
            value = parser(name, given[name.lower()])
            other, before = found.setdefault(attribute, (name, value))
            if value != before:
                raise OptionError(f"options {name} and {other} differ")
    return {attribute: value for attribute, (_, value) in found.items()}


def text(_: str, value: str) -> str:
    """Parse an option that may be anything."""
    return value


def one_of(choices: Mapping[str, Any]) -> _Parser:
    """Return a parser of a choice, in any letter case."""

    def parser(name: str, value: str) -> Any:
        if value.lower() not in choices:
            raise OptionError(f"option {name} is one of {', '.join(choices)}, not {value[:40]!r}")
        return choices[value.lower()]

    return parser


flag: Final = one_of({"true": True, "false": False})


@dataclass(frozen=True, slots=True)
class Sets:
    """Effect of an option of the data source, as ``Annotated[type, Sets(...)]``.

    Attributes:
        attribute: the attribute; "" if more than one option decides it.
        text: what it does; "" if the option of the library with this name in Spark says it.
        parser: parses it, unless its type says how.
        values: what its words mean, in their order; the words themselves if empty.
    """

    attribute: str
    text: str = ""
    parser: _Parser | None = None
    values: tuple[object, ...] = ()


def table_of(names: type) -> Table:
    """Return the options of a typed dictionary, in which an underscore stands for a dot."""
    return {
        name.replace("_", "."): (sets.attribute, sets.parser or _parser(kind, sets.values))
        for name, (kind, sets) in options_of(names).items()
        if sets.attribute
    }


def _parser(kind: Any, values: tuple[object, ...]) -> _Parser:
    words = words_of(kind)
    if bool in get_args(kind) and words:
        return flag
    if words:
        return one_of(dict(zip(map(str.lower, words), values or words, strict=True)))
    return whole(1) if int in get_args(kind) else text


def whole(least: int, most: int = LARGEST_LONG) -> _Parser:
    """Return a parser of a number between two others."""

    def parser(name: str, value: str) -> int:
        if not _WHOLE.fullmatch(value) or not least <= int(value) <= most:
            raise OptionError(
                f"option {name} is a whole number from {least} to {most}, not {value[:40]!r}"
            )
        return int(value)

    return parser


def is_number(value: Any, least: int = 0) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def parse_json(name: str, value: str) -> Any:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise OptionError(f"option {name} is not JSON: {value}") from None


def topics(_: str, value: str) -> frozenset[str]:
    names = frozenset(name.strip() for name in value.split(",") if name.strip())
    if not names:
        raise OptionError("option subscribe names no topic")
    return names


def pattern(name: str, value: str) -> str:
    try:
        return from_java(value).pattern
    except ValueError as error:
        raise OptionError(f"option {name}: {error}") from None


def assigned(name: str, value: str) -> frozenset[TopicPartition]:
    found = parse_json(name, value)
    if not isinstance(found, dict) or not all(
        isinstance(numbers, list) and all(is_number(number) for number in numbers)
        for numbers in found.values()
    ):
        raise OptionError('option assign is JSON of the form {"topic":[0,1]}')
    return frozenset((topic, number) for topic, numbers in found.items() for number in numbers)


def size(name: str, value: str) -> int:
    match = re.fullmatch(r"(\d+)\s*([kmgt]?)b?", value.strip().lower())
    if match is None or not int(match[1]):
        raise OptionError(f"option {name} is a size such as 128m, not {value}")
    return int(match[1]) << {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}[match[2]]


def value_format(_: str, value: str) -> str:
    return "decode" if value.lower() == "true" else value


def version(name: str, value: str) -> int | str:
    return "latest" if value.lower() == "latest" else whole(1)(name, value)


def check_topic(topic: str) -> str:
    """Return the name of a topic, if it may be one; it becomes part of a path.

    Kafka: ``Topic.validate``.
    """
    if not is_topic(topic):
        raise ValueError(
            f"{topic[:40]!r} is not a name of a topic: it has 1 to {MOST_TOPIC} letters, digits,"
            " '.', '_', '-'"
        )
    return topic


def topic(_: str, value: str) -> str:
    return check_topic(value)


def profile(_: str, value: str) -> str:
    get_profile(value)
    return value


def epoch(name: str, value: str) -> int | None:
    return None if value.lower() == "none" else whole(*BOUNDS["leader_epoch"])(name, value)


def topic_id(name: str, value: str) -> UUID:
    found = kafka_uuid.from_text(value)
    if found is None:
        raise OptionError(f"option {name} is the id of a topic as Kafka shows it, 22 characters")
    return found
