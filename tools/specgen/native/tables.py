"""Emit ``native`` where no library stands above it: tables in C, and an extension of them."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

from tools.specgen.facts.tables import Table, Tables, files
from tools.specgen.model import Model
from tools.specgen.native import read_tables, write_tables
from tools.specgen.native.expressions import Unsupported
from tools.specgen.output import Output
from tools.specgen.writer import CodeWriter, CWriter

OPEN = Path(__file__).with_name("open")
_MODULES = (
    ("__init__.py", "package.txt"),
    ("build.py", "build.txt"),
    ("sources.py", "sources.txt"),
)
NUMBERS = Path(__file__).with_name("c") / "numbers.h"


def emit(model: Model) -> list[Output]:
    """Return the readers and writers of each file, what they share, and the package of them."""
    every = tuple(spec.id for spec in model.specs)
    found = list(files(model))
    outputs = [
        Output(f"native/{name}", every, (OPEN / name).read_text(encoding="utf-8"))
        for name in ("tables.h", "rows.h", "rows.c", "module.c")
    ]
    outputs.append(Output("native/numbers.h", every, NUMBERS.read_text(encoding="utf-8")))
    outputs.append(Output("native/crc.c", every, _checksums()))
    for name, source in _MODULES:
        outputs.append(Output(f"native/{name}", every, (OPEN / source).read_text("utf-8")))
    for tables in found:
        spec_id = tables.root.spec_id
        outputs.append(Output(f"native/{spec_id}.h", (spec_id,), _header(tables)))
        outputs.append(Output(f"native/{spec_id}.c", (spec_id,), _source(tables)))
    outputs.append(Output("native/formats.c", every, _formats(found)))
    outputs.append(Output("native/layout.py", every, _layout(found)))
    return outputs


def _checksums() -> str:
    """Return the checksums of the library, on the header of the tables."""
    found = find_spec("kafkaspec.codecs.native")  # loading it would need the library's extension
    assert found is not None
    assert found.origin is not None
    text = Path(found.origin).with_name("crc.c").read_text(encoding="utf-8")
    return text.replace('#include "abi.h"', '#include "tables.h"')


def _source(tables: Tables) -> str:
    out = CWriter()
    name = tables.root.name
    out.lines(f"/* {tables.root.spec_id}: read into tables, and written from them. */")
    out.lines(f'#include "{name}.h"', '#include "rows.h"', "")
    for head, make in (
        (read_tables.HEAD, read_tables.TableReader),
        (write_tables.HEAD, write_tables.TableWriter),
    ):
        part = CWriter()
        try:
            make(tables, part).emit()
        except Unsupported as reason:
            part = CWriter()
            part.line(f"/* {reason}: left to Python. */")
            with part.block(f"{head.format(name)}\n{{", "}"):
                for argument in re.findall(r"(\w+)[,)]", head):
                    part.line(f"(void){argument};")
                part.line("return KS_IRREGULAR;")
            part.line()
        out.lines(*part.text().rstrip("\n").split("\n"), "")
    return re.sub(r"\n{3,}", "\n\n", out.text()).rstrip() + "\n"


def _header(tables: Tables) -> str:
    out = CodeWriter()
    name = tables.root.name
    guard = f"KS_{name.upper()}_H"
    title = "tables, and what stands in each cell of their rows"
    out.lines(f"/* {name}: {title}. */", f"#ifndef {guard}", f"#define {guard}", "")
    out.lines('#include "tables.h"', "")
    taken: set[str] = set()

    def unique(text: str) -> str:
        found = re.sub(r"\W", "_", text).upper()
        while found in taken:
            found += "_"
        taken.add(found)
        return found

    with out.block("enum {", "};"):
        for table in tables.tables:
            out.line(f"{unique(table.path)} = {table.number},")
        out.line(f"{unique(f'{name}.tables')} = {len(tables.tables)}")
    for table in tables.tables:
        if table.columns:
            out.lines("", f"/* {table.path} */")
            with out.block("enum {", "};"):
                for column in table.columns:
                    out.line(f"{unique(f'{table.path}.{column.name}.cell')} = {column.slot},")
    out.lines("", f"{read_tables.HEAD.format(name)};", f"{write_tables.HEAD.format(name)};")
    out.lines("", "#endif")
    return out.text()


def _formats(found: list[Tables]) -> str:
    out = CWriter()
    out.lines("/* All formats by their key. */", '#include "tables.h"')
    out.lines(*(f'#include "{tables.root.name}.h"' for tables in found), "")
    for tables in found:
        widths = ", ".join(str(table.width) for table in tables.tables)
        out.line(f"static const int widths_{tables.root.name}[] = {{{widths}}};")
    with out.block("const ks_format ks_formats[] = {", "};"):
        for tables in found:
            name = tables.root.name
            parts = [f'"{name}"', str(len(tables.tables)), f"widths_{name}"]
            parts += [f"{name}_read", f"{name}_write"]
            out.line(f"{{{', '.join(parts)}}},")
        if not found:
            out.line("{0}")
    out.line(f"const int ks_formats_count = {len(found)};")
    return out.text()


def _layout(found: list[Tables]) -> str:
    out = CodeWriter()
    out.lines('"""Tables of each file: paths, and columns in the order of cells in C."""', "")
    out.lines("from __future__ import annotations", "", "from typing import Any", "")
    head = "LAYOUTS: dict[str, tuple[tuple[str, tuple[tuple[Any, ...], ...]], ...]] = {"
    with out.block(head, "}"):
        for tables in found:
            with out.block(f'"{tables.root.name}": (', "),"):
                for table in tables.tables:
                    out.line(f'("{table.path}", {_columns(table)}),')
    return out.text()


def _columns(table: Table) -> str:
    return repr(
        tuple(
            (
                column.name,
                column.path,
                str(column.content),
                column.nullable,
                tuple(column.children),
                tuple(kind.name for kind in column.kinds),
                tuple(kind.class_name for kind in column.kinds),
            )
            for column in table.columns
        )
    )
