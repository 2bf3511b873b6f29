"""Emit ``generated/python/parse``: one checked, straight-line function for each type.

A function takes the buffer, the position, the end of the stream and whether that end is final
(``complete``), then the parameters of the type; it returns the value and the position after it.
Paths of errors grow on the way out: each caller adds its own field before the path.
"""

from __future__ import annotations

import builtins
import re

from tools.specgen.facts.fields import is_computed, model_fields, value_types
from tools.specgen.facts.ranges import VARINTS
from tools.specgen.model import Model, Parameter, Scalar, Spec, Type, TypeReference
from tools.specgen.output import Output
from tools.specgen.python.parse_fields import FieldReader, bulk_run, is_bulk
from tools.specgen.python.runs import Names, Structs
from tools.specgen.writer import CodeWriter

_LOCALS = (
    "buffer", "pos", "end", "complete", "start", "stop", "base", "item", "index", "count", "result",
    "error", "model", "path", "spec", "byte", "shift",
)  # fmt: skip


def emit(model: Model) -> list[Output]:
    """Return one module for each specification, and the package."""
    outputs = [
        Output(f"python/parse/{spec.id}.py", (spec.id,), ParseModule(model, spec).text())
        for spec in model.specs
    ]
    text = '"""Parsers: checked functions from bytes to the typed model, by specification."""\n'
    return [*outputs, Output("python/parse/__init__.py", _all(model), text)]


def taken_names(model: Model) -> frozenset[str]:
    """Return names that local variables of generated functions may not have."""
    specs = (spec.id for spec in model.specs)
    return frozenset((*_LOCALS, *specs, *dir(builtins)))


def _all(model: Model) -> tuple[str, ...]:
    return tuple(spec.id for spec in model.specs)


class ParseModule:
    """Writer of one module of parsers."""

    def __init__(self, model: Model, spec: Spec) -> None:
        self.model = model
        self.spec = spec
        self.out = CodeWriter()
        self.structs = Structs()
        self.names = Names(taken_names(model))

    def text(self) -> str:
        """Return the whole module without its header."""
        for type_ in self.spec.types:
            self._function(type_)
            self.out.lines("", "")
            if is_bulk(self.model, type_):
                self._bulk(type_)
                self.out.lines("", "")
        with self.out.block("PARSERS: dict[str, Callable[..., tuple[Any, int]]] = {", "}"):
            for type_ in self.spec.types:
                self.out.line(f'"{type_.key}": parse_{type_.name},')
        self.out.line('"""Functions by key of the type."""')
        body = self.out.text()
        return self._head(body) + body

    def _head(self, body: str) -> str:
        out = CodeWriter()
        out.line(f'"""{self.spec.title}: parsers."""')
        out.lines("", "from __future__ import annotations", "")
        out.line("from collections.abc import Callable")
        if self.structs.names:
            out.line("from struct import Struct")
        out.lines("from typing import Any", "")
        if "KafkaSpecError" in body:
            out.lines("from kafkaspec.errors import KafkaSpecError", "")
        if "model." in body:
            out.line(f"from ..model import {self.spec.id} as model")
        for other in self._other_models(body):
            out.line(f"from ..model import {other} as {other}_model")
        helpers = ("Buffer", "endless", "invalid", "missing", "trailing")
        used = [name for name in helpers if re.search(rf"\b{name}\b", body)]
        if used:
            out.line(f"from ..runtime import {', '.join(used)}")
        modules = [s.id for s in self.model.specs if re.search(rf"\b{s.id}\.parse_", body)]
        if modules:
            out.line(f"from . import {', '.join(modules)}")
        out.lines("", *self.structs.lines(), "", "")
        return out.text()

    def _other_models(self, body: str) -> list[str]:
        return [s.id for s in self.model.specs if re.search(rf"\b{s.id}_model\.", body)]

    def _function(self, type_: Type) -> None:
        if type_.scalar in VARINTS:
            self._varint(type_)
            return
        parameters = "".join(
            f", {self.names.local(p.id)}: {self._parameter_hint(p)}" for p in type_.parameters
        )
        if type_.scalar:
            parameters = f', path: str = "", spec: str = "{type_.location}"'
        head = "buffer: Buffer, pos: int, end: int, complete: bool"
        with self.out.block(
            f"def parse_{type_.name}({head}{parameters}) -> tuple[{self._hint(type_)}, int]:"
        ):
            self.out.line(f'"""Return a value of ``{type_.name}`` and the position after it."""')
            reader = FieldReader(self.model, type_, self.out, self.structs, self.names)
            reader.read_all()
            self._return(type_, reader)

    def _return(self, type_: Type, reader: FieldReader) -> None:
        if type_.is_transparent:
            self.out.line(f"return {reader.local(type_.fields[-1].id)}, pos")
            return
        computed = [
            field
            for field in model_fields(type_)
            if is_computed(type_, field) and field.constant is None
        ]
        made = reader.construct(type_)
        if not computed:
            self.out.line(f"return {made}, pos")
            return
        self.out.line(f"result = {made}")
        for field in computed:
            self.out.line(f"result.{field.id} = {reader.local(field.id)}")
        self.out.line("return result, pos")

    def _bulk(self, type_: Type) -> None:
        """Write the fast reader of an array of fixed-size items."""
        run = bulk_run(self.model, type_)
        parameters = "".join(
            f", {self.names.local(p.id)}: {self._parameter_hint(p)}" for p in type_.parameters
        )
        with self.out.block(
            f"def parse_many_{type_.name}(buffer: Buffer, pos: int, count: int{parameters})"
            f" -> list[{self._hint(type_)}]:"
        ):
            self.out.line(
                f'"""Return ``count`` items of ``{type_.name}``, or those before an invalid one."""'
            )
            self.out.line(f"stop = pos + count * {run.size}")
            self.out.line("items = []")
            reader = FieldReader(self.model, type_, self.out, self.structs, self.names)
            struct = self.structs.name(run.format)
            with self.out.block(
                f"for {reader.targets(run)} in {struct}.iter_unpack(memoryview(buffer)[pos:stop]):"
            ):
                reader.after_run(run, on_invalid="break")
                computed = [f for f in type_.fields if is_computed(type_, f) and f.derive]
                assert not computed
                self.out.line(f"items.append({reader.construct(type_)})")
            self.out.line("return items")

    def _varint(self, type_: Type) -> None:
        assert type_.scalar
        size, bits, zigzag = VARINTS[type_.scalar]
        with self.out.block(
            f"def parse_{type_.name}(buffer: Buffer, pos: int, end: int, complete: bool, "
            f'path: str = "", spec: str = "{type_.location}") -> tuple[int, int]:'
        ):
            self.out.lines(
                f'"""Return a value of ``{type_.name}`` and the position after it."""',
            )
            short = "(byte >> 1) ^ -(byte & 1)" if zigzag else "byte"
            with self.out.block("if pos < end and (byte := buffer[pos]) < 0x80:"):
                self.out.line(f"return {short}, pos + 1")
            self.out.lines("start = pos", "value = 0")
            with self.out.block(f"for shift in range(0, {7 * size}, 7):"):
                with self.out.block("if pos == end:"):
                    self.out.line("raise missing(start, complete, path, spec)")
                self.out.lines("byte = buffer[pos]", "pos += 1", "value |= (byte & 0x7F) << shift")
                with self.out.block("if byte < 0x80:"):
                    self.out.line("break")
            with self.out.block("else:"):
                self.out.line("raise endless(start, path, spec)")
            if 7 * size > bits:
                self.out.line("# Bits that do not fit are dropped, as Kafka drops them.")
                self.out.line(f"value &= 0x{(1 << bits) - 1:X}")
            result = "(value >> 1) ^ -(value & 1)" if zigzag else "value"
            self.out.line(f"return {result}, pos")

    def _parameter_hint(self, parameter: Parameter) -> str:
        if isinstance(parameter.type, TypeReference):
            return self._class(self.model.type(parameter.type))
        return "int"

    def _hint(self, type_: Type) -> str:
        if type_.scalar:
            return {Scalar.BYTES: "bytes", Scalar.NULLABLE_BYTES: "bytes | None"}.get(
                type_.scalar, "int"
            )
        reference = TypeReference(type_.spec_id, type_.name)
        return " | ".join(self._class(inner) for inner in value_types(self.model, reference))

    def _class(self, type_: Type) -> str:
        module = "model" if type_.spec_id == self.spec.id else f"{type_.spec_id}_model"
        return f"{module}.{type_.class_name}"
