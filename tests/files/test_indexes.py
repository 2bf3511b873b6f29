"""Offset index and time index: padding, sanity checks and look-ups (Kafka: ``AbstractIndex``)."""

from __future__ import annotations

import struct
from bisect import bisect_right
from pathlib import Path

import pytest

from kafkaspec.codecs import Codec
from kafkaspec.errors import KafkaSpecError, Reason
from kafkaspec.files.indexes import OffsetIndex, TimeIndex
from tests.goldens import VERSIONS, Golden, distinct
from tests.loops import each

OFFSETS = [(3, 100), (9, 400), (12, 900)]
TIMES = [(1000, 2), (1500, 9), (1700, 12)]


def offset_index(path: Path, entries: list[tuple[int, int]], rest: bytes = b"") -> Path:
    file = path / "00000000000000000100.index"
    file.write_bytes(b"".join(struct.pack(">ii", *entry) for entry in entries) + rest)
    return file


def time_index(path: Path, entries: list[tuple[int, int]], rest: bytes = b"") -> Path:
    file = path / "00000000000000000100.timeindex"
    file.write_bytes(b"".join(struct.pack(">qi", *entry) for entry in entries) + rest)
    return file


# -- padding -------------------------------------------------------------------------------------


@pytest.mark.parametrize("slots", [0, 1, 1000])
def test_entries_end_before_the_zeros(slots: int, tmp_path: Path, codec: Codec) -> None:
    index = OffsetIndex(offset_index(tmp_path, OFFSETS, bytes(8 * slots)), codec=codec)
    assert [(entry.offset, entry.position) for entry in index.entries] == [
        (103, 100),
        (109, 400),
        (112, 900),
    ]
    assert (len(index), index.padding, index.slots) == (3, 8 * slots, 3 + slots)
    assert index.padding_is_zero
    times = TimeIndex(time_index(tmp_path, TIMES, bytes(12 * slots)), codec=codec)
    assert [(entry.timestamp, entry.offset) for entry in times.entries] == [
        (1000, 102),
        (1500, 109),
        (1700, 112),
    ]
    assert (times.padding, times.last_timestamp) == (12 * slots, 1700)


def test_the_first_slot_may_have_relative_offset_0(tmp_path: Path, codec: Codec) -> None:
    times = TimeIndex(time_index(tmp_path, [(500, 0), (600, 3)], bytes(120)), codec=codec)
    assert [entry.offset for entry in times.entries] == [100, 103]
    index = OffsetIndex(offset_index(tmp_path, [(0, 70), (2, 90)], bytes(80)), codec=codec)
    assert [entry.position for entry in index.entries] == [70, 90]


def test_a_file_of_one_zero_slot_has_one_entry(tmp_path: Path, codec: Codec) -> None:
    """Timestamp 0 at the first offset is a record from 1970."""
    times = TimeIndex(time_index(tmp_path, [(0, 0)]), codec=codec)
    assert [(entry.timestamp, entry.offset) for entry in times.entries] == [(0, 100)]


def test_a_preallocated_file_has_no_entry(tmp_path: Path, codec: Codec) -> None:
    index = OffsetIndex(offset_index(tmp_path, [], bytes(10485760)), codec=codec)
    assert (len(index), index.slots, index.padding) == (0, 1310720, 10485760)
    assert index.lookup(2**62) is None
    times = TimeIndex(time_index(tmp_path, [], bytes(10485756)), codec=codec)
    assert (len(times), times.slots, times.last_timestamp) == (0, 873813, None)
    assert times.lookup(2**62) is None


def test_an_empty_file_has_no_entry(tmp_path: Path, codec: Codec) -> None:
    index = OffsetIndex(offset_index(tmp_path, []), codec=codec)
    assert (len(index), index.entries, index.sanity_check()) == (0, [], [])


def test_something_in_the_padding_is_no_entry_but_seen(tmp_path: Path, codec: Codec) -> None:
    rest = bytes(80) + struct.pack(">ii", 99, 99)
    index = OffsetIndex(offset_index(tmp_path, OFFSETS, rest), codec=codec)
    assert len(index) == 3
    assert not index.padding_is_zero


# -- sanity checks -------------------------------------------------------------------------------


def problems(index: OffsetIndex | TimeIndex) -> list[tuple[Reason, int | None, str]]:
    return [(problem.reason, problem.position, problem.path) for problem in index.sanity_check()]


@pytest.mark.parametrize("rest", [1, 7])
def test_a_size_that_is_no_multiple_of_an_entry(rest: int, tmp_path: Path, codec: Codec) -> None:
    index = OffsetIndex(offset_index(tmp_path, OFFSETS, bytes(rest)), codec=codec)
    assert index.trailing_bytes == rest
    assert len(index) == 3
    assert problems(index) == [(Reason.TRAILING_BYTES, 24, "")]


def test_a_last_offset_below_the_base_offset(tmp_path: Path, codec: Codec) -> None:
    index = OffsetIndex(offset_index(tmp_path, [(3, 10), (-1, 20)]), codec=codec)
    assert problems(index) == [(Reason.INVALID_VALUE, 8, "/relative_offset")]
    times = TimeIndex(time_index(tmp_path, [(3, 10), (4, -1)]), codec=codec)
    assert problems(times) == [(Reason.INVALID_VALUE, 12, "/relative_offset")]


def test_a_last_timestamp_below_the_first(tmp_path: Path, codec: Codec) -> None:
    times = TimeIndex(time_index(tmp_path, [(1000, 1), (2000, 2), (999, 3)]), codec=codec)
    assert problems(times) == [(Reason.INVALID_VALUE, 24, "/timestamp")]


# -- look-ups ------------------------------------------------------------------------------------


@pytest.mark.parametrize("rest", [b"", bytes(800)])
def test_offset_lookup(rest: bytes, tmp_path: Path, codec: Codec) -> None:
    """The largest entry at or below; none means the start of the segment."""
    index = OffsetIndex(offset_index(tmp_path, OFFSETS, rest), codec=codec)

    def position(offset: int) -> int | None:
        entry = index.lookup(offset)
        return entry.position if entry else None

    assert [position(offset) for offset in (0, 100, 102)] == [None] * 3
    assert [position(offset) for offset in (103, 104, 108)] == [100] * 3
    assert [position(offset) for offset in (109, 111)] == [400] * 2
    assert [position(offset) for offset in (112, 113, 2**62)] == [900] * 3


@pytest.mark.parametrize("rest", [b"", bytes(1200)])
def test_time_lookup(rest: bytes, tmp_path: Path, codec: Codec) -> None:
    index = TimeIndex(time_index(tmp_path, TIMES, rest), codec=codec)

    def offset(timestamp: int) -> int | None:
        entry = index.lookup(timestamp)
        return entry.offset if entry else None

    assert [offset(timestamp) for timestamp in (-1, 0, 999)] == [None] * 3
    assert [offset(timestamp) for timestamp in (1000, 1499)] == [102] * 2
    assert [offset(timestamp) for timestamp in (1500, 1699)] == [109] * 2
    assert [offset(timestamp) for timestamp in (1700, 2**62)] == [112] * 2


@each("version", VERSIONS)
def test_offset_lookups_in_golden_indexes(version: str, codec: Codec) -> None:
    for golden in distinct(".index", version=version):
        check_offset_lookups(golden, codec)


def check_offset_lookups(golden: Golden, codec: Codec) -> None:
    """Every offset that the index is about, and those beside them."""
    index = OffsetIndex(golden.path, codec=codec)
    data = golden.path.read_bytes()
    stored = [
        (index.base_offset + offset, position)
        for offset, position in struct.iter_unpack(">ii", data)
    ]
    for offset in range(
        index.base_offset - 1, stored[-1][0] + 2 if stored else index.base_offset + 1
    ):
        count = bisect_right(stored, (offset, 2**31))
        entry = index.lookup(offset)
        found = (entry.offset, entry.position) if entry else None
        assert found == (stored[count - 1] if count else None)


# -- names ---------------------------------------------------------------------------------------


def test_the_base_offset_comes_from_the_name_or_from_the_caller(
    tmp_path: Path, codec: Codec
) -> None:
    file = offset_index(tmp_path, OFFSETS).rename(tmp_path / "renamed")
    with pytest.raises(KafkaSpecError) as caught:
        OffsetIndex(file, codec=codec)
    assert caught.value.reason is Reason.UNREADABLE
    assert OffsetIndex(file, base_offset=7, codec=codec).entry(0).offset == 10


def test_there_is_no_entry_beyond_the_last(tmp_path: Path, codec: Codec) -> None:
    index = OffsetIndex(offset_index(tmp_path, OFFSETS, bytes(80)), codec=codec)
    for number in (-1, 3):
        with pytest.raises(IndexError):
            index.entry(number)
