"""Translate expressions of the specification into Lua, as Wireshark has it: 5.2 to 5.4.

Numbers of Lua 5.2 are exact up to 53 bits. What may be larger is an ``Int64`` of Wireshark, which
has arithmetic, but is never equal to a number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tools.specgen.expression import (
    LEFT,
    Attribute,
    Binary,
    Bool,
    EnumMember,
    Expression,
    Int,
    Name,
    Ternary,
    Unary,
)
from tools.specgen.facts.terms import Terms
from tools.specgen.model import Model, Type

_EXACT: Final = 1 << 53
_OPERATORS: Final = {"!=": "~="}
_BITS: Final = {"&": "band", "|": "bor", "^": "bxor", "<<": "lshift", ">>": "arshift"}
_STREAM: Final = {"eof": "(r:left() == 0)"}
_KEYWORDS: Final = {
    *(
        "and",
        "break",
        "do",
        "else",
        "elseif",
        "end",
        "false",
        "for",
        "function",
        "goto",
        "if",
        "in",
    ),
    *("local", "nil", "not", "or", "repeat", "return", "then", "true", "until", "while"),
}


def member(name: str) -> str:
    """Return a member of a structure."""
    return f's["{name}"]' if name in _KEYWORDS else f"s.{name}"


@dataclass(frozen=True)
class LuaExpressions:
    """Translator of the expressions of one type.

    In Lua, ``s`` is the structure with its parameters, ``r`` what it is read from, and ``v`` the
    value that is checked.
    """

    model: Model
    type: Type

    @property
    def _terms(self) -> Terms:
        return Terms(self.model, self.type)

    def is_long(self, expression: Expression) -> bool:
        """Return whether a value needs more bits than a number has."""
        if self._terms.is_boolean(expression):
            return False
        if isinstance(expression, Name | Attribute) and self._terms.member_of(expression) is None:
            return False  # what is checked, or is left
        low, high = self._terms.interval(expression)
        return low < -_EXACT or high > _EXACT

    def text(self, expression: Expression) -> str:
        """Return an expression of Lua."""
        if expression == LEFT:
            return "r:left()"
        match expression:
            case Int(value):
                return str(value)
            case Bool(value):
                return str(value).lower()
            case Name("_"):
                return "v"
            case Name(name):
                return member(name)
            case EnumMember(enum, name):
                return str(self._constant(enum, name))
            case Attribute(inner, name):
                return self._attribute(expression, inner, name)
            case Unary("not", operand):
                return f"not {self._inner(operand)}"
            case Unary("-", operand):
                return f"-{self._inner(operand)}"
            case Unary("~", operand):
                return f"-1 - {self._inner(operand)}"
            case Ternary(condition, then, otherwise):
                parts = [self.text(part) for part in (then, otherwise)]
                made = ", ".join(f"function() return {part} end" for part in parts)
                return f"pick({self.text(condition)}, {made})"
            case Binary(operator, left, right):
                return self._binary(expression, operator, left, right)
        raise ValueError(f"{self.type.location}: {expression} is not supported in Lua")

    def _binary(self, whole: Binary, operator: str, left: Expression, right: Expression) -> str:
        sides = [self._inner(left), self._inner(right)]
        if operator in _BITS:
            text = f"long({self.text(left)}):{_BITS[operator]}({self.text(right)})"
            return text if self.is_long(whole) else f"{text}:tonumber()"
        arithmetic = operator not in ("and", "or")
        if arithmetic and any(map(self.is_long, (whole, left, right))):
            sides = [f"long({self.text(side)})" for side in (left, right)]
        elif operator == "/":
            return f"math.floor({sides[0]} / {sides[1]})"
        return f"{sides[0]} {_OPERATORS.get(operator, operator)} {sides[1]}"

    def _inner(self, expression: Expression) -> str:
        text = self.text(expression)
        simple = isinstance(expression, Int | Bool | Name | Attribute | EnumMember | Ternary)
        return text if simple else f"({text})"

    def _attribute(self, node: Attribute, inner: Expression, name: str) -> str:
        if inner == Name("_io"):
            if name not in _STREAM:
                raise ValueError(f"{self.type.location}: _io.{name} is not supported in Lua")
            return _STREAM[name]
        found = self._terms.member_of(node)
        if name == "value" and (inner == Name("_") or found == self._terms.member_of(inner)):
            return self.text(inner)
        if name in ("size", "length") and found is None:
            return f"#{self._inner(inner)}"
        return f"{self._inner(inner)}{member(name)[1:]}"

    def _constant(self, enum: str, name: str) -> int:
        for spec in self.model.closure(self.type.spec_id):
            for each in spec.enums:
                if each.id == enum.rpartition("::")[2]:
                    return next(item.value for item in each.values if item.id == name)
        raise AssertionError(enum)
