"""Typed keys and values: planned on the driver, decoded in the tasks.

The plan is sent with the schemas of the registry. A task that meets an id which they do not have
reads the registry's topic again, if it has changed; the columns keep the types that were planned.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.types import StructType

from kafkaspec.errors import KafkaSpecError
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.partition import Partition
from kafkaspec.shown import some_of, without_credentials
from kafkaspec.spark.options import ReadOptions
from kafkaspec.spark.parsing import OptionError
from kafkaspec.spark.paths import LOGGER, find_logs
from kafkaspec.spark.schema import SparkColumn
from kafkaspec.tables.engine_types import as_engine, spark_value
from kafkaspec.values.decoded import Code, Failure
from kafkaspec.values.decoding.column import ColumnParts
from kafkaspec.values.decoding.column import ValueColumn as Decoding
from kafkaspec.values.definition import SchemaError
from kafkaspec.values.framing.frames import Side
from kafkaspec.values.options import BYTES, Options
from kafkaspec.values.plan import Plan
from kafkaspec.values.planning.catalog import Catalog
from kafkaspec.values.reading.batches import (
    added_columns,
    beside,
    columns_beside,
    first_error,
    headers_of,
    without_rows,
)
from kafkaspec.values.reading.request import (
    ERROR,
    Planned,
    is_internal,
    needed_columns,
    planned,
)
from kafkaspec.values.registry.log import TOPIC, SchemaLog, registry_of

_BEYOND: Final = Failure(Code.RANGE, "Spark has no room for it")


class TypedRead:
    """The typed columns of a read, and what makes them.

    Attributes:
        topic: the one that is read.
        columns: the columns by name; those of a side stand together.
    """

    def __init__(
        self, topic: str, plans: Mapping[Side, Plan], errors: str, registry: str | None
    ) -> None:
        """Take what was planned."""
        self.topic = topic
        self._plans = dict(plans)
        self._errors: Any = errors
        self._registry = registry
        self._state = _state(registry)
        self._decoding: dict[Side, Decoding] = {}
        self._own: dict[Side, dict[str, SparkColumn]] = {}
        for side, plan in plans.items():
            added = set(added_columns(plan)) - {errors != "column" and ERROR.format(side)}
            kinds = {name: kind for name, kind in beside(side).items() if name in added}
            kinds = {side: _kind(plan), **kinds}
            self._own[side] = {name: SparkColumn(name, kind) for name, kind in kinds.items()}
        self.columns = {name: each for own in self._own.values() for name, each in own.items()}

    def __getstate__(self) -> dict[str, Any]:
        """Leave out compiled decoders, which cannot be sent."""
        return self.__dict__ | {"_decoding": {}}

    def needed(self, sources: Sequence[str]) -> list[str]:
        """Return the columns of ``kafkaspec.arrow`` that columns are made of."""
        names = ["offset", *(name for name in sources if name not in self.columns)]
        plans = {side: self._plans[side] for side in self._wanted(sources)}
        return needed_columns(names, plans, self._errors)

    def _wanted(self, sources: Sequence[str]) -> list[Side]:
        """Return the sides to decode: those that are shown, and those whose errors matter."""
        return [
            side
            for side, own in self._own.items()
            if self._errors != "column" or not own.keys().isdisjoint(sources)
        ]

    def decoded(self, batch: pa.RecordBatch, sources: Sequence[str], path: str) -> pa.RecordBatch:
        """Return records with typed columns."""
        made = dict(zip(batch.schema.names, batch.columns, strict=True))
        lost: set[int] = set()
        for side in self._wanted(sources):
            parts, values = self._parts(side, batch)
            made[side], beyond = as_engine(values, self.columns[side].arrow)
            parts.failures |= dict.fromkeys(beyond, _BEYOND)
            if parts.failures and self._errors == "raise":
                raise first_error(batch, side, parts, lambda _: path)
            lost |= parts.failures.keys()
            made |= columns_beside(side, parts)
        result = pa.RecordBatch.from_pydict(made)
        if self._errors != "skip" or not lost:
            return result
        text = "%s: %d records have no key or value and are left out"
        LOGGER.warning(text, without_credentials(path), len(lost))
        return without_rows(result, lost)

    def _parts(self, side: Side, batch: pa.RecordBatch) -> tuple[ColumnParts, pa.Array]:
        while True:
            decoding = self._decoding.setdefault(side, Decoding(self._plans[side]))
            parts = decoding.parts(batch.column(side), headers_of(batch))
            unknown = any(failure.code is Code.UNKNOWN_ID for failure in parts.failures.values())
            if not (unknown and self._renew()):
                return parts, decoding.array(parts)

    def _renew(self) -> bool:
        """Read the registry's topic again if it has changed, and return whether it has."""
        now = _state(self._registry)
        if self._registry is None or now == self._state:
            return False
        self._state = now
        try:
            schemas = SchemaLog.open(self._registry)
        except KafkaSpecError as error:
            LOGGER.warning("the schemas cannot be read again: %s", error)
            return False
        for side, plan in self._plans.items():
            if isinstance(plan.writers, Catalog):
                catalog = Catalog(schemas, plan.writers.context)
                self._plans[side] = replace(plan, writers=catalog)
        self._decoding.clear()
        return True


def with_types(options: ReadOptions, schema: StructType | None = None) -> ReadOptions:
    """Return options that know the types of keys and values, and choose the topic that has them.

    If the columns are known, types of earlier versions are tried until they fit.
    """
    given = {"key": options.key_decode or BYTES, "value": options.value_decode or BYTES}
    if set(given.values()) == {BYTES}:
        return options
    if options.messages is not None or options.include_control:
        raise OptionError(
            "options value.decode and key.decode cannot be combined with messages or includeControl"
        )
    topic, log = _log_of(options)
    try:
        registry = registry_of(log, options.schemas)
        decided: Callable[..., Planned] = partial(
            planned,
            log,
            schemas=registry,
            key_schema=options.key_schema,
            value_schema=options.value_schema,
            on_value_error="skip" if options.on_value_error == "skip" else "column",
            values=Options(depth=options.depth, enums=options.enums),
            topic=topic,
        )
        plans: dict[Side, Plan] = {}
        for side, plan in decided(**given, evolve=options.evolve).plans.items():
            if plan.undecoded:
                raise OptionError(
                    f"option {side}.decode: {topic}: {plan.undecoded}; auto leaves {side}s bytes"
                )
            for note in plan.notes:
                LOGGER.info("%s: %s", topic, note)
            one = {**dict.fromkeys(given, BYTES), side: given[side]}
            fitting = _fitting(plan, topic, schema, options, registry, partial(decided, **one))
            if fitting.format != BYTES:
                plans[side] = fitting
        typed = TypedRead(topic, plans, options.on_value_error, registry.path if registry else None)
    except (SchemaError, ValueError) as error:
        if isinstance(error, KafkaSpecError | OptionError):
            raise
        raise OptionError(f"options value.decode, key.decode: {error}") from None
    if options.topics is None and options.assigned is None:
        options = replace(options, topics=frozenset({topic}))
    return replace(options, typed=typed)


def _kind(plan: Plan) -> pa.DataType:
    """Return the type in Arrow of keys or values, as Spark takes it."""
    return pa.binary() if plan.format == BYTES else spark_value(Decoding(plan).type)


def _fitting(
    plan: Plan,
    topic: str,
    schema: StructType | None,
    options: ReadOptions,
    registry: SchemaLog | None,
    decided: Callable[..., Planned],
) -> Plan:
    """Return a plan, or that of an earlier version, with the type that the schema asks for."""
    side = plan.side
    asked = [item.dataType for item in schema or () if item.name.lower() == side]
    named = options.key_schema if side == "key" else options.value_schema
    if not asked or registry is None or options.evolve != "latest" or named is not None:
        return plan

    def fits(plan: Plan) -> bool:
        own = SparkColumn(side, _kind(plan)).spark
        return bool(own.simpleString() == asked[0].simpleString())

    if fits(plan):
        return plan
    for known in reversed(registry.schemas_of_topic(topic, side)):
        other = decided(evolve=known.version).plans[side]
        if fits(other):
            return other
    return plan


def _log_of(options: ReadOptions) -> tuple[str, Partition | LogDirectory]:
    """Return the topic that is read, and a log of it to look at."""
    free = options.topics is None and options.pattern is None and options.assigned is None
    logs = [
        log
        for log in find_logs(options.paths, log_start=options.log_start)
        if options.selects(log.topic, log.partition)
        and log.topic is not None
        and not (free and is_internal(log.topic))
    ]
    topics = sorted({log.topic for log in logs if log.topic is not None})
    if len(topics) != 1:
        names = some_of(topics) if topics else "none"
        raise OptionError(
            f"options value.decode, key.decode: a table has one topic, and there are {names}:"
            " name one with subscribe"
        )
    homes = Counter(log.directory.parent for log in logs)
    home, count = homes.most_common(1)[0]
    if count > 1:
        return topics[0], LogDirectory(home, mapped=False).of_topic(topics[0])
    return topics[0], max(logs, key=lambda log: len(log.segments)).opened


def _state(registry: str | None) -> list[tuple[str, int, int]]:
    """Return what changes when schemas do: names, sizes and times of their files."""
    if registry is None or "://" in registry:
        return []
    found = []
    with suppress(OSError):
        places = {registry, os.path.dirname(registry)}
        if os.path.isdir(registry):
            beside = [*os.scandir(registry), *os.scandir(os.path.join(registry, os.pardir))]
            places = {registry, *(place.path for place in beside if place.name.startswith(TOPIC))}
        for place in places:
            for entry in os.scandir(place):
                status = entry.stat()
                found.append((entry.path, status.st_size, status.st_mtime_ns))
    return sorted(found)
