"""Each class that looks like a finding is one: ``kafkaspec.results.Finding``."""

from __future__ import annotations

import ast
from importlib import import_module

import pytest

from kafkaspec import results
from tests.structure.source import module_name, trees, walk

_WORDS = {"reason", "kind", "verdict", "why"}


@pytest.mark.slow
def test_each_class_that_looks_like_a_finding_is_one() -> None:
    found = set()
    for path, tree in trees("kafkaspec").items():
        module = module_name(path)
        for item in walk(tree):
            if not isinstance(item, ast.ClassDef) or not _has_fields(item):
                continue
            names = {
                each.target.id
                for each in item.body
                if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
            }
            made = getattr(import_module(module), item.name, None)
            if "message" in names and names & _WORDS and not _is_finding(made):
                found.add(f"{module}.{item.name}")
    assert not found, "make it a subclass of kafkaspec.results.Finding"


def _has_fields(item: ast.ClassDef) -> bool:
    """Return whether it is a dataclass or a named tuple."""
    marks = (ast.unparse(each) for each in (*item.decorator_list, *item.bases))
    return any(mark.startswith(("dataclass", "NamedTuple")) for mark in marks)


def _is_finding(made: object) -> bool:
    return isinstance(made, type) and issubclass(made, results.Finding)
