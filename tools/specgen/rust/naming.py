"""Names of the specification as names of Rust, and the types of its values."""

from __future__ import annotations

from tools.specgen.facts.fields import references, scalar_of
from tools.specgen.facts.segments import resolved
from tools.specgen.model import (
    BitsType,
    BytesType,
    Field,
    FloatType,
    IntegerType,
    Model,
    Parameter,
    Scalar,
    SwitchType,
    Type,
    TypeReference,
)

_KEYWORDS = frozenset((
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do",
    "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in",
    "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref",
    "return", "static", "struct", "trait", "true", "try", "type", "typeof", "unsafe",
    "unsized", "use", "virtual", "where", "while", "yield",
))  # fmt: skip
_NEVER_RAW = frozenset(("crate", "self", "super"))
_LOCALS = frozenset(("error", "found", "input", "inside", "index", "item", "start", "stop"))

ANY = "'_"
"""A lifetime without a name."""

SCALARS = {
    Scalar.VARINT32: "i32",
    Scalar.VARINT64: "i64",
    Scalar.UNSIGNED_VARINT32: "u32",
    Scalar.BYTES: "&'a [u8]",
    Scalar.NULLABLE_BYTES: "Option<&'a [u8]>",
}
"""Types of scalars."""


def identifier(name: str) -> str:
    """Return an id as an identifier: keywords are raw, so that the name stays."""
    if name in _NEVER_RAW:
        return f"{name}_"
    return f"r#{name}" if name in _KEYWORDS else name


def local(name: str) -> str:
    """Return the variable of a parser that holds a field or a parameter."""
    return f"{name}_" if name in _LOCALS else identifier(name)


def holds_bytes(model: Model, type_: Type) -> bool:
    """Return whether a structure borrows bytes of its input, so that it has a lifetime."""
    if type_.scalar:
        return not type_.scalar.is_integer
    for field in type_.fields:
        if isinstance(field.type, BytesType) and not field.is_guard:
            return True
        if any(holds_bytes(model, model.type(reference)) for reference in references(field.type)):
            return True
    return False


def has_default(model: Model, type_: Type) -> bool:
    """Return whether a structure has a default: not with a choice among structures in it."""
    if type_.scalar:
        return True
    if type_.is_choice:
        return False
    return all(
        field.condition is not None
        or field.repeat is not None
        or all(has_default(model, model.type(reference)) for reference in references(field.type))
        for field in type_.fields
    )


def is_structure(parameter: Parameter) -> bool:
    """Return whether a parameter is a structure, which a caller passes and nothing keeps."""
    return isinstance(parameter.type, TypeReference)


def path_of(home: str, other: Type, name: str) -> str:
    """Return the path of a name that belongs to a type, as the module ``home`` writes it."""
    return name if other.spec_id == home else f"super::{identifier(other.spec_id)}::{name}"


def value_of(model: Model, type_: Type, home: str, lifetime: str = "'a") -> str:
    """Return what a parser of a type returns, as the module ``home`` writes it."""
    inner = resolved(model, TypeReference(type_.spec_id, type_.name))
    if inner.scalar:
        return SCALARS[inner.scalar].replace("'a", lifetime)
    name = path_of(home, inner, inner.class_name)
    return f"{name}<{lifetime}>" if holds_bytes(model, inner) else name


def single(model: Model, home: str, field: Field) -> str:
    """Return the type of a value of a field, of an item where it is an array."""
    match field.type:
        case IntegerType(size, signed):
            return f"{'i' if signed else 'u'}{8 * size}"
        case FloatType(size):
            return f"f{8 * size}"
        case BitsType(width):
            return "bool" if field.is_bool else f"u{word(width)}"
        case BytesType():
            return "&'a [u8]"
        case TypeReference():
            return value_of(model, model.type(field.type), home)
        case SwitchType():
            raise ValueError(f"{field.location}: a switch that is not all of its type")


def type_of(model: Model, home: str, field: Field) -> str:
    """Return the type of a field."""
    text = single(model, home, field)
    if field.repeat is not None:
        text = f"Vec<{text}>"
    if field.condition is not None and not is_option(model, field):
        text = f"Option<{text}>"
    return text


def is_option(model: Model, field: Field) -> bool:
    """Return whether a single value of the field is null by itself."""
    return field.repeat is None and scalar_of(model, field) is Scalar.NULLABLE_BYTES


def word(width: int) -> int:
    """Return the bits of the smallest integer that holds so many bits."""
    return next(bits for bits in (8, 16, 32, 64) if width <= bits)


def instance_parameters(type_: Type) -> list[Parameter]:
    """Return the structures that a value instance, or the tree of a value, needs besides."""
    return [parameter for parameter in type_.parameters if is_structure(parameter)]
