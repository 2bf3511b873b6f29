"""The shape of a message in one version, from a schema and from the specification.

Both sides are brought to the same terms, Kafka's, so that a difference is a difference of the
format: which fields there are, in which order, of which type, tagged or not, nullable or not, and
what a reader takes for a tag that is absent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kafkaspec.layout.names import MESSAGE_FRAME, SCHEMA_VERSION, TAGGED_FIELDS, TRUTH
from tools.import_messages.schema import Schema, SchemaField
from tools.import_messages.structure import INTEGERS, given_default, implied_default
from tools.specgen.evaluate import evaluate
from tools.specgen.facts.fields import is_nullable, scalar_of
from tools.specgen.model import (
    BytesType,
    Default,
    Field,
    FloatType,
    IntegerType,
    Model,
    SwitchType,
    Type,
    TypeReference,
)

_FRAME = MESSAGE_FRAME - {TAGGED_FIELDS}
_LETTERS = {letter: kind for kind, letter in INTEGERS.items()}
_TEXTS = {
    "plain_string": ("string", False), "string": ("string", False),
    "nullable_string": ("string", True),
    "byte_array": ("bytes", False), "nullable_byte_array": ("bytes", True),
}  # fmt: skip


@dataclass(frozen=True)
class Shape:
    """A field in one version.

    Attributes:
        name: Kafka's name.
        type: type in Kafka's schema language; ``struct`` for a structure.
        flexible: whether its size or count is compact; None where there is none.
        nullable: whether it may be null.
        tag: its tag, None for a positional field.
        default: as ``-default`` has it, "" for none. It is compared where it is written down.
        fields: those of the structure that it is, or has as items.
    """

    name: str
    type: str
    flexible: bool | None = None
    nullable: bool = False
    tag: int | None = None
    default: str = ""
    fields: tuple[Shape, ...] = ()

    def lines(self, indent: str = "") -> Iterator[str]:
        """Yield the field and all inside as lines, which a difference is shown in."""
        words = [self.name, self.type]
        words += ["nullable"] * self.nullable
        words += [{None: "", True: "compact", False: "rigid"}[self.flexible]]
        words += [f"tag {self.tag}"] if self.tag is not None else []
        words += [f"default {self.default}"] if self.default else []
        yield indent + " ".join(word for word in words if word)
        for field in self.fields:
            yield from field.lines(indent + "  ")


_SECTION = Shape(TAGGED_FIELDS, "section")
"""The end of a structure in a flexible version, whether or not it knows tags."""


def of_schema(schema: Schema, version: int) -> tuple[Shape, ...]:
    """Return the shape of a version of a schema."""
    return tuple(_of_fields(schema, schema.fields, version))


def _of_fields(schema: Schema, fields: tuple[SchemaField, ...], version: int) -> Iterator[Shape]:
    tagged = [field for field in fields if field.tagged is not None and version in field.tagged]
    plain = [field for field in fields if field not in tagged and field.exists(version)]
    if not schema.is_flexible(version):
        tagged = []
    for field in (*plain, *sorted(tagged, key=lambda field: field.tag or 0)):
        kind = field.type
        inner: tuple[Shape, ...] = ()
        flexible: bool | None = None
        if field.element not in (*INTEGERS, "bool", "uuid", "string", "bytes"):
            kind = "[]struct" if field.is_array else "struct"
            inner = tuple(_of_fields(schema, schema.fields_of(field), version))
        if field.is_array or field.element in ("string", "bytes"):
            flexible = schema.is_flexible(version)
        tag = field.tag if field in tagged else None
        default = given_default(field)
        if tag is not None and default is None:
            default = implied_default(field)
        nullable = field.nullable is not None and version in field.nullable
        yield Shape(field.name, kind, flexible, nullable, tag, default or "", inner)
    if schema.is_flexible(version):
        yield _SECTION


def of_spec(model: Model, type_: Type, version: int) -> tuple[Shape, ...]:
    """Return the shape of a version of a message of the specification."""
    return tuple(_of_type(model, type_, {SCHEMA_VERSION: version}))


def _of_type(model: Model, type_: Type, scope: Mapping[str, Any]) -> Iterator[Shape]:
    """Yield the fields of a type; what only serves to choose or to count is left out."""
    for field in type_.fields:
        measured = field.derive is not None and not field.derive.function.is_checksum
        if field.is_guard or measured or field.id in _FRAME:
            continue
        nullable = is_nullable(type_, field)
        if field.condition is not None and not nullable and not evaluate(field.condition, scope):
            continue
        if isinstance(field.type, TypeReference) and field.repeat is None:
            inner = model.type(field.type)
            arguments = [evaluate(argument, scope) for argument in field.type.arguments]
            names = [parameter.id for parameter in inner.parameters]
            below = dict(zip(names, arguments, strict=True))
            if inner.is_choice:
                yield from _of_type(model, _chosen(model, inner, below), below)
                continue
            if _is_section(inner):
                yield from _of_section(model, inner)
                yield _SECTION
                continue
            if _is_array(inner, field):
                yield from _of_type(model, inner, below)
                continue
        yield _of_field(model, type_, field, scope, nullable=nullable)


def _chosen(model: Model, choice: Type, scope: Mapping[str, Any]) -> Type:
    kind = choice.fields[0].type
    assert isinstance(kind, SwitchType)
    cases = dict(kind.cases)
    number = evaluate(kind.on, scope)
    return model.type(cases[number] if number in cases else cases[None])


def _is_section(type_: Type) -> bool:
    return type_.fields[-1].ascending is not None


def _is_array(type_: Type, field: Field) -> bool:
    """Return whether a type is an array that not all versions have."""
    return type_.scalar is None and len(type_.fields) == 2 and type_.fields[1].id == field.id


def _of_section(model: Model, section: Type) -> Iterator[Shape]:
    """Yield the tagged fields that a section knows."""
    item = model.inner(section.fields[-1])
    content = item.fields[-1]
    if not isinstance(content.type, TypeReference):
        return  # flexible::tagged_fields knows none
    choice = model.type(content.type).fields[0].type
    assert isinstance(choice, SwitchType)
    for tag, reference in choice.cases:
        if tag is not None:
            for shape in _of_type(model, model.type(reference), {}):
                yield Shape(
                    shape.name, shape.type, shape.flexible, shape.nullable, tag,
                    shape.default, shape.fields,
                )  # fmt: skip


def _of_field(
    model: Model, type_: Type, field: Field, scope: Mapping[str, Any], *, nullable: bool
) -> Shape:
    kind = "struct"
    flexible: bool | None = None
    inner: tuple[Shape, ...] = ()
    match field.type:
        case IntegerType(size, signed):
            kind = _LETTERS[f"{'s' if signed else 'u'}{size}"] if size > 1 else "int8"
            kind = "bool" if field.enum == TRUTH else kind
        case FloatType():
            kind = "float64"
        case BytesType():
            kind = "uuid"
        case TypeReference(spec_id=spec_id, name=name):
            used = model.type(field.type)
            if spec_id == "primitive" and name == "uuid":
                kind = "uuid"
            elif used.scalar is not None:
                flexible = name.startswith("compact_")
                kind, null = _TEXTS[name.removeprefix("compact_")]
                nullable |= null
            else:
                arguments = [evaluate(argument, scope) for argument in field.type.arguments]
                names = [parameter.id for parameter in used.parameters]
                inner = tuple(_of_type(model, used, dict(zip(names, arguments, strict=True))))
    if field.repeat is not None:
        count = next(item for item in type_.fields if item.derive and item.derive.first == field.id)
        flexible = scalar_of(model, count) is not None
        kind = f"[]{kind}"
    name = field.original_id or _camel(field.id)
    return Shape(name, kind, flexible, nullable, None, _text(field.default), inner)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def _text(default: Default | None) -> str:
    if default is None:
        return ""
    return {(): "[]", None: "null"}.get(default.value, str(default.value))  # type: ignore[arg-type]
