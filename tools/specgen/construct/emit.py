"""Emit ``generated/construct``: the specification as Construct definitions.

They are readable, work in a REPL, and are what the codec ``construct`` interprets.
"""

from __future__ import annotations

import keyword
import re
import textwrap
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path

from tools.specgen.construct.expressions import Deferred
from tools.specgen.expression import Int, Name, literal
from tools.specgen.facts.fields import is_nullable, mentioned, null_mark, references
from tools.specgen.model import (
    BitsType,
    BytesType,
    Default,
    Derive,
    DeriveFunction,
    Field,
    FloatType,
    IntegerType,
    Model,
    PeekInstance,
    Scalar,
    Spec,
    SwitchType,
    Type,
    TypeReference,
    ValueInstance,
    camel,
)
from tools.specgen.output import Output
from tools.specgen.writer import CodeWriter

_WIDTH = 96
_CONSTRUCT = (
    "Array", "BitsInteger", "Bitwise", "Bytes", "BytesInteger", "Computed", "Const", "Default",
    "Error", "ExprAdapter", "GreedyBytes", "IfThenElse", "Prefixed", "Rebuild", "Struct", "Switch",
    "Terminated", "len_", "obj_", "this",
)  # fmt: skip
_RUNTIME = (
    "Absent", "Ahead", "BitFields", "Boolean", "Count", "Crc32", "Crc32c", "Guard", "Instance",
    "Length", "Named", "NullableBytes", "Sized", "Structure", "ToEnd",
    "UnsignedVarInt32", "Valid", "VarInt32", "VarInt64", "With", "at_end_", "either_", "int64_",
    "Present", "bit_group", "position_", "remaining_", "size_", "value_",
)  # fmt: skip
_ARGUMENTS = ("self", "data", "obj", "stream")
"""Names of the arguments of Construct's own ``parse`` and ``build``."""
_VARINTS = {
    Scalar.VARINT32: "VarInt32",
    Scalar.VARINT64: "VarInt64",
    Scalar.UNSIGNED_VARINT32: "UnsignedVarInt32",
}
_FUNCTIONS = {
    DeriveFunction.LEN: "Length",
    DeriveFunction.COUNT: "Count",
    DeriveFunction.PRESENT: "Present",
    DeriveFunction.CRC32: "Crc32",
    DeriveFunction.CRC32C: "Crc32c",
}


def emit(model: Model) -> list[Output]:
    """Return one module for each specification, and the package."""
    outputs = [
        Output(f"construct/{spec.id}.py", (spec.id,), ConstructModule(model, spec).text())
        for spec in model.specs
    ]
    everything = tuple(spec.id for spec in model.specs)
    if not model.house.construct:
        outputs.append(Output("construct/runtime.py", everything, _runtime()))
    example = "recordbatch.record_batch" if model.house.library else model.specs[0].root.key
    text = f'"""Construct definitions by specification: ``{example}`` and so on."""\n'
    return [*outputs, Output("construct/__init__.py", everything, text)]


def _runtime() -> str:
    """Return the classes of the library that definitions use, on the modules beside them."""
    found = find_spec("kafkaspec.codecs.references.construct")  # it may not be installed
    assert found is not None
    assert found.origin is not None
    text = Path(found.origin).with_name("runtime.py").read_text(encoding="utf-8")
    text = text.replace("from kafkaspec import checksum", "from ..python import checksum")
    return text.replace("kafkaspec._generated.python.runtime", "..python.runtime")


class ConstructModule:
    """Writer of one module of definitions."""

    def __init__(self, model: Model, spec: Spec) -> None:
        self.model = model
        self.spec = spec
        self.out = CodeWriter()
        self.imports: set[str] = set()

    def text(self) -> str:
        """Return the whole module without its header."""
        for type_ in self._ordered():
            self._check_name(type_)
            if type_.scalar:
                self._scalar(type_)
            else:
                self._structure(type_)
            self._docstring(type_)
            self.out.line()
        body = self.out.text()
        return self._head(body) + body

    def _head(self, body: str) -> str:
        out = CodeWriter()
        out.line(f'"""{self.spec.title}: Construct definitions."""')
        out.lines("", "from __future__ import annotations", "")
        code = re.sub(r'"[^"\n]*"|#.*', "", body)
        used = [name for name in _CONSTRUCT if re.search(rf"\b{name}\b", code)]
        used += sorted(set(re.findall(r"\b(?:Int\d+[su]|Float\d+)[bl]\b", code)))
        if used:
            with out.block("from construct import (  # type: ignore[import-untyped]", ")"):
                out.lines(*(f"{name}," for name in sorted(used)))
            out.line()
        runtime = [name for name in _RUNTIME if re.search(rf"\b{name}\b", code)]
        home = self.model.house.construct or ".runtime"
        with out.block(f"from {home} import (", ")"):
            out.lines(*(f"{name}," for name in runtime))
        out.line()
        for spec in self.model.closure(self.spec.id):
            enums = [camel(enum.id) for enum in spec.enums]
            enums = [name for name in enums if re.search(rf"\b{name}\b", code)]
            if enums:
                out.line(f"from ..python.model.{spec.id} import {', '.join(enums)}")
        if self.imports:
            out.line(f"from . import {', '.join(sorted(self.imports))}")
        out.line()
        return out.text()

    def _ordered(self) -> list[Type]:
        """Return the types in the order of the file, each before its users, the root last."""
        found: list[Type] = []
        path: list[str] = []

        def visit(type_: Type) -> None:
            if type_ in found:
                return
            if type_.key in path:
                raise ValueError(f"{type_.location}: a type inside itself is not supported")
            path.append(type_.key)
            for field in type_.fields:
                for reference in references(field.type):
                    if reference.spec_id == self.spec.id:
                        visit(self.model.type(reference))
            path.pop()
            found.append(type_)

        for type_ in (*self.spec.types[1:], self.spec.root):
            visit(type_)
        return found

    def _check_name(self, type_: Type) -> None:
        taken = {*_CONSTRUCT, *_RUNTIME, *self.spec.imports}
        if keyword.iskeyword(type_.name) or type_.name in taken:
            raise ValueError(f"{type_.location}: {type_.name} cannot be the name of a definition")
        for parameter in type_.parameters:
            if keyword.iskeyword(parameter.id) or parameter.id in _ARGUMENTS:
                raise ValueError(f"{type_.location}: {parameter.id} cannot be a parameter")

    def _scalar(self, type_: Type) -> None:
        assert type_.scalar
        if type_.scalar in _VARINTS:
            self.out.line(f"{type_.name} = {_VARINTS[type_.scalar]}")
            return
        length, value = type_.fields
        derive = length.derive
        if derive is None or derive.first != value.id or not isinstance(value.type, BytesType):
            raise ValueError(f"{type_.location}: -scalar: {type_.scalar} is a size and its bytes")
        size = self._valid(type_, length, self._plain(type_, length))
        if derive.plus:
            size = f"ExprAdapter({size}, obj_ - {derive.plus}, obj_ + {derive.plus})"
        nullable = type_.scalar is Scalar.NULLABLE_BYTES
        text = f"NullableBytes({size})" if nullable else f"Prefixed({size}, GreedyBytes)"
        self.out.line(f"{type_.name} = {text}")

    def _structure(self, type_: Type) -> None:
        head, tail = ("Bitwise(Structure(", "))") if _is_bits(type_) else ("Structure(", ")")
        with self.out.block(f"{type_.name} = {head}", tail):
            self.out.line(f'"{type_.key}",')
            seen: set[str] = set()
            for field in type_.fields:
                wanted = mentioned(field)
                for peek in type_.peek_instances:
                    if peek.id in wanted and peek.id not in seen:
                        seen.add(peek.id)
                        self._member(peek.id, peek.doc, self._peek(type_, peek))
                run = _run(type_, field)
                if run and run[0] is field:
                    self.out.line("*BitFields(")
                self._member(field.id, field.doc, self._field(type_, field))
                if run and run[-1] is field:
                    self.out.line("),")
            for instance in type_.value_instances:
                self._member(instance.id, instance.doc, self._instance(type_, instance))
            if type_.parameters:
                ids = "".join(f'"{parameter.id}", ' for parameter in type_.parameters)
                self.out.line(f"parameters=({ids}),")

    def _member(self, name: str, doc: str, text: str) -> None:
        for line in textwrap.wrap(" ".join(doc.split()), _WIDTH - 6):
            self.out.line(f"# {line}")
        self.out.line(f'"{name}" / {text},')

    def _peek(self, type_: Type, peek: PeekInstance) -> str:
        assert isinstance(peek.position, Int)
        as_field = Field(peek.id, peek.type, peek.location, valid=peek.valid, enum=peek.enum)
        text = self._valid(type_, as_field, self._plain(type_, as_field))
        chosen = [
            f"this.{field.id}.{peek.id}"
            for field in type_.fields
            if isinstance(field.type, SwitchType) and field.type.on == Name(peek.id)
        ]
        return f"Ahead({', '.join([str(peek.position.value), text, *chosen[:1]])})"

    def _instance(self, type_: Type, instance: ValueInstance) -> str:
        deferred = Deferred(self.model, type_)
        text = deferred.text(instance.value, wrap=True)
        if instance.condition is not None:
            text = f"either_({deferred.text(instance.condition)}, {text}, None)"
        return f"Instance({text})"

    def _field(self, type_: Type, field: Field) -> str:
        deferred = Deferred(self.model, type_)
        if field.is_guard:
            assert field.valid
            assert field.valid.expression is not None
            condition = deferred.text(field.valid.expression)
            return "Terminated" if condition == "at_end_" else f"Guard({condition})"
        text = self._plain(type_, field)
        if field.constant is not None and field.repeat is None:
            text = f"Const({field.constant}, {text})"
        else:
            text = self._valid(type_, field, text)
        if field.repeat is not None:
            if field.repeat.until is not None:
                raise ValueError(f"{field.location}: only varints repeat until")
            count = field.repeat.count
            text = f"ToEnd({text})" if count is None else f"Array({deferred.text(count)}, {text})"
        if field.derive is not None and not type_.is_opaque_count(field):
            text = f"Rebuild({text}, {_derive(type_, field.derive)})"
        match field.default:
            case Default(()):
                empty = "[]" if field.repeat else 'b""'
                text = f"Default({text}, {empty})"
            case Default(0) if isinstance(field.type, BytesType):
                text = f"Default({text}, bytes({literal(field.type.size)}))"
            case Default(int(value)) if isinstance(field.type, FloatType):
                text = f"Default({text}, {float(value)})"
            case Default(int(value)):
                text = f"Default({text}, {bool(value) if field.is_bool else value})"
        if field.condition is not None:
            text = f"IfThenElse({deferred.text(field.condition)}, {text}, Absent)"
        return text

    def _valid(self, type_: Type, field: Field, text: str) -> str:
        """Return the field, or one item of it, with its ``valid``."""
        if not field.valid:
            return text
        run = tuple(member.id for member in _run(type_, field))
        condition = Deferred(self.model, type_, run).valid(field.valid)
        return f"Valid({text}, {condition})"

    def _plain(self, type_: Type, field: Field) -> str:
        match field.type:
            case IntegerType():
                text = _integer(field.type)
            case FloatType():
                return f"Float{8 * field.type.size}{'l' if field.type.little else 'b'}"
            case BitsType(width):
                text = "Boolean" if field.is_bool else f"BitsInteger({width})"
            case BytesType(size):
                if size is None:
                    return "GreedyBytes"
                return f"Bytes({Deferred(self.model, type_).text(size)})"
            case TypeReference():
                return self._sized(type_, field.type, self._reference(type_, field.type))
            case SwitchType():
                return self._sized(type_, field.type, self._choice(type_, field.type))
        return f"Named({text}, {camel(self.model.enum(field.enum).id)})" if field.enum else text

    def _sized(self, type_: Type, kind: TypeReference | SwitchType, text: str) -> str:
        if kind.size is not None:
            return f"Sized({Deferred(self.model, type_).text(kind.size)}, {text})"
        return f"Sized(remaining_, {text})" if kind.size_eos else text

    def _choice(self, type_: Type, kind: SwitchType) -> str:
        deferred = Deferred(self.model, type_)
        cases = [
            f"{case}: {self._reference(type_, reference)}"
            for case, reference in kind.cases
            if case is not None
        ]
        others = [reference for case, reference in kind.cases if case is None]
        default = self._reference(type_, others[0]) if others else "Error"
        return f"Switch({deferred.text(kind.on)}, {{{', '.join(cases)}}}, default={default})"

    def _reference(self, type_: Type, reference: TypeReference) -> str:
        target = self.model.type(reference)
        name = target.name
        if target.spec_id != self.spec.id:
            self.imports.add(target.spec_id)
            name = f"{target.spec_id}.{name}"
        if not reference.arguments:
            return name
        deferred = Deferred(self.model, type_)
        arguments = [
            f"{parameter.id}={deferred.text(argument)}"
            for parameter, argument in zip(target.parameters, reference.arguments, strict=True)
        ]
        return f"With({name}, {', '.join(arguments)})"

    def _docstring(self, type_: Type) -> None:
        text = type_.doc or f"``{type_.name}``."
        lines = text.replace("\\", "\\\\").replace('"""', "'''").split("\n")
        if type_.parameters:
            lines += ["", "Parameters, by name: " + _usage(type_), ""]
            for parameter in type_.parameters:
                kind = parameter.type
                hint = f"a container of ``{kind.name}``" if isinstance(kind, TypeReference) else ""
                entry = " ".join(f"{parameter.id}: {parameter.doc}".split())
                entry = f"{entry.rstrip('.')} ({hint})." if hint else entry
                lines += textwrap.wrap(
                    entry, _WIDTH, initial_indent="    ", subsequent_indent="        "
                )
        if len(lines) == 1:
            self.out.line(f'"""{lines[0]}"""')
            return
        self.out.line(f'"""{lines[0]}')
        self.out.lines(*lines[1:], '"""')


def _usage(type_: Type) -> str:
    arguments = "".join(f", {parameter.id}=..." for parameter in type_.parameters)
    return f"``{type_.name}.parse(data{arguments})``."


def _integer(kind: IntegerType) -> str:
    if kind.size in (1, 2, 3, 4, 8):
        order = "l" if kind.little else "b"
        return f"Int{8 * kind.size}{'s' if kind.signed else 'u'}{order}"
    return f"BytesInteger({kind.size}, signed={kind.signed})"


def _derive(type_: Type, derive: Derive) -> str:
    """Return the function that ``Rebuild`` calls."""
    first, last = (
        type_.field_by_id[name] if name else None for name in (derive.first, derive.last)
    )
    assert first is not None
    alone = last is None and not derive.open_end
    function = _FUNCTIONS[derive.function]
    if alone and isinstance(first.type, BytesType) and function == "Length":
        function = "Count"
    parts = [_span_end(type_, first)]
    if derive.open_end:
        parts.append("...")
    elif last is not None:
        parts.append(_span_end(type_, last))
    if derive.function is DeriveFunction.PRESENT:
        parts.append(f"null={null_mark(type_, first)}")
        return f"{function}({', '.join(parts)})"
    if derive.plus:
        parts.append(f"plus={derive.plus}")
    if is_nullable(type_, first):
        parts.append("null=-1")
    return f"{function}({', '.join(parts)})"


def _span_end(type_: Type, field: Field) -> str:
    run = _run(type_, field)
    return f'bit_group("{run[0].id}")' if run else f'"{field.id}"'


def _is_bits(type_: Type) -> bool:
    """Return whether the type has bit fields only."""
    return bool(type_.fields) and all(isinstance(field.type, BitsType) for field in type_.fields)


def _run(type_: Type, field: Field) -> list[Field]:
    """Return the bit fields that share bytes with one, where the type has other fields too."""
    if _is_bits(type_):
        return []
    for is_bits, found in groupby(type_.fields, lambda field: isinstance(field.type, BitsType)):
        run = list(found)
        if field in run:
            return run if is_bits else []
    return []
