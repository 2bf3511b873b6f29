"""Emit functions that append structures to bytes; what follows from other fields is computed.

A type that they do not support, because it holds one of several structures, has none.
"""

from __future__ import annotations

from tools.specgen.facts.fields import is_bytes
from tools.specgen.facts.ranges import VARINTS
from tools.specgen.facts.sizes import checksums_of
from tools.specgen.go.expressions import UnsupportedError
from tools.specgen.go.loads import bits_run, shifts
from tools.specgen.go.names import exported, type_name
from tools.specgen.go.types import is_optional, own_shape, shape, translator
from tools.specgen.model import (
    BitsType,
    BytesType,
    DeriveFunction,
    Field,
    FloatType,
    IntegerType,
    Model,
    Scalar,
    SwitchType,
    Type,
    TypeReference,
)
from tools.specgen.writer import GoWriter


def written_types(model: Model) -> tuple[Type, ...]:
    """Return the types that can be written: all that they hold can be, too."""
    possible = {type_.key: type_ for type_ in model.all_types()}
    changed = True
    while changed:
        refused = [
            key for key, type_ in possible.items() if not _is_possible(model, type_, possible)
        ]
        for key in refused:
            del possible[key]
        changed = bool(refused)
    return tuple(possible.values())


def _is_possible(model: Model, type_: Type, possible: dict[str, Type]) -> bool:
    if type_.scalar in VARINTS:
        return True
    for field in type_.fields:
        match field.type:
            case TypeReference():
                if model.type(field.type).key not in possible:
                    return False
            case SwitchType(cases=cases):
                if any(model.type(reference).key not in possible for _, reference in cases):
                    return False
        marks = field.derive is not None and field.derive.function is DeriveFunction.PRESENT
        if marks or (field.repeat is not None and field.repeat.until is not None):
            return False
    return True


def emit_writers(model: Model, types: tuple[Type, ...]) -> str:
    """Return ``writing.go``."""
    out = GoWriter()
    for type_ in types:
        if type_.scalar not in VARINTS:
            _Appender(model, type_, out).emit()
    body = out.text().rstrip("\n")
    head = 'package format\n\nimport "math"\n' if "math." in body else "package format\n"
    return f"{head}\n{body}\n"


class _Appender:
    """Writer of the function that appends one type."""

    def __init__(self, model: Model, type_: Type, out: GoWriter) -> None:
        self.model, self.type, self.out = model, type_, out

    def emit(self) -> None:
        """Write the function."""
        type_, out = self.type, self.out
        name = type_name(type_)
        if type_.scalar is not None:
            self._scalar(name)
            return
        if type_.is_choice:
            self._choice(name)
            return
        inner = own_shape(self.model, type_)
        kind = inner.text if inner.is_node else f"*{inner.text}"
        if type_.is_frame:
            out.line(f"func append{name}(b []byte, v {kind}) []byte {{")
            with out.indented():
                self._frame(type_.fields[0], type_.fields[1])
                out.line("return b")
            out.lines("}", "")
            return
        out.lines(
            "// SpecAppend appends the bytes; what follows from other fields is computed.",
        )
        with out.block(f"func (v *{name}) SpecAppend(b []byte) []byte {{", "}"):
            out.line(f"return append{name}(b, v)")
        out.line()
        out.line(f"func append{name}(b []byte, v *{name}) []byte {{")
        with out.indented():
            places = list(checksums_of(self.model, type_))
            if places:
                out.line("begin := len(b)")
            fields = list(type_.fields)
            while fields:
                run = bits_run(fields)
                if run:
                    self._bits(run)
                    del fields[: len(run)]
                    continue
                self._field(fields.pop(0))
            for place in places:
                sum_ = f"{place.function}(b[begin+{place.start}:])"
                at = f"begin+{place.position}" if place.position else "begin"
                out.line(f"putBe32(b, {at}, {sum_})")
            out.line("return b")
        out.lines("}", "")

    def _choice(self, name: str) -> None:
        """Write the function of one of several structures; what is none of them has no bytes."""
        out, switch = self.out, self.type.fields[0].type
        assert isinstance(switch, SwitchType)
        cases = {shape(self.model, reference).text: reference for _, reference in switch.cases}
        with out.block(f"func append{name}(b []byte, v Node) []byte {{", "}"):
            out.line("switch v := v.(type) {")
            for text, reference in cases.items():
                if text == "Node":
                    raise UnsupportedError(f"{self.type.location}: a choice between choices")
                out.line(f"case *{text}:")
                with out.indented():
                    out.line(f"return append{type_name(self.model.type(reference))}(b, v)")
            out.lines("}", "return b")
        out.line()

    def _scalar(self, name: str) -> None:
        length, value = self.type.fields
        out = self.out
        assert length.derive is not None
        plus = length.derive.plus
        with out.block(f"func append{name}(b []byte, v []byte) []byte {{", "}"):
            text = f"int64(len(v)) + {plus}" if plus else "int64(len(v))"
            if value.condition is not None:
                out.line(f"size := int64({plus - 1})")
                with out.block("if v != nil {", "}"):
                    out.line(f"size = {text}")
            else:
                out.line(f"size := {text}")
            out.line(self._number(length, "size"))
            out.line("return append(b, v...)")
        out.line()

    def _frame(self, size: Field, body: Field) -> None:
        assert isinstance(body.type, TypeReference)
        self._sized(size, f"b = append{type_name(self.model.type(body.type))}(b, v)")

    def _sized(self, size: Field, statement: str) -> None:
        """Write a size and what it is the size of."""
        out = self.out
        plus = size.derive.plus if size.derive is not None else 0
        start = f"start{exported(size.id)}"
        if isinstance(size.type, IntegerType):
            out.line(self._number(size, "0"))
            out.line(f"{start} := len(b)")
            out.line(statement)
            width = size.type.size
            value = (
                f"uint{8 * width}(len(b)-{start}+{plus})"
                if plus
                else f"uint{8 * width}(len(b)-{start})"
            )
            if width == 1:
                out.line(f"b[{start}-1] = {value}")
            else:
                order = "Le" if size.type.little else "Be"
                out.line(f"put{order}{8 * width}(b, {start}-{width}, {value})")
            return
        assert isinstance(size.type, TypeReference)
        varint = VARINTS[self.model.type(size.type).scalar or Scalar.BYTES]
        zigzag = str(varint.zigzag).lower()
        out.line(f"{start} := len(b)")
        out.line(statement)
        out.line(f"b = insertVarint(b, {start}, {plus}, {zigzag})")

    def _number(self, field: Field, value: str) -> str:
        """Return the statement that appends an ``int64``, or a constant."""
        match field.type:
            case IntegerType(size=1):
                return f"b = append(b, byte({value}))"
            case IntegerType(size=size, little=little):
                order = "Le" if little else "Be"
                return f"b = append{order}{8 * size}(b, uint{8 * size}({value}))"
            case TypeReference():
                varint = VARINTS[self.model.type(field.type).scalar or Scalar.BYTES]
                sign = "Zigzag" if varint.zigzag else "Unsigned"
                return f"b = append{sign}(b, int64({value}))"
        raise UnsupportedError(f"{field.location}: Go cannot write it")

    def _bits(self, run: list[Field]) -> None:
        width = sum(item.type.width for item in run if isinstance(item.type, BitsType))
        parts = []
        for field, shift, mask in shifts(run):
            target = f"v.{exported(field.id)}"
            value = f"bit({target})" if field.is_bool else f"uint{width}({target}&{hex(mask)})"
            value = f"uint{width}({value})" if field.is_bool else value
            parts.append(f"{value}<<{shift}" if shift else value)
        text = " | ".join(parts)
        name = f"bits{exported(run[0].id)}"
        self.out.line(f"{name} := {text}")
        self.out.line(f"b = append(b, {name})" if width == 8 else f"b = appendBe{width}(b, {name})")

    def _field(self, field: Field) -> None:
        if field.is_guard or self._is_sized_later(field):
            return
        if field.condition is not None and field.repeat is None:
            test = translator(self.model, self.type).text(field.condition)
            with self.out.block(f"if {test} {{", "}"):
                self._value(field)
            return
        self._value(field)

    def _is_sized_later(self, field: Field) -> bool:
        """Return whether a field is a size that is written with the structure that it is of."""
        derive = field.derive
        if derive is None or derive.function is not DeriveFunction.LEN:
            return False
        return not is_bytes(self.model, self.type.field_by_id[derive.first])

    def _value(self, field: Field) -> None:
        out, target = self.out, f"v.{exported(field.id)}"
        derive = field.derive
        if field.constant is not None and derive is None:
            constant = field.constant
            if isinstance(field.type, IntegerType):
                constant &= (1 << 8 * field.type.size) - 1
            out.line(self._number(field, str(constant)))
            return
        if derive is not None and not self.type.is_opaque_count(field):
            self._derived(field, derive.function, f"v.{exported(derive.first)}", derive.plus)
            return
        for size in self.type.fields:
            if self._is_sized_later(size) and size.derive and size.derive.first == field.id:
                assert isinstance(field.type, TypeReference)
                inner = type_name(self.model.type(field.type))
                node = shape(self.model, field.type).is_node
                self._sized(size, f"b = append{inner}(b, {'' if node else '&'}{target})")
                return
        if field.repeat is not None:
            self._array(field, target)
            return
        text = f"{target}.Value" if is_optional(self.model, field) else target
        self._one(field, text)

    def _derived(self, field: Field, function: DeriveFunction, source: str, plus: int) -> None:
        if function.is_checksum:
            self.out.line(self._number(field, "0"))
            return
        if function is DeriveFunction.PRESENT:
            raise UnsupportedError(f"{field.location}: a mark")
        assert field.derive is not None
        first = self.type.field_by_id[field.derive.first]
        text = f"len({source})+{plus}" if plus else f"len({source})"
        if first.condition is not None:
            name = f"n{exported(field.id)}"
            self.out.line(f"{name} := {plus - 1}")
            with self.out.block(f"if {source} != nil {{", "}"):
                self.out.line(f"{name} = {text.replace('+', ' + ')}")
            text = name
        self.out.line(self._number(field, text))

    def _array(self, field: Field, target: str) -> None:
        with self.out.block(f"for i := range {target} {{", "}"):
            self._one(field, f"{target}[i]")

    def _one(self, field: Field, text: str) -> None:
        out = self.out
        match field.type:
            case IntegerType():
                out.line(self._number(field, text))
            case BytesType():
                out.line(f"b = append(b, {text}...)")
            case TypeReference():
                type_ = self.model.type(field.type)
                if type_.scalar is not None and type_.scalar.is_integer:
                    out.line(self._number(field, text))
                    return
                pointer = field.repeat is None and field.condition is not None
                plain = type_.scalar is not None or pointer or shape(self.model, field.type).is_node
                given = text if plain else f"&{text}"
                out.line(f"b = append{type_name(type_)}(b, {given})")
            case FloatType(size=size, little=little):
                order = "Le" if little else "Be"
                bits = f"math.Float{8 * size}bits({text})"
                out.line(f"b = append{order}{8 * size}(b, {bits})")
