"""Emit the C that reads a file into tables, in one pass over its bytes.

It refuses what is irregular without saying why: the parser in Python then reads the bytes again.
"""

from __future__ import annotations

from dataclasses import replace

from tools.specgen.expression import Int
from tools.specgen.facts.columns import c_name
from tools.specgen.facts.fields import is_bytes, is_integer
from tools.specgen.facts.sizes import checksums_of, minimum_size
from tools.specgen.facts.tables import VALUE, Column, Content, Table, Tables, is_large
from tools.specgen.model import (
    BytesType,
    Field,
    FloatType,
    IntegerType,
    SwitchType,
    Type,
    TypeReference,
)
from tools.specgen.native.expressions import Unsupported, bare
from tools.specgen.native.walk import Scope, Walk
from tools.specgen.writer import CodeWriter

HEAD = "int {}_read(const uint8_t *bytes, int64_t size, ks_table *tables)"


class TableReader(Walk):
    """Writer of ``<file>_read``."""

    fail = "goto irregular;"

    def __init__(self, tables: Tables, out: CodeWriter) -> None:
        super().__init__(tables.model, out)
        self.tables = tables
        self._stored: set[str] = set()
        self._count = 0

    def emit(self) -> None:
        """Write the whole function."""
        out, root = self.out, self.tables.root
        with out.block(f"{HEAD.format(root.name)}\n{{", "}"):
            out.line("const uint8_t *p = bytes;")
            out.line("const uint8_t *const end = bytes + size;")
            self._row(self.tables.tables[0], "0")
            self.read(Scope(root, self.tables.tables[0].prefix))
            out.when("p != end", self.fail)
            out.line("return KS_OK;")
            out.lines("irregular:", "return KS_IRREGULAR;")
        out.line()

    def _row(self, table: Table, parent: str) -> None:
        """Write a new row; its number and cells are in variables."""
        number = table.number
        self.out.line(f"int64_t *const r{number} = ks_row(&tables[{number}], {parent});")
        self.out.when(f"KS_UNLIKELY(!r{number})", "return KS_MEMORY;")
        self.out.line(f"const int64_t row{number} = tables[{number}].rows - 1;")
        self.out.line(f"(void)row{number};")

    def _column(self, scope: Scope, item: Field) -> tuple[Column, Table]:
        """Return the column of a field, and its table."""
        transparent = scope.type.is_frame or scope.type.is_choice
        key = scope.prefix.rstrip(".") if transparent else f"{scope.prefix}{item.id}"
        return self.tables.found(key)

    def _cell(self, column: Column, table: Table, more: int = 0) -> str:
        return f"r{table.number}[{column.slot + more}]"

    # -- numbers and bytes ------------------------------------------------------------------

    def place(self, scope: Scope, path: str) -> str:
        local = f"v_{c_name(scope.prefix + path)}"
        self.out.line(f"int64_t {local};")
        scope.names[path] = local
        return local

    def on_read(self, scope: Scope, ids: tuple[str, ...]) -> None:
        for path, value in list(scope.names.items()):
            key = scope.prefix + path
            column = self.tables.columns.get(key)
            first = path.split(".")[0]
            if column is None or first not in ids or key in self._stored:
                continue
            if column.content not in (Content.SIGNED, Content.UNSIGNED):
                continue
            self._stored.add(key)
            table = self.tables.tables[int(key[1:].partition(".")[0])]
            self.out.line(f"{self._cell(column, table)} = {value};")
            if column.nullable:
                condition = scope.type.field_by_id[first].condition
                assert condition is not None
                there = self.translator(scope).text(condition)
                self.out.line(f"{self._cell(column, table, 1)} = !!{there};")

    def on_bytes(self, scope: Scope, field: Field, start: str, size: str) -> None:
        found = self._column(scope, field)
        self.out.line(f"{self._cell(*found)} = {start} - bytes;")
        self.out.line(f"{self._cell(*found, 1)} = {size} < 0 ? -1 : {size};")

    def _float(self, scope: Scope, item: Field, kind: FloatType) -> None:
        found = self._column(scope, item)
        self.need(scope, kind.size)
        bits = f"ks_s{kind.size}{'le' if kind.little else ''}(p)"
        bits = bits if kind.size == 8 else f"ks_widened({bits})"
        self.out.line(f"{self._cell(*found)} = {bits};")
        self.out.line(f"p += {kind.size};")

    def _is_numbers(self, item: Field) -> bool:
        if isinstance(item.type, TypeReference) and any(
            child.derive and child.derive.function.is_checksum
            for child in self.model.inner(item).fields
        ):
            return False
        return super()._is_numbers(item)

    def _check(self, scope: Scope, owner: Type, item: Field, path: str) -> None:
        if is_large(item) and (item.valid or item.id in self.tables.used):
            # C would compare it as a number with a sign.
            self.out.when(f"{scope.names[path]} < 0", self.fail)
        super()._check(scope, owner, item, path)

    # -- structures -------------------------------------------------------------------------

    def read(self, scope: Scope) -> None:
        """Write all fields of the structure, what is read ahead before them, and its checksums."""
        places = list(checksums_of(self.model, scope.type))
        begin = f"begin_{self._count}"
        if places or scope.type.peek_instances:
            self._count += 1
            self.out.line(f"const uint8_t *const {begin} = p;")
        for peek in scope.type.peek_instances:
            assert isinstance(peek.position, Int)
            assert isinstance(peek.type, IntegerType)
            self.need(scope, peek.position.value + peek.type.size)
            target = self.place(scope, peek.id)
            as_field = Field(peek.id, peek.type, peek.location, valid=peek.valid, enum=peek.enum)
            self.out.line(f"p += {peek.position.value};")
            self._read_number(scope, as_field, target)
            self.out.line(f"p = {begin};")
        super().read(scope)
        for place in places:
            covered = f"{begin} + {place.start}, p - {begin} - {place.start}"
            test = f"(int64_t)ks_{place.function}({covered}) != {scope.names[place.field.id]}"
            self.out.when(f"KS_UNLIKELY({test})", self.fail)

    def _read_field(self, scope: Scope, item: Field) -> None:
        if isinstance(item.type, FloatType) and item.repeat is None:
            self._float(scope, item, item.type)
        elif isinstance(item.type, SwitchType):
            self._choice(scope, item, item.type)
        else:
            super()._read_field(scope, item)

    def _read_conditional(self, scope: Scope, item: Field) -> None:
        assert item.condition is not None
        plain = replace(item, condition=None)
        apart = self.tables.is_apart(item)
        if is_bytes(self.model, item) and isinstance(item.type, TypeReference):
            self.out.line(f"{self._cell(*self._column(scope, item), 1)} = -1;")
            condition = self.translator(scope).text(item.condition)
            with self.out.block(f"if ({bare(condition)}) {{", "}"):
                self._read_bytes(scope, plain, None)
            return
        if not (apart or item.repeat is not None or isinstance(item.type, FloatType)):
            super()._read_conditional(scope, item)
            return
        found = self._column(scope, item)
        condition = self.translator(scope).text(item.condition)
        if isinstance(item.type, FloatType) and item.repeat is None:
            self.out.line(f"{self._cell(*found)} = 0;")
            self.out.line(f"{self._cell(*found, 1)} = !!{condition};")
            with self.out.block(f"if ({bare(condition)}) {{", "}"):
                self._float(scope, plain, item.type)
            return
        self.out.line(f"{self._cell(*found)} = -1;")
        with self.out.block(f"if ({bare(condition)}) {{", "}"):
            if item.repeat is not None:
                self.on_array(scope, plain)
            else:
                self._item(scope, plain, *found)
                self.out.line(f"{self._cell(*found)} = 1;")

    def on_array(self, scope: Scope, field: Field) -> None:
        found = self._column(scope, field)
        assert field.repeat is not None
        if field.repeat.until is not None:
            raise Unsupported(f"{field.location}: only varints repeat until")
        number = self.tables.child(found[0]).number
        loop = "for (;"
        if field.repeat.count is None:
            self.out.line(f"int64_t i{number} = 0;")
            loop += f" p < {scope.end}; i{number}++)"
        else:
            least = self._least(field)
            count = self.translator(scope).text(field.repeat.count)
            self.out.line(f"const int64_t count{number} = {count};")
            most = f"({scope.end} - p) / {least}"
            self.out.when(f"count{number} < 0 || count{number} > {most}", self.fail)
            self.out.line(f"int64_t i{number} = 0;")
            loop += f" i{number} < count{number}; i{number}++)"
        if field.ascending is not None:
            self.out.line(f"int64_t last{number} = 0;")
        with self.out.block(f"{loop} {{", "}"):
            names = self._item(scope, replace(field, repeat=None), *found)
            if field.ascending is not None:
                by = names[field.ascending]
                self.out.when(f"i{number} && {by} <= last{number}", self.fail)
                self.out.line(f"last{number} = {by};")
        self.out.line(f"{self._cell(*found)} = i{number};")

    def _least(self, field: Field) -> int:
        match field.type:
            case IntegerType(size=size) | FloatType(size=size) | BytesType(Int(size)):
                return max(size, 1)
            case TypeReference():
                return max(minimum_size(self.model, self.model.type(field.type)), 1)
        return 1

    def _item(self, scope: Scope, item: Field, column: Column, table: Table) -> dict[str, str]:
        """Write an item as a row of its table; return the names of its fields."""
        child = self.tables.child(column)
        self._row(child, f"row{table.number}")
        inside = replace(scope, prefix=child.prefix, names=dict(scope.names))
        # Its own id is not a part of paths in its table.
        alone = replace(item, id=VALUE)
        if isinstance(item.type, TypeReference) and self.model.type(item.type).scalar is None:
            self._read_structure(inside, alone, item.type, child.prefix)
        elif is_integer(self.model, item):
            self._read_number(inside, alone, self.place(inside, VALUE))
            self.on_read(inside, (VALUE,))
        elif is_bytes(self.model, item):
            self._read_bytes(inside, alone, None)
        elif isinstance(item.type, FloatType):
            self._float(inside, alone, item.type)
        else:
            raise Unsupported(f"{item.location}: C reads no such items")
        start = f"{VALUE}."
        return {k.removeprefix(start): v for k, v in inside.names.items() if k.startswith(start)}

    def _choice(self, scope: Scope, item: Field, kind: SwitchType) -> None:
        found = self._column(scope, item)
        column, table = found
        cases: dict[int, list[int | None]] = {}
        references: dict[int, TypeReference] = {}
        for case, reference in kind.cases:
            number = column.kinds.index(self.model.type(reference))
            cases.setdefault(number, []).append(case)
            references.setdefault(number, reference)
        on = self.translator(scope).text(kind.on)
        with self.out.block(f"switch ({bare(on)}) {{", "}"):
            for number, values in cases.items():
                for value in values:
                    self.out.line("default:" if value is None else f"case {value}:")
                with self.out.block("{", "}"):
                    child = self.tables.child(column, number)
                    self.out.line(f"{self._cell(column, table)} = {number};")
                    self._row(child, f"row{table.number}")
                    inner = self.model.type(references[number])
                    names = self.arguments(scope, inner, references[number])
                    self.read(Scope(inner, child.prefix, names, scope.end))
                    self.out.line("break;")
            if None not in [value for values in cases.values() for value in values]:
                self.out.lines("default:", f"    {self.fail}")
