"""What happens with errors has one set of words, in one module."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import get_args

import pytest

from kafkaspec.options import FORMER_WORDS
from kafkaspec.policy import ErrorPolicy
from tests.structure.source import ROOT, trees, walk

HOME = ROOT / "kafkaspec" / "policy.py"
WORDS = {*get_args(ErrorPolicy), *(word for words in FORMER_WORDS.values() for word in words)}
WORDS |= {"strict", "failfast", "permissive", "dropcorrupt"}
"""Words for what happens with an error: those there are, those there were, and those of others."""

OTHERS = {
    frozenset({"keep", "drop"}): "records of aborted transactions",
    frozenset({"keep", "shift", "renumber"}): "offsets of a conversion",
    frozenset({"keep", "assign"}): "offsets of rows that are written",
    frozenset({"off", "keep"}): "retention of restored topics",
    frozenset({"fetch", "keep"}): "segments of restored topics in remote storage",
    frozenset({"leave", "keep"}): "entries of which nobody knows whether they are data",
    frozenset({"string", "strict", "binary"}): "how header keys are shown",
    frozenset({"error", "latest"}): "an option of Spark's own Kafka source",
    frozenset({"FAILFAST", "PERMISSIVE", "DROPCORRUPT"}): "Spark's own modes, at its border",
}
"""Sets of words with one of these that are about something else."""


def enumerations(tree: ast.Module) -> Iterator[frozenset[str]]:
    """Yield the words of each ``Literal`` and each ``Choice``."""
    for node in walk(tree):
        inner: list[ast.expr] = []
        if isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith("Literal"):
            inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Choice"):
            inner = [each for arg in node.args for each in getattr(arg, "elts", ())]
        words = [each.value for each in inner if isinstance(each, ast.Constant)]
        yield frozenset(word for word in words if isinstance(word, str))


def found(tree: ast.Module) -> set[frozenset[str]]:
    return {
        words
        for words in enumerations(tree)
        if len(words) > 1 and WORDS & {word.lower() for word in words}
    }


@pytest.mark.slow
def test_an_error_policy_has_its_words_in_one_module() -> None:
    others = {
        (path.relative_to(ROOT).as_posix(), words)
        for path, tree in trees("kafkaspec").items()
        if path != HOME
        for words in found(tree)
    }
    assert {item for item in others if item[1] not in OTHERS} == set()
    assert {words for _, words in others} == OTHERS.keys()


def test_a_second_error_policy_is_found() -> None:
    text = """
Mine = Literal["fail", "carry on"]
kind = click.Choice(["column", "stop"])
other = Literal["a", "b"]
"""
    assert found(ast.parse(text)) == {
        frozenset({"fail", "carry on"}), frozenset({"column", "stop"}),
    }  # fmt: skip


def test_the_words_of_the_module_are_those_of_the_policy() -> None:
    # The CRC is not checked; data is not there: other things.
    aside = {frozenset({"raise", "ignore"}), frozenset({"stop", "continue"})}
    for words in enumerations(trees("kafkaspec")[HOME]):
        assert words <= {*get_args(ErrorPolicy)} or words in aside
