"""Resolve references between JSON Schemas: ``$id``, anchors, pointers, and imports by name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

import orjson

from kafkaspec.values.definition import Definition, SchemaError
from kafkaspec.values.options import Bounds

_ANCHORS = ("$anchor", "$dynamicAnchor")
_DATA = frozenset({"enum", "const", "default", "examples"})
"""Keywords whose values are not schemas."""


@dataclass(eq=False, slots=True)
class Document:
    """A text with schemas, its imports by name, and what in it has an id or an anchor."""

    root: Any
    base: str = ""
    imports: dict[str, Document] = field(default_factory=dict)
    schemas: dict[str, Any] = field(default_factory=dict)
    anchors: dict[tuple[str, str], Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, slots=True)
class SchemaPlace:
    """A schema in a document, with the id that references in it are relative to."""

    node: Any
    base: str
    document: Document

    def inner(self, node: Any) -> SchemaPlace:
        return SchemaPlace(node, _base_of(node, self.base), self.document)


def load(definition: Definition, bounds: Bounds) -> SchemaPlace:
    """Return a schema with everything that it refers to."""
    every = bounds.within(definition)
    made = {id(each): _parsed(each.text) for each in every}
    names = {name: made[id(inner)] for each in every for name, inner in each.imports}
    for each in every:  # a registry knows names of all of them
        own = {name: made[id(inner)] for name, inner in each.imports}
        made[id(each)].imports = names | own
    document = made[id(definition)]
    return SchemaPlace(document.root, document.base, document)


def resolve(reference: str, place: SchemaPlace) -> SchemaPlace:
    """Return the schema that ``$ref`` in a place means."""
    document = place.document
    uri, fragment = urldefrag(reference)
    absolute = _join(place.base, uri)
    if not uri:
        root = document.schemas.get(place.base, document.root)
        found = SchemaPlace(root, place.base, document)
    else:
        target = _document(uri, absolute, document)
        if target is not None:
            found = SchemaPlace(target.root, target.base, target)
        elif absolute in document.schemas:
            found = SchemaPlace(document.schemas[absolute], absolute, document)
        else:
            raise SchemaError(f"$ref {reference!r} is in no schema that this one refers to")
    fragment = unquote(fragment)
    if not fragment:
        return found
    if not fragment.startswith("/"):
        key = (found.base, fragment)
        if key not in found.document.anchors:
            raise SchemaError(f"$ref {reference!r}: no schema has that anchor")
        return found.inner(found.document.anchors[key])
    return _pointed(reference, fragment, found)


def _document(uri: str, absolute: str, document: Document) -> Document | None:
    for name in (uri, absolute):
        if name in document.imports:
            return document.imports[name]
    for name, other in document.imports.items():
        if absolute in (other.base, _join(document.base, name)):
            return other
    return None


def _pointed(reference: str, fragment: str, found: SchemaPlace) -> SchemaPlace:
    for step in fragment[1:].split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        node = found.node
        if isinstance(node, dict) and name in node:
            found = found.inner(node[name])
        elif isinstance(node, list) and name.isascii() and name.isdigit() and len(name) < 9:
            if int(name) >= len(node):
                raise SchemaError(f"$ref {reference!r}: nothing is there")
            found = found.inner(node[int(name)])
        else:
            raise SchemaError(f"$ref {reference!r}: nothing is there")
    return found


def _parsed(text: str) -> Document:
    try:
        root = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise SchemaError(f"a JSON Schema is not JSON: {error}") from None
    if not isinstance(root, dict | bool):
        raise SchemaError("a JSON Schema is neither an object nor true or false")
    document = Document(root, _base_of(root, ""))
    for base, node in _subschemas(root, ""):
        own = _base_of(node, base)
        if own != base:
            document.schemas.setdefault(own, node)
        for keyword in _ANCHORS:
            if isinstance(name := node.get(keyword), str):
                document.anchors.setdefault((own, name), node)
        identity = _id_of(node)
        if identity.startswith("#") and len(identity) > 1:
            document.anchors.setdefault((base, identity[1:]), node)
    return document


def _subschemas(root: Any, base: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield all objects in a schema with the id around each."""
    todo = [(base, root)]
    while todo:
        base, node = todo.pop()
        if isinstance(node, dict):
            yield base, node
            own = _base_of(node, base)
            todo.extend((own, item) for name, item in node.items() if name not in _DATA)
        elif isinstance(node, list):
            todo.extend((base, item) for item in node)


def _id_of(node: dict[str, Any]) -> str:
    for keyword in ("$id", "id"):
        if isinstance(found := node.get(keyword), str):
            return found
    return ""


def _base_of(node: Any, base: str) -> str:
    if not isinstance(node, dict):
        return base
    uri, _ = urldefrag(_id_of(node))
    return _join(base, uri) if uri else base


def _join(base: str, uri: str) -> str:
    try:
        return urljoin(base, uri)
    except ValueError:
        return uri
