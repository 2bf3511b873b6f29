"""The range of an integer: its width, its bounds, and what it is compared with."""

from __future__ import annotations

from collections.abc import Iterator

from kafkaspec.messages.tables import HIGHEST, LOWEST
from tools.specgen.expression import LEFT, Attribute, Binary, Expression, Name, literal
from tools.specgen.facts.fields import scalar_of
from tools.specgen.messages.nodes import Unsupported
from tools.specgen.model import Field, IntegerType, Model, Scalar, Valid


def width(model: Model, item: Field) -> tuple[int, bool]:
    """Return the bytes of an integer, 0 for a varint, and whether it has a sign."""
    if isinstance(item.type, IntegerType):
        return item.type.size, item.type.signed
    if scalar_of(model, item) is Scalar.UNSIGNED_VARINT32:
        return 0, False
    raise Unsupported(f"{item.location} is not an integer of messages")


def bounds(model: Model, item: Field) -> tuple[int, int, int | None]:
    """Return the least and largest value, and what is subtracted before it is compared with
    the bytes that are left; None if it is not compared.
    """
    valid = item.valid
    if valid is None:
        return LOWEST, HIGHEST, None
    if valid.any_of or valid.in_enum:
        values = _allowed(model, item, valid)
        if sorted(values) != list(range(min(values), max(values) + 1)):
            raise Unsupported(f"{item.location} allows numbers with gaps")
        return min(values), max(values), None
    low, high = LOWEST, HIGHEST
    for bound, expression in (("low", valid.minimum), ("high", valid.maximum)):
        if expression is None:
            continue
        number = literal(expression)
        if number is None:
            raise Unsupported(f"{item.location} has a bound that is not a number")
        low, high = (number, high) if bound == "low" else (low, number)
    if valid.equal is not None:
        number = literal(valid.equal)
        if number is None:
            raise Unsupported(f"{item.location} is compared with no number")
        low = high = number
    remaining = None
    for left, operator, right in _clauses(valid.expression, item.location):
        minus = _minus(left)
        if minus is None:
            raise Unsupported(f"{item.location} tests something else")
        if right == LEFT and operator == "<=":
            remaining = minus
            continue
        number = literal(right)
        if number is None:
            raise Unsupported(f"{item.location} is compared with no number")
        match operator:
            case ">=":
                low = max(low, number + minus)
            case ">":
                low = max(low, number + minus + 1)
            case "<=":
                high = min(high, number + minus)
            case "<":
                high = min(high, number + minus - 1)
            case "==":
                low = high = number + minus
            case _:
                raise Unsupported(f"{item.location} tests something else")
    return low, high, remaining


def _allowed(model: Model, item: Field, valid: Valid) -> list[int]:
    if valid.any_of:
        found = [literal(expression) for expression in valid.any_of]
        if None in found:
            raise Unsupported(f"{item.location} allows values that are not numbers")
        return [number for number in found if number is not None]
    assert item.enum is not None
    return [value.value for value in model.enum(item.enum).values]


def _clauses(
    expression: Expression | None, where: str
) -> Iterator[tuple[Expression, str, Expression]]:
    match expression:
        case None:
            return
        case Binary("and", left, right):
            yield from _clauses(left, where)
            yield from _clauses(right, where)
        case Binary(operator, left, right):
            yield left, operator, right
        case _:
            raise Unsupported(f"{where} tests something else")


def _minus(expression: Expression) -> int | None:
    """Return N of ``_ - N`` or ``_.value - N``, 0 without it, None for anything else."""
    minus = 0
    if isinstance(expression, Binary) and expression.operator == "-":
        number = literal(expression.right)
        if number is None:
            return None
        minus, expression = number, expression.left
    if expression in (Name("_"), Attribute(Name("_"), "value")):
        return minus
    return None
