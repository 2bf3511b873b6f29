"""Rows of columns are compared as Python compares them, and what is no column is refused."""

from __future__ import annotations

import struct
from array import array
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.extent import examples

native = pytest.importorskip("kafkaspec._native", reason="the extension was not built")

values = st.lists(st.one_of(st.none(), st.binary(max_size=3), st.binary(min_size=11, max_size=15)))
lists = st.lists(st.lists(st.one_of(st.none(), st.binary(max_size=14)), max_size=3), max_size=5)


def strings(items: list[bytes | None]) -> tuple[Any, ...]:
    """A byte column in two sources, in turns."""
    validity = bytearray((len(items) + 7) // 8)
    views, sources = b"", [bytearray(b"."), bytearray()]
    for row, item in enumerate(items):
        data = item or b""
        validity[row >> 3] |= (item is not None) << (row & 7)
        if len(data) <= 12:
            views += struct.pack("<i12s", len(data), data)
        else:
            views += struct.pack("<i4sii", len(data), data[:4], row % 2, len(sources[row % 2]))
            sources[row % 2] += data
    return (validity if None in items else None, views, tuple(map(bytes, sources)))


def column(rows: list[list[bytes | None]]) -> tuple[Any, ...]:
    """A column of lists."""
    ends = array("i", [0])
    for row in rows:
        ends.append(ends[-1] + len(row))
    return (ends, (strings([item for row in rows for item in row]),))


@pytest.mark.core
@settings(max_examples=examples(300), deadline=None)
@given(values, values, st.data())
def test_byte_strings(one: list[Any], other: list[Any], data: st.DataObject) -> None:
    other = data.draw(st.sampled_from([one, other, [b"first", *one]]))
    first, second = (data.draw(st.integers(0, len(items))) for items in (one, other))
    rows = data.draw(st.integers(0, min(len(one) - first, len(other) - second)))
    expected = one[first : first + rows] == other[second : second + rows]
    assert native.same(strings(one), strings(other), first, second, rows) == expected


@pytest.mark.core
@settings(max_examples=examples(300), deadline=None)
@given(lists, lists, st.data())
def test_lists(one: list[Any], other: list[Any], data: st.DataObject) -> None:
    other = data.draw(st.sampled_from([one, other, [[b"first"], *one]]))
    first, second = (data.draw(st.integers(0, len(items))) for items in (one, other))
    rows = data.draw(st.integers(0, min(len(one) - first, len(other) - second)))
    expected = one[first : first + rows] == other[second : second + rows]
    assert native.same(column(one), column(other), first, second, rows) == expected


def test_integers() -> None:
    one, other = array("q", [1, 2, 3]), array("q", [9, 1, 2, 4])
    assert native.same(one, other, 0, 1, 2)
    assert not native.same(one, other, 0, 1, 3)
    assert not native.same(one, other, 1, 1, 1)


def test_what_is_no_column() -> None:
    numbers, text = array("q", [1, 2, 3]), strings([b"a", b"b", None])
    many = column([[b"a"], [], [b"b"]])
    for one, other, first, rows in (
        (numbers, numbers, 0, 4), (numbers, numbers, -1, 2), (numbers, numbers, 0, -1),
        (numbers, numbers, 2, 2), (numbers, text, 0, 1), (text, many, 0, 1), ((), (1,), 0, 1),
        (numbers, numbers, 1 << 40, 1), (text, text, 0, 4), (many, many, 0, 4),
        ((b"", *text[1:]), text, 0, 3), ((*text[:2], (b"",) * 5), text, 0, 3),
        ((many[0], (many,)), (many[0], (many,)), 0, 3), ((many[0], ()), many, 0, 3),
        ((many[0], (strings([]),)), many, 0, 3),
    ):  # fmt: skip
        with pytest.raises((ValueError, TypeError)):
            native.same(one, other, first, 0, rows)


def test_views_that_point_nowhere() -> None:
    long = b"0123456789abc"
    good = strings([long])
    assert native.same(good, good, 0, 0, 1)
    for size, buffer, position in ((13, 2, 0), (13, -1, 0), (13, 0, -1), (13, 0, 2), (-1, 0, 1)):
        bad = (None, struct.pack("<i4sii", size, long[:4], buffer, position), good[2])
        assert not native.same(bad, bad, 0, 0, 1)
    ends = array("i", [5, 3, 1])
    assert not native.same((ends, (good,)), (ends, (good,)), 0, 0, 2)
    ends = array("i", [-1, 0])
    assert not native.same((ends, (good,)), (ends, (good,)), 0, 0, 1)
