"""Emits the C that loads arrays of fixed-size structures, such as indexes, into columns."""

from __future__ import annotations

from tools.specgen.facts.segments import members
from tools.specgen.facts.sizes import fixed_size
from tools.specgen.model import IntegerType, Model, Type, TypeReference
from tools.specgen.native.headers import emit_reader, emit_structure, structure_name
from tools.specgen.writer import CodeWriter


def arrays(model: Model) -> tuple[tuple[Type, Type], ...]:
    """Types that repeat one fixed-size structure to their end, and that structure."""
    found = []
    for type_ in model.all_types():
        if len(type_.fields) != 1 or type_.scalar is not None:
            continue
        field = type_.fields[0]
        if field.repeat is None or not field.repeat.eos:
            continue
        if not isinstance(field.type, TypeReference):
            continue
        entry = model.type(field.type)
        integers = all(isinstance(p.type, IntegerType) for p in entry.parameters)
        if fixed_size(model, entry) is not None and len(entry.parameters) <= 1 and integers:
            found.append((type_, entry))
    return tuple(found)


def text(model: Model) -> str:
    """``arrays.c``."""
    out = CodeWriter()
    out.line("/* Arrays of fixed-size structures, by columns. */")
    out.line('#include "runtime.h"')
    out.line()
    found = arrays(model)
    for _, entry in found:
        emit_structure(model, entry, out)
        emit_reader(model, entry, out)
        _load(model, entry, out)
    with out.block("const ks_array ks_arrays[] = {", "};"):
        for type_, entry in found:
            count, size = len(members(model, entry)), fixed_size(model, entry)
            parts = f'"{type_.key}", {size}, {count}, names_{entry.name}, load_{entry.name}'
            out.line(f"{{{parts}}},")
    out.line(f"const int ks_arrays_count = {len(found)};")
    return out.text()


def _load(model: Model, entry: Type, out: CodeWriter) -> None:
    with out.block(f"static const char *const names_{entry.name}[] = {{", "};"):
        out.lines(*[f'"{member.path}",' for member in members(model, entry)])
    out.line()
    out.line(f"static int64_t load_{entry.name}(const uint8_t *bytes, int64_t count,")
    size = fixed_size(model, entry)
    given = ", parameter" if entry.parameters else ""
    with out.block("        int64_t parameter, int64_t *columns)\n{", "}"):
        out.line("(void)parameter;")
        with out.block("for (int64_t i = 0; i < count; i++) {", "}"):
            out.line(f"{structure_name(entry)} h;")
            out.line(f"const uint8_t *const p = bytes + i * {size};")
            with out.block(f"if (!read_{entry.name}(p, p + {size}, bytes{given}, &h))"):
                out.line("return i;")
            for number, member in enumerate(members(model, entry)):
                out.line(f"columns[{number} * count + i] = h.{member.identifier};")
        out.line("return count;")
    out.line()
