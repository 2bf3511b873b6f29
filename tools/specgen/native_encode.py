"""Emits the C that writes records from columns, and the headers in front of them."""

from __future__ import annotations

from collections.abc import Callable

from tools.specgen.emit_layout import type_layout
from tools.specgen.expression import Attribute, Binary, Expression, Name, Ternary, names
from tools.specgen.model import (
    BitsType,
    BytesType,
    DeriveFunction,
    Field,
    IntegerType,
    Model,
    Type,
    TypeReference,
)
from tools.specgen.native_decode import Numbers
from tools.specgen.native_expressions import CTranslator, checks
from tools.specgen.native_headers import structure_name
from tools.specgen.native_shapes import (
    INTEGER,
    Batch,
    Segment,
    c_name,
    is_bytes,
    is_integer,
    members,
    resolved,
    scalar_of,
)
from tools.specgen.native_walk import dotted
from tools.specgen.sizes import fixed_size
from tools.specgen.writer import CodeWriter

RANGE = "return KS_RANGE;"


def inverse(type_: Type, field: Field) -> tuple[str, Expression] | None:
    """The value instance ``base + field`` that the field follows from, and that base."""
    for instance in type_.value_instances:
        pending: list[Expression] = [instance.value]
        while pending:
            match pending.pop():
                case Ternary(_, then, otherwise):
                    pending += [otherwise, then]
                case Binary("+", base, other) if _is_field(other, field):
                    return instance.id, base
                case Binary("+", other, base) if _is_field(other, field):
                    return instance.id, base
    return None


def _is_field(expression: Expression, field: Field) -> bool:
    return expression in (Name(field.id), Attribute(Name(field.id), "value"))


class FieldWriter:
    """Writes structures whose values are in C variables ``v_<path>``, ``b_<path>``, ``n_<path>``.

    ``source`` declares the variable of a number that nothing derives.
    """

    def __init__(
        self, model: Model, out: CodeWriter, source: Callable[[Type, Field, str], str]
    ) -> None:
        self.model, self.out, self.source = model, out, source

    def gather(self, type_: Type, prefix: str, row: str, resolve: Callable[[str], str]) -> None:
        """Variables for all fields but arrays, checked, and ``size`` raised by their bytes."""
        for field in type_.fields:
            name = c_name(prefix + field.id)
            if field.is_guard or field.repeat is not None:
                continue
            if is_bytes(self.model, field):
                self._gather_bytes(field, prefix, row)
            elif is_integer(self.model, field):
                if field.derive is None:
                    self.out.line(f"const int64_t v_{name} = {self.source(type_, field, prefix)};")
                    self._check(type_, field, f"v_{name}", resolve)
                    self._add(field, f"v_{name}", resolve, type_)
            else:
                raise ValueError(f"{field.location}: C cannot write it from columns")
        for field in type_.fields:
            derive = field.derive
            if derive is None or derive.function not in (DeriveFunction.LEN, DeriveFunction.COUNT):
                continue
            plus = f" + {derive.plus}" if derive.plus else ""
            name, value = c_name(prefix + field.id), f"n_{c_name(prefix + derive.first)}{plus}"
            self.out.line(f"const int64_t v_{name} = {value};")
            self._range(field, f"v_{name}")
            self._add(field, f"v_{name}", resolve, type_)

    def _gather_bytes(self, field: Field, prefix: str, row: str) -> None:
        path = prefix + field.id
        name = c_name(path)
        call = f"ks_get(&in->bytes[{self.number(path)}], {row}, &n_{name})"
        self.out.line(f"int64_t n_{name};")
        self.out.line(f"const uint8_t *const b_{name} = {call};")
        self.out.line(f"(void)b_{name};")
        scalar = scalar_of(self.model, field)
        if scalar != "nullable_bytes" and field.condition is None:
            with self.out.block(f"if (!b_{name})"):
                self.out.line(RANGE)
        if isinstance(field.type, TypeReference):
            length = self.model.type(field.type).fields[0]
            assert length.derive is not None
            self.out.line(f"const int64_t l_{name} = n_{name} + {length.derive.plus};")
            self._range(length, f"l_{name}")
            self._add(length, f"l_{name}", None, None)
        self.out.line(f"size += n_{name} > 0 ? n_{name} : 0;")

    def number(self, path: str) -> int:
        """The place of a byte column; set by the owner."""
        raise NotImplementedError

    def _add(
        self,
        field: Field,
        value: str,
        resolve: Callable[[str], str] | None,
        type_: Type | None,
    ) -> None:
        scalar = scalar_of(self.model, field)
        if scalar is not None:
            text = f"ks_groups_size(ks_code_{scalar}({value}))"
        else:
            assert isinstance(field.type, IntegerType)
            text = str(field.type.size)
        if field.condition is not None and resolve and type_:
            condition = CTranslator(self.model, type_, resolve).text(field.condition)
            text = f"{condition} ? {text} : 0"
        self.out.line(f"size += {text};")

    def _range(self, field: Field, value: str) -> None:
        scalar = scalar_of(self.model, field)
        if scalar is not None:
            test = f"!ks_fits_{scalar}({value})"
        elif isinstance(field.type, IntegerType) and field.type.size < 8:
            low, high = field.type.minimum, field.type.maximum
            test = f"{value} < INT64_C({low}) || {value} > INT64_C({high})"
        else:
            return
        with self.out.block(f"if (KS_UNLIKELY({test}))"):
            self.out.line(RANGE)

    def _check(
        self, type_: Type, field: Field, value: str, resolve: Callable[[str], str]
    ) -> None:
        self._range(field, value)
        if field.valid and field.valid.expression and "_io" in names(field.valid.expression):
            return
        for condition in checks(CTranslator(self.model, type_, resolve, value), field.valid):
            with self.out.block(f"if (KS_UNLIKELY(!({condition})))"):
                self.out.line(RANGE)

    def write(
        self,
        type_: Type,
        prefix: str,
        resolve: Callable[[str], str],
        array: Callable[[Field], None] | None = None,
    ) -> None:
        """The bytes of all fields at ``p``."""
        for field in type_.fields:
            if field.is_guard:
                continue
            if field.repeat is not None:
                assert array is not None
                array(field)
                continue
            name = c_name(prefix + field.id)
            if is_bytes(self.model, field):
                if isinstance(field.type, TypeReference):
                    self._put(self.model.type(field.type).fields[0], f"l_{name}")
                with self.out.block(f"if (n_{name} > 0) {{", "}"):
                    self.out.line(f"memcpy(p, b_{name}, (size_t)n_{name});")
                    self.out.line(f"p += n_{name};")
            elif field.condition is not None:
                condition = CTranslator(self.model, type_, resolve).text(field.condition)
                with self.out.block(f"if ({condition}) {{", "}"):
                    self._put(field, f"v_{name}")
            else:
                self._put(field, f"v_{name}")

    def _put(self, field: Field, value: str) -> None:
        scalar = scalar_of(self.model, field)
        if scalar is not None:
            self.out.line(f"p = ks_write_groups(p, ks_code_{scalar}({value}));")
        else:
            assert isinstance(field.type, IntegerType)
            self.out.line(f"ks_store(p, {field.type.size}, {value});")
            self.out.line(f"p += {field.type.size};")


class RecordEncoder(FieldWriter):
    """``encode_<record set>``: records from columns, the size of each first."""

    def __init__(self, segment: Segment, batch: Batch, numbers: Numbers, out: CodeWriter) -> None:
        super().__init__(segment.model, out, self._source)
        self.segment, self.batch, self.numbers = segment, batch, numbers
        reference = batch.items.type
        assert isinstance(reference, TypeReference)
        self.frame = self.model.type(reference)
        self.record = resolved(self.model, reference)

    def number(self, path: str) -> int:
        """The place of a byte column."""
        return self.numbers[path]

    def _resolve(self, path: str) -> str:
        parameter = f"{self.record.parameters[0].id}." if self.record.parameters else "."
        if path.startswith(parameter):
            return f"h->{c_name(path.removeprefix(parameter))}"
        return f"v_{c_name(path)}"

    def _source(self, type_: Type, field: Field, prefix: str) -> str:
        """A column of the field, else the column that it can be computed from, else its default."""
        default = field.default.value if field.default else field.constant
        text = str(default) if isinstance(default, int) else "0"
        row = "item" if prefix else "row"
        found = inverse(type_, field)
        if found is not None:
            instance, base = found
            number = self.numbers[instance]
            translator = CTranslator(self.model, type_, self._resolve)
            value = f"ks_sub(in->integers[{number}][{row}], {translator.text(base)})"
            text = f"in->integers[{number}] ? {value} : {text}"
        number = self.numbers[prefix + field.id]
        return f"in->integers[{number}] ? in->integers[{number}][{row}] : {text}"

    def emit(self) -> None:
        """The whole function."""
        out = self.out
        name = self.batch.record_set.name
        out.line(f"static int encode_{name}(const int64_t *header, const ks_in *in, int64_t first,")
        with out.block(
            "        int64_t rows, uint8_t *out, int64_t capacity, int64_t *used)\n{", "}"
        ):
            out.line(f"{structure_name(self.batch.type)} kept, *const h = &kept;")
            out.line("memcpy(h, header, sizeof kept - sizeof kept.present);")
            out.line("uint8_t *p = out;")
            out.line("const uint8_t *const end = out + capacity;")
            with out.block("for (int64_t row = first; row < first + rows; row++) {", "}"):
                self._row()
            out.line("*used = p - out;")
            out.line("return KS_OK;")
        out.line()

    def _row(self) -> None:
        out = self.out
        arrays = [f for f in self.record.fields if f.repeat is not None]
        out.line("int64_t size = 0;")
        for field in arrays:
            name = c_name(field.id)
            number = self.numbers[field.id]
            out.line(f"const int32_t *const o_{name} = in->lists[{number}].offsets;")
            out.line(f"const int64_t n_{name} = o_{name} ? o_{name}[row + 1] - o_{name}[row] : 0;")
            with out.block(f"if (n_{name} < 0)"):
                out.line(RANGE)
        self.gather(self.record, "", "row", self._resolve)
        for field in arrays:
            with self._loop(field):
                self.gather(self._item(field), f"{field.id}.", "item", self._resolve)
        if self.frame.is_frame:
            self._frame()
        with out.block("if (end - p < size)"):
            out.lines("return KS_GROW;")
        if self.frame.is_frame:
            self._put(self.frame.fields[0], "l_frame")
        self.write(self.record, "", self._resolve, self._write_items)

    def _frame(self) -> None:
        length = self.frame.fields[0]
        assert length.derive is not None
        self.out.line(f"const int64_t l_frame = size + {length.derive.plus};")
        self._range(length, "l_frame")
        self._add(length, "l_frame", None, None)

    def _item(self, field: Field) -> Type:
        assert isinstance(field.type, TypeReference)
        return self.model.type(field.type)

    def _loop(self, field: Field):  # type: ignore[no-untyped-def]
        name = c_name(field.id)
        first = f"int64_t item = n_{name} ? o_{name}[row] : 0, stop = item + n_{name}"
        return self.out.block(f"for ({first}; item < stop; item++) {{", "}")

    def _write_items(self, field: Field) -> None:
        with self._loop(field):
            inner = self._item(field)
            quiet = CodeWriter()
            again = RecordEncoder(self.segment, self.batch, self.numbers, quiet)
            again.gather(inner, f"{field.id}.", "item", self._resolve)
            lines = quiet.text().split("\n")
            # Sizes and ranges were settled in the first pass.
            self.out.lines(*[line for line in lines if line.startswith(("int64_t", "const"))])
            self.write(inner, f"{field.id}.", self._resolve)


class MessageEncoder(FieldWriter):
    """``encode_<message>``: each row as an entry of its own, checksum included."""

    def __init__(self, segment: Segment, kind: Type, numbers: Numbers, out: CodeWriter) -> None:
        super().__init__(segment.model, out, self._source)
        self.segment, self.kind, self.numbers = segment, kind, numbers
        self._columns = {c.path for c in numbers.records if c.kind == INTEGER}
        self._strings = {c.path for c in numbers.records if c.kind.endswith("BYTES")}

    def number(self, path: str) -> int:
        """The place of a byte column."""
        return self.numbers[path]

    def _source(self, type_: Type, field: Field, prefix: str) -> str:
        text = f"h->{c_name(prefix + field.id)}"
        if prefix + field.id in self._columns:
            number = self.numbers[prefix + field.id]
            text = f"in->integers[{number}] ? in->integers[{number}][row] : {text}"
        return text

    def _resolve(self, path: str) -> str:
        return f"v_{c_name(path)}"

    def emit(self) -> None:
        """The whole function."""
        out, kind, entry = self.out, self.kind, self.segment.entry
        out.line(f"static int encode_{kind.name}(const int64_t *header, const ks_in *in,")
        with out.block(
            "        int64_t first, int64_t rows, uint8_t *out, int64_t capacity, int64_t *used)\n{",
            "}",
        ):
            out.line(f"{structure_name(kind)} kept, *const h = &kept;")
            out.line("memcpy(h, header, sizeof kept - sizeof kept.present);")
            out.line("uint8_t *p = out;")
            out.line("const uint8_t *const end = out + capacity;")
            with out.block("for (int64_t row = first; row < first + rows; row++) {", "}"):
                out.line("int64_t size = 0;")
                plain = self._plain(kind)
                self.gather(plain, "", "row", self._resolve)
                prefix_size = self._structures(kind)
                out.line(f"size += {prefix_size};")
                before = sum(fixed_size(self.model, f) or 0 for f in entry.fields if f != self.body)
                with out.block(f"if (end - p < size + {before})"):
                    out.line("return KS_GROW;")
                emit_frame(self.segment, kind, out, self.numbers, self._columns)
                out.line("uint8_t *const body = p;")
                self._write_all(kind)
                _emit_checksum(self.model, kind, "p - body", out)
            out.line("*used = p - out;")
            out.line("return KS_OK;")
        out.line()

    @property
    def body(self) -> Field:
        """The field of the entry that holds the message."""
        return self.segment.body

    def _plain(self, kind: Type) -> Type:
        fields = tuple(
            field
            for field in kind.fields
            if not self._is_structure(field)
            and not self._is_checksum(field)
            and (not is_bytes(self.model, field) or field.id in self._strings)
        )
        return Type(
            kind.name, kind.spec_id, kind.location, fields, value_instances=kind.value_instances
        )

    def _is_structure(self, field: Field) -> bool:
        return isinstance(field.type, TypeReference) and scalar_of(self.model, field) is None

    def _is_checksum(self, field: Field) -> bool:
        return field.derive is not None and field.derive.function in ("crc32", "crc32c")

    def _structures(self, kind: Type) -> int:
        return sum(
            fixed_size(self.model, f) or 0
            for f in kind.fields
            if self._is_structure(f) or self._is_checksum(f)
        )

    def _write_all(self, kind: Type) -> None:
        plain = self._plain(kind).field_by_id
        for field in kind.fields:
            if self._is_structure(field):
                assert isinstance(field.type, TypeReference)
                emit_bits(self.model, self.model.type(field.type), f"{field.id}.", self.out)
            elif self._is_checksum(field):
                assert isinstance(field.type, IntegerType)
                self.out.line(f"p += {field.type.size};")
            elif field.id in plain:
                one = Type(kind.name, kind.spec_id, kind.location, (field,))
                self.write(one, "", self._resolve)


def emit_bits(model: Model, type_: Type, prefix: str, out: CodeWriter) -> None:
    """A structure of bits and integers, from members of ``h``."""
    bits, parts = 0, []
    for field in type_.fields:
        value = f"h->{c_name(prefix + field.id)}"
        assert isinstance(field.type, BitsType | IntegerType)
        width = field.type.width if isinstance(field.type, BitsType) else 8 * field.type.size
        with out.block(f"if ({value} < 0 || {value} > INT64_C({(1 << width) - 1}))"):
            out.line(RANGE)
        parts.append((value, width))
        bits += width
    text = "0"
    for value, width in parts:
        text = f"(({text}) << {width} | {value})"
    out.line(f"ks_store(p, {bits // 8}, {text});")
    out.line(f"p += {bits // 8};")


def emit_frame(
    segment: Segment, kind: Type, out: CodeWriter, numbers: Numbers | None, columns: set[str]
) -> None:
    """The fields of the entry in front of its body, whose bytes ``size`` counts."""
    source = _frame_sources(segment, kind)
    for field in segment.entry.fields:
        if field == segment.body:
            break
        assert isinstance(field.type, IntegerType)
        if field.derive is not None:
            value = f"size + {field.derive.plus}" if field.derive.plus else "size"
        else:
            value = source[field.id]
            path = value.removeprefix("h->")
            if numbers is not None and path in columns:
                number = numbers[path]
                value = f"in->integers[{number}] ? in->integers[{number}][row] : {value}"
        out.line(f"const int64_t f_{field.id} = {value};")
        tests = [
            f"f_{field.id} >= INT64_C({field.type.minimum + (field.type.size == 8)})"
            f" && f_{field.id} <= INT64_C({field.type.maximum})"
        ]
        if field.type.size == 8:
            tests = []
        tests += checks(CTranslator(segment.model, segment.entry, str, f"f_{field.id}"), field.valid)
        for test in tests:
            with out.block(f"if (!({test}))"):
                out.line(RANGE)
        out.line(f"ks_store(p, {field.type.size}, f_{field.id});")
        out.line(f"p += {field.type.size};")


def _frame_sources(segment: Segment, kind: Type) -> dict[str, str]:
    """The parameter of the kind that each field of the entry is handed to."""
    body = segment.body.type
    assert isinstance(body, TypeReference)
    reference = next(ref for _, ref in segment.switch.cases if segment.model.type(ref) == kind)
    outer = dict(
        zip([p.id for p in segment.choice.parameters], body.arguments, strict=True)
    )
    found = {}
    for parameter, argument in zip(kind.parameters, reference.arguments, strict=True):
        for path in dotted(argument):
            for name in dotted(outer[path]):
                found[name] = f"h->{c_name(parameter.id)}"
    return found


def _emit_checksum(model: Model, kind: Type, size: str, out: CodeWriter) -> None:
    found = type_layout(model, kind).checksum
    if found is None:
        return
    field = kind.field_by_id[found.field]
    assert isinstance(field.type, IntegerType)
    computed = f"ks_{found.algorithm}(body + {found.start}, {size} - {found.start})"
    out.line(f"ks_store(body + {found.position}, {field.type.size}, (int64_t){computed});")


def emit_finish(segment: Segment, batch: Batch, out: CodeWriter) -> None:
    """``finish_<batch>``: everything in front of a payload that stands there already."""
    model, kind = segment.model, batch.type
    body_size = header_size(segment, batch) - _frame_size(segment)
    head = f"static int finish_{kind.name}(const int64_t *header, uint8_t *out, int64_t payload)"
    with out.block(f"{head}\n{{", "}"):
        out.line(f"{structure_name(kind)} kept, *const h = &kept;")
        out.line("memcpy(h, header, sizeof kept - sizeof kept.present);")
        out.line("uint8_t *p = out;")
        out.line(f"const int64_t size = payload + {body_size};")
        emit_frame(segment, kind, out, None, set())
        out.line("uint8_t *const body = p;")
        for field in kind.fields:
            _emit_header_field(model, kind, field, batch, out)
        _emit_checksum(model, kind, "size", out)
        out.line("return KS_OK;")
    out.line()


def _emit_header_field(
    model: Model, kind: Type, field: Field, batch: Batch, out: CodeWriter
) -> None:
    if field == batch.payload:
        return
    if isinstance(field.type, TypeReference):
        emit_bits(model, model.type(field.type), f"{field.id}.", out)
        return
    if not isinstance(field.type, IntegerType) or field.condition is not None:
        raise ValueError(f"{field.location}: C cannot write it into a header")
    writer = FieldWriter(model, out, lambda *_: "")
    if field.derive is not None and field != batch.count:
        out.line(f"p += {field.type.size};")
        return
    value = str(field.constant) if field.constant is not None else f"h->{c_name(field.id)}"
    writer._check(kind, field, value, lambda path: f"h->{c_name(path)}")
    out.line(f"ks_store(p, {field.type.size}, {value});")
    out.line(f"p += {field.type.size};")


def _frame_size(segment: Segment) -> int:
    before = segment.entry.fields[: segment.entry.fields.index(segment.body)]
    return sum(fixed_size(segment.model, field) or 0 for field in before)


def header_size(segment: Segment, batch: Batch) -> int:
    """Bytes of an entry in front of the payload of its batch."""
    fields = batch.type.fields[: batch.type.fields.index(batch.payload)]
    return _frame_size(segment) + sum(fixed_size(segment.model, field) or 0 for field in fields)


__all__ = ["MessageEncoder", "RecordEncoder", "emit_finish", "header_size", "members", "BytesType"]
