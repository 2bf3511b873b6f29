"""Schemas with which values were written, by what their frames say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final
from uuid import UUID

from kafkaspec.values.decoding.compiling import (
    record_name,
)
from kafkaspec.values.definition import SchemaError
from kafkaspec.values.framing.frames import KeyKind, SchemaKey
from kafkaspec.values.plan import Writer
from kafkaspec.values.registry.log import SchemaLog
from kafkaspec.values.registry.schema import Schema


class Catalog(Mapping[SchemaKey, Writer]):
    """Schemas of a registry by what frames say, looked up when they are first asked for.

    Args:
        schemas: the registry.
        context: the context in which ids are looked up, an attribute too.
    """

    def __init__(self, schemas: SchemaLog, context: str) -> None:
        self._schemas = schemas
        self.context = context
        self._found: dict[SchemaKey, Writer | None] = {}

    def __getitem__(self, key: SchemaKey) -> Writer:
        if key not in self._found:
            if len(self._found) >= _MOST_KEYS:  # unknown ids may be as many as there are rows
                self._found.clear()
            schema = _looked_up(self._schemas, key, self.context)
            self._found[key] = None if schema is None else writer_of(self._schemas, schema)
        found = self._found[key]
        if found is None:
            raise KeyError(key)
        return found

    def __iter__(self) -> Iterator[SchemaKey]:
        return iter(key for key, found in self._found.items() if found is not None)

    def __len__(self) -> int:
        return sum(found is not None for found in self._found.values())


_MOST_KEYS: Final = 1 << 16


def _looked_up(schemas: SchemaLog, key: SchemaKey, context: str) -> Schema | None:
    value = key.value
    match key.kind:
        case KeyKind.ID:
            assert isinstance(value, int)
            return schemas.by_id(value, context)
        case KeyKind.GUID:
            assert isinstance(value, UUID)
            return schemas.by_guid(value)
        case KeyKind.FINGERPRINT:
            assert isinstance(value, int)
            return schemas.fingerprints.get(value.to_bytes(8, "little", signed=True))
    # Registries that have no topic: their schemas are in files, named after them.
    versions = schemas.versions(str(value))
    return versions[-1] if versions else None


def writer_of(schemas: SchemaLog, schema: Schema) -> Writer:
    """Return a schema of a registry as one with which values were written."""
    if schema.encrypted == "values":
        problem = "values are encrypted, and their key is not here"
        return Writer(None, schema.id, schema.subject, problem=problem)
    try:
        definition = schemas.definition(schema)
        name = record_name(definition) or schema.name
    except SchemaError as error:
        return Writer(None, schema.id, schema.subject, problem=str(error))
    return Writer(definition, schema.id, schema.subject, name)


class Same(Mapping[SchemaKey, Writer]):
    """One schema, whatever frames say."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def __getitem__(self, key: SchemaKey) -> Writer:
        return self._writer

    def __iter__(self) -> Iterator[SchemaKey]:
        return iter(())

    def __len__(self) -> int:
        return 0
