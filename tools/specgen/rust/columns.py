"""Write columns of records: one vector for each number and byte string, filled in one pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from kafkaspec.layout import names
from tools.specgen.expression import Attribute, Expression, Name, dotted
from tools.specgen.facts.fields import is_bytes, is_integer, scalar_of
from tools.specgen.facts.segments import Batch, Segment, resolved, segments
from tools.specgen.model import (
    Default,
    Field,
    IntegerType,
    Model,
    Parameter,
    Scalar,
    Type,
    TypeReference,
    ValueInstance,
)
from tools.specgen.rust.entries import member_at
from tools.specgen.rust.expressions import Translator, bare
from tools.specgen.rust.naming import ANY, identifier, is_structure, local, path_of, value_of
from tools.specgen.rust.structures import Reader, documented
from tools.specgen.writer import CodeWriter

NUMBER, SPAN, LIST = "i64", "Span", "u32"
"""What a column holds; that of a list holds where its items end."""

_HEAD = """\
//! Records in columns: a vector for each number and byte string, without an object for each record.

use super::runtime::*;

/// The number in place of one that records of a kind do not have.
pub const ABSENT: i64 = i64::MIN;

/// A byte string in a buffer, or null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    start: usize,
    size: usize,
}

impl Span {
    /// Null.
    pub const NULL: Span = Span { start: usize::MAX, size: 0 };

    /// Returns the place of a part of a buffer.
    #[inline]
    pub fn of(buffer: &[u8], part: Option<&[u8]>) -> Self {
        part.map_or(Span::NULL, |part| Span {
            start: (part.as_ptr() as usize).wrapping_sub(buffer.as_ptr() as usize),
            size: part.len(),
        })
    }

    /// Returns the bytes, `None` for null.
    #[inline]
    pub fn get<'a>(&self, buffer: &'a [u8]) -> Option<&'a [u8]> {
        buffer.get(self.start..self.start.checked_add(self.size)?)
    }
}
"""


@dataclass(frozen=True)
class Column:
    """A column of records.

    Attributes:
        path: dotted ids; in a list like ``headers.key``.
        kind: what it holds.
        list_path: the list that it belongs to.
        doc: of the field.
        absent: the number of records without it.
    """

    path: str
    kind: str
    list_path: str | None = None
    doc: str = ""
    absent: int | None = None

    @property
    def name(self) -> str:
        """Its name in Rust."""
        return identifier(self.path.replace(".", "_"))

    @property
    def wanted(self) -> str:
        """The constant that selects it; that of the list for columns of its items."""
        return (self.list_path or self.path).replace(".", "_").upper()


def columns_text(model: Model) -> str | None:
    """Return the module of columns, None where no file has batches of records."""
    found = [segment for segment in segments(model) if segment.batches]
    return ColumnsModule(found[0]).text() if found else None


class ColumnsModule:
    """Writer of the module."""

    def __init__(self, segment: Segment) -> None:
        self.segment, self.model, self.out = segment, segment.model, CodeWriter()
        found: dict[str, Column] = {}
        for batch in segment.batches:
            for column in self._columns(batch.record(self.model)):
                found.setdefault(column.path, column)
        self.columns = tuple(found.values())
        self.selectable = [column for column in self.columns if column.list_path is None]

    def text(self) -> str:
        """Return the module without its header."""
        self.out.lines(*_HEAD.splitlines(), "")
        self._struct()
        self.out.line()
        with self.out.block("impl Columns {", "}"):
            self._constants()
            self._maintenance()
            read: list[Type] = []
            for batch in self.segment.batches:
                if batch.record_set not in read:
                    BatchColumns(self, batch).emit()
                read.append(batch.record_set)
            for type_ in self.segment.messages:
                self._message(type_)
            self._dispatch()
        return self.out.text()

    def _dispatch(self) -> None:
        """Write what takes an entry of any kind."""
        out, segment = self.out, self.segment
        entry = value_of(self.model, segment.entry, "", ANY)
        chosen = path_of("", segment.choice, segment.choice.class_name)
        body = identifier(segment.body.id)
        out.line("/// Adds the records of a batch, whose payload is the input; none of a message.")
        with (
            out.block(
                "pub fn read_records(\n"
                "    &mut self,\n"
                "    buffer: &[u8],\n"
                "    input: &mut Input<'_>,\n"
                f"    entry: &{entry},\n"
                ") -> Result<(), Error> {",
                "}",
            ),
            out.block(f"match &entry.{body} {{", "}"),
        ):
            for batch in segment.batches:
                called = f"self.read_{batch.record_set.name}(buffer, input, batch)"
                out.line(f"{chosen}::{batch.type.class_name}(batch) => {called},")
            if segment.messages:
                out.line("_ => Ok(()),")
        out.line()
        out.line("/// Adds a message that stands alone, and nothing for a batch.")
        with (
            out.block(f"pub fn push_message(&mut self, buffer: &[u8], entry: &{entry}) {{", "}"),
            out.block(f"match &entry.{body} {{", "}"),
        ):
            for type_ in segment.messages:
                called = f"self.push_{type_.name}(buffer, message)"
                out.line(f"{chosen}::{type_.class_name}(message) => {called},")
            if segment.batches:
                out.line("_ => (),")
        for name, path in (("offsets", names.OFFSET), ("timestamps", names.TIMESTAMP)):
            if path not in {column.path for column in self.columns}:
                continue  # another name, or another format
            out.line()
            out.line(
                f"/// Returns the column of {name}, to change it as a wrapper of messages says."
            )
            with out.block(f"pub fn {name}_mut(&mut self) -> &mut Vec<i64> {{", "}"):
                out.line(f"&mut self.{identifier(path)}")

    def _columns(self, type_: Type, prefix: str = "", of: str | None = None) -> list[Column]:
        found = []
        if not prefix:
            found += [Column(item.id, NUMBER, doc=item.doc) for item in type_.value_instances]
        for field in type_.fields:
            path = prefix + field.id
            if is_integer(self.model, field):
                absent = field.default.value if isinstance(field.default, Default) else None
                absent = absent if isinstance(absent, int) else None
                found.append(Column(path, NUMBER, of, field.doc, absent))
            elif is_bytes(self.model, field) and field.repeat is None:
                found.append(Column(path, SPAN, of, field.doc))
            elif isinstance(field.type, TypeReference):
                inner = resolved(self.model, field.type)
                if field.repeat is not None and of is None and not inner.scalar:
                    found.append(Column(path, LIST, doc=field.doc))
                    found += self._columns(inner, f"{path}.", path)
                elif field.repeat is None and not inner.is_transparent:
                    found += self._columns(inner, f"{path}.", of)
        return found

    def _struct(self) -> None:
        documented(
            self.out,
            "Records in columns. A span is a place in the buffer that the records were read from.\n"
            "\nOf a list there is the number of its items up to and with each record.",
        )
        self.out.line("#[derive(Clone, Debug, Default)]")
        with self.out.block("pub struct Columns {", "}"):
            self.out.lines("wanted: u64,", "rows: usize,")
            for column in self.columns:
                documented(self.out, column.doc or f"`{column.path}`.")
                self.out.line(f"pub {column.name}: Vec<{column.kind}>,")

    def _constants(self) -> None:
        for number, column in enumerate(self.selectable):
            self.out.line(f"/// Selects `{column.path}`.")
            self.out.line(f"pub const {column.wanted}: u64 = 1 << {number};")
        self.out.line("/// Selects all columns.")
        self.out.line(f"pub const ALL: u64 = (1 << {len(self.selectable)}) - 1;")
        self.out.line("/// The columns of numbers by name, with what selects each.")
        numbers = [column for column in self.selectable if column.kind == NUMBER]
        with self.out.block(f"pub const NUMBERS: [(&'static str, u64); {len(numbers)}] = [", "];"):
            for column in numbers:
                self.out.line(f'("{column.path}", Columns::{column.wanted}),')
        self.out.line()

    def _maintenance(self) -> None:
        out = self.out
        out.line("/// Returns columns without records; `wanted` selects those that are filled.")
        with out.block("pub fn new(wanted: u64) -> Self {", "}"):
            out.line("Columns { wanted, ..Columns::default() }")
        out.line()
        out.line("/// Returns the number of records.")
        with out.block("pub fn rows(&self) -> usize {", "}"):
            out.line("self.rows")
        out.line()
        out.line("/// Removes all records, and keeps the memory.")
        with out.block("pub fn clear(&mut self) {", "}"):
            out.line("self.truncate(0);")
        out.line()
        out.line("/// Removes the records from a number on.")
        with out.block("pub fn truncate(&mut self, rows: usize) {", "}"):
            out.line("self.rows = self.rows.min(rows);")
            for column in self.selectable:
                out.line(f"self.{column.name}.truncate(rows);")
                if column.kind == LIST:
                    out.line(
                        f"let items = self.{column.name}.last().map_or(0, |&end| end as usize);"
                    )
                    for item in self.columns:
                        if item.list_path == column.path:
                            out.line(f"self.{item.name}.truncate(items);")
        out.line()
        with out.block("fn make_room(&mut self, more: usize) {", "}"):
            out.line("let rows = self.rows + more;")
            for column in self.selectable:
                nothing = "Span::NULL" if column.kind == SPAN else "0"
                with out.block(f"if self.wanted & Columns::{column.wanted} != 0 {{", "}"):
                    out.line(f"self.{column.name}.resize(rows, {nothing});")
        out.line()
        out.line("/// Returns a column of numbers by name; `None` if there is none.")
        with (
            out.block("pub fn numbers(&mut self, name: &str) -> Option<&mut Vec<i64>> {", "}"),
            out.block("match name {", "}"),
        ):
            for column in self.selectable:
                if column.kind == NUMBER:
                    out.line(f'"{column.path}" => Some(&mut self.{column.name}),')
            out.line("_ => None,")
        out.line()
        for column in self.selectable:
            if column.kind != LIST:
                continue
            out.line(f"/// Returns the numbers of the items of `{column.path}` of a record.")
            with out.block(
                f"pub fn {column.name}_of(&self, row: usize) -> std::ops::Range<usize> {{", "}"
            ):
                out.line(
                    f"let end = |row: usize| self.{column.name}.get(row)"
                    ".map_or(0, |&end| end as usize);"
                )
                out.line("let start = row.checked_sub(1).map_or(0, end);")
                out.line("start..end(row).max(start)")
            out.line()

    def push(self, columns: Iterable[Column], value: Callable[[Column], str]) -> None:
        """Write what adds a value to each of some columns, which one constant selects."""
        columns = list(columns)
        with self.out.block(f"if self.wanted & Columns::{columns[0].wanted} != 0 {{", "}"):
            for column in columns:
                self.out.line(f"self.{column.name}.push({value(column)});")

    def put(self, column: Column, value: str) -> None:
        """Write what puts a value into a column that has room for it if it is wanted."""
        with self.out.block(f"if let Some(to) = self.{column.name}.get_mut(self.rows) {{", "}"):
            self.out.line(f"*to = {value};")

    def absent(self, column: Column) -> str:
        """Return what a record without the field has."""
        if column.kind == LIST:
            return f"self.{column.name}.last().copied().unwrap_or(0)"
        if column.kind == SPAN:
            return "Span::NULL"
        return "ABSENT" if column.absent is None else str(column.absent)

    def _message(self, type_: Type) -> None:
        """Write what adds a message that stands alone."""
        kind = value_of(self.model, type_, "", ANY)
        self.out.line(f"/// Adds a `{type_.name}` that lies in a buffer.")
        with self.out.block(
            f"pub fn push_{type_.name}(&mut self, buffer: &[u8], message: &{kind}) {{", "}"
        ):
            for column in self.selectable:
                self.push([column], partial(self._of_message, type_))
            self.out.line("self.rows += 1;")
        self.out.line()

    def _of_message(self, type_: Type, column: Column) -> str:
        found = member_at(self.model, type_, column.path, "message")
        if found is None:
            return self.absent(column)
        member, place = found
        if isinstance(member, Parameter) and isinstance(member.type, IntegerType):
            return place if column.kind == NUMBER else self.absent(column)
        if isinstance(member, ValueInstance):
            if member.condition is None:
                return place
            return f"{place}.unwrap_or({self.absent(column)})"
        if not isinstance(member, Field):
            return self.absent(column)
        if column.kind == SPAN and is_bytes(self.model, member):
            given = place if _is_optional(self.model, member) else f"Some({place})"
            return f"Span::of(buffer, {given})"
        if column.kind == NUMBER and is_integer(self.model, member):
            absent = column.absent
            if isinstance(member.default, Default) and isinstance(member.default.value, int):
                absent = member.default.value
            missing = "ABSENT" if absent is None else str(absent)
            if member.condition is None:
                return f"i64::from({place})"
            return f"{place}.map_or({missing}, i64::from)"
        return self.absent(column)


def _is_optional(model: Model, field: Field) -> bool:
    return field.condition is not None or scalar_of(model, field) is Scalar.NULLABLE_BYTES


class BatchColumns:
    """Writer of the functions that add the records of one kind of batch."""

    def __init__(self, module: ColumnsModule, batch: Batch) -> None:
        self.module, self.batch, self.out = module, batch, module.out
        self.model = module.model
        self.record = batch.record(self.model)
        self.done: list[Type] = []

    def function(self, type_: Type) -> str:
        """Return the function of a type; kinds of batches share types such as headers."""
        outer = self.batch.record_set
        return f"add_{outer.name}" if type_ == outer else f"add_{outer.name}_{type_.name}"

    def emit(self) -> None:
        """Write the functions, outermost first."""
        pending = [self.batch.record_set]
        while pending:
            type_ = pending.pop(0)
            if type_ in self.done:
                continue
            self.done.append(type_)
            reader = ColumnsReader(self, type_)
            reader.emit()
            pending += reader.called


class ColumnsReader(Reader):
    """Writer of one function that reads a structure into columns."""

    def __init__(self, owner: BatchColumns, type_: Type) -> None:
        super().__init__(owner.model, owner.out, "", type_)
        self.owner, self.module = owner, owner.module
        self.called: list[Type] = []
        self.lists = {
            column.path: column for column in self.module.selectable if column.kind == LIST
        }

    def emit(self) -> None:
        """Write the function."""
        type_, out = self.type, self.out
        outermost = type_ == self.owner.batch.record_set
        given = ""
        for parameter in type_.parameters:
            kind = "i64"
            if is_structure(parameter):
                kind = f"&{value_of(self.model, self.model.inner(parameter), '', ANY)}"
            given += f", {local(parameter.id)}: {kind}"
        if outermost:
            out.line("/// Adds the records of a batch, and adds none of them if one is refused.")
            out.line("///")
            out.line("/// The input is the payload after decompression, a part of the buffer.")
            head = (
                f"pub fn read_{type_.name}(&mut self, buffer: &[u8], input: &mut Input<'_>{given})"
            )
            with out.block(f"{head} -> Result<(), Error> {{", "}"):
                out.line("let rows = self.rows;")
                self._make_room()
                listed = "".join(f", {local(item.id)}" for item in type_.parameters)
                called = self.owner.function(type_)
                out.line(f"let found = self.{called}(buffer, input{listed});")
                out.line("self.truncate(if found.is_err() { rows } else { self.rows });")
                out.line("found")
            out.line()
        if type_ not in (self.owner.batch.record_set,):
            out.line("#[inline]")
        name = self.owner.function(type_)
        head = f"fn {name}(&mut self, buffer: &[u8], input: &mut Input<'_>{given})"
        with out.block(f"{head} -> Result<(), Error> {{", "}"):
            self.read()
            if type_ == self.owner.record:
                for column in self.module.selectable:
                    self.module.put(column, self._of_record(column))
                out.line("self.rows += 1;")
            elif self._list() is not None:
                self._push_item()
            out.line("Ok(())")
        out.line()

    def _make_room(self) -> None:
        """Write what makes room for as many records as the input can hold."""
        items = self.owner.batch.items
        least = self.least(items)
        repeat = items.repeat
        assert repeat is not None
        count = "i64::MAX" if repeat.count is None else bare(self.translator.number(repeat.count))
        self.out.line(f"self.make_room(input.room({count}, {least}));")

    def _list(self) -> Column | None:
        """Return the list whose items the type are."""
        for field in self.owner.record.fields:
            kind = field.type if field.id in self.lists else None
            if isinstance(kind, TypeReference) and resolved(self.model, kind) == self.type:
                return self.lists[field.id]
        return None

    def _push_item(self) -> None:
        of = self._list()
        assert of is not None
        self.module.push(
            (column for column in self.module.columns if column.list_path == of.path),
            lambda column: self._value_of(column, column.path[len(of.path) + 1 :]),
        )

    def _of_record(self, column: Column) -> str:
        if column.kind == LIST:
            item = next(
                (each for each in self.module.columns if each.list_path == column.path), None
            )
            has = column.path in self.type.field_by_id and item is not None
            return f"self.{item.name}.len() as u32" if has and item else self.module.absent(column)
        return self._value_of(column, column.path)

    def _value_of(self, column: Column, path: str) -> str:
        first, *rest = path.split(".")
        expression: Expression = Name(first)
        for step in rest:
            expression = Attribute(expression, step)
        assert list(dotted(expression))
        translator = Translator(self.model, self.type, wrap=True)
        found = translator.member_of(expression)
        if found is None:
            return self.module.absent(column)
        member = found[1]
        if isinstance(member, ValueInstance):
            value = translator.argument(member.value)
            if translator.is_boolean(member.value):
                value = f"i64::from({translator.text(member.value)})"
            if member.condition is not None:
                test = translator.text(member.condition)
                return f"if {test} {{ {value} }} else {{ {self.module.absent(column)} }}"
            return value
        if not isinstance(member, Field):
            return self.module.absent(column)
        place = translator.place(expression)
        if column.kind == SPAN:
            given = place if _is_optional(self.model, member) else f"Some({place})"
            return f"Span::of(buffer, {given})"
        if member.condition is not None:
            return f"{place}.map_or({self.module.absent(column)}, i64::from)"
        return f"i64::from({place})" if member.is_bool else translator.argument(expression)

    # Structures that columns show are read by functions of ours, which return nothing.

    def _is_ours(self, field: Field) -> bool:
        if not isinstance(field.type, TypeReference):
            return False
        if self.type == self.owner.batch.record_set:
            return field == self.owner.batch.items
        if self.type.is_frame:
            return field == self.type.fields[-1]
        return self.type == self.owner.record and field.id in self.lists

    def _array(self, field: Field) -> None:
        if not self._is_ours(field):
            super()._array(field)
            return
        repeat = field.repeat
        assert repeat is not None
        path = f'"/{field.id}"'
        inside = f".map_err(|error| error.inside_item({path}, index as usize))"
        if repeat.count is None:
            self.out.line("let mut index = 0;")
            with self.out.block("while !input.is_at_end() {", "}"):
                self.out.line(f"{self._read(field, '', inside)};")
                self.out.line("index += 1;")
            return
        count = self.translator.number(repeat.count)
        with self.out.block(f"for index in 0..{count} {{", "}"):
            self.out.line(f"{self._read(field, '', inside)};")

    def _structure(
        self, field: Field, kind: TypeReference, place: str, tail: str, inside: str
    ) -> str:
        type_ = self.model.type(kind)
        if type_.scalar or not self._is_ours(field):
            return super()._structure(field, kind, place, tail, inside)
        self.called.append(type_)
        taken = self.source(kind, place, tail)
        called = self.owner.function(type_)
        return f"self.{called}(buffer, {taken}{self.arguments(kind)}){inside}?"

    def _value(self, field: Field) -> None:
        if not (self._is_ours(field) and self.type.is_frame):
            super()._value(field)
            return
        inside = f'.map_err(|error| error.inside("/{field.id}"))'
        self.out.line(f"{self._read(field, f'/{field.id}', inside)};")

    def _optional(self, field: Field) -> None:
        if not self._is_ours(field):
            super()._optional(field)
            return
        assert field.condition is not None
        with self.out.block(f"if {self.translator.text(field.condition)} {{", "}"):
            self._array(field)
