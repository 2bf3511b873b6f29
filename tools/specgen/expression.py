"""The expression language of Kaitai Struct, as far as the specification uses it.

Text becomes a tree of frozen dataclasses, which emitters translate and the linter walks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

from lark import Lark, Token, Transformer, UnexpectedInput, v_args
from lark.exceptions import VisitError


@dataclass(frozen=True)
class Int:
    """An integer literal."""

    value: int


@dataclass(frozen=True)
class Bool:
    """``true`` or ``false``."""

    value: bool


@dataclass(frozen=True)
class Name:
    """An attribute of the type, a parameter, or one of ``_``, ``_index``, ``_io``, ``_parent``."""

    id: str


@dataclass(frozen=True)
class Attribute:
    """``value.name``."""

    value: Expression
    name: str


@dataclass(frozen=True)
class Index:
    """``value[index]``."""

    value: Expression
    index: Expression


@dataclass(frozen=True)
class Unary:
    """``-x``, ``~x`` or ``not x``."""

    operator: str
    operand: Expression


@dataclass(frozen=True)
class Binary:
    """Arithmetic, bit operations, comparisons, ``and`` and ``or``."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Ternary:
    """``condition ? then : otherwise``."""

    condition: Expression
    then: Expression
    otherwise: Expression


@dataclass(frozen=True)
class EnumMember:
    """``enumeration::member``."""

    enum: str
    member: str


Expression = Int | Bool | Name | Attribute | Index | Unary | Binary | Ternary | EnumMember

LEFT = Binary("-", Attribute(Name("_io"), "size"), Attribute(Name("_io"), "pos"))
"""``_io.size - _io.pos``: bytes that are left."""

_DEEPEST = 100
"""Levels that an expression may have."""

_GRAMMAR = r"""
?start: ternary
?ternary: disjunction | disjunction "?" ternary ":" ternary -> ternary
?disjunction: conjunction | disjunction OR conjunction -> binary
?conjunction: negation | conjunction AND negation -> binary
?negation: comparison | NOT negation -> unary
?comparison: bit_or | comparison COMPARE bit_or -> binary
?bit_or: bit_xor | bit_or PIPE bit_xor -> binary
?bit_xor: bit_and | bit_xor CARET bit_and -> binary
?bit_and: shift | bit_and AMPERSAND shift -> binary
?shift: sum | shift SHIFT sum -> binary
?sum: product | sum SIGN product -> binary
?product: prefix | product FACTOR prefix -> binary
?prefix: postfix | SIGN prefix -> unary | TILDE prefix -> unary
?postfix: atom
    | postfix "." ID -> attribute
    | postfix "[" ternary "]" -> index
    | postfix CAST -> cast
?atom: NUMBER -> number
    | TRUE -> true
    | FALSE -> false
    | ID "::" ID -> enum_member
    | ID -> name
    | "(" ternary ")"
CAST.3: ".as<s4>" | ".as<s8>"
OR.2: "or"
AND.2: "and"
NOT.2: "not"
TRUE.2: "true"
FALSE.2: "false"
COMPARE: "==" | "!=" | "<=" | ">=" | "<" | ">"
PIPE: "|"
CARET: "^"
AMPERSAND: "&"
SHIFT.2: "<<" | ">>"
SIGN: "+" | "-"
FACTOR: "*" | "/" | "%"
TILDE: "~"
NUMBER: /0[xX][0-9a-fA-F_]+|0[bB][01_]+|[0-9][0-9_]*/
ID: /[A-Za-z_][A-Za-z0-9_]*/
%ignore /\s+/
"""


@v_args(inline=True)
class _Build(Transformer[Token, Expression]):
    """Turns lark's tree into ours; one method for each alias of the grammar."""

    index, ternary = Index, Ternary

    def number(self, text: Token) -> Expression:
        return Int(int(text.replace("_", ""), 0))

    def true(self, _text: Token) -> Expression:
        return Bool(True)

    def false(self, _text: Token) -> Expression:
        return Bool(False)

    def name(self, name: Token) -> Expression:
        return Name(str(name))

    def enum_member(self, enum: Token, member: Token) -> Expression:
        return EnumMember(str(enum), str(member))

    def attribute(self, value: Expression, name: Token) -> Expression:
        if name == "to_i":
            return value  # The official compiler has other types for numbers with an enum.
        return Attribute(value, str(name))

    def cast(self, value: Expression, _type: Token) -> Expression:
        # For the compiler's other languages: Java would compute in 32 bits, Go takes no two types
        # together. Our codecs have integers of one kind.
        return value

    def unary(self, operator: Token, operand: Expression) -> Expression:
        return Unary(str(operator), operand)

    def binary(self, left: Expression, operator: Token, right: Expression) -> Expression:
        return Binary(str(operator), left, right)


@lru_cache(maxsize=1)
def _parser() -> Lark:
    return Lark(_GRAMMAR, parser="lalr", maybe_placeholders=False)


@lru_cache(maxsize=4096)
def parse(text: str) -> Expression:
    """Return the tree of an expression.

    Raises:
        ValueError: the text is not an expression of the supported language.
    """
    try:
        tree = _Build().transform(_parser().parse(text))
    except UnexpectedInput as error:
        message = f"cannot read the expression {shown(text)} at column {error.column}"
        raise ValueError(message) from None
    except (VisitError, RecursionError):
        raise ValueError(f"cannot read the expression {shown(text)}; make it simpler") from None
    if _depth(tree) > _DEEPEST:
        raise ValueError(f"the expression {shown(text)} is nested too deeply; make it simpler")
    return tree


def shown(value: object) -> str:
    """Return a value for a message, shortened where it is long."""
    try:
        text = repr(value)
    except ValueError:
        text = "a number of thousands of digits"
    return text if len(text) <= 80 else f"{text[:77]}..."


def _depth(expression: Expression) -> int:
    level, depth = [expression], 0
    while level:
        level = [part for node in level for part in parts(node)]
        depth += 1
    return depth


def parts(expression: Expression) -> list[Expression]:
    """Return the expressions directly inside."""
    values = (getattr(expression, field.name) for field in fields(expression))
    return [value for value in values if isinstance(value, Expression)]


def rebuild(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """Return the node with each part changed."""
    changed: dict[str, Any] = {
        field.name: change(part)
        for field in fields(expression)
        if isinstance(part := getattr(expression, field.name), Expression)
    }
    return replace(expression, **changed) if changed else expression


def walk(expression: Expression) -> Iterator[Expression]:
    """Yield the node and all nodes below it, parents first."""
    yield expression
    for part in parts(expression):
        yield from walk(part)


def names(expression: Expression) -> frozenset[str]:
    """Return every plain name that the expression mentions, special ones included."""
    return frozenset(node.id for node in walk(expression) if isinstance(node, Name))


def dotted(expression: Expression) -> Iterator[str]:
    """Yield dotted names in an expression, ``batch.attributes.compression``."""
    for node in walk(expression):
        ids: list[str] = []
        inner: Expression = node
        while isinstance(inner, Attribute):
            ids.insert(0, inner.name)
            inner = inner.value
        if isinstance(inner, Name):
            yield ".".join([inner.id, *ids])


def literal(expression: Expression | None) -> int | None:
    """Return the integer that the expression is, None if it is anything else."""
    match expression:
        case Int(value):
            return value
        case Unary("-", Int(value)):
            return -value
    return None


def rename(expression: Expression, make: Callable[[str], Expression]) -> Expression:
    """Return the expression with each plain name replaced."""
    if isinstance(expression, Name):
        return make(expression.id)
    return rebuild(expression, lambda part: rename(part, make))
