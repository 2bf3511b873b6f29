"""The result of a case, and its gates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Settings:
    """Settings of a run.

    Attributes:
        quick: tiny data and few rounds: that everything runs, not how fast.
        work: directory for files; it is removed at the end.
    """

    quick: bool
    work: Path

    def size(self, full: int) -> int:
        """Bytes of records to make, where a full run makes ``full``."""
        return min(full, 64 * 1024) if self.quick else full

    def rounds(self, full: int) -> int:
        """Rounds that count, where a full run has ``full``."""
        return 1 if self.quick else full


@dataclass(frozen=True)
class Figure:
    """A figure beside its gate.

    Attributes:
        what: is compared.
        value: reached; None if it could not be measured.
        gate: that is to be reached.
        at_most: whether less is better.
        unit: of both.
        why: it could not be measured.
    """

    what: str
    value: float | None
    gate: float
    at_most: bool = False
    unit: str = "x"
    why: str = ""

    @property
    def reached(self) -> bool | None:
        """None if it could not be measured."""
        if self.value is None:
            return None
        return self.value <= self.gate if self.at_most else self.value >= self.gate


@dataclass
class Table:
    """Rows of text under a title."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass
class Outcome:
    """All that a case found."""

    tables: list[Table] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)


@dataclass(frozen=True)
class Case:
    """A case of the program.

    Attributes:
        name: for ``--only``.
        title: one line.
        run: measures.
    """

    name: str
    title: str
    run: Callable[[Settings], Outcome]


def number(value: float) -> str:
    """Three digits that matter."""
    if value >= 100:
        return f"{value:,.0f}"
    if value >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if value >= 0.1 or value == 0 else f"{value:.3g}"


def times(value: float) -> str:
    """The ratio to a peer; where it is below one, the peer that wins."""
    return f"{number(value)} x" if value >= 1 else f"{number(value)} x (the peer wins)"
