"""Options that say what keys and values are, and what is told of them afterwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from kafkaspec.cli.console import count_text, note, warn
from kafkaspec.cli.options import Command, library_option, topic_option, wrong_usage
from kafkaspec.errors import KafkaSpecError

if TYPE_CHECKING:
    from kafkaspec.log.directory import LogDirectory
    from kafkaspec.log.partition import Partition
    from kafkaspec.log.segment import Segment
    from kafkaspec.values.reading.request import ValueReport

TYPED_EPILOG: Final = """\
Keys and values:
  bytes        as they are (the default)
  decode       by the schemas that they name: by id, GUID or fingerprint
  auto         as decode if all of a sample is so, else as text or bytes
  avro, protobuf, json-schema
               with --value-schema, --key-schema
  text, json, long, integer, short, float, double, boolean, uuid, list<...>,
  connect-json, ...
               formats without a schema: docs/guide/tables.md
Schemas are found in the topic _schemas beside PATH, or named with --schemas.
"""


def typed_options(command: Command) -> Command:
    """Add the options that say what keys and values are, and what happens to rows without them."""
    key = library_option("key", metavar="FORMAT", former="--key")
    return _with((_VALUE, key, *_READING, *_ROWS, topic_option), command)


def content_options(command: Command) -> Command:
    """Add those of a command in which ``--topic`` says where it looks."""
    key = library_option("key", metavar="FORMAT")
    return _with((_VALUE, key, *_READING, *_ROWS), command)


def search_options(command: Command) -> Command:
    """Add those that a search takes, in which ``--key`` is a key to find."""
    key = library_option("key", into="key_format", metavar="FORMAT")
    return _with((_VALUE, key, *_READING), command)


def _with(options: Sequence[Callable[[Command], Command]], command: Command) -> Command:
    for option in reversed(options):
        command = option(command)
    return command


_VALUE: Final = library_option("value", metavar="FORMAT")
_READING: Final = (
    library_option("schemas", metavar="PATH"),
    library_option("value_schema", metavar="SCHEMA"),
    library_option("key_schema", metavar="SCHEMA"),
    library_option("evolve", metavar="VERSION", default="latest"),
    library_option("unwrap"),
    library_option("secrets"),
    library_option("depth", type=click.IntRange(0, 64), default=0, show_default=False),
    library_option("enums", default="text"),
)
_ROWS: Final = (library_option("on_value_error", default="column"), library_option("raw"))

_DEFAULTS: Final[dict[str, Any]] = {
    "value": None,
    "key": None,
    "schemas": None,
    "value_schema": None,
    "key_schema": None,
    "evolve": "latest",
    "on_value_error": "column",
    "raw": False,
    "unwrap": False,
    "secrets": False,
    "topic": None,
}


def taken(arguments: dict[str, Any], *, needed: bool = False) -> dict[str, Any] | None:
    """Take the options out of the arguments of a command, as ``Columnar.to_typed`` takes them.

    Args:
        arguments: of the command.
        needed: whether columns of bytes are to be treated as typed ones.

    Returns:
        The options; None if keys and values stay as they are.

    Raises:
        click.UsageError: a library is not installed; options go with others that are not there.
    """
    if "key_format" in arguments:
        arguments["key"] = arguments.pop("key_format")
    found = {name: arguments.pop(name, default) for name, default in _DEFAULTS.items()}
    depth, enums = arguments.pop("depth"), arguments.pop("enums")
    if found["value_schema"] is not None and found["value"] is None:
        found["value"] = "decode"
    if found["key_schema"] is not None and found["key"] is None:
        found["key"] = "decode"
    if not needed and found["value"] is None and found["key"] is None:
        given = [name for name in ("schemas", "topic") if found[name] is not None]
        if given or found["raw"] or depth or found["evolve"] != "latest":
            raise click.UsageError(
                "say what values or keys are: --value decode, --key-format decode"
            )
        return None
    with wrong_usage(ImportError):
        from kafkaspec.values.options import Options
        from kafkaspec.values.reading.request import ValueReport
    found["value"] = found["value"] or "bytes"
    found["key"] = found["key"] or "bytes"
    found["values"] = Options(depth=depth, enums=enums)
    found["report"] = ValueReport()
    return found


def beside(log: Segment | Partition | LogDirectory) -> dict[str, Any] | None:
    """Return the options by which keys and values are decoded if schemas lie beside a log.

    Returns:
        The options; None if there are no schemas, or what reads them is not installed.
    """
    try:
        from kafkaspec.values.registry.log import registry_of
    except ImportError:
        return None
    try:
        schemas = registry_of(log, None)
    except KafkaSpecError:
        return None
    if schemas is None:
        return None
    note("keys and values are decoded, by the schemas beside them; --value bytes leaves them")
    arguments = {"value": "decode", "key": "decode", "depth": _DEPTH, "enums": "text"}
    found = taken(arguments | {"schemas": schemas})
    if found is not None:
        found["report"].asked = False
    return found


_DEPTH: Final = 2
"""Levels of a type within itself, where nobody was asked."""

_MOST_PROBLEMS: Final = 5


def tell(report: ValueReport) -> int:
    """Say what was decided about keys and values, and return the number of what is not there."""
    for text in report.notes:
        note(text)
    for text in report.undecoded:
        (warn if report.asked else note)(text)
    for text in list(report.problems)[:_MOST_PROBLEMS]:
        warn(f"schemas: {text}")
    if len(report.problems) > _MOST_PROBLEMS:
        warn(f"schemas: {len(report.problems)} problems in all; see kafkaspec schemas")
    for (side, code), number in sorted(report.failures.items()):
        warn(f"{count_text(number, side)} not decoded; {report.first[side, code]}")
    return report.failed + len(report.problems)
