"""Parse options of the data source: texts by name, in any letter case."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

_Parser = Callable[[str, str], Any]
"""Function that takes the documented name of an option and its text."""

Table = Mapping[str, tuple[str, _Parser]]
"""Of each option, by its documented name: the attribute that it sets, and its parser."""

LARGEST_INT: Final = (1 << 31) - 1
"""Largest number of a partition, and largest setting of Kafka that is an int."""
LARGEST_LONG: Final = (1 << 63) - 1
"""Largest offset or time."""

_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,19}")


class OptionError(ValueError):
    """An option that cannot be followed; the text names it."""


def lowered(options: Mapping[str, object]) -> dict[str, str]:
    """Return options by their names in small letters."""
    return {name.lower(): str(value) for name, value in options.items()}


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


def whole(least: int, most: int = LARGEST_LONG) -> _Parser:
    """Return a parser of a number between two others."""

    def parser(name: str, value: str) -> int:
        if not _WHOLE.fullmatch(value) or not least <= int(value) <= most:
            raise OptionError(
                f"option {name} is a whole number from {least} to {most}, not {value[:40]!r}"
            )
        return int(value)

    return parser
