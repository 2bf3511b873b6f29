"""Check ``doc`` and ``doc-ref``: the specification states every meaning once, with its source."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools.specgen.evaluate import literal
from tools.specgen.facts.fields import scalar_of, size_of
from tools.specgen.lint.problem import Problem
from tools.specgen.model import BitsType, Field, IntegerType, Model, Spec, Type

_WIDTH = 80
_REFERENCE = re.compile(r"https://github\.com/apache/kafka/blob/\d+\.\d+\.\d+(\.\d+)?/\S+ \S.*")
_FILLERS = {"a", "an", "and", "for", "in", "is", "of", "the", "this", "to", "its", "field"}


def check(model: Model) -> Iterator[Problem]:
    """Yield problems with the rule ``doc``."""
    for spec in model.specs:
        for type_ in spec.types:
            yield from _type(spec, type_, model)
        for enum in spec.enums:
            for value in enum.values:
                location = f"{enum.location}/{value.value}"
                yield from _text(location, value.id, value.doc, required=True)


def _type(spec: Spec, type_: Type, model: Model) -> Iterator[Problem]:
    yield from _text(type_.location, type_.name, type_.doc, required=True)
    if not type_.doc_refs:
        yield Problem(
            type_.location,
            "doc",
            f"{type_.name} has no doc-ref; write the URL of Kafka's source at a release, "
            "a blank and the name of the class",
        )
    for reference in type_.doc_refs:
        if not _REFERENCE.fullmatch(reference):
            yield Problem(
                type_.location,
                "doc",
                f"doc-ref {reference} does not name a release and may change; write "
                "https://github.com/apache/kafka/blob/<release>/<path> <name of the class>",
            )
    for i, parameter in enumerate(type_.parameters):
        location = f"{_base(type_)}/params/{i}"
        yield from _text(location, parameter.id, parameter.doc, required=True)
    for field in type_.fields:
        required = _needs_doc(model, field)
        yield from _text(field.location, field.id, field.doc, required=required)
    for peek in type_.peek_instances:
        yield from _text(peek.location, peek.id, peek.doc, required=True)
    for instance in type_.value_instances:
        yield from _text(instance.location, instance.id, instance.doc, required=True)


def _base(type_: Type) -> str:
    return type_.location.rstrip("/")


def _needs_doc(model: Model, field: Field) -> bool:
    """Return whether a field needs no doc: a structure, or bytes whose size has a doc."""
    if isinstance(field.type, IntegerType | BitsType) or scalar_of(model, field) is not None:
        return True
    is_bytes = not hasattr(field.type, "size_eos")
    size = size_of(field)
    return is_bytes and not field.is_guard and (size is None or literal(size) is not None)


def _text(location: str, name: str, doc: str, *, required: bool) -> Iterator[Problem]:
    if not doc:
        if required:
            yield Problem(location, "doc", f"{name} has no doc; say what it means and its unit")
        return
    words = set(re.findall(r"[a-z0-9]+", doc.lower())) - _FILLERS
    if words <= set(name.split("_")):
        yield Problem(
            location,
            "doc",
            f"the doc of {name} repeats its name; say what it means",
        )
    if not doc.endswith((".", ":")):
        yield Problem(location, "doc", f"the doc of {name} does not end in a full stop")
    indent = _indent(location)
    lines = doc.splitlines()
    first = "doc: " if len(lines) == 1 else "  "
    longest = max(len(line) for line in lines) + indent + len(first)
    if longest > _WIDTH:
        yield Problem(
            location,
            "doc",
            f"the doc of {name} is {longest} columns wide; write doc: | and wrap it at {_WIDTH}",
        )


def _indent(location: str) -> int:
    """Return the columns before ``doc:``: two for each level of the path, sequences included."""
    path = location.split("#", 1)[1].strip("/")
    return 2 * len(path.split("/")) if path else 0
