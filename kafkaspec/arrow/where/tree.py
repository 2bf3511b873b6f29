"""The parts of a condition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

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
