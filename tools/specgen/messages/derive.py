"""Derive the columns and the program of a message from its type.

Every version is followed on its own: conditions and switches that depend on the version alone have
one answer then, so that a program has no expressions. Only two questions remain for the bytes:
whether something is null, and which tags are there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from kafkaspec.layout.names import SCHEMA_VERSION, TRUTH
from kafkaspec.messages.tables import (
    MARKED,
    NULLABLE,
    SIGNED,
    ColumnKind,
    MessageColumns,
    Path,
    Step,
)
from tools.specgen.evaluate import UnknownNameError, evaluate
from tools.specgen.expression import Attribute, Binary, Int, Name, literal, names, walk
from tools.specgen.facts.fields import expressions, is_integer, scalar_of
from tools.specgen.facts.ranges import MOST_VERSIONS, is_text
from tools.specgen.messages.bounds import bounds, width
from tools.specgen.messages.nodes import Line, Node, Place, Unsupported
from tools.specgen.messages.sections import Section, counts
from tools.specgen.model import (
    BytesType,
    Default,
    Field,
    FloatType,
    IntegerType,
    Model,
    Scalar,
    SwitchType,
    Type,
    TypeReference,
)


def derive(model: Model, type_: Type) -> MessageColumns:
    """Return the table of a message.

    Raises:
        Unsupported: columns cannot hold it.
    """
    return _Deriver(model, type_).message()


class _Deriver:
    def __init__(self, model: Model, type_: Type) -> None:
        self.model = model
        self.type = type_
        self.cursor: dict[int, int] = {}
        """For each structure, by identity, the place after the column that was found last."""

    def message(self) -> MessageColumns:
        root = Node("", ColumnKind.STRUCT, nullable=True)
        split = self._version_field()
        if split is None:
            lines = self._complete(root, self._fields(self.type, Place(root, (), {})))
        else:
            lines = self._versions(root, split)
        lines.append(Line(Step.END))
        numbers = {id(node): number for number, node in enumerate(root.walk())}
        program = _linear(lines, numbers)
        return MessageColumns(self.type.key, root.layout(), tuple(program))

    # -- versions ---------------------------------------------------------------------------

    def _version_field(self) -> int | None:
        """Return the index of the field that conditions and switches of the message depend on."""
        used = {
            name
            for item in self.type.fields
            for key, expression in expressions(item)
            if key in ("if", "type", "type/switch-on")
            for name in names(expression)
        }
        for index, item in enumerate(self.type.fields):
            if item.id in used and item.derive is None and is_integer(self.model, item):
                return None if self._mark(self.type.fields, index) is not None else index
        return None

    def _largest_number(self) -> int:
        """Return the largest number that the file compares anything with, or switches on."""
        fields = [
            item for type_ in self.model.spec(self.type.spec_id).types for item in type_.fields
        ]
        found = [
            part.value
            for item in fields
            for key, expression in expressions(item)
            if key == "if"
            for part in walk(expression)
            if isinstance(part, Int)
        ]
        switches = [item.type for item in fields if isinstance(item.type, SwitchType)]
        found += [case for switch in switches for case, _ in switch.cases if case is not None]
        return max(found, default=0)

    def _versions(self, root: Node, split: int) -> list[Line]:
        version = self.type.fields[split]
        low, high, _ = bounds(self.model, version)
        if isinstance(version.type, IntegerType):
            high = min(high, version.type.maximum)
        if any(item.condition is not None for item in self.type.fields[:split]):
            raise Unsupported(f"{version.location} comes after what depends on something")
        # All versions after the last one that is compared with are read like it.
        last = high if high - low < MOST_VERSIONS else max(low, self._largest_number() + 1)
        if low < 0 or last - low >= MOST_VERSIONS:
            raise Unsupported(f"{version.location} bounds no versions")
        head: list[Line] = []
        bodies: list[list[Line]] = []
        for number in range(low, last + 1):
            self.cursor.clear()
            lines = self._fields(self.type, Place(root, (), {version.id: number}))
            head, first = lines[:split], lines[split]
            bodies.append(lines[split + 1 :])
        shared = {key for line in [*head, first] for key in line.covered()}
        done = [self._complete(root, body, shared) for body in bodies]
        while len(done) > 1 and done[-1] == done[-2]:
            done.pop()  # the last case serves all versions after it
        choice = replace(first, step=Step.VERSION, low=low, high=high)
        choice.body = [Line(Step.CASE, body=[*body, Line(Step.END)]) for body in done]
        return [*head, choice]

    def _complete(
        self, scope: Node, lines: list[Line], known: set[int] | None = None
    ) -> list[Line]:
        """Add the columns of a structure that lines leave out, and do so within the lines."""
        covered = set(known or ()) | {key for line in lines for key in line.covered()}
        for line in lines:
            self._within(line)
        missing = [child for child in scope.children if id(child) not in covered]
        for child in missing:
            child.nullable = True
        return [*lines, *(Line(Step.ABSENT, child) for child in missing)]

    def _within(self, line: Line) -> None:
        if line.scope is not None:
            line.body = self._complete(line.scope, line.body)
            return
        for inner in line.body:
            self._within(inner)

    # -- columns ----------------------------------------------------------------------------

    def _column(self, place: Place, wanted: Node, path: Path) -> Node:
        """Return the column of a structure by its name, a new one unless a version had it."""
        scope = place.scope
        name = place.name or wanted.name
        at = self.cursor.get(id(scope), 0)
        for index, child in enumerate(scope.children):
            if child.name == name:
                if not child.same(wanted):
                    raise Unsupported(f"{name} is not the same in all versions")
                child.nullable |= wanted.nullable
                if path not in child.paths:
                    child.paths.append(path)
                self.cursor[id(scope)] = index + 1
                return child
        wanted.name = name
        wanted.paths.append(path)
        scope.children.insert(at, wanted)
        self.cursor[id(scope)] = at + 1
        return wanted

    # -- fields -----------------------------------------------------------------------------

    def _fields(self, type_: Type, place: Place) -> list[Line]:
        lines: list[Line] = []
        fields = type_.fields
        index = 0
        while index < len(fields):
            item = fields[index]
            index += 1
            if self._is_there(item, place) is False:
                continue
            following = fields[index] if index < len(fields) else None
            least = self._mark(fields, index - 1)
            if following is not None and least is not None:
                lines.append(self._marked(item, following, least, place))
                index += 1
                continue
            if following is not None and counts(item, following):
                lines.append(self._list(item, following, place))
                index += 1
                continue
            if item.derive is not None:
                raise Unsupported(f"{item.location} is derived from something else")
            lines += self._field(item, place)
        return lines

    @staticmethod
    def _is_there(item: Field, place: Place) -> bool | None:
        """Return whether the version has a field; None if bytes say it."""
        if item.condition is None:
            return True
        try:
            return bool(evaluate(item.condition, place.names))
        except UnknownNameError:
            return None

    def _field(self, item: Field, place: Place) -> list[Line]:
        if self._is_there(item, place) is None or item.repeat is not None:
            raise Unsupported(f"{item.location} depends on what no column says")
        if item.is_guard:
            return [Line(Step.GUARD)]
        kind = item.type
        if isinstance(kind, TypeReference) and not self.model.type(kind).scalar:
            return self._inner(item, kind, place)
        if self._is_fixed(item):
            return [self._integer(item, None)]
        node = self._leaf(item, place)
        node = self._column(place, node, (*place.path, item.id))
        return [self._leaf_line(item, node)]

    def _inner(self, item: Field, kind: TypeReference, place: Place) -> list[Line]:
        type_ = self.model.type(kind)
        names = self._arguments(kind, type_, place.names)
        here = replace(place.under(item.id), names=names)
        if type_.is_choice and kind.size is None:
            chosen, names = self._chosen(type_, names)
            return self._fields(chosen, replace(here, names=names))
        section = Section.of(self.model, type_)
        if section is not None:
            return [self._tags(item, section, here)]
        if kind.size is not None or type_.is_frame:
            raise Unsupported(f"{item.location} has a size")
        if self._stands_for_one(type_, names):
            return self._fields(type_, replace(here, name=place.name or item.id))
        return [self._structure(item, type_, replace(here, path=place.path))]

    @staticmethod
    def _arguments(kind: TypeReference, type_: Type, names: Mapping[str, int]) -> dict[str, int]:
        """Return the parameters of a type whose values follow from the version."""
        found: dict[str, int] = {}
        for parameter, argument in zip(type_.parameters, kind.arguments, strict=True):
            try:
                found[parameter.id] = evaluate(argument, names)
            except UnknownNameError:
                continue
        return found

    def _chosen(self, type_: Type, names: Mapping[str, int]) -> tuple[Type, dict[str, int]]:
        """Return the type that a switch over the version chooses, and its parameters."""
        switch = type_.fields[0].type
        assert isinstance(switch, SwitchType)
        try:
            value = evaluate(switch.on, names)
        except UnknownNameError:
            raise Unsupported(f"{type_.location} switches on what no version says") from None
        cases = dict(switch.cases)
        reference = cases[value] if value in cases else cases.get(None)
        if reference is None:
            raise Unsupported(f"{type_.location} has no case {value}")
        inner = self.model.type(reference)
        return inner, self._arguments(reference, inner, names)

    def _stands_for_one(self, type_: Type, names: Mapping[str, int]) -> bool:
        """Return whether a structure shows one field: it has no column then, the field has."""
        shown = [
            item
            for item in type_.fields
            if item.derive is None and not item.is_guard and not self._is_fixed(item)
        ]
        return len(shown) == 1 and Section.of_field(self.model, shown[0]) is None

    def _structure(self, item: Field, type_: Type, place: Place, *, nullable: bool = False) -> Line:
        node = Node(item.id, ColumnKind.STRUCT, nullable=nullable or place.tagged)
        node.filled = nullable and place.tagged and item.default != Default(None)
        node = self._column(place, node, (*place.path, item.id))
        self.cursor[id(node)] = 0
        body = self._fields(type_, Place(node, (), place.names))
        return Line(Step.STRUCT, node, body=body, scope=node)

    # -- null and arrays --------------------------------------------------------------------

    def _mark(self, fields: tuple[Field, ...], index: int) -> int | None:
        """Return the number from which on a mark says that the structure after it is there."""
        mark, following = fields[index], fields[index + 1] if index + 1 < len(fields) else None
        if following is None or not is_integer(self.model, mark) or following.repeat is not None:
            return None
        if mark.derive is not None and mark.derive.first != following.id:
            return None
        match following.condition:
            case Binary(">=", Name(name) | Attribute(Name(name), "value"), Int(least)) if (
                name == mark.id and least in (0, 1) and isinstance(following.type, TypeReference)
            ):
                return least if not self.model.type(following.type).scalar else None
        return None

    def _marked(self, mark: Field, item: Field, least: int, place: Place) -> Line:
        assert isinstance(item.type, TypeReference)
        size, signed = width(self.model, mark)
        low, high, remaining = bounds(self.model, mark)
        if remaining is not None:
            raise Unsupported(f"{mark.location} is compared with the bytes that are left")
        type_ = self.model.type(item.type)
        place = replace(place, names=self._arguments(item.type, type_, place.names))
        flags = MARKED | (SIGNED if signed else 0)
        line = self._structure(item, type_, place, nullable=True)
        return replace(line, size=size, plus=least, flags=flags, low=low, high=high)

    def _list(self, count: Field, item: Field, place: Place) -> Line:
        assert count.derive is not None
        low, high, remaining = bounds(self.model, count)
        if remaining != count.derive.plus:
            raise Unsupported(f"{count.location} is not bounded by the bytes that are left")
        nullable = item.condition is not None
        size, signed = width(self.model, count)
        flags = (SIGNED if signed else 0) | (NULLABLE if nullable else 0)
        node = Node(item.id, ColumnKind.LIST, nullable=nullable or place.tagged)
        node.filled = nullable and place.tagged and item.default != Default(None)
        node = self._column(place, node, (*place.path, item.id))
        self.cursor[id(node)] = 0
        body = self._items(item, Place(node, (), place.names))
        plus = count.derive.plus
        return Line(Step.LIST, node, size, plus, flags, low, high, body=body)

    def _items(self, item: Field, place: Place) -> list[Line]:
        """Return the lines of one item of an array."""
        one = replace(item, id="item", repeat=None, condition=None, default=None)
        kind = item.type
        if not isinstance(kind, TypeReference) or self.model.type(kind).scalar:
            node = self._column(place, self._leaf(one, place), ())
            return [self._leaf_line(one, node)]
        type_ = self.model.type(kind)
        names = self._arguments(kind, type_, place.names)
        if self._stands_for_one(type_, names):
            return self._fields(type_, replace(place, names=names, name="item"))
        if type_.is_transparent or kind.size is not None:
            raise Unsupported(f"{item.location} has items of another shape")
        line = self._structure(one, type_, replace(place, names=names))
        assert line.node is not None
        line.node.paths = [()]
        return [line]

    # -- tagged fields ----------------------------------------------------------------------

    def _tags(self, item: Field, section: Section, place: Place) -> Line:
        low, high, remaining = bounds(self.model, section.count)
        if remaining != 0 or width(self.model, section.count) != (0, False):
            raise Unsupported(f"{section.count.location} is not a count of tagged fields")
        cases = dict(section.cases)
        lines = []
        for number in sorted(number for number in cases if number is not None):
            step = (section.number.id, number)
            inside = place.under(section.items.id, step, section.content.id)
            lines.append(Line(Step.TAG, low=number, body=self._tag(cases[number], number, inside)))
        path = (*place.path, section.items.id)
        node = self._column(replace(place, name=""), Node(item.id, ColumnKind.LIST), path)
        node.known |= {number for number in cases if number is not None}
        pair = Node("item", ColumnKind.STRUCT, paths=[()])
        pair.children = [
            Node("tag", ColumnKind.INTEGER, 4, paths=[(section.number.id,)]),
            Node("data", ColumnKind.BYTES, paths=[section.data]),
        ]
        if not node.children:
            node.children = [pair]
        return Line(Step.TAGS, node, low=low, high=high, body=lines)

    def _tag(self, reference: TypeReference, number: int, place: Place) -> list[Line]:
        type_ = self.model.type(reference)
        names = self._arguments(reference, type_, place.names)
        inside = replace(place, names={**place.names, **names}, name="", tagged=True)
        before = {id(child) for child in place.scope.children}
        lines = self._fields(type_, inside)
        for child in place.scope.children:
            if id(child) not in before:
                child.nullable = True
        return lines

    # -- leaves -----------------------------------------------------------------------------

    def _is_fixed(self, item: Field) -> bool:
        """Return whether a field says nothing: an integer that has one value in all versions.

        The version has a column nevertheless, so that all messages have one.
        """
        if item.id == SCHEMA_VERSION or not is_integer(self.model, item):
            return False
        low, high, _ = bounds(self.model, item)
        return low == high

    def _leaf(self, item: Field, place: Place) -> Node:
        default = 0
        if item.default is not None and isinstance(item.default.value, int):
            default = item.default.value
        kind = item.type
        nullable = place.tagged
        if isinstance(kind, IntegerType):
            if item.enum == TRUTH:
                return Node(item.id, ColumnKind.BOOLEAN, nullable=nullable, default=default)
            return Node(
                item.id, ColumnKind.INTEGER, kind.size, kind.signed, nullable, default=default,
                enum=item.enum or "",
            )  # fmt: skip
        if isinstance(kind, FloatType):
            return Node(item.id, ColumnKind.FLOAT, kind.size, True, nullable)
        if isinstance(kind, BytesType):
            size = literal(kind.size) if kind.size is not None else None
            if kind.size is not None and size is None:
                raise Unsupported(f"{item.location} has a size that is not fixed")
            if size is None:
                return Node(item.id, ColumnKind.BYTES, nullable=nullable)
            return Node(item.id, ColumnKind.FIXED, size, nullable=nullable)
        scalar = scalar_of(self.model, item)
        if scalar is Scalar.UNSIGNED_VARINT32:
            return Node(item.id, ColumnKind.INTEGER, 4, False, nullable, default=default)
        if scalar is None or scalar.is_integer:
            raise Unsupported(f"{item.location} has a type without columns")
        may_be_null = scalar is Scalar.NULLABLE_BYTES
        text = is_text(self.model, self.model.inner(item))
        holds = ColumnKind.TEXT if text else ColumnKind.BYTES
        node = Node(item.id, holds, nullable=nullable or may_be_null)
        node.filled = may_be_null and place.tagged and item.default != Default(None)
        return node

    def _leaf_line(self, item: Field, node: Node) -> Line:
        kind = item.type
        if isinstance(kind, BytesType):
            if item.valid is not None:
                raise Unsupported(f"{item.location} has bytes that are tested")
            return Line(Step.REST if kind.size is None else Step.FIXED, node, size=node.size)
        if isinstance(kind, FloatType):
            return Line(Step.INTEGER, node, size=kind.size, flags=SIGNED)
        scalar = scalar_of(self.model, item)
        if scalar is None or scalar.is_integer:
            return self._integer(item, node)
        assert isinstance(kind, TypeReference)
        type_ = self.model.type(kind)
        if len(type_.fields) != 2 or item.valid is not None:
            raise Unsupported(f"{item.location} is not a size and bytes")
        length = type_.fields[0]
        assert length.derive is not None
        low, high, _ = bounds(self.model, length)
        size, signed = width(self.model, length)
        flags = SIGNED if signed else 0
        flags |= NULLABLE if scalar is Scalar.NULLABLE_BYTES else 0
        return Line(Step.BYTES, node, size, length.derive.plus, flags, low, high)

    def _integer(self, item: Field, node: Node | None) -> Line:
        size, signed = width(self.model, item)
        low, high, remaining = bounds(self.model, item)
        if remaining is not None:
            raise Unsupported(f"{item.location} is compared with the bytes that are left")
        return Line(Step.INTEGER, node, size, flags=SIGNED if signed else 0, low=low, high=high)


def _linear(lines: list[Line], numbers: Mapping[int, int], base: int = 0) -> Iterator[int]:
    """Yield the numbers of a program whose first line is number ``base``."""
    for line in lines:
        after = base + line.lines()
        column = -1 if line.node is None else numbers[id(line.node)]
        yield from (line.step, column, after, line.size, line.plus, line.flags, line.low, line.high)
        yield from _linear(line.body, numbers, base + 1)
        base = after
