"""Each class that looks like a finding is one: ``kafkaspec.results.Finding``.

It has a message and a kind, or a place in a log and a text that says why.
"""

from __future__ import annotations

import ast
from importlib import import_module

import pytest

from kafkaspec import results
from tests.structure.source import module_name, trees, walk

_WORDS = {"reason", "kind", "verdict", "why"}
_PLACES = {"position", "offset", "offsets", "first_offset", "start_offset"}

OTHERS = {
    "Added": "what salvage adds to its output; nothing is wrong with it",
    "CarriedEntry": "an entry of a checkpoint, whether it is written or left out",
    "ExpectedFinding": "a finding that verify must report of a scenario, as it is in its JSON",
    "Failure": "why one value does not decode, for its row in a column",
    "OpenInOutput": "a transaction in the output of salvage, which its input has too",
    "TailNote": "where a log ends, as a reader of it finds it",
}
"""Classes with a place and a text that are not findings, and what they are."""


@pytest.mark.slow
def test_each_class_that_looks_like_a_finding_is_one() -> None:
    found = set()
    for path, tree in trees("kafkaspec").items():
        module = module_name(path)
        for item in walk(tree):
            if not isinstance(item, ast.ClassDef) or not _has_fields(item):
                continue
            names = {
                each.target.id: ast.unparse(each.annotation)
                for each in item.body
                if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
            }
            made = getattr(import_module(module), item.name, None)
            says = "message" in names and names.keys() & _WORDS
            explains = names.keys() & _PLACES and "str" in (names.get("why"), names.get("reason"))
            if (says or explains) and not _is_finding(made) and not item.name.startswith("_"):
                found.add(item.name)
    assert found == OTHERS.keys(), "make it a subclass of kafkaspec.results.Finding"


def _has_fields(item: ast.ClassDef) -> bool:
    """Return whether it is a dataclass or a named tuple."""
    marks = (ast.unparse(each) for each in (*item.decorator_list, *item.bases))
    return any(mark.startswith(("dataclass", "NamedTuple")) for mark in marks)


def _is_finding(made: object) -> bool:
    return isinstance(made, type) and issubclass(made, results.Finding)
