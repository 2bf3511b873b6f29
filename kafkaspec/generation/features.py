"""The features of a log entry, and which of them go together, from the layouts."""

from __future__ import annotations

from itertools import product
from typing import Final

from kafkaspec import compression
from kafkaspec._generated.python.model.control_record import ControlRecordType
from kafkaspec.generation.pairs import LevelPair, Row, pairs_of, possible_pairs
from kafkaspec.layout import EntryKind
from kafkaspec.layout.kinds import CURRENT, KINDS
from kafkaspec.log.batch import CREATE_TIME, LOG_APPEND_TIME, NO_TIMESTAMP_TYPE
from kafkaspec.log.legacy import has_relative_offsets

NO, YES, NONE, MANY = "no", "yes", "none", "many"
DATA, UNKNOWN, PLAIN, SOME, ONE = "data", "unknown", "plain", "bytes", "one"
NULL, EMPTY, LONG, GAPS, HIGH = "null", "empty", "long", "gaps", "high"
EMPTY_KEY, NULL_VALUE, EMPTY_VALUE, NOT_TEXT = "empty key", "null value", "empty value", "not text"
ABSOLUTE, KEYED, OLDER = "absolute", "keyed", "older inside"

ABORT, COMMIT = "ABORT", "COMMIT"

FACTORS: Final = {
    "magic": (str(CURRENT), *(str(magic) for magic in KINDS if magic != CURRENT)),
    "compression": compression.NAMES,
    "control": (DATA, *(each.name for each in ControlRecordType), UNKNOWN),
    "records": (ONE, MANY, NONE),
    "timestamps": (CREATE_TIME, LOG_APPEND_TIME, NO_TIMESTAMP_TYPE),
    "transactional": (NO, YES),
    "producer": (NO, YES),
    "headers": (NONE, ONE, MANY, EMPTY_KEY, NULL_VALUE, EMPTY_VALUE, NOT_TEXT, LONG),
    "key": (SOME, NULL, EMPTY),
    "value": (SOME, NULL, EMPTY, LONG),
    "offsets": ("dense", GAPS, HIGH),
    "horizon": (NO, YES),
    "wrapper": (PLAIN, ABSOLUTE, KEYED, OLDER),
}
"""The levels of each feature; those that decide about others come first."""


def _fits(kind: EntryKind, name: str, level: str) -> bool:
    """Return whether entries of a kind can have a level of a feature."""
    match name:
        case "compression":
            return compression.is_coded(compression.NAMES.index(level), kind.magic)
        case "control":
            return level == DATA or kind.has_transactions
        case "transactional":
            return level == NO or kind.has_transactions
        case "producer":
            return level == NO or kind.has_producers
        case "horizon":
            return level == NO or kind.has_delete_horizons
        case "headers":
            return level == NONE or kind.has_headers
        case "records":
            return level != NONE or kind.has_record_sets
        case "timestamps":
            return level == NO_TIMESTAMP_TYPE or kind.has_timestamps
        case "wrapper" if level in (ABSOLUTE, OLDER):
            return not kind.has_record_sets and has_relative_offsets(kind)
        case "wrapper":
            return level == PLAIN or not kind.has_record_sets
    return True


def _goes(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Return whether bytes can have two levels at once."""
    row = dict((one, other))
    if "magic" in row and not all(
        _fits(KINDS[int(row["magic"])], name, level)
        for name, level in row.items()
        if name != "magic"
    ):
        return False
    if row.get("control", DATA) != DATA and {row.get("key", SOME), row.get("value", SOME)} != {
        SOME
    }:
        return False  # control records have their own
    if row.get("compression") == NONE and row.get("wrapper", PLAIN) != PLAIN:
        return False
    parts = {"key": SOME, "value": SOME, "headers": NONE, "offsets": "dense"}
    return row.get("records") != NONE or all(
        row.get(name, level) == level for name, level in parts.items()
    )


def _levels() -> list[tuple[str, str]]:
    return [(name, level) for name, levels in FACTORS.items() for level in levels]


FORBIDDEN: Final[frozenset[LevelPair]] = frozenset(
    frozenset({one, other})
    for one, other in product(_levels(), repeat=2)
    if one[0] < other[0] and not _goes(one, other)
)
"""Pairs of levels that no bytes can have."""


def pair_goals() -> list[str]:
    """Return the goals of all pairs that bytes can have."""
    return sorted(map(_goal, possible_pairs(FACTORS, FORBIDDEN)))


def goals_of(row: Row) -> list[str]:
    """Return the goals that a row covers."""
    return sorted(map(_goal, pairs_of(row)))


def _goal(pair: LevelPair) -> str:
    return "pair " + ", ".join(f"{name}={level}" for name, level in sorted(pair))
