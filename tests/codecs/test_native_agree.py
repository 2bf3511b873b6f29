"""Comparisons of columns in the core, against the same ones made one by one in Python."""

from __future__ import annotations

import struct
from array import array
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkaspec import encode
from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.codecs.native import load_core
from kafkaspec.codecs.native.names import COLUMN_FACTS, INSPECTED, OPERATORS
from kafkaspec.codecs.native.scan import scan
from kafkaspec.columns.conditions import BEFORE, Compare, Marks, holds
from kafkaspec.columns.inspection import ROWS, STATUS, TEXT, Inspector
from kafkaspec.files.arrays import wide_column
from kafkaspec.log.segment import Segment
from tests.extent import examples
from tests.log.strategies import CODECS, records

native = pytest.importorskip("kafkaspec._native", reason="the extension was not built")

CORE = load_core()
REFUSED = "no such|needs|room|at most|too many|columns of integers"
SOME = settings(max_examples=examples(300), deadline=None)
LOWEST, HIGHEST = -(1 << 63), (1 << 63) - 1
small = st.integers(-3, 3)
numbers = st.one_of(small, st.sampled_from([LOWEST, LOWEST + 1, HIGHEST - 1, HIGHEST]))
compares = st.builds(
    Compare,
    st.sampled_from("ab"),
    st.sampled_from(OPERATORS),
    st.one_of(small, st.sampled_from(["a", "b", BEFORE + "a", BEFORE + "b"])),
    small,
)
clauses = st.lists(st.lists(compares, min_size=1, max_size=3).map(tuple), max_size=6)


@pytest.mark.core
@SOME
@given(
    rows=st.lists(st.tuples(small, small), max_size=9),
    clauses=clauses,
    repeat=st.sampled_from([1, 1, 400]),
)
def test_marks_are_those_of_single_rows(
    rows: list[tuple[int, int]], clauses: list[tuple[Compare, ...]], repeat: int
) -> None:
    rows = rows * repeat
    columns = {
        name: memoryview(array("q", [row[k] for row in rows])) for k, name in enumerate("ab")
    }
    marks = Marks((clause, 1 << k) for k, clause in enumerate(clauses))
    found = marks.of(CORE, columns.__getitem__, len(rows))
    for number, (a, b) in enumerate(rows):
        values = {"a": a, "b": b}
        wanted = 0
        if number:
            before = rows[number - 1]
            values |= {BEFORE + "a": before[0], BEFORE + "b": before[1]}
        for k, clause in enumerate(clauses):
            known = tuple(
                item for item in clause if number or not str(item.right).startswith(BEFORE)
            )
            wanted |= 0 if holds(known, values) else 1 << k
        assert found[number] == wanted


@pytest.mark.core
@SOME
@given(a=numbers, b=numbers, plus=small, operator=st.sampled_from(["<", "<=", ">", ">="]))
def test_sums_beyond_64_bits_are_the_nearest_number(
    a: int, b: int, plus: int, operator: str
) -> None:
    columns = {"a": memoryview(array("q", [a])), "b": memoryview(array("q", [b]))}
    marks = Marks([((Compare("a", operator, "b", plus),), 1)])
    (found,) = marks.of(CORE, columns.__getitem__, 1)
    nearest = max(LOWEST, min(b + plus, HIGHEST))
    assert found == (not holds((Compare("a", operator, nearest),), {"a": a}))


@pytest.mark.parametrize(
    "arguments",
    [
        ((array("q", [1]),), 2, array("q", [1, 0, 0, -1, 0, 0]), bytearray(2)),
        ((array("q", [1]),), 1, array("q", [1, 1, 0, -1, 0, 0]), bytearray(1)),
        ((array("q", [1]),), 1, array("q", [1, 0, 6, -1, 0, 0]), bytearray(1)),
        ((array("q", [1]),), 1, array("q", [1, 0, 0, 0, 2, 0]), bytearray(1)),
        ((array("q", [1]),), 1, array("q", [256, 0, 0, 0, 0, 0]), bytearray(1)),
        ((array("q", [1]),), 1, array("q", [1, 0, 0, -1, 0, 0]), bytearray(0)),
        ((array("q", [1]),) * 65, 1, array("q"), bytearray(1)),
        ((), -1, array("q"), bytearray(1)),
    ],
)
def test_marks_refuse_what_does_not_fit(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match=REFUSED):
        native.mark(*arguments)


@pytest.mark.core
@SOME
@given(
    rows=st.lists(st.tuples(small, small, st.integers(0, 2**64 - 1)), max_size=9),
    bit=st.integers(0, 63),
    number=small,
)
def test_rows_without_a_value_are_filled(
    rows: list[tuple[int, int, int]], bit: int, number: int
) -> None:
    columns = [
        array(code, column) for code, column in zip("qqQ", zip(*rows, strict=True), strict=False)
    ]
    values, others, present = columns if rows else (array("q"), array("q"), array("Q"))
    for source in (None, others):
        out = array("q", values)
        native.fill(out, present, bit, source, number, len(rows))
        for row, (value, other, bits) in enumerate(rows):
            wanted = number if source is None else other
            assert out[row] == (value if bits >> bit & 1 else wanted)


def test_filling_refuses_what_does_not_fit() -> None:
    one, two = array("q", [1]), array("q", [1, 2])
    for arguments in (
        (one, two, 0, None, 0, 2),
        (two, one, 0, None, 0, 2),
        (two, two, 0, one, 0, 2),
        (two, two, 64, None, 0, 2),
        (two, two, -1, None, 0, 2),
        (two, two, 0, None, 0, -1),
    ):
        with pytest.raises(ValueError, match=REFUSED):
            native.fill(*arguments)
    assert (one.tolist(), two.tolist()) == ([1], [1, 2])


def test_following_refuses_what_does_not_fit() -> None:
    one, state = array("q", [1]), array("q", [0, -1, 0])
    entries, columns = (one, one), (one,) * 6
    assert native.follow(False, entries, 1, columns, 0, 0, 1, array("q", state)) in (0, 1)
    for arguments in (
        (False, (one,), 1, columns, 0, 0, 1, state),
        (False, entries, 2, columns, 0, 0, 1, state),
        (False, entries, 1, columns, 0, 0, 2, state),
        (False, entries, 1, columns, 0, -1, 1, state),
        (False, entries, 1, columns[:5], 0, 0, 1, state),
        (False, entries, 1, columns, 0, 0, 1, array("q", [-1, -1, 0])),
        (False, entries, 1, columns, 0, 0, 1, array("q", [0, 1, 0])),
        (True, entries, -1, columns, 0, 0, 1, state),
    ):
        with pytest.raises(ValueError, match=REFUSED):
            native.follow(*arguments)


@SOME
@given(
    data=st.binary(max_size=60),
    plus=st.one_of(small, st.sampled_from([LOWEST, HIGHEST])),
    kind=st.sampled_from(["index.offset_index_entry", "index.time_index_entry"]),
)
def test_fields_of_arrays_in_64_bits(data: bytes, plus: int, kind: str) -> None:
    layout = struct.Struct({"index.offset_index_entry": ">ii"}.get(kind, ">qi"))
    entries = list(layout.iter_unpack(data[: len(data) // layout.size * layout.size]))
    for number, item in enumerate(LAYOUTS[kind].fields):
        wanted = [entry[number] + plus for entry in entries]
        if all(LOWEST <= value <= HIGHEST for value in wanted):
            assert wide_column(CORE, kind, item.id, memoryview(data), plus).tolist() == wanted
        else:
            with pytest.raises(OverflowError):
                wide_column(CORE, kind, item.id, memoryview(data), plus)


@pytest.mark.parametrize("place", [(4, -1, 2), (4, 3, 2), (1, 0, 9), (4, 0, 0), (0, 0, 1)])
def test_fields_outside_of_an_entry_are_refused(place: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match=REFUSED):
        native.widen(b"12345678", *place, True, 0, array("q", [0] * 8))


# -- what records have in common -------------------------------------------------------------------


@pytest.mark.slow
@SOME
@given(
    batches=st.sampled_from([0, 1, 2]).flatmap(
        lambda magic: st.tuples(
            st.just(magic), st.lists(records(magic, least=1), min_size=1, max_size=4)
        )
    ),
    compression=st.sampled_from(CODECS),
)
def test_facts_are_those_of_the_records(batches: tuple[int, list[Any]], compression: str) -> None:
    magic, lists = batches
    compression = "lz4" if magic < 2 and compression == "zstd" else compression
    data = b"".join(encode(items, magic=magic, compression=compression) for items in lists)
    with Segment(data) as segment:
        core = segment.codec.core
        assert core is not None
        table = scan(core, data)
        found = Inspector(segment, 1 << 20).inspect(table, memoryview(data), 0)
        for number, batch in enumerate(segment.batches()):
            items = batch.records()
            assert found.column(STATUS)[number] == core.module.OK
            keys = [key for item in items for key, _ in item.headers]
            assert found.column(ROWS)[number] == len(items)
            assert found.column(TEXT)[number] == all(map(is_utf8, keys))
            for name in INSPECTED:
                values = [getattr(item, name) for item in items]
                rising = all(a < b for a, b in pairwise(values))
                wanted = (values[0], values[-1], min(values), max(values), rising)
                facts = [found.column(f"{name}.{fact}")[number] for fact in COLUMN_FACTS]
                assert tuple(facts) == wanted


def is_utf8(key: str) -> bool:
    try:
        key.encode()
    except UnicodeEncodeError:
        return False
    return True


def test_inspection_refuses_what_does_not_fit() -> None:
    batch = array("q", [0] * native.BATCH_FIELDS)
    facts = array("q", [0] * 20)
    native.inspect((b"",), batch, (0, 1), -1, facts, 0, 1)
    assert facts[0] == native.IRREGULAR
    text = CORE.columns["headers.key"].number
    integer_in_list = CORE.columns["headers.len_key"].number
    for arguments in (
        ((b"",), batch, (0, 1), -1, facts, 1, 1),
        ((b"",), batch, (0, 1), -1, facts, 0, 2),
        ((b"",), batch, (0, 1), -1, facts, -1, 1),
        ((b"",), batch, (text,), -1, facts, 0, 1),
        ((b"",), batch, (integer_in_list,), -1, facts, 0, 1),
        ((b"",), batch, (-1,), -1, facts, 0, 1),
        ((b"",), batch, (0,), 0, facts, 0, 1),
        ((b"",), batch, (0,), 999, facts, 0, 1),
        ((b"",), batch, (0, 0, 0, 0, 0), -1, facts, 0, 1),
        ((b"",) * 5, batch, (0,), -1, facts, 0, 1),
    ):
        with pytest.raises(ValueError, match=REFUSED):
            native.inspect(*arguments)
