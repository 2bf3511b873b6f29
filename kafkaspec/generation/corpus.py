"""The corpus: the cases that cover the specification."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from random import Random
from typing import Final

from kafkaspec._generated.layout.texts import TEXTS
from kafkaspec.conformance.cases import Case, CaseValue, Items, Refusal
from kafkaspec.conformance.payloads import flipped
from kafkaspec.conformance.protocol import RequestKind
from kafkaspec.conformance.vectors import vector_cases
from kafkaspec.errors import Reason
from kafkaspec.generation.beside import BESIDE
from kafkaspec.generation.entries import MadeEntry, entry
from kafkaspec.generation.features import FACTORS, FORBIDDEN, NONE, goals_of
from kafkaspec.generation.pairs import LevelPair, Row, covering, possible_pairs, random_row
from kafkaspec.generation.quirks import broken_cases, quirk_cases, quirks_of
from kafkaspec.generation.texts import random_text, rarest, text_cases
from kafkaspec.log.control import VALUE

MOST_RANDOM: Final = 10_000_000
"""Number of random cases, at most."""
_SHARES: Final = (70, 15, 15)
"""Shares of logs, of indexes and snapshots, and of text files, of random cases."""


def corpus(seed: int) -> Iterator[Case]:
    """Yield the smallest cases that cover all, the same for the same seed."""
    vectors = [case for case in vector_cases() if case.category == "structure"]
    covered: set[str] = set()
    chance = Random(seed)
    marked = (replace(each, covers=(*each.covers, *quirks_of(each))) for each in vectors)
    made = (
        _pairs(vectors, chance), quirk_cases(vectors, chance), broken_cases(chance),
        text_cases(chance),
    )  # fmt: skip
    for case in chain(marked, *made):
        new = [goal for goal in case.covers if goal not in covered]
        covered.update(new)
        if new or case.kind is not RequestKind.TYPE:
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
    empty = (row["records"], row["compression"] != NONE) == (NONE, True)
    quirks = ("Q9",) if empty else ()  # A consumer opens a stream of no byte.
    yield Case(
        case_id, RequestKind.LOG, made.data, Items(made.records), why, covers=covers, quirks=quirks
    )
    if made.controls is not None:
        name = case_id.replace("log/", "log_control/", 1)
        controls = Items(made.controls)
        yield Case(name, RequestKind.CONTROL_RECORDS, made.data, controls, why, quirks=quirks)


def random_cases(count: int, seed: int) -> Iterator[Case]:
    """Yield random cases, of which none is kept: logs, what lies beside them, and text files.

    What is rare so far is more likely: pairs of features of a log, and forms of values of a text.
    """
    chance = Random(seed)
    bodies = control_bodies(list(vector_cases()))
    possible = frozenset(possible_pairs(FACTORS, FORBIDDEN))
    times: Counter[LevelPair] = Counter()
    forms: Counter[str] = Counter()
    for number in range(count):
        case_id = f"random/{number:07}"
        match chance.choices(("log", "beside", "text"), _SHARES)[0]:
            case "log":
                entries = [
                    entry(random_row(FACTORS, possible, times, chance), chance, bodies)
                    for _ in range(chance.choice((1, 1, 2, 3)))
                ]
                yield _random(case_id, entries, chance)
            case "beside":
                yield chance.choice(BESIDE)(case_id, chance)
            case _:
                name = rarest(TEXTS, forms, chance)
                forms[name] += 1
                yield random_text(case_id, name, chance, forms)


def _random(case_id: str, entries: list[MadeEntry], chance: Random) -> Case:
    """Return a case of a log: whole, with a wrong checksum, or with an end that is cut."""
    data = b"".join(each.data for each in entries)
    before = [record for each in entries[:-1] for record in each.records]
    last = entries[-1]
    way = chance.choice(("whole", "whole", "checksum", "cut", "control"))
    if way == "control" and any(each.controls for each in entries):
        items = Items([item for each in entries for item in each.controls or ()])
        return Case(case_id, RequestKind.CONTROL_RECORDS, data, items, "Control records.")
    if way == "checksum":
        # Fields that are read first may be wrong too (quirk Q18).
        refusal = Refusal(frozenset({Reason.CHECKSUM_MISMATCH, Reason.OVERRUN, Reason.TRUNCATED}))
        why = "The last bit is flipped."
        return Case(case_id, RequestKind.LOG, flipped(data), refusal, why, checksum=True)
    if way == "cut" and not last.apart:
        end = len(data) - chance.randrange(1, len(last.data))
        return Case(case_id, RequestKind.LOG, data[:end], Items(before), "The last entry is cut.")
    return Case(case_id, RequestKind.LOG, data, Items(before + last.records), "A log.")
