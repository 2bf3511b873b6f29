"""Names in Go: those of the specification in CamelCase, with the file before those of its types."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tools.specgen.model import Enum, EnumValue, Model, Scalar, Spec, Type, TypeReference, camel

RUNTIME: Final = Path(__file__).with_name("runtime.go")
_TAKEN: Final = {
    *re.findall(r"^(?:type|func) ([A-Z]\w*)", RUNTIME.read_text(encoding="utf-8"), re.MULTILINE),
    "Columns", "Header", "Reason", "Wanted",
}  # fmt: skip
"""Names that no type of the specification can have: those of the runtime and of segments."""
_WIDTH = 100
_NUMBERS = {
    Scalar.VARINT32: "int32",
    Scalar.VARINT64: "int64",
    Scalar.UNSIGNED_VARINT32: "uint32",
}


def type_name(type_: Type) -> str:
    """Return ``IndexOffsetIndex``; a type whose name begins with that of its file has no more."""
    name = camel(type_.name)
    if not f"{type_.name}_".startswith(f"{type_.spec_id}_"):
        name = camel(type_.spec_id) + name
    return f"{name}Type" if name in _TAKEN else name


def enum_name(enum: Enum) -> str:
    """Return ``RecordbatchCompressionType``."""
    return camel(enum.spec_id) + camel(enum.id)


def constant(enum: Enum, value: EnumValue) -> str:
    """Return ``RecordbatchCompressionTypeGzip``."""
    return enum_name(enum) + camel(value.id)


def lower(name: str) -> str:
    """Return a dotted path as an identifier that begins in lower case."""
    made = exported(name)
    return made[0].lower() + made[1:]


def exported(path: str) -> str:
    """Return a dotted path as an identifier that begins in upper case."""
    return camel(path.replace(".", "_"))


def scalar_type(scalar: Scalar) -> str:
    """Return the Go type of a scalar."""
    return _NUMBERS.get(scalar, "[]byte")


def shown(model: Model, reference: TypeReference) -> Type:
    """Return the type whose value a reference shows: what is inside frames."""
    type_ = model.type(reference)
    while type_.is_frame:
        body = type_.fields[1].type
        assert isinstance(body, TypeReference)
        type_ = model.type(body)
    return type_


def comment(text: str, name: str = "") -> Iterator[str]:
    """Yield the lines of a comment in one paragraph, with the name of what it is about."""
    words = " ".join(text.split())
    if name:
        words = f"{name}: {words}" if words else f"{name}."
    for line in textwrap.wrap(words, _WIDTH, break_long_words=False, break_on_hyphens=False):
        yield f"// {line}"


def about(spec: Spec, type_: Type) -> str:
    """Return what is said about a type."""
    return type_.doc or (spec.title if type_.name == spec.id else type_.key)
