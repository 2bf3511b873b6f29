"""Problems of a registry's topic, or of files of schemas."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple


class Fault(StrEnum):
    """Kinds of problems. The list is closed."""

    DAMAGED = "damaged"
    """A batch or file cannot be read."""
    MISSING = "missing"
    """The log ends before it should, or has a hole."""
    UNPARSED = "unparsed"
    """A record is none of a registry's, or a file no schema."""
    CONFLICT = "conflict"
    """An id names two schemas: the first counts, as in Confluent's registry."""
    COLLISION = "collision"
    """Two writers of Redpanda chose the same place: the first counts."""
    UNRESOLVED = "unresolved"
    """A schema imports what is not there."""
    UNFINISHED = "unfinished"
    """A transaction has no end: its records do not count."""
    BOUND = "bound"
    """A record or file is larger than schemas may be."""


HARMLESS: Final = frozenset({Fault.COLLISION})
"""Kinds that registries themselves leave behind."""


class Problem(NamedTuple):
    """A problem.

    Attributes:
        kind: its kind.
        reason: what is wrong.
        offset: of the record; None if it is not about one.
    """

    kind: Fault
    reason: str
    offset: int | None = None

    def __str__(self) -> str:
        where = "" if self.offset is None else f"offset {self.offset}: "
        return f"{where}{self.reason} [{self.kind}]"
