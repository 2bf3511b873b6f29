"""Emit the C that writes fields of a structure: sizes and ranges first, then the bytes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from tools.specgen.expression import literal, names
from tools.specgen.facts.columns import c_name
from tools.specgen.facts.fields import is_bytes, is_integer, scalar_of, size_of, valid_parts
from tools.specgen.facts.ranges import sole_lower_bound, value_range
from tools.specgen.model import (
    BitsType,
    Field,
    IntegerType,
    Model,
    Type,
    TypeReference,
)
from tools.specgen.native.expressions import CTranslator, Unsupported, bare, checks
from tools.specgen.native.headers import structure_name
from tools.specgen.writer import CodeWriter

RANGE = "return KS_RANGE;"


def store_of(kind: IntegerType) -> str:
    """Return the function that stores an integer in the order of its bytes."""
    return "ks_store_le" if kind.little else "ks_store"


class FieldWriter:
    """Writer of structures with values in C variables ``v_<path>``, ``b_<path>``, ``n_<path>``.

    Subclasses say where a number that is not derived comes from, and what is not written here.
    """

    def __init__(self, model: Model, out: CodeWriter) -> None:
        self.model, self.out = model, out

    def source(self, type_: Type, field: Field, prefix: str) -> str:
        """Return the source text of a number that is not derived."""
        raise NotImplementedError

    def number(self, path: str) -> int:
        """Return the place of a byte column."""
        raise NotImplementedError

    def skips(self, field: Field, prefix: str) -> bool:
        """Return whether the field is not written here."""
        return field.is_guard

    def resolve(self, path: str) -> str:
        """Return the source text of a dotted name, from the outermost structure on."""
        return f"v_{c_name(path)}"

    def write_array(self, field: Field) -> None:
        """Write the bytes of an array."""
        raise Unsupported(f"{field.location}: an array stands where C writes none")

    @contextmanager
    def function(self, head: str, kind: Type) -> Iterator[None]:
        """Write a function whose first argument is the header of an entry of that kind."""
        with self.out.block(f"{head}\n{{", "}"):
            self.out.line(f"{structure_name(kind)} kept, *const h = &kept;")
            self.out.line("memcpy(h, header, sizeof kept - sizeof kept.present);")
            self.out.line("uint8_t *p = out;")
            yield
            self.out.line("return KS_OK;")
        self.out.line()

    @contextmanager
    def rows(self) -> Iterator[None]:
        """Write a loop over rows that ends with the number of bytes used."""
        self.out.line("const uint8_t *const end = out + capacity;")
        with self.out.block("for (int64_t row = first; row < first + rows; row++) {", "}"):
            self.out.line("int64_t size = 0;")
            yield
        self.out.line("*used = p - out;")

    def _translator(self, type_: Type, prefix: str, value: str = "_") -> CTranslator:
        return CTranslator(self.model, type_, lambda path: self.resolve(prefix + path), value)

    def _structure(self, field: Field) -> Type | None:
        """Return the type of a structure without size and condition, None for other fields."""
        match field.type:
            case TypeReference(arguments=(), size=None, size_eos=False):
                inner = self.model.type(field.type)
                plain = field.condition is None and not inner.is_transparent
                return inner if plain else None
        return None

    def gather(self, type_: Type, prefix: str = "", row: str = "row") -> None:
        """Write checked variables for all fields except arrays, and add their bytes to ``size``."""
        bits = 0
        derived = []
        for field in type_.fields:
            path = prefix + field.id
            inner = self._structure(field)
            if self.skips(field, prefix) or field.repeat is not None:
                continue
            if inner is not None:
                self.gather(inner, f"{path}.", row)
            elif is_bytes(self.model, field):
                self._gather_bytes(type_, field, prefix, row)
            elif not is_integer(self.model, field):
                raise Unsupported(f"{field.location}: C writes numbers and bytes only")
            elif field.derive is None or type_.is_opaque_count(field):
                value = f"v_{c_name(path)}"
                self.out.line(f"const int64_t {value} = {self.source(type_, field, prefix)};")
                self._check(type_, field, value, prefix)
                if isinstance(field.type, BitsType):
                    bits += field.type.width
                else:
                    self._add(type_, field, value, prefix)
            else:
                derived.append((field, field.derive))
        if bits:
            self.out.line(f"size += {bits // 8};")
        for field, derive in derived:
            if derive.function.is_checksum:
                self._add(type_, field, "0", prefix)
                continue
            plus = f" + {derive.plus}" if derive.plus else ""
            value = f"v_{c_name(prefix + field.id)}"
            self.out.line(f"const int64_t {value} = n_{c_name(prefix + derive.first)}{plus};")
            self._check_length(type_, field, value, prefix)
            self._add(type_, field, value, prefix)

    def _gather_bytes(self, type_: Type, field: Field, prefix: str, row: str) -> None:
        path = prefix + field.id
        name = c_name(path)
        call = f"ks_get(&in->bytes[{self.number(path)}], {row}, &n_{name})"
        self.out.line(f"int64_t n_{name};")
        self.out.line(f"const uint8_t *const b_{name} = {call};")
        self.out.line(f"(void)b_{name};")
        fixed = literal(size_of(field))
        tests = [] if fixed is None else [f"b_{name} && n_{name} != {fixed}"]
        if field.condition is not None:
            condition = self._translator(type_, prefix).text(field.condition)
            tests.append(f"!b_{name} == !!{condition}")
        elif scalar_of(self.model, field) != "nullable_bytes":
            tests.append(f"!b_{name}")
        for test in tests:
            self.out.when(f"{test}", RANGE)
        if isinstance(field.type, TypeReference):
            inner = self.model.type(field.type)
            length = inner.fields[0]
            assert length.derive is not None
            self.out.line(f"const int64_t l_{name} = n_{name} + {length.derive.plus};")
            self._check_length(inner, length, f"l_{name}", f"{path}.")
            self._add(inner, length, f"l_{name}", prefix)
        self.out.line(f"size += n_{name} > 0 ? n_{name} : 0;")

    def _add(self, type_: Type, field: Field, value: str, prefix: str) -> None:
        scalar = scalar_of(self.model, field)
        if scalar is not None:
            text = f"ks_groups_size(ks_code_{scalar}({value}))"
        else:
            assert isinstance(field.type, IntegerType)
            text = str(field.type.size)
        if field.condition is not None:
            condition = self._translator(type_, prefix).text(field.condition)
            text = f"{condition} ? {text} : 0"
        self.out.line(f"size += {text};")

    def _in_range(self, field: Field, value: str) -> list[str]:
        """Return the conditions that the value fits the type; none if every number fits."""
        scalar = scalar_of(self.model, field)
        if scalar is not None:
            return [f"ks_fits_{scalar}({value})"]
        bounds = value_range(self.model, field)
        if bounds is None or bounds[1] - bounds[0] >= (1 << 64) - 1:
            return []
        return [f"{value} >= INT64_C({bounds[0]}) && {value} <= INT64_C({bounds[1]})"]

    def _check(self, type_: Type, field: Field, value: str, prefix: str) -> None:
        if field.constant is not None:
            return
        found = self._in_range(field, value)
        if not any("_io" in names(part) for part in valid_parts(field.valid)):
            found += checks(self._translator(type_, prefix, value), field)
        present = ""
        if field.condition is not None:
            present = f"{self._translator(type_, prefix).text(field.condition)} && "
        for condition in found:
            self.out.when(f"KS_UNLIKELY({present}!({condition}))", RANGE)

    def _check_length(self, type_: Type, field: Field, value: str, prefix: str) -> None:
        """Check a length or count, which is not negative before its ``plus`` is added."""
        assert field.derive is not None
        least = sole_lower_bound(field)
        if least is not None and least <= field.derive.plus:
            field = replace(field, valid=None)
        self._check(type_, field, value, prefix)

    def write(self, type_: Type, prefix: str = "") -> None:
        """Write the bytes of all fields at ``p``."""
        bits: list[tuple[str, int]] = []
        for field in type_.fields:
            path = prefix + field.id
            name = c_name(path)
            inner = self._structure(field)
            if self.skips(field, prefix):
                continue
            if field.repeat is not None:
                self.write_array(field)
            elif inner is not None:
                self.write(inner, f"{path}.")
            elif isinstance(field.type, BitsType):
                bits.append((f"v_{name}", field.type.width))
                if sum(width for _, width in bits) % 8 == 0:
                    self._put_bits(bits)
                    bits = []
            elif is_bytes(self.model, field):
                if isinstance(field.type, TypeReference):
                    self._put(self.model.type(field.type).fields[0], f"l_{name}")
                with self.out.block(f"if (n_{name} > 0) {{", "}"):
                    self.out.line(f"memcpy(p, b_{name}, (size_t)n_{name});")
                    self.out.line(f"p += n_{name};")
            elif field.derive is not None and field.derive.function.is_checksum:
                assert isinstance(field.type, IntegerType)
                self.out.line(f"p += {field.type.size};")
            elif field.condition is not None:
                condition = self._translator(type_, prefix).text(field.condition)
                with self.out.block(f"if ({bare(condition)}) {{", "}"):
                    self._put(field, f"v_{name}")
            else:
                self._put(field, f"v_{name}")

    def _put_bits(self, bits: list[tuple[str, int]]) -> None:
        text, size = "0", sum(width for _, width in bits) // 8
        for value, width in bits:
            text = f"({text}) << {width} | {value}" if text != "0" else value
        self.out.lines(f"ks_store(p, {size}, {text});", f"p += {size};")

    def _put(self, field: Field, value: str) -> None:
        scalar = scalar_of(self.model, field)
        if scalar is not None:
            self.out.line(f"p = ks_write_groups(p, ks_code_{scalar}({value}));")
        else:
            assert isinstance(field.type, IntegerType)
            self.out.line(f"{store_of(field.type)}(p, {field.type.size}, {value});")
            self.out.line(f"p += {field.type.size};")
