"""Tables of a page, with a bound on their rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

MOST_ROWS: Final = 500
"""Rows of a table; the others are counted."""


@dataclass(frozen=True)
class Listing:
    """A table of a page.

    Attributes:
        name: its heading.
        columns: names of its columns; ">" before one aligns it to the right, "~" breaks it
            anywhere.
        rows: its cells.
        left: number of rows that are not shown.
    """

    name: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    left: int = 0


def listing(name: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Listing:
    """Return a table with as many rows as a page shows."""
    given = list(rows)
    return Listing(name, columns, given[:MOST_ROWS], max(0, len(given) - MOST_ROWS))
