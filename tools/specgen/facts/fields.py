"""Classify fields; find the types and expressions they use and where their sizes come from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tools.specgen.expression import Attribute, Binary, Expression, Int, Name, literal, names
from tools.specgen.model import (
    BitsType,
    BytesType,
    Derive,
    DeriveFunction,
    Field,
    FieldType,
    FloatType,
    IntegerType,
    Model,
    Node,
    PeekInstance,
    Scalar,
    SwitchType,
    Type,
    TypeReference,
    Valid,
    ValueInstance,
)


@dataclass(frozen=True)
class Source:
    """The field that an expression takes its number from, less a constant."""

    owner: Type
    field: Field
    minus: int
    foreign: bool
    """True if the field belongs to a parameter, not to the type that uses it."""


def references(field_type: FieldType) -> tuple[TypeReference, ...]:
    """Return the types that a field may hold."""
    match field_type:
        case TypeReference():
            return (field_type,)
        case SwitchType(cases=cases):
            return tuple(reference for _, reference in cases)
    return ()


def size_of(field: Field) -> Expression | None:
    """Return the expression after ``size:``."""
    fixed = isinstance(field.type, IntegerType | FloatType)
    return None if fixed else getattr(field.type, "size", None)


def null_mark(type_: Type, field: Field) -> int | None:
    """Return what a mark before a structure says where it is null, None for any other field.

    The mark is ``present(field)``, and ``if:`` demands a number from which on the field is there.
    """
    marks = [
        item.id
        for item in type_.fields
        if item.derive == Derive(DeriveFunction.PRESENT, field.id) and item is not field
    ]
    match field.condition:
        case Binary(">=", Name(name) | Attribute(Name(name), "value"), Int(least)) if (
            marks == [name] and field.repeat is None
        ):
            return least - 1
    return None


def is_nullable(type_: Type, field: Field) -> bool:
    """Return whether ``if:`` means null: the count, the size or the mark before it says so."""
    if null_mark(type_, field) is not None:
        return True
    if field.repeat is not None:
        number = field.repeat.count
    else:
        number = size_of(field) if type_.scalar is Scalar.NULLABLE_BYTES else None
    return number is not None and field.condition == Binary(">=", number, Int(0))


def fills_stream(field: Field) -> bool:
    """Return whether the field takes all bytes that are left."""
    if field.repeat is not None:
        return field.repeat.eos
    return isinstance(field.type, TypeReference | SwitchType) and field.type.size_eos


def source(model: Model, type_: Type, expression: Expression) -> Source | None:
    """Return the origin of a number: a field, ``field.value``, ``parameter.field``, or one - N."""
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
    """Return the scalar that the field holds, None for anything else."""
    if isinstance(field.type, TypeReference) and model.has_type(field.type):
        return model.type(field.type).scalar
    return None


def expressions(node: Node) -> Iterator[tuple[str, Expression]]:
    """Yield every expression of a node with the key that it stands under."""
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
    for part in valid_parts(node.valid):
        yield "valid", part
    if isinstance(node, Field):
        yield from _field_expressions(node)


def valid_parts(valid: Valid | None) -> list[Expression]:
    """Return the expressions of a ``valid:``."""
    if valid is None:
        return []
    found = (valid.equal, valid.minimum, valid.maximum, valid.expression, *valid.any_of)
    return [part for part in found if part is not None]


def _field_expressions(field: Field) -> Iterator[tuple[str, Expression]]:
    if field.condition is not None:
        yield "if", field.condition
    if field.repeat is not None and field.repeat.count is not None:
        yield "repeat-expr", field.repeat.count
    if field.repeat is not None and field.repeat.until is not None:
        yield "repeat-until", field.repeat.until


def mentioned(node: Node) -> frozenset[str]:
    """Return every plain name in the expressions of a node."""
    return frozenset(name for _, expression in expressions(node) for name in names(expression))


def is_bytes(model: Model, field: Field) -> bool:
    """Return whether the field holds a byte string."""
    scalar = scalar_of(model, field)
    if scalar is not None:
        return not scalar.is_integer
    return isinstance(field.type, BytesType) and not field.is_guard


def is_integer(model: Model, field: Field) -> bool:
    """Return whether the field holds one number."""
    if field.repeat is not None or field.is_guard:
        return False
    scalar = scalar_of(model, field)
    if scalar is not None:
        return scalar.is_integer
    return isinstance(field.type, IntegerType | BitsType)


def model_fields(type_: Type) -> tuple[Field, ...]:
    """Return the fields that the model shows: all but guards."""
    return tuple(field for field in type_.fields if not field.is_guard)


def is_computed(type_: Type, field: Field) -> bool:
    """Return whether a writer computes the field: from its siblings, or as a constant."""
    if field.derive is not None:
        return not type_.is_opaque_count(field)
    return field.constant is not None


def value_types(model: Model, reference: TypeReference) -> tuple[Type, ...]:
    """Return the types whose classes or host values the model shows for a reference."""
    type_ = model.type(reference)
    if type_.is_frame:
        body = type_.fields[1].type
        assert isinstance(body, TypeReference)
        return value_types(model, body)
    if type_.is_choice:
        kind = type_.fields[0].type
        assert isinstance(kind, SwitchType)
        found = [inner for _, case in kind.cases for inner in value_types(model, case)]
        return tuple(dict.fromkeys(found))
    return (type_,)
