"""Schemas that a user names: files, and subjects of a registry."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kafkaspec.values.decoding.compiling import (
    first_message,
)
from kafkaspec.values.definition import Definition, SchemaError, SchemaType
from kafkaspec.values.framing.frames import FRAMINGS
from kafkaspec.values.options import GIVEN, Bounds, Wanted
from kafkaspec.values.plan import Plan, Target, Writer
from kafkaspec.values.planning.catalog import Same, writer_of
from kafkaspec.values.registry.log import SchemaLog
from kafkaspec.values.registry.replay import Replay
from kafkaspec.values.registry.schema import Schema


def given_schema(wanted: Wanted, schemas: SchemaLog | None) -> Target:
    """Return the schema that was named: as a definition, a file or a subject."""
    if isinstance(wanted.schema, Definition):
        return Target("", wanted.schema)
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


def target_of(writer: Writer, message: str | None) -> Target:
    assert writer.definition is not None
    return Target(message or writer.name, writer.definition, message, writer.id)


def plan_given(wanted: Wanted, schemas: SchemaLog | None, framing: str | None) -> Plan:
    """Plan for values of a schema that is given, with or without frames."""
    target = given_schema(wanted, schemas)
    if target.definition.type is SchemaType.PROTOBUF and target.message is None:
        target = replace(target, message=first_message(target.definition))
    writer = Writer(target.definition, target.id)
    name = GIVEN[list(SchemaType).index(target.definition.type)]
    plan = Plan(side="value", wanted=wanted, format=name, writer=writer, targets=(target,))
    if framing is None:
        return plan
    if framing not in FRAMINGS:
        raise ValueError(f"no framing {framing!r}; there are {', '.join(FRAMINGS)}")
    return replace(plan, framing=framing, writer=None, writers=Same(writer))


def named_schema(text: str, schemas: SchemaLog | None) -> Target:
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


def _usable(schemas: SchemaLog, schema: Schema) -> Writer:
    writer = writer_of(schemas, schema)
    if writer.definition is None:
        raise SchemaError(writer.problem)
    return writer
