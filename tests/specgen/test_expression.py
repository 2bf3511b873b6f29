"""The expression language: precedence as the official compiler has it, and text made of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.specgen.docs.text import expression_text
from tools.specgen.evaluate import UnknownNameError, evaluate
from tools.specgen.expression import EnumMember, Int, Name, Unary, literal, names, parse, walk
from tools.specgen.facts.fields import expressions
from tools.specgen.loader import load

SPEC = Path(__file__).parents[2] / "spec"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("7 - 2 - 1", 4),
        ("-7 / 2", -4),
        ("1 << 2 + 1", 8),
        ("6 & 3 == 2 ? 1 : 0", 1),
        ("1 | 2 ^ 3 & 2", 1),
        ("0x7fff_ffff", 0x7FFFFFFF),
        ("0b1010", 10),
        ("not true or true", True),
        ("true or false and false", True),
        ("false ? 1 : true ? 2 : 3", 2),
        ("~0", -1),
        ("- -1", 1),
        ("x.y[1]", 5),
        ("x.y.size", 2),
        ("n.value - 1", 8),
        ("color::red", 0),
    ],
)
def test_value(text: str, value: object) -> None:
    known = {"x": {"y": [4, 5]}, "n": 9, "color::red": 0}
    assert evaluate(parse(text), known) == value


def test_only_what_is_needed_is_computed() -> None:
    assert evaluate(parse("false and missing == 1 ? missing : 2"), {}) == 2
    with pytest.raises(UnknownNameError, match="missing"):
        evaluate(parse("missing + 1"), {})


@pytest.mark.parametrize("text", ["", "1 +", "a b", "a ? b", "f(x)", "'text'", "1..2", "a[", "é"])
def test_refused(text: str) -> None:
    with pytest.raises(ValueError, match="cannot read the expression"):
        parse(text)


def test_walk_and_names() -> None:
    expression = parse("a.b + (c == d::e ? -1 : f[g])")
    assert names(expression) == {"a", "c", "f", "g"}
    assert EnumMember("d", "e") in walk(expression)
    assert next(walk(expression)) == expression


def test_literal() -> None:
    assert literal(parse("-5")) == literal(Unary("-", Int(5))) == -5
    assert literal(Name("a")) is literal(None) is None


@pytest.mark.slow
def test_text_of_every_expression_of_the_specification_means_the_same() -> None:
    seen = 0
    for type_ in load(SPEC).all_types():
        for node in type_.nodes:
            for _, expression in expressions(node):
                # The docs name members without their enumeration.
                if not any(isinstance(inner, EnumMember) for inner in walk(expression)):
                    assert parse(expression_text(expression)) == expression
                    seen += 1
    assert seen > 50
