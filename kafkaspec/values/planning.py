"""Decide how the keys or values of a topic are read, by a sample and the schemas that are there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import numpy as np
import pyarrow as pa

from kafkaspec.arrow.reading import Log, record_batches
from kafkaspec.arrow.schema import request_of
from kafkaspec.log.directory import LogDirectory
from kafkaspec.values.column import Column, grouped
from kafkaspec.values.compiling import (
    first_message,
    has_message,
    message_of,
    record_name,
    split_messages,
)
from kafkaspec.values.decoded import Code
from kafkaspec.values.definition import Definition, SchemaError, SchemaType
from kafkaspec.values.fixed import RecordDecoder, fixed, topic_formats
from kafkaspec.values.framing.frames import FRAMINGS, SIDES, KeyKind, SchemaKey, Side
from kafkaspec.values.plan import Plan, Target, Writer
from kafkaspec.values.registry.log import SchemaLog
from kafkaspec.values.registry.schema import Schema
from kafkaspec.values.wanted import AUTO, BYTES, CONNECT_JSON, DECODE, GIVEN, TEXT, Wanted

SAMPLE_ROWS: Final = 1000
"""Rows of a partition that show how it is framed."""

_SAMPLE_BYTES: Final = 1 << 20
_MOST_PARTITIONS: Final = 16


@dataclass(frozen=True, slots=True)
class Sample:
    """Some rows of a log.

    Attributes:
        values: keys or values, ``binary``.
        headers: their headers, None if they are not known.
    """

    values: pa.Array
    headers: pa.Array | None


Source = Log | Sequence[Sample]
"""A log, or all rows of it."""


def rows_of(log: Source, side: Side, *, sample: bool) -> Iterator[Sample]:
    """Yield the keys or values of a log with their headers: of all rows, or some of each partition.

    Args:
        log: the log, or all rows of it.
        side: which of them.
        sample: whether only the first rows of each partition are wanted.
    """
    if isinstance(log, Sequence):
        for rows in log:
            yield Sample(rows.values.slice(0, SAMPLE_ROWS), None) if sample else rows
        return
    options: dict[str, Any] = {"layout": "binary", "on_error": _ignore, "on_unreadable": _ignore}
    if sample:
        options["max_bytes"] = _SAMPLE_BYTES
    request = request_of((side, "headers"), None, **options)
    logs = log.current[:_MOST_PARTITIONS] if sample and isinstance(log, LogDirectory) else [log]
    for each in logs:
        for batch in record_batches(each, request):
            columns = (batch.column(place) for place in range(2))
            if not sample:
                yield Sample(*columns)
                continue
            yield Sample(*(column.slice(0, SAMPLE_ROWS) for column in columns))
            break


def _ignore(error: Exception) -> None:
    """What cannot be read is reported when the log is read as a whole, after this."""


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
    """One schema, whatever frames say.

    Args:
        writer: the schema.
    """

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def __getitem__(self, key: SchemaKey) -> Writer:
        return self._writer

    def __iter__(self) -> Iterator[SchemaKey]:
        return iter(())

    def __len__(self) -> int:
        return 0


def plan_column(
    log: Log, topic: str | None, side: Side, wanted: Wanted, schemas: SchemaLog | None
) -> Plan:
    """Decide how the keys or values of one topic are read.

    Args:
        log: the log, of one topic.
        topic: its name, None if it is not known.
        side: keys or values.
        wanted: what is asked for.
        schemas: the registry, None if there is none.

    Raises:
        ValueError: the format is unknown; it needs a schema, or a registry, and there is none.
        SchemaError: a schema that was given cannot be read.
    """
    if wanted.format in GIVEN:
        return _plan_given(log, side, wanted, schemas)
    if wanted.format not in (DECODE, AUTO):
        return _plan_fixed(log, side, wanted)
    own = None if topic is None else _plan_of_topic(log, topic, side, wanted)
    if own is not None:
        return own
    if schemas is None:
        if wanted.format == DECODE:
            raise ValueError(f"no schemas: name the registry's topic or files to decode {side}s")
        return _plan_plain(log, side, wanted)
    return _Decision(log, topic, side, wanted, schemas).plan()


def given_schema(wanted: Wanted, schemas: SchemaLog | None) -> Target:
    """Return the schema that was named: as a definition, a file or a subject.

    Raises:
        ValueError: none was named, or it is neither a file nor a subject.
        SchemaError: it cannot be read.
    """
    if isinstance(wanted.schema, Definition):
        return Target("", wanted.schema)
    if wanted.schema is None:
        raise ValueError(f"the format {wanted.format} needs a schema: a file, or a subject")
    return named_schema(wanted.schema, schemas)


def _plan_fixed(log: Source, side: Side, wanted: Wanted) -> Plan:
    if wanted.format == BYTES:
        return Plan(side=side, wanted=wanted, format=BYTES)
    values = [sample.values for sample in rows_of(log, side, sample=True)]
    return plan_fixed(values, side, wanted)


def plan_fixed(values: list[pa.Array], side: Side, wanted: Wanted) -> Plan:
    """Plan for a format without a schema, of which some values are given.

    Raises:
        ValueError: there is no such format, or it is none of keys.
    """
    sample = pa.chunked_array(values, pa.binary()).combine_chunks()
    decoder = fixed(wanted.format, wanted.options, sample=sample, secrets=wanted.secrets)
    of_records = isinstance(decoder, RecordDecoder)
    if of_records and side == "key":
        raise ValueError(f"{wanted.format} is a format of values, not of keys")
    return Plan(
        side=side, wanted=wanted, format=wanted.format, sample=sample, of_records=of_records
    )


def _plan_of_topic(log: Log, topic: str, side: Side, wanted: Wanted) -> Plan | None:
    """Plan for a topic whose name says what is in it, if a sample of it is that."""
    formats = topic_formats(topic)
    if formats is None:
        return None
    plan = _plan_fixed_by(formats[SIDES.index(side)], log, side, wanted)
    if plan is None:
        return None
    note = f"{side}s are read as {plan.format}, by the name of the topic: so is all of a sample"
    return replace(plan, notes=(note,))


def _plan_given(log: Log, side: Side, wanted: Wanted, schemas: SchemaLog | None) -> Plan:
    """Plan for a schema that is given: values are bare, or framed if that is what they are."""
    bare = replace(plan_given(wanted, schemas, None), side=side)
    if bare.format != wanted.format:
        raise ValueError(f"the schema is one of {bare.format}, not of {wanted.format}")
    writer = bare.writer
    assert writer is not None
    given = given_schema(wanted, schemas)
    # Frames of Protobuf name messages, of which each row may have another.
    free = given.definition.type is SchemaType.PROTOBUF and given.message is None
    samples = list(rows_of(log, side, sample=True))
    best, most = bare, _decoded(bare, samples)[0]
    for name in FRAMINGS:
        plan = replace(bare, framing=name, writer=None, writers=Same(writer))
        good, _ = _decoded(replace(plan, targets=()) if free else plan, samples)
        if good > most:
            note = f"{side}s have frames ({name}), whose ids are not looked up"
            best, most = replace(plan, notes=(note,)), good
    if free and best.framing is not None:
        rows = rows_of(log, side, sample=False)
        targets = tuple(_of_given(given, _seen(rows, side, best.framing, best.writers)))
        best = replace(best, targets=targets or best.targets)
    return best


def _decoded(plan: Plan, samples: Iterable[Sample]) -> tuple[int, int]:
    """Return how many rows of a sample decode, and how many are no nulls.

    A schema that is known and cannot be used, as it is encrypted, is not what is asked here.
    """
    options = plan.wanted.options
    if not options.recursion:
        options = replace(options, recursion=1)
    column = Column(replace(plan, wanted=replace(plan.wanted, options=options)))
    good = rows = 0
    for sample in samples:
        present = len(sample.values) - sample.values.null_count
        parts = column.parts(sample.values, sample.headers, sample.values)
        codes = [failure.code for failure in parts.failures.values()]
        good += present - len(codes) + codes.count(Code.UNSUPPORTED)
        rows += present
    return good, rows


def _plan_plain(
    log: Source, side: Side, wanted: Wanted, reason: str = "no schemas are here"
) -> Plan:
    """Plan for values without schemas: bytes; or text, if ``auto`` may guess and a sample is."""
    if wanted.format == DECODE:
        note = f"{side}s stay bytes: {reason}; name their format to have them decoded"
        return Plan(side=side, wanted=wanted, format=BYTES, notes=(note,))
    kept = [sample.values.drop_null() for sample in rows_of(log, side, sample=True)]
    values = pa.chunked_array(kept, pa.binary())
    plan = Plan(side=side, wanted=wanted, format=BYTES)
    if not len(values):
        return replace(plan, notes=(f"no {side}s to look at: bytes",))
    try:
        values.cast(pa.string())
    except pa.ArrowInvalid:
        return replace(plan, notes=(f"{side}s stay bytes: {reason}",))
    for name in (CONNECT_JSON, TEXT):
        guessed = _plan_fixed_by(name, log, side, wanted)
        if guessed is not None:
            note = f"{side}s are read as {name}, as all of a sample of {len(values)} is: {reason}"
            return replace(guessed, notes=(note,))
    return plan


def _plan_fixed_by(name: str, log: Source, side: Side, wanted: Wanted) -> Plan | None:
    """Plan for a format without a schema if all of a sample is in it."""
    try:
        plan = _plan_fixed(log, side, replace(wanted, format=name))
    except SchemaError:
        return None
    good, rows = _decoded(plan, rows_of(log, side, sample=True))
    return plan if rows and good == rows else None


@dataclass
class _Decision:
    """Finds a plan for values whose schemas a registry has."""

    log: Source
    topic: str | None
    side: Side
    wanted: Wanted
    schemas: SchemaLog
    framings: tuple[str, ...] = tuple(FRAMINGS)
    notes: list[str] = field(default_factory=list)

    def plan(self) -> Plan:
        framing, catalog, good, rows = self._framing()
        if rows and (not good or (self.wanted.format == AUTO and good < rows)):
            return self._bare(good, rows)
        targets = self._targets(framing, catalog)
        if not targets and self.wanted.evolve != "each":
            return self._bare(good, rows)
        plan = self._plan_of(framing, catalog)
        return replace(plan, targets=targets, notes=tuple(self.notes))

    @cached_property
    def _samples(self) -> list[Sample]:
        return list(rows_of(self.log, self.side, sample=True))

    def _plan_of(self, framing: str, catalog: Catalog) -> Plan:
        return Plan(
            side=self.side, wanted=self.wanted, format=DECODE, framing=framing, writers=catalog
        )

    def _framing(self) -> tuple[str, Catalog, int, int]:
        """Return the framing and context by which most rows of a sample decode.

        With the number of these rows, and that of all.
        """
        catalogs = [Catalog(self.schemas, context) for context in self._contexts()]
        best, most, rows = (self.framings[0], catalogs[0]), 0, 0
        for name, catalog in product(self.framings, catalogs):
            good, rows = _decoded(self._plan_of(name, catalog), self._samples)
            if good > most:
                best, most = (name, catalog), good
            if most == rows:
                break
        framing, catalog = best
        if most:
            where = f", by ids of the context {catalog.context}" if catalog.context else ""
            self.notes.append(
                f"{self.side}s have frames ({framing}{where}): {most} of a sample of {rows} decode"
            )
        return framing, catalog, most, rows

    def _contexts(self) -> list[str]:
        """Return the contexts of ids, the one of the topic first."""
        try:
            own = [self.schemas.context_of(self.topic or "", self.side)]
        except SchemaError:
            own = []
        return list(dict.fromkeys([*own, *self.schemas.contexts])) or [""]

    def _bare(self, good: int, rows: int) -> Plan:
        """Plan for a topic whose values do not say their schemas."""
        if not rows:
            reason = "nothing says its schema"
        else:
            reason = f"of a sample of {rows}, {good} name a schema and decode"
        return _plan_plain(self.log, self.side, self.wanted, reason)

    def _targets(self, framing: str, catalog: Catalog) -> tuple[Target, ...]:
        """Return the types that the column holds."""
        evolve = self.wanted.evolve
        if self.wanted.schema is not None:
            given = given_schema(self.wanted, self.schemas)
            return tuple(_of_given(given, self._seen(framing, catalog, sample=False)))
        if evolve == "each":
            return ()
        newest = self._newest(catalog.context)
        if newest is not None and newest.type != SchemaType.PROTOBUF:
            seen = self._seen(framing, catalog, sample=True)
            known = {schema.id for schema in self.schemas.versions(newest.subject, deleted=True)}
            if evolve != "latest" or {writer.id for _, writer in seen} <= known:
                writer = writer_of(self.schemas, newest)
                return () if writer.definition is None else (_target(writer, None),)
        return tuple(self._of_all(self._seen(framing, catalog, sample=False), newest))

    def _newest(self, context: str) -> Schema | None:
        """Return the version of the topic's subject as which values are read, if it has one."""
        if self.topic is None:
            return None
        versions = self.schemas.schemas_of_topic(self.topic, self.side, context)
        if isinstance(self.wanted.evolve, int):
            for schema in versions:
                if schema.version == self.wanted.evolve:
                    return schema
            raise ValueError(f"{self.side}s of {self.topic} have no version {self.wanted.evolve}")
        return versions[-1] if versions else None

    def _seen(self, framing: str, catalog: Catalog, *, sample: bool) -> Seen:
        """Return the schemas that rows name, of a sample or all."""
        rows = self._samples if sample else rows_of(self.log, self.side, sample=False)
        return _seen(rows, self.side, framing, catalog)

    def _of_all(self, seen: Seen, newest: Schema | None) -> Iterator[Target]:
        """Yield a type for each record or message, in the newest version that there is of it."""
        own = None if newest is None else writer_of(self.schemas, newest)
        names = dict.fromkeys(message or writer.name for message, writer in seen)
        for name in names:
            written = [pair for pair in seen if (pair[0] or pair[1].name) == name]
            message, last = max(written, key=lambda pair: pair[1].id or 0)
            for later in (own, self._latest_of(last)):
                if later is not None and _has_type(later, name, message):
                    last = later
                    break
            yield _target(last, message)

    def _latest_of(self, writer: Writer) -> Writer | None:
        """Return the newest version of the subject of a schema."""
        versions = self.schemas.versions(writer.subject)
        return writer_of(self.schemas, versions[-1]) if versions else None


Seen = list[tuple[str | None, Writer]]
"""Schemas that rows name, with the message for Protobuf."""


def _seen(
    every: Iterable[Sample], side: Side, framing: str, catalog: Mapping[SchemaKey, Writer]
) -> Seen:
    """Return the schemas that rows name."""
    found: dict[tuple[SchemaKey, str | None], Writer] = {}
    for rows in every:
        split = FRAMINGS[framing](rows.values, rows.headers, side)
        for own, key in grouped(split):
            writer = catalog.get(key) if key is not None else None
            if key is None or writer is None or writer.definition is None:
                continue
            if writer.definition.type is not SchemaType.PROTOBUF:
                found[key, None] = writer
                continue
            for message in _messages(writer.definition, split.payloads.take(pa.array(own))):
                found[key, message] = writer
    return [(message, writer) for (_, message), writer in found.items()]


def _of_given(given: Target, seen: Seen) -> Iterator[Target]:
    """Yield the types of a schema that was named: of Protobuf, the messages that rows name."""
    if given.definition.type is not SchemaType.PROTOBUF or given.message is not None:
        yield given
        return
    for name in dict.fromkeys(message for message, _ in seen):
        if name is not None and has_message(given.definition, name):
            yield replace(given, name=name, message=name)


def _target(writer: Writer, message: str | None) -> Target:
    assert writer.definition is not None
    return Target(message or writer.name, writer.definition, message, writer.id)


def _has_type(writer: Writer, name: str, message: str | None) -> bool:
    """Return whether a schema has a record or message of some name."""
    if writer.definition is None:
        return False
    if writer.definition.type is not SchemaType.PROTOBUF:
        return message is None and writer.name == name
    return message is not None and has_message(writer.definition, message)


def _messages(definition: Definition, payloads: pa.Array) -> Iterator[str]:
    """Yield the full names of the messages that payloads of a Protobuf schema name."""
    lists = split_messages(payloads)
    for number, indexes in enumerate(lists.values):
        sample = np.flatnonzero(lists.groups == number)[:SAMPLE_ROWS]
        try:
            yield message_of(definition, indexes, lists.payloads.take(pa.array(sample)))[1]
        except SchemaError:
            continue


def plan_given(wanted: Wanted, schemas: SchemaLog | None, framing: str | None) -> Plan:
    """Plan for values of a schema that is given, with or without frames.

    Raises:
        ValueError: none was named, or there is no such framing.
        SchemaError: it cannot be read.
    """
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


def plan_named(values: pa.Array, wanted: Wanted, schemas: SchemaLog, framing: str) -> Plan:
    """Plan for values of which each names its schema, read as the newest one of its type.

    Raises:
        ValueError: there is no such framing; none names a schema that is known.
    """
    if framing not in FRAMINGS:
        raise ValueError(f"no framing {framing!r}; there are {', '.join(FRAMINGS)}")
    decision = _Decision([Sample(values, None)], None, "value", wanted, schemas, (framing,))
    plan = decision.plan()
    if plan.format != DECODE:
        raise ValueError("no value names a schema that is known and has it")
    return plan


def named_schema(text: str, schemas: SchemaLog | None) -> Target:
    """Return the schema of a file, ``FILE`` or ``FILE#MESSAGE``, or of a subject of the registry.

    Raises:
        ValueError: it is neither; the file has several schemas.
        SchemaError: it cannot be read.
    """
    place, _, message = text.partition("#")
    if Path(place).exists():
        found = SchemaLog.open(place)
        known = [schema for schema in found.schemas if not schema.deleted]
        # After a .proto file come those that it imports.
        if len(known) != 1 and (not known or known[0].subject != Path(place).name):
            raise ValueError(f"{place} has {len(known)} schemas: give a file with one")
        return _target(_usable(found, known[0]), message or None)
    subject, _, version = place.rpartition("@") if "@" in place else (place, "", "")
    if schemas is None:
        raise ValueError(f"there is no file {place}, and no registry with a subject {subject}")
    if version and not version.isdecimal():
        raise ValueError(f"{version!r} is no version of a subject")
    schema = schemas.resolve(subject, int(version) if version else "latest")
    return _target(_usable(schemas, schema), message or None)


def _usable(schemas: SchemaLog, schema: Schema) -> Writer:
    writer = writer_of(schemas, schema)
    if writer.definition is None:
        raise SchemaError(writer.problem)
    return writer
