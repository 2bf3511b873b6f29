"""Emit ``generated/rust``: a module for each file of the specification, and what they share."""

from __future__ import annotations

import re
from pathlib import Path

from kafkaspec import errors
from kafkaspec.errors import Reason
from tools.specgen.facts.segments import resolved
from tools.specgen.model import Model, Type, TypeReference, camel
from tools.specgen.output import Output
from tools.specgen.rust.columns import columns_text
from tools.specgen.rust.entries import entries_text
from tools.specgen.rust.naming import identifier, is_structure
from tools.specgen.rust.structures import SpecModule, documented
from tools.specgen.writer import CodeWriter

RUNTIME = Path(__file__).with_name("runtime.rs")
_ALLOWED = (
    "clippy::complexity, clippy::large_enum_variant, clippy::style, unused_imports, "
    "unused_variables"
)


def emit(model: Model) -> list[Output]:
    """Return all modules of the target ``rust``."""
    ids = tuple(spec.id for spec in model.specs)
    shared = _shared(model)
    return [
        Output("rust/mod.rs", ids, _index(model, shared)),
        *(Output(f"rust/{name}.rs", ids, text) for name, text in shared.items()),
        *(Output(f"rust/{spec.id}.rs", (spec.id,), SpecModule(model, spec).text())
          for spec in model.specs),
    ]  # fmt: skip


def _shared(model: Model) -> dict[str, str]:
    """Return the modules that belong to no file, by name."""
    found = {
        "runtime": RUNTIME.read_text(encoding="utf-8"),
        "reasons": _reasons(),
        "types": _types(model),
        "columns": columns_text(model),
        "entries": entries_text(model),
    }
    return {name: text for name, text in found.items() if text is not None}


def _index(model: Model, shared: dict[str, str]) -> str:
    out = CodeWriter()
    out.line("//! Every type of the specification: structures, and the functions that read them.")
    out.line("//!")
    out.line("//! A module is a file of the specification; names are those of the specification.")
    out.lines("", f"#![allow({_ALLOWED})]", "")
    for name in sorted((*shared, *(spec.id for spec in model.specs))):
        out.line(f"pub mod {identifier(name)};")
    return out.text()


def _reasons() -> str:
    """Return the closed list of reasons for which data is refused."""
    out = CodeWriter()
    out.lines("//! The reasons for which data is refused.", "", "use std::fmt;", "")
    docs = _docs_of_members(Path(errors.__file__))
    out.line("/// A reason for which data is refused. The list is closed.")
    out.line("#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]")
    with out.block("pub enum Reason {", "}"):
        for reason in Reason:
            documented(out, docs.get(reason.name, ""))
            out.line(f"{camel(reason.value)},")
    out.line()
    with out.block("impl Reason {", "}"):
        out.line("/// Returns the name of the reason, as the conformance kit has it.")
        with out.block("pub fn name(self) -> &'static str {", "}"), out.block("match self {", "}"):
            for reason in Reason:
                out.line(f'Reason::{camel(reason.value)} => "{reason.value}",')
    out.line()
    head = "fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {"
    with out.block("impl fmt::Display for Reason {", "}"), out.block(head, "}"):
        out.line("to.write_str(self.name())")
    return out.text()


def _docs_of_members(path: Path) -> dict[str, str]:
    """Return the sentences under the members of the enumeration of reasons."""
    text = path.read_text(encoding="utf-8")
    return dict(re.findall(r'^    ([A-Z_]+) = "[a-z_]+"\n    """(.+)"""$', text, re.MULTILINE))


def _types(model: Model) -> str:
    """Return the module that reads any type by its key."""
    out = CodeWriter()
    out.lines("//! Any type of the specification by its key.", "")
    out.lines("use super::runtime::*;", "")
    out.line("/// Reads a type by its key, `recordbatch.entry`, and returns its value as a tree.")
    with (
        out.block(
            "pub fn read<'a>(\n"
            "    key: &str,\n"
            "    input: &mut Input<'a>,\n"
            "    arguments: &[Argument<'_>],\n"
            ") -> Result<Value<'a>, TypeError> {",
            "}",
        ),
        out.block("Ok(match key {", "})"),
    ):
        for type_ in model.all_types():
            with out.block(f'"{type_.key}" => {{', "}"):
                given = _given(model, type_, "arguments", out)
                called = f"{_path(type_)}(input{given})?"
                out.line(_tree(model, type_, called))
        out.line("_ => return Err(TypeError::Unknown),")
    return out.text()


def _given(model: Model, type_: Type, source: str, out: CodeWriter) -> str:
    """Write what reads the arguments of a type; return them as arguments of its function."""
    if type_.scalar:
        return f', &Place("", "{type_.location}")'
    texts = []
    for number, parameter in enumerate(type_.parameters):
        name = f"{source}_{number}"
        if is_structure(parameter):
            inner = model.inner(parameter)
            out.line(f"let (mut {name}_input, {name}) = structure({source}, {number})?;")
            given = _given(model, inner, name, out)
            out.line(f"let {name} = {_path(inner)}(&mut {name}_input{given})?;")
            texts.append(f"&{name}")
        else:
            out.line(f"let {name} = integer({source}, {number})?;")
            texts.append(name)
    return "".join(f", {text}" for text in texts)


def _path(type_: Type) -> str:
    return f"super::{identifier(type_.spec_id)}::read_{type_.name}"


def _tree(model: Model, type_: Type, text: str) -> str:
    """Return the tree of a value that a function of a type returns."""
    if resolved(model, TypeReference(type_.spec_id, type_.name)).scalar:
        return f"Value::from({text})"
    places = [number for number, item in enumerate(type_.parameters) if is_structure(item)]
    return f"{text}.value({', '.join(f'&arguments_{number}' for number in places)})"
