"""A covering array: few rows in which every possible pair of levels occurs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from random import Random

FeatureLevel = tuple[str, str]
"""A factor, and one of its levels."""
LevelPair = frozenset[FeatureLevel]
Row = dict[str, str]
Factors = Mapping[str, Sequence[str]]


def pairs_of(row: Mapping[str, str]) -> list[LevelPair]:
    """Return all pairs of levels in a row."""
    return [frozenset(pair) for pair in combinations(row.items(), 2)]


def possible_pairs(factors: Factors, forbidden: Collection[LevelPair]) -> list[LevelPair]:
    """Return the pairs of levels that may occur together, in order.

    For each of them, every other factor has a level that goes with both.
    """

    def fits(pair: LevelPair) -> bool:
        taken = dict(pair)
        others = (name for name in factors if name not in taken)
        return pair not in forbidden and all(
            any(_goes(taken, (name, level), forbidden) for level in factors[name])
            for name in others
        )

    found = (
        frozenset({(one, level), (other, second)})
        for one, other in combinations(factors, 2)
        for level in factors[one]
        for second in factors[other]
    )
    return [pair for pair in found if fits(pair)]


def covering(factors: Factors, forbidden: Collection[LevelPair], chance: Random) -> list[Row]:
    """Return rows that have every possible pair; factors that decide about others come first."""
    left = dict.fromkeys(possible_pairs(factors, forbidden))
    possible = frozenset(left)
    rows = []
    while left:
        row = complete(dict(next(iter(left))), factors, possible, left, chance)
        rows.append(row)
        for pair in pairs_of(row):
            left.pop(pair, None)
    return rows


def complete(
    row: Row,
    factors: Factors,
    possible: Collection[LevelPair],
    wanted: Collection[LevelPair],
    chance: Random,
) -> Row:
    """Return a row with a level of each factor, chosen for the wanted pairs that it adds."""
    for name in factors:
        if name not in row:
            levels = _levels(row, name, factors, possible)
            chance.shuffle(levels)
            row[name] = max(
                levels, key=lambda level: sum(pair in wanted for pair in _pairs(row, name, level))
            )
    return {name: row[name] for name in factors}


def random_row(
    factors: Factors, possible: Collection[LevelPair], times: Counter[LevelPair], chance: Random
) -> Row:
    """Return a row of which each level is the more likely the rarer its pairs are, and count it."""
    row: Row = {}
    for name in factors:
        levels = _levels(row, name, factors, possible)
        weights = [
            1 + sum(100 / (1 + times[pair]) for pair in _pairs(row, name, level))
            for level in levels
        ]
        row[name] = chance.choices(levels, weights)[0]
    times.update(pairs_of(row))
    return row


def _levels(row: Row, name: str, factors: Factors, possible: Collection[LevelPair]) -> list[str]:
    """Return the levels of a factor that go with those of a row."""
    return [
        level
        for level in factors[name]
        if all(pair in possible for pair in _pairs(row, name, level))
    ]


def _pairs(row: Row, name: str, level: str) -> list[LevelPair]:
    return [frozenset({item, (name, level)}) for item in row.items()]


def _goes(row: Mapping[str, str], level: FeatureLevel, forbidden: Collection[LevelPair]) -> bool:
    return all(frozenset({item, level}) not in forbidden for item in row.items())
