"""Transactions are followed in one place, and one function says what a marker does to one."""

from __future__ import annotations

import ast

import pytest

from tests.structure.source import ROOT, trees, walk

_TYPE = "kafkaspec/log/control.py"
_WRITERS = {
    "kafkaspec/forensics/salvage/additions.py": "chooses a type, and writes it",
    "kafkaspec/forensics/transactions.py": "says which of them the state of a coordinator means",
}
_READERS = {
    "kafkaspec/log/markers.py": "reads the markers of a table, each different one once",
    "kafkaspec/broker/producer_state.py": "models ProducerStateManager, which needs their times",
    "kafkaspec/forensics/cleaner/passes.py": "models the cleaner, which keeps their records",
    "kafkaspec/analysis/parts.py": "counts a control record of any type, as verify does",
}
_TRACKERS = {
    "kafkaspec/log/transactions.py": "the tracker of all commands",
    "kafkaspec/broker/producer_state.py": "models ProducerStateManager",
    "kafkaspec/forensics/salvage/additions.py": "follows the parts of damaged segments",
}
_OPEN = {"open_since", "ongoing", "_ongoing", "_open", "open", "_begun", "pending"}
"""Names of what holds the transactions that are open."""


def _sources() -> dict[str, ast.Module]:
    found = trees("kafkaspec").items()
    return {path.relative_to(ROOT).as_posix(): tree for path, tree in found}


def _ends(node: ast.AST) -> bool:
    """Return whether code names one of the two types of markers."""
    if isinstance(node, ast.Attribute):
        return node.attr in ("ABORT", "COMMIT") and ast.unparse(node.value) == "ControlRecordType"
    return False


@pytest.mark.slow
def test_one_function_says_whether_a_marker_aborts() -> None:
    found = {path for path, tree in _sources().items() if any(map(_ends, walk(tree)))}
    assert found == {_TYPE, *_WRITERS}, "ask ControlRecord.aborts"


@pytest.mark.slow
def test_markers_are_read_in_one_place() -> None:
    found = {
        path
        for path, tree in _sources().items()
        for node in walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "marker"
        and not node.args
    }
    assert found == set(_READERS), "ask kafkaspec.log.markers.markers"


@pytest.mark.slow
def test_no_other_class_follows_transactions() -> None:
    found = set()
    for path, tree in _sources().items():
        reads = any(
            (isinstance(node, ast.Attribute) and node.attr in ("transactional", "is_transactional"))
            or (isinstance(node, ast.Name) and node.id == "OpenTransaction")
            for node in walk(tree)
        )  # fmt: skip
        for node in walk(tree) if reads else ():
            if isinstance(node, ast.AnnAssign | ast.Assign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if any(
                    isinstance(each, ast.Attribute)
                    and each.attr in _OPEN
                    and isinstance(node.value, ast.Dict | ast.DictComp)
                    for each in targets
                ):
                    found.add(path)
    assert found <= set(_TRACKERS), "use kafkaspec.log.transactions.Transactions"
    assert "kafkaspec/log/transactions.py" in found
