"""Decide how the keys or values of a topic are read, by a sample and the schemas that are there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Final

import pyarrow as pa

from kafkaspec.values.decoded import Code
from kafkaspec.values.decoding.column import ValueColumn
from kafkaspec.values.definition import SchemaError, SchemaType
from kafkaspec.values.fixed import RecordDecoder, fixed, topic_formats
from kafkaspec.values.framing.frames import FRAMINGS, SIDES, Side
from kafkaspec.values.options import AUTO, BYTES, CONNECT_JSON, DECODE, GIVEN, TEXT, WantedSide
from kafkaspec.values.plan import Plan, ReaderTarget
from kafkaspec.values.planning.catalog import (
    Catalog,
    Same,
    given_schema,
    plan_given,
    target_of,
    writer_of,
)
from kafkaspec.values.planning.sampling import (
    Sample,
    SampledLog,
    Seen,
    has_type,
    rows_of,
    schemas_seen,
    types_of_given,
)
from kafkaspec.values.registry.log import SchemaLog
from kafkaspec.values.registry.schema import DEFAULT_CONTEXT, Schema


def plan_column(
    log: SampledLog, topic: str | None, side: Side, wanted: WantedSide, schemas: SchemaLog | None
) -> Plan:
    """Decide how the keys or values of one topic are read, by its name if that is known.

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


def _plan_fixed(log: SampledLog, side: Side, wanted: WantedSide) -> Plan:
    if wanted.format == BYTES:
        return Plan(side=side, wanted=wanted, format=BYTES)
    values = [sample.values for sample in rows_of(log, side, sample=True)]
    return plan_fixed(values, side, wanted)


def plan_fixed(values: list[pa.Array], side: Side, wanted: WantedSide) -> Plan:
    """Plan for a format without a schema, of which some values are given."""
    sample = pa.chunked_array(values, pa.binary()).combine_chunks()
    decoder = fixed(wanted.format, wanted.options, sample=sample, secrets=wanted.secrets)
    of_records = isinstance(decoder, RecordDecoder)
    if of_records and side == "key":
        raise ValueError(f"{wanted.format} is a format of values, not of keys")
    return Plan(
        side=side, wanted=wanted, format=wanted.format, sample=sample, of_records=of_records
    )


def _plan_of_topic(log: SampledLog, topic: str, side: Side, wanted: WantedSide) -> Plan | None:
    """Plan for a topic whose name says what is in it, if a sample of it is that."""
    formats = topic_formats(topic)
    if formats is None:
        return None
    plan = _plan_fixed_by(formats[SIDES.index(side)], log, side, wanted)
    if plan is None:
        return None
    note = f"{side}s are read as {plan.format}, by the name of the topic: so is all of a sample"
    return replace(plan, notes=(note,))


def _plan_given(log: SampledLog, side: Side, wanted: WantedSide, schemas: SchemaLog | None) -> Plan:
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
        targets = tuple(types_of_given(given, schemas_seen(rows, side, best.framing, best.writers)))
        best = replace(best, targets=targets or best.targets)
    return best


def _decoded(plan: Plan, samples: Iterable[Sample]) -> tuple[int, int]:
    """Return how many rows of a sample decode, and how many are not nulls.

    A schema that is known and cannot be used, as it is encrypted, is not what is asked here.
    """
    column = ValueColumn(_with_recursion(plan))
    good = rows = 0
    for sample in samples:
        present = len(sample.values) - sample.values.null_count
        parts = column.parts(sample.values, sample.headers)
        codes = [failure.code for failure in parts.failures.values()]
        good += present - len(codes) + codes.count(Code.UNSUPPORTED)
        rows += present
    return good, rows


def _with_recursion(plan: Plan) -> Plan:
    """Return a plan that takes schemas which contain themselves, whatever was asked for."""
    options = plan.wanted.options
    if options.depth:
        return plan
    return replace(plan, wanted=replace(plan.wanted, options=replace(options, depth=1)))


def _plan_plain(
    log: SampledLog, side: Side, wanted: WantedSide, reason: str = "no schemas are here"
) -> Plan:
    """Plan for values without schemas: bytes; or text, if ``auto`` may guess and a sample is."""
    if wanted.format == DECODE:
        return Plan(side=side, wanted=wanted, format=BYTES, undecoded=reason)
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


def _plan_fixed_by(name: str, log: SampledLog, side: Side, wanted: WantedSide) -> Plan | None:
    """Plan for a format without a schema if all of a sample is in it."""
    try:
        plan = _plan_fixed(log, side, replace(wanted, format=name))
    except SchemaError:
        return None
    good, rows = _decoded(plan, rows_of(log, side, sample=True))
    return plan if rows and good == rows else None


_MOST_ROWS: Final = 0.5
"""Rows that the default context has to decode where no subject has the name of the topic: the
schema of another id may take a few of any rows."""


@dataclass
class _Decision:
    """Finds a plan for values whose schemas a registry has."""

    log: SampledLog
    topic: str | None
    side: Side
    wanted: WantedSide
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
        plan = replace(self._plan_of(framing, catalog), targets=targets, notes=tuple(self.notes))
        if self.wanted.schema is None:
            plain = replace(plan, wanted=replace(self.wanted, unwrap=False))
            try:
                _ = ValueColumn(_with_recursion(plain)).type
            except SchemaError as error:
                return _plan_plain(self.log, self.side, self.wanted, str(error))
        return plan

    @cached_property
    def _samples(self) -> list[Sample]:
        return list(rows_of(self.log, self.side, sample=True))

    def _plan_of(self, framing: str, catalog: Catalog) -> Plan:
        return Plan(
            side=self.side, wanted=self.wanted, format=DECODE, framing=framing, writers=catalog
        )

    def _framing(self) -> tuple[str, Catalog, int, int]:
        """Return the framing and context by which rows of a sample decode.

        With the number of these rows, and that of all. An id means another schema in each context,
        and a few damaged rows must not decide: the context of the topic's subject is taken if it
        decodes any row; without such a subject, the default one if it decodes half of them; others
        after that, by the number of rows. So is the framing in a context.
        """
        best, most, rows = (self.framings[0], Catalog(self.schemas, "")), 0, 0
        for contexts, share in self._contexts():
            catalogs = [Catalog(self.schemas, context) for context in contexts]
            for name, catalog in product(self.framings, catalogs):
                good, rows = _decoded(self._plan_of(name, catalog), self._samples)
                if good > most:
                    best, most = (name, catalog), good
                if most == rows:
                    break
            if most > share * rows:
                break
        framing, catalog = best
        if most:
            where = f", by ids of the context {catalog.context}" if catalog.context else ""
            self.notes.append(
                f"{self.side}s have frames ({framing}{where}): {most} of a sample of {rows} decode"
            )
        return framing, catalog, most, rows

    def _contexts(self) -> Iterator[tuple[list[str], float]]:
        """Yield the context of the topic's subject, the default one, all others.

        With each, the share of rows that must decode for it to be taken.
        """
        own = self.schemas.subject_contexts(self.topic, self.side) if self.topic else []
        if own:
            yield own, 0
        if DEFAULT_CONTEXT not in own:
            yield [DEFAULT_CONTEXT], 0 if own else _MOST_ROWS
        known = {*own, DEFAULT_CONTEXT}
        yield [context for context in self.schemas.contexts if context not in known], 0

    def _bare(self, good: int, rows: int) -> Plan:
        """Plan for a topic whose values do not say their schemas."""
        if not rows:  # nothing was left undecoded
            note = f"there are no {self.side}s to look at: bytes"
            return Plan(side=self.side, wanted=self.wanted, format=BYTES, notes=(note,))
        if self.wanted.format == AUTO and good:
            reason = f"of a sample of {rows}, {good} name a schema and decode"
        else:
            reason = self._why()
        return _plan_plain(self.log, self.side, self.wanted, reason)

    def _why(self) -> str:
        """Return why most rows of a sample do not decode, by the framing that most rows have."""
        found: Counter[str] = Counter()
        for name in self.framings:
            context = next(self._contexts())[0][0]
            plan = replace(self._plan_of(name, Catalog(self.schemas, context)), targets=())
            column = ValueColumn(plan)
            reasons: Counter[str] = Counter()
            for sample in self._samples:
                failures = column.parts(sample.values, sample.headers).failures.values()
                framed = (item for item in failures if item.code is not Code.NOT_FRAMED)
                reasons.update(item.reason for item in framed)
            if reasons.total() > found.total():
                found = reasons
        return found.most_common(1)[0][0] if found else "nothing says their schema"

    def _targets(self, framing: str, catalog: Catalog) -> tuple[ReaderTarget, ...]:
        evolve = self.wanted.evolve
        if self.wanted.schema is not None:
            given = given_schema(self.wanted, self.schemas)
            return tuple(types_of_given(given, self._seen(framing, catalog, sample=False)))
        if evolve == "each":
            return ()
        newest = self._newest(catalog.context)
        if newest is not None and newest.type != SchemaType.PROTOBUF:
            seen = self._seen(framing, catalog, sample=True)
            known = {schema.id for schema in self.schemas.versions(newest.subject, deleted=True)}
            if evolve != "latest" or {writer.id for _, writer in seen} <= known:
                writer = writer_of(self.schemas, newest)
                return () if writer.definition is None else (target_of(writer, None),)
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
        return schemas_seen(rows, self.side, framing, catalog)

    def _of_all(self, seen: Seen, newest: Schema | None) -> Iterator[ReaderTarget]:
        """Yield a type for each record or message, in the newest version that there is of it."""
        own = None if newest is None else writer_of(self.schemas, newest)
        names = dict.fromkeys(message or writer.name for message, writer in seen)
        for name in names:
            written = [pair for pair in seen if (pair[0] or pair[1].name) == name]
            message, last = max(written, key=lambda pair: pair[1].id or 0)
            versions = self.schemas.versions(last.subject)
            newer = writer_of(self.schemas, versions[-1]) if versions else None
            for later in (own, newer):
                if later is not None and has_type(later, name, message):
                    last = later
                    break
            yield target_of(last, message)


def plan_named(values: pa.Array, wanted: WantedSide, schemas: SchemaLog, framing: str) -> Plan:
    """Plan for values of which each names its schema, read as the newest one of its type."""
    if framing not in FRAMINGS:
        raise ValueError(f"no framing {framing!r}; there are {', '.join(FRAMINGS)}")
    decision = _Decision([Sample(values, None)], None, "value", wanted, schemas, (framing,))
    plan = decision.plan()
    if plan.format != DECODE:
        raise ValueError("no value names a schema that is known and has it")
    return plan
