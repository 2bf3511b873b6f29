"""Write the functions that turn structures into bytes; what follows from siblings is computed."""

from __future__ import annotations

from tools.specgen.facts.fields import null_mark, scalar_of
from tools.specgen.facts.ranges import VARINTS
from tools.specgen.facts.segments import resolved
from tools.specgen.facts.sizes import checksums_of
from tools.specgen.model import (
    BitsType,
    BytesType,
    Derive,
    DeriveFunction,
    Field,
    FloatType,
    IntegerType,
    Model,
    SwitchType,
    Type,
    TypeReference,
)
from tools.specgen.rust.naming import ANY, SCALARS, identifier, is_option, path_of, value_of, word
from tools.specgen.writer import CodeWriter

_PARTS = "_bytes"
"""After the id of a field: the variable of its bytes, which are made for their size."""


class WriteFunction:
    """Writer of the function that writes one type.

    A structure comes as a reader makes it. Sizes, counts, marks, checksums and constants in it are
    not looked at: they follow from the rest.
    """

    def __init__(self, model: Model, out: CodeWriter, home: str, type_: Type) -> None:
        self.model, self.out, self.home, self.type = model, out, home, type_
        self.bits: list[Field] = []
        self.made: set[str] = set()

    def emit(self) -> None:
        """Write the function."""
        type_, out = self.type, self.out
        kind = value_of(self.model, type_, self.home, ANY).replace("&'_ ", "&")
        inner = resolved(self.model, TypeReference(type_.spec_id, type_.name))
        taken = kind if inner.scalar else f"&{kind}"
        out.line(f"/// Writes `{type_.name}`.")
        head = f"pub fn write_{type_.name}(to: &mut Vec<u8>, value: {taken})"
        with out.block(f"{head} -> Result<(), Error> {{", "}"):
            if type_.scalar in VARINTS:
                self._varint()
            elif type_.is_choice:
                self._choice()
                return
            else:
                self._fields()
            out.line("Ok(())")

    def _varint(self) -> None:
        assert self.type.scalar
        _, bits, zigzag = VARINTS[self.type.scalar]
        code = "value"
        if zigzag:
            code = f"((value << 1) ^ (value >> {bits - 1})) as u{word(bits)}"
        self.out.line(f"varint(to, u64::from({code}));")

    def _choice(self) -> None:
        switch = self.type.fields[0].type
        assert isinstance(switch, SwitchType)
        cases = {resolved(self.model, ref): self.model.type(ref) for _, ref in switch.cases}
        with self.out.block("match value {", "}"):
            for inner, type_ in cases.items():
                item = "*item" if inner.scalar else "item"
                called = path_of(self.home, type_, f"write_{type_.name}")
                variant = f"{self.type.class_name}::{inner.class_name}"
                self.out.line(f"{variant}(item) => {called}(to, {item}),")

    def _fields(self) -> None:
        type_, out = self.type, self.out
        places = list(checksums_of(self.model, type_))
        if places:
            out.line("let begin = to.len();")
        for field in type_.fields:
            if field.is_guard:
                continue
            if isinstance(field.type, BitsType):
                self._bit_field(field)
            elif field.id in self.made:
                out.line(f"to.extend_from_slice(&{field.id}{_PARTS});")
            elif field.derive is not None and not type_.is_opaque_count(field):
                self._derived(field, field.derive)
            elif field.constant is not None:
                self._number(field, str(field.constant))
            else:
                self._stored(field)
        for place in places:
            end = place.position + 4
            function = place.function.value
            out.line(f"let sum = crate::checksum::{function}(&to[begin + {place.start}..]);")
            out.line(
                f"to[begin + {place.position}..begin + {end}].copy_from_slice(&sum.to_be_bytes());"
            )

    def _place(self, field: Field) -> str:
        """Return the text of what a structure has in a field."""
        return "value" if self.type.is_transparent else f"value.{identifier(field.id)}"

    def _where(self, field: Field) -> str:
        return f'&Place("/{field.id}", "{field.location}")'

    def _number(self, field: Field, number: str) -> None:
        """Write an integer of any type, which has to fit."""
        scalar = scalar_of(self.model, field)
        if scalar is not None:
            assert isinstance(field.type, TypeReference)
            type_ = self.model.type(field.type)
            called = path_of(self.home, type_, f"write_{type_.name}")
            self.out.line(f"{called}(to, fit({number}, {self._where(field)})?)?;")
            return
        kind = field.type
        assert isinstance(kind, IntegerType)
        name = f"{'i' if kind.signed else 'u'}{8 * kind.size}"
        made = f"fit::<{name}>({number}, {self._where(field)})?"
        self.out.line(f"to.extend_from_slice(&{made}.to_{_order(kind)}_bytes());")

    def _derived(self, field: Field, derive: Derive) -> None:
        if derive.function.is_checksum:
            assert isinstance(field.type, IntegerType)
            self.out.line(f"to.extend_from_slice(&[0; {field.type.size}]);")
            return
        other = self.type.field_by_id[derive.first]
        place = self._place(other)
        if derive.function is DeriveFunction.PRESENT:
            absent = null_mark(self.type, other)
            number = f"if {place}.is_some() {{ 1 }} else {{ {absent} }}"
        elif derive.function is DeriveFunction.COUNT:
            number = self._length(other, place)
        else:
            number = self._size(other, place)
        plus = f" + {derive.plus}" if derive.plus else ""
        self._number(field, f"({number}){plus}" if plus and " " in number else f"{number}{plus}")

    def _length(self, other: Field, place: str) -> str:
        """Return the number of items or bytes, -1 for null."""
        nullable = self.type.scalar is not None and SCALARS[self.type.scalar].startswith("Option")
        if other.condition is not None or nullable:
            return f"{place}.as_ref().map_or(-1, |items| items.len() as i64)"
        return f"{place}.len() as i64"

    def _size(self, other: Field, place: str) -> str:
        if isinstance(other.type, BytesType) and other.repeat is None:
            return self._length(other, place)
        self.made.add(other.id)
        self.out.line(f"let mut {other.id}{_PARTS} = Vec::new();")
        with self.out.block("{", "}"):
            self.out.line(f"let to = &mut {other.id}{_PARTS};")
            self._stored(other)
        return f"{other.id}{_PARTS}.len() as i64"

    def _stored(self, field: Field) -> None:
        place = self._place(field)
        option = field.condition is not None or (
            isinstance(field.type, BytesType)
            and self.type.scalar is not None
            and SCALARS[self.type.scalar].startswith("Option")
        )
        if option and not is_option(self.model, field):
            borrowed = f"&{place}" if not self.type.is_transparent else place
            with self.out.block(f"if let Some(found) = {borrowed} {{", "}"):
                self._items(field, "found", borrowed=not self.type.is_transparent)
        elif option:
            with self.out.block(f"if {place}.is_some() {{", "}"):
                self._items(field, place, borrowed=False)
        else:
            self._items(field, place, borrowed=self.type.is_transparent)

    def _items(self, field: Field, place: str, *, borrowed: bool) -> None:
        if field.repeat is None:
            self._one(field, place, borrowed=borrowed)
            return
        source = place if borrowed else f"&{place}"
        with self.out.block(f"for item in {source} {{", "}"):
            self._one(field, "item", borrowed=True)

    def _one(self, field: Field, place: str, *, borrowed: bool) -> None:
        match field.type:
            case IntegerType() | FloatType():
                self.out.line(f"to.extend_from_slice(&{place}.to_{_order(field.type)}_bytes());")
            case BytesType():
                self.out.line(f"to.extend_from_slice({place});")
            case TypeReference():
                type_ = self.model.type(field.type)
                called = path_of(self.home, type_, f"write_{type_.name}")
                if resolved(self.model, field.type).scalar:
                    # A frame of a scalar comes as a reference where nothing else holds it.
                    given = f"*{place}" if borrowed and not self._is_plain(field) else place
                else:
                    given = place if borrowed else f"&{place}"
                self.out.line(f"{called}(to, {given})?;")

    def _is_plain(self, field: Field) -> bool:
        """Return whether a scalar is the whole value, which comes without a reference."""
        return self.type.is_transparent and field.repeat is None

    def _bit_field(self, field: Field) -> None:
        self.bits.append(field)
        total = sum(item.type.width for item in self.bits if isinstance(item.type, BitsType))
        if total % 8 or total // 8 not in (1, 2, 4, 8):
            return
        self.out.line(f"let mut bits = 0_u{total};")
        shift = total
        for item in self.bits:
            assert isinstance(item.type, BitsType)
            shift -= item.type.width
            mask = (1 << item.type.width) - 1
            text = f"u{total}::from({self._place(item)}) & {mask:#x}"
            self.out.line(f"bits |= ({text}) << {shift};" if shift else f"bits |= {text};")
        self.out.line("to.extend_from_slice(&bits.to_be_bytes());")
        self.bits = []


def _order(kind: IntegerType | FloatType) -> str:
    return "le" if kind.little else "be"
