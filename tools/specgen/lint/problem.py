"""What a rule of the linter reports."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """Something in the specification that a rule forbids.

    Attributes:
        location: ``recordbatch.ksy#/types/record/seq/3``.
        rule: ``S1`` to ``S10``, or the name of another rule in spec/README.md.
        message: what is wrong and what to write instead.
    """

    location: str
    rule: str
    message: str
