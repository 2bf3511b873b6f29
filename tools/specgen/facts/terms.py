"""Resolve the names in an expression and find the values that it can have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tools.specgen import expression as ex
from tools.specgen.facts.ranges import LONG, VARINTS, Interval, at_least, lower_bound
from tools.specgen.model import (
    BitsType,
    Field,
    IntegerType,
    Member,
    Model,
    Parameter,
    Type,
    TypeReference,
    ValueInstance,
)

COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")


@dataclass(frozen=True)
class Terms:
    """The expressions of one type.

    Attributes:
        model: the whole specification.
        type: the type that contains the expressions.
        intervals: narrower bounds of members than their types give, by id.
        bounds: bounds of whole sub-expressions, which take precedence.
    """

    model: Model
    type: Type
    intervals: Mapping[str, Interval] = field(default_factory=dict, kw_only=True)
    bounds: Mapping[ex.Expression, Interval] = field(default_factory=dict, kw_only=True)

    def member_of(self, expression: ex.Expression) -> tuple[Type, Member] | None:
        """Return the type and the member that ``a.b.c`` means, None for other values."""
        match expression:
            case ex.Name(name):
                found = self.type.members.get(name)
                return (self.type, found) if found else None
            case ex.Attribute(inner, name):
                outer = self.member_of(inner)
                if outer is None or not isinstance(outer[1], Field | Parameter):
                    return None
                kind = outer[1].type
                if not isinstance(kind, TypeReference):
                    return None
                if self.model.type(kind).scalar and name == "value":
                    return outer
                found = self.model.type(kind).members.get(name)
                return (self.model.type(kind), found) if found else None
        return None

    def interval(self, expression: ex.Expression) -> Interval:
        """Return the bounds of an integer expression, ``LONG`` if no better ones are known."""
        if expression in self.bounds:
            return self.bounds[expression]
        match expression:
            case ex.Int(value):
                return value, value
            case ex.Unary("-", operand):
                low, high = self.interval(operand)
                return -high, -low
            case ex.Binary("+", left, right):
                a, b = self.interval(left), self.interval(right)
                return a[0] + b[0], a[1] + b[1]
            case ex.Binary("-", left, right):
                a, b = self.interval(left), self.interval(right)
                return a[0] - b[1], a[1] - b[0]
            case ex.Binary("*", left, right):
                a, b = self.interval(left), self.interval(right)
                products = [x * y for x in a for y in b]
                return min(products), max(products)
            case ex.Binary("&", left, right):
                highs = [high for low, high in map(self.interval, (left, right)) if low >= 0]
                return (0, min(highs)) if highs else LONG
            case ex.Ternary(_, then, otherwise):
                a, b = self.interval(then), self.interval(otherwise)
                return min(a[0], b[0]), max(a[1], b[1])
            case ex.Name() | ex.Attribute():
                return self._member_interval(expression)
        return LONG

    def is_boolean(self, expression: ex.Expression) -> bool:
        """Return whether the value is true or false."""
        match expression:
            case ex.Bool() | ex.Unary("not", _):
                return True
            case ex.Binary(operator, _, _):
                return operator in COMPARISONS or operator in ("and", "or")
            case ex.Ternary(_, then, _):
                return self.is_boolean(then)
        found = self.member_of(expression)
        return found is not None and isinstance(found[1], Field) and found[1].is_bool

    def _member_interval(self, expression: ex.Expression) -> Interval:
        found = self.member_of(expression)
        if found is None:
            return LONG
        owner, member = found
        if owner is self.type and member.id in self.intervals:
            return self.intervals[member.id]
        if isinstance(member, ValueInstance):
            inner = Terms(self.model, owner)
            low, high = inner.interval(member.value)
            return max(low, LONG[0]), min(high, LONG[1])
        match member.type:
            case IntegerType(size, signed) if size < 8 or signed:
                return member.type.minimum, member.type.maximum
            case BitsType(width):
                return 0, (1 << width) - 1
            case TypeReference():
                scalar = self.model.type(member.type).scalar
                return VARINTS[scalar].range if scalar in VARINTS else LONG
        return LONG

    def leaves_long(self, expression: ex.Expression) -> bool:
        """Return whether the value may need more than 64 bits."""
        low, high = self.interval(expression)
        return low < LONG[0] or high > LONG[1]

    def never_negative(self, field: Field, size: ex.Expression) -> bool:
        """Return whether other fields' ``valid:``, or the condition, rule out a negative size."""
        intervals: dict[str, Interval] = {}
        for other in self.type.fields:
            lows = [LONG[0]]
            if (low := lower_bound(self.model, other)) is not None:
                lows.append(low)
            if field.condition is not None:
                lows += at_least(field.condition, other.id)
            intervals[other.id] = (max(lows), LONG[1])
        return Terms(self.model, self.type, intervals=intervals).interval(size)[0] >= 0
