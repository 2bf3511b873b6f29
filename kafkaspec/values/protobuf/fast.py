"""The fast way: all rows at once by ``ptars``, whose columns become those of the plan."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from google.protobuf.message import DecodeError

from kafkaspec.values.decoded import PayloadError
from kafkaspec.values.protobuf.arrays import cases, enumeration, microseconds, record
from kafkaspec.values.protobuf.json_texts import JsonTexts
from kafkaspec.values.protobuf.plan import (
    Enumeration,
    Field,
    Json,
    Mask,
    Message,
    Node,
    Record,
    Scalar,
    Shape,
    Time,
    Wrapper,
)
from kafkaspec.values.protobuf.schema import member, message_class
from kafkaspec.values.protobuf.shadow import SlowError, handler

_PANIC = "PanicException"
"""The name of what Rust raises for its own faults; it is not an ``Exception``."""


class Fast:
    """Decodes messages of one type, all at once."""

    def __init__(self, root: Message, texts: JsonTexts) -> None:
        self._handler: Any = handler(root)
        assert isinstance(root, Record)
        self._root = root
        self._texts = texts

    def decode(self, payloads: pa.Array, nulls: Any) -> tuple[pa.Array, Any]:
        """Return values, and an array of NumPy, true for rows that have to go the exact way.

        ``payloads`` are checked messages; ``nulls`` is true for rows that are null in any case.
        """
        try:
            batch = self._handler.array_to_record_batch(payloads)
        except BaseException as error:
            if not isinstance(error, Exception) and type(error).__name__ != _PANIC:
                raise
            raise SlowError(str(error)) from error
        if batch.num_rows != len(payloads):
            raise SlowError("rows are missing")
        found = dict(zip(batch.schema.names, batch.columns, strict=True))
        columns = _Columns(len(payloads), self._texts)
        try:
            parts = columns.record(self._root, found, None, None)
        except pa.ArrowException as error:
            raise SlowError(str(error)) from error
        return record(self._root.type, parts, nulls, len(payloads)), columns.doubtful


class _Columns:
    """Columns of the plan from those of ``ptars``.

    Each column comes with the number of the row of each of its values, None if those are the same,
    and with the values that count, None for all: below a null there is no value.
    """

    def __init__(self, rows: int, texts: JsonTexts) -> None:
        self.doubtful = np.zeros(rows, np.bool_)
        self._rows = rows
        self._texts = texts

    def doubt(self, wrong: Any, rows: Any, there: Any) -> None:
        """Mark rows that the exact way has to read."""
        if there is not None:
            wrong = wrong & there
        if wrong.any():
            self.doubtful[np.flatnonzero(wrong) if rows is None else rows[wrong]] = True

    def record(self, node: Record, found: dict[str, pa.Array], rows: Any, there: Any) -> Any:
        """Return the columns of a message."""
        columns = [self.field(one, found[member(one.number)], rows, there) for one in node.fields]
        fields = {one.number: one for one in node.fields}
        for _, _, names in node.oneofs:
            numbers: Any = 0
            many: Any = 0
            for number in names:
                present = self.present(fields[number], found[member(number)])
                numbers = np.where(present, number, numbers)
                many = many + present.astype(np.int8)
            self.doubt(many > 1, rows, there)
            if node.cases:
                columns.append(cases(names, numbers))
        return columns

    def present(self, field: Field, found: pa.Array) -> Any:
        """Return where a field with a presence is there."""
        return _sizes(found) > 0 if isinstance(field.node, Json) else _valid(found)

    def field(self, field: Field, found: pa.Array, rows: Any, there: Any) -> pa.Array:
        """Return the column of a field."""
        if field.shape is Shape.MAP:
            return self.maps(field, found, rows)
        if field.shape is Shape.LIST:
            return self.lists(field.column.type, field.node, found, rows)
        if field.required:
            self.doubt(~self.present(field, found), rows, there)
        if field.default and found.null_count:
            found = found.fill_null(pa.scalar(field.descriptor.default_value, found.type))
        if isinstance(field.node, Json):
            return self.merged(field.node, found, rows)
        return self.nodes(field.node, found, rows, there)

    def nodes(self, node: Node, found: pa.Array, rows: Any, there: Any) -> pa.Array:
        """Return the column of values."""
        own = _valid(found) if found.null_count else None
        mask = None if own is None else ~own
        if own is not None:
            there = own if there is None else own & there
        match node:
            case Scalar():
                return found
            case Enumeration():
                numbers = np.frombuffer(found.buffers()[1], np.int32)[: len(found)]
                if mask is not None:
                    numbers = np.where(mask, 0, numbers)
                if node.closed:
                    known = np.fromiter(node.names, np.int32, len(node.names))
                    self.doubt(~np.isin(numbers, known), rows, there)
                return enumeration(node, numbers, mask)
            case Record():
                columns = self.record(node, _members(found), rows, there)
                return record(node.type, columns, mask, len(found))
            case Wrapper():
                return _null_where(found, found.field(0))
            case Mask():
                paths = found.field(0)
                nulls = None if mask is None else pa.array(mask)
                return pa.ListArray.from_arrays(
                    paths.offsets, paths.values, type=node.type, mask=nulls
                )
            case Time():
                seconds, nanos = found.field(0).to_numpy(), found.field(1).to_numpy()
                values, bad = microseconds(node.unit, seconds, nanos.astype(np.int64))
                self.doubt(bad, rows, there)
                return pa.array(values, pa.int64(), mask=mask).view(node.type)
            case Json():
                return self.texts(node, found.to_pylist(), rows)
        raise AssertionError(node)

    def merged(self, node: Json, found: pa.Array, rows: Any) -> pa.Array:
        """Return texts of messages that may be there several times, which makes one of them."""
        sizes = _sizes(found)
        self.doubt(sizes > 1, rows, None)
        first = pa.array(found.offsets.to_numpy()[:-1], mask=sizes == 0)
        return self.texts(node, found.values.take(first).to_pylist(), rows)

    def texts(self, node: Json, found: list[bytes | None], rows: Any) -> pa.Array:
        """Return messages as JSON text."""
        read = message_class(node.descriptor).FromString
        wrong = np.zeros(len(found), np.bool_)
        made: list[str | None] = []
        for place, data in enumerate(found):
            text = None
            if data is not None:
                try:
                    text = self._texts.text(node, read(data))
                except (DecodeError, PayloadError):
                    wrong[place] = True
                    text = ""
            made.append(text)
        self.doubt(wrong, rows, None)
        return pa.array(made, pa.string())

    def lists(self, type_: pa.DataType, node: Node, found: pa.Array, rows: Any) -> pa.Array:
        """Return the column of lists."""
        items = found.values
        if not isinstance(node, Scalar):
            items = self.nodes(node, items, self.inner(found, rows), None)
        return pa.ListArray.from_arrays(found.offsets, items, type=type_)

    def maps(self, field: Field, found: pa.Array, rows: Any) -> pa.Array:
        """Return the column of maps: the last of the entries with one key stays."""
        offsets, entries = found.offsets, found.values
        inner = self.inner(found, rows)
        last = _last_of_keys(np.repeat(np.arange(len(found)), _sizes(found)), entries.field(0))
        if last is not None:
            kept = np.zeros(len(entries) + 1, np.int32)
            kept[last + 1] = 1
            offsets = pa.array(np.cumsum(kept, dtype=np.int32)[offsets.to_numpy()])
            entries, inner = entries.take(pa.array(last)), inner[last]
        values = entries.field(1)
        if isinstance(field.node, Json):
            self.doubt(_sizes(values) == 0, inner, None)
            items = self.merged(field.node, values, inner)
        else:
            if values.null_count:
                self.doubt(~_valid(values), inner, None)
            items = self.nodes(field.node, values, inner, None)
        return pa.MapArray.from_arrays(offsets, entries.field(0), items, type=field.column.type)

    def inner(self, found: pa.Array, rows: Any) -> Any:
        """Return the numbers of the rows of the items of lists."""
        outer = np.arange(self._rows) if rows is None else rows
        return np.repeat(outer, _sizes(found))


def _last_of_keys(rows: Any, keys: pa.Array) -> Any:
    """Return the places of the last entry of each key of each map; None if there is one of each."""
    if not len(rows) or not (rows[1:] == rows[:-1]).any():
        return None
    codes = keys.dictionary_encode().indices.to_numpy().astype(np.int64)
    both = pa.array(rows * (int(codes.max()) + 1) + codes)
    if pc.count_distinct(both).as_py() == len(rows):
        return None
    _, places = np.unique(both.to_numpy()[::-1], return_index=True)
    return np.sort(len(rows) - 1 - places)


def _members(found: pa.Array) -> dict[str, pa.Array]:
    return {part.name: found.field(place) for place, part in enumerate(found.type)}


def _sizes(found: pa.Array) -> Any:
    return np.diff(found.offsets.to_numpy())


def _valid(found: pa.Array) -> Any:
    return found.is_valid().to_numpy(zero_copy_only=False)


def _null_where(outer: pa.Array, values: pa.Array) -> pa.Array:
    """Return values, null where the struct is that they come from."""
    if not outer.null_count:
        return values
    return pc.if_else(outer.is_valid(), values, pa.scalar(None, values.type))
