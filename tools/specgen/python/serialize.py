"""Emit ``generated/python/serialize``: one function for each type, from the model to bytes.

A function appends to ``out``. Derived fields are computed: lengths and counts in place or, like
checksums, patched when the bytes after them are there. With ``raw`` the stored values are written
instead, and the only check is that they fit.
"""

from __future__ import annotations

import re

from tools.specgen.expression import Name
from tools.specgen.facts.fields import value_types
from tools.specgen.facts.ranges import VARINTS
from tools.specgen.model import Model, Scalar, Spec, SwitchType, Type
from tools.specgen.output import Output
from tools.specgen.python.parse import taken_names
from tools.specgen.python.runs import Names, Structs
from tools.specgen.python.write_fields import FieldWriter, needed_parameters
from tools.specgen.writer import CodeWriter

_LOCALS = ("out", "value", "raw", "view", "number", "body")


def emit(model: Model) -> list[Output]:
    """Return one module for each specification, and the package."""
    outputs = [
        Output(f"python/serialize/{spec.id}.py", (spec.id,), SerializeModule(model, spec).text())
        for spec in model.specs
    ]
    sources = tuple(spec.id for spec in model.specs)
    text = '"""Serializers: functions from the typed model to bytes, by specification."""\n'
    return [*outputs, Output("python/serialize/__init__.py", sources, text)]


class SerializeModule:
    """Writer of one module of serializers."""

    def __init__(self, model: Model, spec: Spec) -> None:
        self.model = model
        self.spec = spec
        self.out = CodeWriter()
        self.structs = Structs()
        self.names = Names(taken_names(model) | frozenset(_LOCALS))

    def text(self) -> str:
        """Return the whole module without its header."""
        for type_ in self.spec.types:
            self._function(type_)
            self.out.lines("", "")
        with self.out.block(
            "SERIALIZERS: dict[str, tuple[Callable[..., None], tuple[int, ...]]] = {", "}"
        ):
            for type_ in self.spec.types:
                taken = needed_parameters(self.model, type_)
                indexes = tuple(i for i, p in enumerate(type_.parameters) if p.id in taken)
                self.out.line(f'"{type_.key}": (write_{type_.name}, {indexes!r}),')
        self.out.line('"""Functions by key of the type, and which parameters of it they take."""')
        body = self.out.text()
        return self._head(body) + body

    def _head(self, body: str) -> str:
        out = CodeWriter()
        out.line(f'"""{self.spec.title}: serializers."""')
        out.lines("", "from __future__ import annotations", "")
        out.line("from collections.abc import Callable")
        if self.structs.names:
            out.line("from struct import Struct")
        if "value: Any" in body:
            out.line("from typing import Any")
        out.line("")
        checksums = [n for n in ("crc32", "crc32c") if re.search(rf"\b{n}\(", body)]
        if checksums:
            out.line(f"from kafkaspec.checksum import {', '.join(checksums)}")
        if "KafkaSpecError" in body:
            out.line("from kafkaspec.errors import KafkaSpecError")
        out.line("")
        if "model." in body:
            out.line(f"from ..model import {self.spec.id} as model")
        for spec in self.model.specs:
            if re.search(rf"\b{spec.id}_model\.", body):
                out.line(f"from ..model import {spec.id} as {spec.id}_model")
        helpers = ("check_bytes", "check_integer", "check_items", "unencodable")
        used = [name for name in helpers if re.search(rf"\b{name}\b", body)]
        if used:
            out.line(f"from ..runtime import {', '.join(used)}")
        modules = [s.id for s in self.model.specs if re.search(rf"\b{s.id}\.write_", body)]
        if modules:
            out.line(f"from . import {', '.join(modules)}")
        out.lines("", *self.structs.lines(), "", "")
        return out.text()

    def _function(self, type_: Type) -> None:
        if type_.scalar in VARINTS:
            self._varint(type_)
        elif type_.scalar:
            self._scalar(type_)
        elif type_.is_choice:
            self._choice(type_)
        else:
            self._structure(type_)

    def _open(self, type_: Type, parameters: str = "") -> str:
        is_bytes = type_.scalar is not None and not type_.scalar.is_integer
        taken = f"out: bytearray, value: {'Any' if is_bytes else 'object'}, raw: bool{parameters}"
        return f"def write_{type_.name}({taken}) -> None:"

    def _docstring(self, type_: Type) -> None:
        self.out.line(f'"""Append a ``{type_.name}``."""')

    def _structure(self, type_: Type) -> None:
        taken = needed_parameters(self.model, type_)
        parameters = "".join(
            f", {self.names.local(p.id)}: int" for p in type_.parameters if p.id in taken
        )
        with self.out.block(self._open(type_, parameters)):
            self._docstring(type_)
            writer = FieldWriter(self.model, type_, self.out, self.structs, self.names)
            if not type_.is_frame:
                self._check_class(type_, writer)
            writer.write_all()

    def _check_class(self, type_: Type, writer: FieldWriter) -> None:
        with self.out.block(f"if not isinstance(value, {writer.class_of(type_)}):"):
            self.out.line(f'raise unencodable(value, "", "{type_.location}")')

    def _scalar(self, type_: Type) -> None:
        with self.out.block(self._open(type_, f', path: str = "", spec: str = "{type_.location}"')):
            self._docstring(type_)
            if type_.scalar is Scalar.NULLABLE_BYTES:
                with self.out.block("if value is not None:"):
                    self.out.line("check_bytes(value, path, spec)")
            else:
                self.out.line("check_bytes(value, path, spec)")
            FieldWriter(self.model, type_, self.out, self.structs, self.names).write_all()

    def _varint(self, type_: Type) -> None:
        assert type_.scalar
        _, bits, zigzag = VARINTS[type_.scalar]
        low, high = VARINTS[type_.scalar].range
        with self.out.block(self._open(type_, f', path: str = "", spec: str = "{type_.location}"')):
            self._docstring(type_)
            with self.out.block(f"if not isinstance(value, int) or not {low} <= value <= {high}:"):
                self.out.line("raise unencodable(value, path, spec)")
            coded = f"(value << 1) ^ (value >> {bits - 1})" if zigzag else "value"
            self.out.line(f"number = {coded}")
            with self.out.block("while number > 0x7F:"):
                self.out.lines("out.append((number & 0x7F) | 0x80)", "number >>= 7")
            self.out.line("out.append(number)")

    def _choice(self, type_: Type) -> None:
        """Write a choice by the class of the value; the number that the switch reads must agree."""
        field = type_.fields[0]
        kind = field.type
        assert isinstance(kind, SwitchType)
        taken = needed_parameters(self.model, type_)
        parameters = "".join(
            f", {self.names.local(p.id)}: int" for p in type_.parameters if p.id in taken
        )
        writer = FieldWriter(self.model, type_, self.out, self.structs, self.names)
        with self.out.block(self._open(type_, parameters)):
            self._docstring(type_)
            writer.with_path(f"/{field.id}", lambda: self._cases(type_, kind, writer))

    def _cases(self, type_: Type, kind: SwitchType, writer: FieldWriter) -> None:
        field = type_.fields[0]
        explicit = tuple(case for case, _ in kind.cases if case is not None)
        by_class: dict[tuple[Type, ...], list[int | None]] = {}
        for case, reference in kind.cases:
            by_class.setdefault(value_types(self.model, reference), []).append(case)
        word = "if"
        for classes, cases in by_class.items():
            reference = next(ref for case, ref in kind.cases if case in cases)
            if any(inner.scalar for inner in classes):
                raise ValueError(f"{field.location}: a switch chooses structures")
            listed = " | ".join(writer.class_of(inner) for inner in classes)
            with self.out.block(f"{word} isinstance(value, {listed}):"):
                self._agreement(type_, kind, classes, cases, explicit, writer)
                writer.call(reference, "value")
            word = "elif"
        with self.out.block("else:"):
            self.out.line(f'raise unencodable(value, "", "{field.location}")')

    def _agreement(
        self,
        type_: Type,
        kind: SwitchType,
        classes: tuple[Type, ...],
        cases: list[int | None],
        explicit: tuple[int, ...],
        writer: FieldWriter,
    ) -> None:
        field = type_.fields[0]
        own = tuple(case for case in cases if case is not None)
        excluded = tuple(case for case in explicit if case not in own)
        numbers, word = (excluded, "in") if None in cases else (own, "not in")
        if not numbers and None in cases:
            return
        assert isinstance(kind.on, Name)
        if kind.on.id in needed_parameters(self.model, type_):
            looked, where = self.names.local(kind.on.id), f'"", "{field.location}"'
        else:
            other = classes[0].field_by_id.get(kind.on.id)
            if other is None:
                raise ValueError(f"{field.location}: {classes[0].name} has no {kind.on.id}")
            if other.constant is not None:
                return
            looked, where = f"value.{other.id}", f'"/{other.id}", "{other.location}"'
        with self.out.block(f"if not raw and {looked} {word} {numbers!r}:"):
            self.out.line(f"raise unencodable({looked}, {where})")
