"""Write the module of one file: structures, what reads them, and their values as trees."""

from __future__ import annotations

from tools.specgen.expression import Expression
from tools.specgen.facts.fields import mentioned, model_fields
from tools.specgen.facts.ranges import VARINTS
from tools.specgen.facts.segments import resolved
from tools.specgen.facts.sizes import ChecksumPlace, checksums_of, minimum_size
from tools.specgen.model import (
    BitsType,
    BytesType,
    Enum,
    Field,
    FloatType,
    IntegerType,
    Model,
    PeekInstance,
    Spec,
    SwitchType,
    Type,
    TypeReference,
    ValueInstance,
)
from tools.specgen.rust.expressions import Translator, bare, negation
from tools.specgen.rust.naming import (
    ANY,
    has_default,
    holds_bytes,
    identifier,
    instance_parameters,
    is_option,
    is_structure,
    local,
    path_of,
    type_of,
    value_of,
    word,
)
from tools.specgen.rust.writing import WriteFunction
from tools.specgen.writer import CodeWriter


def documented(out: CodeWriter, doc: str) -> None:
    """Write a comment for the next item."""
    for line in doc.strip().splitlines():
        text = line.rstrip().replace("[", "\\[").replace("]", "\\]").replace("<", "\\<")
        out.line(f"/// {text}" if text else "///")


class SpecModule:
    """Writer of one module."""

    def __init__(self, model: Model, spec: Spec) -> None:
        self.model = model
        self.spec = spec
        self.out = CodeWriter()

    def text(self) -> str:
        """Return the module without its header."""
        self.out.lines(f"//! {self.spec.title}.", "", "use super::runtime::*;")
        for enum in self.spec.enums:
            self._enum(enum)
        for type_ in self.spec.types:
            self.out.line()
            if type_.scalar in VARINTS:
                self._varint(type_)
            elif type_.scalar or type_.is_frame:
                self._function(type_)
            elif type_.is_choice:
                self._choice(type_)
            else:
                self._structure(type_)
                self.out.line()
                self._function(type_)
            self.out.line()
            WriteFunction(self.model, self.out, self.spec.id, type_).emit()
        return self.out.text()

    # -- types ------------------------------------------------------------------------------

    def _enum(self, enum: Enum) -> None:
        self.out.line()
        self.out.line(f"/// Values of `{enum.id}`.")
        with self.out.block(f"pub mod {identifier(enum.id)} {{", "}"):
            for value in enum.values:
                documented(self.out, value.doc or f"`{value.id}`.")
                self.out.line(f"pub const {value.id.upper()}: i64 = {value.value};")
            self.out.line()
            self.out.line("/// Returns the name of a value, `None` for one without a name.")
            with (
                self.out.block("pub fn name(value: i64) -> Option<&'static str> {", "}"),
                self.out.block("match value {", "}"),
            ):
                for value in enum.values:
                    self.out.line(f'{value.value} => Some("{value.id}"),')
                self.out.line("_ => None,")

    def _lifetime(self, type_: Type) -> str:
        return "<'a>" if holds_bytes(self.model, type_) else ""

    def _structure(self, type_: Type) -> None:
        documented(self.out, type_.doc or f"`{type_.name}`.")
        default = "Default, " if has_default(self.model, type_) else ""
        self.out.line(f"#[derive(Clone, Debug, {default}PartialEq)]")
        kept = [item for item in type_.parameters if not is_structure(item)]
        fields = model_fields(type_)
        with self.out.block(f"pub struct {type_.class_name}{self._lifetime(type_)} {{", "}"):
            for parameter in kept:
                documented(self.out, parameter.doc or f"`{parameter.id}`.")
                self.out.line(f"pub {identifier(parameter.id)}: i64,")
            for field in fields:
                documented(self.out, field.doc or f"`{field.id}`.")
                kind = type_of(self.model, self.spec.id, field)
                self.out.line(f"pub {identifier(field.id)}: {kind},")
        self.out.line()
        self._methods(type_)

    def _methods(self, type_: Type) -> None:
        lifetime = self._lifetime(type_)
        with self.out.block(f"impl{lifetime} {type_.class_name}{lifetime} {{", "}"):
            for instance in type_.value_instances:
                self._instance(type_, instance)
                self.out.line()
            for place in checksums_of(self.model, type_):
                self._checksum(place)
                self.out.line()
            self._tree(type_)

    def _checksum(self, place: ChecksumPlace) -> None:
        out, field = self.out, place.field
        out.lines(
            f"/// Compares `{field.id}` with the checksum of the bytes that the structure was read",
            "/// from, which begin at a position.",
        )
        head = f"pub fn verify_{field.id}(&self, bytes: &[u8], position: u64)"
        with out.block(f"{head} -> Result<(), Error> {{", "}"):
            covered = f"bytes.get({place.start}..).unwrap_or_default()"
            out.line(f"let computed = crate::checksum::{place.function.value}({covered});")
            stored = f"self.{identifier(field.id)}"
            with out.block(f"if computed == {stored} {{", "}"):
                out.line("return Ok(());")
            where = f'&Place("/{field.id}", "{field.location}")'
            at = f"position + {place.position}"
            out.line(f"Err(Error::mismatch({at}, {stored}, computed, {where}))")

    def _given(self, type_: Type) -> str:
        given = ((local(item.id), self.model.inner(item)) for item in instance_parameters(type_))
        return "".join(
            f", {name}: &{value_of(self.model, inner, self.spec.id, ANY)}" for name, inner in given
        )

    def _instance(self, type_: Type, instance: ValueInstance) -> None:
        translator = Translator(self.model, type_, prefix="self.", wrap=True)
        boolean = translator.is_boolean(instance.value)
        kind = "bool" if boolean else "i64"
        value = translator.text(instance.value)
        if instance.condition is not None:
            kind = f"Option<{kind}>"
        documented(self.out, instance.doc or f"`{instance.id}`.")
        head = f"pub fn {identifier(instance.id)}(&self{self._given(type_)}) -> {kind} {{"
        with self.out.block(head, "}"):
            if instance.condition is not None:
                test = translator.text(negation(instance.condition))
                with self.out.block(f"if {test} {{", "}"):
                    self.out.line("return None;")
                value = f"Some({value})"
            self.out.line(value)

    def _tree(self, type_: Type) -> None:
        lifetime = "'a" if self._lifetime(type_) else "'static"
        self.out.line("/// Returns the value as a tree.")
        head = f"pub fn value(&self{self._given(type_)}) -> Value<{lifetime}> {{"
        given = ", ".join(local(item.id) for item in instance_parameters(type_))
        with self.out.block(head, "}"), self.out.block("Value::Structure(vec![", "])"):
            for field in model_fields(type_):
                self.out.line(f'("{field.id}", {self._field_tree(type_, field)}),')
            for instance in type_.value_instances:
                called = f"self.{identifier(instance.id)}({given})"
                self.out.line(f'("{instance.id}", Value::from({called})),')

    def _field_tree(self, type_: Type, field: Field) -> str:
        place = f"self.{identifier(field.id)}"
        if not isinstance(field.type, TypeReference):
            plain = field.repeat is None
        else:
            inner = resolved(self.model, field.type)
            plain = field.repeat is None and inner.scalar is not None
        if plain:
            return f"Value::from({place})"
        optional = field.condition is not None
        made = self._item_tree(type_, field, "item")
        if field.repeat is None:
            if optional:
                return f"{place}.as_ref().map_or(Value::Null, |item| {made})"
            return self._item_tree(type_, field, place)
        listed = f"Value::List({{}}.iter().map(|item| {made}).collect())"
        if optional:
            return f"{place}.as_ref().map_or(Value::Null, |items| {listed.format('items')})"
        return listed.format(place)

    def _item_tree(self, type_: Type, field: Field, place: str) -> str:
        if not isinstance(field.type, TypeReference):
            return f"Value::from(*{place})"
        inner = resolved(self.model, field.type)
        if inner.scalar:
            return f"Value::from(*{place})"
        translator = Translator(self.model, type_, prefix="self.")
        texts = self._structures(self.model.type(field.type), field.type, translator)
        return f"{place}.value({', '.join(texts)})"

    def _structures(
        self, type_: Type, reference: TypeReference, translator: Translator
    ) -> list[str]:
        """Return the arguments of a type that are structures."""
        return [
            translator.reference(argument)
            for parameter, argument in zip(type_.parameters, reference.arguments, strict=True)
            if is_structure(parameter)
        ]

    # -- functions --------------------------------------------------------------------------

    def _varint(self, type_: Type) -> None:
        assert type_.scalar
        size, bits, zigzag = VARINTS[type_.scalar]
        width, kind = word(bits), value_of(self.model, type_, self.spec.id)
        documented(self.out, type_.doc)
        self.out.line("#[inline]")
        head = f"pub fn read_{type_.name}(input: &mut Input<'_>, place: &Place)"
        with self.out.block(f"{head} -> Result<{kind}, Error> {{", "}"):
            read = f"input.varint({size}, {bits}, place)? as u{width}"
            if zigzag:
                self.out.line(f"let code = {read};")
                self.out.line(f"Ok((code >> 1) as i{width} ^ -((code & 1) as i{width}))")
            else:
                self.out.line(f"Ok({read})")

    def _open(self, type_: Type) -> str:
        given = ", place: &Place" if type_.scalar else ""
        for parameter in type_.parameters:
            kind = "i64"
            if is_structure(parameter):
                inner = self.model.inner(parameter)
                kind = f"&{value_of(self.model, inner, self.spec.id, ANY)}"
            given += f", {local(parameter.id)}: {kind}"
        lifetime = "<'a>" if holds_bytes(self.model, type_) else ""
        taken = "Input<'a>" if lifetime else "Input<'_>"
        returned = value_of(self.model, type_, self.spec.id)
        head = f"pub fn read_{type_.name}{lifetime}(input: &mut {taken}{given})"
        return f"{head} -> Result<{returned}, Error> {{"

    def _function(self, type_: Type) -> None:
        self.out.line(f"/// Reads `{type_.name}`.")
        if type_.scalar:
            self.out.line("#[inline]")
        with self.out.block(self._open(type_), "}"):
            self._reader(type_).read()
            if type_.is_transparent:
                self.out.line(f"Ok({local(type_.fields[-1].id)})")
                return
            kept = [item.id for item in type_.parameters if not is_structure(item)]
            kept += [field.id for field in model_fields(type_)]
            made = ", ".join(
                identifier(name)
                if identifier(name) == local(name)
                else f"{identifier(name)}: {local(name)}"
                for name in kept
            )
            self.out.line(
                f"Ok({type_.class_name} {{ {made} }})" if made else f"Ok({type_.class_name} {{}})"
            )

    def _choice(self, type_: Type) -> None:
        kinds = self.kinds(type_)
        lifetime = self._lifetime(type_)
        documented(self.out, type_.doc or f"`{type_.name}`.")
        self.out.line("#[derive(Clone, Debug, PartialEq)]")
        with self.out.block(f"pub enum {type_.class_name}{lifetime} {{", "}"):
            for inner in kinds:
                documented(self.out, inner.doc or f"`{inner.name}`.")
                held = value_of(self.model, inner, self.spec.id)
                self.out.line(f"{inner.class_name}({held}),")
        self.out.line()
        with self.out.block(f"impl{lifetime} {type_.class_name}{lifetime} {{", "}"):
            self.out.line("/// Returns the value as a tree.")
            shown = "'a" if lifetime else "'static"
            head = f"pub fn value(&self{self._given(type_)}) -> Value<{shown}> {{"
            with self.out.block(head, "}"), self.out.block("match self {", "}"):
                for inner, (case, reference) in kinds.items():
                    tree = "Value::from(*item)"
                    if not inner.scalar:
                        texts = self._structures(case, reference, Translator(self.model, type_))
                        tree = f"item.value({', '.join(texts)})"
                    self.out.line(f"{type_.class_name}::{inner.class_name}(item) => {tree},")
        self.out.line()
        self.out.line(f"/// Reads `{type_.name}`.")
        with self.out.block(self._open(type_), "}"):
            self._reader(type_).choose()

    def _reader(self, type_: Type) -> Reader:
        return Reader(self.model, self.out, self.spec.id, type_)

    def kinds(self, type_: Type) -> dict[Type, tuple[Type, TypeReference]]:
        """Return the structures of a choice, each with the first case that leads to it."""
        switch = type_.fields[0].type
        assert isinstance(switch, SwitchType)
        found: dict[Type, tuple[Type, TypeReference]] = {}
        for _, reference in switch.cases:
            found.setdefault(
                resolved(self.model, reference), (self.model.type(reference), reference)
            )
        return found


class Reader:
    """Writer of the body of one function that reads a type."""

    def __init__(self, model: Model, out: CodeWriter, home: str, type_: Type) -> None:
        self.model, self.out, self.home, self.type = model, out, home, type_
        self.translator = Translator(self.model, type_)
        self.seen: set[str] = set()
        self.bits: list[Field] = []

    def read(self) -> None:
        """Read every field in order."""
        if self.type.scalar:
            self.out.line("let start = input.absolute();")
        for field in self.type.fields:
            self._peeks(field)
            if field.is_guard:
                self._guard(field)
            elif isinstance(field.type, BitsType):
                self._bits(field)
            elif field.condition is not None:
                self._optional(field)
            elif field.repeat is not None:
                self._array(field)
            else:
                self._value(field)

    def place(self, field: Field | PeekInstance, path: str | None = None) -> str:
        """Return the place of a field."""
        if self.type.scalar:
            return "place"
        return f'&Place("{f"/{field.id}" if path is None else path}", "{field.location}")'

    def _peeks(self, field: Field) -> None:
        for peek in self.type.peek_instances:
            if peek.id not in mentioned(field) or peek.id in self.seen:
                continue
            self.seen.add(peek.id)
            assert isinstance(peek.type, IntegerType)
            place, at = self.place(peek), self.translator.text(peek.position)
            got = f"input.peek::<{peek.type.size}>({at}, {place})?"
            self.out.line(f"let {local(peek.id)} = {_number(peek.type, got)};")
            self._check(peek, f"input.absolute() + {at}")

    def _check(self, field: Field | PeekInstance, position: str) -> None:
        for test in self.translator.violated(field):
            name = local(field.id)
            with self.out.block(f"if {test} {{", "}"):
                self.out.line(
                    f"return Err(Error::invalid({position}, {name}, {self.place(field)}));"
                )

    def _guard(self, field: Field) -> None:
        assert field.valid
        assert field.valid.expression is not None
        test = self.translator.text(negation(field.valid.expression))
        with self.out.block(f"if {test} {{", "}"):
            self.out.line(f"return Err(input.trailing({self.place(field)}));")

    def _bits(self, field: Field) -> None:
        self.bits.append(field)
        total = sum(item.type.width for item in self.bits if isinstance(item.type, BitsType))
        if total % 8 or total // 8 not in (1, 2, 4, 8):
            return
        self.out.line("let start = input.absolute();")
        got = f"input.array::<{total // 8}>({self.place(self.bits[0])})?"
        self.out.line(f"let bits = u{total}::from_be_bytes({got});")
        shift = total
        for item in self.bits:
            assert isinstance(item.type, BitsType)
            shift -= item.type.width
            mask = (1 << item.type.width) - 1
            text = f"(bits >> {shift})" if shift else "bits"
            text = f"{text} & {mask:#x}"
            if item.is_bool:
                text = f"{text} != 0"
            elif word(item.type.width) != total:
                text = f"({text}) as u{word(item.type.width)}"
            self.out.line(f"let {local(item.id)} = {text};")
        for item in self.bits:
            self._check(item, "start")
        self.bits = []

    def _optional(self, field: Field) -> None:
        assert field.condition is not None
        test = self.translator.text(field.condition)
        name = local(field.id)
        with self.out.block(f"let {name} = if {test} {{", "} else {"):
            if field.repeat is not None:
                self._array(field)
            else:
                self._value(field)
            self.out.line(name if is_option(self.model, field) else f"Some({name})")
        with self.out.indented():
            self.out.line("None")
        self.out.line("};")

    def _array(self, field: Field) -> None:
        repeat = field.repeat
        assert repeat is not None
        name, path = local(field.id), f'"/{field.id}"'
        least = max(self.least(field), 1)
        if repeat.count is None:
            self.out.line(f"let mut {name} = Vec::new();")
            head = "while !input.is_at_end() {"
        else:
            count = self.translator.number(repeat.count)
            self.out.line(
                f"let mut {name} = Vec::with_capacity(input.room({bare(count)}, {least}));"
            )
            head = f"for _ in 0..{count} {{"
        with self.out.block(head, "}"):
            self._item(field, name, path)

    def least(self, field: Field) -> int:
        """Return the fewest bytes of a value of a field, of an item where it is an array."""
        if isinstance(field.type, TypeReference):
            return minimum_size(self.model, self.model.type(field.type))
        return minimum_size(self.model, Field(field.id, field.type, field.location))

    def _item(self, field: Field, name: str, path: str) -> None:
        inside = f".map_err(|error| error.inside_item({path}, {name}.len()))"
        if field.ascending is not None:
            self.out.line("let start = input.absolute();")
        self.out.line(f"let item = {self._read(field, '', inside)};")
        if field.ascending is not None:
            number = self.model.inner(field).field_by_id[field.ascending]
            key = identifier(number.id)
            kind = value_of(self.model, self.model.inner(field), self.home)
            lifetime = kind.replace("<'a>", "<'_>")
            with self.out.block(
                f"if {name}.last().is_some_and(|last: &{lifetime}| item.{key} <= last.{key}) {{",
                "}",
            ):
                place = f'&Place("/{number.id}", "{number.location}")'
                self.out.line(f"let error = Error::invalid(start, item.{key}, {place});")
                self.out.line(f"return Err(error.inside_item({path}, {name}.len()));")
        self.out.line(f"{name}.push(item);")

    def _value(self, field: Field) -> None:
        checked = field.valid is not None and not self.type.scalar
        if checked:
            self.out.line("let start = input.absolute();")
        inside = f'.map_err(|error| error.inside("/{field.id}"))'
        self.out.line(f"let {local(field.id)} = {self._read(field, f'/{field.id}', inside)};")
        if field.valid is not None:
            self._check(field, "start")

    def _read(self, field: Field, path: str, inside: str) -> str:
        """Return what reads one value.

        Args:
            path: of the field where nothing else adds it.
            inside: what adds the path of the field to errors from a structure.
        """
        place = self.place(field, path)
        tail = "" if path else inside
        if self.type.scalar:
            tail = ".map_err(|error| error.at(start))"
        match field.type:
            case IntegerType(size) | FloatType(size):
                return _number(field.type, f"input.array::<{size}>({place}){tail}?")
            case BytesType(None):
                return "input.rest()"
            case BytesType(size):
                assert size is not None
                return f"input.sized({self._sized(size)}, {place}){tail}?"
            case TypeReference():
                return self._structure(field, field.type, place, tail, inside)
        raise ValueError(f"{field.location}: nothing reads it in Rust")

    def _sized(self, size: Expression) -> str:
        return bare(self.translator.number(size))

    def _structure(
        self, field: Field, kind: TypeReference, place: str, tail: str, inside: str
    ) -> str:
        type_ = self.model.type(kind)
        called = path_of(self.home, type_, f"read_{type_.name}")
        if type_.scalar:
            return f"{called}(input, {place}){'' if self.type.scalar else tail}?"
        taken = self.source(kind, place, tail)
        return f"{called}({taken}{self.arguments(kind)}){inside}?"

    def source(self, kind: TypeReference | SwitchType, place: str, tail: str = "") -> str:
        """Return the input of a structure: a part of ours where it has a size."""
        if kind.size is not None:
            return f"&mut input.part({self._sized(kind.size)}, {place}){tail}?"
        return "&mut input.remainder()" if kind.size_eos else "input"

    def arguments(self, kind: TypeReference) -> str:
        """Return the arguments of a type, each after a comma."""
        type_ = self.model.type(kind)
        return "".join(
            ", "
            + (
                self.translator.reference(argument)
                if is_structure(parameter)
                else self.translator.argument(argument)
            )
            for parameter, argument in zip(type_.parameters, kind.arguments, strict=True)
        )

    def choose(self) -> None:
        """Read the one field of a choice."""
        (field,) = self.type.fields
        switch = field.type
        assert isinstance(switch, SwitchType)
        self._peeks(field)
        taken = self.source(switch, self.place(field))
        if taken != "input":
            self.out.line(f"let inside = {taken};")
            taken = "inside"
        on, path = self.translator.number(switch.on), f'"/{field.id}"'
        groups: dict[tuple[bool, TypeReference], list[int]] = {}
        for case, reference in switch.cases:
            groups.setdefault((case is None, reference), []).extend([] if case is None else [case])
        with self.out.block(f"match {bare(on)} {{", "}"):
            default = None
            for (is_default, reference), cases in groups.items():
                if is_default:
                    default = reference
                    continue
                self._case(" | ".join(map(str, cases)), reference, taken, path)
            if default is not None:
                self._case("_", default, taken, path)
            else:
                place = self.place(field)
                self.out.line(f"other => Err(Error::invalid({taken}.absolute(), other, {place})),")

    def _case(self, pattern: str, reference: TypeReference, taken: str, path: str) -> None:
        type_ = self.model.type(reference)
        called = path_of(self.home, type_, f"read_{type_.name}")
        variant = f"{self.type.class_name}::{resolved(self.model, reference).class_name}"
        given = self.arguments(reference)
        if type_.scalar:
            given = f', &Place("", "{self.type.fields[0].location}")'
        self.out.line(
            f"{pattern} => {called}({taken}{given}).map({variant})"
            f".map_err(|error| error.inside({path})),"
        )


def _number(kind: IntegerType | FloatType, got: str) -> str:
    letter = "f" if isinstance(kind, FloatType) else "i" if kind.signed else "u"
    order = "le" if kind.little else "be"
    return f"{letter}{8 * kind.size}::from_{order}_bytes({got})"
