"""Record batches with typed keys and values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property, partial
from inspect import signature
from typing import Any, Final, Unpack

import numpy as np
import pyarrow as pa

from kafkaspec.arrow.arrays import choose
from kafkaspec.arrow.record_batches import AnyLog, default_columns, record_batches
from kafkaspec.arrow.schema import COLUMNS, RequestOptions, request_of
from kafkaspec.arrow.where.condition import Where
from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.options import TypedOptions
from kafkaspec.log.segment import Segment
from kafkaspec.values.decoded import Code, Failure
from kafkaspec.values.decoding.column import ColumnParts, ValueColumn
from kafkaspec.values.framing.frames import Side
from kafkaspec.values.options import BYTES, DECODE
from kafkaspec.values.plan import Plan
from kafkaspec.values.reading.request import (
    ERROR,
    MESSAGE,
    RAW,
    SCHEMA_ID,
    Planned,
    ValueReport,
    needed_columns,
    planned,
)


class SideReader:
    """Makes typed record batches of a log, for which it is decided how keys and values are read.

    Attributes:
        also: columns that are there although they were not asked for.
        request: the columns and rows to read.
    """

    def __init__(
        self,
        decided: Planned,
        *,
        columns: Sequence[str] | None = None,
        report: ValueReport | None = None,
        also: Sequence[str] = (),
        where: str | Where | None = None,
        given: pa.Schema | None = None,
        **options: Unpack[RequestOptions],
    ) -> None:
        """Ask for columns and rows.

        Args:
            decided: how keys and values are read.
            columns: names of columns, as ``Columnar.to_typed`` takes them.
            report: is filled.
            also: columns that come after the others, unless they are among them.
            where: a condition on the typed columns.
            given: columns of the record batches that ``decoded`` gets, if they are not the log's.
            options: of ``Columnar.to_batches``.

        Raises:
            ValueError: a column or an option is unknown.
        """
        self._log, plans, self._errors = decided.log, decided.plans, decided.on_value_error
        self._report = report = ValueReport() if report is None else report
        report.notes += decided.notes
        report.problems |= dict.fromkeys(decided.problems)
        report.undecoded |= dict.fromkeys(decided.undecoded)
        self._given = given
        known = default_columns(self._log) if given is None else tuple(given.names)
        names = _columns(known, columns, plans)
        self.also = _columns(known, [name for name in also if name not in names], plans)
        self._shown = (*names, *self.also)
        self._where = where = Where(where) if isinstance(where, str) else where
        hidden = (
            () if where is None else (name for name in where.columns if name not in self._shown)
        )
        self._made = (*self._shown, *_columns(known, list(hidden), plans))
        if options.setdefault("layout", "binary") != "binary":
            raise ValueError("decoded keys and values are copied: the layout is binary")
        self.request = request_of((), needed_columns(self._made, plans, self._errors), **options)
        if where is not None:
            self.request = where.narrowed(self.request)
        self._columns = {
            side: ValueColumn(plan) for side, plan in plans.items() if plan.format != BYTES
        }
        self._each = any(not plan.targets and plan.format == DECODE for plan in plans.values())

    def check(self) -> None:
        """Compile what the columns need; a ValueError says what cannot become a column."""
        if not self._each:
            _ = self._whole

    @property
    def differs(self) -> bool:
        """Whether record batches have several schemas."""
        return self._each

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([self._field(name) for name in self._shown])

    @cached_property
    def _whole(self) -> pa.Schema:
        """The schema with the columns that a condition alone needs."""
        whole = pa.schema([self._field(name) for name in self._made])
        if self._where is not None:
            self._where.check(whole)
        return whole

    def _field(self, name: str) -> pa.Field:
        for side, column in self._columns.items():
            if name == side:
                return pa.field(name, column.type)
            if name in beside(side):
                return pa.field(name, beside(side)[name])
        return self.request.field(name) if self._given is None else self._given.field(name)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in record_batches(self._log, self.request):
            yield from self.decoded(batch, partial(segment_file, self._log))

    def decoded(
        self, batch: pa.RecordBatch, file_of: Callable[[int], str | None]
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a record batch with typed columns, if there are any.

        Args:
            batch: rows as they are read.
            file_of: returns the path of the segment with an offset.

        Raises:
            KafkaSpecError: a row has no value, and that is to be raised.
        """
        headers = headers_of(batch)
        found = {
            side: column.parts(batch.column(side), headers)
            for side, column in self._columns.items()
        }
        self._count(batch, found, file_of)
        if self._each:
            yield from self._by_schema(batch, found)
        else:
            arrays = {side: self._columns[side].array(parts) for side, parts in found.items()}
            yield from self._chosen(self._batch(batch, found, arrays, self._whole), found)

    def _count(
        self,
        batch: pa.RecordBatch,
        found: Mapping[Side, ColumnParts],
        file_of: Callable[[int], str | None],
    ) -> None:
        report = self._report
        report.rows += batch.num_rows
        for side, parts in found.items():
            if not parts.failures:
                continue
            if self._errors == "raise":
                raise first_error(batch, side, parts, file_of)
            report.failures.update((side, failure.code) for failure in parts.failures.values())
            for row in sorted(parts.failures):
                failure = parts.failures[row]
                if (side, failure.code) not in report.first:
                    report.first[side, failure.code] = _text(batch, row, side, failure)

    def _batch(
        self,
        batch: pa.RecordBatch,
        found: Mapping[Side, ColumnParts],
        arrays: Mapping[Side, pa.Array],
        schema: pa.Schema,
    ) -> pa.RecordBatch:
        made: dict[str, pa.Array] = dict(zip(batch.schema.names, batch.columns, strict=True))
        for side, parts in found.items():
            raw = made[side]
            if self._columns[side].hides:
                raw = pa.nulls(len(raw), raw.type)
            made[RAW.format(side)] = raw
            made |= {side: arrays[side], **columns_beside(side, parts)}
        return pa.RecordBatch.from_arrays([made[name] for name in schema.names], schema=schema)

    def _chosen(
        self, batch: pa.RecordBatch, found: Mapping[Side, ColumnParts]
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows and columns that are to be shown, if there are rows."""
        rows = {row for parts in found.values() for row in parts.failures}
        if self._errors == "skip" and rows:
            batch = without_rows(batch, rows)
        if self._where is not None:
            batch = batch.filter(self._where.mask(batch))
            batch = batch.select(self._shown)
        if batch.num_rows:
            yield batch

    def _by_schema(
        self, batch: pa.RecordBatch, found: Mapping[Side, ColumnParts]
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
                    for name in self._made
                ]
            )
            yield from self._chosen(self._batch(batch.take(chosen), own, arrays, schema), own)


def beside(side: Side) -> dict[str, pa.DataType]:
    """Return the types of the columns that may stand beside a decoded one, by name."""
    forms = {SCHEMA_ID: pa.int32(), MESSAGE: pa.string(), ERROR: pa.string(), RAW: pa.binary()}
    return {form.format(side): kind for form, kind in forms.items()}


def columns_beside(side: Side, parts: ColumnParts) -> dict[str, pa.Array]:
    """Return the columns beside a decoded one, but for its bytes."""
    ids, messages = parts.schema_ids, parts.messages
    names = pa.array(parts.names, pa.string())
    return {
        SCHEMA_ID.format(side): pa.array(ids, pa.int32(), mask=ids < 0),
        MESSAGE.format(side): names.take(pa.array(messages, mask=messages < 0)),
        ERROR.format(side): _error_codes(parts),
    }


def first_error(
    batch: pa.RecordBatch, side: Side, parts: ColumnParts, file_of: Callable[[int], str | None]
) -> KafkaSpecError:
    """Return the error of the first row without a value.

    Args:
        batch: has the columns that ``needed_columns`` names.
        side: that was decoded.
        parts: what it gave.
        file_of: returns the path of the segment with an offset.
    """
    row = min(parts.failures)
    failure = parts.failures[row]
    return make_error(
        Reason.INVALID_VALUE,
        _text(batch, row, side, failure),
        file=file_of(batch.column("offset")[row].as_py()),
        offset=batch.column("batch_position")[row].as_py() if _has_position(batch) else None,
        path="/".join(["", side, *filter(None, failure.path.split("."))]),
    )


def _has_position(batch: pa.RecordBatch) -> bool:
    return "batch_position" in batch.schema.names


def without_rows(batch: pa.RecordBatch, rows: Collection[int]) -> pa.RecordBatch:
    """Return a record batch without some rows."""
    mask = np.ones(batch.num_rows, np.bool_)
    mask[list(rows)] = False
    return choose(batch, pa.array(mask))


def headers_of(batch: pa.RecordBatch) -> pa.Array | None:
    """Return the column of headers, if there is one."""
    return batch.column("headers") if "headers" in batch.schema.names else None


def _text(batch: pa.RecordBatch, row: int, side: Side, failure: Failure) -> str:
    """Return what is wrong with a row, for people."""
    where = f"the {side}"
    if "offset" in batch.schema.names:
        where += f" of offset {batch.column('offset')[row].as_py()}"
    if failure.position is not None:
        where += f", at its byte {failure.position}"
    return f"{where}: {failure.reason} [{failure.code}]"


def segment_file(log: AnyLog, offset: int) -> str | None:
    """Return the path of the segment with an offset."""
    if isinstance(log, Segment):
        return log.name
    partitions = log.current if isinstance(log, LogDirectory) else [log]
    if len(partitions) > 1:
        return None if log.path is None else str(log.path)
    return next((str(path) for path in partitions[0].paths_from(offset, offset + 1)), None)


def _error_codes(parts: ColumnParts) -> pa.Array:
    """Return why rows have failed, null for the others."""
    if not parts.failures:
        return pa.nulls(parts.count, pa.string())
    codes = list(Code)
    numbers = np.full(parts.count, -1, np.int64)
    for row, failure in parts.failures.items():
        numbers[row] = codes.index(failure.code)
    return pa.array(codes, pa.string()).take(pa.array(numbers, mask=numbers < 0))


def _codes_of_parts(parts: ColumnParts) -> Any:
    """Return for each row the number of its part, -1 for none."""
    numbers = np.full(parts.count, -1, np.int64)
    for number, part in enumerate(parts.parts):
        numbers[part.rows] = number
    return numbers


def _values(parts: ColumnParts, number: int, rows: Any) -> pa.Array:
    """Return the values of some rows of one part; nulls for -1."""
    if number < 0:
        return pa.nulls(len(rows))
    part = parts.parts[number]
    return part.values.take(pa.array(np.searchsorted(part.rows, rows)))


def _some(parts: ColumnParts, rows: Any) -> ColumnParts:
    """Return what is known of some rows."""
    numbers = {row: place for place, row in enumerate(rows.tolist())}
    failures = {numbers[row]: each for row, each in parts.failures.items() if row in numbers}
    ids, messages = parts.schema_ids[rows], parts.messages[rows]
    return ColumnParts(len(rows), [], failures, ids, messages, parts.names)


def _columns(
    default: Sequence[str], columns: Sequence[str] | None, plans: Mapping[Side, Plan]
) -> tuple[str, ...]:
    """Return the names of the columns: those asked for, or the default ones."""
    added: dict[str, tuple[str, ...]] = {
        side: tuple(added_columns(plan)) for side, plan in plans.items()
    }
    if columns is None:
        return tuple(name for column in default for name in (column, *added.get(column, ())))
    if isinstance(columns, str):
        raise ValueError("columns is a list of names")
    known = {*COLUMNS, *default, *(name for side in plans for name in beside(side))}
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


_DECIDED: Final = frozenset(signature(planned).parameters)


class ReadingOptions(RequestOptions, TypedOptions, total=False):
    """The options of ``planned`` and ``SideReader``."""

    columns: Sequence[str] | None
    also: Sequence[str]
    where: str | Where | None


def reader_of(log: AnyLog, **options: Unpack[ReadingOptions]) -> SideReader:
    """Return what makes typed record batches of a log; see ``planned`` and ``SideReader``."""
    own: Any = {name: value for name, value in options.items() if name in _DECIDED}
    others: Any = {name: value for name, value in options.items() if name not in _DECIDED}
    return SideReader(planned(log, **own), **others)


def read(
    log: AnyLog, **options: Unpack[ReadingOptions]
) -> pa.RecordBatchReader | Iterator[pa.RecordBatch]:
    """Return record batches with typed keys and values; see ``Columnar.to_batches``."""
    reader = reader_of(log, **options)
    reader.check()
    if reader.differs:
        return iter(reader)
    return pa.RecordBatchReader.from_batches(reader.schema, iter(reader))


def schema_of(log: AnyLog, **options: Unpack[ReadingOptions]) -> pa.Schema:
    """Return the schema of typed columns; see ``Columnar.value_schema``."""
    return reader_of(log, **options).schema
