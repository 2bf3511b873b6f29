"""Typed keys and values: planned on the driver, decoded in the tasks.

The plan is sent with the schemas of the registry. A task that meets an id which they do not have
reads the registry's topic again, if it has changed; the columns keep the types that were planned.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyspark.sql.types import StructType

from kafkaspec.arrow.arrays import choose
from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.partition import Partition
from kafkaspec.shown import some_of, without_credentials
from kafkaspec.spark.options import ReadOptions
from kafkaspec.spark.parsing import OptionError
from kafkaspec.spark.paths import LOGGER, find_logs
from kafkaspec.spark.schema import Column
from kafkaspec.spark.value_types import as_spark, spark_value
from kafkaspec.values.decoded import Code, Failure
from kafkaspec.values.decoding.column import Column as Decoding
from kafkaspec.values.decoding.column import Parts
from kafkaspec.values.definition import SchemaError
from kafkaspec.values.framing.frames import SIDES, Side
from kafkaspec.values.options import BYTES, DECODE, Options, Wanted
from kafkaspec.values.plan import Plan
from kafkaspec.values.planning.catalog import Catalog
from kafkaspec.values.planning.deciding import plan_column
from kafkaspec.values.reading.batches import error_codes
from kafkaspec.values.reading.request import ERROR, MESSAGE, SCHEMA_ID, is_internal, registry_of
from kafkaspec.values.registry.log import TOPIC, SchemaLog

_HEADERS: Final = "headers"
_ID: Final = pa.int32()
_BEYOND: Final = Failure(Code.RANGE, "Spark has no room for it")


@dataclass(frozen=True)
class Typing:
    """A key or value that is decoded.

    Attributes:
        plan: how.
        kind: type of the column in Arrow, as Spark takes it.
    """

    plan: Plan
    kind: pa.DataType

    @property
    def columns(self) -> Iterator[tuple[str, Column]]:
        """The columns that it gives."""
        side = self.plan.side
        yield side, Column(side, self.kind)
        if self.plan.format == DECODE:
            yield SCHEMA_ID.format(side), Column(SCHEMA_ID.format(side), _ID)
            if self.plan.names_messages:
                yield MESSAGE.format(side), Column(MESSAGE.format(side), pa.string())
        if self.plan.wanted.on_value_error == "column":
            yield ERROR.format(side), Column(ERROR.format(side), pa.string())


class Typed:
    """The typed columns of a read, and what makes them.

    Attributes:
        topic: the one that is read.
        columns: the columns by name; those of a side stand together.
    """

    def __init__(self, topic: str, sides: Mapping[Side, Typing], registry: str | None) -> None:
        """Take what was planned.

        Args:
            topic: the one that is read.
            sides: what is decoded.
            registry: where the schemas were found, to find later ones; None for nowhere.
        """
        self.topic = topic
        self._sides = dict(sides)
        self._registry = registry
        self._state = _state(registry)
        self._decoding: dict[Side, Decoding] = {}
        self.columns = {
            name: column for each in self._sides.values() for name, column in each.columns
        }

    def __getstate__(self) -> dict[str, Any]:
        """Leave out compiled decoders, which cannot be sent."""
        return self.__dict__ | {"_decoding": {}}

    def needed(self, sources: Sequence[str]) -> list[str]:
        """Return the columns of ``kafkaspec.arrow`` that columns are made of."""
        found = dict.fromkeys(["offset", *(name for name in sources if name not in self.columns)])
        for side in self._wanted(sources):
            found |= dict.fromkeys([side])
            if self._sides[side].plan.needs_headers:
                found |= dict.fromkeys([_HEADERS])
        return list(found)

    def _wanted(self, sources: Sequence[str]) -> list[Side]:
        """Return the sides to decode: those that are shown, and those whose errors matter."""
        return [
            side
            for side, each in self._sides.items()
            if each.plan.wanted.on_value_error != "column"
            or not {name for name, _ in each.columns}.isdisjoint(sources)
        ]

    def decoded(self, batch: pa.RecordBatch, sources: Sequence[str], path: str) -> pa.RecordBatch:
        """Return records with typed columns.

        Args:
            batch: with the columns of ``needed``.
            sources: columns to make.
            path: of the segment.

        Raises:
            KafkaSpecError: a row has no value, and that is an error.
        """
        made = dict(zip(batch.schema.names, batch.columns, strict=True))
        lost: set[int] = set()
        for side in self._wanted(sources):
            each = self._sides[side]
            parts, values = self._parts(side, batch)
            made[side], beyond = as_spark(values, each.kind)
            parts.failures |= dict.fromkeys(beyond, _BEYOND)
            if parts.failures and each.plan.wanted.on_value_error == "raise":
                _refuse(batch, side, parts, path)
            lost |= parts.failures.keys() if each.plan.wanted.on_value_error == "skip" else set()
            made[SCHEMA_ID.format(side)] = pa.array(
                parts.schema_ids, _ID, mask=parts.schema_ids < 0
            )
            names = pa.array(parts.names, pa.string())
            made[MESSAGE.format(side)] = names.take(
                pa.array(parts.messages, mask=parts.messages < 0)
            )
            made[ERROR.format(side)] = error_codes(parts)
        result = pa.RecordBatch.from_pydict(made)
        return _without(result, lost, path) if lost else result

    def _parts(self, side: Side, batch: pa.RecordBatch) -> tuple[Parts, pa.Array]:
        headers = batch.column(_HEADERS) if _HEADERS in batch.schema.names else None
        decoding = self._decoding.setdefault(side, Decoding(self._sides[side].plan))
        parts = decoding.parts(batch.column(side), headers)
        unknown = any(failure.code is Code.UNKNOWN_ID for failure in parts.failures.values())
        if unknown and self._renew():
            decoding = self._decoding.setdefault(side, Decoding(self._sides[side].plan))
            parts = decoding.parts(batch.column(side), headers)
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
        for side, each in self._sides.items():
            if isinstance(each.plan.writers, Catalog):
                catalog = Catalog(schemas, each.plan.writers.context)
                self._sides[side] = replace(each, plan=replace(each.plan, writers=catalog))
        self._decoding.clear()
        return True


def with_types(options: ReadOptions, schema: StructType | None = None) -> ReadOptions:
    """Return options that know the types of keys and values, and choose the topic that has them.

    Args:
        options: those that were given; without ``value.decode`` and ``key.decode`` as they are.
        schema: the columns, if they are known: types of earlier versions are tried until they fit.

    Raises:
        OptionError: there is not one topic; a format, schema or version is not there.
        KafkaSpecError: the schemas or a log cannot be read.
    """
    wanted = {"key": options.key_decode, "value": options.value_decode}
    if wanted == {"key": None, "value": None}:
        return options
    if options.messages is not None or options.control:
        raise OptionError(
            "options value.decode and key.decode cannot be combined with messages or includeControl"
        )
    topic, log = _log_of(options)
    try:
        registry = registry_of(log, options.schemas)
        sides: dict[Side, Typing] = {}
        for side in SIDES:
            name = wanted[side]
            if name is None or name == BYTES:
                continue
            typing = _typing(options, side, name, log, topic, registry, schema)
            if typing.plan.undecoded:
                raise OptionError(
                    f"option {side}.decode: {topic}: {typing.plan.undecoded}; auto leaves {side}s"
                    " bytes"
                )
            if typing.plan.format != BYTES:
                sides[side] = typing
            for note in typing.plan.notes:
                LOGGER.info("%s: %s", topic, note)
    except (SchemaError, ValueError) as error:
        if isinstance(error, KafkaSpecError | OptionError):
            raise
        raise OptionError(f"options value.decode, key.decode: {error}") from None
    typed = Typed(topic, sides, None if registry is None else registry.path)
    topics = options.topics if options.assigned is None else None
    if topics is None and options.assigned is None:
        topics = frozenset({topic})
    return replace(options, typed=typed, topics=topics)


def _typing(
    options: ReadOptions,
    side: Side,
    name: str,
    log: Partition | LogDirectory,
    topic: str,
    registry: SchemaLog | None,
    schema: StructType | None,
) -> Typing:
    given = options.key_schema if side == "key" else options.value_schema
    wanted = Wanted(
        format=name,
        schema=given,
        evolve=options.evolve,
        on_value_error=options.value_errors,
        options=Options(recursion=options.depth, enums=options.enums),
    )

    def made(wanted: Wanted) -> Typing:
        plan = plan_column(log, topic, side, wanted, registry)
        kind = pa.binary() if plan.format == BYTES else spark_value(Decoding(plan).type)
        return Typing(plan, kind)

    first = made(wanted)
    columns = {} if schema is None else {field.name.lower(): field.dataType for field in schema}
    if side not in columns or registry is None or options.evolve != "latest" or given is not None:
        return first
    asked = columns[side].simpleString()
    if Column(side, first.kind).spark.simpleString() == asked:
        return first
    for known in reversed(registry.schemas_of_topic(topic, side)):
        other = made(replace(wanted, evolve=known.version))
        if Column(side, other.kind).spark.simpleString() == asked:
            return other
    return first


def _log_of(options: ReadOptions) -> tuple[str, Partition | LogDirectory]:
    """Return the topic that is read, and a log of it to look at.

    Raises:
        OptionError: there is none, or several.
    """
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


def _refuse(batch: pa.RecordBatch, side: Side, parts: Parts, path: str) -> None:
    row = min(parts.failures)
    failure = parts.failures[row]
    offset = batch.column("offset")[row].as_py()
    text = f"the {side} of offset {offset}: {failure.reason} [{failure.code}]"
    raise make_error(Reason.INVALID_VALUE, text, file=path)


def _without(batch: pa.RecordBatch, lost: set[int], path: str) -> pa.RecordBatch:
    LOGGER.warning(
        "%s: %d records have no key or value and are left out", without_credentials(path), len(lost)
    )
    mask = np.ones(batch.num_rows, np.bool_)
    mask[list(lost)] = False
    return choose(batch, pa.array(mask))
