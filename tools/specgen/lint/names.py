"""Check rules S7 and S8, and that codecs can implement every expression and type."""

from __future__ import annotations

from collections.abc import Iterator

from tools.specgen.evaluate import literal
from tools.specgen.expression import (
    Attribute,
    Binary,
    EnumMember,
    Expression,
    Int,
    Name,
    names,
    walk,
)
from tools.specgen.facts.fields import expressions, references, size_of
from tools.specgen.lint.problem import Problem
from tools.specgen.model import (
    BitsType,
    Field,
    Model,
    PeekInstance,
    Scalar,
    Type,
    TypeReference,
    ValueInstance,
)

Node = Field | PeekInstance | ValueInstance

_STREAM = {"eof", "pos", "size"}
_PER_ITEM = {"_", "_index"}


def check(model: Model) -> Iterator[Problem]:
    """Yield problems with rules S7 and S8 and the rules ``name``, ``bits`` and ``recursion``."""
    for type_ in model.all_types():
        yield from _s7_parameters(model, type_)
        nodes: list[Node] = [*type_.fields, *type_.peek_instances, *type_.value_instances]
        for node in nodes:
            visible = _visible(type_, node)
            for key, expression in expressions(node):
                yield from _expression(model, type_, node.location, key, expression, visible)
        yield from _s8_optional(type_)
        yield from _duplicates(type_)
        yield from _bits(type_)
        if _contains(model, type_, type_):
            yield Problem(
                type_.location,
                "recursion",
                f"{type_.name} contains itself, so that hostile bytes could nest without end; "
                "write the levels out or leave them to the library",
            )


def _s7_parameters(model: Model, type_: Type) -> Iterator[Problem]:
    for parameter in type_.parameters:
        kind = parameter.type
        if not isinstance(kind, TypeReference):
            continue
        if kind.spec_id != type_.spec_id:
            yield Problem(
                type_.location,
                "S7",
                f"parameter {parameter.id} is a type of another file; move the types together",
            )
        elif not model.has_type(kind):
            yield Problem(
                type_.location, "name", f"parameter {parameter.id}: there is no type {kind.name}"
            )
    for field in type_.fields:
        for reference in references(field.type):
            if reference.arguments and reference.spec_id != type_.spec_id:
                yield Problem(
                    field.location,
                    "S7",
                    f"{reference.name} of another file takes parameters; move the types together",
                )


def _visible(type_: Type, node: Node) -> frozenset[str]:
    known = {parameter.id for parameter in type_.parameters}
    known |= {peek.id for peek in type_.peek_instances}
    if isinstance(node, ValueInstance):
        known |= {field.id for field in type_.fields}
        known |= {instance.id for instance in type_.value_instances} - {node.id}
    elif isinstance(node, Field):
        known |= {field.id for field in type_.fields[: type_.fields.index(node)]}
    return frozenset(known)


def _expression(
    model: Model,
    type_: Type,
    location: str,
    key: str,
    expression: Expression,
    visible: frozenset[str],
) -> Iterator[Problem]:
    for node in walk(expression):
        match node:
            case Attribute(_, "as"):
                yield Problem(location, "S7", f"{key}: no casts; give the field its type")
            case Attribute(Name("_io"), name) if name not in _STREAM:
                yield Problem(location, "S7", f"{key}: of _io only eof, pos and size may be used")
            case EnumMember(enum, member) if not _has_member(model, type_, enum, member):
                yield Problem(location, "name", f"{key}: there is no {enum}::{member}")
    for name in sorted(names(expression)):
        if name in ("_root", "_parent"):
            yield Problem(location, "S7", f"{key}: no {name}; pass the value as a parameter")
        elif name in _PER_ITEM:
            if key not in ("valid", "repeat-until"):
                yield Problem(location, "name", f"{key}: {name} has no meaning here")
        elif name != "_io" and name not in visible:
            yield Problem(
                location,
                "name",
                f"{key}: {name} is neither an earlier field nor a parameter of {type_.name}",
            )


def _has_member(model: Model, type_: Type, enum: str, member: str) -> bool:
    return any(
        value.id == member
        for candidate in model.spec(type_.spec_id).enums
        if candidate.id == enum
        for value in candidate.values
    )


def _s8_optional(type_: Type) -> Iterator[Problem]:
    for field in type_.fields:
        if field.condition is None:
            continue
        if not _is_null_payload(type_, field) and not _is_version_test(type_, field.condition):
            yield Problem(
                field.location,
                "S8",
                "if: may test whether the size of a nullable payload is negative, or a parameter "
                "or an earlier field with valid: against numbers, nothing else; make a type of its "
                "own",
            )
        for other in type_.fields:
            for key, expression in expressions(other):
                if field.id in names(expression):
                    yield Problem(
                        other.location,
                        "S8",
                        f"{key} uses {field.id}, which may be absent; "
                        "use a field that is always present",
                    )


def _is_null_payload(type_: Type, field: Field) -> bool:
    size = size_of(field)
    return (
        type_.scalar is Scalar.NULLABLE_BYTES
        and size is not None
        and field.condition == Binary(">=", size, Int(0))
    )


def _is_version_test(type_: Type, condition: Expression) -> bool:
    match condition:
        case Binary("and" | "or", left, right):
            return _is_version_test(type_, left) and _is_version_test(type_, right)
        case Binary("==" | "!=" | "<" | "<=" | ">" | ">=", Name(name), right):
            field = type_.field_by_id.get(name)
            known = field is not None and field.valid is not None
            known |= any(parameter.id == name for parameter in type_.parameters)
            return known and literal(right) is not None
    return False


def _duplicates(type_: Type) -> Iterator[Problem]:
    seen: set[str] = set()
    members = (
        *((parameter.id, type_.location) for parameter in type_.parameters),
        *((field.id, field.location) for field in type_.fields),
        *((peek.id, peek.location) for peek in type_.peek_instances),
        *((instance.id, instance.location) for instance in type_.value_instances),
    )
    for name, location in members:
        if name in seen:
            yield Problem(location, "name", f"{type_.name} has {name} twice; rename one of them")
        seen.add(name)


def _bits(type_: Type) -> Iterator[Problem]:
    bits = 0
    for field in type_.fields:
        if isinstance(field.type, BitsType):
            bits += field.type.width
            if field.repeat is not None or field.condition is not None:
                yield Problem(
                    field.location, "bits", "a bit field is neither repeated nor optional"
                )
        elif bits % 8:
            yield Problem(
                field.location,
                "bits",
                f"{bits} bits stand before {field.id}; "
                "fill them up to whole bytes with a reserved field",
            )
            bits = 0
    if bits % 8:
        yield Problem(
            type_.location,
            "bits",
            f"{type_.name} ends after {bits} bits; "
            "fill them up to whole bytes with a reserved field",
        )


def _contains(model: Model, type_: Type, wanted: Type) -> bool:
    seen: set[str] = set()
    pending = [type_]
    while pending:
        for field in pending.pop().fields:
            for reference in references(field.type):
                inner = model.type(reference)
                if inner.key == wanted.key:
                    return True
                if inner.key not in seen:
                    seen.add(inner.key)
                    pending.append(inner)
    return False
