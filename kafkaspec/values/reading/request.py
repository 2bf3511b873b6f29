"""A request for typed keys and values, and the plan for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from inspect import signature
from os import PathLike
from typing import Any, Final, Unpack

from kafkaspec.arrow.reading import AnyLog, default_columns, place_of
from kafkaspec.arrow.schema import COLUMNS, Request, RequestOptions, request_of
from kafkaspec.arrow.where.condition import Where
from kafkaspec.errors import KafkaSpecError
from kafkaspec.log.columnar import Evolve, TypedOptions
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.partition import Partition
from kafkaspec.policy import ErrorPolicy
from kafkaspec.values.decoded import Code
from kafkaspec.values.definition import Definition, SchemaError
from kafkaspec.values.framing.frames import SIDES, Side
from kafkaspec.values.options import BYTES, DECODE, DEFAULT_OPTIONS, Options, Wanted
from kafkaspec.values.plan import Plan
from kafkaspec.values.planning.deciding import plan_column
from kafkaspec.values.registry.log import TOPIC, SchemaLog
from kafkaspec.values.registry.schema import Schema

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
        undecoded: what was to be decoded and stays bytes, with the topic and the reason.
        asked: whether decoding was asked for, so that ``undecoded`` counts.
    """

    rows: int = 0
    failures: Counter[tuple[Side, Code]] = field(default_factory=Counter)
    first: dict[tuple[Side, Code], str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    problems: dict[str, None] = field(default_factory=dict)
    undecoded: dict[str, None] = field(default_factory=dict)
    asked: bool = True

    @property
    def failed(self) -> int:
        """Number of keys and values that have failed; a side that stays bytes is one."""
        return sum(self.failures.values()) + (len(self.undecoded) if self.asked else 0)


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

    log: AnyLog
    columns: tuple[str, ...]
    also: tuple[str, ...]
    plans: Mapping[Side, Plan]
    request: Request
    report: ValueReport
    where: Where | None = None
    others: tuple[str, ...] = ()


@dataclass(frozen=True)
class Planned:
    """The plan for the keys and values of a log, for any columns and rows of it.

    Attributes:
        log: the log, of one topic.
        plans: for each side that is decoded.
        on_value_error: what happens with rows without a value.
        notes: what was decided, in sentences for people.
        problems: what could not be read of the schemas, or does not count.
        undecoded: see ``ValueReport``.
    """

    log: AnyLog
    plans: Mapping[Side, Plan]
    on_value_error: ErrorPolicy
    notes: tuple[str, ...]
    problems: tuple[str, ...]
    undecoded: tuple[str, ...] = ()


def planned(
    log: AnyLog,
    *,
    value: str = DECODE,
    key: str = BYTES,
    schemas: Schemas = None,
    value_schema: str | Definition | Schema | None = None,
    key_schema: str | Definition | Schema | None = None,
    evolve: Evolve = "latest",
    on_value_error: ErrorPolicy = "column",
    raw: bool = False,
    unwrap: bool = False,
    secrets: bool = False,
    values: Options | None = None,
    topic: str | None = None,
) -> Planned:
    """Decide how keys and values are read; see ``Columnar.to_typed`` for the arguments.

    Raises:
        ValueError: a format or an option is unknown; there are several topics.
        SchemaError: a schema that was named cannot be read; with ``raise``, nothing decodes.
        KafkaSpecError: ``schemas`` cannot be read.
    """
    log, topic = of_one_topic(log, topic)
    shared = Wanted(
        evolve=evolve, on_value_error=on_value_error, raw=raw, options=values or DEFAULT_OPTIONS
    )
    wanted = {
        "key": replace(shared, format=key, schema=key_schema),
        "value": replace(shared, format=value, schema=value_schema, unwrap=unwrap, secrets=secrets),
    }
    registry = registry_of(log, schemas)
    plans: dict[Side, Plan] = {
        side: plan_column(log, topic, side, wanted[side], registry)
        for side in SIDES
        if wanted[side].format != BYTES
    }
    notes = tuple(note for plan in plans.values() for note in plan.notes)
    problems = () if registry is None else tuple(map(str, registry.problems))
    place = topic or log.path or "the log"
    undecoded = tuple(
        f"{place}: {side}s are not decoded, and stay bytes: {plan.undecoded}"
        for side, plan in plans.items()
        if plan.undecoded
    )
    if undecoded and on_value_error == "raise":
        raise SchemaError("; ".join(undecoded))
    return Planned(log, plans, on_value_error, notes, problems, undecoded)


def requested(
    decided: Planned,
    *,
    columns: Sequence[str] | None = None,
    report: ValueReport | None = None,
    also: Sequence[str] = (),
    where: str | Where | None = None,
    **options: Unpack[RequestOptions],
) -> Typed:
    """Ask for columns and rows of a log of which the rest is decided.

    Args:
        decided: how keys and values are read.
        columns: names of columns, as ``Columnar.to_typed`` takes them.
        report: is filled.
        also: columns that come after the others, unless they are among them.
        where: a condition on the typed columns.
        options: of ``Columnar.to_batches``.

    Raises:
        ValueError: a column or an option is unknown.
    """
    log, plans = decided.log, decided.plans
    report = ValueReport() if report is None else report
    report.notes += decided.notes
    report.problems |= dict.fromkeys(decided.problems)
    report.undecoded |= dict.fromkeys(decided.undecoded)
    names = _columns(log, columns, plans)
    hidden = _columns(log, [name for name in also if name not in names], plans)
    condition = Where(where) if isinstance(where, str) else where
    others: tuple[str, ...] = ()
    if condition is not None:
        shown = {*names, *hidden}
        others = _columns(log, [name for name in condition.columns if name not in shown], plans)
    options.setdefault("layout", "binary")
    if options["layout"] != "binary":
        raise ValueError("decoded keys and values are copied: the layout is binary")
    needed = needed_columns((*names, *hidden, *others), plans, decided.on_value_error)
    request = request_of((), needed, **options)
    if condition is not None:
        request = condition.narrowed(request)
    return Typed(log, (*names, *hidden), hidden, plans, request, report, condition, others)


_DECIDED: Final = frozenset(signature(planned).parameters)


class ReadingOptions(RequestOptions, TypedOptions, total=False):
    """The options of ``planned`` and ``requested``."""

    columns: Sequence[str] | None
    also: Sequence[str]
    where: str | Where | None


def typed(log: AnyLog, **options: Unpack[ReadingOptions]) -> Typed:
    """Do what ``planned`` and ``requested`` do, with the options of both."""
    own: Any = {name: value for name, value in options.items() if name in _DECIDED}
    others: Any = {name: value for name, value in options.items() if name not in _DECIDED}
    return requested(planned(log, **own), **others)


def of_one_topic(log: AnyLog, topic: str | None) -> tuple[AnyLog, str | None]:
    """Return the log of one topic, and its name if it is known."""
    if isinstance(log, LogDirectory):
        names = [name for name in log.topics if not is_internal(name)]
        if topic is None and len(names) != 1:
            raise ValueError(
                f"{log.path} has {len(names)} topics, of which each has a separate table: "
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


def _columns(
    log: AnyLog, columns: Sequence[str] | None, plans: Mapping[Side, Plan]
) -> tuple[str, ...]:
    """Return the names of the columns: those asked for, or the default ones."""
    added: dict[str, tuple[str, ...]] = {
        side: tuple(added_columns(plan)) for side, plan in plans.items()
    }
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


def added_columns(plan: Plan) -> Iterator[str]:
    """Yield the names of the columns that stand after a decoded one by default."""
    if plan.format == BYTES:
        return
    if plan.format == DECODE:
        yield SCHEMA_ID.format(plan.side)
        if plan.names_messages:
            yield MESSAGE.format(plan.side)
    if plan.wanted.on_value_error == "column":
        yield ERROR.format(plan.side)
    if plan.wanted.raw:
        yield RAW.format(plan.side)


def needed_columns(
    names: Sequence[str], plans: Mapping[Side, Plan], on_value_error: ErrorPolicy
) -> list[str]:
    """Return the columns to read: those that are shown, and those that others are made from."""
    found = dict.fromkeys(name for name in names if name in COLUMNS)
    for side, plan in plans.items():
        found |= dict.fromkeys((side, "headers") if plan.needs_headers else (side,))
    if on_value_error == "raise":
        found |= dict.fromkeys(("offset", "batch_position"))
    return list(found)
