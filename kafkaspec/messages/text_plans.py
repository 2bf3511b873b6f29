"""Plans by which the engine in C writes messages in columns as JSON, as ``json_text`` shows them.

A plan is made from the same description of types, ``json_text.parts_of``. Messages that columns do
not say in the same way have none, and ``json_text`` says the rows that a plan does not cover.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import Final, NamedTuple

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.layout import FieldLayout, Form, Kind, MessageLayout
from kafkaspec.layout.names import BODY, PROTOCOL_TYPE, SCHEMA_VERSION, TAGGED_FIELDS, UNUSED
from kafkaspec.messages.json_text import (
    SHOWN_BEFORE,
    UNKNOWN_TAGS,
    JsonForm,
    JsonPart,
    json_text,
    parts_of,
    single_part,
)
from kafkaspec.messages.lookup import CONSUMER, EMBEDDED, by_name
from kafkaspec.messages.tables import (
    WIDTH,
    ColumnKind,
    ColumnLayout,
    MessageColumns,
    Path,
    Step,
)


class TextStep(IntEnum):
    """The work of a line of a plan."""

    LITERAL = 0
    """Its own text. BARE: no value stands before the next one."""
    NUMBER = 1
    BOOLEAN = 2
    TEXT = 3
    BASE64 = 4
    UUID = 5
    LIST = 6
    """Items; lines up to ``next`` write one."""
    STRUCT = 7
    """An object; lines up to ``next`` write what is in it."""
    CHOICE = 8
    """Nothing itself: the first of the following lines CASE that the value fits does."""
    CASE = 9
    """The text or the number that a value fits; OTHER fits all."""
    EMPTY = 10
    """Write nothing; bytes that are not empty have no text."""
    REFUSE = 11
    """There is no text."""


NULL, DEFAULT, BARE, OF_ROW, OTHER = 1, 2, 4, 8, 16
"""Flags of lines. NULL: null is written as such, otherwise left out. DEFAULT: left out if it is the
default: ``number``, nothing, zeros. BARE: without a comma before it. OF_ROW: the value is of the
row, although the line is in a list. OTHER: of a CASE; of others, there is no text for null."""
VERSION: Final = "version"
"""Name in JSON of the version of a message; a field of the message that is called so counts."""
PADDING: Final = 32
"""Bytes that the engine can read after each literal."""


@dataclass(frozen=True)
class TextPlan:
    """A plan.

    Attributes:
        tables: ids of messages whose tables decode, each with the column of the first that has its
            bytes.
        lines: eight numbers for each line: step, next, table, column, start and size of its text
            among ``literals``, flags, number.
        literals: texts.
    """

    tables: tuple[tuple[str, int], ...]
    lines: array[int]
    literals: bytes


@dataclass(frozen=True)
class TextStyle:
    """How a message is shown.

    Attributes:
        head: what stands before the fields; None is the version.
        versioned: whether the version stands first among the fields.
        tail: what stands after them.
        unknown: see ``json_text.message_fields``.
        whole: whether there is no text if bytes are left after the message.
        renamed: other names of fields of the message.
        named: fields of the message whose numbers have names, as strings.
    """

    head: tuple[str | None, ...]
    tail: str
    versioned: bool = False
    unknown: bool = False
    whole: bool = False
    renamed: Mapping[str, str] = field(default_factory=dict)
    named: Mapping[str, Mapping[int, str]] = field(default_factory=dict)


class _UnsupportedError(Exception):
    """Columns do not say a field as JSON shows it."""


@dataclass
class _Line:
    step: TextStep
    column: int = -1
    text: str = ""
    flags: int = 0
    number: int = 0
    children: Sequence[_Line] = ()
    table: int = 0


@dataclass(frozen=True)
class _Holder:
    """A structure in columns.

    Attributes:
        column: it.
        number: its number.
        table: number of its table.
    """

    column: ColumnLayout
    number: int
    table: int

    @cached_property
    def found(self) -> dict[Path, _Holder]:
        """The columns in it, by the paths of the typed model."""
        found: dict[Path, _Holder] = {}
        number = self.number + 1
        for child in self.column.children:
            found |= dict.fromkeys(child.paths, _Holder(child, number, self.table))
            number += sum(1 for _ in child.walk())
        return found

    def child(self, name: str) -> _Holder | None:
        """Return what is called so."""
        return next((one for one in self.found.values() if one.column.name == name), None)

    def line(self, step: TextStep, text: str, flags: int, children: Sequence[_Line] = ()) -> _Line:
        """Return a line about the column."""
        return _Line(step, self.number, text, flags, 0, children, self.table)


class _Where(NamedTuple):
    """Where fields are: what holds them, the path to them, the version, and what is shown."""

    holder: _Holder
    path: Path
    version: int
    unknown: bool


def text_plan(
    layout: MessageLayout, columns: Mapping[str, MessageColumns], style: TextStyle
) -> TextPlan | None:
    """Return the plan of a message; None if columns do not say it as JSON shows it.

    Args:
        layout: the message.
        columns: the tables of messages, by the ids of their files.
        style: how it is shown.
    """
    try:
        return _Maker(layout, columns, style).plan()
    except _UnsupportedError:
        return None


class _Maker:
    def __init__(
        self, layout: MessageLayout, columns: Mapping[str, MessageColumns], style: TextStyle
    ) -> None:
        self._columns = columns
        self._style = style
        self._layout = layout
        self._tables = [(layout.id, -1)]
        self._root = _Holder(columns[layout.id].root, 0, 0)

    def plan(self) -> TextPlan:
        lines = []
        version = self._root.child(SCHEMA_VERSION)
        unused = self._root.child(UNUSED)
        if self._style.whole and unused is not None:
            lines.append(unused.line(TextStep.EMPTY, "", 0))
        for text in self._style.head:
            if text is not None:
                opens = BARE if text.endswith("{") else 0
                lines.append(_Line(TextStep.LITERAL, text=text, flags=opens))
            elif version is not None:
                lines.append(version.line(TextStep.NUMBER, "", BARE))
        lines += self._message(self._layout, self._root, self._style.unknown)
        lines.append(_Line(TextStep.LITERAL, text=self._style.tail))
        literals = bytearray()
        numbers = array("q", _linear(lines, literals, {}))
        return TextPlan(tuple(self._tables), numbers, bytes(literals) + bytes(PADDING))

    def _message(self, layout: MessageLayout, root: _Holder, unknown: bool) -> Sequence[_Line]:
        """Return the fields of a message, for each version."""
        program = self._columns[layout.id].program
        lines = [program[at : at + WIDTH] for at in range(0, len(program), WIDTH)]
        at = next((at for at, line in enumerate(lines) if line[0] == Step.VERSION), None)
        version = root.child(SCHEMA_VERSION)
        if at is None or version is None:
            return self._fields(layout, root, layout.versions[1], unknown)
        first, case, stop = max(lines[at][-2], 0), at + 1, lines[at][2]
        cases: list[_Line] = []
        while case < stop:
            number, case = first + len(cases), lines[case][2]
            fields = self._fields(layout, root, number, unknown)
            flags = OTHER if case == stop else 0
            cases.append(_Line(TextStep.CASE, flags=flags, number=number, children=fields))
        return [version.line(TextStep.CHOICE, "", 0, cases)]

    def _fields(
        self, layout: MessageLayout, root: _Holder, version: int, unknown: bool
    ) -> Sequence[_Line]:
        found: dict[str, _Line] = {}
        tagged: dict[str, _Line] = {}
        self._collect(layout.key, _Where(root, (), version, unknown), found, tagged)
        for name, line in tagged.items():
            before = SHOWN_BEFORE.get(f"{layout.name}.{name}", ())
            later = next((key for key in before if key in found), None)
            items = list(found.items())
            place = len(items) if later is None else list(found).index(later)
            found = dict([*items[:place], (name, line), *items[place:]])
        number = root.child(SCHEMA_VERSION)
        if root.table == 0 and self._style.versioned and number is not None:
            found = {VERSION: number.line(TextStep.NUMBER, _name(VERSION), 0)} | found
        if root.table == 0:
            for name, line in found.items():
                self._styled(name, line)
        return list(found.values())

    def _styled(self, name: str, line: _Line) -> None:
        if name in self._style.renamed:
            line.text = _name(self._style.renamed[name])
        names = self._style.named.get(name)
        if names is not None:
            cases = [
                _Line(TextStep.CASE, number=number, children=[_Line(TextStep.LITERAL, text=text)])
                for number, text in (
                    (number, f",{line.text}{json_text(text)}") for number, text in names.items()
                )
            ]
            other = _Line(TextStep.CASE, flags=OTHER, children=[_Line(TextStep.REFUSE)])
            line.step, line.text, line.children = TextStep.CHOICE, "", [*cases, other]

    def _collect(
        self, key: str, where: _Where, found: dict[str, _Line], tagged: dict[str, _Line]
    ) -> None:
        """Collect lines as ``json_text`` collects values."""
        layout = LAYOUTS[key]
        knows = any(name == "version" for name, _ in layout.parameters) or any(
            one.id == SCHEMA_VERSION for one in layout.fields
        )
        for part in parts_of(key, where.unknown):
            inner = where._replace(path=(*where.path, part.id))
            if part.id == BODY:
                self._collect(_resolved(part.field.type, where.version), inner, found, tagged)
            elif part.id == TAGGED_FIELDS:
                self._tags(part.field, inner, found, tagged)
            else:
                since = part.null_since
                shown = not part.may_miss or (
                    since is not None and knows and where.version >= since
                )
                found[part.name] = self._value(part, part.name, inner, NULL if shown else 0)

    def _tags(
        self, section: FieldLayout, where: _Where, found: dict[str, _Line], tagged: dict[str, _Line]
    ) -> None:
        (items,) = (one for one in LAYOUTS[section.type].fields if one.repeated)
        path = (*where.path, items.id)
        known = self._known_tags(items.type, where.version)
        for number, key in known.items():
            shown = [one for one in LAYOUTS[key].fields if one.original_id and not one.derive]
            parts = parts_of(key, where.unknown)
            if not shown:
                continue
            if len(shown) != 1 or len(parts) != 1 or parts[0].id != shown[0].id:
                raise _UnsupportedError
            (part,) = parts
            inner = where._replace(path=(*path, ("tag", number), "content", part.id))
            line, place = self._value(part, part.name, inner, 0), _at(inner)
            self._default(line, shown[0], place)
            tagged[part.name] = _unless_filled(line, place) if place.column.filled else line
        if not where.unknown:
            return
        others = where.holder.found.get(path)
        if others is None or set(others.column.known) != set(known):
            raise _UnsupportedError
        item = _Holder(others.column.children[0], others.number + 1, others.table)
        tag, data = item.child("tag"), item.child("data")
        assert tag is not None
        assert data is not None
        fields = (
            tag.line(TextStep.NUMBER, _name("tag"), 0),
            data.line(TextStep.BASE64, _name("data"), 0),
        )
        one = item.line(TextStep.STRUCT, "", BARE, fields)
        found[UNKNOWN_TAGS] = others.line(TextStep.LIST, _name(UNKNOWN_TAGS), DEFAULT, [one])

    @staticmethod
    def _known_tags(item: str, version: int) -> dict[int, str]:
        """Return the types of the tags that a type of tagged field knows."""
        content = [one for one in LAYOUTS[item].fields if one.kind is Kind.TYPE]
        if not content or LAYOUTS[content[0].type].form is not Form.CHOICE:
            return {}
        (choice,) = (one for one in LAYOUTS[content[0].type].fields if one.kind is Kind.CHOICE)
        known = {case: key for case, key in choice.cases if case is not None}
        return {case: _resolved(key, version) for case, key in known.items()}

    @staticmethod
    def _default(line: _Line, shown: FieldLayout, place: _Holder) -> None:
        """Say when a tagged field is left out."""
        kind, default = place.column.kind, shown.default
        line.flags |= NULL if place.column.filled else 0
        if kind in (ColumnKind.INTEGER, ColumnKind.BOOLEAN):
            if default not in ("", "null"):
                line.flags |= DEFAULT
                line.number = int(default)
        elif default == ("0" if kind is ColumnKind.FIXED else "[]"):
            line.flags |= DEFAULT
        elif default not in ("", "null"):
            raise _UnsupportedError

    def _value(self, part: JsonPart, name: str, where: _Where, flags: int) -> _Line:
        """Return the line of a field."""
        place = where.holder.found.get(where.path)
        text = _name(name)
        if part.field.repeated:
            if place is None or place.column.kind is not ColumnKind.LIST:
                raise _UnsupportedError
            return place.line(TextStep.LIST, text, flags, [self._item(part, place, where)])
        if part.form is not JsonForm.STRUCTURE:
            if place is None:
                raise _UnsupportedError
            line = _leaf(part, place, text, flags)
            return self._embedded(name, line, place) or line
        key = _resolved(part.field.type, where.version)
        single = single_part(key, part.field.original_id, where.unknown)
        if place is None:  # the column is what is in the structure
            if single is None:
                raise _UnsupportedError
            inner = where._replace(path=(*where.path, single.id))
            return self._value(single, name, inner, flags)
        if single is not None or place.column.kind is not ColumnKind.STRUCT:
            raise _UnsupportedError
        return place.line(TextStep.STRUCT, text, flags, self._structure(key, place, where))

    def _structure(self, key: str, place: _Holder, where: _Where) -> Sequence[_Line]:
        fields: dict[str, _Line] = {}
        self._collect(key, where._replace(holder=place, path=()), fields, fields)
        return list(fields.values())

    def _item(self, part: JsonPart, place: _Holder, where: _Where) -> _Line:
        """Return the line of an item of a list."""
        item = _Holder(place.column.children[0], place.number + 1, place.table)
        if part.form is not JsonForm.STRUCTURE:
            return _leaf(part, item, "", BARE)
        key = _resolved(part.field.type, where.version)
        single = single_part(key, part.field.original_id, where.unknown)
        if single is None:
            if item.column.kind is not ColumnKind.STRUCT:
                raise _UnsupportedError
            return item.line(TextStep.STRUCT, "", BARE, self._structure(key, item, where))
        if item.column.kind is ColumnKind.STRUCT or single.form is JsonForm.STRUCTURE:
            raise _UnsupportedError
        if not single.field.repeated:
            return _leaf(single, item, "", BARE | NULL)
        if item.column.kind is not ColumnKind.LIST:
            raise _UnsupportedError
        return item.line(TextStep.LIST, "", BARE, [self._item(single, item, where)])

    def _embedded(self, name: str, line: _Line, place: _Holder) -> _Line | None:
        """Return the line of what consumers write into a group, which is a message."""
        if self._layout.name != "GroupMetadataValue" or name not in EMBEDDED or place.table:
            return None
        (layout,) = by_name(EMBEDDED[name])
        protocol = self._root.child(PROTOCOL_TYPE)
        assert protocol is not None
        source = (layout.id, place.number)
        if source not in self._tables:
            self._tables.append(source)
        root = _Holder(self._columns[layout.id].root, 0, self._tables.index(source))
        found = root.line(TextStep.STRUCT, line.text, OTHER, self._message(layout, root, False))
        cases = (
            _Line(TextStep.CASE, text=CONSUMER, children=[found]),
            _Line(TextStep.CASE, flags=OTHER, children=[line]),
        )
        return protocol.line(TextStep.CHOICE, "", OF_ROW, cases)


def _at(where: _Where) -> _Holder:
    """Return the column of a tagged field, or of what it stands for."""
    path = where.path
    found = (one for to, one in where.holder.found.items() if to[: len(path)] == path)
    return next(found)


def _unless_filled(line: _Line, place: _Holder) -> _Line:
    """Return the line of a structure, without a text where it has the defaults of its absence."""
    if line.step is not TextStep.STRUCT:
        return line
    kinds = (ColumnKind.INTEGER, ColumnKind.BOOLEAN)
    numbers = (one for one in place.found.values() if one.column.kind in kinds)
    number = next((one for one in numbers if not one.column.nullable), None)
    if number is None:
        raise _UnsupportedError
    refuse = _Line(TextStep.REFUSE)
    cases = (
        _Line(TextStep.CASE, number=number.column.default, children=[refuse]),
        _Line(TextStep.CASE, flags=OTHER, children=[line]),
    )
    return number.line(TextStep.CHOICE, "", 0, cases)


def _resolved(key: str, version: int) -> str:
    """Return the type of the structure that a type is in a version."""
    layout = LAYOUTS[key]
    if layout.form is Form.CHOICE:
        (choice,) = (one for one in layout.fields if one.kind is Kind.CHOICE)
        if [name for name, _ in layout.parameters] != ["version"]:
            raise _UnsupportedError
        cases = dict(choice.cases)
        return _resolved(cases[version] if version in cases else cases[None], version)
    if layout.form is Form.FRAME:
        (inner,) = (one for one in layout.fields if one.kind is Kind.TYPE)
        return _resolved(inner.type, version)
    return key


_LEAVES: Final = {
    JsonForm.BOOLEAN: {ColumnKind.BOOLEAN: TextStep.BOOLEAN, ColumnKind.INTEGER: TextStep.BOOLEAN},
    JsonForm.UUID: {ColumnKind.FIXED: TextStep.UUID},
    JsonForm.TEXT: {ColumnKind.TEXT: TextStep.TEXT},
    JsonForm.NUMBER: {ColumnKind.INTEGER: TextStep.NUMBER},
    JsonForm.FLOAT: {ColumnKind.FLOAT: TextStep.REFUSE},
    JsonForm.DATA: {
        ColumnKind.INTEGER: TextStep.NUMBER,
        ColumnKind.BYTES: TextStep.BASE64,
        ColumnKind.FIXED: TextStep.BASE64,
    },
}


def _leaf(part: JsonPart, place: _Holder, text: str, flags: int) -> _Line:
    assert part.form is not None
    step = _LEAVES[part.form].get(place.column.kind) if part.form in _LEAVES else None
    if step is None:
        raise _UnsupportedError
    return place.line(step, text, flags)


def _name(name: str) -> str:
    return f"{json_text(name)}:"


def _linear(
    lines: Sequence[_Line], literals: bytearray, known: dict[bytes, int], base: int = 0
) -> Iterator[int]:
    """Yield the numbers of lines, the first of which has a number, and of those in them."""
    at = base
    for line in lines:
        text = line.text.encode()
        if text not in known:
            known[text] = len(literals)
            literals += text
        inner = list(_linear(line.children, literals, known, at + 1))
        after = at + 1 + len(inner) // WIDTH
        yield from (
            line.step, after, line.table, line.column, known[text], len(text), line.flags,
            line.number,
        )  # fmt: skip
        yield from inner
        at = after
