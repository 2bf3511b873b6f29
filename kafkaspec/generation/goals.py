"""Goals that cases can cover, and those that they do.

A goal is a word and a name. A ``type``, a ``field``, a ``case`` of a switch and a ``value`` of an
enumeration are the nodes of the specification; a ``bound`` is a value at, below or above what a
rule of a field allows, or another form of it; a ``refusal`` a field and the reason why it is
refused; a ``pair`` two features of a log entry at once; a ``text`` a text file, a form of a value
in it, or something that it is broken by.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from kafkaspec._generated.layout import ENUMS, LAYOUTS
from kafkaspec.conformance.cases import Case
from kafkaspec.generation.features import pair_goals
from kafkaspec.generation.quirks import quirk_goals
from kafkaspec.generation.texts import text_goals


@dataclass(frozen=True)
class GoalCoverage:
    """How many goals of one kind the cases cover.

    Attributes:
        goal: the kind: ``field``, ``pair``.
        covered: number of those that a case covers.
        total: number of all.
        missing: names of the others.
    """

    goal: str
    covered: int
    total: int
    missing: tuple[str, ...]


def nodes() -> Iterator[str]:
    """Yield the goals of all nodes of the specification."""
    for key, layout in LAYOUTS.items():
        if not layout.fields:
            continue  # a file that only holds the types of others
        yield f"type {key}"
        for peek in layout.peeks:
            yield f"field {key}/{peek.id}"
        for field in layout.fields:
            yield f"field {key}/{field.id}"
            for number, _ in field.cases:
                yield f"case {key}/{field.id}={'else' if number is None else number}"
    for key, values in ENUMS.items():
        yield from (f"value {key}={number}" for number in values)


def goals(vectors: Iterable[Case]) -> list[str]:
    """Return all goals: nodes and pairs, and the bounds and refusals of the vectors."""
    found = dict.fromkeys(nodes())
    found |= dict.fromkeys(goal for case in vectors for goal in case.covers)
    return [*found, *pair_goals(), *text_goals(), *quirk_goals()]


def coverage(wanted: Iterable[str], cases: Iterable[Case]) -> list[GoalCoverage]:
    """Return how many of the goals of each kind the cases cover."""
    return measured(wanted, counted(cases))


def counted(cases: Iterable[Case]) -> Counter[str]:
    """Return how many cases cover each goal."""
    return Counter(goal for case in cases for goal in case.covers)


def measured(wanted: Iterable[str], times: Mapping[str, int]) -> list[GoalCoverage]:
    """Return how many of the goals of each kind are covered, given how often each is."""
    kinds: dict[str, list[str]] = {}
    for goal in wanted:
        kinds.setdefault(goal.partition(" ")[0], []).append(goal)
    found = []
    for kind, goals in kinds.items():
        missing = [goal.partition(" ")[2] for goal in goals if not times.get(goal)]
        found.append(
            GoalCoverage(kind, len(goals) - len(missing), len(goals), tuple(sorted(missing)))
        )
    return found
