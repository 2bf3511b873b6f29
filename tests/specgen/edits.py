"""Edit the specification as data, and make generated trees from the result.

An edit is a name, a function that changes the loaded YAML of the specification, and what must
hold afterwards. Nothing here compares text, so that a change of a nearby line of ``spec/`` breaks
no edit. ``edit_spec`` changes the ``.ksy`` files of any directory in place (of a copy of the whole
repository, for instance); ``make_tree`` generates code from an edited copy and imports it.
"""

from __future__ import annotations

import importlib
import itertools
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

from tools.drafts.text import Yaml, dump
from tools.specgen import driver, house
from tools.specgen.house import house_of
from tools.specgen.loader import spec_files
from tools.specgen.model import MESSAGES

SPEC = Path(__file__).resolve().parents[2] / "spec"
HOUSE = house_of(SPEC)
"""The house of a specification that the library serves."""
FAST = tuple(target for target in house.TARGETS if target != "kaitai")
"""All targets but the official compiler, which takes seconds."""

Files = dict[str, Yaml]
"""Loaded specifications by path without suffix, their id; an edit may add one."""


@dataclass(frozen=True)
class Edit:
    """One change of the format.

    Attributes:
        name: for test ids and package names.
        apply: changes the loaded files in place.
        holds: what must hold of the generated code, asked of each codec of a tree.
    """

    name: str
    apply: Callable[[Files], None]
    holds: Callable[[Tree, Any], None] = lambda tree, codec: None


@dataclass(frozen=True)
class Tree:
    """Generated code of an edited specification, importable as ``package``."""

    package: str
    spec: Path
    path: Path

    def module(self, name: str) -> ModuleType:
        """A generated module, ``python.model.recordbatch`` for instance."""
        return importlib.import_module(f"{self.package}.{name}")

    def cls(self, key: str) -> Any:
        """A class of the typed model by key of the type, ``recordbatch.record``."""
        return self.module("python.model").model_class(key)


# -- editing ------------------------------------------------------------------------------------


def type_of(files: Files, key: str) -> Yaml:
    """The node of a type, ``recordbatch.record``; the id of a file alone means its root type."""
    spec_id, _, name = key.partition(".")
    found: Yaml = files[spec_id]["types"][name] if name and name != spec_id else files[spec_id]
    return found


def field_of(files: Files, key: str, field_id: str) -> Yaml:
    """The node of a field of a type."""
    fields: list[Yaml] = type_of(files, key)["seq"]
    return next(field for field in fields if field["id"] == field_id)


def insert(
    files: Files, key: str, *fields: Yaml, before: str | None = None, after: str | None = None
) -> None:
    """Insert fields into a type: before or after another one, at the end without either."""
    seq: list[Yaml] = type_of(files, key).setdefault("seq", [])
    anchor = before or after
    place = len(seq) if anchor is None else [field["id"] for field in seq].index(anchor)
    place += after is not None
    seq[place:place] = fields


def remove(files: Files, key: str, field_id: str) -> Yaml:
    """Take a field out of a type and return it."""
    field = field_of(files, key, field_id)
    type_of(files, key)["seq"].remove(field)
    return field


def move(
    files: Files, key: str, field_id: str, *, before: str | None = None, after: str | None = None
) -> None:
    """Move a field inside of its type."""
    insert(files, key, remove(files, key, field_id), before=before, after=after)


# -- files --------------------------------------------------------------------------------------


@cache
def _loaded(text: str) -> Yaml:
    loaded: Yaml = yaml.safe_load(text)
    return loaded


def edit_spec(directory: Path, *edits: Edit) -> None:
    """Apply edits to the ``.ksy`` files of a directory in place; other files stay as they are."""
    files = {
        name.removesuffix(".ksy"): deepcopy(_loaded(path.read_text(encoding="utf-8")))
        for name, path in spec_files(directory).items()
    }
    before = {spec_id: repr(node) for spec_id, node in files.items()}
    for edit in edits:
        edit.apply(files)
    for spec_id in before.keys() - files.keys():
        (directory / f"{spec_id}.ksy").unlink()
    for spec_id, node in files.items():
        if repr(node) != before.get(spec_id):
            path = directory / f"{spec_id}.ksy"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dump(node), encoding="utf-8")


_numbers = itertools.count()


def make_tree(root: Path, *edits: Edit, targets: Iterable[str] = FAST, source: Path = SPEC) -> Tree:
    """Copy a specification to ``root``, edit it and generate its code beside it.

    Kafka's messages are left out: no edit is about them, and there are many.

    The package gets a name of its own in this process, so that several trees can be imported;
    ``imported`` puts it on the path.
    """
    spec = root / "spec"
    shutil.copytree(source, spec, ignore=shutil.ignore_patterns(MESSAGES))
    edit_spec(spec, *edits)
    package = f"edited_{next(_numbers)}_{'_'.join(edit.name for edit in edits)[:60]}"
    driver.generate(spec, root / package, targets)
    return Tree(package, spec, root / package)


@contextmanager
def imported(trees: Sequence[Tree]) -> Iterator[None]:
    """Make trees importable; forget their modules at the end."""
    homes = [str(tree.path.parent) for tree in trees]
    packages = {tree.package for tree in trees}
    sys.path[:0] = homes
    importlib.invalidate_caches()
    try:
        yield
    finally:
        for home in homes:
            sys.path.remove(home)
        for name in [name for name in sys.modules if name.split(".")[0] in packages]:
            del sys.modules[name]
