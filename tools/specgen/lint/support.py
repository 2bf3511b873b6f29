"""What the rules of the linter share: the problem they report, and how they look names up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tools.specgen.evaluate import literal
from tools.specgen.expression import Attribute, Binary, Expression, Int, Name
from tools.specgen.model import (
    Field,
    FieldType,
    IntegerType,
    Model,
    PeekInstance,
    Scalar,
    SwitchType,
    Type,
    TypeReference,
    Valid,
    ValueInstance,
)


@dataclass(frozen=True)
class Problem:
    """Something in the specification that a rule forbids.

    Attributes:
        location: ``recordbatch.ksy#/types/record/seq/3``.
        rule: ``S1`` to ``S10``, or the name of another rule in spec/README.md.
        message: what is wrong and what to write instead.
    """

    location: str
    rule: str
    message: str


@dataclass(frozen=True)
class Source:
    """The field that an expression takes its number from, less a constant."""

    owner: Type
    field: Field
    minus: int
    foreign: bool
    """The field belongs to a parameter, not to the type that uses it."""


def references(field_type: FieldType) -> tuple[TypeReference, ...]:
    """The types that a field may hold."""
    match field_type:
        case TypeReference():
            return (field_type,)
        case SwitchType(cases=cases):
            return tuple(reference for _, reference in cases)
    return ()


def size_of(field: Field) -> Expression | None:
    """The expression after ``size:``."""
    return None if isinstance(field.type, IntegerType) else getattr(field.type, "size", None)


def fills_stream(field: Field) -> bool:
    """Whether the field takes all bytes that are left."""
    if field.repeat is not None:
        return field.repeat.eos
    return isinstance(field.type, TypeReference | SwitchType) and field.type.size_eos


def source(model: Model, type_: Type, expression: Expression) -> Source | None:
    """Where the number comes from: a field, ``field.value``, ``parameter.field``, or one - N."""
    minus = 0
    if isinstance(expression, Binary) and expression.operator == "-":
        subtracted = literal(expression.right)
        if subtracted is None:
            return None
        expression, minus = expression.left, subtracted
    path = _path(expression)
    if path is None:
        return None
    owner, foreign = type_, False
    for parameter in type_.parameters:
        if parameter.id == path[0] and isinstance(parameter.type, TypeReference):
            owner, foreign, path = model.type(parameter.type), True, path[1:]
    field = owner.field_by_id.get(path[0]) if path else None
    if field is None:
        return None
    rest = ["value"] if scalar_of(model, field) else []
    return Source(owner, field, minus, foreign) if path[1:] == rest else None


def _path(expression: Expression) -> list[str] | None:
    match expression:
        case Name(name):
            return [name]
        case Attribute(inner, name):
            path = _path(inner)
            return None if path is None else [*path, name]
    return None


def scalar_of(model: Model, field: Field) -> Scalar | None:
    """The scalar that the field holds, None for anything else."""
    if isinstance(field.type, TypeReference) and model.has_type(field.type):
        return model.type(field.type).scalar
    return None


def lower_bound(model: Model, field: Field) -> int | None:
    """The smallest value that type and ``valid`` let pass, None if there is no bound to see."""
    bounds: list[int] = []
    if isinstance(field.type, IntegerType) and not field.type.signed:
        bounds.append(0)
    if scalar_of(model, field) is Scalar.UNSIGNED_VARINT32:
        bounds.append(0)
    if field.valid is not None:
        bounds += _bounds(field.valid)
    return max(bounds, default=None)


def _bounds(valid: Valid) -> Iterator[int]:
    for expression in (valid.equal, valid.minimum):
        value = literal(expression)
        if value is not None:
            yield value
    choices = [literal(item) for item in valid.any_of]
    if choices and None not in choices:
        yield min(choice for choice in choices if choice is not None)
    if valid.expression is not None:
        for node in conjuncts(valid.expression):
            match node:
                case Binary(">=", left, right) if _is_self(left) and literal(right) is not None:
                    yield literal(right) or 0
                case Binary(">", left, right) if _is_self(left) and literal(right) is not None:
                    yield (literal(right) or 0) + 1


def _is_self(expression: Expression) -> bool:
    return expression in (Name("_"), Attribute(Name("_"), "value"))


def conjuncts(expression: Expression) -> Iterator[Expression]:
    """The parts that ``and`` joins."""
    match expression:
        case Binary("and", left, right):
            yield from conjuncts(left)
            yield from conjuncts(right)
        case _:
            yield expression


def allowed_values(valid: Valid | None) -> frozenset[int] | None:
    """The values that pass, None where they are too many to list or not constant."""
    if valid is None:
        return None
    equal = literal(valid.equal)
    if equal is not None:
        return frozenset({equal})
    choices = [literal(item) for item in valid.any_of]
    if choices and None not in choices:
        return frozenset(choice for choice in choices if choice is not None)
    low, high = literal(valid.minimum), literal(valid.maximum)
    if low is None or high is None or high - low > 256:
        return None
    return frozenset(range(low, high + 1))


def expressions(node: Field | PeekInstance | ValueInstance) -> Iterator[tuple[str, Expression]]:
    """Every expression of a node with the key that it stands under."""
    if isinstance(node, ValueInstance):
        yield "value", node.value
        if node.condition is not None:
            yield "if", node.condition
        return
    if isinstance(node, PeekInstance):
        yield "pos", node.position
    for reference in references(node.type):
        for argument in reference.arguments:
            yield "type", argument
    if isinstance(node.type, SwitchType):
        yield "type/switch-on", node.type.on
    size = getattr(node.type, "size", None)
    if size is not None and not isinstance(size, int):
        yield "size", size
    yield from _valid_expressions(node.valid)
    if isinstance(node, Field):
        yield from _field_expressions(node)


def _valid_expressions(valid: Valid | None) -> Iterator[tuple[str, Expression]]:
    if valid is not None:
        parts = (valid.equal, valid.minimum, valid.maximum, valid.expression, *valid.any_of)
        for part in parts:
            if part is not None:
                yield "valid", part


def _field_expressions(field: Field) -> Iterator[tuple[str, Expression]]:
    if field.condition is not None:
        yield "if", field.condition
    if field.repeat is not None and field.repeat.count is not None:
        yield "repeat-expr", field.repeat.count
    if field.repeat is not None and field.repeat.until is not None:
        yield "repeat-until", field.repeat.until


def is_zero_size(field: Field) -> bool:
    """``size: 0``."""
    return size_of(field) == Int(0)
