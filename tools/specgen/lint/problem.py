"""The problem that a rule of the linter reports."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Problem:
    """A violation of a rule in the specification.

    Attributes:
        location: ``recordbatch.ksy#/types/record/seq/3``.
        rule: ``S1`` to ``S10``, or the name of another rule in spec/README.md.
        message: the problem, and what to write instead.
    """

    location: str
    rule: str
    message: str


class Located(Protocol):
    """A node of the model."""

    @property
    def location(self) -> str:
        """Its place in the specification."""


Messages = Iterable[str | tuple[Located | str, str]]
"""Messages of a rule about the node that it checks, or about another place, which comes first."""


def found(rule: str, node: Located | str, messages: Messages) -> Iterable[Problem]:
    """Yield the problems that a rule has with a node or place."""
    for item in messages:
        place, message = (node, item) if isinstance(item, str) else item
        yield Problem(place if isinstance(place, str) else place.location, rule, message)
