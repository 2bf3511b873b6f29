"""The problem that a rule of the linter reports."""

from __future__ import annotations

from dataclasses import dataclass


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
