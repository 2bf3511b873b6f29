"""The project's modules and their imports, as the source has them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kafkaspec.lazy import uncollected

ROOT = Path(__file__).resolve().parents[2]

CODE = ("kafkaspec", "tools", "benchmarks")


@dataclass(frozen=True)
class Import:
    """One imported name.

    Attributes:
        module: the module that is imported, one of ours where there is one of that name.
        name: what is taken from it; None for the module itself.
        line: where.
        deferred: it stands inside of a function.
    """

    module: str
    name: str | None
    line: int
    deferred: bool

    @property
    def full(self) -> str:
        """The name of what is imported, with that of its module."""
        return self.module if self.name is None else f"{self.module}.{self.name}"


@dataclass(frozen=True)
class Module:
    """A module of the project."""

    name: str
    path: Path
    imports: tuple[Import, ...]

    @property
    def package(self) -> str:
        """The package that it lies in; a package is its own."""
        return self.name if self.path.name == "__init__.py" else self.name.rpartition(".")[0]


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def walk(tree: ast.Module) -> list[ast.AST]:
    """Return all nodes of a module, as ``ast.walk`` yields them, found once."""
    nodes: list[ast.AST] | None = getattr(tree, "nodes", None)
    if nodes is None:
        nodes = list(ast.walk(tree))
        tree.nodes = nodes  # type: ignore[attr-defined]
    return nodes


def trees(*folders: str) -> dict[Path, ast.Module]:
    """Syntax trees of all modules under ``folders`` but the generated ones, by path."""
    paths = sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    with uncollected():  # trees stay, and looking for garbage takes longer than parsing
        return {path: tree(path) for path in paths if "_generated" not in path.parts}


@cache
def modules(*folders: str) -> dict[str, Module]:
    """All modules under ``folders``, by name; without arguments those of the code."""
    found = trees(*(folders or CODE))
    names = {module_name(path) for path in found}
    return {
        name: Module(name, path, tuple(_imports(tree, name, path, names)))
        for path, tree in found.items()
        for name in [module_name(path)]
    }


def module_name(path: Path) -> str:
    """Return the name under which ``path`` is imported."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def _imports(tree: ast.Module, own: str, path: Path, names: set[str]) -> Iterator[Import]:
    package = own if path.name == "__init__.py" else own.rpartition(".")[0]
    for node, deferred in _statements(tree, False):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, None, node.lineno, deferred)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                module = ".".join(filter(None, [*above, module]))
            for alias in node.names:
                inner = f"{module}.{alias.name}"
                is_module = inner in names
                yield Import(
                    inner if is_module else module,
                    None if is_module else alias.name,
                    node.lineno,
                    deferred,
                )


_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


def _statements(node: ast.AST, inside: bool) -> Iterator[tuple[ast.AST, bool]]:
    """Yield all statements, each with whether it is part of a function."""
    for block in _BLOCKS:
        for child in getattr(node, block, ()):
            yield child, inside
            function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
            yield from _statements(child, inside or function)


def circles(graph: dict[str, set[str]]) -> set[frozenset[str]]:
    """Return the sets of nodes of which each leads to each other one."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: set[frozenset[str]] = set()

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            members = stack[stack.index(node) :]
            del stack[len(stack) - len(members) :]
            if len(members) > 1 or node in graph[node]:
                found.add(frozenset(members))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found
