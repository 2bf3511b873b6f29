"""What ``valid:`` and sizes demand, as Python conditions."""

from __future__ import annotations

from dataclasses import replace

from tools.specgen.expression import Attribute, Binary, Expression, Int, Name, Unary
from tools.specgen.model import (
    BytesType,
    Field,
    SwitchType,
    Type,
    TypeReference,
    Valid,
)
from tools.specgen.python.expressions import LONG, Interval, Translator


def grouped_cases(kind: SwitchType) -> list[tuple[tuple[int, ...] | None, TypeReference]]:
    """Cases with the same type together; None is the default."""
    groups: dict[tuple[bool, TypeReference], list[int]] = {}
    for case, reference in kind.cases:
        groups.setdefault((case is None, reference), []).extend([] if case is None else [case])
    return [(None if default else tuple(c), ref) for (default, ref), c in groups.items()]


def violated(translator: Translator, type_: Type, field: Field) -> list[str]:
    """Python conditions, each true where ``valid`` does not hold."""
    valid = field.valid
    assert valid is not None
    value = translator.value
    tests = []
    if valid.equal is not None:
        tests.append(f"{value} != {translator.operand(valid.equal)}")
    low = None if valid.minimum is None else _plain(translator, valid.minimum)
    high = None if valid.maximum is None else _plain(translator, valid.maximum)
    if low is not None and high is not None:
        tests.append(f"not {low} <= {value} <= {high}")
    elif low is not None:
        tests.append(f"{value} < {low}")
    elif high is not None:
        tests.append(f"{value} > {high}")
    if valid.any_of:
        tests.append(f"{value} not in {_tuple([translator.text(v) for v in valid.any_of])}")
    if valid.in_enum:
        assert field.enum
        enum = translator.model.enum(type_.spec_id, field.enum)
        tests.append(f"{value} not in {_tuple([str(v.value) for v in enum.values])}")
    if valid.expression is not None:
        tests.append(translator.negated(valid.expression))
    return tests


def _plain(translator: Translator, expression: Expression) -> str:
    if isinstance(expression, Unary) and isinstance(expression.operand, Int):
        return translator.text(expression)
    return translator.operand(expression)


def plus(name: str, number: int) -> str:
    return f"{name} + {number}" if number else name


def parts(valid: Valid) -> list[Expression]:
    """The expressions of a ``valid:``."""
    found = (valid.equal, valid.minimum, valid.maximum, valid.expression, *valid.any_of)
    return [part for part in found if part is not None]


def expressions(field: Field) -> list[Expression]:
    """Every expression that reading the field needs."""
    found = parts(field.valid) if field.valid else []
    found += [part for part in (field.condition,) if part is not None]
    if field.repeat and field.repeat.count is not None:
        found.append(field.repeat.count)
    match field.type:
        case BytesType(size) if size is not None:
            found.append(size)
        case TypeReference(arguments=arguments, size=size):
            found += [*arguments, *([size] if size is not None else [])]
        case SwitchType(on=on, cases=cases, size=size):
            found += [on, *([size] if size is not None else [])]
            found += [argument for _, case in cases for argument in case.arguments]
    return found


def never_negative(translator: Translator, field: Field, size: Expression) -> bool:
    """Whether the ``valid:`` of earlier fields or the condition rules out a negative size."""
    bounds: dict[str, Interval] = {}
    for other in translator.type.fields:
        low = _lower_bound(other, "_")
        if field.condition is not None:
            low = max(low, _at_least(field.condition, other.id))
        bounds[other.id] = (low, LONG[1])
    return replace(translator, intervals=bounds).interval(size)[0] >= 0


def lower_bound(field: Field) -> int | None:
    """The ``n`` where ``valid:`` demands ``_ >= n`` and nothing else."""
    valid = field.valid
    if valid is None:
        return None
    if valid == Valid(minimum=valid.minimum) and isinstance(valid.minimum, Int):
        return valid.minimum.value
    match valid.expression:
        case Binary(">=", Name("_") | Attribute(Name("_"), "value"), Int(n)):
            return n
    return None


def _lower_bound(field: Field, name: str) -> int:
    if field.valid is None:
        return LONG[0]
    if isinstance(field.valid.minimum, Int):
        return field.valid.minimum.value
    return LONG[0] if field.valid.expression is None else _at_least(field.valid.expression, name)


def _at_least(condition: Expression, name: str) -> int:
    """The ``n`` of ``name >= n`` where the condition demands it."""
    match condition:
        case Binary("and", left, right):
            return max(_at_least(left, name), _at_least(right, name))
        case Binary(">=", Name(found) | Attribute(Name(found), "value"), Int(n)) if found == name:
            return n
    return LONG[0]


def _tuple(items: list[str]) -> str:
    return f"({', '.join(items)})" if len(items) > 1 else f"({items[0]},)"
