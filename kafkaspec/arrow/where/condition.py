"""A condition on records: what it needs, what need not be read, and which rows it is true for.

As in SQL, a comparison with null is null, which a condition as a whole takes for false.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date, time
from decimal import Decimal
from functools import reduce
from itertools import product
from typing import Any, Final, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec.arrow.where import ranges, syntax
from kafkaspec.codecs import get_codec
from kafkaspec.columns.memory import Layout
from kafkaspec.columns.patterns import MOST_SOURCES, BytePattern
from kafkaspec.log.selection import W

_Values = Callable[[pa.RecordBatch], pa.Array]
"""Returns a column of a record batch, or what is made of some."""

_COMPARE: Final = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_DENSE: Final = {pa.binary_view(): pa.binary(), pa.string_view(): pa.string()}
_LAYOUTS: Final = {pa.binary_view(): Layout.VIEW, pa.binary(): Layout.BINARY}
_UNITS: Final = {"s": -3, "ms": 0, "us": 3, "ns": 6}
"""Powers of ten of milliseconds."""
_ARROW_ERRORS: Final = (pa.ArrowException, TypeError, ValueError, OverflowError)


class WhereProgram:
    """A condition for record batches of one schema.

    Args:
        node: the condition.
        schema: the schema.
        text: what the condition was parsed from, for messages.

    Raises:
        WhereError: it does not suit the schema.
    """

    def __init__(self, node: syntax.WhereNode, schema: pa.Schema, text: str) -> None:
        self._schema = schema
        self._text = text
        self._run = self._node(node)

    def __call__(self, batch: pa.RecordBatch) -> pa.Array:
        """Return true, false or null for each row."""
        return self._run(batch)

    def _fail(self, message: str, at: int) -> NoReturn:
        raise syntax.WhereError(message, self._text, at)

    # -- conditions ---------------------------------------------------------------------------

    def _node(self, node: syntax.WhereNode) -> _Values:
        if isinstance(node, syntax.All | syntax.Any):
            parts = [self._node(part) for part in node.parts]
            join = pc.and_kleene if isinstance(node, syntax.All) else pc.or_kleene
            return lambda batch: reduce(join, (part(batch) for part in parts))
        if isinstance(node, syntax.Not):
            part = self._node(node.part)
            return lambda batch: pc.invert(part(batch))
        if isinstance(node, syntax.WhereComparison):
            return self._compare(node)
        if isinstance(node, syntax.Among):
            parts = [
                self._compare(syntax.WhereComparison("=", node.operand, item, node.at))
                for item in node.items[: _FEW if self._is_plain(node) else None]
            ]
            if len(node.items) > len(parts):
                return self._among(node)
            return lambda batch: reduce(pc.or_kleene, (part(batch) for part in parts))
        if isinstance(node, syntax.IsNull):
            _, values = self._operand(node.operand, whole=True)
            return lambda batch: pc.is_null(values(batch))
        if isinstance(node, syntax.Fits):
            return self._fits(node)
        kind, values = self._operand(node.operand)
        if not pa.types.is_boolean(kind):
            self._fail(f"this is {kind}, and not true or false", node.operand.at)
        return values

    def _is_plain(self, node: syntax.Among) -> bool:
        """Return whether many items are looked up together: those of texts and bytes."""
        kind, _ = self._operand(node.operand)
        return len(node.items) > _FEW and (_is_bytes(kind) or pa.types.is_string(kind))

    def _among(self, node: syntax.Among) -> _Values:
        kind, values = self._operand(node.operand)
        items = [self._constant(item, kind) for item in node.items]
        known = pa.array([item.as_py() for item in items], kind)
        missing = pa.scalar(None, pa.bool_())

        def found(batch: pa.RecordBatch) -> pa.Array:
            given = values(batch)
            return pc.if_else(pc.is_valid(given), pc.is_in(given, known), missing)

        return found

    def _fits(self, node: syntax.Fits) -> _Values:
        kind, values = self._operand(node.operand)
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or _is_bytes(kind)):
            self._fail(f"patterns are for texts and bytes, and this is {kind}", node.at)
        match = pc.match_substring_regex if node.regex else pc.match_like
        try:
            match(pa.array([], kind), pattern=node.pattern)
            match(pa.array([""], pa.string()).cast(kind), pattern=node.pattern)
        except _ARROW_ERRORS as error:
            self._fail(f"this is not a pattern: {error}", node.at)
        if not _is_bytes(kind) or node.regex or not isinstance(node.operand, syntax.WhereColumn):
            return lambda batch: match(values(batch), pattern=node.pattern)
        _, stored = self._stored(node.operand)
        fitting = _fitting(node.pattern)

        def found(batch: pa.RecordBatch) -> pa.Array:
            mask = fitting(stored(batch))
            return match(values(batch), pattern=node.pattern) if mask is None else mask

        return found

    def _compare(self, node: syntax.WhereComparison) -> _Values:
        left, right, sign = node.left, node.right, node.operator
        if isinstance(left, syntax.Literal):
            left, right, sign = right, left, ranges.SWAPPED[sign]
        if isinstance(left, syntax.Literal):
            self._fail("this compares constants: one side has to be a column", node.at)
        kind, values = self._operand(left)
        if not isinstance(right, syntax.Literal):
            return self._compare_columns(sign, (kind, values), self._operand(right), node.at)
        if pa.types.is_null(kind):
            return lambda batch: pa.nulls(batch.num_rows, pa.bool_())
        exact = _whole(kind, right.value)
        if exact is not None:
            return _within(kind, values, ranges.values_of(sign, exact))
        constant, compare = self._constant(right, kind), _COMPARE[sign]
        try:
            compare(pa.array([], kind), constant)
        except _ARROW_ERRORS:
            self._fail(f"{kind} is not compared with this", right.at)
        return lambda batch: compare(values(batch), constant)

    def _compare_columns(
        self,
        sign: str,
        left: tuple[pa.DataType, _Values],
        right: tuple[pa.DataType, _Values],
        at: int,
    ) -> _Values:
        compare = _COMPARE[sign]
        (kind, first), (other, second) = left, right
        if _is_bytes(kind) != _is_bytes(other):  # a text as its bytes
            kind, first = _as_bytes(kind, first)
            other, second = _as_bytes(other, second)
        try:
            compare(pa.array([], kind), pa.array([], other))
        except _ARROW_ERRORS:
            self._fail(f"{kind} is not compared with {other}", at)
        return lambda batch: compare(first(batch), second(batch))

    def _constant(self, literal: syntax.Literal, kind: pa.DataType) -> pa.Scalar:
        value, types = literal.value, pa.types
        try:
            if _is_bytes(kind) and isinstance(value, str | bytes):
                data = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
                return pa.scalar(data, kind)
            if (types.is_string(kind) or types.is_large_string(kind)) and isinstance(value, str):
                return pa.scalar(value, kind)
            if types.is_boolean(kind) and isinstance(value, bool):
                return pa.scalar(value, kind)
            if isinstance(value, int | Decimal) and not isinstance(value, bool):
                if types.is_floating(kind):
                    return pa.scalar(float(value), pa.float64())
                if types.is_decimal(kind):
                    return pa.scalar(Decimal(value))
            if isinstance(value, str) and types.is_date(kind):
                return pa.scalar(date.fromisoformat(value), kind)
            if isinstance(value, str) and types.is_time(kind):
                return pa.scalar(time.fromisoformat(value), kind)
        except _ARROW_ERRORS as error:
            self._fail(f"this is no {kind}: {error}", literal.at)
        return self._fail(f"{kind} is not compared with {_named(value)}", literal.at)

    # -- operands -----------------------------------------------------------------------------

    def _operand(
        self, operand: syntax.Operand, *, whole: bool = False
    ) -> tuple[pa.DataType, _Values]:
        """Return type and values of a column or function; with ``whole`` also structs and lists."""
        if isinstance(operand, syntax.Literal):
            self._fail("a column is expected", operand.at)
        if isinstance(operand, syntax.Call):
            return self._call(operand)
        kind, values = self._column(operand)
        if pa.types.is_nested(kind) and not whole:
            self._fail(f"{'.'.join(operand.path)} has parts, and is compared as null or not only",
                       operand.at)  # fmt: skip
        return kind, values

    def _column(self, column: syntax.WhereColumn) -> tuple[pa.DataType, _Values]:
        kind, stored = self._stored(column)
        dense = _dense(kind)
        return dense, stored if dense == kind else lambda batch: stored(batch).cast(dense)

    def _stored(self, column: syntax.WhereColumn) -> tuple[pa.DataType, _Values]:
        """Return type and values of a column as they are in a record batch."""
        path = column.path
        names = self._schema.names
        count = next((n for n in range(len(path), 0, -1) if ".".join(path[:n]) in names), 0)
        name = ".".join(path[:count])
        if not count:
            self._fail(f"there is no column {path[0]}; there are {', '.join(names)}", column.at)
        if names.count(name) > 1:
            self._fail(f"there are several columns {name}", column.at)
        index = names.index(name)
        kind, indices = self._schema.field(index).type, list[int]()
        for number, part in enumerate(path[count:], count):
            if not pa.types.is_struct(kind):
                shown = ".".join(path[:number])
                self._fail(f"{shown} is {kind}, which has no field {part}", column.at)
            fields = [field.name for field in kind]
            if fields.count(part) != 1:
                self._fail(f"there is no field {part}; there are {', '.join(fields)}", column.at)
            indices.append(fields.index(part))
            kind = kind.field(indices[-1]).type
        if isinstance(kind, pa.ExtensionType):
            self._fail(f"{'.'.join(path)} is {kind}, which is not compared", column.at)

        def values(batch: pa.RecordBatch) -> pa.Array:
            found = batch.column(index)
            return pc.struct_field(found, indices) if indices else found

        return kind, values

    def _call(self, call: syntax.Call) -> tuple[pa.DataType, _Values]:
        if isinstance(call.argument, syntax.Literal):
            return self._header(call, str(call.argument.value))
        kind, values = self._operand(call.argument)
        if call.function == "length":
            if not (_is_bytes(kind) or pa.types.is_string(kind)):
                self._fail(f"{kind} has no length", call.at)
            return pa.int32(), lambda batch: pc.binary_length(values(batch))
        if not _is_bytes(kind):
            self._fail(f"text is made of bytes, and this is {kind}", call.at)
        return pa.string(), lambda batch: _texts(values(batch))

    def _header(self, call: syntax.Call, name: str) -> tuple[pa.DataType, _Values]:
        kind, values = self._column(syntax.WhereColumn(("headers",), call.at))
        if not pa.types.is_list(kind) or not pa.types.is_struct(kind.value_type):
            self._fail(f"headers are {kind}", call.at)
        key = name.encode("utf-8", "surrogateescape")
        if call.function == "header":
            return pa.binary(), lambda batch: _last(values(batch), key)[0]
        return pa.bool_(), lambda batch: _last(values(batch), key)[1]


_FEW: Final = 8
"""Items of a list up to which each is compared by itself."""


def _named(value: object) -> str:
    if isinstance(value, bool):
        return "true or false"
    kinds = {str: "a text", bytes: "bytes", int: "a number", Decimal: "a number"}
    return kinds.get(type(value), "this")


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _dense(kind: pa.DataType) -> pa.DataType:
    """Return the type that values are compared in: without dictionaries and views."""
    if pa.types.is_dictionary(kind):
        return _dense(kind.value_type)
    if pa.types.is_fixed_size_binary(kind):
        return pa.binary()
    return _DENSE.get(kind, kind)


def _fitting(text: str) -> Callable[[pa.Array], pa.Array | None]:
    """Return what says which bytes fit a pattern of LIKE, None where Arrow has to."""
    core = get_codec().core
    pattern = BytePattern.like(text.encode("utf-8", "surrogateescape"))

    def found(array: pa.Array) -> pa.Array | None:
        layout = _LAYOUTS.get(array.type)
        if core is None or pattern is None or not pattern.is_for(core) or layout is None:
            return None
        present, main, *sources = array.buffers()
        if array.offset or len(sources) > MOST_SOURCES or main is None:
            return None
        present = present if array.null_count else None
        there = [source for source in sources if source is not None]
        bits = pattern.rows_of(core, layout, len(array), present, main, there)
        return pa.Array.from_buffers(pa.bool_(), len(array), [present, pa.py_buffer(bits)])

    return found


def _as_bytes(kind: pa.DataType, values: _Values) -> tuple[pa.DataType, _Values]:
    if not pa.types.is_string(kind):
        return kind, values
    return pa.binary(), lambda batch: values(batch).cast(pa.binary())


def _whole(kind: pa.DataType, value: object) -> Decimal | None:
    """Return what a column that is made of integers is compared with; None for another one."""
    if isinstance(value, bool):
        return None
    if pa.types.is_integer(kind):
        return Decimal(value) if isinstance(value, int | Decimal) else None
    if pa.types.is_timestamp(kind):
        exact = ranges.milliseconds(value)
        return None if exact is None else ranges.scaled(exact, _UNITS[kind.unit])
    return None


def _within(kind: pa.DataType, values: _Values, wanted: tuple[ranges.ValueRange, bool]) -> _Values:
    """Return what says whether integers are in a range, or with a false flag outside it."""
    span, inside = wanted
    stored = pa.int64() if pa.types.is_timestamp(kind) else kind
    signed = pa.types.is_signed_integer(stored)
    lowest = -(1 << stored.bit_width - 1) if signed else 0
    highest = (1 << stored.bit_width - signed) - 1
    low = lowest if span.low is None else span.low
    last = highest if span.high is None else span.high - 1
    none = low > last or low > highest or last < lowest
    bounds = (
        None if low <= lowest else pa.scalar(min(low, highest), stored),
        None if last >= highest else pa.scalar(max(last, lowest), stored),
    )

    def found(batch: pa.RecordBatch) -> pa.Array:
        given = values(batch)
        given = given if given.type == stored else given.view(stored)
        first, final = bounds
        if none or (first is None and final is None):
            answer = none is not inside
            return pc.if_else(pc.is_valid(given), answer, pa.scalar(None, pa.bool_()))
        if first is None:
            made = pc.less_equal(given, final)
        else:
            made = pc.greater_equal(given, first)
            made = made if final is None else pc.and_(made, pc.less_equal(given, final))
        return made if inside else pc.invert(made)

    return found


def _texts(data: pa.Array) -> pa.Array:
    """Return bytes as text, null where they are not UTF-8."""
    try:
        return data.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([_text(each) for each in data.to_pylist()], pa.string())


def _text(data: bytes | None) -> str | None:
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError:
        return None


def _last(headers: pa.Array, name: bytes) -> tuple[pa.Array, pa.Array]:
    """Return the value of the last header of a name in each row, null for none, and whether there
    is one."""
    rows = len(headers)
    pairs = headers.flatten()
    keys = pairs.field(0)
    keys = keys if keys.type == pa.binary() else keys.cast(_dense(keys.type)).cast(pa.binary())
    items = pc.indices_nonzero(pc.equal(keys, pa.scalar(name, pa.binary()))).to_numpy()
    parents = pc.list_parent_indices(headers).to_numpy()[items]
    last = np.ones(len(items), np.bool_)
    last[:-1] = parents[1:] != parents[:-1]
    places = np.zeros(rows, np.int64)
    there = np.zeros(rows, np.bool_)
    places[parents[last]] = items[last]
    there[parents[last]] = True
    values = pairs.field(1)
    values = values if values.type == pa.binary() else values.cast(pa.binary())
    return values.take(pa.array(places, mask=~there)), pa.array(there)


Truth = bool | None
_ALL: Final = frozenset((True, False, None))
_PLACE: Final = pa.schema([("topic", pa.string()), ("partition", pa.int32())])


class Where:
    """A condition on records.

    Args:
        text: the condition; see ``kafkaspec.arrow.where.syntax``.

    Raises:
        WhereError: it is none.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._node = syntax.parse(text)
        self.ranges = ranges.ranges_of(self._node)
        """Ranges that hold all records for which it is true."""
        self._programs: dict[pa.Schema, WhereProgram] = {}
        found = (syntax.column_of(each) for each in syntax.operands(self._node))
        self.columns = tuple(dict.fromkeys(each.path[0] for each in found if each is not None))
        """The columns that it is about."""

    def __repr__(self) -> str:
        return f"Where({self.text!r})"

    def check(self, schema: pa.Schema) -> None:
        """Raise a ``WhereError`` if it does not suit columns of a schema."""
        if schema not in self._programs:
            self._programs[schema] = WhereProgram(self._node, schema, self.text)

    def mask(self, batch: pa.RecordBatch) -> pa.Array:
        """Return whether it is true, for each row of a record batch with its columns."""
        self.check(batch.schema)
        found = self._programs[batch.schema](batch)
        return found.fill_null(False) if found.null_count else found

    def narrowed(self, wanted: W) -> W:
        """Return a selection, or a request, with no more offsets and timestamps than needed."""
        bounds: dict[str, Any] = {}
        for what, found in (("offset", self.ranges.offset), ("timestamp", self.ranges.timestamp)):
            start, end = f"start_{what}", f"end_{what}"
            both = found & ranges.ValueRange(getattr(wanted, start), getattr(wanted, end))
            bounds |= {start: both.low, end: both.high}
        return replace(wanted, **bounds)

    def may_be_in(self, topic: str | None, partition: int | None) -> bool:
        """Return whether it can be true for a record of a partition."""
        place = pa.RecordBatch.from_arrays(
            [pa.array([topic], pa.string()), pa.array([partition], pa.int32())], schema=_PLACE
        )
        return not self.ranges.is_empty and True in self._outcomes(self._node, place)

    def _outcomes(self, node: syntax.WhereNode, place: pa.RecordBatch) -> frozenset[Truth]:
        """Return what a part of it can be for records of a partition."""
        if isinstance(node, syntax.Not):
            return frozenset(
                None if each is None else not each for each in self._outcomes(node.part, place)
            )
        if isinstance(node, syntax.All | syntax.Any):
            stops = isinstance(node, syntax.Any)
            found = frozenset[Truth]([not stops])
            for part in node.parts:
                others = self._outcomes(part, place)
                found = frozenset(
                    stops if stops in pair else None if None in pair else not stops
                    for pair in product(found, others)
                )
            return found
        columns = [syntax.column_of(each) for each in syntax.operands(node)]
        if not all(each is None or each.path in (("topic",), ("partition",)) for each in columns):
            return _ALL
        return frozenset(WhereProgram(node, place.schema, self.text)(place).to_pylist())
