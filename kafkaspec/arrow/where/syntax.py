"""The parts of a condition, and the parser that makes them of text.

::

    or      = and { OR and }
    and     = not { AND not }
    not     = NOT not | "(" or ")" | operand [ test ]
    test    = ("=" | "!=" | "<>" | "<" | "<=" | ">" | ">=") operand
            | [NOT] IN "(" literal { "," literal } ")"
            | [NOT] BETWEEN operand AND operand
            | [NOT] LIKE string | [NOT] MATCHES string
            | IS [NOT] NULL
    operand = literal | name { "." name } | function "(" operand ")"
    literal = 'text' | x'00ff' | 17 | -2.5 | true | false | null

A name is a word, or anything in double quotes; a quote within quotes is doubled.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, NamedTuple, NoReturn

Constant = str | int | Decimal | bool | bytes | None


class WhereError(ValueError):
    """A condition is none, or does not suit the columns.

    Attributes:
        position: number of the character that is wrong, from 0.
    """

    def __init__(self, message: str, text: str, position: int) -> None:
        super().__init__(f"{message}, at character {position + 1} of {_around(text, position)}")
        self.position = position


_SHOWN = 20
"""Characters before and after a place that a message shows."""


def _around(text: str, position: int) -> str:
    first = max(0, position - _SHOWN)
    last = position + _SHOWN
    return (
        ("..." if first else "") + repr(text[first:last])[1:-1] + ("..." if text[last:] else "")
    ) or "an empty condition"


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant."""

    value: Constant
    at: int


@dataclass(frozen=True, slots=True)
class WhereColumn:
    """A column, or a field within one: ``value.address.city``."""

    path: tuple[str, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Call:
    """A function: ``length(key)``, ``header('id')``."""

    function: str
    argument: WhereColumn | Call | Literal
    at: int


Operand = Literal | WhereColumn | Call


@dataclass(frozen=True, slots=True)
class WhereComparison:
    """A comparison: ``=``, ``!=``, ``<``, ``<=``, ``>`` or ``>=``."""

    operator: str
    left: Operand
    right: Operand
    at: int


@dataclass(frozen=True, slots=True)
class Among:
    """``operand IN (...)``."""

    operand: Operand
    items: tuple[Literal, ...]
    at: int


@dataclass(frozen=True, slots=True)
class IsNull:
    """``operand IS NULL``."""

    operand: Operand


@dataclass(frozen=True, slots=True)
class Fits:
    """``operand LIKE pattern``, or with ``regex`` ``operand MATCHES pattern``."""

    operand: Operand
    pattern: str
    regex: bool
    at: int


@dataclass(frozen=True, slots=True)
class Is:
    """An operand that is true or false by itself."""

    operand: Operand


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite; null stays null."""

    part: WhereNode


@dataclass(frozen=True, slots=True)
class All:
    """Parts joined by AND."""

    parts: tuple[WhereNode, ...]


@dataclass(frozen=True, slots=True)
class Any:
    """Parts joined by OR."""

    parts: tuple[WhereNode, ...]


WhereNode = WhereComparison | Among | IsNull | Fits | Is | Not | All | Any


def operands(node: WhereNode) -> Iterator[Operand]:
    """Yield the operands of a condition, without those within others."""
    if isinstance(node, All | Any):
        for part in node.parts:
            yield from operands(part)
    elif isinstance(node, Not):
        yield from operands(node.part)
    elif isinstance(node, WhereComparison):
        yield node.left
        yield node.right
    else:
        yield node.operand


def column_of(operand: Operand) -> WhereColumn | None:
    """Return the column that an operand is made of, None for a literal."""
    while isinstance(operand, Call):
        if operand.function in OF_HEADERS:
            return WhereColumn(("headers",), operand.at)
        operand = operand.argument
    return operand if isinstance(operand, WhereColumn) else None


OF_HEADERS = ("header", "has_header")
"""Functions of the headers, by name."""
FUNCTIONS = (*OF_HEADERS, "length", "text")


MOST_CHARACTERS: Final = 1 << 16
MOST_DEPTH: Final = 64
"""Parentheses, negations and functions within one another."""
MOST_DIGITS: Final = 38
"""Of a number, as Arrow's decimals have them."""

_TOKEN: Final = re.compile(
    r"""\s*(?:
        (?P<bytes>[xX]'(?:[0-9a-fA-F]{2})*')
      | (?P<text>'(?:[^']|'')*')
      | (?P<quoted>"(?:[^"]|"")+")
      | (?P<number>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?)
      | (?P<word>[^\W\d]\w*)
      | (?P<sign><=|>=|<>|!=|==|[=<>(),.])
      | (?P<end>\Z)
    )""",
    re.VERBOSE,
)
_SIGNS: Final = {"<>": "!=", "==": "="}
_COMPARISONS: Final = ("=", "!=", "<", "<=", ">", ">=")
_CONSTANTS: Final[dict[str, bool | None]] = {"TRUE": True, "FALSE": False, "NULL": None}
_RESERVED: Final = {
    "AND", "OR", "NOT", "IN", "IS", "LIKE", "MATCHES", "BETWEEN", *_CONSTANTS,
}  # fmt: skip


class _Token(NamedTuple):
    kind: str
    text: str
    at: int

    @property
    def word(self) -> str:
        """A word in upper case, the text of a sign; nothing for all others."""
        return self.text.upper() if self.kind in ("word", "sign") else ""


def parse(text: str) -> WhereNode:
    """Parse a condition.

    Raises:
        WhereError: it is none, or too long or nested too deeply.
    """
    return _Parser(text).whole()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        if len(text) > MOST_CHARACTERS:
            raise WhereError(f"a condition has {MOST_CHARACTERS} characters at most", text, 0)
        self._tokens = self._split()
        self._next = 0
        self._depth = 0

    def whole(self) -> WhereNode:
        found = self._or()
        if self._token.kind != "end":
            self._fail(f"{self._token.text!r} is not expected here")
        return found

    def _split(self) -> list[_Token]:
        tokens: list[_Token] = []
        place = 0
        while True:
            found = _TOKEN.match(self._text, place)
            if found is None or found.lastgroup is None:
                place += len(self._text[place:]) - len(self._text[place:].lstrip())
                raise WhereError("this begins no word, number or text", self._text, place)
            kind = found.lastgroup
            tokens.append(_Token(kind, found[kind], found.start(kind)))
            if kind == "end":
                return tokens
            place = found.end()

    @property
    def _token(self) -> _Token:
        return self._tokens[self._next]

    def _take(self, *words: str) -> str:
        """Pass over the next token if it is one of these, and return it in upper case."""
        word = self._token.word
        if not word or word not in words:
            return ""
        self._next += 1
        return word

    def _need(self, word: str) -> None:
        if not self._take(word):
            self._fail(f"{word} is expected")

    def _fail(self, message: str, at: int | None = None) -> NoReturn:
        raise WhereError(message, self._text, self._token.at if at is None else at)

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > MOST_DEPTH:
            self._fail(f"a condition is nested {MOST_DEPTH} deep at most")

    def _or(self) -> WhereNode:
        parts = [self._and()]
        while self._take("OR"):
            parts.append(self._and())
        return parts[0] if len(parts) == 1 else Any(tuple(parts))

    def _and(self) -> WhereNode:
        parts = [self._not()]
        while self._take("AND"):
            parts.append(self._not())
        return parts[0] if len(parts) == 1 else All(tuple(parts))

    def _not(self) -> WhereNode:
        if self._take("NOT"):
            self._deeper()
            found: WhereNode = Not(self._not())
            self._depth -= 1
            return found
        if self._take("("):
            self._deeper()
            found = self._or()
            self._need(")")
            self._depth -= 1
            return found
        return self._test()

    def _test(self) -> WhereNode:
        left, at = self._operand(), self._token.at
        sign = _SIGNS.get(self._token.text, self._token.text)
        if self._token.kind == "sign" and sign in _COMPARISONS:
            self._next += 1
            return self._compare(sign, left, self._operand(), at)
        if self._take("IS"):
            negated = self._take("NOT")
            self._need("NULL")
            return Not(IsNull(left)) if negated else IsNull(left)
        negated = self._take("NOT")
        word = self._take("IN", "BETWEEN", "LIKE", "MATCHES")
        if not word:
            if negated:
                self._fail("IN, BETWEEN, LIKE or MATCHES is expected")
            return Is(left)
        found = self._words(word, left, at)
        return Not(found) if negated else found

    def _words(self, word: str, left: Operand, at: int) -> WhereNode:
        if word == "IN":
            return Among(left, self._list(), at)
        if word == "BETWEEN":
            low = self._operand()
            self._need("AND")
            high = self._operand()
            return All((self._compare(">=", left, low, at), self._compare("<=", left, high, at)))
        if self._token.kind != "text":
            self._fail(f"{word} needs a text in quotes")
        return Fits(left, self._string(), word == "MATCHES", at)

    def _compare(self, sign: str, left: Operand, right: Operand, at: int) -> WhereComparison:
        for side in (left, right):
            if isinstance(side, Literal) and side.value is None:
                self._fail("nothing is equal to null: use IS NULL", at)
        return WhereComparison(sign, left, right, at)

    def _list(self) -> tuple[Literal, ...]:
        self._need("(")
        items: list[Literal] = []
        while not items or self._take(","):
            at = self._token.at
            item = self._operand()
            if not isinstance(item, Literal) or item.value is None:
                self._fail("a list has constants, and not null", at)
            items.append(item)
        self._need(")")
        return tuple(items)

    def _operand(self) -> Operand:
        token = self._token
        if token.kind == "text":
            return Literal(self._string(), token.at)
        if token.kind == "bytes":
            self._next += 1
            return Literal(bytes.fromhex(token.text[2:-1]), token.at)
        if token.kind == "number":
            self._next += 1
            return Literal(self._number(token), token.at)
        if token.word in _CONSTANTS and token.kind == "word":
            self._next += 1
            return Literal(_CONSTANTS[token.word], token.at)
        return self._column()

    def _string(self) -> str:
        token = self._token
        self._next += 1
        return token.text[1:-1].replace("''", "'")

    def _number(self, token: _Token) -> int | Decimal:
        digits = re.sub(r"[eE].*", "", token.text)
        if sum(map(str.isdigit, digits)) > MOST_DIGITS:
            self._fail(f"a number has {MOST_DIGITS} digits at most", token.at)
        return int(token.text) if digits.lstrip("+-").isdigit() and digits == token.text else (
            Decimal(token.text)
        )  # fmt: skip

    def _column(self) -> Operand:
        token = self._token
        path = [self._name()]
        if token.kind == "word" and self._token.text == "(":
            return self._call(token)
        while self._take("."):
            path.append(self._name())
        return WhereColumn(tuple(path), token.at)

    def _name(self) -> str:
        token = self._token
        if token.kind == "quoted":
            self._next += 1
            return token.text[1:-1].replace('""', '"')
        before = self._tokens[self._next - 1].text if self._next else ""
        if token.kind != "word" or (token.word in _RESERVED and before != "."):
            self._fail("a column, function or constant is expected")
        self._next += 1
        return token.text

    def _call(self, token: _Token) -> Call:
        function = token.text.lower()
        if function not in FUNCTIONS:
            known = ", ".join(FUNCTIONS)
            self._fail(f"there is no function {function}; there are {known}", token.at)
        self._need("(")
        self._deeper()
        at = self._token.at
        argument = self._operand()
        self._depth -= 1
        self._need(")")
        if function in OF_HEADERS:
            if not isinstance(argument, Literal) or not isinstance(argument.value, str):
                self._fail(f"{function} needs the name of a header in single quotes", at)
        elif isinstance(argument, Literal):
            self._fail(f"{function} needs a column", at)
        return Call(function, argument, token.at)
