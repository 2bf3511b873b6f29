"""Emit ``generated/layout``: the specification as tables of ``kafkaspec.layout`` classes."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any

from kafkaspec.layout import (
    Checksum,
    EntryKind,
    FieldLayout,
    Form,
    Kind,
    PeekLayout,
    TypeLayout,
)
from tools.specgen.expression import Int
from tools.specgen.facts.sizes import checksum_of, fixed_size, minimum_size
from tools.specgen.layout.kinds import entry_kinds
from tools.specgen.model import (
    BitsType,
    BytesType,
    Field,
    FieldType,
    IntegerType,
    Model,
    PeekInstance,
    Spec,
    SwitchType,
    Type,
    TypeReference,
)
from tools.specgen.output import Output
from tools.specgen.writer import CodeWriter


def emit(model: Model) -> list[Output]:
    """Return one module per specification and a package that joins their tables."""
    outputs = [
        Output(f"layout/{spec.id}.py", (spec.id,), _module(model, spec)) for spec in model.specs
    ]
    return [*outputs, _package(model)]


def type_layout(model: Model, type_: Type) -> TypeLayout:
    """Return the layout table of one type."""
    return TypeLayout(
        key=type_.key,
        class_name=type_.class_name,
        form=_form(type_),
        location=type_.location,
        parameters=tuple(
            (
                parameter.id,
                f"{parameter.type.spec_id}.{parameter.type.name}"
                if isinstance(parameter.type, TypeReference)
                else "",
            )
            for parameter in type_.parameters
        ),
        fields=tuple(_field(model, type_, field) for field in type_.fields),
        peeks=tuple(_peek(peek) for peek in type_.peek_instances),
        instances=tuple(instance.id for instance in type_.value_instances),
        scalar=type_.scalar or "",
        minimum_size=minimum_size(model, type_),
        fixed_size=fixed_size(model, type_),
        checksum=_checksum(model, type_),
        doc=type_.doc,
    )


def _form(type_: Type) -> Form:
    if type_.scalar:
        return Form.SCALAR
    if type_.is_frame:
        return Form.FRAME
    return Form.CHOICE if type_.is_choice else Form.STRUCTURE


def _kind(model: Model, field: Field) -> Kind:
    if field.is_guard:
        return Kind.GUARD
    match field.type:
        case IntegerType():
            return Kind.INTEGER
        case BitsType():
            return Kind.BITS
        case BytesType():
            return Kind.BYTES
        case SwitchType():
            return Kind.CHOICE
        case TypeReference():
            return Kind.SCALAR if model.type(field.type).scalar else Kind.TYPE


def _field(model: Model, type_: Type, field: Field) -> FieldLayout:
    kind = field.type
    derive = field.derive
    return FieldLayout(
        id=field.id,
        kind=_kind(model, field),
        location=field.location,
        type=f"{kind.spec_id}.{kind.name}" if isinstance(kind, TypeReference) else "",
        cases=tuple((case, f"{ref.spec_id}.{ref.name}") for case, ref in kind.cases)
        if isinstance(kind, SwitchType)
        else (),
        size=_size(kind),
        width=kind.width if isinstance(kind, BitsType) else 0,
        signed=isinstance(kind, IntegerType) and kind.signed,
        boolean=field.is_bool,
        repeated=field.repeat is not None,
        optional=field.condition is not None,
        derive=derive.function if derive else "",
        derive_from=derive.first if derive else "",
        derive_plus=derive.plus if derive else 0,
        opaque_count=type_.is_opaque_count(field),
        constant=field.constant,
        enum=f"{type_.spec_id}.{field.enum}" if field.enum else "",
        original_id=field.original_id or "",
        doc=field.doc,
    )


def _size(kind: FieldType) -> int:
    if isinstance(kind, IntegerType):
        return kind.size
    return kind.size.value if isinstance(kind, BytesType) and isinstance(kind.size, Int) else 0


def _peek(peek: PeekInstance) -> PeekLayout:
    assert isinstance(peek.position, Int)
    assert isinstance(peek.type, IntegerType)
    return PeekLayout(
        id=peek.id,
        location=peek.location,
        position=peek.position.value,
        size=peek.type.size,
        signed=peek.type.signed,
        doc=peek.doc,
    )


def _checksum(model: Model, type_: Type) -> Checksum | None:
    found = checksum_of(model, type_)
    if found is None:
        return None
    return Checksum(found.field.id, found.function, found.position, found.start)


def _module(model: Model, spec: Spec) -> str:
    out = CodeWriter()
    layouts = [type_layout(model, type_) for type_ in spec.types]
    used = {type(value).__name__ for layout in layouts for value in _nodes(layout)}
    out.line(f'"""Layout tables of {spec.file_name}."""')
    out.line()
    out.line("from __future__ import annotations")
    out.line()
    out.line(f"from kafkaspec.layout import {', '.join(sorted(used))}")
    out.line()
    with out.block("LAYOUTS: tuple[TypeLayout, ...] = (", ")"):
        for layout in layouts:
            out.line(f"{_literal(layout)},")
    return out.text()


def _nodes(value: Any) -> list[Any]:
    """Return the value and all values in it whose classes are in ``kafkaspec.layout``."""
    if isinstance(value, tuple):
        return [node for item in value for node in _nodes(item)]
    if isinstance(value, Form | Kind):
        return [value]
    if isinstance(value, TypeLayout | FieldLayout | PeekLayout | Checksum):
        inner = [_nodes(getattr(value, field.name)) for field in fields(value)]
        return [value, *(node for nodes in inner for node in nodes)]
    return []


def _literal(value: Any) -> str:
    """Return the source text of a value, without fields that have their default."""
    if isinstance(value, Form | Kind):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, tuple):
        return f"({''.join(_literal(item) + ',' for item in value)})"
    if isinstance(value, frozenset):
        return f"frozenset({{{', '.join(map(repr, sorted(value)))}}})"
    if isinstance(value, TypeLayout | FieldLayout | PeekLayout | Checksum | EntryKind):
        parts = [
            f"{field.name}={_literal(getattr(value, field.name))}"
            for field in fields(value)
            if field.default is MISSING or getattr(value, field.name) != field.default
        ]
        return f"{type(value).__name__}({', '.join(parts)})"
    return repr(str(value)) if isinstance(value, str) else repr(value)


def _package(model: Model) -> Output:
    out = CodeWriter()
    out.line('"""Layout tables of all types, by key (``recordbatch.record``)."""')
    out.line()
    out.line("from __future__ import annotations")
    out.line()
    out.line("from kafkaspec.layout import EntryKind, TypeLayout")
    out.line()
    for spec in model.specs:
        out.line(f"from . import {spec.id}")
    out.line()
    out.line('SPECIFICATION = "@SPECIFICATION@"')
    out.line('"""SHA-256 of the specification that all generated code is made from."""')
    out.line()
    with out.block("LAYOUTS: dict[str, TypeLayout] = {", "}"):
        out.line("layout.key: layout")
        out.line(f"for module in ({', '.join(spec.id for spec in model.specs)},)")
        out.line("for layout in module.LAYOUTS")
    out.line()
    with out.block("ENUMS: dict[str, dict[int, tuple[str, str]]] = {", "}"):
        for spec in model.specs:
            for enum in spec.enums:
                with out.block(f'"{spec.id}.{enum.id}": {{', "},"):
                    for value in enum.values:
                        out.line(f"{value.value}: ({value.id!r}, {value.doc!r}),")
    out.line('"""Names and meanings of enumerated values, by key of the enumeration."""')
    out.line()
    with out.block("ENTRY_KINDS: dict[str, dict[int, EntryKind]] = {", "}"):
        for key, kinds in entry_kinds(model).items():
            with out.block(f"{key!r}: {{", "},"):
                for number, kind in kinds.items():
                    out.line(f"{number}: {_literal(kind)},")
    out.line('"""Formats of log entries by their magic, by key of the type of the entry."""')
    return Output("layout/__init__.py", tuple(spec.id for spec in model.specs), out.text())
