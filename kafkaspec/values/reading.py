"""Record batches with typed keys and values."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from typing import Any, Final, NoReturn

import numpy as np
import pyarrow as pa

from kafkaspec.arrow.reading import Log, default_columns, place_of, record_batches
from kafkaspec.arrow.schema import COLUMNS, Request, request_of
from kafkaspec.arrow.where.condition import Where
from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.values.column import Column, Parts
from kafkaspec.values.decoded import Code, Decoded, Failure
from kafkaspec.values.definition import Definition
from kafkaspec.values.framing.frames import FRAMINGS, SIDES, Side
from kafkaspec.values.options import DEFAULT_OPTIONS, Options
from kafkaspec.values.plan import Plan
from kafkaspec.values.planning import plan_column, plan_fixed, plan_given, plan_named
from kafkaspec.values.registry.log import TOPIC, SchemaLog
from kafkaspec.values.wanted import BYTES, DECODE, Errors, Evolve, Wanted

SCHEMA_ID: Final = "{}_schema_id"
MESSAGE: Final = "{}_message"
ERROR: Final = "{}_error"
RAW: Final = "{}_raw"
_ADDED: Final = (SCHEMA_ID, MESSAGE, ERROR, RAW)

Schemas = SchemaLog | str | PathLike[str] | None
"""Schemas of a registry: opened, or a path that ``SchemaLog.open`` takes."""


@dataclass
class ValueReport:
    """Counts what was decoded; give one to ``to_batches`` to have it filled.

    Attributes:
        rows: number of rows read.
        failures: rows without a key or value, by side and code.
        first: the first failure of each side and code, as text.
        notes: what was decided about the keys and values.
        problems: what could not be read of the schemas, or does not count.
    """

    rows: int = 0
    failures: Counter[tuple[Side, Code]] = field(default_factory=Counter)
    first: dict[tuple[Side, Code], str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    problems: dict[str, None] = field(default_factory=dict)

    @property
    def failed(self) -> int:
        """Number of keys and values that have failed."""
        return sum(self.failures.values())


@dataclass(frozen=True)
class Typed:
    """A log of one topic, and what was decided about its keys and values.

    Attributes:
        log: the log.
        columns: names of columns.
        also: those of them that were not asked for.
        plans: for each side that is decoded.
        request: the columns and rows to read.
        report: counts what was decoded.
        where: a condition on rows.
        others: columns that are needed for it alone.
    """

    log: Log
    columns: tuple[str, ...]
    also: tuple[str, ...]
    plans: Mapping[Side, Plan]
    request: Request
    report: ValueReport
    where: Where | None = None
    others: tuple[str, ...] = ()


def typed(
    log: Log,
    *,
    columns: Sequence[str] | None = None,
    value: str = DECODE,
    key: str = BYTES,
    schemas: Schemas = None,
    value_schema: str | Definition | None = None,
    key_schema: str | Definition | None = None,
    evolve: Evolve = "latest",
    errors: Errors = "column",
    raw: bool = False,
    unwrap: bool = False,
    secrets: bool = False,
    values: Options | None = None,
    topic: str | None = None,
    report: ValueReport | None = None,
    also: Sequence[str] = (),
    where: str | Where | None = None,
    **options: Any,
) -> Typed:
    """Decide how keys and values are read; see ``Columnar.to_typed`` for the arguments.

    Columns ``also`` come after the others, unless they are among them. A condition ``where`` is
    on the typed columns.

    Raises:
        ValueError: a format, a column or an option is unknown; there are several topics.
        SchemaError: a schema that was named cannot be read.
        KafkaSpecError: ``schemas`` cannot be read.
    """
    if errors not in ("raise", "column", "skip"):
        raise ValueError(f"errors is raise, column or skip, not {errors!r}")
    if not isinstance(evolve, int) and evolve not in ("latest", "each"):
        raise ValueError(f"evolve is latest, each or a version, not {evolve!r}")
    log, topic = of_one_topic(log, topic)
    report = ValueReport() if report is None else report
    shared = Wanted(evolve=evolve, errors=errors, raw=raw, options=values or DEFAULT_OPTIONS)
    wanted = {
        "key": replace(shared, format=key, schema=key_schema),
        "value": replace(shared, format=value, schema=value_schema, unwrap=unwrap, secrets=secrets),
    }
    registry = registry_of(log, schemas)
    if registry is not None:
        report.problems |= dict.fromkeys(map(str, registry.problems))
    plans: dict[Side, Plan] = {}
    for side in SIDES:
        if wanted[side].format != BYTES:
            plans[side] = plan_column(log, topic, side, wanted[side], registry)
            report.notes += plans[side].notes
    names = _columns(log, columns, plans)
    hidden = _columns(log, [name for name in also if name not in names], plans)
    condition = Where(where) if isinstance(where, str) else where
    others: tuple[str, ...] = ()
    if condition is not None:
        shown = {*names, *hidden}
        others = _columns(log, [name for name in condition.columns if name not in shown], plans)
    options = {"layout": "binary"} | options
    if options["layout"] != "binary":
        raise ValueError("decoded keys and values are copied: the layout is binary")
    request = request_of((), _needed((*names, *hidden, *others), plans, errors), **options)
    if condition is not None:
        request = condition.narrowed(request)
    return Typed(log, (*names, *hidden), hidden, plans, request, report, condition, others)


def of_one_topic(log: Log, topic: str | None) -> tuple[Log, str | None]:
    """Return the log of one topic, and its name if it is known.

    Raises:
        ValueError: there are several, and none or another one was named.
    """
    if isinstance(log, LogDirectory):
        names = [name for name in log.topics if not is_internal(name)]
        if topic is None and len(names) != 1:
            raise ValueError(
                f"{log.path} has {len(names)} topics, of which each has a table of its own: "
                f"name one, {', '.join(names[:5])} ..."
            )
        topic = names[0] if topic is None else topic
        try:
            return log.of_topic(topic), topic
        except KeyError as error:
            raise ValueError(str(error.args[0])) from None
    own = log.topic if isinstance(log, Partition) else place_of(log).topic
    if topic is not None and own is not None and topic != own:
        raise ValueError(f"{log.path} is of the topic {own}, not {topic}")
    return log, topic or own


def is_internal(topic: str) -> bool:
    """Return whether a topic is Kafka's own or a registry's, which nobody means by all topics."""
    return topic.startswith("__") or topic == TOPIC


def registry_of(log: Log, schemas: Schemas) -> SchemaLog | None:
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


def _columns(
    log: Log, columns: Sequence[str] | None, plans: Mapping[Side, Plan]
) -> tuple[str, ...]:
    """Return the names of the columns: those asked for, or the default ones."""
    added: dict[str, tuple[str, ...]] = {side: tuple(_added(plan)) for side, plan in plans.items()}
    if columns is None:
        return tuple(
            name for column in default_columns(log) for name in (column, *added.get(column, ()))
        )
    if isinstance(columns, str):
        raise ValueError("columns is a list of names")
    known = {*COLUMNS, *(form.format(side) for side in plans for form in _ADDED)}
    for name in columns:
        if name not in known:
            raise ValueError(f"no column {name!r}; there are {', '.join(sorted(known))}")
    return tuple(columns)


def _added(plan: Plan) -> Iterator[str]:
    """Yield the names of the columns that stand after a decoded one by default."""
    if plan.format == BYTES:
        return
    if plan.format == DECODE:
        yield SCHEMA_ID.format(plan.side)
        if plan.names_messages:
            yield MESSAGE.format(plan.side)
    if plan.wanted.errors == "column":
        yield ERROR.format(plan.side)
    if plan.wanted.raw:
        yield RAW.format(plan.side)


def _needed(names: Sequence[str], plans: Mapping[Side, Plan], errors: Errors) -> list[str]:
    """Return the columns to read: those that are shown, and those that others are made from."""
    found = dict.fromkeys(name for name in names if name in COLUMNS)
    for side, plan in plans.items():
        found |= dict.fromkeys((side, "headers") if plan.needs_headers else (side,))
        if plan.of_records:
            found |= dict.fromkeys(SIDES)
    if errors == "raise":
        found |= dict.fromkeys(("offset", "batch_position"))
    return list(found)


class Reader:
    """Makes typed record batches.

    Args:
        wanted: the log, and what was decided.
    """

    def __init__(self, wanted: Typed) -> None:
        self._wanted = wanted
        self._columns = {
            side: Column(plan) for side, plan in wanted.plans.items() if plan.format != BYTES
        }
        self._errors: Errors = next(
            (plan.wanted.errors for plan in wanted.plans.values()), "column"
        )
        self._each = any(
            not plan.targets and plan.format == DECODE for plan in wanted.plans.values()
        )

    @property
    def also(self) -> tuple[str, ...]:
        """Columns that are there although they were not asked for."""
        return self._wanted.also

    def check(self) -> None:
        """Compile what the columns need.

        Raises:
            ValueError: a schema cannot become a column; a condition does not suit the columns.
        """
        if not self._each:
            _ = self._whole

    @property
    def differs(self) -> bool:
        """Whether record batches have several schemas."""
        return self._each

    @property
    def schema(self) -> pa.Schema:
        """The schema of the record batches."""
        return pa.schema([self._field(name) for name in self._wanted.columns])

    @cached_property
    def _whole(self) -> pa.Schema:
        """The schema with the columns that a condition alone needs."""
        wanted = self._wanted
        whole = pa.schema([self._field(name) for name in (*wanted.columns, *wanted.others)])
        if wanted.where is not None:
            wanted.where.check(whole)
        return whole

    def _field(self, name: str) -> pa.Field:
        for side, column in self._columns.items():
            if name == side:
                return pa.field(name, column.type)
            if name == SCHEMA_ID.format(side):
                return pa.field(name, _ID)
            if name in (MESSAGE.format(side), ERROR.format(side)):
                return pa.field(name, pa.string())
            if name == RAW.format(side):
                return pa.field(name, pa.binary())
        return self._wanted.request.field(name)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Yield record batches.

        Raises:
            KafkaSpecError: the log cannot be read; a row has no value, and that is an error.
        """
        for batch in record_batches(self._wanted.log, self._wanted.request):
            found = {
                side: column.parts(
                    batch.column(side), _column(batch, "headers"), _column(batch, "key")
                )
                for side, column in self._columns.items()
            }
            self._count(batch, found)
            if self._each:
                yield from self._by_schema(batch, found)
            else:
                arrays = {side: self._columns[side].array(parts) for side, parts in found.items()}
                yield from self._chosen(self._batch(batch, found, arrays, self._whole), found)

    def _count(self, batch: pa.RecordBatch, found: Mapping[Side, Parts]) -> None:
        report = self._wanted.report
        report.rows += batch.num_rows
        for side, parts in found.items():
            if not parts.failures:
                continue
            if self._errors == "raise":
                self._raise(batch, side, parts)
            report.failures.update((side, failure.code) for failure in parts.failures.values())
            for row in sorted(parts.failures):
                failure = parts.failures[row]
                if (side, failure.code) not in report.first:
                    report.first[side, failure.code] = _text(batch, row, side, failure)

    def _raise(self, batch: pa.RecordBatch, side: Side, parts: Parts) -> NoReturn:
        row = min(parts.failures)
        failure = parts.failures[row]
        offset = batch.column("offset")[row].as_py()
        raise make_error(
            Reason.INVALID_VALUE,
            _text(batch, row, side, failure),
            file=_file_of(self._wanted.log, offset),
            offset=batch.column("batch_position")[row].as_py(),
            path="/".join(["", side, *filter(None, failure.path.split("."))]),
        )

    def _batch(
        self,
        batch: pa.RecordBatch,
        found: Mapping[Side, Parts],
        arrays: Mapping[Side, pa.Array],
        schema: pa.Schema,
    ) -> pa.RecordBatch:
        made: dict[str, pa.Array] = dict(zip(batch.schema.names, batch.columns, strict=True))
        for side, parts in found.items():
            raw = made[side]
            if self._columns[side].hides:
                raw = pa.nulls(len(raw), raw.type)
            made[RAW.format(side)] = raw
            made[side] = arrays[side]
            ids, messages = parts.schema_ids, parts.messages
            made[SCHEMA_ID.format(side)] = pa.array(ids, _ID, mask=ids < 0)
            names = pa.array(parts.names, pa.string())
            made[MESSAGE.format(side)] = names.take(pa.array(messages, mask=messages < 0))
            made[ERROR.format(side)] = error_codes(parts)
        return pa.RecordBatch.from_arrays([made[name] for name in schema.names], schema=schema)

    def _chosen(
        self, batch: pa.RecordBatch, found: Mapping[Side, Parts]
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows and columns that are to be shown, if there are rows."""
        rows = {row for parts in found.values() for row in parts.failures}
        if self._errors == "skip" and rows:
            mask = np.ones(batch.num_rows, np.bool_)
            mask[list(rows)] = False
            batch = batch.filter(pa.array(mask))
        if self._wanted.where is not None:
            batch = batch.filter(self._wanted.where.mask(batch))
            batch = batch.select(self._wanted.columns)
        if batch.num_rows:
            yield batch

    def _by_schema(
        self, batch: pa.RecordBatch, found: Mapping[Side, Parts]
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of each pair of schemas; those without any have a column of nulls."""
        codes = {side: _codes_of_parts(parts) for side, parts in found.items()}
        pairs = np.stack([codes[side] for side in found], axis=1)
        for pair in np.unique(pairs, axis=0):
            rows = np.flatnonzero((pairs == pair).all(axis=1))
            chosen = pa.array(rows)
            own = {side: _some(parts, rows) for side, parts in found.items()}
            arrays, fields = {}, {}
            for (side, parts), code in zip(found.items(), pair.tolist(), strict=True):
                arrays[side] = _values(parts, code, rows)
                fields[side] = arrays[side].type
            schema = pa.schema(
                [
                    pa.field(name, fields[name]) if name in fields else self._field(name)
                    for name in (*self._wanted.columns, *self._wanted.others)
                ]
            )
            yield from self._chosen(self._batch(batch.take(chosen), own, arrays, schema), own)


_ID: Final = pa.int32()


def _column(batch: pa.RecordBatch, name: str) -> pa.Array | None:
    return batch.column(name) if name in batch.schema.names else None


def _text(batch: pa.RecordBatch, row: int, side: Side, failure: Failure) -> str:
    """Return what is wrong with a row, for people."""
    where = f"the {side}"
    if "offset" in batch.schema.names:
        where += f" of offset {batch.column('offset')[row].as_py()}"
    if failure.position is not None:
        where += f", at its byte {failure.position}"
    return f"{where}: {failure.reason} [{failure.code}]"


def _file_of(log: Log, offset: int) -> str | None:
    """Return the path of the segment with an offset."""
    if isinstance(log, Segment):
        return log.name
    partitions = log.current if isinstance(log, LogDirectory) else [log]
    if len(partitions) > 1:
        return None if log.path is None else str(log.path)
    return next((str(path) for path in partitions[0].paths_from(offset, offset + 1)), None)


def error_codes(parts: Parts) -> pa.Array:
    """Return why rows have failed, null for the others."""
    if not parts.failures:
        return pa.nulls(parts.count, pa.string())
    codes = list(Code)
    numbers = np.full(parts.count, -1, np.int64)
    for row, failure in parts.failures.items():
        numbers[row] = codes.index(failure.code)
    return pa.array(codes, pa.string()).take(pa.array(numbers, mask=numbers < 0))


def _codes_of_parts(parts: Parts) -> Any:
    """Return for each row the number of its part, -1 for none."""
    numbers = np.full(parts.count, -1, np.int64)
    for number, part in enumerate(parts.parts):
        numbers[part.rows] = number
    return numbers


def _values(parts: Parts, number: int, rows: Any) -> pa.Array:
    """Return the values of some rows of one part; nulls for -1."""
    if number < 0:
        return pa.nulls(len(rows))
    part = parts.parts[number]
    return part.values.take(pa.array(np.searchsorted(part.rows, rows)))


def _some(parts: Parts, rows: Any) -> Parts:
    """Return what is known of some rows."""
    numbers = {row: place for place, row in enumerate(rows.tolist())}
    failures = {numbers[row]: each for row, each in parts.failures.items() if row in numbers}
    ids, messages = parts.schema_ids[rows], parts.messages[rows]
    return Parts(len(rows), [], failures, ids, messages, parts.names)


def read(log: Log, **options: Any) -> pa.RecordBatchReader | Iterator[pa.RecordBatch]:
    """Return record batches with typed keys and values; see ``Columnar.to_batches``."""
    reader = Reader(typed(log, **options))
    reader.check()
    if reader.differs:
        return iter(reader)
    return pa.RecordBatchReader.from_batches(reader.schema, iter(reader))


def schema_of(log: Log, **options: Any) -> pa.Schema:
    """Return the schema of typed columns; see ``Columnar.value_schema``."""
    return Reader(typed(log, **options)).schema


def decode_values(
    array: pa.Array,
    schema: Definition | str | PathLike[str] | None = None,
    *,
    format: str = DECODE,  # noqa: A002
    framing: str | None = None,
    schemas: Schemas = None,
    options: Options = DEFAULT_OPTIONS,
) -> Decoded:
    """Decode values that are in an array, wherever they come from.

    Args:
        array: keys or values: ``binary``, ``large_binary`` or ``binary_view``.
        schema: their schema: its definition, a file (``FILE``, ``FILE#MESSAGE``), or a subject of
            ``schemas``. Without it, each names its own of ``schemas``.
        format: with neither of them, a format without a schema: ``long``, ``json`` ...
        framing: what stands before values: ``confluent``, ``apicurio``, ``glue``,
            ``single-object``; None for nothing, or for Confluent's where each names its schema.
        schemas: a ``SchemaLog``, or a path that ``SchemaLog.open`` takes.
        options: how values become columns.

    Returns:
        Values as long as the array, of the type of the schema, and why rows have none. Where each
        names its schema, the values are read as the newest of these that is named in the array.

    Raises:
        ValueError: there is neither a schema nor a format; a schema cannot be read, or the schemas
            are of several types of records.
        KafkaSpecError: ``schemas`` cannot be read.
    """
    if not pa.types.is_binary(array.type):
        array = array.cast(pa.binary())
    registry = schemas if isinstance(schemas, SchemaLog | None) else SchemaLog.open(schemas)
    wanted = Wanted(format=format, options=options)
    if schema is not None:
        named = schema if isinstance(schema, Definition) else os.fspath(schema)
        plan = plan_given(replace(wanted, schema=named), registry, framing)
    elif format != DECODE:
        plan = plan_fixed([array], "value", wanted)
    elif registry is None:
        raise ValueError("give a schema, schemas that values name, or a format")
    else:
        plan = plan_named(array, wanted, registry, framing or next(iter(FRAMINGS)))
    column = Column(plan)
    parts = column.parts(array, None)
    return Decoded(column.array(parts), parts.failures)
