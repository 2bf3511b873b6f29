"""Runs of fixed-width fields, which Python reads and writes with one ``struct.Struct``."""

from __future__ import annotations

import keyword
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tools.specgen.expression import Int, names
from tools.specgen.facts.fields import valid_parts
from tools.specgen.model import (
    BitsType,
    BytesType,
    Field,
    FloatType,
    IntegerType,
    Model,
    Type,
    TypeReference,
)

_CODES = {(1, True): "b", (2, True): "h", (4, True): "i", (8, True): "q"}
_UNSIGNED = {1: "B", 2: "H", 4: "I", 8: "Q"}


@dataclass(frozen=True)
class Leaf:
    """One number or byte string of a run.

    Attributes:
        fields: the field, or the bit fields that share the number, high bits first.
        owner: the type that has them.
        parents: fields of the run's type that lead to ``owner``, outermost first.
        code: its letter for ``struct``.
        size: its bytes.
        offset: its place in the run.
    """

    fields: tuple[Field, ...]
    owner: Type
    parents: tuple[Field, ...]
    code: str
    size: int
    offset: int

    @property
    def is_bits(self) -> bool:
        """Several fields in one number."""
        return isinstance(self.fields[0].type, BitsType)

    @property
    def order(self) -> str:
        """The order of its bytes, as ``struct`` writes it: empty where it has none."""
        kind = self.fields[0].type
        if self.size == 1 or isinstance(kind, BytesType):
            return ""
        return "<" if isinstance(kind, IntegerType | FloatType) and kind.little else ">"

    @property
    def format(self) -> str:
        """Format for ``struct.Struct`` of it alone."""
        return format_of([self])

    @property
    def is_bytes(self) -> bool:
        """A byte string."""
        return isinstance(self.fields[0].type, BytesType)

    def shifted(self) -> Iterator[tuple[Field, int, int]]:
        """Bit fields with the right shift and the mask that give their values."""
        shift = 8 * self.size
        for bit_field in self.fields:
            assert isinstance(bit_field.type, BitsType)
            shift -= bit_field.type.width
            yield bit_field, shift, (1 << bit_field.type.width) - 1


@dataclass(frozen=True)
class Run:
    """Neighbouring fields whose widths are fixed, structures of such fields included."""

    fields: tuple[Field, ...]
    leaves: tuple[Leaf, ...]

    @property
    def size(self) -> int:
        """Bytes of all fields."""
        return sum(leaf.size for leaf in self.leaves)

    @property
    def format(self) -> str:
        """Format for ``struct.Struct``."""
        return format_of(self.leaves)


Segment = Run | Field


def format_of(leaves: Sequence[Leaf]) -> str:
    """Return the format for ``struct.Struct`` of leaves whose bytes have one order."""
    order = next((leaf.order for leaf in leaves if leaf.order), ">")
    return order + "".join(leaf.code for leaf in leaves)


def path_of(parents: Sequence[Field], last: Field) -> str:
    """``/attributes/reserved``."""
    return "".join(f"/{step.id}" for step in (*parents, last))


def segments(model: Model, type_: Type) -> list[Segment]:
    """Return the fields of a type, with neighbours of fixed width put together."""
    result: list[Segment] = []
    pending: list[Field] = []

    def flush() -> None:
        if pending:
            result.append(run_of(model, type_, pending))
            pending.clear()

    unit: list[Field] = []
    for item in type_.fields:
        if is_fixed(model, item):
            unit.append(item)
            if _width(unit) % 8:
                continue  # bit fields of one number stay together
            if not has_one_order(model, type_, (*pending, *unit)):
                flush()
            pending += unit
            unit = []
        else:
            flush()
            result.append(item)
    flush()
    return result


def run_of(model: Model, type_: Type, fields: Sequence[Field]) -> Run:
    """Return one run of the given fields."""
    leaves: list[Leaf] = []
    _add_leaves(model, type_, tuple(fields), (), leaves)
    return Run(tuple(fields), tuple(leaves))


def _width(fields: Sequence[Field]) -> int:
    """Return the bits of all bit fields."""
    return sum(field.type.width for field in fields if isinstance(field.type, BitsType))


def has_one_order(model: Model, type_: Type, fields: Sequence[Field]) -> bool:
    """Return whether the bytes of all numbers in fields of fixed width have one order."""
    return len({leaf.order for leaf in run_of(model, type_, fields).leaves} - {""}) <= 1


def is_fixed(model: Model, item: Field) -> bool:
    """Return whether the field can be part of a run."""
    if item.repeat or item.condition or item.is_guard:
        return False
    match item.type:
        case IntegerType() | FloatType() | BitsType() | BytesType(size=Int()):
            return True
        case TypeReference(arguments=(), size=None, size_eos=False):
            inner = model.type(item.type)
            return (
                not inner.is_transparent
                and not inner.peek_instances
                and bool(inner.fields)
                and all(_is_simple(model, inner_field) for inner_field in inner.fields)
                and has_one_order(model, inner, inner.fields)
            )
    return False


def _is_simple(model: Model, item: Field) -> bool:
    """Return whether it is fixed, set by the constructor, and checked without other fields."""
    used = {name for part in valid_parts(item.valid) for name in names(part)}
    return is_fixed(model, item) and item.derive is None and used <= {"_"}


def _add_leaves(
    model: Model,
    owner: Type,
    fields: Sequence[Field],
    parents: tuple[Field, ...],
    leaves: list[Leaf],
) -> None:
    bits: list[Field] = []
    for item in fields:
        offset = sum(leaf.size for leaf in leaves)
        match item.type:
            case BitsType():
                bits.append(item)
                width = _width(bits)
                if width % 8 == 0:
                    code, size = _UNSIGNED[width // 8], width // 8
                    leaves.append(Leaf(tuple(bits), owner, parents, code, size, offset))
                    bits = []
            case IntegerType(size, signed):
                code = _CODES[size, True] if signed else _UNSIGNED[size]
                leaves.append(Leaf((item,), owner, parents, code, size, offset))
            case FloatType(size):
                code = "f" if size == 4 else "d"
                leaves.append(Leaf((item,), owner, parents, code, size, offset))
            case BytesType(Int(size)):
                leaves.append(Leaf((item,), owner, parents, f"{size}s", size, offset))
            case TypeReference():
                inner = model.type(item.type)
                _add_leaves(model, inner, inner.fields, (*parents, item), leaves)


@dataclass
class Structs:
    """The ``struct.Struct`` constants of a module, one for each format."""

    names: dict[str, str] = field(default_factory=dict)

    def name(self, format_: str) -> str:
        """Return the name of the constant."""
        return self.names.setdefault(format_, f"_S{len(self.names)}")

    def lines(self) -> Iterator[str]:
        """Return their definitions."""
        for format_, name in self.names.items():
            yield f'{name} = Struct("{format_}")'


@dataclass
class Names:
    """Names of local variables: ids of the specification, changed if they are already in use."""

    taken: frozenset[str]

    def local(self, name: str) -> str:
        """Return the variable for an id; ``type`` is a builtin and becomes ``type_``."""
        while name in self.taken or keyword.iskeyword(name):
            name += "_"
        return name
