"""Only one module prints, and it lets no name or message control a terminal."""

from __future__ import annotations

import ast

import pytest

from tests.structure.source import ROOT, trees, walk

PRINTER = "kafkaspec/cli/console.py"
PRINTS = {"print", "echo", "secho", "echo_via_pager", "style", "writelines"}
OTHERS = {"Console", "Table"}
ALLOWED = {
    ("kafkaspec/__main__.py", "print"),  # the version, without what commands need
    ("kafkaspec/cli/outputs.py", "stdout"),  # takes the bytes of a file
    ("kafkaspec/cli/main.py", "stdout"),  # is flushed, or closed after a broken pipe
    ("kafkaspec/cli/spark/session.py", "stderr"),  # is asked whether it is a terminal
    ("kafkaspec/conformance/serving.py", "stdout"),  # speaks a protocol of bytes
}
"""Modules with one of these names that do not print text."""


def found(tree: ast.Module) -> set[str]:
    """Names that a module calls to print, or takes from rich or sys to do so."""
    names = set()
    for node in walk(tree):
        if isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Name) and called.id in PRINTS | OTHERS:
                names.add(called.id)
            elif isinstance(called, ast.Attribute) and called.attr in PRINTS | OTHERS:
                base = called.value
                # console.print is a method of what the one module returns.
                if not (isinstance(base, ast.Name) and base.id == "console"):
                    names.add(called.attr)
        elif (
            isinstance(node, ast.Attribute)
            and node.attr in ("stdout", "stderr")
            and isinstance(node.value, ast.Name)
            and node.value.id == "sys"
        ):
            names.add(node.attr)
    return names


@pytest.mark.slow
def test_nothing_prints_around_the_one_place() -> None:
    wrong = []
    for path, tree in trees("kafkaspec").items():
        name = path.relative_to(ROOT).as_posix()
        if name == PRINTER:
            continue
        for item in found(tree):
            if (name, item) not in ALLOWED:
                wrong.append(f"{name}: {item}")
    assert wrong == []
