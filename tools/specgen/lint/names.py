"""Check rules S7 and S8, and that codecs can implement every expression and type."""

from __future__ import annotations

from collections.abc import Iterator

from tools.specgen import expression as ex
from tools.specgen.facts.fields import expressions, is_nullable, references
from tools.specgen.lint.problem import Messages, Problem, found
from tools.specgen.model import (
    BitsType,
    Field,
    Model,
    Node,
    Type,
    TypeReference,
    ValueInstance,
    reachable,
)

_STREAM = {"eof", "pos", "size"}
_PER_ITEM = {"_", "_index"}


def check(model: Model) -> Iterator[Problem]:
    """Yield problems with rules S7 and S8 and the rules ``name``, ``bits`` and ``recursion``."""
    for type_ in model.all_types():
        yield from found("S7", type_, _parameters(type_))
        for node in type_.nodes:
            visible = _visible(type_, node)
            for key, expression in expressions(node):
                yield from found("S7", node, _forbidden(key, expression))
                yield from found("name", node, _unknown(model, type_, key, expression, visible))
        yield from found("S8", type_, _optional(type_))
        yield from found("name", type_, _duplicates(type_))
        yield from found("bits", type_, _bits(type_))
        yield from found("recursion", type_, _recursion(model, type_))


def _parameters(type_: Type) -> Messages:
    for parameter in type_.parameters:
        kind = parameter.type
        if isinstance(kind, TypeReference) and kind.spec_id != type_.spec_id:
            yield f"parameter {parameter.id} is a type of another file; move the types together"
    for field in type_.fields:
        for reference in references(field.type):
            if reference.arguments and reference.spec_id != type_.spec_id:
                message = "of another file takes parameters; move the types together"
                yield field, f"{reference.name} {message}"


def _visible(type_: Type, node: Node) -> frozenset[str]:
    """Return the names that an expression of the node may use."""
    known = {parameter.id for parameter in type_.parameters}
    known |= {peek.id for peek in type_.peek_instances}
    if isinstance(node, ValueInstance):
        known |= {other.id for other in type_.nodes if other is not node}
    elif isinstance(node, Field):
        known |= {field.id for field in type_.fields[: type_.fields.index(node)]}
    return frozenset(known)


def _forbidden(key: str, expression: ex.Expression) -> Messages:
    for node in ex.walk(expression):
        match node:
            case ex.Attribute(_, "as"):
                yield f"{key}: no casts; give the field its type"
            case ex.Attribute(ex.Name("_io"), name) if name not in _STREAM:
                yield f"{key}: of _io only eof, pos and size may be used"
            case ex.Name("_root" | "_parent" as name):
                yield f"{key}: no {name}; pass the value as a parameter"


def _unknown(
    model: Model, type_: Type, key: str, expression: ex.Expression, visible: frozenset[str]
) -> Messages:
    enums = {enum.id: enum for enum in model.spec(type_.spec_id).enums}
    for node in ex.walk(expression):
        match node:
            case ex.EnumMember(enum, member) if enum not in enums or member not in {
                value.id for value in enums[enum].values
            }:
                yield f"{key}: there is no {enum}::{member}"
    for name in ex.names(expression) - visible - {"_root", "_parent", "_io"}:
        if name not in _PER_ITEM:
            yield f"{key}: {name} is neither an earlier field nor a parameter of {type_.name}"
        elif key not in ("valid", "repeat-until"):
            yield f"{key}: {name} has no meaning here"


def _optional(type_: Type) -> Messages:
    for field in type_.fields:
        if field.condition is None:
            continue
        if not is_nullable(type_, field) and not _is_version_test(type_, field.condition):
            yield (
                field,
                "if: may test whether the size of a nullable payload, or the count of a nullable "
                "array, is negative, or a parameter or an earlier field with valid: against "
                "numbers, nothing else; make a separate type",
            )
        for other in type_.fields:
            for key, expression in expressions(other):
                if field.id in ex.names(expression):
                    message = "which may be absent; use a field that is always present"
                    yield other, f"{key} uses {field.id}, {message}"


def _is_version_test(type_: Type, condition: ex.Expression) -> bool:
    match condition:
        case ex.Binary("and" | "or", left, right):
            return _is_version_test(type_, left) and _is_version_test(type_, right)
        case ex.Binary(
            "==" | "!=" | "<" | "<=" | ">" | ">=",
            ex.Name(name) | ex.Attribute(ex.Name(name), "value"),
            right,
        ):
            field = type_.field_by_id.get(name)
            known = field is not None and field.valid is not None
            known |= any(parameter.id == name for parameter in type_.parameters)
            return known and ex.literal(right) is not None
    return False


def _duplicates(type_: Type) -> Messages:
    seen: set[str] = set()
    for node in (*type_.parameters, *type_.nodes):
        if node.id in seen:
            yield node, f"{type_.name} has {node.id} twice; rename one of them"
        seen.add(node.id)


def _bits(type_: Type) -> Messages:
    bits = 0
    fill = "fill them up to whole bytes with a reserved field"
    for field in type_.fields:
        if isinstance(field.type, BitsType):
            bits += field.type.width
            if field.repeat is not None or field.condition is not None:
                yield field, "a bit field is neither repeated nor optional"
            if bits % 8 == 0:
                if bits not in (8, 16, 32, 64):
                    message = "are read as one number; fill them up to 8, 16, 32 or 64"
                    yield field, f"{bits} bits {message}"
                bits = 0
        elif bits:
            yield field, f"{bits} bits stand before {field.id}; {fill}"
            bits = 0
    if bits:
        yield f"{type_.name} ends after {bits} bits; {fill}"


def _recursion(model: Model, type_: Type) -> Messages:
    def inside(key: str) -> Iterator[str]:
        for field in model.type(key).fields:
            for reference in references(field.type):
                yield model.type(reference).key

    if type_.key in reachable(type_.key, inside):
        yield (
            f"{type_.name} contains itself, so that hostile bytes could nest without end; "
            "write the levels out or leave them to the library"
        )
