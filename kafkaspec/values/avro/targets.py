"""Forms that values are read in: stored types of columns, or JSON as Avro writes it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from kafkaspec.values.avro.columns import AvroColumn
from kafkaspec.values.avro.reading import double_bits, double_of, fields_of, float_bits, float_of
from kafkaspec.values.avro.schema import NESTING, AvroField, AvroKind, AvroNode, Logical

DAY = {Logical.TIME_MILLIS: 86_400_000, Logical.TIME_MICROS: 86_400_000_000}


class DefaultError(ValueError):
    """The default of a field is none of its type."""


@dataclass(frozen=True, slots=True)
class AvroTarget:
    """The column that values of a type become; None if they become JSON."""

    node: AvroNode
    column: AvroColumn | None

    def child(self, number: int) -> AvroTarget:
        """Return the form of a field, an item or a branch."""
        nodes = [item.node for item in self.node.fields] or self.node.children
        node = nodes[number]
        if self.column is None:
            return AvroTarget(node, None)
        if self.node.kind == AvroKind.UNION:
            if node.kind == AvroKind.NULL:
                return AvroTarget(node, _NULL)
            number = [child for child in nodes if child.kind != AvroKind.NULL].index(node)
        return AvroTarget(node, self.column.children[number])

    @property
    def text(self) -> bool:
        """Whether values become JSON from here on, as the text of a column."""
        return self.column is not None and self.column.json

    @property
    def item_cost(self) -> int:
        """Bytes of output of an item, without its texts and items."""
        return 8 if self.column is None else self.child(0).width + 8

    @property
    def record_cost(self) -> int:
        """Bytes of output of the names of a record's fields."""
        return fields_of(item.name for item in self.node.fields) if self.column is None else 0

    @property
    def width(self) -> int:
        return 8 if self.column is None else self.column.width

    def branch(self, number: int) -> Callable[[Any], Any] | None:
        """Return what makes the value of a union of the value of a branch."""
        if self.node.children[number].kind == AvroKind.NULL:
            return None
        if self.column is None:
            name = self.node.children[number].full_name
        elif len(self.column.children) == 1:
            return None
        else:
            inner = self.child(number).column
            name = next(
                name
                for name, child in zip(self.column.names, self.column.children, strict=True)
                if child is inner
            )
        return lambda value: {name: value}

    def map(self, values: dict[str, Any]) -> Any:
        return values if self.column is None else list(values.items())

    @property
    def symbols(self) -> list[Any]:
        symbols = self.node.symbols
        return list(symbols) if self.column is None else list(range(len(symbols)))

    def leaf(self) -> Callable[[Any], Any] | None:
        """Return what makes a value of what the bytes say, None if it is that already."""
        node = self.node
        if self.column is None:
            return _JSON.get(node.kind)
        if node.logical == Logical.DECIMAL and not pa.types.is_binary(self.column.type):
            return _decimal(node.precision, self.column.type.byte_width)
        if node.logical in DAY:
            return _time(DAY[node.logical])
        return None


def dumps(value: Any) -> str:
    """Return the text of a value that was read as JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _number(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _latin(value: bytes) -> str:
    return value.decode("latin-1")


_JSON: dict[AvroKind, Callable[[Any], Any]] = {
    AvroKind.FLOAT: lambda bits: _number(float_of(bits)),
    AvroKind.DOUBLE: lambda bits: _number(double_of(bits)),
    AvroKind.BYTES: _latin,
    AvroKind.FIXED: _latin,
}
_NULL = AvroColumn(AvroNode(AvroKind.NULL), pa.null(), pa.null(), width=1)


def _decimal(precision: int, width: int) -> Callable[[bytes], bytes]:
    most = 10**precision

    def convert(raw: bytes) -> bytes:
        number = int.from_bytes(raw, "big", signed=True)
        if not -most < number < most:
            raise ValueError(f"a decimal has more than {precision} digits")
        return number.to_bytes(width, "little", signed=True)

    return convert


def _time(most: int) -> Callable[[int], int]:
    def convert(number: int) -> int:
        if not 0 <= number < most:
            raise ValueError(f"a time of the day is {number}")
        return number

    return convert


def default_of(field: AvroField, target: AvroTarget) -> tuple[Any, int]:
    """Return the default of a field, and how many bytes of output it takes."""
    costs = [8]
    return _default(field.default, target, costs, 0), sum(costs)


def _default(value: Any, target: AvroTarget, costs: list[int], level: int) -> Any:
    if level > NESTING:
        raise DefaultError("a default is nested too deeply")
    if target.text:
        text = dumps(_default(value, AvroTarget(target.node, None), costs, level + 1))
        costs.append(len(text))
        return text
    node = target.node
    costs.append(target.record_cost)
    if node.kind == AvroKind.UNION:
        for number in range(len(node.children)):
            try:
                found = _default(value, target.child(number), costs, level + 1)
            except DefaultError:
                continue
            wrap = target.branch(number)
            return wrap(found) if wrap else found
    if node.kind == AvroKind.ARRAY and isinstance(value, list):
        costs.append(target.item_cost * len(value))
        return [_default(item, target.child(0), costs, level + 1) for item in value]
    if node.kind == AvroKind.MAP and isinstance(value, dict):
        costs.append(target.item_cost * len(value) + sum(map(len, value)))
        items = {
            key: _default(item, target.child(0), costs, level + 1) for key, item in value.items()
        }
        return target.map(items)
    if node.kind == AvroKind.RECORD and isinstance(value, dict):
        values = {}
        for number, item in enumerate(node.fields):
            if item.name not in value and not item.has_default:
                raise DefaultError(f"a default has no field {item.name}")
            given = value.get(item.name, item.default)
            values[item.name] = _default(given, target.child(number), costs, level + 1)
        return values
    raw = _raw(value, node)
    if node.kind == AvroKind.ENUM:
        return target.symbols[raw]
    costs.append(len(raw) if isinstance(raw, str | bytes) else 8)
    convert = target.leaf()
    return convert(raw) if convert else raw


def _raw(value: Any, node: AvroNode) -> Any:
    """Return a default as the bytes would say it."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    try:
        match node.kind:
            case AvroKind.NULL if value is None:
                return None
            case AvroKind.BOOLEAN if isinstance(value, bool):
                return value
            case AvroKind.INT if number and value == int(value) and -(1 << 31) <= value < 1 << 31:
                return int(value)
            case AvroKind.LONG if number and value == int(value) and -(1 << 63) <= value < 1 << 63:
                return int(value)
            case AvroKind.FLOAT if number:
                return float_bits(float(value))
            case AvroKind.DOUBLE if number:
                return double_bits(value)
            case AvroKind.STRING if isinstance(value, str):
                value.encode()
                return value
            case AvroKind.BYTES if isinstance(value, str):
                return value.encode("latin-1")
            case AvroKind.FIXED if isinstance(value, str) and len(value) == node.size:
                return value.encode("latin-1")
            case AvroKind.ENUM if value in node.symbols:
                return node.symbols.index(value)
    except (ValueError, OverflowError):
        pass
    raise DefaultError(f"a default is none of the type {node.full_name}")
