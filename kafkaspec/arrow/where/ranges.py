"""Ranges of offsets and timestamps that hold all records for which a condition is true."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from functools import reduce
from typing import Final

from kafkaspec.arrow.where import syntax
from kafkaspec.times import microseconds

_OPPOSITE: Final = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_EXACT: Final = Context(prec=64)
"""Has room for every number of a condition, in nanoseconds too."""
SWAPPED: Final = {"=": "=", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
"""The comparison of the right side with the left one."""


@dataclass(frozen=True, slots=True)
class ValueRange:
    """Integers from ``low`` up to ``high``, exclusive; None for no bound."""

    low: int | None = None
    high: int | None = None

    def __and__(self, other: ValueRange) -> ValueRange:
        lows = [low for low in (self.low, other.low) if low is not None]
        highs = [high for high in (self.high, other.high) if high is not None]
        return ValueRange(max(lows, default=None), min(highs, default=None))

    def __or__(self, other: ValueRange) -> ValueRange:
        if self.is_empty or other.is_empty:
            return other if self.is_empty else self
        low = None if self.low is None or other.low is None else min(self.low, other.low)
        high = None if self.high is None or other.high is None else max(self.high, other.high)
        return ValueRange(low, high)

    @property
    def is_empty(self) -> bool:
        """Whether there is no integer in it."""
        return self.low is not None and self.high is not None and self.low >= self.high


@dataclass(frozen=True, slots=True)
class ValueRanges:
    """Ranges of offsets, and of timestamps in milliseconds. No timestamp is in any but the whole
    range."""

    offset: ValueRange = ValueRange()
    timestamp: ValueRange = ValueRange()

    def __and__(self, other: ValueRanges) -> ValueRanges:
        return ValueRanges(self.offset & other.offset, self.timestamp & other.timestamp)

    def __or__(self, other: ValueRanges) -> ValueRanges:
        if self.is_empty or other.is_empty:
            return other if self.is_empty else self
        return ValueRanges(self.offset | other.offset, self.timestamp | other.timestamp)

    @property
    def is_empty(self) -> bool:
        """Whether no record is in them."""
        return self.offset.is_empty or self.timestamp.is_empty


def ranges_of(node: syntax.WhereNode, *, negated: bool = False) -> ValueRanges:
    """Return ranges that hold every record for which a condition is true, and perhaps others.

    Args:
        node: the condition.
        negated: whether it has to be false instead.
    """
    if isinstance(node, syntax.Not):
        return ranges_of(node.part, negated=not negated)
    if isinstance(node, syntax.All | syntax.Any):
        parts = [ranges_of(part, negated=negated) for part in node.parts]
        both = isinstance(node, syntax.All) is not negated
        return reduce(ValueRanges.__and__ if both else ValueRanges.__or__, parts)
    if isinstance(node, syntax.WhereComparison):
        sign, column, literal = node.operator, node.left, node.right
        if isinstance(column, syntax.Literal):
            sign, column, literal = SWAPPED[sign], literal, column
        return _of_comparison(_OPPOSITE[sign] if negated else sign, column, literal)
    if isinstance(node, syntax.Among) and not negated:
        found = (_of_comparison("=", node.operand, item) for item in node.items)
        return reduce(ValueRanges.__or__, found)
    return ValueRanges()


def _of_comparison(sign: str, column: object, literal: object) -> ValueRanges:
    if not isinstance(column, syntax.WhereColumn) or not isinstance(literal, syntax.Literal):
        return ValueRanges()
    value = literal.value
    if column.path == ("offset",) and isinstance(value, int | Decimal):
        return ValueRanges(offset=_inside(sign, Decimal(value)))
    if column.path == ("timestamp",):
        exact = milliseconds(value)
        return ValueRanges() if exact is None else ValueRanges(timestamp=_inside(sign, exact))
    return ValueRanges()


def milliseconds(value: object) -> Decimal | None:
    """Return what a constant is compared with a timestamp as; None if it cannot be."""
    if isinstance(value, str):
        found = microseconds(value)
        return None if found is None else scaled(Decimal(found), -3)
    return Decimal(value) if isinstance(value, int | Decimal) else None


def scaled(value: Decimal, power: int) -> Decimal:
    """Return a number times a power of ten, exactly."""
    return value.scaleb(power, _EXACT)


def _inside(sign: str, value: Decimal) -> ValueRange:
    found, inside = values_of(sign, value)
    return found if inside else ValueRange()


def values_of(sign: str, value: Decimal) -> tuple[ValueRange, bool]:
    """Return the integers for which a comparison is true; with a false flag, all others are."""
    below = int(value.to_integral_value(ROUND_FLOOR))
    above = int(value.to_integral_value(ROUND_CEILING))
    if sign in ("=", "!="):
        return ValueRange(above, below + 1), sign == "="
    if sign in ("<", "<="):
        return ValueRange(None, above if sign == "<" else below + 1), True
    return ValueRange(above if sign == ">=" else below + 1, None), True
