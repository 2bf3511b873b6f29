"""The end of a log: the rules of Kafka's reader of files (``FileLogInputStream.nextBatch``)."""

from __future__ import annotations

import os
import struct
import time
from pathlib import Path

import pytest

from kafkaspec.codecs import Codec
from kafkaspec.errors import CorruptError, KafkaSpecError, Reason, TruncatedError
from kafkaspec.log.entries import Tail
from kafkaspec.log.segment import Segment
from tests.log import forge
from tests.loops import each

FIRST = forge.batch(0, [forge.record(0, b"a")])
SECOND = forge.batch(1, [forge.record(0, b"b" * 40)])


def offsets(segment: Segment) -> list[int]:
    return [batch.base_offset for batch in segment.batches()]


def test_an_empty_file_is_an_empty_log(tmp_path: Path, codec: Codec) -> None:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(b"")
    with Segment(path, codec=codec, tail="raise") as segment:
        assert offsets(segment) == []
        assert segment.tail is None


def test_a_whole_log_has_no_tail(codec: Codec) -> None:
    segment = Segment(FIRST + SECOND, codec=codec, tail="raise")
    assert offsets(segment) == [0, 1]
    assert segment.tail is None


@each("left", range(1, 18))
def test_17_bytes_or_fewer_end_the_log_whatever_they_are(left: int, codec: Codec) -> None:
    for junk in (SECOND[:left], bytes(left), b"\xff" * left):
        segment = Segment(FIRST + junk, codec=codec)
        assert offsets(segment) == [0]
        assert segment.tail == Tail(len(FIRST), left, "short")


@each("left", range(18, len(SECOND)))
def test_an_entry_that_reaches_beyond_the_end_ends_the_log(left: int, codec: Codec) -> None:
    segment = Segment(FIRST + SECOND[:left], codec=codec)
    assert offsets(segment) == [0]
    assert segment.tail == Tail(len(FIRST), left, "torn")


@each("left", range(1, len(SECOND)))
def test_the_same_is_an_error_on_demand(left: int, codec: Codec) -> None:
    segment = Segment(FIRST + SECOND[:left], codec=codec, tail="raise", name="x.log")
    with pytest.raises(TruncatedError) as caught:
        offsets(segment)
    assert caught.value.reason is Reason.TRUNCATED
    assert caught.value.position is not None
    assert len(FIRST) <= caught.value.position < len(FIRST) + left + 1
    assert caught.value.file == "x.log"


@pytest.mark.parametrize("left", [18, 26, 61, 4096, 200_000])
def test_zeros_are_what_preallocation_leaves(left: int, codec: Codec) -> None:
    segment = Segment(FIRST + bytes(left), codec=codec)
    assert offsets(segment) == [0]
    assert segment.tail == Tail(len(FIRST), left, "zeros")


def test_zeros_are_an_error_on_demand(codec: Codec) -> None:
    segment = Segment(FIRST + bytes(100), codec=codec, tail="raise")
    with pytest.raises(CorruptError) as caught:
        offsets(segment)
    assert caught.value.reason is Reason.INVALID_VALUE
    assert caught.value.path == "/len_message"
    assert caught.value.position == len(FIRST) + 8


@pytest.mark.parametrize("size", [-(2**31), -1, 1, 13])
def test_a_size_below_14_is_an_error_and_nothing_behind_it_is_found(
    size: int, codec: Codec
) -> None:
    data = FIRST + struct.pack(">qi", 1, size) + bytes(50) + SECOND
    segment = Segment(data, codec=codec)
    with pytest.raises(CorruptError) as caught:
        offsets(segment)
    assert caught.value.reason is Reason.INVALID_VALUE
    assert caught.value.position == len(FIRST) + 8
    items = list(segment.scan())
    assert isinstance(items[1], KafkaSpecError)
    assert len(items) == 2
    assert segment.tail == Tail(len(FIRST), len(data) - len(FIRST), "corrupt")


def test_zeros_with_something_behind_them_are_no_preallocation(codec: Codec) -> None:
    segment = Segment(FIRST + bytes(100) + b"\1", codec=codec)
    with pytest.raises(CorruptError):
        offsets(segment)


@pytest.mark.parametrize("magic", [-128, -1, 3, 127])
def test_an_unknown_magic_is_an_error_and_the_scan_goes_on_behind_it(
    magic: int, codec: Codec
) -> None:
    broken = bytearray(SECOND)
    broken[16] = magic & 0xFF
    segment = Segment(FIRST + bytes(broken) + SECOND, codec=codec)
    with pytest.raises(CorruptError) as caught:
        offsets(segment)
    assert caught.value.reason is Reason.INVALID_VALUE
    assert caught.value.path == "/message/magic"
    first, error, second = segment.scan()
    assert isinstance(error, CorruptError)
    assert not isinstance(first, KafkaSpecError)
    assert not isinstance(second, KafkaSpecError)
    assert second.position == len(FIRST) + len(SECOND)
    assert segment.tail is None


@pytest.mark.parametrize("size", [14, 48])
def test_a_batch_without_room_for_its_header_is_an_error(size: int, codec: Codec) -> None:
    """14 to 48 bytes pass the first check of Kafka, and with magic 2 fail the second."""
    broken = struct.pack(">qi", 7, size) + FIRST[12:17] + bytes(size - 5)
    segment = Segment(FIRST + broken + SECOND, codec=codec)
    with pytest.raises(CorruptError) as caught:
        offsets(segment)
    assert caught.value.reason is Reason.OVERRUN
    assert [isinstance(item, KafkaSpecError) for item in segment.scan()] == [False, True, False]


def test_formats_follow_each_other_in_one_file(codec: Codec) -> None:
    data = b"".join(
        [
            forge.legacy(0, b"zero", magic=0),
            forge.legacy(1, b"one", timestamp=5),
            forge.batch(2, [forge.record(0, b"two")]),
            forge.wrapper(4, [forge.legacy(0, b"three"), forge.legacy(1, b"four")]),
        ]
    )
    segment = Segment(data, codec=codec)
    assert [batch.magic for batch in segment.batches()] == [0, 1, 2, 1]
    assert [record.value for record in segment.records()] == [
        b"zero",
        b"one",
        b"two",
        b"three",
        b"four",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("mapped", [True, False])
def test_the_hole_of_a_sparse_file_is_not_read(disk_path: Path, mapped: bool) -> None:
    """A terabyte of zeros, of which the file system says that they are a hole."""
    path = disk_path / "00000000000000000000.log"
    record = forge.batch(0, [forge.record(0, b"value")])
    with path.open("wb") as file:
        file.write(record)
        try:
            file.truncate(1 << 40)
        except OSError:
            pytest.skip("the file system has no files of this size")
        seek_hole = getattr(os, "SEEK_HOLE", None)
        if seek_hole is None or os.lseek(file.fileno(), 1 << 20, seek_hole) != 1 << 20:
            pytest.skip("the file system has no holes")
    began = time.monotonic()
    with Segment(path, mapped=mapped) as segment:
        assert [found.value for found in segment.records()] == [b"value"]
        assert segment.tail is not None
        assert (segment.tail.reason, segment.tail.position) == ("zeros", len(record))
    assert time.monotonic() - began < 20  # to read it takes minutes
    with path.open("r+b") as file:
        file.seek(1 << 39)
        file.write(b"\1")
    with Segment(path, mapped=mapped) as segment, pytest.raises(KafkaSpecError):
        list(segment.records())
