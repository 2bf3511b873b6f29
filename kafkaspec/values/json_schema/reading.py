"""Decode JSON texts to a column: many at once, and one by one where that is not sure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from kafkaspec.values.decoded import Code, Decoded, Failure
from kafkaspec.values.json_schema.shapes import RefusedError, Shape
from kafkaspec.values.json_schema.text import ParseError, parse
from kafkaspec.values.options import Bounds

_COLUMN: Final = "v"
_OPEN: Final = f'{{"{_COLUMN}":'.encode()
_CLOSE: Final = b"}\n"
_TABLE: Final = bytes.maketrans(b"\n\r", b"\t\t")
"""Ends of lines are blanks between tokens, and a tab within a string is an error as they are."""
_MOST_BYTES: Final = 64 << 20
"""Bytes that are parsed at once."""
_PARTS: Final = 16
_FEWEST: Final = 64
"""Rows that are read one by one where they cannot be read at once."""


class _UnsureError(Exception):
    """Rows may not be what pyarrow reads."""


@dataclass(frozen=True, slots=True)
class JsonDecoder:
    """Decodes JSON texts of one type.

    Attributes:
        shape: the type of the values.
        bounds: limits.
    """

    shape: Shape
    bounds: Bounds

    @property
    def type(self) -> pa.DataType:
        """The type of the column."""
        return self.shape.type

    def decode(self, payloads: pa.Array) -> Decoded:
        """Decode payloads: at once where the type allows it, else one by one."""
        return self._read(payloads, self.at_once if self.shape.is_bulk else None)

    def decode_by_row(self, payloads: pa.Array) -> Decoded:
        """Decode payloads one by one."""
        return self._read(payloads, None)

    def at_once(self, rows: pa.Array) -> pa.Array:
        """Return the values of rows without nulls.

        Raises:
            Exception: a row cannot be read so; which one is not known.
        """
        if not len(rows):
            return pa.array([], self.type)
        if pc.max(pc.binary_length(rows)).as_py() > self.bounds.items:
            raise _UnsureError
        rows.cast(pa.string())  # checks that it is UTF-8
        lines = pc.binary_join_element_wise(_OPEN, rows, _CLOSE, b"")
        data = _data_of(lines)
        octets = data.to_pybytes()
        if octets.count(b"\n") > len(rows) or b"\r" in octets:
            data = pa.py_buffer(
                b"".join(line[:-1].translate(_TABLE) + b"\n" for line in lines.to_pylist())
            )
        table = pj.read_json(
            pa.BufferReader(data),
            read_options=pj.ReadOptions(use_threads=False, block_size=data.size + 1),
            parse_options=pj.ParseOptions(
                explicit_schema=pa.schema([(_COLUMN, self._known)]),
                newlines_in_values=False,
                unexpected_field_behavior="error",
            ),
        )
        values = table.column(_COLUMN).combine_chunks()
        if isinstance(values, pa.ChunkedArray):
            values = pa.concat_arrays(values.chunks)
        if len(values) != len(rows) or not _is_finite(values):
            raise _UnsureError
        return values.cast(self.type)

    @property
    def _known(self) -> pa.DataType:
        """The type that is read."""
        return self.shape.known

    def _read(self, payloads: pa.Array, at_once: Callable[[pa.Array], pa.Array] | None) -> Decoded:
        """Decode payloads, with a way to read many at once."""
        return decode_rows(payloads, self.type, self.by_row, at_once, self.bounds)

    def by_row(self, data: bytes) -> Any:
        """Return what Arrow takes for one payload.

        Raises:
            ParseError, RefusedError: it has no value.
        """
        return self.shape.of(parse(data, self.bounds))


def decode_rows(
    payloads: pa.Array,
    type_: pa.DataType,
    by_row: Callable[[bytes], Any],
    at_once: Callable[[pa.Array], pa.Array] | None,
    bounds: Bounds,
) -> Decoded:
    """Decode payloads.

    Args:
        payloads: ``binary``.
        type_: type of the column.
        by_row: returns what Arrow takes for one payload, or raises ``ParseError`` or
            ``RefusedError``.
        at_once: returns the values of rows without nulls, or raises any error. Rows for which it
            does are divided, until few are left to be read one by one.
        bounds: limits.
    """
    failures: dict[int, Failure] = {}
    budget = _Budget(bounds.output_bytes)
    rows = payloads if not payloads.null_count else payloads.drop_null()
    numbers = None if rows is payloads else _numbers_of(payloads)
    pieces = list(_pieces(rows, 0, type_, by_row, at_once, failures, budget))
    values = pa.concat_arrays(pieces) if pieces else pa.array([], type_)
    if numbers is None:
        return Decoded(values, failures)
    places = pa.nulls(len(payloads), pa.int64())
    mask = payloads.is_valid()
    places = pc.replace_with_mask(places, mask, pa.array(range(len(rows)), pa.int64()))
    return Decoded(
        values.take(places), {numbers[row]: failure for row, failure in failures.items()}
    )


@dataclass(slots=True)
class _Budget:
    """Bytes of columns that may still be made."""

    left: int


def _pieces(
    rows: pa.Array,
    first: int,
    type_: pa.DataType,
    by_row: Callable[[bytes], Any],
    at_once: Callable[[pa.Array], pa.Array] | None,
    failures: dict[int, Failure],
    budget: _Budget,
) -> Iterator[pa.Array]:
    """Yield the values of rows in order, the first of which has that number."""
    if not len(rows):
        return
    if budget.left < width_of(type_) * len(rows):
        failure = Failure(Code.BOUND, "the columns of the batch take more bytes than allowed")
        failures.update((first + row, failure) for row in range(len(rows)))
        yield pa.nulls(len(rows), type_)
        return
    if at_once is not None and rows.nbytes <= _MOST_BYTES:
        try:
            values = at_once(rows)
            budget.left -= values.nbytes
            yield values
            return
        except Exception:  # any: the rows are read otherwise
            pass
    if len(rows) <= _FEWEST or (at_once is None and rows.nbytes <= _MOST_BYTES):
        values = _one_by_one(rows, first, type_, by_row, failures)
        budget.left -= values.nbytes
        yield values
        return
    step = -(-len(rows) // _PARTS)
    for start in range(0, len(rows), step):
        part = rows.slice(start, step)
        yield from _pieces(part, first + start, type_, by_row, at_once, failures, budget)


def _one_by_one(
    rows: pa.Array,
    first: int,
    type_: pa.DataType,
    by_row: Callable[[bytes], Any],
    failures: dict[int, Failure],
) -> pa.Array:
    values = []
    for row, data in enumerate(rows.to_pylist(), first):
        value = None
        try:
            value = by_row(data)
        except ParseError as error:
            failures[row] = error.failure
        except RefusedError as refused:
            failures[row] = failure_of(refused)
        values.append(value)
    return pa.array(values, type_)


def failure_of(refused: RefusedError) -> Failure:
    """Return why a row has no value."""
    path = ".".join(reversed(refused.path)).replace(".[", "[")
    return Failure(refused.code, refused.reason, None, path)


def width_of(type_: pa.DataType) -> int:
    """Return bytes that a row takes at least in columns of a type."""
    if pa.types.is_struct(type_):
        return 1 + sum(width_of(type_.field(place).type) for place in range(type_.num_fields))
    try:
        width: int = type_.bit_width
    except ValueError:
        return 4
    return max(1, width // 8)


def _numbers_of(payloads: pa.Array) -> list[int]:
    numbers: list[int] = pc.indices_nonzero(payloads.is_valid()).to_pylist()
    return numbers


def _data_of(lines: pa.Array) -> pa.Buffer:
    """Return the bytes of an array of bytes, one after the other."""
    _, offsets, data = lines.buffers()
    ends = memoryview(offsets).cast("i")
    start, end = ends[lines.offset], ends[lines.offset + len(lines)]
    return data.slice(start, end - start)


def _is_finite(values: pa.Array) -> bool:
    """Return whether no number is infinite or none, which pyarrow reads and JSON does not have."""
    kind = values.type
    if pa.types.is_floating(kind):
        return pc.all(pc.is_finite(values)).as_py() is not False
    if pa.types.is_struct(kind):
        return all(_is_finite(values.field(place)) for place in range(kind.num_fields))
    if pa.types.is_list(kind):
        return _is_finite(values.values)
    return True
