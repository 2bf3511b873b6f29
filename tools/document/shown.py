"""Find the tests that rules name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tools.document.source import ROOT, FormatDocument


def missing(document: FormatDocument) -> Iterator[str]:
    """Yield what rules name and is not a test that pytest would collect."""
    for rule in document.rules:
        for test in rule.tests:
            path, _, name = test.partition("::")
            if not (ROOT / path).is_file():
                yield f"{rule.id} names {path}, which is not there"
            elif name not in _tests(ROOT / path):
                yield f"{rule.id} names {test}, which is not a test"


@cache
def _tests(path: Path) -> frozenset[str]:
    """Return the names of the test functions of a file."""
    if not path.name.startswith("test_"):
        return frozenset()
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return frozenset(
        item.name
        for item in body
        if isinstance(item, ast.FunctionDef) and item.name.startswith("test_")
    )
