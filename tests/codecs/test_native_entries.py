"""Checksums of whole entries and headers before payloads; tables that are not as they should be."""

from __future__ import annotations

from array import array
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkaspec import Record, encode
from kafkaspec.codecs import get_codec
from kafkaspec.codecs.native.core import load_core
from kafkaspec.codecs.native.scan import EntryTable, header_size, intact, put_headers, scan
from kafkaspec.layout.kinds import KINDS
from tests.extent import examples
from tests.log import forge

native = pytest.importorskip("kafkaspec._native", reason="the extension was not built")

KIND = KINDS[2]
numbers = st.one_of(st.integers(-2, 400), st.integers(-(1 << 63), (1 << 63) - 1))


def batches(wrong: int | None = None) -> bytes:
    made = (
        forge.batch(n, [forge.record(0, b"value")], crc=1 if n == wrong else None) for n in range(5)
    )
    return b"".join(made)


@pytest.mark.parametrize("wrong", [None, 0, 3, 4])
@pytest.mark.parametrize("magic", [0, 1, 2])
def test_entries_up_to_the_first_wrong_checksum(magic: int, wrong: int | None) -> None:
    data = batches(wrong)
    if magic < 2:
        forged = (1 if n == wrong else None for n in range(5))
        data = b"".join(forge.legacy(n, b"v", magic=magic, crc=crc) for n, crc in enumerate(forged))
    core = load_core()
    table = scan(core, data)
    places, sizes, crcs = (list(table.column(name)) for name in ("position", "size", "crc"))
    expected = 5 if wrong is None else wrong
    assert intact(core, KINDS[magic], data, places, sizes, crcs) == expected
    moved = [at + 100 for at in places]
    assert intact(core, KINDS[magic], data, moved, sizes, crcs, 100) == expected


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.tuples(numbers, numbers), max_size=4), st.integers(-1, 100))
def test_places_outside_of_the_buffer_are_refused(
    places: list[tuple[int, int]], start: int
) -> None:
    data = batches()
    inside = all(
        start <= at and size >= 21 and at - start + size <= len(data) for at, size in places
    )
    columns = [array("q", column) for column in zip(*places, strict=True)] or [array("q")] * 2
    try:
        found = native.intact(
            data, start, *columns, array("q", [-1] * len(places)), len(places), 21, True
        )
    except ValueError:
        assert not inside or start < 0
    else:
        assert found == 0


def test_headers_are_those_that_were_read() -> None:
    data, core = batches(), load_core()
    table = scan(core, data)
    ends = array("q", [n * len(data) // 5 for n in range(1, 6)])
    out = bytearray(data)
    before = header_size(core, KIND)
    for end in [0, *ends[:-1]]:
        out[end : end + before] = bytes(before)
    assert put_headers(core, KIND, table, out, ends) == 5
    assert out == data


def test_a_number_that_does_not_fit_ends_the_headers() -> None:
    data, core = batches(), load_core()
    table = scan(core, data)
    table.column("partition_leader_epoch")[2] = 1 << 31
    ends = array("q", [n * len(data) // 5 for n in range(1, 6)])
    assert put_headers(core, KIND, table, bytearray(data), ends) == 2


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(numbers, min_size=5, max_size=5))
def test_payloads_outside_of_the_buffer_are_refused(ends: list[int]) -> None:
    data, core = batches(), load_core()
    table = scan(core, data)
    out = bytearray(data)
    try:
        put_headers(core, KIND, table, out, array("q", ends))
    except ValueError:
        return
    least = header_size(core, KIND)
    steps = zip([0, *ends], ends, strict=False)
    assert all(stop - start >= least for start, stop in steps)
    assert ends[-1] <= len(data)


def test_tables_and_kinds_that_do_not_fit_are_refused() -> None:
    data, core = batches(), load_core()
    table = scan(core, data)
    ends = array("q", range(100, 600, 100))
    with pytest.raises(ValueError, match="no header"):
        put_headers(core, KINDS[1], table, bytearray(data), ends)
    too_many = replace(table, count=table.capacity + 1)
    with pytest.raises(ValueError, match="no such table"):
        put_headers(core, KIND, too_many, bytearray(data), ends)
    with pytest.raises(ValueError, match="needs"):
        put_headers(core, KIND, table, bytearray(data), ends[:2])


def test_a_scan_takes_memory_for_what_bytes_may_hold() -> None:
    entry = encode([Record(0, 0, b"k", b"v")])
    table = get_codec("native").scan(entry, capacity=1 << 16)
    assert isinstance(table, EntryTable)
    assert table.count == 1
    assert table.values.nbytes < 100 * len(entry)
