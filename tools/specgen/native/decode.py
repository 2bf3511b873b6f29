"""Emit the C that turns the records of a batch into columns in one pass over the bytes."""

from __future__ import annotations

from tools.specgen.expression import names
from tools.specgen.facts.columns import (
    BYTES,
    INTEGER,
    LIST,
    NULLABLE_BYTES,
    Column,
    bytes_kind,
    c_name,
    record_columns,
)
from tools.specgen.facts.fields import is_bytes
from tools.specgen.facts.segments import Batch, Segment, members, resolved
from tools.specgen.facts.sizes import minimum_size
from tools.specgen.model import Field, Model, Scalar, Type, TypeReference
from tools.specgen.native.expressions import Unsupported
from tools.specgen.native.headers import structure_name
from tools.specgen.native.walk import Scope, Walk
from tools.specgen.writer import CodeWriter, CWriter

LAYOUTS = ("VIEW", "BINARY", "SPAN")
"""Layouts of byte columns, as ``abi.h`` names them."""
LONGEST = 10
"""Most bytes of a varint."""
INLINE = 16
"""Bytes that are read at once to put a short byte string into a view."""
PREFETCH = 4096
"""Bytes between the record that is read and what is fetched ahead."""


class Numbers:
    """The place of each column among those of its kind, record columns first."""

    def __init__(self, segment: Segment) -> None:
        self.records = record_columns(segment)
        self.batches = batch_columns(segment)
        self._numbers: dict[str, int] = {}
        for kinds in ((INTEGER,), (LIST,), (BYTES, NULLABLE_BYTES)):
            chosen = [c for c in (*self.records, *self.batches) if c.kind in kinds]
            self._numbers |= {column.path: number for number, column in enumerate(chosen)}

    def __getitem__(self, path: str) -> int:
        return self._numbers[path]


def batch_columns(segment: Segment) -> tuple[Column, ...]:
    """Return the columns that repeat the header of a record's batch."""
    paths = dict.fromkeys(["position", "size"])
    for type_ in (segment.entry, *segment.kinds):
        paths |= dict.fromkeys(
            member.path
            for member in members(segment.model, type_)
            if not member.path.endswith((".position", ".size"))
        )
    return tuple(Column(f"batch.{path}", INTEGER) for path in paths)


class RecordDecoder(Walk):
    """Writer of ``decode_<record set>``: the loop over records, with columns in local variables."""

    fail = "goto irregular;"
    full = "goto grow;"

    def __init__(self, segment: Segment, batch: Batch, numbers: Numbers, out: CodeWriter) -> None:
        super().__init__(segment.model, out)
        self.segment, self.batch, self.numbers = segment, batch, numbers
        self._row = ""
        self._list = ""
        self._have: set[str] = set()
        self._stored: set[str] = set()
        self._raw = {c.path for c in self.numbers.records if c.kind == INTEGER}
        self._resolved: set[str] = set()

    def emit(self) -> None:
        """Write the whole function."""
        out, name = self.out, self.batch.record_set.name
        self._near = NearDecoder.of(self.segment, self.batch, self.numbers, out)
        out.line(f"KS_INLINE int decode_{name}(const {structure_name(self.batch.type)} *header,")
        with out.block(
            "        const ks_buffer *buffer, int64_t start, int64_t size, int32_t number,\n"
            "        ks_out *out, const int layout, const int extra, const int strings,\n"
            "        int64_t *position)\n{",
            "}",
        ):
            # Nothing points to this copy, so stores into columns cannot change it.
            out.line(f"const {structure_name(self.batch.type)} copy = *header, *const h = &copy;")
            out.line("const uint8_t *const base = buffer->bytes;")
            out.line("const uint8_t *const limit = base + buffer->size;")
            out.line("const uint8_t *p = base + start;")
            out.line("const uint8_t *const end = p + size;")
            out.line("const int64_t first = out->rows;")
            out.line("int64_t row = first;")
            self.read(self._scope())
            self._absent()
            self._commit()
            out.line("return KS_OK;")
            out.lines("irregular:", "out->rows = row;")
            out.line("*position = (p ? p : base + start) - base;")
            out.line("return KS_IRREGULAR;")
            out.lines("grow:", "return KS_GROW;")
        out.line()

    def _scope(self) -> Scope:
        """Return the record set as it begins: the header of the batch is known."""
        scope, parameter = Scope(self.batch.record_set), self.batch.parameter.id
        for member in members(self.model, self.batch.type):
            scope.names[f"{parameter}.{member.path}"] = f"h->{member.identifier}"
        return scope

    def resolved(self, text: str) -> str:
        self._resolved.add(text)
        return text

    def used(self) -> int:
        """Return a bit for each member of the header that the function reads."""
        return sum(
            1 << number
            for number, member in enumerate(members(self.model, self.batch.type))
            if f"h->{member.identifier}" in self._resolved
        )

    def _locals(self) -> None:
        reference = self.batch.items.type
        assert isinstance(reference, TypeReference)
        lists = {None, *resolved(self.model, reference).field_by_id}
        for column in self.numbers.records:
            name, number = c_name(column.path), self.numbers[column.path]
            if column.kind == INTEGER and not (column.list_path in lists and self.has(column)):
                continue  # records of this kind do not have it, or their list
            if column.kind == INTEGER:
                self.out.line(f"int64_t *const c_{name} = out->integers[{number}];")
            elif column.kind == LIST:
                self.out.line(f"ks_list_out c_{name} = out->lists[{number}];")
            else:
                self.out.line(f"ks_bytes_out c_{name} = out->bytes[{number}];")

    def has(self, column: Column) -> bool:
        """Return whether a local variable for a column of integers is used."""
        return True

    def _commit(self) -> None:
        for column in self.numbers.records:
            name, number = c_name(column.path), self.numbers[column.path]
            if column.kind == LIST:
                self.out.line(f"out->lists[{number}] = c_{name};")
            elif column.kind != INTEGER:
                self.out.line(f"out->bytes[{number}] = c_{name};")
        self.out.line("out->rows = row;")

    def _absent(self) -> None:
        """Fill the columns of other versions with -1, null or no items."""
        for column in self.numbers.records:
            if column.path in self._have or column.list_path:
                continue
            name = c_name(column.path)
            head = "for (int64_t i = first; i < row; i++)"
            wanted = f"c_{name}" if column.kind == INTEGER else f"c_{name}.wanted"
            with self.out.block(f"if ({wanted})"), self.out.block(head):
                if column.kind == INTEGER:
                    self.out.line(f"c_{name}[i] = -1;")
                elif column.kind == LIST:
                    self.out.line(f"c_{name}.offsets[i + 1] = (int32_t)c_{name}.used;")
                else:
                    self.out.line(f"ks_put(&c_{name}, layout, i, base, -1, number, base, limit);")

    def place(self, scope: Scope, path: str) -> str:
        local = f"v_{c_name(scope.prefix + path)}"
        self.out.line(f"int64_t {local};")
        scope.names[path] = local
        return local

    def on_bytes(self, scope: Scope, field: Field, start: str, size: str) -> None:
        path = scope.prefix + field.id
        self._have.add(path)
        column = f"c_{c_name(path)}"
        call = f"ks_put(&{column}, layout, {self._row}, {start}, {size}, number, base, limit)"
        if bytes_kind(self.model, field) == BYTES:
            high = f"{column}.high |= ks_high({start}, {size}, limit);"
            self.out.when(f"strings && {column}.wanted", high)
        self.put(start, f"strings && {column}.wanted && KS_UNLIKELY(!{call})")

    def put(self, start: str, test: str) -> None:
        """Write the test that puts a byte string into its column, and fails without room."""
        self.out.when(test, self.full)

    def on_read(self, scope: Scope, ids: tuple[str, ...]) -> None:
        if not self._row or scope.type.is_frame or scope.type.scalar:
            return
        for path, value in list(scope.names.items()):
            column = scope.prefix + path
            if path.split(".")[0] in ids and column in self._raw and column not in self._stored:
                self._stored.add(column)
                self._store(column, value, "extra && ")
        if scope.prefix:
            return
        translator = self.translator(scope)
        for instance in scope.type.value_instances:
            if instance.id in self._have or not self._known(scope, names(instance.value)):
                continue
            if instance.condition is not None:
                raise Unsupported(f"{instance.location}: a column may not have a condition")
            text = translator.text(instance.value)
            scope.names[instance.id] = text
            self._store(instance.id, text, "")

    def _known(self, scope: Scope, ids: frozenset[str]) -> bool:
        first = {path.split(".")[0] for path in scope.names}
        return ids <= first

    def _store(self, path: str, value: str, condition: str) -> None:
        self._have.add(path)
        column = f"c_{c_name(path)}"
        self.out.when(f"{condition}{column}", f"{column}[{self._row}] = {value};")

    def on_array(self, scope: Scope, field: Field) -> None:
        assert field.repeat is not None
        if field.repeat.count is None or not isinstance(field.type, TypeReference):
            raise Unsupported(f"{field.location}: C reads counted arrays of structures")
        count = self.translator(scope).text(field.repeat.count)
        least = minimum_size(self.model, self.model.type(field.type))
        if self._row:
            with self.out.block("{", "}"):
                self._items(scope, field, field.type, count, least)
        else:
            self._rows(scope, field, field.type, count, least)

    def _rows(
        self, scope: Scope, field: Field, reference: TypeReference, count: str, least: int
    ) -> None:
        out = self.out
        out.line(f"const int64_t rows = {count};")
        out.when(f"rows < 0 || rows > (end - p) / {least}", self.fail)
        out.when("rows > out->capacity - row", "goto grow;")
        out.line("const int64_t last = row + rows;")
        if self._near:
            with out.block("if (!extra) {", "}"):
                given = "h, buffer, p, end, number, out, last"
                with out.block("if (!strings)"):
                    out.line(f"p = {self._near}_integers({given});")
                for layout in LAYOUTS:
                    with out.block(f"else if (layout == KS_{layout})"):
                        out.line(f"p = {self._near}_{layout.lower()}({given});")
                out.line("row = out->rows;")
        self._locals()
        self._loop(scope, field, reference)

    def _loop(self, scope: Scope, field: Field, reference: TypeReference) -> None:
        self._row = "row"
        with self.out.block("for (; row < last; row++) {", "}"):
            self.out.line(f"KS_PREFETCH((uintptr_t)p + {PREFETCH});")
            self._item(scope, field, reference, "")
        self._row = ""

    def _items(
        self, scope: Scope, field: Field, reference: TypeReference, count: str, least: int
    ) -> None:
        if scope.prefix:
            raise Unsupported(f"{field.location}: columns have no lists of lists")
        out, column = self.out, f"c_{c_name(field.id)}"
        self._have.add(field.id)
        out.line(f"const int64_t items = {count};")
        most = f"items > ({scope.end} - p) / {least} || items > KS_MOST_ITEMS"
        out.when(f"items != 0 && KS_UNLIKELY(items < 0 || {most})", self.fail)
        room = f"items > {column}.capacity - {column}.used"
        out.when(f"strings && {column}.wanted && {room}", self.full)
        self._row = "item"
        # The loop over records keeps its registers: what is inside this one is said to be rare.
        with (
            out.block("if (KS_UNLIKELY(items != 0)) {", "}"),
            out.block(f"for (int64_t i = 0, item = {column}.used; i < items; i++, item++) {{", "}"),
        ):
            self._item(scope, field, reference, f"{field.id}.")
        self._row = "row"
        with out.block(f"if (strings && {column}.wanted) {{", "}"):
            out.line(f"{column}.used += items;")
            out.line(f"{column}.offsets[row + 1] = (int32_t){column}.used;")

    def _item(self, scope: Scope, field: Field, reference: TypeReference, prefix: str) -> None:
        inner = self.model.type(reference)
        names = self.arguments(scope, inner, reference)
        self.read(Scope(inner, prefix, names, scope.end))


class NearDecoder(RecordDecoder):
    """Writer of ``near_<record set>``: the loop over regular records, without most of the checks.

    A record ends where its size says, and nothing but a record that ends there is taken; so a
    number inside is read without a look at the end, as long as the buffer has some bytes after
    the record. The other loop handles all else, and a record at the end of the buffer.
    """

    fail = full = "goto otherwise;"

    def __init__(self, segment: Segment, batch: Batch, numbers: Numbers, out: CodeWriter) -> None:
        super().__init__(segment, batch, numbers, out)
        self._margin = 0
        self._late: list[tuple[str, str]] = []
        self._entered = False

    @classmethod
    def of(cls, segment: Segment, batch: Batch, numbers: Numbers, out: CodeWriter) -> str:
        """Write the function if records have a size; return its name, or nothing."""
        reference = batch.items.type
        assert isinstance(reference, TypeReference)
        frame = segment.model.type(reference)
        body = frame.fields[-1].type if frame.is_frame else None
        if not isinstance(body, TypeReference) or body.size is None:
            return ""
        decoder = cls(segment, batch, numbers, CWriter())
        decoder._loop(decoder._scope(), batch.items, reference)
        name = f"near_{batch.record_set.name}"
        rest = (
            f"(const {structure_name(batch.type)} *header,\n"
            "        const ks_buffer *buffer, const uint8_t *p, const uint8_t *end,\n"
            "        int32_t number, ks_out *out, int64_t last"
        )
        with out.block(
            f"KS_INLINE const uint8_t *{name}{rest}, const int layout, const int strings)\n{{", "}"
        ):
            out.line(f"const {structure_name(batch.type)} copy = *header, *const h = &copy;")
            decoder._frame(out)
        out.line()
        # Each in a function of its own, or the loops get in the way of each other's registers.
        for suffix, layout in (("integers", "VIEW"), *((text.lower(), text) for text in LAYOUTS)):
            with out.block(f"KS_SLOW const uint8_t *{name}_{suffix}{rest})\n{{", "}"):
                strings = int(suffix != "integers")
                given = f"header, buffer, p, end, number, out, last, KS_{layout}, {strings}"
                out.line(f"return {name}({given});")
            out.line()
        return name

    def _frame(self, out: CodeWriter) -> None:
        body, self.out = self.out.text(), out
        margin = self._margin + INLINE
        out.line("const uint8_t *const base = buffer->bytes, *const first = p;")
        out.line("const uint8_t *const limit = base + buffer->size;")
        out.when(f"limit - p < {margin}", "return p;")
        most = f"limit - {margin}"
        out.line(f"const uint8_t *const within = end < {most} ? end : {most};")
        out.line("const int extra = 0;")
        out.line("int64_t row = out->rows;")
        self._locals()
        out.lines(*body.rstrip("\n").split("\n"))
        self._commit()
        out.line("return p;")
        out.lines("otherwise:", "return first;")

    def _loop(self, scope: Scope, field: Field, reference: TypeReference) -> None:
        self._row = "row"
        with self.out.block("for (; row < last; row++) {", "}"):
            self.out.line("const uint8_t *const start = p;")
            self.out.line(f"KS_PREFETCH((uintptr_t)p + {PREFETCH});")
            self._item(scope, field, reference, "")
            for start, test in self._late:
                self._room(start)
                self.out.when(test, self.fail)
        self._row = ""

    def has(self, column: Column) -> bool:
        return column.path in self._have  # the others are filled where no record is looked at

    def read_scalar(self, scope: Scope, scalar: Scalar, target: str) -> None:
        self._margin += LONGEST
        self.out.line(f"p = ks_near_{scalar}(p, &{target});")
        self.out.when("KS_UNLIKELY(!p)", self.fail)

    def need(self, scope: Scope, size: int) -> None:
        self._margin += size
        if not size:  # all that is left, which has to be something
            self.out.when(f"KS_UNLIKELY(p > {scope.end})", self.fail)

    def enter(self, scope: Scope, size: str) -> None:
        if self._entered:
            super().enter(scope, size)
            return
        self._entered = True
        self.out.when(f"KS_UNLIKELY({size} < 0)", self.fail)
        with self.out.block(f"if (KS_UNLIKELY({size} > within - p)) {{", "}"):
            self.out.lines("p = start;", "break;")

    def leave(self, end: str) -> None:
        self.out.when(f"KS_UNLIKELY(p != {end})", self.fail)

    def put(self, start: str, test: str) -> None:
        if self._row == "row":
            self._late.append((start, test))  # registers are free then
        else:
            self._room(start)
            self.out.when(test, self.fail)

    def _room(self, start: str) -> None:
        """Say how many bytes can be read there."""
        self.out.line(f"KS_ASSUME(limit - {start} >= {INLINE});")

    def _item(self, scope: Scope, field: Field, reference: TypeReference, prefix: str) -> None:
        if prefix:  # or each item might begin a little after the end
            self.out.when(f"KS_UNLIKELY(p > {scope.end})", self.fail)
        super()._item(scope, field, reference, prefix)


def emit_message_columns(segment: Segment, kind: Type, numbers: Numbers, out: CodeWriter) -> None:
    """Write ``put_<message>``, which adds a message that is one record to the columns."""
    own = {member.path for member in members(segment.model, kind)}
    strings = {field.id for field in kind.fields if is_bytes(segment.model, field)}
    out.line(f"KS_INLINE int put_{kind.name}(const {structure_name(kind)} *h,")
    with out.block(
        "        const ks_buffer *buffer, int32_t number, ks_out *out, const int layout)\n{", "}"
    ):
        out.line("const uint8_t *const base = buffer->bytes;")
        out.line("const uint8_t *const limit = base + buffer->size;")
        out.line("const int64_t row = out->rows;")
        for column in record_columns(segment):
            if column.list_path is not None:
                continue
            number, name = numbers[column.path], c_name(column.path)
            if column.kind == INTEGER:
                value = f"h->{name}" if column.path in own else "-1"
                out.when(f"out->integers[{number}]", f"out->integers[{number}][row] = {value};")
            elif column.kind == LIST:
                used = f"(int32_t)out->lists[{number}].used"
                with out.block(f"if (out->lists[{number}].wanted)"):
                    out.line(f"out->lists[{number}].offsets[row + 1] = {used};")
            else:
                at = f"base + h->{name}_position" if column.path in strings else "base"
                size = f"h->{name}_size" if column.path in strings else "-1"
                call = f"ks_put(&out->bytes[{number}], layout, row, {at}, {size},"
                with out.block(
                    f"if (out->bytes[{number}].wanted &&\n            !{call}\n"
                    "                    number, base, limit))"
                ):
                    out.line("return KS_GROW;")
        out.line("out->rows++;")
        out.line("return KS_OK;")
    out.line()


def record_size(model: Model, batch: Batch) -> int:
    """Return the least number of bytes of a record of a batch."""
    return minimum_size(model, model.inner(batch.items))
