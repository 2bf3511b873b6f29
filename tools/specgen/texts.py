"""Read ``texts.yaml``: which keys the versions of text files have."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kafkaspec.layout import TextFormat, TextKey, TextLayout
from tools.specgen.document import Node, file_text, parsed

FILE = "texts.yaml"
"""The file, in the folder of the specification; a specification may have none."""
TYPES = ("s2", "s4", "s8", "str", "topic", "uuid")
"""Whole numbers of 16, 32 and 64 bits, text, the name of a topic, and an id as Kafka writes it."""
_KEYS = {"doc", "doc-ref", "also", "format", "newer", "versions", "keys"}
_OF_KEY = {"attribute", "type", "versions", "required", "item", "nullable", "nonzero"}
VERSION = "version"
"""The attribute that every file needs, but a checkpoint, whose first line is one."""


def texts_of(directory: Path) -> tuple[TextLayout, ...]:
    """Return the text files of a specification.

    Raises:
        SpecError: the file cannot be read, or lacks something.
    """
    path = directory / FILE
    if not path.exists():
        return ()
    top = Node(FILE, "", parsed(FILE, file_text(path, FILE)))
    made = [(_text(name, top.child(name)), top.child(name)) for name in top.keys]
    return tuple(
        replace(layout, name=name)
        for layout, node in made
        for name in (layout.name, *node.texts("also"))
    )


def _text(name: str, node: Node) -> TextLayout:
    node.check(_KEYS, {"versions", "keys"})
    versions = _numbers(node, "versions")
    keys = node.child("keys")
    made = tuple(_key(key, keys.child(key), versions) for key in keys.keys)
    kind = node.text("format") if "format" in node.content else TextFormat.PROPERTIES
    if kind not in set(TextFormat):
        known = ", ".join(TextFormat)
        raise node.fail(f"unknown format {kind}; the formats are {known}", "format")
    layout = TextLayout(name, versions, made, TextFormat(kind), _flag(node, "newer"))
    for attribute in {key.attribute for key in made}:
        for version in versions:
            named = [k.key for k in made if k.attribute == attribute and version in k.versions]
            if len(named) > 1:
                both = " and ".join(named)
                raise node.fail(f"{both} are {attribute} in version {version}; leave out one")
    if layout.format is not TextFormat.CHECKPOINT and VERSION not in {k.attribute for k in made}:
        raise node.fail(f"no key is the {VERSION}; write one", "keys")
    return layout


def _key(key: str, node: Node, versions: tuple[int, ...]) -> TextKey:
    node.check(_OF_KEY, {"attribute", "type"})
    kind = node.text("type")
    if kind not in TYPES:
        raise node.fail(f"unknown type {kind}; the types are {', '.join(TYPES)}", "type")
    own = _numbers(node, "versions") if "versions" in node.content else versions
    required = _numbers(node, "required") if "required" in node.content else ()
    for name, given, known in (("versions", own, versions), ("required", required, own)):
        if set(given) - set(known):
            raise node.fail(f"not among {', '.join(map(str, known))}; write some of these", name)
    return TextKey(
        key, node.text("attribute"), kind, own, required,
        node.text("item") if "item" in node.content else "",
        _flag(node, "nullable"), _flag(node, "nonzero"),
    )  # fmt: skip


def _flag(node: Node, key: str) -> bool:
    found = node.content.get(key, False)
    if not isinstance(found, bool):
        raise node.fail("write true or false", key)
    return found


def _numbers(node: Node, key: str) -> tuple[int, ...]:
    found = node.content[key]
    if not isinstance(found, list) or not found or not all(type(n) is int for n in found):
        raise node.fail("write a list of numbers, as [0, 1]", key)
    return tuple(found)
