"""The entries that ``select`` chooses, against the same rules applied one by one in Python."""

from __future__ import annotations

from array import array
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkaspec.codecs.native import load_core
from kafkaspec.codecs.native.names import INNER_ROLES, KIND, ROLES, UNTIMED
from tests.extent import examples

native = pytest.importorskip("kafkaspec._native", reason="the extension was not built")

LOWEST, HIGHEST = -(1 << 63), (1 << 63) - 1
KINDS = load_core().kinds
BATCH = KINDS["recordbatch.record_batch"]
MESSAGE = KINDS["recordbatch.legacy_message"]
LEAST_RECORD = 7  # a size, attributes, two deltas, two lengths of null, and no headers
near = st.one_of(st.integers(-3, 30), st.sampled_from([LOWEST, LOWEST + 1, HIGHEST - 1, HIGHEST]))


@dataclass(frozen=True)
class Entry:
    magic: int
    compression: int
    is_control: int
    num_records: int
    base_offset: int
    last_offset: int
    offset: int
    max_timestamp: int
    position: int
    size: int
    value_position: int
    value_size: int

    @property
    def row(self) -> tuple[int, ...]:
        """In the order of ``ROLES``."""
        return (
            self.magic, self.compression, self.is_control, self.num_records, self.base_offset,
            self.last_offset, self.offset, self.max_timestamp, self.position, self.size,
            self.value_position, self.value_size,
        )  # fmt: skip


entries = st.builds(
    Entry,
    magic=st.sampled_from([0, 1, 2, 2, 2]),
    compression=st.sampled_from([0, 0, 1, 4, 7]),
    is_control=st.sampled_from([0, 0, 0, 1]),
    num_records=st.sampled_from([-1, 0, 1, 3, 1 << 30]),
    base_offset=near,
    last_offset=near,
    offset=near,
    max_timestamp=near,
    position=st.integers(0, 1000),
    size=st.integers(0, 100),
    value_position=st.integers(0, 1000),
    value_size=st.integers(-1, 100),
)


@dataclass(frozen=True)
class Rules:
    low: int
    high: int | None
    earliest: int
    control: bool
    left_out: bytes | None = None
    """A byte for each entry."""


def expected(
    table: list[Entry], first: int, rules: Rules
) -> tuple[int, list[tuple[int, int, int]], int]:
    """The end; entry, payload and rows of the chosen entries; facts."""
    chosen: list[tuple[int, int, int]] = []
    facts = 0
    for number in range(first, len(table)):
        entry = table[number]
        batch = entry.magic == 2
        low = entry.base_offset if batch else entry.offset
        last = entry.last_offset if batch else entry.offset
        above = rules.high is not None and low >= rules.high
        if above and (batch or not entry.compression):
            return number, chosen, facts | native.ENDED
        ends = rules.high is not None and last >= rules.high - 1
        skipped = last < rules.low or bool(rules.left_out and rules.left_out[number])
        if batch:
            skipped |= bool(entry.is_control) and not rules.control
            skipped |= entry.max_timestamp < rules.earliest
        if not skipped:
            rows = entry.num_records if batch else 1
            if (
                chosen
                and sum(1 if row < 0 else row for _, _, row in chosen) + rows >= (1 << 31) - 1
            ):
                return number, chosen, facts
            wrapped = not batch and bool(entry.compression)
            packed = wrapped or (batch and entry.compression and rows > 0)
            can = not wrapped or entry.value_size >= 0
            if batch:
                fits = packed or rows * LEAST_RECORD <= entry.size
                can = rows >= 0 and bool(fits)
            if not can:
                return number, chosen, facts | native.OTHERWISE | (native.ENDED if ends else 0)
            payload = -1 - entry.compression if packed else -1
            chosen.append((number, payload, -1 - number if wrapped else rows))
            facts |= native.COMPRESSED if packed else 0
            facts |= native.UNTIMED if entry.magic == 0 else 0
            facts |= native.MARKERS if entry.magic == 2 and entry.is_control else 0
            # What is in a wrapper may lie anywhere.
            inside = low >= rules.low and (rules.high is None or last < rules.high)
            anywhere = rules.low == LOWEST and rules.high is None
            if not (anywhere if wrapped else inside):
                facts |= native.CUT
        if ends:
            return number + 1, chosen, facts | native.ENDED
    return len(table), chosen, facts


@pytest.mark.slow
@settings(max_examples=examples(400), deadline=None)
@given(
    table=st.lists(entries, max_size=8),
    first=st.integers(0, 8),
    spare=st.integers(0, 2),
    rules=st.builds(
        Rules,
        low=near,
        high=st.none() | near,
        earliest=near,
        control=st.booleans(),
        left_out=st.none() | st.binary(min_size=8, max_size=8),
    ),
)
def test_as_the_rules_say(table: list[Entry], first: int, spare: int, rules: Rules) -> None:
    first = min(first, len(table))
    names = load_core().scan_names
    capacity = len(table) + spare
    values = array("q", bytes(8 * capacity * len(names)))
    roles = tuple(names.index(name) for name in ROLES)
    for number, entry in enumerate(table):
        values[number] = 100 + number
        values[capacity + number] = 200 + number
        kind = BATCH if entry.magic == 2 else MESSAGE
        values[names.index(KIND) * capacity + number] = kind.number
        for role, value in zip(roles, entry.row, strict=True):
            values[role * capacity + number] = value
    options = (native.CONTROL if rules.control else 0) | (
        0 if rules.high is None else native.BOUNDED
    )
    arguments = (UNTIMED, rules.low, rules.high or 0, rules.earliest, options, 1, HIGHEST)
    room = array("q", [7]) * (native.BATCH_FIELDS * (len(table) - first))
    end, count, rows, facts = native.select(
        values, capacity, first, len(table), roles, arguments, rules.left_out, room
    )
    where, chosen, said = expected(table, first, rules)
    assert (end, count, facts) == (where, len(chosen), said)
    assert rows == sum(1 if row < 0 else row for _, _, row in chosen)
    for k, (number, payload, records) in enumerate(chosen):
        made = room[k * native.BATCH_FIELDS :][: native.BATCH_FIELDS]
        assert made[native.POSITION] == 100 + number
        assert made[native.SIZE] == 200 + number
        assert (made[native.PAYLOAD], made[native.ROWS]) == (payload, records)
        assert made[native.FLAGS] == 1
        if payload < -1:
            entry = table[number]
            inside = (
                (entry.position, entry.size)
                if entry.magic == 2
                else (entry.value_position, entry.value_size)
            )
            assert (made[native.PAYLOAD_POSITION], made[native.PAYLOAD_SIZE]) == inside
    untouched = room[len(chosen) * native.BATCH_FIELDS :]
    assert set(untouched) <= {7}


@pytest.mark.parametrize("kind", [-1, len(KINDS), HIGHEST, LOWEST])
def test_kinds_that_do_not_exist(kind: int) -> None:
    """A table is the caller's memory and may say anything; such an entry is no batch."""
    names = load_core().scan_names
    values = array("q", bytes(8 * len(names)))
    values[names.index(KIND)] = kind
    room = array("q", bytes(8 * native.BATCH_FIELDS))
    roles = tuple(names.index(name) for name in ROLES)
    assert native.select(values, 1, 0, 1, roles, (0, LOWEST, 0, 0, 0, 0, HIGHEST), None, room) == (
        1,
        1,
        1,
        0,
    )


def test_tables_that_are_none_are_refused() -> None:
    names = load_core().scan_names
    values = array("q", bytes(8 * 2 * len(names)))
    room = array("q", bytes(8 * 2 * native.BATCH_FIELDS))
    roles = tuple(names.index(name) for name in ROLES)
    rules = (1, 0, 0, 0, 0, 0, HIGHEST)
    native.select(values, 2, 0, 2, roles, rules, None, room)
    for wrong in (
        (values[:5], 2, 0, 2, roles, rules, None, room),
        (values, 2, 0, 3, roles, rules, None, room),
        (values, 2, -1, 2, roles, rules, None, room),
        (values, 2, 2, 1, roles, rules, None, room),
        (values, 1 << 62, 0, 2, roles, rules, None, room),
        (values, 2, 0, 2, roles[1:], rules, None, room),
        (values, 2, 0, 2, (*roles[1:], len(names)), rules, None, room),
        (values, 2, 0, 2, (*roles[1:], -1), rules, None, room),
        (values, 2, 0, 2, roles, rules[1:], None, room),
        (values, 2, 0, 2, roles, rules, None, room[:9]),
        (values, 2, 0, 2, roles, rules, None, bytes(1000)),
        (values, 2, 0, 2, roles, rules, bytes(1), room),
        (values, 2, 0, 2, roles, rules, 7, room),
    ):
        with pytest.raises((TypeError, ValueError, BufferError)):
            native.select(*wrong)


@given(values=st.lists(st.integers(-2, 1), max_size=40), rows=st.integers(-1, 41))
def test_count(values: list[int], rows: int) -> None:
    column = array("q", values)
    if not 0 <= rows <= len(values):
        with pytest.raises(ValueError, match=r"rows|bytes"):
            native.count(column, rows, -1)
        return
    assert native.count(column, rows, -1) == values[:rows].count(-1)


def test_surveys_and_changes_that_are_none_are_refused() -> None:
    names = load_core().scan_names
    roles = tuple(names.index(name) for name in INNER_ROLES)
    assert native.survey(b"", roles, UNTIMED)[:2] == (native.OK, 0)
    assert native.survey(bytes(5), roles, UNTIMED)[:2] == (native.SHORT, 0)
    for wrong in (roles[1:], (*roles[1:], len(names)), (*roles[1:], -1)):
        with pytest.raises((TypeError, ValueError)):
            native.survey(b"", wrong, UNTIMED)
    values = array("q", [1, 2, HIGHEST, 4])
    native.adjust(values, 1, 2, False, 3)
    assert list(values) == [1, 5, LOWEST + 2, 4]
    native.adjust(values, 2, 2, True, -7)
    assert list(values) == [1, 5, -7, -7]
    for bounds in ((0, 5), (3, 2), (-1, 1), (0, -1), (1 << 62, 1 << 62), (4, 1)):
        with pytest.raises(ValueError, match=r"rows out of range|needs"):
            native.adjust(values, *bounds, False, 1)
    with pytest.raises(BufferError):
        native.adjust(bytes(values), 0, 1, False, 1)
