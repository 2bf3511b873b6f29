"""Imports flow one way, and a fact has one reader: read from the source, not from memory."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

LAYERS = (
    (
        "kafkaspec.errors",
        "kafkaspec.checksum",
        "kafkaspec.layout",
        "kafkaspec.model",
        "kafkaspec.provider",
    ),
    ("kafkaspec._generated", "kafkaspec.compression"),
    ("kafkaspec.codecs",),
    ("kafkaspec.log",),
    ("kafkaspec.writing",),
    ("kafkaspec.arrow",),
    ("kafkaspec.analysis",),
    ("kafkaspec.conversion",),
    ("kafkaspec.conformance",),
    ("kafkaspec.cli", "kafkaspec.spark"),
)
"""Lowest first: a module may import from its own layer and from those before it."""

CODE = ("kafkaspec", "tools", "benchmarks")

MAXIMUM_LINES = 450


def modules(*folders: str) -> list[Path]:
    return sorted(
        path
        for folder in folders
        for path in (ROOT / folder).rglob("*.py")
        if "_generated" not in path.parts
    )


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def layer(name: str) -> int | None:
    for number, names in enumerate(LAYERS):
        if any(name == prefix or name.startswith(prefix + ".") for prefix in names):
            return number
    return None


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@pytest.mark.parametrize("path", modules(*CODE), ids=module_name)
def test_nothing_imports_upwards(path: Path) -> None:
    own = layer(module_name(path))
    if own is None:
        return
    upward = sorted(
        name for name in imported(path) if (other := layer(name)) is not None and other > own
    )
    assert upward == []


def test_the_library_does_not_import_the_tools() -> None:
    guilty = [
        module_name(path)
        for path in modules(*CODE)
        if path.is_relative_to(ROOT / "kafkaspec")
        and any(name.split(".")[0] in ("tools", "tests", "benchmarks") for name in imported(path))
    ]
    assert guilty == []


def test_only_the_loader_reads_the_yaml_of_the_specification() -> None:
    readers = [
        module_name(path)
        for path in modules(*CODE)
        if any(name.split(".")[0] in ("yaml", "ruamel") for name in imported(path))
    ]
    assert readers == ["tools.specgen.loader"]


@pytest.mark.parametrize("path", modules(*CODE, "tests", "native"), ids=module_name)
def test_a_module_is_a_small_room(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAXIMUM_LINES


def test_every_generated_file_says_so_in_its_first_line() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "generated").rglob("*"))
        if path.is_file()
        and path.suffix != ".json"
        and "__pycache__" not in path.parts
        and "DO NOT EDIT" not in path.read_text(encoding="utf-8").split("\n", 1)[0]
    ]
    assert silent == []
