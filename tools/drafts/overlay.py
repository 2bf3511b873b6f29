"""A draft: edits of the specification as data, with the KIP they come from and its state.

A draft is ``spec/drafts/NAME/draft.yaml``: ``title``, ``kip``, ``state``, ``source``, ``edits``,
and perhaps ``examples``, which ``tests/specgen/programs/examples.py`` writes and shows.
Edits are mappings with one of these keys each:

* ``set: PATH`` merges ``to`` into a node; ``null`` removes a key.
* ``insert: PATH`` puts ``fields`` into a ``seq``, ``before`` or ``after`` a field, or at its end.
* ``remove: PATH`` takes out a field or a key.
* ``copy: PATH`` copies types named in ``types`` of a file, each with ``suffix``; references among
  them follow.
* ``add: FILE`` adds a file with the content ``file``.

A path names the file without ``.ksy``, then keys, and fields by their id:
``recordbatch/types/record/seq/value``.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from tools.drafts.text import dump
from tools.specgen.document import parsed
from tools.specgen.loader import spec_files
from tools.specgen.texts import FILE as TEXTS

ROOT = Path(__file__).resolve().parents[2]
SPEC = ROOT / "spec"
DRAFTS = SPEC / "drafts"

Yaml = dict[str, Any]
OPERATIONS = {
    "set": {"to"}, "insert": {"fields", "before", "after"}, "remove": set(),
    "copy": {"types", "suffix"}, "add": {"file"},
}  # fmt: skip
_KEYS = {"title", "kip", "state", "source", "edits"}
_EXAMPLES = "examples"


class DraftError(ValueError):
    """A draft cannot be read or applied; the message names it, the edit and the remedy."""


@dataclass(frozen=True)
class Draft:
    """Edits of the specification.

    Attributes:
        name: its folder.
        title: the change in words.
        kip: the proposal, or "" for an invention of ours.
        state: where the proposal stands.
        source: where it is described.
        edits: as in the file.
        examples: files with such records, and what commands show of them.
    """

    name: str
    title: str
    kip: str
    state: str
    source: str
    edits: list[Yaml]
    examples: Sequence[Yaml] = ()


def drafts() -> list[Draft]:
    """Return all drafts by name.

    Raises:
        DraftError: one cannot be read.
    """
    return [read(path) for path in sorted(DRAFTS.glob("*/draft.yaml"))]


def read(path: Path) -> Draft:
    """Return the draft of a file.

    Raises:
        DraftError: it lacks a key or has an unknown one.
    """
    node: Any = parsed(path.name, path.read_text(encoding="utf-8"))
    if not isinstance(node, dict) or node.keys() - {_EXAMPLES} != _KEYS:
        raise DraftError(f"{path.parent.name}: a draft has the keys {', '.join(sorted(_KEYS))}")
    for number, edit in enumerate(node["edits"]):
        kinds = edit.keys() & OPERATIONS.keys()
        if len(kinds) != 1 or edit.keys() - kinds - OPERATIONS[next(iter(kinds))]:
            known = ", ".join(OPERATIONS)
            raise DraftError(f"{path.parent.name}: edit {number} is not one of {known}")
    return Draft(path.parent.name, **node)


def apply(draft: Draft, spec: Path) -> None:
    """Apply a draft to a specification in place.

    Raises:
        DraftError: an edit names what is not there.
    """
    files = {
        name.removesuffix(".ksy"): cast(Yaml, parsed(name, path.read_text(encoding="utf-8")))
        for name, path in (spec_files(spec) | {TEXTS: spec / TEXTS}).items()
    }
    before = deepcopy(files)
    for number, edit in enumerate(draft.edits):
        try:
            _edit(files, edit)
        except (KeyError, StopIteration, ValueError) as error:
            raise DraftError(f"{draft.name}: edit {number}: there is no {error}") from None
    for name, node in files.items():
        if before.get(name) != node:
            path = spec / (name if name == TEXTS else f"{name}.ksy")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dump(node), encoding="utf-8")


def _edit(files: dict[str, Yaml], edit: Yaml) -> None:
    if "add" in edit:
        files[edit["add"]] = deepcopy(edit["file"])
    elif "set" in edit:
        parent, key = _find(files, edit["set"])
        _merge(_child(parent, key), edit["to"])
    elif "remove" in edit:
        parent, key = _find(files, edit["remove"])
        child = _child(parent, key)
        parent.remove(child) if isinstance(parent, list) else parent.pop(key)
    elif "insert" in edit:
        parent, key = _find(files, edit["insert"])
        seq = _child(parent, key)
        place = len(seq)
        for word, step in (("before", 0), ("after", 1)):
            if word in edit:
                place = seq.index(_child(seq, edit[word])) + step
        seq[place:place] = deepcopy(edit["fields"])
    else:
        _copy(files, edit)


def _copy(files: dict[str, Yaml], edit: Yaml) -> None:
    """Copy types beside themselves; what they say of each other names the copies."""
    parent, key = _find(files, edit["copy"])
    types, names, suffix = _child(parent, key), edit["types"], edit["suffix"]
    for name in names:
        made = deepcopy(types[name])
        for node in (*made.get("params", ()), *made["seq"]):
            reference, mark, rest = str(node.get("type", "")).partition("(")
            if reference in names:
                node["type"] = f"{reference}{suffix}{mark}{rest}"
        types[f"{name}{suffix}"] = made


def _find(files: dict[str, Yaml], path: str) -> tuple[Any, Any]:
    """Return what holds a node, and its key there."""
    name = next((name for name in files if path == name or path.startswith(f"{name}/")), None)
    if name is None:
        raise KeyError(path)
    node: Any = files
    keys: list[Any] = [name, *filter(None, path.removeprefix(name).strip("/").split("/"))]
    for key in keys[:-1]:
        node = _child(node, key)
    return node, keys[-1]


def _child(node: Any, key: Any) -> Any:
    if isinstance(node, list):
        return next(item for item in node if item.get("id") == key)
    found = node.get(key, node.get(int(key)) if str(key).isdecimal() else None)
    if found is None:
        raise KeyError(key)
    return found


def _merge(node: Yaml, change: Yaml) -> None:
    for key, value in change.items():
        if value is None:
            node.pop(key, None)
        elif isinstance(value, dict) and isinstance(node.get(key), dict):
            _merge(node[key], value)
        else:
            node[key] = deepcopy(value)
