"""Typed tables of a lake: decoded as was planned for a topic, and what does not decode.

A plan says the columns of its topic. It is made for each increment, so that the columns follow the
schemas; a record that they have no room for becomes a row of ``dead``, and stays in ``raw``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Unpack

import pyarrow as pa

from kafkaspec.arrow.record_batches import AnyLog
from kafkaspec.arrow.schema import bytes_type
from kafkaspec.lake.evolution import as_taken, others
from kafkaspec.lake.schema import TIME, TYPED, typed_schema
from kafkaspec.log.options import TypedOptions
from kafkaspec.tables.engine_types import as_engine, by_rows, lake_value
from kafkaspec.values.decoded import Code, Failure
from kafkaspec.values.decoding.column import ValueColumn
from kafkaspec.values.framing.frames import SIDES, Side
from kafkaspec.values.options import BYTES
from kafkaspec.values.plan import Plan
from kafkaspec.values.reading.batches import added_columns, beside, columns_beside, without_rows
from kafkaspec.values.reading.request import ERROR, RAW, planned

Plans = Mapping[Side, Plan]
"""How the keys and values of a topic are read; none for a topic without a typed table."""

_BEYOND: Final = Failure(Code.RANGE, "a table has no room for it")
_SHARED: Final = (pa.field("offset", pa.int64()), pa.field("timestamp", TIME))


def plans_of(log: AnyLog, **options: Unpack[TypedOptions]) -> tuple[Plans, tuple[str, ...]]:
    """Return how the keys and values of a log of one topic are read, and notes about it.

    Args:
        log: the log.
        options: of ``Columnar.to_typed``.

    Raises:
        ValueError: an option cannot be followed, or a type cannot become a column.
        KafkaSpecError: the schemas cannot be read.
    """
    if options.get("evolve") == "each":
        raise ValueError("each schema would be a separate table: a table has one")
    given: Any = options
    found = planned(log, **given)
    plans = {side: plan for side, plan in found.plans.items() if plan.format != BYTES}
    schema_of(plans)
    return plans, (*found.notes, *found.problems, *found.undecoded)


def name_of(topic: str) -> str:
    """Return the name of the typed table of a topic."""
    return TYPED + topic


def schema_of(plans: Plans) -> pa.Schema:
    """Return the schema of a typed table."""
    return typed_schema([*_SHARED, *_own(plans, _columns(plans))])


def _columns(plans: Plans) -> dict[Side, ValueColumn]:
    return {side: ValueColumn(plan) for side, plan in plans.items()}


def _own(plans: Plans, columns: Mapping[Side, ValueColumn]) -> Iterator[pa.Field]:
    for side in SIDES:
        if side not in plans:
            yield pa.field(side, bytes_type("binary"))
            continue
        yield pa.field(side, lake_value(columns[side].type))
        kinds = beside(side)
        for name in added_columns(plans[side]):
            if name not in (ERROR.format(side), RAW.format(side)):  # which other tables have
                yield pa.field(name, kinds[name])


class TypedRows:
    """Makes the rows of a typed table.

    Attributes:
        table: name of the table.
        schema: its schema.
    """

    def __init__(self, topic: str, plans: Plans, taken: pa.Schema | None = None) -> None:
        """Compile nothing yet but the types.

        Args:
            topic: its name.
            plans: how keys and values are read.
            taken: the types that the table takes, where it may have others; see ``fitted``.
        """
        self.table = name_of(topic)
        self._columns = _columns(plans)
        own = list(_own(plans, self._columns))
        self._names = [field.name for field in own]
        self.schema = typed_schema([*_SHARED, *own])
        self._own = self.schema
        if taken is not None:
            self.schema = taken
        self._beyond = {
            side: others(self.schema.field(side).type, self._own.field(side).type, side)
            for side in self._columns
        }

    def divided(
        self, raw: pa.RecordBatch
    ) -> tuple[dict[str, pa.Array], pa.RecordBatch, list[dict[str, Any]]]:
        """Divide rows of ``raw`` into typed ones and dead ones.

        Returns:
            The columns of the topic in the typed rows, the rows of ``raw`` that these are made of,
            and the dead rows.
        """
        made: dict[str, pa.Array] = {side: raw.column(side) for side in SIDES}
        failures: dict[int, list[tuple[Side, Failure, int]]] = {}
        headers = raw.column("headers")
        for side, column in self._columns.items():
            parts = column.parts(raw.column(side), headers)
            made[side], beyond = as_engine(column.array(parts), self._own.field(side).type)
            parts.failures |= dict.fromkeys(beyond, _BEYOND)
            if self._beyond[side]:
                kind = self.schema.field(side).type
                made[side], beyond = by_rows(made[side], kind, as_taken)
                failure = Failure(Code.RANGE, "; ".join(self._beyond[side]))
                parts.failures |= dict.fromkeys(beyond, failure)
            made |= columns_beside(side, parts)
            for row, failure in parts.failures.items():
                found = side, failure, int(parts.schema_ids[row])
                failures.setdefault(row, []).append(found)
        names = self._names
        typed = pa.RecordBatch.from_arrays([made[name] for name in names], names)
        if failures:
            typed, kept = (without_rows(batch, failures) for batch in (typed, raw))
        else:
            kept = raw
        columns = dict(zip(names, typed.columns, strict=True))
        return columns, kept, list(_dead(raw, sorted(failures.items())))


def _dead(
    raw: pa.RecordBatch, failures: Iterable[tuple[int, list[tuple[Side, Failure, int]]]]
) -> Iterator[dict[str, Any]]:
    for row, found in failures:
        _, first, schema_id = found[0]
        yield {
            "offset": raw.column("offset")[row].as_py(),
            "schema_id": None if schema_id < 0 else schema_id,
            "reason": str(first.code),
            "detail": "; ".join(_text(side, failure) for side, failure, _ in found),
            "key": raw.column("key")[row].as_py(),
            "value": raw.column("value")[row].as_py(),
        }


def _text(side: Side, failure: Failure) -> str:
    place = "" if failure.position is None else f", at its byte {failure.position}"
    path = f", at {failure.path}" if failure.path else ""
    return f"the {side}{place}{path}: {failure.reason}"
