"""Schemas of a registry's topic or of files, by id, GUID, subject and topic."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from os import PathLike
from typing import Any, Final, Literal, NamedTuple
from uuid import UUID

import orjson

from kafkaspec.arrow.record_batches import AnyLog
from kafkaspec.errors import KafkaSpecError
from kafkaspec.options import checked, not_there
from kafkaspec.values.definition import Definition, SchemaError, SchemaType
from kafkaspec.values.options import Bounds
from kafkaspec.values.registry.fingerprints import fingerprint
from kafkaspec.values.registry.opening import read_schemas
from kafkaspec.values.registry.problems import Fault, Problem, problem_at
from kafkaspec.values.registry.replay import Replay
from kafkaspec.values.registry.schema import (
    DEFAULT_CONTEXT,
    LATEST,
    Reference,
    RegistryState,
    Schema,
    in_context,
)

TOPIC: Final = "_schemas"
"""Name of the topic of a registry, unless it is told otherwise."""

RegistryPart = Literal["key", "value"]
Version = int | Literal["latest"]

_BEST_FIRST: Final = list(RegistryState)


class SchemaLog:
    """The schemas of a registry.

    Attributes:
        path: what was opened, empty for nothing.
        schemas: all schemas, deleted and replaced ones too.
        configs: settings by subject, as they are stored; those of the empty subject are for all.
        modes: modes by subject, likewise.
        problems: what could not be read, or does not count.
        records: number of records read.
    """

    path: str
    schemas: tuple[Schema, ...]
    configs: Mapping[str, Mapping[str, Any]]
    modes: Mapping[str, str]
    problems: tuple[Problem, ...]
    records: int

    def __init__(self, found: Replay, path: str = "") -> None:
        """Take what was found at a path; ``open`` finds it."""
        self.path = path
        self.schemas = tuple(found.schemas)
        self.configs = found.configs
        self.modes = found.modes
        self.records = found.records
        self._contexts = found.contexts
        self._versions: dict[str, dict[int, Schema]] = {}
        self._ids: dict[tuple[str, int], list[Schema]] = {}
        for schema in self.schemas:
            known = self._versions.setdefault(schema.subject, {})
            if schema.state is not RegistryState.REPLACED or schema.version not in known:
                known[schema.version] = schema
            if schema.id is not None:
                self._ids.setdefault((schema.context, schema.id), []).append(schema)
        self._bounds = found.bounds
        self._resolver = Resolver(self.referred, found.bounds)
        self.problems = (*found.problems, *self._conflicts(), *self._unresolved())

    @classmethod
    def open(
        cls, path: str | PathLike[str], *, topic: str = TOPIC, bounds: Bounds | None = None
    ) -> SchemaLog:
        """Read schemas from a log or from files.

        Args:
            path: a log directory with the registry's topic, the partition or a segment of it, or a
                log of another topic beside it; a URL of any of these too. Or a folder with files
                of schemas, or such a file: ``.avsc``, ``.proto``, ``.json`` (JSON Schema),
                ``.desc`` (a descriptor set). ``schemas.json`` in a folder names ids and subjects.
            topic: name of the registry's topic.
            bounds: limits.

        Raises:
            KafkaSpecError: ``unreadable``: there are no schemas at the path.
        """
        found = read_schemas(path, topic, Bounds() if bounds is None else bounds)
        return cls(found, os.fspath(path))

    @property
    def subjects(self) -> tuple[str, ...]:
        """Subjects with a version that is registered, with their contexts, sorted."""
        return tuple(sorted({each.subject for each in self.schemas if not each.deleted}))

    @property
    def contexts(self) -> tuple[str, ...]:
        """Contexts, with their dots; the default one is empty."""
        used = {schema.context for schema in self.schemas}
        return tuple(sorted(used | {"" if name == "." else name for name in self._contexts}))

    def versions(self, subject: str, *, deleted: bool = False) -> tuple[Schema, ...]:
        """Return the versions of a subject, the oldest first; none for one that is not known.

        Args:
            subject: with its context.
            deleted: whether to return deleted ones too.
        """
        known = self._versions.get(in_context(subject, DEFAULT_CONTEXT), {})
        return tuple(schema for _, schema in sorted(known.items()) if deleted or not schema.deleted)

    def by_id(self, number: int, context: str = DEFAULT_CONTEXT) -> Schema | None:
        """Return a schema with an id; None if there is none.

        Deleted schemas are found too. Several subjects may share an id: then it is the schema of
        one that is not deleted, if there is any.

        Args:
            number: the id.
            context: in which it is one, ``.context``.
        """
        found = self._ids.get((context, number))
        if not found:
            return None
        same = [schema for schema in found if agree(schema, found[0])]
        return min(same, key=lambda schema: _BEST_FIRST.index(schema.state))

    def by_guid(self, guid: UUID | str | bytes) -> Schema | None:
        """Return the schema with a GUID, as an object, text or its 16 bytes; None without one."""
        if isinstance(guid, bytes):
            guid = UUID(bytes=guid)
        return self._guids.get(guid if isinstance(guid, UUID) else UUID(guid))

    @cached_property
    def _guids(self) -> dict[UUID, Schema]:
        best = sorted(self.schemas, key=lambda schema: -_BEST_FIRST.index(schema.state))
        return {schema.guid: schema for schema in best}

    @checked
    def resolve(self, subject: str, version: Version = "latest") -> Schema:
        """Return a version of a subject.

        Args:
            subject: with its context.
            version: its number, also of a deleted one; ``latest`` for the newest that is not.

        Raises:
            SchemaError: there is none.
        """
        known = self.versions(subject, deleted=True)
        if not known:
            raise SchemaError(not_there("subject", subject, self.subjects))
        if version == "latest":
            live = self.versions(subject)
            if not live:
                raise SchemaError(f"subject {subject}: no version is registered")
            return live[-1]
        for schema in known:
            if schema.version == version:
                return schema
        numbers = [schema.version for schema in known]
        raise SchemaError(f"subject {subject}: {not_there('version', version, numbers)}")

    def definition(self, schema: Schema) -> Definition:
        """Return a schema with everything that it imports, also what was deleted.

        Raises:
            SchemaError: its type is none that is known; what it imports is not there, in a circle,
                or more than the bounds allow.
        """
        return self._resolver.definition(schema)

    @checked
    def context_of(self, topic: str, part: RegistryPart = "value") -> str:
        """Return the context of the ids in a topic, which values do not have.

        It is the one that has the subject ``<topic>-<part>``, the default one if several have it,
        and where none has it the default one or the only one.

        Raises:
            SchemaError: it cannot be told.
        """
        for known in (
            set(self.subject_contexts(topic, part)),
            {schema.context for schema in self.schemas},
        ):
            if DEFAULT_CONTEXT in known:
                return DEFAULT_CONTEXT
            if len(known) == 1:
                return next(iter(known))
            if known:
                names = ", ".join(sorted(known))
                raise SchemaError(f"topic {topic}: its schemas may be of any context of {names}")
        return DEFAULT_CONTEXT

    @checked
    def subject_contexts(self, topic: str, part: RegistryPart = "value") -> list[str]:
        """Return the contexts that have the subject of a topic, ``<topic>-<part>``, sorted."""
        name = f"{topic}-{part}"
        return sorted({schema.context for schema in self.schemas if schema.name == name})

    @checked
    def schemas_of_topic(
        self, topic: str, part: RegistryPart = "value", context: str | None = None
    ) -> tuple[Schema, ...]:
        """Return the versions of the subject of a topic, the oldest first, without deleted ones.

        The subject is ``<topic>-key`` or ``<topic>-value`` (``TopicNameStrategy``), or the one that
        its configuration names as its alias. With other strategies there is none, and the ids in
        values say it all.

        Args:
            topic: the topic.
            part: of its records.
            context: the context; by default, that of ``context_of``.

        Raises:
            SchemaError: the context cannot be told.
        """
        if context is None:
            context = self.context_of(topic, part)
        subject = in_context(f"{topic}-{part}", context)
        alias = self.configs.get(subject, {}).get("alias")
        return self.versions(subject if alias is None else in_context(alias, context))

    @cached_property
    def fingerprints(self) -> Mapping[bytes, Schema]:
        """Avro schemas by the fingerprints of single objects: 8 bytes, little-endian.

        Schemas that have none, as they cannot be parsed, are left out.
        """
        found: dict[bytes, Schema] = {}
        for schema in self.schemas:
            if schema.type == SchemaType.AVRO:
                try:
                    found.setdefault(fingerprint(self.definition(schema), self._bounds), schema)
                except SchemaError:
                    continue
        return found

    def referred(self, schema: Schema, reference: Reference) -> Schema:
        """Return what a schema refers to; a subject without a context is in its own.

        Raises:
            SchemaError: it is not there.
        """
        wanted: Version = "latest" if reference.version == LATEST else reference.version
        try:
            return self.resolve(in_context(reference.subject, schema.context), wanted)
        except SchemaError as error:
            raise SchemaError(f"it imports {reference.name}: {error}") from None

    def _conflicts(self) -> Iterator[Problem]:
        for (_, number), found in self._ids.items():
            for other in found[1:]:
                if not agree(other, found[0]):
                    yield problem_at(
                        Fault.CONFLICT,
                        f"id {number} is {found[0].subject} version {found[0].version} already",
                        other.offset,
                    )

    def _unresolved(self) -> Iterator[Problem]:
        for schema in self.schemas:
            for reference in schema.references:
                try:
                    self.referred(schema, reference)
                except SchemaError as error:
                    where = f"{schema.subject} version {schema.version}"
                    yield problem_at(Fault.UNRESOLVED, f"{where}: {error}", schema.offset)


def agree(one: Schema, other: Schema) -> bool:
    """Return whether two schemas are the same but for how their texts are written."""
    if (one.type, one.references) != (other.type, other.references):
        return False
    return one.text == other.text or _meaning(one) == _meaning(other)


def _meaning(schema: Schema) -> Any:
    if schema.type != SchemaType.PROTOBUF:
        try:
            return orjson.loads(schema.text)
        except ValueError:
            return schema.text
    return schema.text.split()


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
        self._referred = referred
        self._bounds = bounds
        self._made: dict[Schema, _Made] = {}

    def definition(self, schema: Schema) -> Definition:
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


Schemas = SchemaLog | str | PathLike[str] | None
"""Schemas of a registry: opened, or a path that ``SchemaLog.open`` takes."""


def registry_of(log: AnyLog, schemas: Schemas) -> SchemaLog | None:
    """Return the schemas that were given, or those beside a log, if there are any."""
    if isinstance(schemas, SchemaLog):
        return schemas
    if schemas is not None:
        return SchemaLog.open(schemas)
    if log.path is None:
        return None
    try:
        return SchemaLog.open(log.path)
    except KafkaSpecError:
        return None
