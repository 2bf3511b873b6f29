"""Headers of entries have one table: no other class holds them, and no other asks a codec."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from kafkaspec.layout import names
from tests.structure.source import ROOT, trees, walk

TABLE = "kafkaspec/log/header_table.py"
WALKS = "kafkaspec/log/headers.py"
CODECS = "kafkaspec/codecs/"

_COLUMN = {"Sequence", "Column", "array", "list", "memoryview", "ndarray", "NDArray", "Array"}
"""Types that hold a value for each entry."""
_FIELDS = {name.rpartition(".")[2] for name in names.HEADER_NAMES} | {
    "position", "size", "crc", "first_offset", "leader_epoch", "append_time", "transactional",
    "control",
}  # fmt: skip
_FEW = 3
"""Columns of headers that a class may have; with more it is a table of headers."""


def columns(node: ast.ClassDef) -> set[str]:
    """Return the fields of headers that a class has a column for: by annotation, or as a table."""
    found = set()
    for item in ast.walk(node):
        if isinstance(item, ast.AnnAssign):
            target = item.target
            name = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")
            words = {part.id for part in ast.walk(item.annotation) if isinstance(part, ast.Name)}
            words |= {p.attr for p in ast.walk(item.annotation) if isinstance(p, ast.Attribute)}
            if name in _FIELDS and words & _COLUMN:
                found.add(name)
        elif isinstance(item, ast.Assign) and isinstance(item.value, ast.Call):
            called = item.value.func
            if isinstance(called, ast.Name) and called.id == "_Listed":
                found |= {target.id for target in item.targets if isinstance(target, ast.Name)}
    return found


def tables(tree: ast.Module) -> Iterator[str]:
    for node in walk(tree):
        if isinstance(node, ast.ClassDef) and len(columns(node)) > _FEW:
            yield node.name


def asks_a_codec(tree: ast.Module) -> bool:
    """Return whether a module has a codec scan entries, ``segment.codec.scan(...)``."""
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "scan"
        and (
            (isinstance(node.func.value, ast.Attribute) and node.func.value.attr == "codec")
            or (isinstance(node.func.value, ast.Name) and node.func.value.id == "codec")
        )
        for node in walk(tree)
    )


@pytest.mark.slow
def test_one_class_is_a_table_of_headers() -> None:
    found = [
        (path.relative_to(ROOT).as_posix(), name)
        for path, tree in trees("kafkaspec").items()
        for name in tables(tree)
    ]
    assert found == [(TABLE, "HeaderTable")]


@pytest.mark.slow
def test_one_module_has_a_codec_scan_entries() -> None:
    found = {path.relative_to(ROOT).as_posix() for path, tree in trees("kafkaspec").items()
             if asks_a_codec(tree)}  # fmt: skip
    assert found == {WALKS}


@pytest.mark.slow
def test_one_module_knows_the_scan_of_a_codec() -> None:
    found = {
        path.relative_to(ROOT).as_posix()
        for path, tree in trees("kafkaspec").items()
        for node in walk(tree)
        if isinstance(node, ast.Name) and node.id == "Scan"
    }
    assert {name for name in found if not name.startswith(CODECS)} == {TABLE}


def test_what_is_forbidden_is_found() -> None:
    dataclass = """
class Headers:
    position: Sequence[int]
    crc: list[int]
    producer_id: np.ndarray
    leader_epoch: Column
"""
    row = "class Row:\n    position: int\n    crc: int\n    producer_id: int\n    size: int\n"
    assert list(tables(ast.parse(dataclass))) == ["Headers"]
    assert list(tables(ast.parse(row))) == []
    assert asks_a_codec(ast.parse("segment.codec.scan(buffer)"))
    assert not asks_a_codec(ast.parse("segment.scan(position)"))
