"""Schemas with which values were written: by what frames say, or as a user names them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final
from uuid import UUID

from kafkaspec.values.decoding.column import first_message, record_name
from kafkaspec.values.definition import Definition, SchemaError, SchemaType
from kafkaspec.values.framing.frames import FRAMINGS, KeyKind, SchemaKey
from kafkaspec.values.options import GIVEN, Bounds, WantedSide
from kafkaspec.values.plan import Plan, ReaderTarget, WriterSchema
from kafkaspec.values.registry.log import SchemaLog
from kafkaspec.values.registry.replay import Replay
from kafkaspec.values.registry.schema import Schema


class Catalog(Mapping[SchemaKey, WriterSchema]):
    """Schemas by what frames say, looked up in a context when they are first asked for."""

    def __init__(self, schemas: SchemaLog, context: str) -> None:
        self._schemas = schemas
        self.context = context
        self._found: dict[SchemaKey, WriterSchema | None] = {}

    def __getitem__(self, key: SchemaKey) -> WriterSchema:
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


def writer_of(schemas: SchemaLog, schema: Schema) -> WriterSchema:
    """Return a schema of a registry as one with which values were written."""
    if schema.encrypted == "values":
        problem = "values are encrypted, and their key is not here"
        return WriterSchema(None, schema.id, schema.subject, problem=problem)
    try:
        definition = schemas.definition(schema)
        name = record_name(definition) or schema.name
    except SchemaError as error:
        return WriterSchema(None, schema.id, schema.subject, problem=str(error))
    return WriterSchema(definition, schema.id, schema.subject, name)


class Same(Mapping[SchemaKey, WriterSchema]):
    """One schema, whatever frames say."""

    def __init__(self, writer: WriterSchema) -> None:
        self._writer = writer

    def __getitem__(self, key: SchemaKey) -> WriterSchema:
        return self._writer

    def __iter__(self) -> Iterator[SchemaKey]:
        return iter(())

    def __len__(self) -> int:
        return 0


def given_schema(wanted: WantedSide, schemas: SchemaLog | None) -> ReaderTarget:
    """Return the schema that was named: as a definition, a file or a subject."""
    if isinstance(wanted.schema, Definition):
        return ReaderTarget("", wanted.schema)
    if isinstance(wanted.schema, Schema):
        if schemas is None and wanted.schema.references:
            raise SchemaError(
                f"the schema of {wanted.schema.subject} imports others: give the SchemaLog that it"
                " is from as schemas"
            )
        found = SchemaLog(Replay(Bounds())) if schemas is None else schemas
        return target_of(_usable(found, wanted.schema), None)
    if wanted.schema is None:
        raise ValueError(f"the format {wanted.format} needs a schema: a file, or a subject")
    return named_schema(wanted.schema, schemas)


def target_of(writer: WriterSchema, message: str | None) -> ReaderTarget:
    assert writer.definition is not None
    return ReaderTarget(message or writer.name, writer.definition, message, writer.id)


def plan_given(wanted: WantedSide, schemas: SchemaLog | None, framing: str | None) -> Plan:
    """Plan for values of a schema that is given, with or without frames."""
    target = given_schema(wanted, schemas)
    if target.definition.type is SchemaType.PROTOBUF and target.message is None:
        target = replace(target, message=first_message(target.definition))
    writer = WriterSchema(target.definition, target.id)
    name = GIVEN[list(SchemaType).index(target.definition.type)]
    plan = Plan(side="value", wanted=wanted, format=name, writer=writer, targets=(target,))
    if framing is None:
        return plan
    if framing not in FRAMINGS:
        raise ValueError(f"no framing {framing!r}; there are {', '.join(FRAMINGS)}")
    return replace(plan, framing=framing, writer=None, writers=Same(writer))


def named_schema(text: str, schemas: SchemaLog | None) -> ReaderTarget:
    """Return the schema of ``FILE`` or ``FILE#MESSAGE``, or of a subject of the registry."""
    place, _, message = text.partition("#")
    if Path(place).exists():
        found = SchemaLog.open(place)
        known = [schema for schema in found.schemas if not schema.deleted]
        # After a .proto file come those that it imports.
        if len(known) != 1 and (not known or known[0].subject != Path(place).name):
            raise ValueError(f"{place} has {len(known)} schemas: give a file with one")
        return target_of(_usable(found, known[0]), message or None)
    subject, _, version = place.rpartition("@") if "@" in place else (place, "", "")
    if schemas is None:
        raise ValueError(f"there is no file {place}, and no registry with a subject {subject}")
    if version and not version.isdecimal():
        raise ValueError(f"{version!r} is not a version of a subject")
    schema = schemas.resolve(subject, int(version) if version else "latest")
    return target_of(_usable(schemas, schema), message or None)


def _usable(schemas: SchemaLog, schema: Schema) -> WriterSchema:
    writer = writer_of(schemas, schema)
    if writer.definition is None:
        raise SchemaError(writer.problem)
    return writer
