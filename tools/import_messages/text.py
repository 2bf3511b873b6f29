"""Write a file of the specification as text, and keep what people wrote into the one before."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tools.import_messages.structure import TODO, Node, name_imports

_WIDTH = 80
_PLACES = ("params", "seq")
_FIRST = ("meta", "-orig-id", "-releases")
_KEPT = ("-since", "-identity")
_LAST = ("valid", "if", "doc", "doc-ref", *_PLACES)


class _Dumper(yaml.SafeDumper):
    """Writes lists indented below their key, as the other files have them."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:
        return True


class _Block(str):
    """A text that gets separate lines."""

    __slots__ = ()


_Dumper.add_representer(
    _Block, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|")
)


def dump(node: Node) -> str:
    """Return the text of a file."""
    shown = _wrapped(node, 0)
    text: str = yaml.dump(shown, Dumper=_Dumper, sort_keys=False, width=10_000, allow_unicode=True)
    return text


def _wrapped(node: Any, depth: int) -> Any:
    """Return a node with each long ``doc`` as a block of lines."""
    if isinstance(node, list):
        return [_wrapped(item, depth + 2) for item in node]
    if not isinstance(node, dict):
        return node
    found = {}
    for key, value in node.items():
        if key == "doc" and isinstance(value, str):
            plain = " ".join(value.split())
            room = _WIDTH - depth - 2
            if len(f"doc: {plain}") > _WIDTH - depth:
                lines = textwrap.wrap(plain, min(room, len(plain) - 1))
                plain = _Block("\n".join(lines) + "\n")
            found[key] = plain
        else:
            found[key] = _wrapped(value, depth + 2)
    return found


def read(path: Path) -> Node:
    """Return what is in a file, nothing if there is none."""
    found: Node = yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def write(path: Path, made: Node, before: Node) -> bool:
    """Write a file with what ``keep`` keeps of the one before; return whether anything changes."""
    keep(made, before)
    name_imports(made)
    text = dump(made)
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return True


def keep(made: Node, before: Node) -> None:
    """Take over what no schema says from an earlier file: sentences, and names of numbers."""
    known = dict(_documented(before)) if before else {}
    if before:
        made.pop("-since", None)
    kept = {name: before[name] for name in _KEPT if name in before}
    after = {name: made.pop(name) for name in list(made) if name not in _FIRST}
    made |= kept | after
    for place, node in _documented(made):
        if node["doc"].startswith(TODO) and place in known:
            node["doc"] = known[place]["doc"]
        for key in ("-webide-representation", "enum"):
            if key not in node and key in known.get(place, ()):
                _put(node, key, known[place][key])


def _put(node: Node, key: str, value: Any) -> None:
    """Set a key of a type or of an integer where the order of keys has it."""
    after = {name: node.pop(name) for name in _LAST if name in node}
    node[key] = value
    node |= after


def _documented(file: Node) -> Iterator[tuple[str, Node]]:
    """Yield everything with a sentence by its place, which does not count fields."""
    yield "", file
    for name, type_ in {"": file, **file.get("types", {})}.items():
        if name:
            yield name, type_
        for place in _PLACES:
            for node in type_.get(place, ()):
                if "doc" in node:
                    yield f"{name}/{place}/{node['id']}", node
