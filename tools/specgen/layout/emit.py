"""Emit ``generated/layout``: the specification as tables of ``kafkaspec.layout`` classes."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any

from kafkaspec.layout import (
    Checksum,
    DeadLetterHeader,
    DeadLetterLayout,
    EntryFile,
    EntryKind,
    EntrySource,
    FieldLayout,
    FileLayout,
    Form,
    HeadField,
    Kind,
    MessageLayout,
    PeekLayout,
    Role,
    TextFormat,
    TextKey,
    TextLayout,
    TypeLayout,
)
from tools.specgen.expression import Int
from tools.specgen.facts.fields import null_mark
from tools.specgen.facts.files import files
from tools.specgen.facts.kinds import entry_files, entry_kinds
from tools.specgen.facts.messages import heads, messages
from tools.specgen.facts.ranges import first_version, is_text
from tools.specgen.facts.sizes import checksum_of, fixed_size, minimum_size
from tools.specgen.model import (
    BitsType,
    BytesType,
    Default,
    Derive,
    DeriveFunction,
    Field,
    FieldType,
    FloatType,
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

_TABLES = (
    MessageLayout, TypeLayout, FieldLayout, PeekLayout, Checksum, EntryFile, EntryKind, FileLayout,
    TextKey, TextLayout, DeadLetterHeader, DeadLetterLayout,
)  # fmt: skip


def emit(model: Model) -> list[Output]:
    """Return one module per specification and a package that joins their tables."""
    outputs = [
        Output(f"layout/{spec.id}.py", (spec.id,), _module(model, spec)) for spec in model.specs
    ]
    tables = (_files, _messages, _topics, _texts, _dead_letters, _package)
    return [*outputs, *(table(model) for table in tables)]


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
        text=is_text(model, type_),
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
        case FloatType():
            return Kind.FLOAT
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
        since=first_version(field),
        derive=derive.function if derive else "",
        derive_from=derive.first if derive else "",
        derive_plus=_derive_plus(type_, derive),
        ascending=field.ascending or "",
        known=field.known,
        default=_default(field),
        opaque_count=type_.is_opaque_count(field),
        constant=field.constant,
        enum=field.enum or "",
        original_id=field.original_id or "",
        doc=field.doc,
    )


def _derive_plus(type_: Type, derive: Derive | None) -> int:
    if derive is None or derive.function is not DeriveFunction.PRESENT:
        return derive.plus if derive else 0
    null = null_mark(type_, type_.field_by_id[derive.first])
    return 0 if null is None else null + 1


def _default(field: Field) -> str:
    match field.default:
        case None:
            return ""
        case Default(None):
            return "null"
        case Default(()):
            return "[]"
        case Default(number):
            return str(number)


def _size(kind: FieldType) -> int:
    if isinstance(kind, IntegerType | FloatType):
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


_MODULE = '''"""Layout tables of {name}."""

from __future__ import annotations

from kafkaspec.layout import Checksum, FieldLayout, Form, Kind, PeekLayout, TypeLayout

'''
_PACKAGE = '''"""Layout tables of all types, by key (``recordbatch.record``)."""

from __future__ import annotations

from kafkaspec.layout import EntryFile, EntryKind, Layouts

SPECIFICATION = "@SPECIFICATION@"
"""SHA-256 of the specification that all generated code is made from."""

LAYOUTS = Layouts(__name__, {specs!r})

'''


def _module(model: Model, spec: Spec) -> str:
    out = CodeWriter()
    with out.block("LAYOUTS: tuple[TypeLayout, ...] = (", ")"):
        for type_ in spec.types:
            out.line(f"{_literal(type_layout(model, type_))},")
    return _MODULE.format(name=spec.file_name) + out.text()


def _literal(value: Any) -> str:
    """Return the source text of a value, without fields that have their default."""
    if isinstance(value, Form | Kind | Role | TextFormat):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, HeadField | EntrySource):
        return f"{type(value).__name__}{tuple(value)!r}"
    if isinstance(value, tuple):
        return f"({''.join(_literal(item) + ',' for item in value)})"
    if isinstance(value, frozenset):
        return f"frozenset({{{', '.join(map(repr, sorted(value)))}}})"
    if isinstance(value, _TABLES):
        parts = [
            f"{field.name}={_literal(getattr(value, field.name))}"
            for field in fields(value)
            if field.default is MISSING or getattr(value, field.name) != field.default
        ]
        return f"{type(value).__name__}({', '.join(parts)})"
    return repr(str(value)) if isinstance(value, str) else repr(value)


def _package(model: Model) -> Output:
    out = CodeWriter()
    with out.block("ENUMS: dict[str, dict[int, tuple[str, str]]] = {", "}"):
        for spec in model.specs:
            for enum in spec.enums:
                with out.block(f'"{enum.key}": {{', "},"):
                    for value in enum.values:
                        out.line(f"{value.value}: ({value.id!r}, {value.shown!r}),")
    out.line('"""Names of numbers in the specification and in Kafka, by key of the enumeration."""')
    out.line()
    with out.block("ENTRY_KINDS: dict[str, dict[int, EntryKind]] = {", "}"):
        for key, kinds in entry_kinds(model).items():
            with out.block(f"{key!r}: {{", "},"):
                for number, kind in kinds.items():
                    out.line(f"{number}: {_literal(kind)},")
    out.line('"""Formats of log entries by their magic, by key of the type of the entry."""')
    out.line()
    with out.block("ENTRY_FILES: dict[str, EntryFile] = {", "}"):
        for spec_id, file in entry_files(model).items():
            out.line(f"{spec_id!r}: {_literal(file)},")
    out.line('"""Files that hold log entries, by the id of their specification."""')
    ids = tuple(spec.id for spec in model.specs)
    return Output("layout/__init__.py", ids, _PACKAGE.format(specs=ids) + out.text())


_FILES = '''"""Kinds of files, by how their names end."""

from __future__ import annotations

from kafkaspec.layout import EntrySource, FileLayout

'''


def _files(model: Model) -> Output:
    out = CodeWriter()
    with out.block("FILES: dict[str, FileLayout] = {", "}"):
        for file in files(model):
            out.line(f"{file.suffix!r}: {_literal(file)},")
    ids = tuple(spec.id for spec in model.specs if spec.file_extensions)
    return Output("layout/files.py", ids, _FILES + out.text())


_MESSAGES = '''"""Kafka's messages: what each type of the specification is in a topic."""

from __future__ import annotations

from kafkaspec.layout import HeadField, MessageLayout, Role

'''
_TOPICS = '''"""Kafka's own topics, whose records hold messages."""

from __future__ import annotations

from enum import StrEnum


class Topic(StrEnum):
    """A topic by its name."""

'''


def _messages(model: Model) -> Output:
    out = CodeWriter()
    with out.block("HEADS: dict[str, tuple[HeadField, ...]] = {", "}"):
        for topic, fields in heads(model).items():
            out.line(f"{topic!r}: {_literal(fields)},")
    out.line(
        '"""What a key begins with, or a value without one, by topic; the last is the type."""'
    )
    out.line()
    with out.block("MESSAGES: tuple[MessageLayout, ...] = (", ")"):
        for message in messages(model):
            out.line(f"{_literal(message)},")
    ids = tuple(spec.id for spec in model.specs if spec.is_message)
    return Output("layout/messages.py", ids, _MESSAGES + out.text())


def _topics(model: Model) -> Output:
    lines = [f"    {topic.strip('_').upper()} = {topic!r}\n" for topic in heads(model)]
    ids = tuple(spec.id for spec in model.specs if spec.is_message)
    return Output("layout/topics.py", ids, _TOPICS + "".join(lines))


_TEXTS = '''"""Text files: their formats, and which keys each of their versions has."""

from __future__ import annotations

from kafkaspec.layout import TextFormat, TextKey, TextLayout

'''


def _texts(model: Model) -> Output:
    out = CodeWriter()
    with out.block("TEXTS: dict[str, TextLayout] = {", "}"):
        for text in model.texts:
            out.line(f"{text.name!r}: {_literal(text)},")
    return Output("layout/texts.py", tuple(spec.id for spec in model.specs), _TEXTS + out.text())


_DEAD_LETTERS = '''"""Headers of dead letters, by what writes them."""

from __future__ import annotations

from kafkaspec.layout import DeadLetterHeader, DeadLetterLayout

'''


def _dead_letters(model: Model) -> Output:
    out = CodeWriter()
    with out.block("DEAD_LETTERS: tuple[DeadLetterLayout, ...] = (", ")"):
        for layout in model.dead_letters:
            out.line(f"{_literal(layout)},")
    ids = tuple(spec.id for spec in model.specs)
    return Output("layout/dead_letters.py", ids, _DEAD_LETTERS + out.text())
