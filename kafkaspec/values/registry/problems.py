"""Problems of a registry's topic, or of files of schemas."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Final

from kafkaspec.errors import KafkaSpecError
from kafkaspec.log.missing import Missing
from kafkaspec.results import Finding, OffsetRange


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem(Finding):
    """A problem.

    Attributes:
        reason: its kind.
        message: what is wrong.
        offsets: that of the record; None if it is not about one.
    """

    reason: Fault
    ALSO: ClassVar = ("kind", "offset")

    @property
    def kind(self) -> Fault:
        """``reason``, by the name that it had before 0.3."""
        return self.reason

    @property
    def offset(self) -> int | None:
        """The start of ``offsets``, a member until 0.2."""
        return self.offsets and self.offsets.start

    def __str__(self) -> str:
        where = "" if self.offset is None else f"offset {self.offset}: "
        return f"{where}{self.message} [{self.reason}]"


def problem_at(reason: Fault, message: str, offset: int) -> Problem:
    """Return a problem of the record at an offset."""
    return Problem(reason=reason, message=message, offsets=OffsetRange(offset, offset + 1))


def problem_in(reason: Fault, place: KafkaSpecError | Missing) -> Problem:
    """Return a problem at a place in a file."""
    return Problem(reason=reason, message=str(place), file=place.file, position=place.position)
