"""Compute expressions of the specification on known values.

The linter uses it to check whether a default satisfies ``valid``, the vector generator to predict
what a rule says about a value. Codecs do not use it: they are compared with what it says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tools.specgen import expression as ex
from tools.specgen.model import Valid


class UnknownNameError(Exception):
    """The expression uses a name whose value is not known."""


def _bits(number: int) -> int:
    if not 0 <= number < 64:
        raise OverflowError(f"cannot shift by {number} bits")
    return number


_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "<<": lambda a, b: a << _bits(b),
    ">>": lambda a, b: a >> _bits(b),
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def evaluate(expression: ex.Expression, names: Mapping[str, Any]) -> Any:
    """Return the value of ``expression``.

    Args:
        expression: the expression to compute.
        names: values by name; structures are mappings, and ``.value`` of an integer is itself.
            Members of enumerations stand under ``enum::member``.

    Raises:
        UnknownNameError: a name is not in ``names``.
    """
    match expression:
        case ex.Int(value) | ex.Bool(value):
            return value
        case ex.Name(name):
            return _look_up(names, name)
        case ex.EnumMember(enum, member):
            return _look_up(names, f"{enum}::{member}")
        case ex.Attribute(inner, name):
            return _attribute(evaluate(inner, names), name)
        case ex.Index(inner, index):
            return evaluate(inner, names)[evaluate(index, names)]
        case ex.Ternary(condition, then, otherwise):
            return evaluate(then if evaluate(condition, names) else otherwise, names)
        case ex.Unary(operator, operand):
            return _unary(operator, evaluate(operand, names))
        case ex.Binary("and", left, right):
            return bool(evaluate(left, names)) and bool(evaluate(right, names))
        case ex.Binary("or", left, right):
            return bool(evaluate(left, names)) or bool(evaluate(right, names))
        case ex.Binary(operator, left, right):
            return _BINARY[operator](evaluate(left, names), evaluate(right, names))


def _look_up(names: Mapping[str, Any], name: str) -> Any:
    if name not in names:
        raise UnknownNameError(name)
    return names[name]


def _attribute(value: Any, name: str) -> Any:
    if isinstance(value, Mapping):
        return _look_up(value, name)
    if isinstance(value, int) and name == "value":
        return value
    if isinstance(value, list | bytes) and name == "size":
        return len(value)
    raise UnknownNameError(name)


def _unary(operator: str, value: Any) -> Any:
    if operator == "-":
        return -value
    if operator == "~":
        return ~value
    return not value if operator == "not" else value


def satisfies(valid: Valid | None, value: Any, names: Mapping[str, Any]) -> bool:
    """Return whether ``valid`` lets ``value`` pass.

    Raises:
        UnknownNameError: the answer depends on a name that is not in ``names``.
    """
    if valid is None:
        return True
    scope = {**names, "_": value}
    if valid.equal is not None and value != evaluate(valid.equal, scope):
        return False
    if valid.minimum is not None and value < evaluate(valid.minimum, scope):
        return False
    if valid.maximum is not None and value > evaluate(valid.maximum, scope):
        return False
    if valid.any_of and value not in [evaluate(item, scope) for item in valid.any_of]:
        return False
    return valid.expression is None or bool(evaluate(valid.expression, scope))


def may_satisfy(valid: Valid | None, value: Any, names: Mapping[str, Any]) -> bool:
    """Return whether ``valid`` lets ``value`` pass, as far as that is known."""
    try:
        return satisfies(valid, value, names)
    except (UnknownNameError, ArithmeticError, TypeError):
        return True
