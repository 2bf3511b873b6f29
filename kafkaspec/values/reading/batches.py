"""Record batches with typed keys and values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cached_property, partial
from typing import Any, Unpack

import numpy as np
import pyarrow as pa

from kafkaspec.arrow.arrays import choose
from kafkaspec.arrow.reading import AnyLog, record_batches
from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.segment import Segment
from kafkaspec.policy import ErrorPolicy
from kafkaspec.values.decoded import Code, Failure
from kafkaspec.values.decoding.column import Column, Parts
from kafkaspec.values.framing.frames import Side
from kafkaspec.values.options import BYTES, DECODE
from kafkaspec.values.reading.request import (
    ERROR,
    MESSAGE,
    RAW,
    SCHEMA_ID,
    ReadingOptions,
    Typed,
    typed,
)


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
        self._errors: ErrorPolicy = next(
            (plan.wanted.on_value_error for plan in wanted.plans.values()), "column"
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
            if name in beside(side):
                return pa.field(name, beside(side)[name])
        return self._wanted.request.field(name)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in record_batches(self._wanted.log, self._wanted.request):
            headers = headers_of(batch)
            found = {
                side: column.parts(batch.column(side), headers)
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
                raise first_error(batch, side, parts, partial(_file_of, self._wanted.log))
            report.failures.update((side, failure.code) for failure in parts.failures.values())
            for row in sorted(parts.failures):
                failure = parts.failures[row]
                if (side, failure.code) not in report.first:
                    report.first[side, failure.code] = _text(batch, row, side, failure)

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
            made |= {side: arrays[side], **columns_beside(side, parts)}
        return pa.RecordBatch.from_arrays([made[name] for name in schema.names], schema=schema)

    def _chosen(
        self, batch: pa.RecordBatch, found: Mapping[Side, Parts]
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows and columns that are to be shown, if there are rows."""
        rows = {row for parts in found.values() for row in parts.failures}
        if self._errors == "skip" and rows:
            batch = without_rows(batch, rows)
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


def beside(side: Side) -> dict[str, pa.DataType]:
    """Return the types of the columns that may stand beside a decoded one, by name."""
    forms = {SCHEMA_ID: pa.int32(), MESSAGE: pa.string(), ERROR: pa.string(), RAW: pa.binary()}
    return {form.format(side): kind for form, kind in forms.items()}


def columns_beside(side: Side, parts: Parts) -> dict[str, pa.Array]:
    """Return the columns beside a decoded one, but for its bytes."""
    ids, messages = parts.schema_ids, parts.messages
    names = pa.array(parts.names, pa.string())
    return {
        SCHEMA_ID.format(side): pa.array(ids, pa.int32(), mask=ids < 0),
        MESSAGE.format(side): names.take(pa.array(messages, mask=messages < 0)),
        ERROR.format(side): _error_codes(parts),
    }


def first_error(
    batch: pa.RecordBatch, side: Side, parts: Parts, file_of: Callable[[int], str | None]
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
        offset=batch.column("batch_position")[row].as_py(),
        path="/".join(["", side, *filter(None, failure.path.split("."))]),
    )


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


def _file_of(log: AnyLog, offset: int) -> str | None:
    """Return the path of the segment with an offset."""
    if isinstance(log, Segment):
        return log.name
    partitions = log.current if isinstance(log, LogDirectory) else [log]
    if len(partitions) > 1:
        return None if log.path is None else str(log.path)
    return next((str(path) for path in partitions[0].paths_from(offset, offset + 1)), None)


def _error_codes(parts: Parts) -> pa.Array:
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


def read(
    log: AnyLog, **options: Unpack[ReadingOptions]
) -> pa.RecordBatchReader | Iterator[pa.RecordBatch]:
    """Return record batches with typed keys and values; see ``Columnar.to_batches``."""
    reader = Reader(typed(log, **options))
    reader.check()
    if reader.differs:
        return iter(reader)
    return pa.RecordBatchReader.from_batches(reader.schema, iter(reader))


def schema_of(log: AnyLog, **options: Unpack[ReadingOptions]) -> pa.Schema:
    """Return the schema of typed columns; see ``Columnar.value_schema``."""
    return Reader(typed(log, **options)).schema
