"""Make bytes for a type from the model alone, and keep the place of each field.

Fields take their default, their constant, or some value that ``valid`` allows; derived fields are
computed. Each can be overridden with any bytes, so that every rule can be broken at will.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any

from tools.specgen.evaluate import UnknownNameError, evaluate
from tools.specgen.expression import literal
from tools.specgen.facts.fields import is_nullable, null_mark, scalar_of, size_of
from tools.specgen.facts.ranges import allowed_values, example
from tools.specgen.model import (
    BitsType,
    BytesType,
    DeriveFunction,
    Field,
    FloatType,
    IntegerType,
    Model,
    SwitchType,
    Type,
    TypeReference,
)
from tools.specgen.vectors.encode import checksum, float_bytes, number_bytes, varint


class Shape(Enum):
    """Kind of the content of a node."""

    ATOM = auto()
    """An integer, or a scalar type."""
    BITS = auto()
    BYTES = auto()
    """Bytes of known size."""
    REST = auto()
    """Bytes up to the end."""
    GUARD = auto()
    STRUCTURE = auto()
    SIZED = auto()
    """A structure in a substream of known size."""
    ARRAY = auto()


@dataclass(frozen=True)
class Raw:
    """Encoded bytes in place of a value.

    Attributes:
        data: the bytes of the field.
        value: the value that a reader gets from them.
        fault: reason why readers refuse them, "" if they do not.
    """

    data: bytes
    value: Any = None
    fault: str = ""


@dataclass(frozen=True)
class Items:
    """Number of items in an array, and overrides for each of them."""

    count: int
    overrides: Mapping[str, Any] | None = None


@dataclass
class Node:
    """A field (or an item of an array) in the bytes.

    Attributes:
        size: bytes that the size field before it claims, for BYTES and SIZED.
        count: items that the count field claims, None up to the end, for ARRAY.
        inner: the structure inside, for STRUCTURE and SIZED.
        items: the items, and one more that is not in the bytes, for ARRAY.
    """

    path: str
    field: Field
    shape: Shape
    data: bytes
    value: Any = None
    start: int = 0
    size: int = 0
    count: int | None = None
    fault: str = ""
    inner: Structure | None = None
    items: list[Node] = dataclasses.field(default_factory=list)

    @property
    def end(self) -> int:
        """Position after the last byte."""
        return self.start + len(self.data)

    def move(self, distance: int) -> None:
        """Shift the node and all inside."""
        self.start += distance
        if self.inner is not None:
            self.inner.move(distance)
        for item in self.items:
            item.move(distance)


@dataclass
class Structure:
    """A type in the bytes; ``scope`` holds the values that expressions may use."""

    type: Type
    path: str
    nodes: list[Node]
    scope: dict[str, Any]
    start: int = 0

    @property
    def data(self) -> bytes:
        """The bytes of all fields."""
        return b"".join(node.data for node in self.nodes)

    def move(self, distance: int) -> None:
        """Shift all nodes."""
        self.start += distance
        for node in self.nodes:
            node.move(distance)

    def start_of(self, name: str) -> int:
        """Return where a field begins, or would begin if it is absent."""
        ids = [field.id for field in self.type.fields]
        following = ids[ids.index(name) :]
        return next(
            (node.start for node in self.nodes if node.field.id in following), len(self.data)
        )

    def node(self, name: str) -> Node:
        """Return the node of a field."""
        return next(node for node in self.nodes if node.field.id == name)


class Builder:
    """Builder of structures of one model."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def build(
        self,
        type_: Type,
        parameters: Sequence[Any],
        overrides: Mapping[str, Any] | None = None,
        path: str = "",
    ) -> Structure:
        """Return a structure with its bytes.

        Args:
            type_: the type to build.
            parameters: values of its parameters; structures as their ``scope``.
            overrides: by id of a field, or of a peek to choose the case: a number, bytes, None,
                ``Raw``, ``Items``, or of a structure a mapping like this one.
            path: path of the structure.
        """
        chosen = dict(overrides or {})
        names = [parameter.id for parameter in type_.parameters]
        scope: dict[str, Any] = dict(zip(names, parameters, strict=True))
        for peek in type_.peek_instances:
            scope[peek.id] = chosen.setdefault(peek.id, min(allowed_values(peek.valid) or {0}))
        scope |= self._enum_members(type_)
        nodes: dict[str, Node] = {}
        for index, item in enumerate(type_.fields):
            if item.derive is None:
                node = self._node(type_, item, index, scope, chosen, path)
                scope[item.id] = None if node is None else node.value
                if node is not None:
                    nodes[item.id] = node
        self._derive(type_, scope, chosen, nodes, path)
        ordered = [nodes[item.id] for item in type_.fields if item.id in nodes]
        self._pack_bits(ordered)
        structure = Structure(type_, path, ordered, scope)
        position = 0
        for node in ordered:
            node.move(position)
            position += len(node.data)
            self._claim(node, scope)
        self._checksums(structure, chosen)
        return structure

    def _enum_members(self, type_: Type) -> dict[str, int]:
        return {
            f"{enum.id}::{value.id}": value.value
            for enum in self._model.spec(type_.spec_id).enums
            for value in enum.values
        }

    def _node(
        self,
        type_: Type,
        item: Field,
        index: int,
        scope: dict[str, Any],
        chosen: Mapping[str, Any],
        path: str,
    ) -> Node | None:
        if is_nullable(type_, item):
            # Its count or size, which says whether it is null, is derived from it.
            if chosen.get(item.id, ...) is None:
                return None
        elif item.condition is not None and not evaluate(item.condition, scope):
            return None
        here = f"{path}/{item.id}"
        override = chosen.get(item.id)
        if item.repeat is not None:
            return self._array(item, index, scope, override, here)
        if isinstance(override, Raw) and item.is_guard is False:
            node = self._value(item, index, scope, ..., here, chosen)
            return replace(node, data=override.data, value=override.value, fault=override.fault)
        return self._value(item, index, scope, chosen.get(item.id, ...), here, chosen)

    def _array(
        self, item: Field, index: int, scope: dict[str, Any], override: Any, here: str
    ) -> Node:
        assert item.repeat is not None
        count = override.count if isinstance(override, Items) else 1
        if item.repeat.count is not None:
            try:
                claimed = evaluate(item.repeat.count, scope)
                count = override.count if isinstance(override, Items) else claimed
            except UnknownNameError:
                pass  # A derived count, which follows the items.
        single = replace(item, repeat=None)
        nested = dict(override.overrides or {}) if isinstance(override, Items) else {}
        items = []
        for i in range(count + 1):
            own = nested
            if item.ascending is not None and item.ascending not in nested:
                by = self._model.inner(item).field_by_id[item.ascending]
                own = {by.id: self.base_integer(by, 0, {}) + i} | nested
            chosen = {item.id: own} if own else {}
            items.append(self._value(single, index, scope, ..., f"{here}/{i}", chosen))
        position = 0
        for node in items:
            node.move(position)
            position += len(node.data)
        data = b"".join(node.data for node in items[:-1])
        values = [node.value for node in items[:-1]]
        return Node(here, item, Shape.ARRAY, data, values, items=items)

    def _value(
        self,
        item: Field,
        index: int,
        scope: dict[str, Any],
        wanted: Any,
        here: str,
        chosen: Mapping[str, Any],
    ) -> Node:
        kind = item.type
        if item.is_guard:
            return Node(here, item, Shape.GUARD, b"", b"")
        if isinstance(kind, BytesType):
            shape = Shape.REST if kind.size is None else Shape.BYTES
            value = wanted if isinstance(wanted, bytes) else self._base_bytes(item)
            return Node(here, item, shape, value, value)
        if isinstance(kind, IntegerType | BitsType):
            number = wanted if isinstance(wanted, int) else self.base_integer(item, index, scope)
            shape = Shape.BITS if isinstance(kind, BitsType) else Shape.ATOM
            return Node(here, item, shape, self.encode(item, number), number)
        if isinstance(kind, FloatType):
            real = wanted if isinstance(wanted, float) else 20.5 + index
            return Node(here, item, Shape.ATOM, float_bytes(kind, real), real)
        scalar = scalar_of(self._model, item)
        if scalar is not None:
            value = self._base_scalar(item, index, scope) if wanted is ... else wanted
            return Node(here, item, Shape.ATOM, self.encode(item, value), value)
        return self._structure(item, scope, here, chosen)

    def _structure(
        self, item: Field, scope: dict[str, Any], here: str, chosen: Mapping[str, Any]
    ) -> Node:
        kind = item.type
        overrides: dict[str, Any] = {}
        if isinstance(kind, SwitchType):
            case = evaluate(kind.on, scope)
            cases = dict(kind.cases)
            reference = cases[case] if case in cases else cases[None]
            # What was read ahead is a field of the chosen structure.
            overrides = {name: chosen[name] for name in chosen if name != item.id}
        else:
            assert isinstance(kind, TypeReference)
            reference = kind
        inner_type = self._model.type(reference)
        for peek in inner_type.peek_instances:
            if peek.id in chosen:
                overrides[peek.id] = chosen[peek.id]
        if isinstance(chosen.get(item.id), dict):
            overrides = chosen[item.id]
        arguments = [evaluate(argument, scope) for argument in reference.arguments]
        inner = self.build(inner_type, arguments, overrides, here)
        shape = Shape.STRUCTURE
        if getattr(kind, "size", None) is not None:
            shape = Shape.SIZED
        return Node(here, item, shape, inner.data, inner.scope, inner=inner)

    def _base_bytes(self, item: Field) -> bytes:
        if not isinstance(item.type, BytesType):
            return b""
        size = literal(item.type.size)
        if size is not None:
            return bytes(range(1, size + 1)) if item.default is None else bytes(size)
        if item.default is not None:
            return b""
        return b"" if item.type.size is None else b"abc"

    def _base_scalar(self, item: Field, index: int, scope: Mapping[str, Any]) -> Any:
        scalar = scalar_of(self._model, item)
        assert scalar is not None
        return self.base_integer(item, index, scope) if scalar.is_integer else b"xyz"

    def base_integer(self, item: Field, index: int, scope: Mapping[str, Any]) -> int:
        """Return a value that the field may have, different from its neighbours' if possible."""
        if item.default is not None and isinstance(item.default.value, int):
            return item.default.value
        value = example(self._model, item, scope, first=20 + index)
        assert value is not None  # The linter ensures this.
        return value

    def encode(self, item: Field, value: Any) -> bytes:
        """Return the bytes of an integer or a scalar, as a canonical writer writes them."""
        if isinstance(item.type, BitsType):
            return b""
        if isinstance(item.type, IntegerType):
            return number_bytes(item.type, int(value))
        type_ = self._model.inner(item)
        assert type_.scalar is not None
        if type_.scalar.is_integer:
            return varint(type_.scalar, value)
        size = type_.fields[0]
        plus = size.derive.plus if size.derive else 0
        return self.encode(size, (-1 if value is None else len(value)) + plus) + (value or b"")

    def _derive(
        self,
        type_: Type,
        scope: dict[str, Any],
        chosen: Mapping[str, Any],
        nodes: dict[str, Node],
        path: str,
    ) -> None:
        for item in type_.fields:
            if item.derive is None:
                continue
            target = nodes.get(item.derive.first)
            value: Any = 0
            if item.derive.function is DeriveFunction.PRESENT:
                null = null_mark(type_, type_.field_by_id[item.derive.first])
                value = null if target is None else 1
            elif target is None and is_nullable(type_, type_.field_by_id[item.derive.first]):
                value = -1 + item.derive.plus
            elif item.derive.function is DeriveFunction.LEN and target is not None:
                value = len(target.data) + item.derive.plus
            elif item.derive.function is DeriveFunction.COUNT and target is not None:
                counted = len(target.items) - 1 if target.shape is Shape.ARRAY else 0
                value = counted + item.derive.plus
            override = chosen.get(item.id, value)
            here = f"{path}/{item.id}"
            if isinstance(override, Raw):
                node = Node(here, item, Shape.ATOM, override.data, override.value)
                node.fault = override.fault
            else:
                node = Node(here, item, Shape.ATOM, self.encode(item, override), override)
            nodes[item.id] = node
            scope[item.id] = node.value

    def _pack_bits(self, nodes: list[Node]) -> None:
        group: list[Node] = []
        bits = number = 0
        for node in nodes:
            if not isinstance(node.field.type, BitsType):
                continue
            width = node.field.type.width
            group.append(node)
            number = number << width | node.value
            bits += width
            if bits % 8 == 0:
                # Errors in the group are reported at the start of its first field.
                group[0].data = number.to_bytes(bits // 8, "big")
                group, bits, number = [], 0, 0

    def _claim(self, node: Node, scope: Mapping[str, Any]) -> None:
        size = size_of(node.field)
        if node.shape in (Shape.BYTES, Shape.SIZED) and size is not None:
            node.size = evaluate(size, scope)
        if node.shape is Shape.ARRAY and node.field.repeat and node.field.repeat.count is not None:
            node.count = evaluate(node.field.repeat.count, scope)

    def _checksums(self, structure: Structure, chosen: Mapping[str, Any]) -> None:
        for node in structure.nodes:
            derive = node.field.derive
            if derive is None or not derive.function.is_checksum:
                continue
            if node.field.id not in chosen:
                covered = structure.data[structure.start_of(derive.first) :]
                node.value = checksum(derive.function, covered)
                node.data = self.encode(node.field, node.value)
                structure.scope[node.field.id] = node.value
