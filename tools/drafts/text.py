"""Write a file of the specification with its keys in the order of the style guide."""

from __future__ import annotations

from typing import Any

import yaml

Yaml = dict[str, Any]
_KEY_ORDER = (
    "meta", "id", "title", "application", "file-extension", "xref", "license", "ks-version",
    "imports", "endian", "bit-endian", "-orig-id", "-releases", "-since", "-identity", "-scalar",
    "-suffix", "-webide-representation", "-derive", "-default", "-ascending", "-from", "-known",
    "-offsets", "pos", "value", "size", "size-eos", "type", "enum", "valid", "repeat",
    "repeat-expr", "repeat-until", "if", "doc", "doc-ref", "params", "seq", "instances", "types",
    "enums",
)  # fmt: skip


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks, everything else as short as it goes."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text.strip() else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def _ordered(node: Any, *, names: bool = False) -> Any:
    """The node with the keys of the language in the order of the style guide."""
    if isinstance(node, list):
        return [_ordered(item) for item in node]
    if not isinstance(node, dict):
        return node
    keys = list(node)
    if not names:
        keys.sort(key=lambda key: _KEY_ORDER.index(key) if key in _KEY_ORDER else len(_KEY_ORDER))
    children = {"types", "instances", "enums", "cases", "xref"}
    return {key: _ordered(node[key], names=not names and key in children) for key in keys}


def dump(node: Yaml) -> str:
    """A file of the specification as YAML text."""
    return yaml.dump(_ordered(node), Dumper=_Dumper, sort_keys=False, width=10_000)
