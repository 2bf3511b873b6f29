"""Indexes and producer snapshots of entries that were chosen first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import Final

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.codecs import get_codec
from kafkaspec.conformance.cases import Case, Expectation, Items, Refusal
from kafkaspec.conformance.payloads import flipped
from kafkaspec.conformance.protocol import RequestKind
from kafkaspec.errors import Reason
from kafkaspec.files.snapshots import ABORTED_TRANSACTION
from kafkaspec.layout import names
from kafkaspec.layout.kinds import new_value

_INDEXES: Final = {
    RequestKind.OFFSET_INDEX: names.OFFSET_INDEX_FILE,
    RequestKind.TIME_INDEX: names.TIME_INDEX_FILE,
}
_ENTRY: Final = "_entry"
_PRODUCER: Final = "producer_snapshot.producer_entry"
_LARGEST_BASE: Final = 1 << 40


def index_of(
    kind: RequestKind, rows: Iterable[Mapping[str, int]], base: int
) -> tuple[bytes, list[dict[str, int]]]:
    """Return an offset index or time index, and its entries as an answer has them.

    Args:
        kind: which of them.
        rows: the entries, with relative offsets.
        base: the base offset of the segment.
    """
    key, rows = _INDEXES[kind], list(rows)
    common = {"base_offset": base}
    entries = [new_value(f"{key}{_ENTRY}", {**row, **common}) for row in rows]
    data = get_codec("python").serialize(
        key, new_value(key, {"entries": entries, **common}), parameters=(base,)
    )
    said = [{**row, "offset": base + row["relative_offset"]} for row in rows]
    for row in said:
        del row["relative_offset"]
    return data, said


def snapshot_of(entries: Iterable[Mapping[str, int]]) -> bytes:
    """Return a producer snapshot of these entries."""
    made = [new_value(_PRODUCER, entry) for entry in entries]
    values = {"entries": made, "version": 1, "unused": b""}
    key = names.PRODUCER_SNAPSHOT_FILE
    return get_codec("python").serialize(key, new_value(key, values))


def random_index(case_id: str, chance: Random) -> Case:
    """Return a case of an offset index or time index: ascending entries, many or none."""
    kind = chance.choice([*_INDEXES])
    count = chance.choice((0, 1, 2, 7, 60))
    offsets = sorted(chance.sample(range(1, 1 << chance.choice((8, 31))), count))
    base = chance.choice((0, 100, _LARGEST_BASE))
    other = "position" if kind is RequestKind.OFFSET_INDEX else "timestamp"
    most = 1 << (31 if kind is RequestKind.OFFSET_INDEX else chance.choice((41, 62)))
    others = sorted(chance.randrange(most) for _ in range(count))
    rows = [
        {"relative_offset": offset, other: value}
        for offset, value in zip(offsets, others, strict=True)
    ]
    data, said = index_of(kind, rows, base)
    return Case(case_id, kind, data, Items(said), "An index.", {"base_offset": base})


def random_transactions(case_id: str, chance: Random) -> Case:
    """Return a case of a transaction index, whose end may be a part of an entry."""
    rows = [_row(ABORTED_TRANSACTION, {"version": 0}, chance) for _ in range(chance.randrange(6))]
    made = [new_value(ABORTED_TRANSACTION, row) for row in rows]
    python = get_codec("python")
    data = b"".join(python.serialize(ABORTED_TRANSACTION, each) for each in made)
    if chance.randrange(3) == 0:
        data += bytes(chance.randrange(LAYOUTS[ABORTED_TRANSACTION].minimum_size))
    return Case(case_id, RequestKind.TRANSACTION_INDEX, data, Items(rows), "A transaction index.")


def random_snapshot(case_id: str, chance: Random) -> Case:
    """Return a case of a producer snapshot: whole, or with a wrong checksum."""
    rows = [_row(_PRODUCER, {}, chance) for _ in range(chance.randrange(6))]
    for row in rows:
        row["current_txn_first_offset"] = chance.choice((-1, row["last_offset"]))
    data = snapshot_of(rows)
    wrong = rows and chance.randrange(4) == 0
    expected: Expectation = Items(rows)
    if wrong:
        data, expected = flipped(data), Refusal(frozenset({Reason.CHECKSUM_MISMATCH}))
    why = "A snapshot with a wrong checksum." if wrong else "A snapshot."
    kind = RequestKind.PRODUCER_SNAPSHOT
    return Case(case_id, kind, data, expected, why, checksum=bool(wrong))


def _row(key: str, known: Mapping[str, int], chance: Random) -> dict[str, int]:
    """Return an entry of numbers that are not negative, small and large ones."""
    row = {}
    for field in LAYOUTS[key].fields:
        largest = (1 << 8 * field.size - 1) - 1
        number = chance.choice((0, 1, largest, chance.randrange(min(largest, 1 << 40))))
        row[field.id] = known.get(field.id, number)
    return row


BESIDE: Final[tuple[Callable[[str, Random], Case], ...]] = (
    random_index,
    random_transactions,
    random_snapshot,
)
"""Makers of random cases of what lies beside a log."""
