"""Goals of the specification that a vector covers, from the tree that its bytes were made of.

A goal is a word and a name: ``type`` and ``field`` that a reader reaches in bytes that it accepts,
a ``case`` of a switch, a ``value`` of an enumeration, and a ``refusal`` of a field for a reason. In
a file of vectors, those of that specification begin with a point.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tools.specgen.evaluate import evaluate
from tools.specgen.facts.fields import scalar_of
from tools.specgen.model import Field, Model, SwitchType, Type
from tools.specgen.vectors.tree import Node, Shape, Structure
from tools.specgen.vectors.verdict import Verdict


def refused(structure: Structure, verdict: Verdict, key: str) -> str:
    """Return the goal of a refusal: the field at the path, in the type that has it."""
    parent, _, name = verdict.path.rpartition("/")
    holder = next((each for each in _structures(structure) if each.path == parent), None)
    owner = key if holder is None or holder is structure else holder.type.key
    if name.isdecimal():  # an item of an array
        owner, name = key, verdict.path.strip("/").rpartition("/")[0].replace("/", ".")
    return f"refusal {owner}/{name or 'value'} {verdict.reason}"


def reached(model: Model, structure: Structure) -> list[str]:
    """Return the goals that a reader reaches who accepts the structure."""
    found: dict[str, None] = {}
    for each in _structures(structure):
        for goal in _of_structure(model, each):
            found[goal] = None
    return list(found)


def _structures(structure: Structure) -> Iterator[Structure]:
    yield structure
    for node in structure.nodes:
        for inner in (node, *_items(node)):
            if inner.inner is not None:
                yield from _structures(inner.inner)


def _items(node: Node) -> Sequence[Node]:
    """Return the items that are in the bytes; the tree has one more."""
    if node.shape is not Shape.ARRAY:
        return ()
    there = len(node.items) - 1
    return node.items[: there if node.count is None else max(min(node.count, there), 0)]


def _of_structure(model: Model, structure: Structure) -> Iterator[str]:
    type_ = structure.type
    known = type_.key in {each.key for each in model.spec(type_.spec_id).types}
    if known:
        yield f"type {type_.key}"
        yield from (f"field {type_.key}/{peek.id}" for peek in type_.peek_instances)
    for node in structure.nodes:
        item = node.field
        if known:
            yield f"field {type_.key}/{item.id}"
        if isinstance(item.type, SwitchType):
            number = evaluate(item.type.on, structure.scope)
            case = number if number in dict(item.type.cases) else None
            yield f"case {type_.key}/{item.id}={'else' if case is None else case}"
        for each in _items(node) if node.shape is Shape.ARRAY else (node,):
            yield from _of_value(model, item, each)


def _of_value(model: Model, item: Field, node: Node) -> Iterator[str]:
    if item.enum is not None and node.value in {v.value for v in model.enum(item.enum).values}:
        yield f"value {item.enum}={node.value}"
    if scalar_of(model, item) is not None and node.shape is Shape.ATOM:
        yield from _of_scalar(model, model.inner(item), there=node.value is not None)


def _of_scalar(model: Model, type_: Type, *, there: bool) -> Iterator[str]:
    yield f"type {type_.key}"
    for item in type_.fields:
        if item.condition is None or there:
            yield f"field {type_.key}/{item.id}"
            if scalar_of(model, item) is not None:
                yield from _of_scalar(model, model.inner(item), there=True)
