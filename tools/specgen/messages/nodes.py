"""Columns and lines of a program while they are found, before they have numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from kafkaspec.messages.tables import (
    HIGHEST,
    LOWEST,
    ColumnKind,
    ColumnLayout,
    Path,
    Step,
)


class Unsupported(Exception):  # noqa: N818 - a shape, not an error
    """A shape that has no columns; the message says which."""


@dataclass
class Node:
    """A column while it is found: versions add to it."""

    name: str
    kind: ColumnKind
    size: int = 0
    signed: bool = False
    nullable: bool = False
    filled: bool = False
    default: int = 0
    enum: str = ""
    paths: list[Path] = field(default_factory=list)
    known: set[int] = field(default_factory=set)
    children: list[Node] = field(default_factory=list)

    def same(self, other: Node) -> bool:
        """Return whether both have values of one kind."""
        return (self.kind, self.size, self.signed) == (other.kind, other.size, other.signed)

    def layout(self) -> ColumnLayout:
        """Return the column as tables have it."""
        return ColumnLayout(
            self.name,
            self.kind,
            self.size,
            self.signed,
            self.nullable,
            self.filled,
            self.default,
            tuple(self.paths),
            tuple(sorted(self.known)),
            tuple(child.layout() for child in self.children),
            self.enum,
        )

    def walk(self) -> Iterator[Node]:
        """Yield the column and all below it."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass
class Line:
    """A line of a program, with those inside it."""

    step: Step
    node: Node | None = None
    size: int = 0
    plus: int = 0
    flags: int = 0
    low: int = LOWEST
    high: int = HIGHEST
    body: list[Line] = field(default_factory=list)
    scope: Node | None = None
    """The structure whose columns the body has to give a value each."""

    def lines(self) -> int:
        """Return how many lines it takes, with those inside it."""
        return 1 + sum(line.lines() for line in self.body)

    def covered(self) -> Iterator[int]:
        """Yield the identities of the columns that the line gives a value."""
        if self.node is not None:
            yield id(self.node)
        if self.step in (Step.TAGS, Step.TAG):
            for line in self.body:
                yield from line.covered()


@dataclass(frozen=True)
class Place:
    """Where columns are found: the structure that holds them, and the way there in the model."""

    scope: Node
    path: Path
    names: Mapping[str, int]
    name: str = ""
    """Name of the one column of a type that stands for a column, else ""."""
    tagged: bool = False

    def under(self, *steps: str | tuple[str, int]) -> Place:
        return replace(self, path=(*self.path, *steps))
