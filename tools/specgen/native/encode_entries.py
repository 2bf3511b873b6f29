"""Emit the C that writes the bytes before records: entries, headers, checksums."""

from __future__ import annotations

from tools.specgen.expression import Name
from tools.specgen.facts.columns import INTEGER, c_name
from tools.specgen.facts.fields import is_bytes, size_of
from tools.specgen.facts.segments import Batch, Segment
from tools.specgen.facts.sizes import checksum_of, fixed_size
from tools.specgen.model import Field, IntegerType, Model, Type
from tools.specgen.native.decode import Numbers
from tools.specgen.native.encode_fields import RANGE, FieldWriter, store_of
from tools.specgen.native.expressions import CTranslator, Unsupported, checks
from tools.specgen.writer import CodeWriter


class MessageEncoder(FieldWriter):
    """Writer of ``encode_<message>``: each row as a separate entry, checksum included."""

    def __init__(self, segment: Segment, kind: Type, numbers: Numbers, out: CodeWriter) -> None:
        super().__init__(segment.model, out)
        self.segment, self.kind, self.numbers = segment, kind, numbers
        self._columns = {c.path for c in numbers.records if c.kind == INTEGER}
        self._strings = {c.path for c in numbers.records if c.kind.endswith("BYTES")}

    def number(self, path: str) -> int:
        """Return the place of a byte column."""
        return self.numbers[path]

    def source(self, type_: Type, field: Field, prefix: str) -> str:
        """Return the value of the field: from its column, else from the header."""
        path = prefix + field.id
        text = f"h->{c_name(path)}"
        if path in self._columns:
            number = self.numbers[path]
            text = f"in->integers[{number}] ? in->integers[{number}][row] : {text}"
        return text if field.constant is None else str(field.constant)

    def skips(self, field: Field, prefix: str) -> bool:
        """Return whether to skip a field: bytes up to the end that no column holds stay empty."""
        is_string = is_bytes(self.model, field) and field.repeat is None
        strange = is_string and prefix + field.id not in self._strings
        if strange and (field.default is None or size_of(field) is not None):
            raise Unsupported(f"{field.location}: no column holds it")
        return strange or super().skips(field, prefix)

    def emit(self) -> None:
        """Write the whole function."""
        out, kind = self.out, self.kind
        head = (
            f"static int encode_{kind.name}(const int64_t *header, const ks_in *in,\n"
            "        int64_t first, int64_t rows, uint8_t *out, int64_t capacity,\n"
            "        int64_t *used)"
        )
        before = sum(fixed_size(self.model, field) or 0 for field in self.segment.framing)
        with self.function(head, kind), self.rows():
            self.gather(kind)
            out.when(f"end - p < size + {before}", "return KS_GROW;")
            emit_frame(self.segment, kind, out, self.numbers, self._columns)
            out.line("uint8_t *const body = p;")
            self.write(kind)
            _emit_checksum(self.model, kind, "p - body", out)


class HeaderEncoder(FieldWriter):
    """Writer of ``finish_<batch>``: everything before a payload that is already in place."""

    def __init__(self, segment: Segment, batch: Batch, out: CodeWriter) -> None:
        super().__init__(segment.model, out)
        self.segment, self.batch = segment, batch

    def source(self, type_: Type, field: Field, prefix: str) -> str:
        """Return a member of the header."""
        return f"h->{c_name(prefix + field.id)}" if field.constant is None else str(field.constant)

    def skips(self, field: Field, prefix: str) -> bool:
        """Return whether the field is the payload, which is already in place."""
        if field.condition is not None or (
            is_bytes(self.model, field) and not self._is_payload(field)
        ):
            raise Unsupported(f"{field.location}: C writes headers of fixed numbers only")
        return self._is_payload(field) or super().skips(field, prefix)

    def _is_payload(self, field: Field) -> bool:
        return field == self.batch.payload

    def emit(self) -> None:
        """Write the whole function."""
        out, kind = self.out, self.batch.type
        header_size(self.segment, self.batch)
        head = (
            f"static int finish_{kind.name}(const int64_t *header, uint8_t *out, int64_t payload)"
        )
        with self.function(head, kind):
            out.line("int64_t size = payload;")
            self.gather(kind)
            emit_frame(self.segment, kind, out, None, set())
            out.line("uint8_t *const body = p;")
            self.write(kind)
            _emit_checksum(self.model, kind, "size", out)


def emit_frame(
    segment: Segment, kind: Type, out: CodeWriter, numbers: Numbers | None, columns: set[str]
) -> None:
    """Write the fields of the entry before its body, which has ``size`` bytes."""
    source = {
        value.id: f"h->{c_name(name)}"
        for name, value in segment.arguments(kind).items()
        if isinstance(value, Name)
    }
    for field in segment.framing:
        assert isinstance(field.type, IntegerType)
        if field.derive is not None:
            value = f"size + {field.derive.plus}" if field.derive.plus else "size"
        elif field.id not in source:
            raise Unsupported(f"{field.location}: no parameter of {kind.name} holds it")
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
        translator = CTranslator(
            segment.model, segment.entry, lambda path: f"f_{c_name(path)}", f"f_{field.id}"
        )
        tests += checks(translator, field)
        for test in tests:
            out.when(f"!({test})", RANGE)
        out.line(f"{store_of(field.type)}(p, {field.type.size}, f_{field.id});")
        out.line(f"p += {field.type.size};")


def _emit_checksum(model: Model, kind: Type, size: str, out: CodeWriter) -> None:
    found = checksum_of(model, kind)
    if found is None:
        return
    assert isinstance(found.field.type, IntegerType)
    computed = f"ks_{found.function}(body + {found.start}, {size} - {found.start})"
    store, width = store_of(found.field.type), found.field.type.size
    out.line(f"{store}(body + {found.position}, {width}, (int64_t){computed});")


def header_size(segment: Segment, batch: Batch) -> int:
    """Return the number of bytes of an entry before the payload of its batch."""
    total = 0
    for owner, payload in ((segment.entry, segment.body), (batch.type, batch.payload)):
        for field in owner.fields[: owner.fields.index(payload)]:
            size = fixed_size(segment.model, field)
            if size is None:
                raise Unsupported(f"{field.location}: C writes headers of one size only")
            total += size
    return total
