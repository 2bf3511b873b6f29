"""Definitions of schemas: with all that they import, within bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from kafkaspec.values.definition import Definition, SchemaError, SchemaType
from kafkaspec.values.options import Bounds
from kafkaspec.values.registry.schema import Reference, Schema

_WAYS: Final = 16
"""How often a schema may be imported on average, by different ways."""


class _Made(NamedTuple):
    """A definition, the sizes of its schema and all that it imports, and how often they are."""

    definition: Definition
    sizes: dict[tuple[str, int], int]
    ways: int


class Resolver:
    """Makes definitions, each once."""

    def __init__(self, referred: Callable[[Schema, Reference], Schema], bounds: Bounds) -> None:
        """Prepare to make definitions."""
        self._referred = referred
        self._bounds = bounds
        self._made: dict[Schema, _Made] = {}

    def definition(self, schema: Schema) -> Definition:
        """Return the definition of a schema; see ``SchemaLog.definition``."""
        return self._make(schema, []).definition

    def _make(self, schema: Schema, above: list[Schema]) -> _Made:
        if schema in self._made:
            return self._made[schema]
        where = f"subject {schema.subject} version {schema.version}"
        if schema in above:
            raise SchemaError(f"{where}: it imports itself")
        if schema.type not in SchemaType.__members__:
            raise SchemaError(f"{where}: schemas of type {schema.type} are not known")
        if len(above) >= self._bounds.schemas:
            raise SchemaError(f"{where}: it imports more than {self._bounds.schemas} schemas")
        imports: list[tuple[str, Definition]] = []
        sizes = {(schema.subject, schema.version): len(schema.text)}
        ways = 1
        for reference in schema.references:
            try:
                other = self._referred(schema, reference)
            except SchemaError as error:
                raise SchemaError(f"{where}: {error}") from None
            made = self._make(other, [*above, schema])
            imports.append((reference.name, made.definition))
            sizes |= made.sizes
            ways += made.ways
        if len(sizes) > self._bounds.schemas or ways > _WAYS * self._bounds.schemas:
            raise SchemaError(f"{where}: it imports more than {self._bounds.schemas} schemas")
        if sum(sizes.values()) > self._bounds.schema_bytes:
            raise SchemaError(
                f"{where}: with what it imports, it has more than "
                f"{self._bounds.schema_bytes:,} characters"
            )
        definition = Definition(SchemaType(schema.type), schema.text, tuple(imports))
        self._made[schema] = _Made(definition, sizes, ways)
        return self._made[schema]
