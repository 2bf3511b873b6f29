"""Translate expressions of the specification into deferred ``this`` expressions of Construct.

Construct overloads ``&``, ``|`` and ``~`` where Python has no hook for ``and``, ``or`` and
``not``, and they bind tighter than comparisons: both sides of every operator get parentheses
unless they are a single name, call or number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tools.specgen.expression import (
    LEFT,
    Attribute,
    Binary,
    Bool,
    EnumMember,
    Expression,
    Index,
    Int,
    Name,
    Ternary,
    Unary,
)
from tools.specgen.facts.terms import Terms
from tools.specgen.model import Model, Type, Valid, camel

_OPERATORS = {"and": "&", "or": "|", "/": "//"}
_ARITHMETIC = ("+", "-", "*")
_STREAM = {"eof": "at_end_", "size": "size_", "pos": "position_"}
_WHOLE = re.compile(r"-?[\w.]+|(int64_|len_)\([^()]*\)")


@dataclass(frozen=True)
class Deferred:
    """Translator of the expressions of one type into deferred ones.

    Attributes:
        model: the whole specification.
        type: the type that the expressions stand in.
        run: the bit fields that ``this`` holds; None if it holds all fields.
    """

    model: Model
    type: Type
    run: tuple[str, ...] = ()

    def text(self, expression: Expression, *, wrap: bool = False) -> str:
        """Return source text; ``wrap`` reduces sums that may leave 64 bits, as Java does."""
        if wrap and self._leaves_long(expression):
            return f"int64_({self._render(expression, wrap)})"
        return self._render(expression, wrap)

    def valid(self, valid: Valid) -> str:
        """Return the conditions of ``valid:`` as one expression on ``value_``."""
        value = "value_"
        demands = []
        if valid.equal is not None:
            demands.append(f"{value} == {self._side(valid.equal)}")
        if valid.minimum is not None:
            demands.append(f"{value} >= {self._side(valid.minimum)}")
        if valid.maximum is not None:
            demands.append(f"{value} <= {self._side(valid.maximum)}")
        if valid.any_of:
            demands.append(_join("|", [f"{value} == {self._side(v)}" for v in valid.any_of]))
        if valid.expression is not None:
            demands.append(self.text(valid.expression))
        return _join("&", demands)

    def _leaves_long(self, expression: Expression) -> bool:
        arithmetic = isinstance(expression, Binary) and expression.operator in _ARITHMETIC
        negation = isinstance(expression, Unary) and expression.operator == "-"
        return (arithmetic or negation) and Terms(self.model, self.type).leaves_long(expression)

    def _side(self, expression: Expression, wrap: bool = False) -> str:
        text = self.text(expression, wrap=wrap)
        whole = isinstance(expression, Index | Ternary) or _WHOLE.fullmatch(text) is not None
        return text if whole else f"({text})"

    def _render(self, expression: Expression, wrap: bool) -> str:
        if expression == LEFT:
            return "remaining_"
        match expression:
            case Int(value):
                return str(value) if value < 1 << 16 else f"0x{value:X}"
            case Bool(value):
                return str(value)
            case Name(name):
                return self._name(name)
            case EnumMember(enum, member):
                return f"{camel(enum)}.{member.upper()}"
            case Attribute(inner, name):
                return self._attribute(expression, inner, name)
            case Index(inner, index):
                return f"{self._side(inner)}[{self.text(index)}]"
            case Unary("not", operand):
                return f"~{self._side(operand)}"
            case Unary("~", operand):
                # Construct takes ~ for "not".
                return f"-1 - {self._side(operand, wrap)}"
            case Unary(operator, operand):
                return f"{operator}{self._side(operand, wrap)}"
            case Ternary(condition, then, otherwise):
                parts = (condition, then, otherwise)
                return f"either_({', '.join(self.text(part, wrap=wrap) for part in parts)})"
            case Binary(operator, left, right):
                # Sums of sums are reduced once, outside: the ring of integers allows it.
                inner_wrap = wrap and operator not in _ARITHMETIC
                sides = (self._side(left, inner_wrap), self._side(right, inner_wrap))
                return f"{sides[0]} {_OPERATORS.get(operator, operator)} {sides[1]}"
        raise AssertionError(expression)

    def _name(self, name: str) -> str:
        if name == "_":
            return "value_"
        if name in {parameter.id for parameter in self.type.parameters}:
            return f"this._._.{name}" if self.run else f"this._.{name}"
        if name in ("_io", "_parent", "_root"):
            raise ValueError(f"{self.type.location}: {name} is not supported here")
        return f"this._.{name}" if self.run and name not in self.run else f"this.{name}"

    def _attribute(self, node: Attribute, inner: Expression, name: str) -> str:
        if inner == Name("_io"):
            if name not in _STREAM:
                raise ValueError(f"{self.type.location}: _io.{name} is not supported")
            return _STREAM[name]
        facts = Terms(self.model, self.type)
        if name == "value" and (
            inner == Name("_") or facts.member_of(node) == facts.member_of(inner)
        ):
            return self.text(inner)
        if name in ("size", "length") and facts.member_of(node) is None:
            return f"len_({self.text(inner)})"
        return f"{self._side(inner)}.{name}"


def _join(operator: str, parts: list[str]) -> str:
    if len(parts) == 1:
        return parts[0]
    return f" {operator} ".join(f"({part})" for part in parts)
