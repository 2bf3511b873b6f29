"""Emit the structures of a file, and for each type a function that reads and checks it.

A function takes the bytes, the position, the end of the stream, whether that end is final, and the
parameters of the type. It fills in a structure that its caller gives, and returns the position
after it. Paths of errors grow on the way out: each caller adds its field before the path.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tools.specgen import expression as ex
from tools.specgen.facts.fields import is_integer, mentioned, model_fields
from tools.specgen.facts.ranges import VARINTS
from tools.specgen.facts.sizes import ChecksumPlace, checksums_of, fixed_size, minimum_size
from tools.specgen.go.expressions import GoTranslator, UnsupportedError, negation
from tools.specgen.go.loads import bits_run, load, load_bits, number_type, shifts
from tools.specgen.go.names import (
    about,
    comment,
    constant,
    enum_name,
    exported,
    lower,
    scalar_type,
    shown,
    type_name,
)
from tools.specgen.model import (
    BitsType,
    BytesType,
    Enum,
    Field,
    FloatType,
    IntegerType,
    Model,
    Parameter,
    Scalar,
    Spec,
    SwitchType,
    Type,
    TypeReference,
    ValueInstance,
)
from tools.specgen.writer import GoWriter

_LOCALS = {
    "at": "int",
    "stop": "int",
    "bits": "uint64",
    "count": "int64",
    "size": "int64",
    "on": "int64",
    "err": "*Error",
}
"""Variables of a function by their types; those that it uses are declared."""
_RESERVED = {
    *_LOCALS, "data", "pos", "end", "complete", "v", "base", "item", "i", "value", "break",
    "case", "chan", "const", "continue", "default", "defer", "else", "fallthrough", "for", "func",
    "go", "goto", "if", "import", "interface", "map", "package", "range", "return", "select",
    "struct", "switch", "type", "var", "len", "cap", "make", "new", "append", "min", "max", "nil",
    "any", "string", "true", "false", "math", "pick", "path", "copy", "close", "error", "print",
}  # fmt: skip
_MOST_AT_ONCE = 64
"""Items of an array for which there is room before they are read, unless their size is fixed."""


def local(name: str) -> str:
    """Return the name of a variable."""
    made = lower(name)
    return f"{made}Field" if made in _RESERVED else made


@dataclass(frozen=True)
class Shape:
    """Form of a type in Go: a structure, one of several (``Node``), or a value."""

    type: Type

    @property
    def is_node(self) -> bool:
        """Whether it is one of several structures."""
        return self.type.is_choice

    @property
    def is_structure(self) -> bool:
        """Whether it is a structure."""
        return not self.type.is_transparent

    @property
    def text(self) -> str:
        """Its type in Go."""
        if self.type.scalar is not None:
            return scalar_type(self.type.scalar)
        return "Node" if self.is_node else type_name(self.type)


def shape(model: Model, reference: TypeReference) -> Shape:
    """Return what Go shows for a reference."""
    return Shape(shown(model, reference))


def own_shape(model: Model, type_: Type) -> Shape:
    """Return what Go shows for a type."""
    return shape(model, TypeReference(type_.spec_id, type_.name))


def item_type(model: Model, field: Field) -> str:
    """Return the Go type of a field, or of its items."""
    match field.type:
        case BitsType() if field.is_bool:
            return "bool"
        case IntegerType() | FloatType() | BitsType():
            return number_type(field.type)
        case BytesType():
            return "[]byte"
        case TypeReference():
            return shape(model, field.type).text
    raise UnsupportedError(f"{field.location}: Go has no type for it")


def is_optional(model: Model, field: Field) -> bool:
    """Return whether a field is a number that may be absent."""
    number = isinstance(field.type, FloatType) or is_integer(model, field)
    return field.condition is not None and field.repeat is None and number


def field_type(model: Model, field: Field) -> str:
    """Return the Go type of a field."""
    text = item_type(model, field)
    if field.repeat is not None:
        return f"[]{text}"
    if is_optional(model, field):
        return f"Optional[{text}]"
    absent = field.condition is not None and isinstance(field.type, TypeReference)
    if absent and isinstance(field.type, TypeReference) and shape(model, field.type).is_structure:
        return f"*{text}"
    return text


def parameters(model: Model, type_: Type) -> list[tuple[Parameter, str, str]]:
    """Return the parameters of a type, with the names of their variables and their Go types."""
    found = []
    for item in type_.parameters:
        kind = "int64" if isinstance(item.type, IntegerType) else f"*{shape(model, item.type).text}"
        found.append((item, local(item.id), kind))
    return found


class TypesEmitter:
    """Writer of the file of one specification."""

    def __init__(self, model: Model, spec: Spec) -> None:
        self.model, self.spec, self.out = model, spec, GoWriter()

    def text(self) -> str:
        """Return the file without its header."""
        for enum in self.spec.enums:
            self._enum(enum)
        for type_ in self.spec.types:
            if not type_.is_transparent:
                self._structure(type_)
            if type_.scalar not in VARINTS:
                FunctionEmitter(self.model, type_, self.out).emit()
            self._exported(type_)
        body = self.out.text().rstrip("\n")
        head = "package format\n"
        if "math." in body:
            head += '\nimport "math"\n'
        return f"{head}\n{body}\n" if body else head

    def _enum(self, enum: Enum) -> None:
        for value in enum.values:
            name = constant(enum, value)
            self.out.lines(*comment(value.doc, name))
            self.out.lines(f"const {name} = {value.value}", "")
        name = enum_name(enum)
        self.out.line(f"// {name}Names has the names of {enum.id} by number.")
        with self.out.block(f"var {name}Names = nameTable(", ")"):
            for value in enum.values:
                self.out.line(f'named{{{value.value}, "{value.id}"}},')
        self.out.line()

    def _structure(self, type_: Type) -> None:
        out, name = self.out, type_name(type_)
        out.lines(*comment(about(self.spec, type_), name))
        members = []
        for item, _, kind in parameters(self.model, type_):
            members.append((item.id, item.doc, kind))
        for field in model_fields(type_):
            members.append((field.id, field.doc, field_type(self.model, field)))
        if not members:
            out.lines(f"type {name} struct{{}}", "")
        else:
            with out.block(f"type {name} struct {{", "}"):
                for number, (key, doc, kind) in enumerate(members):
                    if number:
                        out.line()
                    out.lines(*comment(doc), f"{exported(key)} {kind}")
            out.line()
        translator = self._translator(type_)
        for instance in type_.value_instances:
            self._instance(type_, instance, translator)
        self._members(type_, name)
        for place in checksums_of(self.model, type_):
            self._checksum(place, name)
            break

    def _checksum(self, place: ChecksumPlace, name: str) -> None:
        out, field = self.out, place.field
        out.lines(
            f"// VerifyChecksum compares {field.id} with the checksum of the bytes of the",
            "// structure, which data has from its first byte to its last.",
        )
        with out.block(f"func (v *{name}) VerifyChecksum(data []byte) error {{", "}"):
            out.line(f"computed := int64({place.function}(data[{place.start}:]))")
            stored = f"int64(v.{exported(field.id)})"
            path = f'"/{field.id}", "{field.location}"'
            error = f"mismatch({place.position}, {stored}, computed, {path})"
            out.when(f"computed != {stored}", f"return {error}")
            out.line("return nil")
        out.line()

    def _translator(self, type_: Type) -> GoTranslator:
        return translator(self.model, type_)

    def _instance(self, type_: Type, instance: ValueInstance, go: GoTranslator) -> None:
        out, name = self.out, exported(instance.id)
        kind = "bool" if go.is_boolean(instance.value) else "int64"
        out.lines(*comment(instance.doc, name))
        head = f"func (v *{type_name(type_)}) {name}()"
        if instance.condition is None:
            with out.block(f"{head} {kind} {{", "}"):
                out.line(f"return {go.text(instance.value)}")
        else:
            with out.block(f"{head} ({kind}, bool) {{", "}"):
                absent = "false" if kind == "bool" else "0"
                out.when(go.text(negation(instance.condition)), f"return {absent}, false")
                out.line(f"return {go.text(instance.value, 2)}, true")
        out.line()

    def _members(self, type_: Type, name: str) -> None:
        out = self.out
        out.line(f'// SpecKey returns "{type_.key}".')
        with out.block(f"func (v *{name}) SpecKey() string {{", "}"):
            out.line(f'return "{type_.key}"')
        out.line()
        out.line("// SpecMembers returns fields and value instances by their ids.")
        with out.block(f"func (v *{name}) SpecMembers() []Member {{", "}"):
            if not model_fields(type_) and not type_.value_instances:
                out.line("return nil")
            else:
                self._listed(type_)
        out.line()

    def _listed(self, type_: Type) -> None:
        with self.out.block("return []Member{", "}"):
            for field in model_fields(type_):
                self.out.line(f'{{"{field.id}", {self._shown(field)}}},')
            for instance in type_.value_instances:
                call = f"v.{exported(instance.id)}()"
                shown = call if instance.condition is None else f"maybe({call})"
                self.out.line(f'{{"{instance.id}", {shown}}},')

    def _shown(self, field: Field) -> str:
        text = f"v.{exported(field.id)}"
        structure = isinstance(field.type, TypeReference) and shape(self.model, field.type)
        if field.repeat is not None:
            if structure and structure.is_structure:
                return f"structures({text})"
            return f"items({text})"
        if is_optional(self.model, field):
            return f"{text}.shown()"
        if field_type(self.model, field) == "[]byte":
            return f"octets({text})"
        if structure and structure.is_structure:
            return f"structure({text})" if field.condition is not None else f"&{text}"
        return f"node({text})" if structure and structure.is_node else text

    def _exported(self, type_: Type) -> None:
        out, name = self.out, type_name(type_)
        if type_.is_choice:
            self._exported_choice(type_)
        if type_.is_transparent:
            return
        given = parameters(self.model, type_)
        head = "".join(f", {variable} {kind}" for _, variable, kind in given)
        passed = "".join(f", {variable}" for _, variable, _ in given)
        out.line(f"// Parse{name} reads a {type_.name}, and returns the bytes that it took.")
        with out.block(f"func Parse{name}(data []byte{head}) (*{name}, int, error) {{", "}"):
            out.line("data = present(data)")
            out.line(f"v := new({name})")
            out.line(f"pos, err := parse{name}(data, 0, len(data), false{passed}, v)")
            with out.block("if err != nil {", "}"):
                out.line("return nil, pos, err")
            out.line("return v, pos, nil")
        out.line()

    def _exported_choice(self, type_: Type) -> None:
        out, name = self.out, type_name(type_)
        given = parameters(self.model, type_)
        head = "".join(f", {variable} {kind}" for _, variable, kind in given)
        passed = "".join(f", {variable}" for _, variable, _ in given)
        out.line(f"// Parse{name} reads a {type_.name}, and returns the bytes that it took.")
        with out.block(f"func Parse{name}(data []byte{head}) (Node, int, error) {{", "}"):
            out.line("data = present(data)")
            out.line(f"v, pos, err := parse{name}(data, 0, len(data), false{passed})")
            with out.block("if err != nil {", "}"):
                out.line("return nil, pos, err")
            out.line("return v, pos, nil")
        out.line()


def translator(model: Model, type_: Type, value: str = "value", *, base: str = "") -> GoTranslator:
    """Return the translator of expressions over a structure ``v``, or over variables."""
    return GoTranslator(
        model, type_, resolve=lambda path: _resolved(model, type_, path), value=value, base=base
    )


def _resolved(model: Model, type_: Type, path: str) -> str:
    """Return the source text of a dotted name of a type."""
    owner, (first, *rest) = type_, path.split(".")
    text = local(first) if type_.is_transparent else f"v.{exported(first)}"
    member = owner.members[first]
    for name in [*rest, ""]:
        if isinstance(member, ValueInstance):
            if member.condition is not None:
                raise UnsupportedError(f"{member.location}: an instance that may be absent")
            return f"{text}()"
        if not name:
            break
        assert isinstance(member, Field | Parameter)
        assert isinstance(member.type, TypeReference)
        owner = shown(model, member.type)
        member = owner.members[name]
        text = f"{text}.{exported(name)}"
    if isinstance(member, Field) and is_optional(model, member) and not type_.is_transparent:
        text += ".Value"
    if isinstance(member, Field) and member.is_bool:
        return text
    if isinstance(member, Field) and member.repeat is None:
        kind = item_type(model, member)
        if kind == "int64":
            return text
        if kind == "uint64":
            raise UnsupportedError(f"{member.location}: an expression over 64 bits without a sign")
        return f"int64({text})"
    return text


class FunctionEmitter:
    """Writer of the function that reads one type."""

    def __init__(self, model: Model, type_: Type, out: GoWriter) -> None:
        self.model, self.type, self.file = model, type_, out
        self.out = GoWriter()
        self.shape = own_shape(model, type_)
        self.seen: set[str] = set()

    def emit(self) -> None:
        """Write the function."""
        type_, found = self.type, self.shape
        for item, variable, _ in parameters(self.model, type_):
            if not type_.is_transparent:
                self.out.line(f"v.{exported(item.id)} = {variable}")
        fields = list(type_.fields)
        while fields:
            run = bits_run(fields)
            if run:
                self._bits(run)
                del fields[: len(run)]
                continue
            field = fields.pop(0)
            self._peeks(field)
            self._field(field)
        self._head(found)
        with self.file.indented():
            body = self.out.text().rstrip("\n")
            for name, kind in _LOCALS.items():
                if re.search(rf"(?<![\w./\"#]){name}\b", body):
                    self.file.line(f"var {name} {kind}")
            if re.search(r"(?<![\w./\"#])base\b", body):
                self.file.line("base := pos")
            self.file.lines(*(body.split("\n") if body else ()))
            if type_.scalar is not None:
                self.file.line(f"return {local(type_.fields[-1].id)}, pos, nil")
            elif not type_.is_choice:
                node = "node, " if found.is_node else ""
                self.file.line(f"return {node}pos, nil")
        self.file.lines("}", "")

    def _head(self, found: Shape) -> None:
        given = "".join(f", {name} {kind}" for _, name, kind in parameters(self.model, self.type))
        result, target = "(int, *Error)", f", v *{found.text}"
        if found.is_node:
            result, target = "(Node, int, *Error)", ""
        elif self.type.scalar is not None:
            result, target = "([]byte, int, *Error)", ""
        self.file.line(f"// parse{type_name(self.type)} reads {self.type.key}.")
        self.file.line(
            f"func parse{type_name(self.type)}(data []byte, pos, end int, complete bool"
            f"{given}{target}) {result} {{"
        )

    def _fail(self, error: str) -> str:
        if self.shape.is_node or self.type.scalar is not None:
            return f"return nil, pos, {error}"
        return f"return pos, {error}"

    def _place(self, field: Field, owner: str = "") -> str:
        """Return the path of a field and its place in the specification, as arguments."""
        if self.type.scalar is not None:  # the caller knows what it reads
            return f'"", "{self.type.location}"'
        path = f'"/{field.id}"' if field.repeat is None else f'item("/{field.id}", {owner})'
        return f'{path}, "{field.location}"'

    def _translator(self, value: str = "value") -> GoTranslator:
        base = "base" if self.type.peek_instances else ""
        return translator(self.model, self.type, value, base=base)

    def _target(self, field: Field) -> str:
        """Return the variable of a field, declared if it is one of the function."""
        if not self.type.is_transparent:
            return f"v.{exported(field.id)}"
        return local(field.id)

    def _missing(self, test: str, at: str, field: Field, owner: str = "") -> None:
        at = "begin" if self.type.scalar is not None else at
        error = f"missing({at}, complete, {self._place(field, owner)})"
        self.out.when(test, self._fail(error))

    def _checks(self, field: Field, value: str, at: str, owner: str = "", shown: str = "") -> None:
        at = "begin" if self.type.scalar is not None else at
        for test in self._translator(value).violated(field):
            error = f"invalid({at}, {shown or value}, {self._place(field, owner)})"
            self.out.when(test, self._fail(error))

    def _bits(self, run: list[Field]) -> None:
        size = sum(item.type.width for item in run if isinstance(item.type, BitsType)) // 8
        self._missing(f"end-pos < {size}", "pos", run[0])
        self.out.line(f"bits = {load_bits(size, 'pos')}")
        self.out.line(f"pos += {size}")
        for field, shift, mask in shifts(run):
            target = self._target(field)
            text = f"bits >> {shift}" if shift else "bits"
            if field.is_bool:
                text = f"bits>>{shift}&1" if shift else "bits&1"
                self.out.line(f"{target} = {text} != 0")
            else:
                kind = item_type(self.model, field)
                whole = mask.bit_length() + shift == 8 * size
                text = text if whole else f"{text} & {hex(mask) if mask > 9 else mask}"
                self.out.line(f"{target} = {kind}({text})")
            value = target if field.is_bool else f"int64({target})"
            self._checks(field, value, f"pos-{size}")

    def _peeks(self, field: Field) -> None:
        for peek in self.type.peek_instances:
            if peek.id not in mentioned(field) or peek.id in self.seen:
                continue
            self.seen.add(peek.id)
            assert isinstance(peek.position, ex.Int)
            assert isinstance(peek.type, IntegerType)
            start = peek.position.value
            at = f"base+{start}" if start else "base"
            made = Field(peek.id, peek.type, peek.location, valid=peek.valid)
            self._missing(f"end-base < {start + peek.type.size}", at, made)
            text = load(peek.type, at)
            name = local(peek.id)
            self.out.line(f"{name} := int64({text})")
            self._checks(made, name, at)

    @contextmanager
    def _condition(self, field: Field) -> Iterator[None]:
        if field.condition is None:
            yield
            return
        test = self._translator().text(field.condition)
        with self.out.block(f"if {test} {{", "}"):
            yield

    def _field(self, field: Field) -> None:
        if field.is_guard:
            assert field.valid is not None
            assert field.valid.expression is not None
            test = self._translator().text(negation(field.valid.expression))
            self.out.when(test, self._fail(f"trailing(pos, end-pos, {self._place(field)})"))
            return
        if self.type.is_choice:
            assert isinstance(field.type, SwitchType)
            self._switch(field, field.type)
            return
        if self.type.scalar is not None and field is self.type.fields[0]:
            self.out.line("begin := pos")
        if self.type.scalar is not None and field is self.type.fields[-1]:
            self.out.line(f"var {local(field.id)} []byte")
        with self._condition(field):
            if field.repeat is not None:
                self._array(field)
            else:
                self._value(field, self._target(field))

    def _array(self, field: Field) -> None:
        assert field.repeat is not None
        if field.repeat.until is not None:
            raise UnsupportedError(f"{field.location}: an array up to a value")
        target = self._target(field)
        item = item_type(self.model, field)
        least, exact = self._item_size(field)
        fit = "(end - pos)" if least == 1 else f"(end - pos) / {least}"
        if field.repeat.count is not None:
            self.out.line(f"count = {self._translator().text(field.repeat.count)}")
            most = f"min(count, int64({fit.strip('()') if least == 1 else fit}))"
        else:
            most = f"int64({fit.strip('()') if least == 1 else fit})"
        most = _tight(most) if "min(" in most else most
        if not exact:
            inner = most.removeprefix("min(").removesuffix(")") if "min(" in most else _tight(most)
            most = f"min({inner}, {_MOST_AT_ONCE})"
        self.out.line(f"{target} = make([]{item}, 0, max(0, {_tight(most)}))")
        head = "for pos < end {"
        if field.repeat.count is not None:
            head = "for i := int64(0); i < count; i++ {"
        with self.out.block(head, "}"):
            if field.ascending is not None:
                self.out.line("at = pos")
            self._item(field, target, item)

    def _item(self, field: Field, target: str, item: str) -> None:
        found = isinstance(field.type, TypeReference) and shape(self.model, field.type)
        if found and found.is_structure:
            self.out.line(f"{target} = append({target}, {item}{{}})")
            made = f"{target}[len({target})-1]"
            self._value(field, made, owner=f"len({target})-1")
            if field.ascending is not None:
                self._ascending(field, target)
            return
        self.out.line(f"var each {item}")
        self._value(field, "each", owner=f"len({target})")
        self.out.line(f"{target} = append({target}, each)")

    def _ascending(self, field: Field, target: str) -> None:
        number = self.model.inner(field).field_by_id[field.ascending or ""]
        name = exported(number.id)
        last = f"{target}[len({target})-1].{name}"
        test = f"n := len({target}); n > 1 && {target}[n-1].{name} <= {target}[n-2].{name}"
        error = f'invalid(at, int64({last}), "/{number.id}", "{number.location}")'
        self.out.when(test, self._fail(f"{error}.under({self._path(field, f'len({target})-1')})"))

    def _item_size(self, field: Field) -> tuple[int, bool]:
        match field.type:
            case TypeReference():
                inner = self.model.type(field.type)
                fixed = fixed_size(self.model, inner)
                return max(1, fixed or minimum_size(self.model, inner)), fixed is not None
            case IntegerType(size=size) | FloatType(size=size):
                return size, True
        return 1, False

    def _path(self, field: Field, owner: str) -> str:
        return f'"/{field.id}"' if field.repeat is None else f'item("/{field.id}", {owner})'

    def _value(self, field: Field, target: str, owner: str = "") -> None:
        """Read one value into ``target``; ``owner`` is the number of the item in an array."""
        optional = field.repeat is None and is_optional(self.model, field)
        if optional and not self.type.is_transparent:
            self.out.line(f"{target}.Present = true")
            target += ".Value"
        match field.type:
            case IntegerType() | FloatType():
                size = field.type.size
                self._missing(f"end-pos < {size}", "pos", field, owner)
                declared = ":=" if self.type.is_transparent else "="
                self.out.line(f"{target} {declared} {load(field.type, 'pos')}")
                self.out.line(f"pos += {size}")
                if isinstance(field.type, IntegerType):
                    plain = field.type == IntegerType(8, signed=True, little=field.type.little)
                    self._checks(field, target if plain else f"int64({target})", f"pos-{size}",
                                 owner, target)  # fmt: skip
            case BytesType(size=length):
                self._bytes(field, length, target, owner)
            case TypeReference():
                self._reference(field, field.type, target, owner)
            case _:
                raise UnsupportedError(f"{field.location}: Go cannot read it")

    def _sized(self, field: Field, length: ex.Expression, owner: str) -> None:
        go = self._translator()
        text = go.text(length)
        if ex.literal(length) is not None:
            self._missing(f"end-pos < {text}", "pos", field, owner)
            self.out.line(f"stop = pos + {text}")
            return
        self.out.line(f"size = {text}")
        if not go.never_negative(field, length):
            at = "begin" if self.type.scalar is not None else "pos"
            error = f"invalid({at}, size, {self._place(field, owner)})"
            self.out.when("size < 0", self._fail(error))
        self._missing("size > int64(end-pos)", "pos", field, owner)
        self.out.line("stop = pos + int(size)")

    def _bytes(self, field: Field, length: ex.Expression | None, target: str, owner: str) -> None:
        if length is None:
            self.out.lines(f"{target} = data[pos:end:end]", "pos = end")
            return
        self._sized(field, length, owner)
        self.out.lines(f"{target} = data[pos:stop:stop]", "pos = stop")

    def _reference(self, field: Field, reference: TypeReference, target: str, owner: str) -> None:
        type_ = self.model.type(reference)
        if type_.scalar is not None:
            self._scalar(field, type_.scalar, type_, target, owner)
            return
        stop, complete = "end", "complete"
        if reference.size is not None:
            self._sized(field, reference.size, owner)
            stop, complete = "stop", "true"
        bounded = reference.size is not None or reference.size_eos
        pos = "_" if bounded else "pos"
        call = self._call(reference, stop, complete)
        found = shape(self.model, reference)
        failed = self._fail(f"err.under({self._path(field, owner)})")
        if found.is_node:
            variable = "node" if self.type.is_frame else target
            if self.type.is_frame:
                self.out.line("var node Node")
            assigned = f"{variable}, {pos}, err = {call})"
        else:
            if self.type.is_frame:
                pointer = "v"
            elif field.repeat is None and field.condition is not None:
                self.out.line(f"{target} = new({found.text})")
                pointer = target
            else:
                pointer = f"&{target}"
            assigned = f"{pos}, err = {call}, {pointer})"
        self.out.when(f"{assigned}; err != nil", failed)
        if bounded:
            self.out.line(f"pos = {stop}")

    def _call(self, reference: TypeReference, stop: str, complete: str) -> str:
        """Return a call without its last argument and parenthesis."""
        go = self._translator()
        type_ = self.model.type(reference)
        given = []
        for item, argument in zip(type_.parameters, reference.arguments, strict=True):
            given.append(
                go.text(argument, 2)
                if isinstance(item.type, IntegerType)
                else _structure_argument(self.type, argument)
            )
        passed = "".join(f", {text}" for text in given)
        return f"parse{type_name(type_)}(data, pos, {stop}, {complete}{passed}"

    def _scalar(self, field: Field, scalar: Scalar, type_: Type, target: str, owner: str) -> None:
        checked = field.valid is not None and self.type.scalar is None
        if checked:
            self.out.line("at = pos")
        if scalar in VARINTS:
            varint = VARINTS[scalar]
            name = f"varint{varint.bits}" if varint.zigzag else f"unsignedVarint{varint.bits}"
            call = f"{name}(data, pos, end, complete)"
        else:
            call = f"parse{type_name(type_)}(data, pos, end, complete)"
        if self.type.is_transparent and scalar in VARINTS:
            self.out.line(f"var {target} {scalar_type(scalar)}")
        error = "err" if self.type.scalar is not None else f"err.named({self._place(field, owner)})"
        self.out.when(f"{target}, pos, err = {call}; err != nil", self._fail(error))
        if scalar.is_integer:
            value = target if scalar_type(scalar) == "int64" else f"int64({target})"
            self._checks(field, value, "at", owner, target)

    def _switch(self, field: Field, kind: SwitchType) -> None:
        end = "end"
        complete = "complete"
        if kind.size is not None:
            self._sized(field, kind.size, "")
            end, complete = "stop", "true"
        groups: dict[TypeReference, list[int]] = {}
        default = None
        for number, reference in kind.cases:
            if number is None:
                default = reference
            else:
                groups.setdefault(reference, []).append(number)
        self.out.line(f"on = {self._translator().text(kind.on)}")
        self.out.line("switch on {")
        bounded = kind.size is not None or kind.size_eos
        for reference, numbers in groups.items():
            self.out.line(f"case {', '.join(map(str, numbers))}:")
            with self.out.indented():
                self._case(field, reference, end, complete, bounded=bounded)
        self.out.line("}")
        if default is not None:
            self._case(field, default, end, complete, bounded=bounded)
        else:
            error = f'invalid(pos, on, "/{field.id}", "{field.location}")'
            self.out.line(f"return nil, pos, {error}")

    def _case(
        self, field: Field, reference: TypeReference, end: str, complete: str, *, bounded: bool
    ) -> None:
        found = shape(self.model, reference)
        call = self._call(reference, end, complete)
        pos = "_" if bounded else "pos"
        if found.type.scalar is not None:
            raise UnsupportedError(f"{field.location}: a case that is not a structure")
        if found.is_node:
            self.out.line("var node Node")
            assigned = f"node, {pos}, err = {call})"
        else:
            self.out.line(f"node := new({found.text})")
            assigned = f"{pos}, err = {call}, node)"
        self.out.when(f"{assigned}; err != nil", f'return nil, pos, err.under("/{field.id}")')
        self.out.line(f"return node, {end if bounded else 'pos'}, nil")


def _structure_argument(type_: Type, argument: ex.Expression) -> str:
    if not isinstance(argument, ex.Name):
        raise UnsupportedError(f"{type_.location}: an argument has to be a plain name")
    if argument.id in type_.field_by_id:
        return f"&v.{exported(argument.id)}"
    return local(argument.id)


def _tight(text: str) -> str:
    """Return arithmetic as gofmt writes it inside a call with several arguments."""
    return text.replace(" - ", "-").replace(" / ", "/")
