"""How keys and values are read and become columns, and limits on the way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from kafkaspec.log.options import Enums, Evolve
from kafkaspec.options import checked
from kafkaspec.policy import ErrorPolicy
from kafkaspec.values.definition import Definition, SchemaError
from kafkaspec.values.registry.schema import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Limits on what values and schemas may take: either may be hostile.

    Attributes:
        depth: levels of nesting of a value.
        items: items of arrays and maps of one value, those of no bytes included.
        output_bytes: bytes of columns from the values of one batch.
        schema_bytes: bytes of a schema and all that it refers to.
        schemas: schemas that one schema refers to, directly or not.
        decoders: compiled schemas that are kept.
    """

    depth: int = 64
    items: int = 1 << 20
    output_bytes: int = 1 << 30
    schema_bytes: int = 4 << 20
    schemas: int = 256
    decoders: int = 256

    def within(self, definition: Definition) -> list[Definition]:
        """Return a schema and all that it refers to, each object once and after what it imports.

        Raises:
            SchemaError: there are more of them, or they are larger, than a limit allows.
        """
        done: dict[int, Definition] = {}
        seen: set[int] = set()
        names: set[tuple[str, int]] = set()
        size = 0
        stack = [(definition, False)]
        while stack:
            item, ready = stack.pop()
            if ready:
                done.setdefault(id(item), item)
            elif id(item) not in seen:
                seen.add(id(item))
                size += len(item.text)
                names.update((name, id(imported)) for name, imported in item.imports)
                if len(names) > self.schemas:
                    raise SchemaError(f"the schema refers to more than {self.schemas} schemas")
                if size > self.schema_bytes:
                    raise SchemaError(f"the schema takes more than {self.schema_bytes} bytes")
                stack.append((item, True))
                stack.extend((imported, False) for _, imported in item.imports)
        return list(done.values())


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How values become columns.

    Attributes:
        depth: levels of a type within itself that become columns; what is deeper becomes JSON
            text. 0: a schema with recursion is an error.
        enums: symbols of enumerations as dictionaries of text, or as numbers.
        unions: several branches as a struct of nullable fields, or as Arrow's dense unions.
        oneof_case: Protobuf: whether each ``oneof`` has a column with the name of the field set.
        defaults: Protobuf: whether absent fields with a presence get the default of the schema.
        unknown_fields: Protobuf: whether a column has the bytes of unknown fields.
        formats: JSON Schema: whether ``date-time``, ``date``, ``time`` and ``uuid`` become types.
        bounds: limits.
    """

    depth: int = 0
    enums: Enums = "text"
    unions: Literal["struct", "dense_union"] = "struct"
    oneof_case: bool = False
    defaults: bool = False
    unknown_fields: bool = False
    formats: bool = False
    bounds: Bounds = field(default_factory=Bounds)


DEFAULT_OPTIONS: Final = Options()

BYTES: Final = "bytes"
TEXT: Final = "text"
CONNECT_JSON: Final = "connect-json"
DECODE: Final = "decode"
AUTO: Final = "auto"
GIVEN: Final = ("avro", "protobuf", "json-schema")
"""Formats of which the schema is given."""


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class WantedSide:
    """How the keys or the values of a log are to be read.

    Attributes:
        format: ``bytes``: as they are. ``decode``: by the schemas that the rows name. ``auto``: as
            ``decode`` if all of a sample can be, else as text if that is what it is, else as
            bytes. ``avro``, ``protobuf``, ``json-schema``: with ``schema``. Or one of
            ``FIXED_FORMATS``.
        schema: a schema: of a ``SchemaLog``, its definition, a file (``FILE`` or
            ``FILE#MESSAGE``), or a subject of the registry (``SUBJECT`` or ``SUBJECT@VERSION``).
        evolve: see ``kafkaspec.log.columnar.Evolve``.
        on_value_error: see ``ErrorPolicy``.
        raw: whether there is a column with the bytes too.
        unwrap: whether envelopes of Debezium become rows with their operation and time.
        secrets: whether configurations of Connect show passwords and keys.
        options: how values become columns.
    """

    format: str = BYTES
    schema: str | Definition | Schema | None = None
    evolve: Evolve = "latest"
    on_value_error: ErrorPolicy = "column"
    raw: bool = False
    unwrap: bool = False
    secrets: bool = False
    options: Options = DEFAULT_OPTIONS
