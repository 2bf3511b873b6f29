"""Emits the C that writes fields of a structure: sizes and ranges first, then the bytes."""

from __future__ import annotations

from collections.abc import Callable

from tools.specgen.expression import names
from tools.specgen.facts.fields import is_bytes, is_integer, scalar_of
from tools.specgen.model import DeriveFunction, Field, IntegerType, Model, Type, TypeReference
from tools.specgen.native.columns import c_name
from tools.specgen.native.expressions import CTranslator, bare, checks
from tools.specgen.writer import CodeWriter

RANGE = "return KS_RANGE;"


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

    def _check(self, type_: Type, field: Field, value: str, resolve: Callable[[str], str]) -> None:
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
                with self.out.block(f"if ({bare(condition)}) {{", "}"):
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
