"""Options of public functions have names and types, so that editors and type checkers know them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.structure.source import ROOT, trees

EXEMPT = {
    "kafkaspec/codecs/references/construct/runtime.py: With.__init__": "names are of parameters",
    "kafkaspec/tiered/filesystem.py: TieredFileSystem.__init__": "fsspec hands over its own",
}
"""Options whose names are not ours, and why."""


def signatures(
    node: ast.AST, scope: str = ""
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Yield the functions that can be called from outside, with the names of their classes."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef) and not child.name.startswith("_"):
            yield from signatures(child, f"{scope}{child.name}.")
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            if not child.name.startswith("_") or child.name == "__init__":
                yield f"{scope}{child.name}", child
        elif isinstance(child, ast.If | ast.Try | ast.With):
            yield from signatures(child, scope)


def untyped(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a function takes options of which nobody knows the names."""
    rest = function.args.kwarg
    if rest is None or rest.arg.startswith("_"):  # an override that leaves them alone
        return False
    return rest.annotation is None or ast.unparse(rest.annotation) in ("Any", "object")


def test_no_public_function_takes_options_without_names() -> None:
    found = {
        f"{path.relative_to(ROOT).as_posix()}: {name}"
        for path, tree in trees("kafkaspec").items()
        if not path.is_relative_to(ROOT / "kafkaspec" / "cli")  # click calls these
        for name, function in signatures(tree)
        if untyped(function)
    }
    assert found - EXEMPT.keys() == set()
    assert EXEMPT.keys() <= found


def test_options_without_names_are_found() -> None:
    text = """
def f(**x: Any): pass
class A:
    def __init__(self, **x: object): pass
    def g(self, **x): pass
    def h(self, **x: Unpack[Names]): pass
    def _i(self, **x: Any): pass
class _B:
    def j(self, **x: Any): pass
"""
    found = [name for name, function in signatures(ast.parse(text)) if untyped(function)]
    assert found == ["f", "A.__init__", "A.g"]
