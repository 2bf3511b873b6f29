"""Break, or nearly break, the rules of one field at a time."""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from tools.specgen.evaluate import may_satisfy
from tools.specgen.expression import Binary, literal, walk
from tools.specgen.facts.fields import is_nullable, null_mark, scalar_of, size_of
from tools.specgen.facts.ranges import VARINTS, value_range
from tools.specgen.model import (
    BitsType,
    BytesType,
    DeriveFunction,
    Field,
    FloatType,
    IntegerType,
    Model,
    PeekInstance,
    Scalar,
    Type,
    TypeReference,
    Valid,
)
from tools.specgen.vectors.encode import varint
from tools.specgen.vectors.tree import Builder, Items, Raw, Structure

_QUIRK_OF_SURPLUS = {Scalar.VARINT32: "Q1", Scalar.UNSIGNED_VARINT32: "Q1", Scalar.VARINT64: "Q2"}

_FLOATS = {
    "zero": 0.0,
    "minus_zero": -0.0,
    "smallest": 5e-324,
    "largest": -sys.float_info.max,
    "infinite": math.inf,
    "not_a_number": math.nan,
}
_FLOATS_OF_32_BITS = {"smallest": 2.0**-149, "largest": -(2.0 - 2.0**-23) * 2.0**127}


@dataclass(frozen=True)
class Change:
    """One way to make a vector from the base value of a type.

    Attributes:
        name: ``last_offset_delta.maximum``.
        why: the rule that the change touches.
        overrides: overrides of fields, for ``Builder.build``.
        field: id of the field, "" for none in particular.
        canonical: whether a writer writes these bytes for this value.
        cut: bytes to keep, None for all.
        extra: bytes to append.
    """

    name: str
    why: str
    overrides: dict[str, Any] = dataclasses.field(default_factory=dict)
    field: str = ""
    canonical: bool = True
    cut: int | None = None
    extra: bytes = b""


class Changes:
    """All changes of one type."""

    def __init__(self, model: Model, builder: Builder, type_: Type, base: Structure) -> None:
        self._model = model
        self._builder = builder
        self._type = type_
        self._base = base

    def all(self) -> Iterator[Change]:
        """Return the changes in the order of the fields."""
        yield Change("base", "Every field has its default or some allowed value.")
        present = {node.field.id for node in self._base.nodes}
        for item in self._type.fields:
            if item.id in present:
                yield from self._field(item)
        yield from self._cuts()
        yield Change("trailing_byte", "One byte follows.", extra=b"\0")

    def _field(self, item: Field) -> Iterator[Change]:
        if item.is_guard:
            return
        scalar = scalar_of(self._model, item)
        if item.repeat is not None:
            for count in (0, 2):
                yield self._change(item, f"{count}_items", f"An array of {count}.", Items(count))
            if item.ascending is not None:
                why = f"Items whose {item.ascending} does not ascend."
                yield self._change(item, "twice", why, Items(2, {item.ascending: 1}))
            if is_nullable(self._type, item):
                yield self._change(item, "null", "A count of -1 is null.", None)
                yield from self._negative_counts(item)
            yield from self._items(item)
        elif isinstance(item.type, BytesType):
            yield from self._bytes(item)
        elif item.derive is not None and item.derive.function is DeriveFunction.PRESENT:
            yield from self._marks(item, item.derive.first)
        elif isinstance(item.type, IntegerType | BitsType) or (scalar and scalar.is_integer):
            yield from self._numbers(item)
            if scalar is not None:
                yield from self._varint_forms(item, scalar)
        elif isinstance(item.type, FloatType):
            floats = _FLOATS if item.type.size == 8 else _FLOATS | _FLOATS_OF_32_BITS
            for name, number in floats.items():
                yield self._change(item, name, f"{item.id} is {number}.", number)
        elif scalar is not None:
            yield from self._byte_scalar(item)
        elif isinstance(item.type, TypeReference):
            if is_nullable(self._type, item):
                yield self._change(item, "null", "The mark before it says null.", None)
            yield from self._nested(item)

    def _items(self, item: Field) -> Iterator[Change]:
        """Yield changes of numbers in an item, since readers may read many items in another way."""
        holder = self._base.node(item.id).items[0].inner
        for node in holder.nodes if holder is not None else []:
            bounds = value_range(self._model, node.field)
            for number in around(node.field.valid) if bounds is not None else []:
                if bounds is not None and bounds[0] <= number <= bounds[1]:
                    name = f"{item.id}.{node.field.id}.{number}"
                    why = f"{node.field.id} of an item is {number}."
                    override = {item.id: Items(1, {node.field.id: number})}
                    yield Change(name, why, override, canonical=node.field.derive is None)

    def _negative_counts(self, item: Field) -> Iterator[Change]:
        """Yield other negative counts of an array that may be null, where its type has them."""
        for count in self._type.fields:
            bounds = value_range(self._model, count)
            if count.derive is None or count.derive.first != item.id or bounds is None:
                continue
            for number in (-2 + count.derive.plus, bounds[0]):
                if bounds[0] <= number < count.derive.plus - 1:
                    why = f"A count of {number}: any negative count is null."
                    overrides = {item.id: None, count.id: number}
                    name = f"{item.id}.null.{number}"
                    yield Change(name, why, overrides, item.id, canonical=False)

    def _marks(self, item: Field, marked: str) -> Iterator[Change]:
        """Yield numbers other than those that writers choose, for null and for a structure."""
        bounds = value_range(self._model, item)
        null = null_mark(self._type, self._type.field_by_id[marked])
        assert bounds is not None
        assert null is not None
        for number in sorted({bounds[0], null - 1, null + 1, 2, bounds[1]} - {null, 1}):
            if bounds[0] <= number <= bounds[1]:
                overrides: dict[str, Any] = {item.id: number}
                overrides |= {marked: None} if number < null else {}
                why = f"{item.id} is {number}: {'null' if number < null else 'there'}."
                yield Change(f"{item.id}.{number}", why, overrides, item.id, canonical=False)

    def _nested(self, item: Field) -> Iterator[Change]:
        """Yield a change for each bit of a structure of bit fields."""
        for bits in self._model.inner(item).fields:
            if isinstance(bits.type, BitsType):
                for number in (1 << bit for bit in range(bits.type.width)):
                    name = f"{item.id}.{bits.id}"
                    override = {item.id: {bits.id: number}}
                    yield Change(f"{name}.{number}", f"{name} is {number}.", override, name)

    def _change(
        self, item: Field, name: str, why: str, override: Any, *, canonical: bool = True
    ) -> Change:
        return Change(f"{item.id}.{name}", why, {item.id: override}, item.id, canonical)

    def _numbers(self, item: Field) -> Iterator[Change]:
        bounds = value_range(self._model, item)
        assert bounds is not None
        base = self._base.node(item.id)
        left = len(self._base.data) - base.end
        for number in around(item.valid):
            for change in self._number(item, f"{number}", number, bounds):
                yield change
                # A wrong value is reported before a missing one after it.
                keep = len(self._base.data) - 1
                why = f"{change.why} The input ends at byte {keep}."
                name = f"{change.name}.cut"
                yield replace(change, name=name, why=why, cut=keep, canonical=False)
        if item.derive is not None and self._type.field_by_id[item.derive.first].repeat:
            why = f"{item.id} gives no items, and the input ends after it."
            items = {item.derive.first: Items(0)}
            yield Change(f"{item.id}.at_the_end", why, items, canonical=False, cut=base.end)
        if any(isinstance(node, Binary) for node in _nodes(item.valid)):
            yield from self._number(item, "beyond_what_is_left", left + 2, bounds)
        yield from self._number(item, "minimum", bounds[0], bounds)
        yield from self._number(item, "maximum", bounds[1], bounds)
        if bounds[0] < 0 and base.value:
            yield from self._number(item, "sign_flip", -base.value, bounds)

    def _number(
        self, item: Field, name: str, number: int, bounds: tuple[int, int]
    ) -> Iterator[Change]:
        if not bounds[0] <= number <= bounds[1]:
            return
        derive = item.derive
        canonical = derive is None or number == self._base.node(item.id).value
        why = f"{item.id} is {number}."
        if derive is not None and derive.function.is_checksum:
            why += (
                " The library verifies checksums, not the parser."
                if self._model.house.verifies
                else ""
            )
        if derive is not None and self._type.is_opaque_count(item):
            canonical = True
            why += f" Nothing ties it to {derive.first} while these are bytes."
        yield self._change(item, name, why, number, canonical=canonical)

    def _varint_forms(self, item: Field, scalar: Scalar) -> Iterator[Change]:
        value = self._base.node(item.id).value
        for name, why, data, fault in varint_forms(scalar, value):
            raw = Raw(data, value, fault)
            yield self._change(item, name, why, raw, canonical=False)
        why = "80 00 is 0, though longer than needed (quirk Q3)."
        yield self._change(item, "zero_in_two_bytes", why, Raw(b"\x80\0", 0), canonical=False)

    def _byte_scalar(self, item: Field) -> Iterator[Change]:
        type_ = self._model.inner(item)
        size = type_.fields[0]
        plus = size.derive.plus if size.derive else 0
        content = b"xyz"
        yield self._change(item, "empty", "No bytes.", b"")
        yield self._change(item, "not_text", "Bytes that are not UTF-8.", b"\x00\xff\x80")
        nullable = type_.scalar is Scalar.NULLABLE_BYTES
        if nullable:
            yield self._change(item, "null", f"Size {plus - 1} is null.", None)
        scalar = scalar_of(self._model, size)
        if scalar is not None:
            for name, why, data, fault in varint_forms(scalar, len(content) + plus):
                raw = Raw(data + (b"" if fault else content), content, fault)
                yield self._change(item, f"size.{name}", why, raw, canonical=False)
        bounds = value_range(self._model, size)
        assert bounds is not None
        for number in sorted({bounds[0], -2, -1, 0, *around(size.valid), bounds[1]}):
            if bounds[0] <= number <= bounds[1] and number - plus not in (0, -1):
                yield from self._byte_scalar_size(item, size, number, nullable=nullable)
        if plus and not nullable:
            raw = Raw(self._builder.encode(size, 0), None, "invalid_value")
            yield self._change(item, "size.0", "Size 0 is null, which is not allowed.", raw)

    def _byte_scalar_size(
        self, item: Field, size: Field, number: int, *, nullable: bool
    ) -> Iterator[Change]:
        data = self._builder.encode(size, number)
        plus = size.derive.plus if size.derive else 0
        if number < plus and nullable:
            why = f"Size {number}: any negative size is null (quirk Q4)."
            yield self._change(item, f"size.{number}", why, Raw(data), canonical=False)
        elif not may_satisfy(size.valid, number, {}):
            raw = Raw(data, None, "invalid_value")
            yield self._change(item, f"size.{number}", f"Size {number} is refused.", raw)
        elif number - plus > len(self._base.data) + len(data):
            raw = Raw(data, None, "truncated")
            why = f"Size {number}, more than there is."
            yield self._change(item, f"size.{number}", why, raw)

    def _bytes(self, item: Field) -> Iterator[Change]:
        size = literal(size_of(item))
        if size is not None:
            yield self._change(item, "zeros", "All bits 0.", bytes(size))
            yield self._change(item, "ones", "All bits 1.", b"\xff" * size)
        else:
            yield self._change(item, "empty", "No bytes.", b"")
            yield self._change(item, "not_text", "Bytes that are not UTF-8.", b"\x00\xff\x80")

    def _cuts(self) -> Iterator[Change]:
        """Yield inputs that end right before, and one byte before the end of, each field."""
        total = len(self._base.data)
        for peek in self._type.peek_instances:
            start = literal(peek.position) or 0
            yield self._cut(f"{peek.id}.cut", start)
            if isinstance(peek.type, IntegerType):
                yield self._cut(f"{peek.id}.last", start + peek.type.size)
        if total:
            yield self._cut("nothing", 0)
        for node in self._base.nodes:
            if node.data and node.end - 1 > 0:
                yield self._cut(f"{node.field.id}.cut", node.end - 1)
            if node.data and node.end < total:
                yield self._cut(f"{node.field.id}.last", node.end)

    @staticmethod
    def _cut(name: str, keep: int) -> Change:
        return Change(name, f"The input ends at byte {keep}.", cut=keep)


def inside(structure: Structure) -> Iterator[Change]:
    """Yield changes in a sized field: content cut or too long, with the correct size."""
    for node in structure.nodes:
        if node.inner is None or node.size == 0 or node.field.repeat is not None:
            continue
        ends = sorted(_ends(node.inner))
        start = node.start
        for end in ends:
            keep = end - 1 - start
            if keep >= 0:
                raw = Raw(node.data[:keep], node.value)
                why = f"{node.field.id} ends at its byte {keep}, inside a field."
                name = f"{node.field.id}.inner_cut_{keep}"
                yield Change(name, why, {node.field.id: raw}, canonical=False)
        raw = Raw(node.data + b"\0", node.value)
        why = f"{node.field.id} has one byte more than its fields."
        yield Change(f"{node.field.id}.inner_trailing", why, {node.field.id: raw}, canonical=False)


def _ends(structure: Structure) -> set[int]:
    found = set()
    for node in structure.nodes:
        if node.data:
            found.add(node.end)
        if node.inner is not None:
            found |= _ends(node.inner)
    return found


def varint_forms(scalar: Scalar, value: int) -> Iterator[tuple[str, str, bytes, str]]:
    """Yield other encodings of a number: name, reason, bytes, and fault if readers refuse them."""
    most = VARINTS[scalar].size
    shortest = varint(scalar, value)
    longest = bytearray(byte | 0x80 for byte in shortest) + b"\x80" * (most - len(shortest))
    if len(shortest) < most:
        padded = bytes(byte | 0x80 for byte in shortest) + b"\0"
        yield "non_minimal", "A byte longer than needed, accepted (quirk Q3).", padded, ""
    longest[-1] &= 0x7F
    yield "longest", f"{most} bytes, accepted (quirk Q3).", bytes(longest), ""
    surplus = bytes(longest[:-1]) + bytes(
        [longest[-1] | (0x7F << VARINTS[scalar].last_bits) & 0x7F]
    )
    why = "Bits of the last byte that do not fit are dropped, not refused"
    yield "surplus_bits", f"{why} (quirk {_QUIRK_OF_SURPLUS[scalar]}).", surplus, ""
    endless = bytes(longest[:-1]) + b"\x80\x00"
    yield "too_long", f"Byte {most} says that another follows.", endless, "varint_too_long"


def around(valid: Valid | None) -> list[int]:
    """Return every number that ``valid`` compares with, and its neighbours."""
    return sorted({limit + step for limit in limits(valid) for step in (-1, 0, 1)})


def limits(valid: Valid | None) -> Iterator[int]:
    """Yield every number that ``valid`` compares with."""
    if valid is None:
        return
    for part in (valid.equal, valid.minimum, valid.maximum, *valid.any_of):
        number = literal(part)
        if number is not None:
            yield number
    for node in _nodes(valid):
        if isinstance(node, Binary) and node.operator in ("<", "<=", ">", ">=", "==", "!="):
            number = literal(node.right)
            if number is not None:
                yield number


def _nodes(valid: Valid | None) -> list[Any]:
    if valid is None:
        return []
    parts = (valid.minimum, valid.maximum, valid.expression)
    return [node for part in parts if part is not None for node in walk(part)]


def peek_values(peek: PeekInstance) -> list[int]:
    """Return numbers around the bounds of a field that is read ahead and of its type."""
    assert isinstance(peek.type, IntegerType)
    low, high = peek.type.minimum, peek.type.maximum
    return sorted(number for number in {*around(peek.valid), low, high} if low <= number <= high)
