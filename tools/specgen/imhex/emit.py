"""Emit ``generated/imhex/kafkaspec.hexpat``: the specification as a pattern for ImHex.

A specification is a namespace, a type a structure. What it needs from outside are its template
parameters: its own, and where the bytes that it may read end. Messages are left out, since a
pattern sees no topic.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Final

from kafkaspec.layout import names
from tools.specgen import expression as ex
from tools.specgen.facts.fields import references
from tools.specgen.facts.files import files
from tools.specgen.facts.ranges import VARINTS
from tools.specgen.facts.segments import Batch, segments
from tools.specgen.facts.sizes import fixed_size
from tools.specgen.facts.terms import Terms
from tools.specgen.imhex.expressions import END, Expressions, identifier, name_of, quoted
from tools.specgen.model import (
    BitsType,
    BytesType,
    Enum,
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
    Valid,
    ValueInstance,
)
from tools.specgen.output import Output
from tools.specgen.writer import CodeWriter

FUNCTIONS: Final = Path(__file__).with_name("functions.hexpat")
"""The part that knows no layout."""
_SIZES: Final = (1, 2, 3, 4, 6, 8, 12, 16)
"""Bytes of integers that the language has."""


def emit(model: Model) -> list[Output]:
    """Return the pattern."""
    specs = [spec for spec in model.specs if not spec.is_message]
    out = CodeWriter()
    macros = {_macro(file.suffix): model.type(file.type) for file in files(model)}
    head = FUNCTIONS.read_text(encoding="utf-8")
    others = " ".join(f"#define {macro}" for macro in macros)
    out.lines(*head.replace("@SUFFIXES@", others).splitlines(), "")
    enums = _Enumerations(specs)
    enums.write(out)
    for spec_id, types in groupby(_ordered(model, specs), lambda type_: type_.spec_id):
        with out.block(f"namespace {identifier(spec_id)} {{", "}"):
            for type_ in types:
                out.line()
                _Structure(model, type_, enums, out).write()
        out.line()
    _start(out, model, macros)
    return [Output("imhex/kafkaspec.hexpat", tuple(spec.id for spec in specs), out.text())]


def _macro(suffix: str) -> str:
    return suffix.lstrip(".").upper().replace(".", "_").replace("-", "_")


def _integer(kind: IntegerType) -> str:
    if kind.size not in _SIZES:
        raise ValueError(f"ImHex has no integers of {kind.size} bytes")
    return f"{'s' if kind.signed else 'u'}{8 * kind.size}"


class _Enumerations:
    """The enumerations by the integers that hold them, since in a pattern each has one."""

    def __init__(self, specs: list[Spec]) -> None:
        self._enums = {enum.key: enum for spec in specs for enum in spec.enums}
        self._kinds: dict[str, dict[str, None]] = {key: {} for key in self._enums}
        for type_ in (type_ for spec in specs for type_ in spec.types):
            nodes: tuple[Field | PeekInstance, ...] = (*type_.fields, *type_.peek_instances)
            for node in nodes:
                if node.enum is not None:
                    self._kinds[node.enum][_holder(node.type)] = None

    def name(self, node: Field | PeekInstance) -> str:
        """Return the name of the enumeration of a field."""
        assert node.enum is not None
        return self._name(node.enum, _holder(node.type))

    def write(self, out: CodeWriter) -> None:
        """Write those that fields have."""
        for key, kinds in self._kinds.items():
            for kind in kinds:
                self._write(out, self._enums[key], kind)

    def _name(self, key: str, kind: str) -> str:
        alone = len(self._kinds[key]) == 1
        return name_of(key) if alone else f"{name_of(key)}_{kind}"

    def _write(self, out: CodeWriter, enum: Enum, kind: str) -> None:
        space, _, name = self._name(enum.key, kind).partition("::")
        head = f"enum {name} : {kind} {{"
        with out.block(f"namespace {space} {{", "}"), out.block(head, "};"):
            for item in enum.values:
                out.line(f"{identifier(item.id)} = {item.value},{_remark(item.doc)}")
        out.line()


def _holder(kind: FieldType) -> str:
    """Return the integer that holds an enumeration."""
    if isinstance(kind, BitsType):
        least = (kind.width + 7) // 8
        return f"u{8 * next(size for size in _SIZES if size >= least)}"
    assert isinstance(kind, IntegerType)
    return _integer(kind)


def _ordered(model: Model, specs: list[Spec]) -> list[Type]:
    """Return the types, each before its users."""
    found: dict[str, Type] = {}

    def visit(type_: Type) -> None:
        for field in type_.fields if type_.key not in found else ():
            for reference in references(field.type):
                visit(model.type(reference))
        for inner in _inside(model, type_):
            visit(inner)
        found.setdefault(type_.key, type_)

    for type_ in (type_ for spec in specs for type_ in spec.types if type_.fields):
        visit(type_)
    return list(found.values())


def _batch(model: Model, type_: Type, payload: Field | None = None) -> Batch | None:
    """Return the batch that a type is, if its payload can be told to be records as they stand."""
    for batch in (batch for segment in segments(model) for batch in segment.batches):
        if batch.type is type_ and payload in (None, batch.payload):
            return batch if _has(model, type_, names.COMPRESSION) else None
    return None


def _has(model: Model, type_: Type, path: str) -> bool:
    first, _, rest = path.partition(".")
    field = type_.field_by_id.get(first)
    if field is None or not rest:
        return field is not None
    return isinstance(field.type, TypeReference) and _has(model, model.inner(field), rest)


def _controlled(model: Model, type_: Type) -> Batch | None:
    """Return the batch whose records a type is, if some of them are control records."""
    keys = {each.key for each in model.all_types()}
    fields = [type_.field_by_id.get(name) for name in (names.KEY, names.VALUE)]
    if names.CONTROL_KEY in keys and all(field and _is_bytes(model, field) for field in fields):
        for batch in (batch for segment in segments(model) for batch in segment.batches):
            if batch.record(model) is type_ and _has(model, batch.type, names.IS_CONTROL):
                return batch
    return None


def _is_bytes(model: Model, field: Field) -> bool:
    """Return whether a field is a size and bytes."""
    type_ = model.inner(field) if isinstance(field.type, TypeReference) else None
    return type_ is not None and type_.scalar is not None and len(type_.fields) == 2


def _inside(model: Model, type_: Type) -> Iterator[Type]:
    """Yield the types that bytes of a type hold."""
    if batch := _batch(model, type_):
        yield batch.record_set
    if _controlled(model, type_):
        yield from (model.type(key) for key in (names.CONTROL_KEY, names.CONTROL_VALUE))


class _Structure:
    """Writer of one type."""

    def __init__(self, model: Model, type_: Type, enums: _Enumerations, out: CodeWriter) -> None:
        self._model, self._type, self._enums, self._out = model, type_, enums, out
        self._runs = [] if _is_bitfield(type_) else list(_runs(type_))
        places = {field.id: f"{_run_name(run)}." for run in self._runs for field in run}
        self._terms = Expressions(model, type_, places)

    def write(self) -> None:
        type_, out = self._type, self._out
        for line in type_.doc.strip().splitlines():
            out.line(f"// {line}".rstrip())
        name = identifier(type_.name)
        if _is_bitfield(type_):
            self._bitfield(name, type_.fields)
        elif type_.scalar in VARINTS:
            self._varint(name)
        else:
            for run in self._runs:
                self._bitfield(f"{name}_{_run_name(run)}", tuple(run))
            self._structure(name)

    def _bitfield(self, name: str, fields: tuple[Field, ...]) -> None:
        total = 0
        self._out.line(f"bitfield {name} {{")
        with self._out.indented():
            for field in fields:
                assert isinstance(field.type, BitsType)
                total += field.type.width
                kind = "bool " if field.is_bool else ""
                if field.enum is not None:
                    kind = f"{self._enums.name(field)} "
                place = f"{identifier(field.id)} : {field.type.width}"
                self._out.line(f"{kind}{place}{_comment(field.doc)};")
        self._out.line(f"}} [[bitfield_order(0, {total})]];")

    def _varint(self, name: str) -> None:
        assert self._type.scalar is not None
        kind, (groups,) = VARINTS[self._type.scalar], self._type.fields
        code = f"kafkaspec::varint(addressof(read), sizeof(read), {kind.bits})"
        out = self._out
        with out.block(f"fn {name}_value(ref auto read) {{", "};"):
            out.line(f"return {f'kafkaspec::zigzag({code})' if kind.zigzag else code};")
        with out.block(f"fn {name}_shown(ref auto read) {{", "};"):
            out.line('return builtin::std::format("{}", read);')
        with out.block(f"struct {name} {{"):
            out.line(f"u8 {groups.id}[kafkaspec::varint_size($, {kind.size})];")
            self._stop(f"sizeof({groups.id}) == 0 && kafkaspec::differs(false, $", "")
        space = f"{identifier(self._type.spec_id)}::{name}"
        shown = f'transform("{space}_value"), format("{space}_shown")'
        out.line(f"}} [[sealed, {shown}]];")

    def _structure(self, name: str) -> None:
        type_, out = self._type, self._out
        given = ", ".join(f"auto {each}" for each in (END, *self._terms.parameters()))
        with out.block(f"struct {name}<{given}> {{", "};"):
            for peek in type_.peek_instances:
                self._peek(peek)
            for field, run in self._with_runs():
                if field.is_guard:
                    self._check(field)
                    continue
                if field.condition is None:
                    self._field(field, run)
                    continue
                with out.block(f"if ({self._text(field.condition)}) {{", "}"):
                    self._field(field, fixed_size(self._model, _bare(field)) or 0)
            self._control()
            for instance in type_.value_instances:
                self._instance(instance)

    def _with_runs(self) -> Iterator[tuple[Field, int]]:
        """Yield each field with the bytes that it and those of fixed sizes after it need."""
        fields = self._type.fields
        sizes = [_size(self._model, field) for field in fields]
        bits = 0
        for place, (field, size) in enumerate(zip(fields, sizes, strict=True)):
            begins = size is not None and (place == 0 or sizes[place - 1] is None)
            run = 0
            if begins:
                for each in sizes[place:]:
                    if each is None:
                        break
                    run += each
            if not isinstance(field.type, BitsType):
                yield field, (run + 7) // 8
            elif not bits:
                yield field, (run + 7) // 8
                bits = next(len(each) for each in self._runs if each[0] is field)
            bits -= isinstance(field.type, BitsType)

    def _peek(self, peek: PeekInstance) -> None:
        assert isinstance(peek.position, ex.Int)
        assert isinstance(peek.type, IntegerType)
        self._need(peek.position.value + peek.type.size, "")
        kind, name = self._kind(peek, peek.type), identifier(peek.id)
        place = f" @ $ + {peek.position.value}" if peek.position.value else " @ $"
        self._out.line(f"{kind} {name}{place} [[hidden]];")
        self._check(peek)

    def _stop(self, call: str, field: str) -> None:
        """Write what ends a list where a function says that something is wrong."""
        key = f"{self._type.key}.{field}" if field else self._type.key
        self._out.line(f"if ({call}, {quoted(key)}))")
        self._out.line("    break;")

    def _need(self, size: int | str, field: str) -> None:
        self._stop(f"kafkaspec::lacks({size}, $, {END}", field)

    def _field(self, field: Field, run: int) -> None:
        if run:
            self._need(run, "")
        name, comment = identifier(field.id), _comment(field.doc)
        array = ""
        if field.repeat is not None:
            array = f"[while($ < {END})]"
            if (count := field.repeat.count) is not None:
                array = f"[kafkaspec::items({self._text(count)}, $, {END})]"
            assert field.repeat.until is None, field.location
        match field.type:
            case BitsType():
                bits = next(each for each in self._runs if each[0] is field)
                kind = _run_name(bits)
                self._out.line(f"{identifier(self._type.name)}_{kind} {kind};")
            case BytesType(size):
                self._bytes(field, size)
            case TypeReference(size=size) | SwitchType(size=size):
                end = END if size is None else f"{field.id}_end"
                if size is not None:
                    self._need(self._text(size), field.id)
                    self._out.line(f"u128 {end} = $ + {self._terms.side(size)};")
                self._reference(field, end, f"{name}{array}{comment};")
                if size is not None:
                    self._out.line(f"$ = {end};")
            case _:
                kind = self._kind(field, field.type)
                self._out.line(f"{kind} {name}{array}{comment};")
        if field.repeat is None:
            self._check(field)

    def _reference(self, field: Field, end: str, rest: str) -> None:
        if isinstance(field.type, TypeReference):
            self._out.line(f"{self._named(field.type, end)} {rest}")
            return
        assert isinstance(field.type, SwitchType)
        with self._out.block(f"match ({self._text(field.type.on)}) {{", "}"):
            for number, reference in field.type.cases:
                case = "_" if number is None else number
                self._out.line(f"({case}): {self._named(reference, end)} {rest}")

    def _bytes(self, field: Field, size: ex.Expression | None) -> None:
        name, comment = identifier(field.id), _comment(field.doc)
        kind = "u8" if size is None or isinstance(size, ex.Int) else "char"
        length = f"{END} - $"
        if size is not None:
            length = self._text(size)
            if not isinstance(size, ex.Int):
                self._need(length, field.id)
        batch = _batch(self._model, self._type, field)
        if batch is None:
            self._out.line(f"{kind} {name}[{length}]{comment};")
            return
        records = batch.record_set
        parameters = Expressions(self._model, records).parameters()
        assert len(records.parameters) == 1, records.location
        own = [self._terms.own(".".join(each.split("__")[1:])) for each in parameters]
        given = [self._terms.argument(each) for each in own]
        compression = self._text(self._terms.own(names.COMPRESSION))
        with self._out.block(f"if ({compression} == 0) {{", "}"):
            self._out.line(f"{name_of(records.key)}<{', '.join((END, *given))}> {name}{comment};")
            self._out.line(f"$ = {END};")
        with self._out.block("else {", "}"):
            self._out.line(f"{kind} {name}[{length}]{comment};")

    def _kind(self, node: Field | PeekInstance, kind: FieldType) -> str:
        match kind:
            case IntegerType(little=little):
                text = _integer(kind) if node.enum is None else self._enums.name(node)
            case FloatType(size, little):
                text = "double" if size == 8 else "float"
            case _:
                raise AssertionError(kind)
        return f"le {text}" if little else text

    def _named(self, reference: TypeReference, end: str) -> str:
        type_ = self._model.type(reference)
        if type_.scalar in VARINTS or _is_bitfield(type_):
            return name_of(type_.key)
        return f"{name_of(type_.key)}<{', '.join((end, *self._terms.arguments(reference)))}>"

    def _control(self) -> None:
        """Write the key and the value of a control record, which lie in those of the record."""
        if (batch := _controlled(self._model, self._type)) is None:
            return
        parameter = self._type.parameters[0].id
        out, test = self._out, "__".join([parameter, *names.IS_CONTROL.split(".")])
        key, value = (self._model.type(each) for each in (names.CONTROL_KEY, names.CONTROL_VALUE))
        kind = next(field.id for field in key.fields if field.enum)
        assert batch.record(self._model) is self._type
        for part, type_, given in ((names.KEY, key, ""), (names.VALUE, value, kind)):
            bytes_ = self._model.inner(self._type.field_by_id[part])
            size, data = (each.id for each in bytes_.fields)
            there = f"{test} && {part}.{size} > 0"
            if given:
                there += f" && {names.KEY}.{size} > 0"
                given = f", s128({key.name}.{kind})"
            with out.block(f"if ({there}) {{", "}"):
                end = f"addressof({part}.{data}) + {part}.{size}"
                place = f"@ addressof({part}.{data})"
                out.line(f"{name_of(type_.key)}<{end}{given}> {type_.name} {place};")

    def _instance(self, instance: ValueInstance) -> None:
        boolean = Terms(self._model, self._type).is_boolean(instance.value)
        kind, name = "bool" if boolean else "s64", identifier(instance.id)
        marks = f"export, {_meaning(instance.doc)}" if instance.doc else "export"
        line = f"{kind} {name} = {self._text(instance.value)} [[{marks}]];"
        if instance.condition is None:
            self._out.line(line)
        else:
            self._out.line(f"if ({self._text(instance.condition)})")
            self._out.line(f"    {line}")

    def _check(self, node: Field | PeekInstance) -> None:
        if node.valid is None:
            return
        if isinstance(node, Field) and node.is_guard:  # what stands after it can be read
            key = quoted(f"{self._type.key}.{node.id}")
            self._out.line(f"kafkaspec::differs({self._valid(node.valid, '')}, $, {key});")
            return
        value = self._text(ex.Name(node.id))
        test = f"kafkaspec::differs({self._valid(node.valid, value)}, addressof({value})"
        self._stop(test, node.id)

    def _valid(self, valid: Valid, value: str) -> str:
        side = self._terms.side
        demands = [
            f"{value} {operator} {side(each)}"
            for operator, each in (
                ("==", valid.equal),
                (">=", valid.minimum),
                ("<=", valid.maximum),
            )
            if each is not None
        ]
        if valid.any_of:
            demands.append(f"({' || '.join(f'{value} == {side(each)}' for each in valid.any_of)})")
        if valid.expression is not None:
            demands.append(side(valid.expression, value))
        joined = " && ".join(demands)
        return joined if len(demands) > 1 else re.sub(r"^\((.*)\)$", r"\1", joined)

    def _text(self, expression: ex.Expression) -> str:
        return self._terms.text(expression)


def _is_bitfield(type_: Type) -> bool:
    return bool(type_.fields) and all(isinstance(field.type, BitsType) for field in type_.fields)


def _runs(type_: Type) -> Iterator[list[Field]]:
    """Yield the bits among bytes that lie side by side."""
    for bits, run in groupby(type_.fields, lambda field: isinstance(field.type, BitsType)):
        if bits:
            yield list(run)


def _run_name(run: list[Field]) -> str:
    return f"{run[0].id}_bits"


def _bare(field: Field) -> Field:
    """Return a field without its condition."""
    return replace(field, condition=None)


def _size(model: Model, field: Field) -> int | None:
    """Return the bits that a field always takes, None if that varies."""
    if isinstance(field.type, BitsType):
        return field.type.width
    size = None if field.is_guard else fixed_size(model, field)
    return None if size is None else 8 * size


def _meaning(doc: str) -> str:
    return f"comment({quoted(doc)})"


def _comment(doc: str) -> str:
    return f" [[{_meaning(doc)}]]" if doc else ""


def _remark(doc: str) -> str:
    return f" // {' '.join(doc.split())}" if doc else ""


def _start(out: CodeWriter, model: Model, macros: dict[str, Type]) -> None:
    """Write what reads the file: as a macro says, else as a log, if there is one."""
    out.line("u128 end_of_file = builtin::std::mem::base_address() + builtin::std::mem::size();")
    log = next((segment.type for segment in segments(model)), None)
    chosen = {macro: type_ for macro, type_ in macros.items() if type_ is not log}
    for macro, type_ in chosen.items():
        given = "".join(", 0" for _ in type_.parameters)
        at = "builtin::std::mem::base_address()"
        out.lines(
            f"#ifdef {macro}",
            f"{name_of(type_.key)}<end_of_file{given}> file @ {at};",
            "#define CHOSEN",
            "#endif",
        )
    if log is not None:
        out.lines("#ifndef CHOSEN")
        out.line(f"{name_of(log.key)}<end_of_file> file @ builtin::std::mem::base_address();")
        out.line("#endif")
