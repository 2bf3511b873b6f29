"""A request for typed keys and values, and the plan for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from kafkaspec.arrow.record_batches import AnyLog, place_of
from kafkaspec.arrow.schema import COLUMNS
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.options import Evolve
from kafkaspec.log.partition import Partition
from kafkaspec.policy import ErrorPolicy
from kafkaspec.values.decoded import Code
from kafkaspec.values.definition import Definition, SchemaError
from kafkaspec.values.framing.frames import SIDES, Side
from kafkaspec.values.options import BYTES, DECODE, DEFAULT_OPTIONS, Options, WantedSide
from kafkaspec.values.plan import Plan
from kafkaspec.values.planning.deciding import plan_column
from kafkaspec.values.planning.sampling import SampledLog
from kafkaspec.values.registry.log import TOPIC, Schemas, registry_of
from kafkaspec.values.registry.schema import Schema

SCHEMA_ID: Final = "{}_schema_id"
MESSAGE: Final = "{}_message"
ERROR: Final = "{}_error"
RAW: Final = "{}_raw"


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
    rows: SampledLog | None = None,
) -> Planned:
    """Decide how keys and values are read; see ``Columnar.to_typed`` for the arguments.

    Args:
        ...
        rows: what is looked at; by default the log, which has to be of one topic then.

    Raises:
        ValueError: a format or an option is unknown; there are several topics.
        SchemaError: a schema that was named cannot be read; with ``raise``, nothing decodes.
        KafkaSpecError: ``schemas`` cannot be read.
    """
    if rows is None:
        log, topic = of_one_topic(log, topic)
    shared = WantedSide(
        evolve=evolve, on_value_error=on_value_error, raw=raw, options=values or DEFAULT_OPTIONS
    )
    wanted = {
        "key": replace(shared, format=key, schema=key_schema),
        "value": replace(shared, format=value, schema=value_schema, unwrap=unwrap, secrets=secrets),
    }
    registry = registry_of(log, schemas)
    plans: dict[Side, Plan] = {
        side: plan_column(log if rows is None else rows, topic, side, wanted[side], registry)
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
