"""Conditions on numbers: of one entry in Python, of all rows of a table in the core."""

from __future__ import annotations

import operator
from array import array
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkaspec.codecs.native.names import OPERATORS

if TYPE_CHECKING:
    from kafkaspec.codecs.native.core import Core

_IN_PYTHON: Final = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)
_FUNCTIONS: Final = dict(zip(OPERATORS, _IN_PYTHON, strict=True))
_MOST: Final = (1 << 63) - 1
BEFORE: Final = "before."
"""Prefix of columns whose value is that of the row before. The first row has none, and no
comparison with it holds."""


class Compare(NamedTuple):
    """A comparison of a number with another.

    Attributes:
        left: name of a number.
        operator: one of ``OPERATORS``.
        right: name of a number, or the number itself.
        plus: is added to the right side.
    """

    left: str
    operator: str
    right: str | int
    plus: int = 0


Condition = tuple[Compare, ...]
"""Comparisons of which at least one has to hold."""


def holds(condition: Condition, numbers: Mapping[str, int]) -> bool:
    """Return whether a condition holds for the numbers of one entry."""
    for left, name, right, plus in condition:
        other = right if isinstance(right, int) else numbers[right]
        if _FUNCTIONS[name](numbers[left], other + plus):
            return True
    return False


class Marks:
    """Conditions that the core evaluates.

    Args:
        conditions: each with the bits that mark a row for which it does not hold.
    """

    def __init__(self, conditions: Iterable[tuple[Condition, int]]) -> None:
        self._names: dict[str, int] = {}
        self._comparisons = array("q")
        self._add(conditions)

    def and_also(self, conditions: Iterable[tuple[Condition, int]]) -> Marks:
        """Return these conditions with others."""
        both = Marks(())
        both._names = dict(self._names)
        both._comparisons = self._comparisons[:]
        both._add(conditions)
        return both

    def _add(self, conditions: Iterable[tuple[Condition, int]]) -> None:
        for condition, mark in conditions:
            for compare in condition:
                last = mark if compare is condition[-1] else 0
                self._comparisons.extend((last, *self._fields(compare)))

    def _fields(self, compare: Compare) -> tuple[int, ...]:
        left, name, right, plus = compare
        number, back = -1, 0
        if isinstance(right, int):
            plus = max(-_MOST, min(right + plus, _MOST))
        else:
            back = int(right.startswith(BEFORE))
            number = self._number(right.removeprefix(BEFORE))
        return self._number(left), OPERATORS.index(name), number, back, plus

    def _number(self, name: str) -> int:
        return self._names.setdefault(name, len(self._names))

    def of(self, core: Core, column: Callable[[str], memoryview], rows: int) -> bytearray:
        """Return a byte for each row: the marks of the conditions that do not hold.

        Args:
            core: the extension.
            column: function that returns a column of 64-bit integers by its name.
            rows: number of rows.
        """
        marks = bytearray(rows)
        columns = tuple(map(column, self._names))
        core.module.mark(columns, rows, self._comparisons, marks)
        return marks
