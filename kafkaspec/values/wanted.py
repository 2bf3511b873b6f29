"""How the keys or the values of a log are to be read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kafkaspec.log.columnar import Evolve, ValueErrors
from kafkaspec.options import checked
from kafkaspec.values.definition import Definition
from kafkaspec.values.options import DEFAULT_OPTIONS, Options
from kafkaspec.values.registry.schema import Schema

BYTES: Final = "bytes"
TEXT: Final = "text"
CONNECT_JSON: Final = "connect-json"
DECODE: Final = "decode"
AUTO: Final = "auto"
GIVEN: Final = ("avro", "protobuf", "json-schema")
"""Formats of which the schema is given."""


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """How the keys or the values of a log are to be read.

    Attributes:
        format: ``bytes``: as they are. ``decode``: by the schemas that the rows name. ``auto``: as
            ``decode`` if all of a sample can be, else as text if that is what it is, else as
            bytes. ``avro``, ``protobuf``, ``json-schema``: with ``schema``. Or one of
            ``FIXED_FORMATS``.
        schema: a schema: of a ``SchemaLog``, its definition, a file (``FILE`` or
            ``FILE#MESSAGE``), or a subject of the registry (``SUBJECT`` or ``SUBJECT@VERSION``).
        evolve: see ``kafkaspec.log.columnar.Evolve``.
        errors: see ``ValueErrors``.
        raw: whether there is a column with the bytes too.
        unwrap: whether envelopes of Debezium become rows with their operation and time.
        secrets: whether configurations of Connect show passwords and keys.
        options: how values become columns.
    """

    format: str = BYTES
    schema: str | Definition | Schema | None = None
    evolve: Evolve = "latest"
    errors: ValueErrors = "column"
    raw: bool = False
    unwrap: bool = False
    secrets: bool = False
    options: Options = DEFAULT_OPTIONS
