"""A topic as DuckDB scans it: again for each use in a query, and no more than the query needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import dataset

from kafkaspec.arrow.record_batches import AnyLog, record_batches
from kafkaspec.arrow.schema import COLUMNS, Request, request_of
from kafkaspec.arrow.where.condition import Where
from kafkaspec.errors import KafkaSpecError
from kafkaspec.jobs import in_context
from kafkaspec.tables.shapes import converted, without_dictionaries
from kafkaspec.tables.sql.pushdown import Filter

Batches = Callable[[Request], Iterator[pa.RecordBatch]]
"""Reads what a request asks for."""

TIMESTAMP: Final = pa.timestamp("us", tz="UTC")
"""As DuckDB has it."""
_PER_MILLISECOND: Final = 1000


@dataclass
class Scans:
    """The counts of a query's scans. ``untimed``: timestamps that DuckDB does not have; null."""

    requests: list[tuple[str | None, Request]] = field(default_factory=list)
    errors: list[KafkaSpecError] = field(default_factory=list)
    untimed: int = 0
    reports: dict[str | None, Any] = field(default_factory=dict)


class Topic(dataset.Dataset):  # type: ignore[misc]  # DuckDB asks it for what it needs
    """A topic of a log directory, or without ``name`` a whole partition or segment."""

    _timestamps = frozenset(("timestamp",))
    """Columns of times of Kafka's, in ms."""

    def __init__(
        self,
        log: AnyLog,
        name: str | None,
        partitions: Sequence[int | None],
        columns: Sequence[str],
        options: Mapping[str, Any],
        scans: Scans,
    ) -> None:  # the base class has no constructor
        self._log = log
        self._name = name
        self._partitions = partitions
        self._columns = tuple(columns)
        self._options = {"layout": "binary"} | dict(options)
        self._scans = scans
        self._context = copy_context()  # that of the caller, which the threads of DuckDB lack
        if type(self) is Topic:
            self._show_columns()

    def _show_columns(self) -> None:
        """Take the columns that were asked for."""
        if unknown := [name for name in self._columns if name not in COLUMNS]:
            raise ValueError(f"no column {unknown[0]!r}; there are {', '.join(COLUMNS)}")
        self._show(self._request(self._columns).schema)

    def _show(self, schema: pa.Schema) -> None:
        """Take the columns of a view: without dictionaries, and with times as DuckDB has them."""
        self._schema = pa.schema(
            [
                each.with_type(
                    TIMESTAMP if each.name in self._timestamps else without_dictionaries(each.type)
                )
                for each in map(schema.field, self._columns)
            ]
        )

    @property
    def schema(self) -> pa.Schema:
        return self._schema

    def scanner(
        self,
        columns: Sequence[str] | None = None,
        filter: pc.Expression | None = None,  # noqa: A002  # as DuckDB calls it
        **_: Any,
    ) -> dataset.Scanner:
        """Return what reads some columns of the rows for which a filter is true."""
        wanted = self._columns if columns is None else tuple(columns)
        found = Filter(filter, self._schema)
        also = found.columns(name for name in self._columns if name not in wanted)
        read = (*wanted, *also) or self._columns[:1]
        schema = pa.schema([self._schema.field(name) for name in read])
        request = self._narrowed(self._request(read), found)
        batches = in_context(self._context, self._batches(request, schema, found))
        return dataset.Scanner.from_batches(
            batches, schema=schema, columns=list(wanted), filter=filter
        )

    def _request(self, columns: Sequence[str]) -> Request:
        names = [name for name in columns if name in COLUMNS] or ["offset"]
        return request_of((), names, **self._options)

    def _narrowed(self, request: Request, found: Filter) -> Request:
        """Return a request without what the filter leaves out."""
        low, high = found.range("offset") if "offset" in self._columns else (None, None)
        early, late = found.range("timestamp") if "timestamp" in self._columns else (None, None)
        parts = [f"offset >= {low}"] if low is not None else []
        parts += [f"offset < {high}"] if high is not None else []
        parts += [f"timestamp >= {early // _PER_MILLISECOND}"] if early is not None else []
        parts += [f"timestamp < {-(-late // _PER_MILLISECOND)}"] if late is not None else []
        if self._name is not None:
            quoted = self._name.replace("'", "''")

            def is_(number: int) -> pc.Expression:
                return pc.field("partition") == pa.scalar(number, pa.int32())

            numbers = {
                number
                for number in self._partitions
                if number is not None
                and ("partition" not in self._schema.names or found.may_hold(is_(number)))
            }
            parts += [f"topic = '{quoted}'", _among(numbers)]
        if not parts:
            return request
        where = Where(" and ".join(parts))
        return where.narrowed(replace(request, where=where))

    def _batches(
        self, request: Request, schema: pa.Schema, found: Filter
    ) -> Iterator[pa.RecordBatch]:
        self._note(request)
        try:
            for batch in self._read(request, schema.names, found):
                yield self._converted(batch, schema)
        except KafkaSpecError as error:
            self._scans.errors.append(error)
            raise

    def _note(self, request: Request) -> None:
        self._scans.requests.append((self._name, request))

    def _read(self, request: Request, names: list[str], found: Filter) -> Iterator[pa.RecordBatch]:
        return record_batches(self._log, request)

    def _converted(self, batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
        arrays = []
        for name, kind in zip(schema.names, schema.types, strict=True):
            array = batch.column(name)
            if name in self._timestamps:
                array = self._times(array)
            arrays.append(converted(array, kind, lambda leaf, to: leaf.cast(to)))
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _times(self, stamps: pa.Array) -> pa.Array:
        try:
            return stamps.cast(TIMESTAMP)
        except pa.ArrowInvalid:  # beyond 64 bits of microseconds
            counts = stamps.cast(pa.int64())
            most = ((1 << 63) - 1) // _PER_MILLISECOND
            fits = pc.and_(pc.less_equal(counts, most), pc.greater_equal(counts, -most))
            self._scans.untimed += len(stamps) - stamps.null_count - (fits.true_count or 0)
            return pc.if_else(fits, stamps, pa.scalar(None, stamps.type)).cast(TIMESTAMP)


def is_at(name: str, value: Any) -> pc.Expression:
    """Return what is known of ``topic`` or ``partition`` where it has a value, or none."""
    if value is None:
        return pc.field(name).is_null()
    return pc.field(name) == pa.scalar(value, pa.string() if name == "topic" else pa.int32())


def _among(numbers: set[int]) -> str:
    """Return the condition that a partition is among some; each is asked it, so it is short."""
    firsts = sorted(number for number in numbers if number - 1 not in numbers)
    lasts = sorted(number for number in numbers if number + 1 not in numbers)
    runs = [f"partition >= {a} and partition <= {b}" for a, b in zip(firsts, lasts, strict=True)]
    return f"({' or '.join(runs) or 'partition = -2'})"
