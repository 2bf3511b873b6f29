"""Windows of an input that is read in parts: how many bytes each request is for."""

from __future__ import annotations

from kafkaspec.io.window import LEAST_AHEAD, LEAST_SPARSE, Cursor, Reading


class Zeros(Reading):
    """Zeros that note each request."""

    name = "zeros"
    modified = None

    def __init__(self, size: int) -> None:
        self.size = size
        self.requests: list[tuple[int, int]] = []

    def read_into(self, position: int, target: memoryview) -> int:
        self.requests.append((position, len(target)))
        return len(target)

    def close(self) -> None:
        """Nothing is open."""


def end_of(cursor: Cursor, position: int) -> int:
    buffer, start = cursor.at(position, 1)
    assert start <= position < start + len(buffer)
    return start + len(buffer)


def test_adjacent_windows_are_each_twice_as_large_up_to_the_largest() -> None:
    source = Zeros(20 * LEAST_AHEAD)
    cursor = source.cursor(most=4 * LEAST_AHEAD)
    position = 0
    while position < source.size:
        position = end_of(cursor, position)
    assert [size // LEAST_AHEAD for _, size in source.requests] == [1, 2, 4, 4, 4, 4, 1]
    assert [start for start, _ in source.requests] == [
        sum(size for _, size in source.requests[:number]) for number in range(len(source.requests))
    ]


def test_bytes_that_are_there_are_not_read_again() -> None:
    source = Zeros(4 * LEAST_AHEAD)
    cursor = source.cursor()
    cursor.at(0, LEAST_AHEAD)
    cursor.at(LEAST_AHEAD - 1, 1)
    assert source.requests == [(0, LEAST_AHEAD)]
    buffer, start = cursor.at(LEAST_AHEAD - 1, 2)  # the byte that is there is kept
    assert start == LEAST_AHEAD - 1
    assert source.requests[1:] == [(LEAST_AHEAD, len(buffer) - 1)]


def test_after_a_gap_windows_begin_small_again() -> None:
    gap = Zeros.request_bytes
    for distance, size in ((gap, 2 * LEAST_SPARSE), (gap + 1, LEAST_SPARSE)):
        source = Zeros(100 * gap)
        cursor = source.cursor(sparse=True)
        position = end_of(cursor, 0) + distance
        cursor.at(position, 1)
        assert source.requests == [(0, LEAST_SPARSE), (position, size)]


def test_a_window_is_never_larger_than_the_caller_allows() -> None:
    source = Zeros(4 * LEAST_AHEAD)
    buffer, _ = source.cursor(most=100).at(0, 1)
    assert len(buffer) == 100
    buffer, _ = source.cursor(most=100).at(0, 1000)  # a single entry needs more
    assert len(buffer) == 1000
