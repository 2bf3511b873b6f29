"""Parts of batches are what Python makes of them, and what does not fit is refused."""

from __future__ import annotations

from array import array
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.extent import examples

native = pytest.importorskip("kafkaspec._native", reason="the extension was not built")

FIELDS, LIMIT, OVERHEAD = 10, 40, 3


def divided(sizes: list[list[int]]) -> tuple[Any, ...]:
    """Arguments of ``parts`` for batches of records of these sizes, and room for the parts."""
    rows = [size for batch in sizes for size in batch]
    bounds, ends = array("q", [0]), array("i", [0])
    for batch in sizes:
        bounds.append(bounds[-1] + len(batch))
    for size in rows:
        ends.append(ends[-1] + size)
    offsets, times = array("q", range(len(rows))), array("q", [5] * len(rows))
    firsts, lasts = bounds[:-1], array("q", [end - 1 for end in bounds[1:]])
    known = array("q", [5] * len(sizes))
    traits = array("q", [0] * len(sizes)), array("q", [len(batch) % 2 for batch in sizes])
    keys = array("i", [0] * (len(rows) + 1))
    return (
        bounds, (firsts, lasts, known, known), traits, len(sizes), offsets, times,
        (keys, ends, None, None, None), LIMIT, OVERHEAD, array("q", [0] * FIELDS * len(rows)),
    )  # fmt: skip


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.lists(st.integers(0, 50), min_size=1, max_size=6), min_size=1, max_size=8))
def test_parts_and_what_they_become(sizes: list[list[int]]) -> None:
    arguments = divided(sizes)
    batches, count = native.parts(*arguments)
    rows = 0
    expected: list[list[int]] = []
    for batch in sizes:
        start = len(expected)
        for size in batch:
            size += OVERHEAD
            if len(expected) == start or expected[-1][2] + size > LIMIT:
                expected.append([rows, rows, 0, len(batch) % 2])
            expected[-1][1:3] = rows + 1, expected[-1][2] + size
            rows += 1
    room = arguments[-1]

    def made(number: int) -> list[list[int]]:
        columns = [room[field * rows : field * rows + number] for field in (0, 1, 2, 5)]
        return [list(item) for item in zip(*columns, strict=True)]

    assert (batches, made(count)) == (len(sizes), expected)
    joined: list[list[int]] = []
    for first, last, size, epoch in expected:
        if joined and joined[-1][2] + size <= LIMIT and joined[-1][3] == epoch:
            joined[-1][1:3] = last, joined[-1][2] + size
        else:
            joined.append([first, last, size, epoch])
    number = native.joined(room, 0, count, *arguments[4:6], LIMIT, 1 << 30)
    assert made(number) == joined
    for field, expected_values in enumerate(
        zip(*((first, last - first - 1, 5, last - first) for first, last, _, _ in joined),
            strict=True), 6,
    ):  # fmt: skip
        assert tuple(room[field * rows : field * rows + number]) == expected_values


def test_what_does_not_fit_is_refused() -> None:
    arguments = list(divided([[1, 2], [3]]))
    assert native.parts(*arguments) == (2, 2)
    for place, value in (
        (0, array("q", [0])), (1, ()), (1, (arguments[1][0],) * 3), (2, ()), (3, 3), (3, -1),
        (5, array("q", [5])), (6, (None,) * 4), (6, (None,) * 5), (7, -1), (8, -1), (9, b""),
        (6, (*arguments[6][:2], array("i", [0] * 4), None, None)),
    ):  # fmt: skip
        wrong = [*arguments[:place], value, *arguments[place + 1 :]]
        with pytest.raises((ValueError, TypeError, BufferError)):
            native.parts(*wrong)
    room, offsets, times = arguments[9], *arguments[4:6]
    for bad in (
        (room, -1, 2, offsets, times), (room, 2, 1, offsets, times), (room, 0, 9, offsets, times),
        (room, 0, 2, offsets, times[:1]), (room, 0, 2, offsets[:1], times[:1]),
        (array("q", [-1] * len(room)), 0, 2, offsets, times),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"."):
            native.joined(*bad, LIMIT, 1 << 30)
    assert native.joined(room, 0, 0, offsets, times, LIMIT, 1 << 30) == 0
