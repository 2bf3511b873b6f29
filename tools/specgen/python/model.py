"""Emit ``generated/python/model``: the typed model, which all codecs share."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from tools.specgen.expression import literal
from tools.specgen.facts.fields import is_computed, is_nullable, model_fields, value_types
from tools.specgen.model import (
    BitsType,
    BytesType,
    Default,
    Enum,
    Field,
    FloatType,
    IntegerType,
    Model,
    Scalar,
    Spec,
    SwitchType,
    Type,
    TypeReference,
    ValueInstance,
    camel,
)
from tools.specgen.output import Output
from tools.specgen.python.expressions import Translator
from tools.specgen.writer import CodeWriter

_WIDTH = 100
_HEAD = '''"""{title}: the typed model."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from ..runtime import Buffer, signed64
{others}

'''


def emit(model: Model) -> list[Output]:
    """Return one module for each specification with structures or enumerations, and the package."""
    outputs = [
        Output(f"python/model/{spec.id}.py", (spec.id,), _Module(model, spec).text())
        for spec in model.specs
        if spec.enums or _structures(spec)
    ]
    return [*outputs, _package(model)]


def _structures(spec: Spec) -> list[Type]:
    return [type_ for type_ in spec.types if not type_.is_transparent]


class _Module:
    """Writer of one module of the model."""

    def __init__(self, model: Model, spec: Spec) -> None:
        self.model = model
        self.spec = spec
        self.out = CodeWriter()

    def text(self) -> str:
        closure = self.model.closure(self.spec.id)
        others = [spec.id for spec in closure if spec.id != self.spec.id]
        others_line = f"from . import {', '.join(others)}" if others else ""
        self.out.lines(*_HEAD.format(title=self.spec.title, others=others_line).split("\n"))
        for enum in self.spec.enums:
            self._enum(enum)
        for type_ in self._ordered():
            self._class(type_)
        self._registry()
        return self.out.text()

    def _ordered(self) -> list[Type]:
        """Return the structures in the order of the file, those in defaults first."""
        ordered: list[Type] = []

        def add(type_: Type) -> None:
            for field in type_.fields:
                if isinstance(field.type, TypeReference) and self._has_factory(field):
                    needed = self.model.type(field.type)
                    if needed.spec_id == self.spec.id:
                        add(needed)
            if type_ not in ordered:
                ordered.append(type_)

        for type_ in _structures(self.spec):
            add(type_)
        return ordered

    def _enum(self, enum: Enum) -> None:
        with self.out.block(f"class {camel(enum.id)}(IntEnum):"):
            self.out.line(f'"""Values of ``{enum.id}``."""')
            self.out.line()
            for value in enum.values:
                self.out.line(f"{value.id.upper()} = {value.value}")
                if value.doc:
                    self._docstring([value.doc])
        self.out.lines("", "")

    def _class(self, type_: Type) -> None:
        self.out.line("@dataclass(slots=True, kw_only=True)")
        with self.out.block(f"class {type_.class_name}:"):
            self._docstring(list(self._class_doc(type_)))
            self.out.line()
            for parameter in type_.parameters:
                if isinstance(parameter.type, IntegerType):
                    self.out.line(f"{parameter.id}: int")
                else:
                    hint = self._class_reference(self.model.type(parameter.type))
                    self.out.line(f"{parameter.id}: {hint} = field(repr=False)")
            for field in model_fields(type_):
                self._field(type_, field)
            self._post_init(type_)
            for instance in type_.value_instances:
                self._property(type_, instance)
        self.out.lines("", "")

    def _class_doc(self, type_: Type) -> Iterator[str]:
        yield type_.doc or f"``{type_.name}``."
        entries = [(p.id, p.doc) for p in type_.parameters]
        entries += [(field.id, _field_doc(type_, field)) for field in model_fields(type_)]
        lines = []
        for name, doc in entries:
            if doc:
                text = f"{name}: {' '.join(doc.split())}"
                lines += textwrap.wrap(
                    text, _WIDTH - 8, initial_indent="    ", subsequent_indent="        "
                )
        if lines:
            yield "\n".join(["Attributes:", *lines])

    def _docstring(self, paragraphs: list[str]) -> None:
        text = "\n\n".join(paragraphs).replace("\\", "\\\\").replace('"""', "'''")
        lines = text.split("\n")
        if lines[-1].endswith('"'):
            lines[-1] += " "
        if len(lines) == 1:
            self.out.line(f'"""{lines[0]}"""')
            return
        self.out.line(f'"""{lines[0]}')
        self.out.lines(*lines[1:], '"""')

    def _field(self, type_: Type, field: Field) -> None:
        hint = self._hint(field)
        if is_computed(type_, field):
            known = field.constant if field.derive is None else None
            hint = hint if known is not None else f"{hint} | None"
            self.out.line(f"{field.id}: {hint} = field(init=False, compare=False, default={known})")
            return
        if field.condition is not None:
            hint = _optional(hint)
            if not is_nullable(type_, field):
                self.out.line(f"{field.id}: {hint} = None")
                return
        default = self._default(field)
        self.out.line(f"{field.id}: {hint}{f' = {default}' if default else ''}")

    def _default(self, field: Field) -> str:
        if self._has_factory(field):
            assert isinstance(field.type, TypeReference)
            return f"field(default_factory={self._class_reference(self.model.type(field.type))})"
        match field.default:
            case None:
                return ""
            case Default(()):
                return "field(default_factory=list)" if field.repeat else 'b""'
            case Default(0) if isinstance(field.type, BytesType):
                return f"bytes({literal(field.type.size)})"
            case Default(int(value)) if isinstance(field.type, FloatType):
                return str(float(value))
            case Default(int(value)) if field.is_bool:
                return str(bool(value))
            case Default(value):
                return str(value)

    def _has_factory(self, field: Field) -> bool:
        """Return whether a structure can be made without arguments."""
        if field.repeat or field.condition or not isinstance(field.type, TypeReference):
            return False
        type_ = self.model.type(field.type)
        return (
            not type_.is_transparent
            and not type_.parameters
            and all(
                is_computed(type_, inner)
                or (inner.condition is not None and not is_nullable(type_, inner))
                or inner.default is not None
                or self._has_factory(inner)
                for inner in model_fields(type_)
            )
        )

    def _post_init(self, type_: Type) -> None:
        """Write the defaults of optional fields: present if their condition holds."""
        chosen = [
            field
            for field in type_.fields
            if field.condition is not None
            and field.default is not None
            and not is_nullable(type_, field)
        ]
        if not chosen:
            return
        self.out.line()
        translator = self._translator(type_)
        with self.out.block("def __post_init__(self) -> None:"):
            for field in chosen:
                assert field.condition is not None
                assert field.default is not None
                condition = translator.text(field.condition)
                with self.out.block(f"if self.{field.id} is None and {condition}:"):
                    self.out.line(f"self.{field.id} = {self._default(field)}")

    def _property(self, type_: Type, instance: ValueInstance) -> None:
        translator = self._translator(type_)
        hint = "bool" if translator.is_boolean(instance.value) else "int"
        if instance.condition is not None:
            hint += " | None"
        self.out.line()
        self.out.line("@property")
        with self.out.block(f"def {instance.id}(self) -> {hint}:"):
            self._docstring([instance.doc or f"``{instance.id}``."])
            if instance.condition is not None:
                self.out.when(f"{translator.negated(instance.condition)}", "return None")
            self.out.line(f"return {translator.text(instance.value)}")

    def _translator(self, type_: Type) -> Translator:
        return Translator(
            self.model, type_, lambda name: f"self.{name}", enum_names=True, wrap=True
        )

    def _hint(self, field: Field) -> str:
        hint = self._single_hint(field)
        return f"list[{hint}]" if field.repeat else hint

    def _single_hint(self, field: Field) -> str:
        match field.type:
            case BytesType(size):
                return "Buffer" if size is None else "bytes"
            case IntegerType() | BitsType():
                return "bool" if field.is_bool else "int"
            case FloatType():
                return "float"
            case TypeReference():
                types = value_types(self.model, field.type)
            case SwitchType(cases=cases):
                types = tuple(t for _, case in cases for t in value_types(self.model, case))
        hints = dict.fromkeys(self._value_hint(type_) for type_ in types)
        return " | ".join(hints)

    def _value_hint(self, type_: Type) -> str:
        match type_.scalar:
            case None:
                return self._class_reference(type_)
            case Scalar.NULLABLE_BYTES:
                return "bytes | None"
            case Scalar.BYTES:
                return "bytes"
        return "int"

    def _class_reference(self, type_: Type) -> str:
        if type_.spec_id == self.spec.id:
            return type_.class_name
        return f"{type_.spec_id}.{type_.class_name}"

    def _registry(self) -> None:
        with self.out.block("CLASSES: dict[str, type[Any]] = {", "}"):
            for type_ in _structures(self.spec):
                self.out.line(f'"{type_.key}": {type_.class_name},')
        self.out.line('"""Classes by key of the type."""')


def _field_doc(type_: Type, field: Field) -> str:
    if is_computed(type_, field) and field.derive is not None:
        return f"{field.doc} Writers compute it; None if it was not read.".strip()
    return field.doc


def _optional(hint: str) -> str:
    return hint if hint.endswith("| None") else f"{hint} | None"


_PACKAGE = '''"""The typed model: one class for each structure of the specification."""

from __future__ import annotations

from importlib import import_module
from typing import Any

SPECS = {specs!r}
"""Specifications that have classes."""


def model_class(key: str) -> type[Any]:
    """Return the class of a structure by its key, ``recordbatch.record``.

    Raises:
        KeyError: there is no such structure.
    """
    spec_id = key.partition(".")[0]
    if spec_id not in SPECS:
        raise KeyError(key)
    classes = import_module(f".{{spec_id}}", __name__).CLASSES
    found: type[Any] = classes[key]
    return found
'''


def _package(model: Model) -> Output:
    specs = tuple(spec.id for spec in model.specs if _structures(spec))
    every = tuple(spec.id for spec in model.specs)
    return Output("python/model/__init__.py", every, _PACKAGE.format(specs=specs))
