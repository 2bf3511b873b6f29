"""Conditions of ``valid:`` and of sizes as Python source."""

from __future__ import annotations

from tools.specgen.expression import Expression, Int, Unary
from tools.specgen.model import (
    Field,
    SwitchType,
    Type,
    TypeReference,
)
from tools.specgen.python.expressions import Translator


def grouped_cases(kind: SwitchType) -> list[tuple[tuple[int, ...] | None, TypeReference]]:
    """Group cases with the same type; None is the default."""
    groups: dict[tuple[bool, TypeReference], list[int]] = {}
    for case, reference in kind.cases:
        groups.setdefault((case is None, reference), []).extend([] if case is None else [case])
    return [(None if default else tuple(c), ref) for (default, ref), c in groups.items()]


def violated(translator: Translator, type_: Type, field: Field) -> list[str]:
    """Return Python conditions, each true if ``valid`` does not hold."""
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


def _tuple(items: list[str]) -> str:
    return f"({', '.join(items)})" if len(items) > 1 else f"({items[0]},)"
