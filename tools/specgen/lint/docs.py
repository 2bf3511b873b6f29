"""Check ``doc`` and ``doc-ref``: the specification states every meaning once, with its source."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools.specgen.expression import literal
from tools.specgen.facts.fields import scalar_of, size_of
from tools.specgen.lint.problem import Messages, Problem, found
from tools.specgen.model import BitsType, Field, FloatType, IntegerType, Model, Type

_WIDTH = 80
_REFERENCE = re.compile(
    r"https://github\.com/(apache/(kafka|avro)|Aiven-Open/tiered-storage-for-apache-kafka"
    r"|confluentinc/schema-registry|Apicurio/apicurio-registry|awslabs/aws-glue-schema-registry)"
    r"/blob/(v|release-)?\d+\.\d+\.\d+(\.\d+)?/\S+ \S.*"
)
_NOT_IN_COMMENTS = ('"""', "*/", "\\")
"""What ends or changes a comment of Python, C or Java, into which the texts go."""
_FILLERS = {"a", "an", "and", "for", "in", "is", "of", "the", "this", "to", "its", "field"}


def check(model: Model) -> Iterator[Problem]:
    """Yield problems with the rule ``doc``."""
    for type_ in model.all_types():
        yield from found("doc", type_, _text(type_.location, type_.name, type_.doc))
        yield from found("doc", type_, _references(type_))
        for node in (*type_.parameters, *type_.nodes):
            if node.doc or not isinstance(node, Field) or _needs_doc(model, node):
                yield from found("doc", node, _text(node.location, node.id, node.doc))
    for spec in model.specs:
        for value in (value for enum in spec.enums for value in enum.values):
            yield from found("doc", value, _text(value.location, value.id, value.doc))


def _references(type_: Type) -> Messages:
    if not type_.doc_refs:
        yield (
            f"{type_.name} has no doc-ref; write the URL of Kafka's source at a release, "
            "a blank and the name of the class"
        )
    for reference in type_.doc_refs:
        yield from _comment("doc-ref", reference)
        if not _REFERENCE.fullmatch(reference):
            yield (
                f"doc-ref {reference} does not name a release and may change; write "
                "https://github.com/apache/kafka/blob/<release>/<path> <name of the class>"
            )


def _needs_doc(model: Model, field: Field) -> bool:
    """Return whether a field needs a doc: all but structures, and bytes whose size has one."""
    numbers = IntegerType | FloatType | BitsType
    if isinstance(field.type, numbers) or scalar_of(model, field) is not None:
        return True
    is_bytes = not hasattr(field.type, "size_eos")
    size = size_of(field)
    return is_bytes and not field.is_guard and (size is None or literal(size) is not None)


def _text(location: str, name: str, doc: str) -> Messages:
    if not doc:
        yield f"{name} has no doc; say what it means and its unit"
        return
    if doc.startswith("TODO"):
        yield f"the doc of {name} is still to be written; say what it means and its unit"
    yield from _comment(f"the doc of {name}", doc)
    words = set(re.findall(r"[a-z0-9]+", doc.lower())) - _FILLERS
    if words <= set(name.split("_")):
        yield f"the doc of {name} repeats its name; say what it means"
    if not doc.endswith((".", ":")):
        yield f"the doc of {name} does not end in a full stop"
    lines = doc.splitlines()
    first = "doc: " if len(lines) == 1 else "  "
    longest = max(len(line) for line in lines) + _indent(location) + len(first)
    if longest > _WIDTH:
        yield f"the doc of {name} is {longest} columns wide; write doc: | and wrap it at {_WIDTH}"


def _comment(what: str, text: str) -> Messages:
    for part in _NOT_IN_COMMENTS:
        if part in text:
            yield f"{what} has {part}, which ends or changes a comment in generated code; reword it"


def _indent(location: str) -> int:
    """Return the columns before ``doc:``: two for each level of the path, sequences included."""
    path = location.split("#", 1)[1].strip("/")
    return 2 * len(path.split("/")) if path else 0
