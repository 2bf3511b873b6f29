"""Emit the C that writes the records of a batch from columns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tools.specgen.expression import Attribute, Binary, Expression, Name, Ternary
from tools.specgen.facts.columns import c_name
from tools.specgen.facts.segments import Batch, Segment
from tools.specgen.model import Field, Type
from tools.specgen.native.decode import Numbers
from tools.specgen.native.encode_fields import RANGE, FieldWriter
from tools.specgen.native.expressions import Unsupported
from tools.specgen.writer import CodeWriter, CWriter


def inverse(type_: Type, field: Field) -> tuple[str, Expression] | None:
    """Return the value instance ``base + field`` that determines the field, and its base."""
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


class RecordEncoder(FieldWriter):
    """Writer of ``encode_<record set>``: records from columns, the size of each first."""

    def __init__(self, segment: Segment, batch: Batch, numbers: Numbers, out: CodeWriter) -> None:
        super().__init__(segment.model, out)
        self.segment, self.batch, self.numbers = segment, batch, numbers
        self.frame = self.model.inner(batch.items)
        self.record = batch.record(self.model)

    def number(self, path: str) -> int:
        """Return the place of a byte column."""
        return self.numbers[path]

    def resolve(self, path: str) -> str:
        """Return a dotted name: a field of the header that is a parameter, else of the record."""
        for parameter in self.record.parameters:
            if path.startswith(f"{parameter.id}."):
                return f"h->{c_name(path.removeprefix(f'{parameter.id}.'))}"
        return super().resolve(path)

    def source(self, type_: Type, field: Field, prefix: str) -> str:
        """Return the value of a field: its column, else computed from another, else its default."""
        default = field.default.value if field.default else field.constant
        text = str(default) if isinstance(default, int) else "0"
        row = "item" if self._in_array else "row"
        found = inverse(type_, field) if type_ == self.record else None
        if found is not None:
            instance, base = found
            number = self.numbers[instance]
            value = (
                f"ks_sub(in->integers[{number}][{row}], {self._translator(type_, '').text(base)})"
            )
            text = f"in->integers[{number}] ? {value} : {text}"
        number = self.numbers[prefix + field.id]
        return f"in->integers[{number}] ? in->integers[{number}][{row}] : {text}"

    def emit(self) -> None:
        """Write the whole function."""
        name = self.batch.record_set.name
        head = (
            f"static int encode_{name}(const int64_t *header, const ks_in *in, int64_t first,\n"
            "        int64_t rows, uint8_t *out, int64_t capacity, int64_t *used)"
        )
        with self.function(head, self.batch.type), self.rows():
            self._row()

    def _row(self) -> None:
        out = self.out
        arrays = [f for f in self.record.fields if f.repeat is not None]
        for field in arrays:
            name = c_name(field.id)
            number = self.numbers[field.id]
            out.line(f"const int32_t *const o_{name} = in->lists[{number}].offsets;")
            out.line(f"const int64_t n_{name} = o_{name} ? o_{name}[row + 1] - o_{name}[row] : 0;")
            out.when(f"n_{name} < 0", RANGE)
        self.gather(self.record)
        for field in arrays:
            with self._loop(field):
                self.gather(self._item(field), f"{field.id}.", "item")
        if self.frame.is_frame:
            self._frame()
        with out.block("if (end - p < size)"):
            out.lines("return KS_GROW;")
        if self.frame.is_frame:
            self._put(self.frame.fields[0], "l_frame")
        self.write(self.record)

    def _frame(self) -> None:
        length = self.frame.fields[0]
        assert length.derive is not None
        self.out.line(f"const int64_t l_frame = size + {length.derive.plus};")
        self._check_length(self.frame, length, "l_frame", "")
        self._add(self.frame, length, "l_frame", "")

    def _item(self, field: Field) -> Type:
        inner = self.model.inner(field)
        if inner.parameters or inner.is_transparent:
            raise Unsupported(f"{field.location}: C writes arrays of structures without parameters")
        return inner

    _in_array = False

    @contextmanager
    def _loop(self, field: Field) -> Iterator[None]:
        name = c_name(field.id)
        first = f"int64_t item = n_{name} ? o_{name}[row] : 0, stop = item + n_{name}"
        self._in_array = True
        with self.out.block(f"for ({first}; item < stop; item++) {{", "}"):
            yield
        self._in_array = False

    def write_array(self, field: Field) -> None:
        """Write the items of an array from their columns."""
        if self._in_array:
            raise Unsupported(f"{field.location}: columns have no lists of lists")
        with self._loop(field):
            inner = self._item(field)
            quiet = CWriter()
            again = RecordEncoder(self.segment, self.batch, self.numbers, quiet)
            again._in_array = True
            again.gather(inner, f"{field.id}.", "item")
            lines = quiet.text().split("\n")
            # The first pass has checked sizes and ranges.
            self.out.lines(*[line for line in lines if line.startswith(("int64_t", "const"))])
            self.write(inner, f"{field.id}.")
