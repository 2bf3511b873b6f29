"""The corpus: the cases that cover the specification."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from random import Random

from kafkaspec.conformance.cases import Case, CaseValue, Items
from kafkaspec.conformance.protocol import RequestKind
from kafkaspec.conformance.vectors import vector_cases
from kafkaspec.generation.entries import MadeEntry, entry
from kafkaspec.generation.features import FACTORS, FORBIDDEN, goals_of
from kafkaspec.generation.pairs import Row, covering
from kafkaspec.log.control import VALUE


def corpus(seed: int) -> Iterator[Case]:
    """Yield the smallest cases that cover all, the same for the same seed."""
    vectors = [case for case in vector_cases() if case.category == "structure"]
    covered: set[str] = set()
    for case in chain(vectors, _pairs(vectors, Random(seed))):
        new = [goal for goal in case.covers if goal not in covered]
        covered.update(new)
        if new or case.category != "structure":
            yield replace(case, covers=tuple(new))


def _pairs(vectors: list[Case], chance: Random) -> Iterator[Case]:
    bodies = control_bodies(vectors)
    for number, row in enumerate(covering(FACTORS, FORBIDDEN, chance)):
        yield from row_cases(f"log/pairs-{number:03}", row, entry(row, chance, bodies))


def control_bodies(vectors: list[Case]) -> dict[int, bytes]:
    """Return the value of a control record by its type, from the vectors."""
    found: dict[int, bytes] = {}
    for case in vectors:
        if case.extra.get("type") == VALUE and isinstance(case.expected, CaseValue):
            found.setdefault(case.extra["parameters"][0], case.data)
    return found


def row_cases(case_id: str, row: Row, made: MadeEntry) -> Iterator[Case]:
    """Yield the cases of an entry with the features of a row."""
    why = ", ".join(f"{name}: {level}" for name, level in row.items() if level != FACTORS[name][0])
    covers = tuple(goals_of(row))
    yield Case(case_id, RequestKind.LOG, made.data, Items(made.records), why, covers=covers)
    if made.controls is not None:
        name = case_id.replace("log/", "log_control/", 1)
        yield Case(name, RequestKind.CONTROL_RECORDS, made.data, Items(made.controls), why)
