"""Emit the C that writes a file from its tables, and says which cell does not fit."""

from __future__ import annotations

from dataclasses import replace

from tools.specgen.expression import literal, names
from tools.specgen.facts.columns import c_name
from tools.specgen.facts.fields import is_bytes, is_integer, null_mark, scalar_of, valid_parts
from tools.specgen.facts.ranges import value_range
from tools.specgen.facts.sizes import checksums_of
from tools.specgen.facts.tables import VALUE, Column, Table, Tables, is_large
from tools.specgen.model import (
    BitsType,
    BytesType,
    DeriveFunction,
    Field,
    FloatType,
    IntegerType,
    SwitchType,
    TypeReference,
)
from tools.specgen.native.encode_fields import store_of
from tools.specgen.native.expressions import Unsupported, bare, checks
from tools.specgen.native.walk import Scope, Walk
from tools.specgen.writer import CodeWriter

HEAD = """\
int {}_write(const ks_table *tables, const uint8_t *heap, int64_t heap_size, ks_bytes *out,
        ks_place *place)"""


class TableWriter(Walk):
    """Writer of ``<file>_write``."""

    def __init__(self, tables: Tables, out: CodeWriter) -> None:
        super().__init__(tables.model, out)
        self.tables = tables
        self._count = 0

    def emit(self) -> None:
        """Write the whole function."""
        out, count = self.out, len(self.tables.tables)
        with out.block(f"{HEAD.format(self.tables.root.name)}\n{{", "}"):
            out.line(f"int64_t next[{count}] = {{0}};")
            out.line("(void)heap, (void)heap_size;")
            self._row(self.tables.tables[0], "0")
            self._write(Scope(self.tables.root, self.tables.tables[0].prefix))
            with out.block(f"for (int i = 0; i < {count}; i++)"):
                out.when("next[i] != tables[i].rows", "return ks_misfit(place, i, next[i], 0);")
            out.line("return KS_OK;")
        out.line()

    def _row(self, table: Table, parent: str) -> None:
        """Take the next row of a table, which must belong to the row that is written."""
        number = table.number
        out = self.out
        out.line(f"const int64_t row{number} = next[{number}]++;")
        missing = f"row{number} >= tables[{number}].rows"
        other = f"tables[{number}].cells[row{number} * tables[{number}].width] != {parent}"
        out.when(f"{missing} || {other}", f"return ks_misfit(place, {number}, row{number}, 0);")
        row = f"row{number} * tables[{number}].width"
        out.line(f"const int64_t *const r{number} = tables[{number}].cells + {row};")
        out.line(f"(void)r{number};")

    def _found(self, scope: Scope, item: Field) -> tuple[Column, Table]:
        transparent = scope.type.is_frame or scope.type.is_choice
        key = scope.prefix.rstrip(".") if transparent else f"{scope.prefix}{item.id}"
        return self.tables.found(key)

    def _misfit(self, column: Column, table: Table) -> str:
        return f"return ks_misfit(place, {table.number}, row{table.number}, {column.slot});"

    def _cell(self, column: Column, table: Table, more: int = 0) -> str:
        return f"r{table.number}[{column.slot + more}]"

    # -- fields -----------------------------------------------------------------------------

    def _write(self, scope: Scope) -> None:
        """Write the fields of a structure, then what is known only at its end."""
        out, type_ = self.out, scope.type
        places = list(checksums_of(self.model, type_))
        begin = f"begin_{self._count}"
        if places:
            self._count += 1
            out.line(f"const int64_t {begin} = out->used;")
        bits: list[tuple[str, int]] = []
        patches: dict[str, tuple[Field, str]] = {}
        for item in type_.fields:
            if item.is_guard:
                continue
            if item.id in patches:
                out.line(f"const int64_t from_{patches[item.id][1]} = out->used;")
            if isinstance(item.type, BitsType):
                bits.append((self._number(scope, item), item.type.width))
                if sum(width for _, width in bits) % 8 == 0:
                    self._bits(bits)
                    bits = []
            elif item.derive is not None and not type_.is_opaque_count(item):
                late = self._derived(scope, item)
                if late and patches:
                    raise Unsupported(f"{item.location}: C writes one size of a structure at once")
                if late:
                    patches[item.derive.first] = (item, late)
            else:
                self._field(scope, item)
            if item.id in patches:
                self._patch(scope, *patches.pop(item.id))
        for place in reversed(places):
            computed = f"ks_{place.function}(out->bytes + {begin} + {place.start}, "
            computed += f"out->used - {begin} - {place.start})"
            kind = place.field.type
            assert isinstance(kind, IntegerType)
            at = f"out->bytes + {begin} + {place.position}"
            out.line(f"{store_of(kind)}({at}, {kind.size}, (int64_t){computed});")

    def _field(self, scope: Scope, item: Field) -> None:
        out = self.out
        if isinstance(item.type, SwitchType):
            self._choice(scope, item, item.type)
        elif item.repeat is not None:
            self._array(scope, item)
        elif item.condition is not None:
            self._conditional(scope, item)
        elif isinstance(item.type, FloatType):
            self._float(scope, item, item.type)
        elif is_integer(self.model, item):
            self._scalar(scope, item, self._number(scope, item))
        elif is_bytes(self.model, item):
            self._bytes(scope, item)
        elif isinstance(item.type, TypeReference):
            self._structure(scope, item, item.type)
        else:
            raise Unsupported(f"{item.location}: C writes no such field")
        out.line()

    def _number(self, scope: Scope, item: Field) -> str:
        """Put the number of a cell, or a constant, into a variable, and check it."""
        name = f"v_{c_name(scope.prefix + item.id)}"
        scope.names[item.id] = name
        if item.constant is not None:
            self.out.line(f"const int64_t {name} = {item.constant};")
            return name
        found = self._found(scope, item)
        self.out.line(f"const int64_t {name} = {self._cell(*found)};")
        if is_large(item) and (item.valid or item.id in self.tables.used):
            # C would compare it as a number with a sign.
            self.out.when(f"{name} < 0", "return KS_IRREGULAR;")
        for condition in self._conditions(scope, item, name):
            self.out.when(f"KS_UNLIKELY(!({condition}))", self._misfit(*found))
        return name

    def _conditions(self, scope: Scope, item: Field, name: str) -> list[str]:
        bounds = value_range(self.model, item)
        made = []
        if bounds is not None and bounds[1] - bounds[0] < (1 << 64) - 1:
            made.append(f"{name} >= INT64_C({bounds[0]}) && {name} <= INT64_C({bounds[1]})")
        if not any("_io" in names(part) for part in valid_parts(item.valid)):
            made += checks(self.translator(scope, name), item)
        return made

    def _scalar(self, scope: Scope, item: Field, value: str) -> None:
        scalar = scalar_of(self.model, item)
        if scalar is not None:
            code = f"ks_code_{scalar}({value})"
            self.out.when(f"!ks_put_groups(out, {code})", "return KS_MEMORY;")
        else:
            assert isinstance(item.type, IntegerType)
            self._put(item.type, value)

    def _put(self, kind: IntegerType | FloatType, value: str) -> None:
        little = int(kind.little)
        self.out.when(f"!ks_put(out, {kind.size}, {value}, {little})", "return KS_MEMORY;")

    def _float(self, scope: Scope, item: Field, kind: FloatType) -> None:
        column, table = self._found(scope, item)
        value = self._cell(column, table)
        if kind.size == 4:
            name = f"v_{c_name(scope.prefix + item.id)}"
            self.out.line(f"int64_t {name};")
            self.out.when(f"!ks_narrowed({value}, &{name})", self._misfit(column, table))
            value = name
        self._put(kind, value)

    def _bits(self, bits: list[tuple[str, int]]) -> None:
        text, size = "0", sum(width for _, width in bits) // 8
        for value, width in bits:
            text = f"({text}) << {width} | {value}" if text != "0" else value
        self.out.when(f"!ks_put(out, {size}, {text}, 0)", "return KS_MEMORY;")

    def _bytes(self, scope: Scope, item: Field, condition: str = "") -> None:
        column, table = self._found(scope, item)
        name = c_name(scope.prefix + item.id)
        out = self.out
        out.line(f"const int64_t n_{name} = {self._cell(column, table, 1)};")
        tests = [f"!ks_inside({self._cell(column, table)}, n_{name}, heap_size)"]
        if not column.nullable:
            tests.append(f"n_{name} < 0")
        if condition:
            tests.append(f"(n_{name} >= 0) != !!{condition}")
        kind = item.type
        if isinstance(kind, TypeReference):
            inner = self.model.type(kind)
            length = inner.fields[0]
            assert length.derive is not None
            out.line(f"const int64_t l_{name} = n_{name} + {length.derive.plus};")
            within = Scope(inner, f"{scope.prefix}{item.id}.")
            within.names[length.id] = f"l_{name}"
            tests += [f"!({c})" for c in self._conditions(within, length, f"l_{name}")]
        elif isinstance(kind, BytesType) and kind.size is not None:
            derived = any(f.derive and f.derive.first == item.id for f in scope.type.fields)
            if literal(kind.size) is not None:
                tests.append(f"n_{name} >= 0 && n_{name} != {literal(kind.size)}")
            elif not derived:
                tests.append(f"n_{name} != {self.translator(scope).text(kind.size)}")
        for test in tests:
            out.when(f"KS_UNLIKELY({test})", self._misfit(column, table))
        if isinstance(kind, TypeReference):
            self._scalar(scope, self.model.type(kind).fields[0], f"l_{name}")
        put = f"!ks_put_bytes(out, heap + {self._cell(column, table)}, n_{name})"
        out.when(f"n_{name} > 0 && {put}", "return KS_MEMORY;")

    def _conditional(self, scope: Scope, item: Field) -> None:
        assert item.condition is not None
        out, plain = self.out, replace(item, condition=None)
        column, table = self._found(scope, item)
        if self.tables.is_apart(item):
            mark = null_mark(scope.type, item)
            test = f"{self._cell(column, table)} >= 0"
            if mark is None:
                wanted = self.translator(scope).text(item.condition)
                out.when(f"({test}) != !!{wanted}", self._misfit(column, table))
            with out.block(f"if ({test}) {{", "}"):
                self._item(scope, plain, column, table)
            return
        condition = self.translator(scope).text(item.condition)
        if isinstance(item.type, BytesType):
            self._bytes(scope, plain, condition)
            return
        if is_bytes(self.model, item):
            there = f"{self._cell(column, table, 1)} >= 0"
            out.when(f"{there} && !{condition}", self._misfit(column, table))
            with out.block(f"if ({bare(condition)}) {{", "}"):
                self._bytes(scope, plain)
            return
        out.when(f"{self._cell(column, table, 1)} != !!{condition}", self._misfit(column, table))
        with out.block(f"if ({bare(condition)}) {{", "}"):
            self._field(scope, plain)

    # -- structures and arrays --------------------------------------------------------------

    def _structure(
        self, scope: Scope, item: Field, reference: TypeReference, prefix: str | None = None
    ) -> None:
        inner = self.model.type(reference)
        if prefix is None:
            transparent = scope.type.is_frame
            prefix = scope.prefix if transparent else f"{scope.prefix}{item.id}."
        start = f"start_{self._count}"
        self._count += 1
        size = reference.size
        foreign = size is not None and not any(
            f.derive and f.derive.first == item.id for f in scope.type.fields
        )
        if foreign:
            self.out.line(f"const int64_t {start} = out->used;")
        below = Scope(inner, prefix, self.arguments(scope, inner, reference))
        self._write(below)
        if foreign and size is not None:
            wanted = self.translator(scope).text(size)
            number = prefix[1:].partition(".")[0]
            self.out.when(
                f"out->used - {start} != {wanted}",
                f"return ks_misfit(place, {number}, row{number}, 0);",
            )
        for path, text in below.names.items():
            scope.names.setdefault(f"{item.id}.{path}", text)

    def _array(self, scope: Scope, item: Field) -> None:
        column, table = self._found(scope, item)
        child = self.tables.child(column).number
        count = self._cell(column, table)
        assert item.repeat is not None
        if not column.nullable:
            self.out.when(f"{count} < 0", self._misfit(column, table))
        if item.repeat.count is not None and not any(
            f.derive and f.derive.first == item.id for f in scope.type.fields
        ):
            wanted = self.translator(scope).text(item.repeat.count)
            self.out.when(f"{count} != {wanted}", self._misfit(column, table))
        if item.ascending is not None:
            self.out.line(f"int64_t last{child} = 0;")
        with self.out.block(f"for (int64_t i{child} = 0; i{child} < {count}; i{child}++) {{", "}"):
            alone = replace(item, repeat=None, condition=None)
            found = self._item(scope, alone, column, table)
            if item.ascending is not None:
                by = found[item.ascending]
                self.out.when(f"i{child} && {by} <= last{child}", self._misfit(column, table))
                self.out.line(f"last{child} = {by};")

    def _item(self, scope: Scope, item: Field, column: Column, table: Table) -> dict[str, str]:
        child = self.tables.child(column)
        self._row(child, f"row{table.number}")
        inside = replace(scope, prefix=child.prefix, names=dict(scope.names))
        alone = replace(item, id=VALUE)
        if isinstance(item.type, TypeReference) and self.model.type(item.type).scalar is None:
            self._structure(inside, alone, item.type, child.prefix)
        else:
            self._field(replace(inside, type=replace(scope.type, fields=(alone,))), alone)
        start = f"{VALUE}."
        return {k.removeprefix(start): v for k, v in inside.names.items() if k.startswith(start)}

    def _choice(self, scope: Scope, item: Field, kind: SwitchType) -> None:
        column, table = self._found(scope, item)
        out = self.out
        explicit = [case for case, _ in kind.cases if case is not None]
        # What is read ahead is a field of the chosen structure, which may have one value only.
        peeked = {peek.id for peek in scope.type.peek_instances}
        on = "" if names(kind.on) & peeked else self.translator(scope).text(kind.on)
        with out.block(f"switch ({self._cell(column, table)}) {{", "}"):
            for number, type_ in enumerate(column.kinds):
                cases = [case for case, ref in kind.cases if self.model.type(ref) is type_]
                own = [f"{on} == {case}" for case in cases if case is not None]
                others = [f"{on} != {case}" for case in explicit if case not in cases]
                agrees = " && ".join(others) if None in cases else " || ".join(own)
                reference = next(ref for _, ref in kind.cases if self.model.type(ref) is type_)
                with out.block(f"case {number}: {{", "}"):
                    if on and agrees:
                        out.when(f"!({agrees})", self._misfit(column, table))
                    child = self.tables.child(column, number)
                    self._row(child, f"row{table.number}")
                    given = self.arguments(scope, type_, reference)
                    below = Scope(type_, child.prefix, given)
                    self._write(below)
                    if not on:
                        looked = below.names.get(next(iter(names(kind.on))))
                        own = [f"{looked} == {case}" for case in cases if case is not None]
                        others = [f"{looked} != {case}" for case in explicit if case not in cases]
                        agrees = " && ".join(others) if None in cases else " || ".join(own)
                        if looked is not None and agrees:
                            out.when(f"!({agrees})", self._misfit(column, table))
                    out.line("break;")
            out.lines("default:", f"    {self._misfit(column, table)}")

    # -- what is computed -------------------------------------------------------------------

    def _derived(self, scope: Scope, item: Field) -> str:
        """Write a computed field, or room for it; return its name if it is known later."""
        out, derive = self.out, item.derive
        assert derive is not None
        name = f"v_{c_name(scope.prefix + item.id)}"
        scope.names[item.id] = name
        if derive.function.is_checksum:
            assert isinstance(item.type, IntegerType)
            self._put(item.type, "0")
            return ""
        target = scope.type.field_by_id[derive.first]
        if derive.function is DeriveFunction.LEN and not is_bytes(self.model, target):
            late = c_name(scope.prefix + item.id)
            out.line(f"const int64_t at_{late} = out->used;")
            if isinstance(item.type, IntegerType):
                self._put(item.type, "0")
            return late
        column, table = self._found(scope, target)
        more = int(derive.function is DeriveFunction.LEN)
        value = self._cell(column, table, more)
        if derive.function is DeriveFunction.PRESENT:
            value = f"{value} >= 0 ? 1 : {null_mark(scope.type, target)}"
        elif derive.plus:
            value = f"{value} + {derive.plus}"
        out.line(f"const int64_t {name} = {value};")
        for condition in self._conditions(scope, item, name):
            out.when(f"KS_UNLIKELY(!({condition}))", self._misfit(column, table))
        self._scalar(scope, item, name)
        return ""

    def _patch(self, scope: Scope, item: Field, late: str) -> None:
        """Write the size of what was written since."""
        out, derive = self.out, item.derive
        assert derive is not None
        name, number = scope.names[item.id], scope.prefix[1:].partition(".")[0]
        out.line(f"const int64_t {name} = out->used - from_{late} + {derive.plus};")
        for condition in self._conditions(scope, item, name):
            misfit = f"return ks_misfit(place, {number}, row{number}, 0);"
            out.when(f"KS_UNLIKELY(!({condition}))", misfit)
        if isinstance(item.type, IntegerType):
            at = f"out->bytes + at_{late}"
            out.line(f"{store_of(item.type)}({at}, {item.type.size}, {name});")
            return
        code = f"ks_code_{scalar_of(self.model, item)}({name})"
        out.when(f"!ks_put_before(out, at_{late}, {code})", "return KS_MEMORY;")
