"""Read ``texts.yaml``: which keys the versions of text files have; and the table of them."""

from __future__ import annotations

from pathlib import Path

from kafkaspec.layout import TextKey, TextLayout
from tools.specgen.document import Node, file_text, parsed

FILE = "texts.yaml"
"""The file, in the folder of the specification; a specification may have none."""
TYPES = ("s4", "str", "uuid")
"""A whole number of 32 bits, text, and an id as Kafka writes it."""
_KEYS = {"doc", "doc-ref", "versions", "keys"}
_OF_KEY = {"attribute", "type", "versions", "required"}
VERSION = "version"
"""The attribute that every file needs."""


def texts_of(directory: Path) -> tuple[TextLayout, ...]:
    """Return the text files of a specification.

    Raises:
        SpecError: the file cannot be read, or lacks something.
    """
    path = directory / FILE
    if not path.exists():
        return ()
    top = Node(FILE, "", parsed(FILE, file_text(path, FILE)))
    return tuple(_text(name, top.child(name)) for name in top.keys)


def _text(name: str, node: Node) -> TextLayout:
    _check(node, _KEYS, {"versions", "keys"})
    versions = _numbers(node, "versions")
    keys = node.child("keys")
    made = tuple(_key(key, keys.child(key), versions) for key in keys.keys)
    layout = TextLayout(name, versions, made)
    for attribute in {key.attribute for key in made}:
        for version in versions:
            named = [k.key for k in made if k.attribute == attribute and version in k.versions]
            if len(named) > 1:
                both = " and ".join(named)
                raise node.fail(f"{both} are {attribute} in version {version}; leave out one")
    if {VERSION} - {key.attribute for key in made}:
        raise node.fail(f"no key is the {VERSION}; write one", "keys")
    return layout


def _key(key: str, node: Node, versions: tuple[int, ...]) -> TextKey:
    _check(node, _OF_KEY, {"attribute", "type"})
    kind = node.text("type")
    if kind not in TYPES:
        raise node.fail(f"unknown type {kind}; the types are {', '.join(TYPES)}", "type")
    own = _numbers(node, "versions") if "versions" in node.content else versions
    required = _numbers(node, "required") if "required" in node.content else ()
    for name, given, known in (("versions", own, versions), ("required", required, own)):
        if set(given) - set(known):
            raise node.fail(f"not among {', '.join(map(str, known))}; write some of these", name)
    return TextKey(key, node.text("attribute"), kind, own, required)


def _numbers(node: Node, key: str) -> tuple[int, ...]:
    found = node.content[key]
    if not isinstance(found, list) or not found or not all(type(n) is int for n in found):
        raise node.fail("write a list of numbers, as [0, 1]", key)
    return tuple(found)


def _check(node: Node, known: set[str], needed: set[str]) -> None:
    for key in node.keys:
        if key not in known:
            raise node.fail(f"unknown key {key}; the keys are {', '.join(sorted(known))}")
    for key in sorted(needed - set(node.keys)):
        raise node.fail(f"{key} is missing; write it")
