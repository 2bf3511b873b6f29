"""Emits the C that writes what stands in front of records: entries, headers, checksums."""

from __future__ import annotations

from tools.specgen.facts.fields import is_bytes, scalar_of
from tools.specgen.facts.segments import Batch, Segment
from tools.specgen.facts.sizes import checksum_of, fixed_size
from tools.specgen.model import BitsType, Field, IntegerType, Model, Type, TypeReference
from tools.specgen.native.columns import INTEGER, c_name
from tools.specgen.native.decode import Numbers
from tools.specgen.native.encode_fields import RANGE, FieldWriter
from tools.specgen.native.expressions import CTranslator, checks
from tools.specgen.native.headers import structure_name
from tools.specgen.native.walk import dotted
from tools.specgen.writer import CodeWriter


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
            "        int64_t first, int64_t rows, uint8_t *out, int64_t capacity,\n"
            "        int64_t *used)\n{",
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
        tests += checks(
            CTranslator(segment.model, segment.entry, str, f"f_{field.id}"), field.valid
        )
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
    outer = dict(zip([p.id for p in segment.choice.parameters], body.arguments, strict=True))
    found = {}
    for parameter, argument in zip(kind.parameters, reference.arguments, strict=True):
        for path in dotted(argument):
            for name in dotted(outer[path]):
                found[name] = f"h->{c_name(parameter.id)}"
    return found


def _emit_checksum(model: Model, kind: Type, size: str, out: CodeWriter) -> None:
    found = checksum_of(model, kind)
    if found is None:
        return
    assert isinstance(found.field.type, IntegerType)
    computed = f"ks_{found.function}(body + {found.start}, {size} - {found.start})"
    out.line(f"ks_store(body + {found.position}, {found.field.type.size}, (int64_t){computed});")


def has_finish(model: Model, batch: Batch) -> bool:
    """Whether the header is made of numbers alone; others are left to the Python codec."""
    return not any(is_bytes(model, field) for field in batch.type.fields if field != batch.payload)


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
