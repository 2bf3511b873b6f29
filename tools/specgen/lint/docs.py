"""Check ``doc`` and ``doc-ref``: the specification states every meaning once, with its source."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools.specgen.expression import literal
from tools.specgen.facts.fields import scalar_of, size_of
from tools.specgen.house import House
from tools.specgen.lint.problem import Messages, Problem, found
from tools.specgen.model import BitsType, Field, FloatType, IntegerType, Model, Type

_NOT_IN_COMMENTS = ('"""', "*/", "\\")
"""What ends or changes a comment of Python, C or Java, into which the texts go."""
_FILLERS = {"a", "an", "and", "for", "in", "is", "of", "the", "this", "to", "its", "field"}


UNWRITTEN = "is still to be written"
"""What is said of a sentence that begins with TODO."""


def check(model: Model) -> Iterator[Problem]:
    """Yield problems with the rule ``doc``."""
    house = model.house
    for type_ in model.all_types():
        yield from found("doc", type_, _text(house, type_.location, type_.name, type_.doc))
        yield from found("doc", type_, _references(house, type_))
        for node in (*type_.parameters, *type_.nodes):
            if node.doc or not isinstance(node, Field) or _needs_doc(model, node):
                yield from found("doc", node, _text(house, node.location, node.id, node.doc))
    for spec in model.specs:
        for value in (value for enum in spec.enums for value in enum.values):
            yield from found("doc", value, _text(house, value.location, value.id, value.doc))


def _references(house: House, type_: Type) -> Messages:
    if house.doc and not type_.doc_refs:
        yield (
            f"{type_.name} has no doc-ref; write the URL of {house.owned('source')} at a release, "
            "a blank and the name of the class"
        )
    for reference in type_.doc_refs:
        yield from _comment("doc-ref", reference)
        if house.reference and not re.fullmatch(house.reference, reference):
            yield (
                f"doc-ref {reference} does not name a release and may change; write {house.example}"
            )


def _needs_doc(model: Model, field: Field) -> bool:
    """Return whether a field needs a doc: all but structures, and bytes whose size has one."""
    numbers = IntegerType | FloatType | BitsType
    if isinstance(field.type, numbers) or scalar_of(model, field) is not None:
        return True
    is_bytes = not hasattr(field.type, "size_eos")
    size = size_of(field)
    return is_bytes and not field.is_guard and (size is None or literal(size) is not None)


def _text(house: House, location: str, name: str, doc: str) -> Messages:
    yield from _comment(f"the doc of {name}", doc)
    if not house.doc:
        return
    if not doc:
        yield f"{name} has no doc; say what it means and its unit"
        return
    if doc.startswith("TODO"):
        yield f"the doc of {name} {UNWRITTEN}; say what it means and its unit"
    words = set(re.findall(r"[a-z0-9]+", doc.lower())) - _FILLERS
    if words <= set(name.split("_")):
        yield f"the doc of {name} repeats its name; say what it means"
    if not doc.endswith((".", ":")):
        yield f"the doc of {name} does not end in a full stop"
    lines = doc.splitlines()
    first = "doc: " if len(lines) == 1 else "  "
    longest = max(len(line) for line in lines) + _indent(location) + len(first)
    if longest > house.width > 0:
        yield (
            f"the doc of {name} is {longest} columns wide; write doc: | and wrap it at "
            f"{house.width}"
        )


def _comment(what: str, text: str) -> Messages:
    for part in _NOT_IN_COMMENTS:
        if part in text:
            yield f"{what} has {part}, which ends or changes a comment in generated code; reword it"


def _indent(location: str) -> int:
    """Return the columns before ``doc:``: two for each level of the path, sequences included."""
    path = location.split("#", 1)[1].strip("/")
    return 2 * len(path.split("/")) if path else 0
