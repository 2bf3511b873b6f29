"""``Segment.records`` one at a time: as one batch after the other, and safe between two records."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkaspec import codecs, compression
from kafkaspec.errors import CorruptError, KafkaSpecError, Reason
from kafkaspec.log.segment import Segment
from kafkaspec.model import Record
from tests.extent import examples
from tests.log import forge

SNAPPY = int(compression.CompressionType.SNAPPY)
CONTROL = 0x20
Part = Callable[[int], bytes]


def _data(first: int, count: int = 3) -> list[bytes]:
    return [forge.record(delta, b"%d" % (first + delta)) for delta in range(count)]


def _plain(first: int) -> bytes:
    return forge.batch(first, _data(first))


def _packed(first: int) -> bytes:
    payload = compression.compress(SNAPPY, b"".join(_data(first)), magic=2)
    return forge.batch(first, payload, count=3, attributes=SNAPPY)


def _control(first: int) -> bytes:
    marker = forge.record(0, b"\0\0\0\0\0\0", key=b"\0\0\0\1")
    return forge.batch(first, [marker], attributes=CONTROL)


def _broken(first: int) -> bytes:
    entry = bytearray(_plain(first))
    entry[-1] ^= 1  # the checksum is wrong now
    return bytes(entry)


def _one_by_one(
    data: bytes, codec: str, control: bool
) -> tuple[list[Record], KafkaSpecError | None]:
    found: list[Record] = []
    try:
        for batch in Segment(data, codec=codec).batches():
            if control or not batch.is_control:
                found += batch.records()
    except KafkaSpecError as error:
        return found, error
    return found, None


def _streamed(data: bytes, codec: str, control: bool) -> tuple[list[Record], KafkaSpecError | None]:
    found: list[Record] = []
    try:
        found.extend(Segment(data, codec=codec).records(include_control=control))
    except KafkaSpecError as error:
        return found, error
    return found, None


@pytest.mark.parametrize("codec", [name for name in codecs.codec_names() if name != "construct"])
@settings(deadline=None, max_examples=examples(60))
@given(
    parts=st.lists(st.sampled_from([_plain, _packed, _control, _broken]), max_size=7),
    tail=st.sampled_from([b"", b"\0", b"\xff" * 40, b"\0" * 40]),
    control=st.booleans(),
)
def test_as_one_batch_after_the_other(
    codec: str, parts: list[Part], tail: bytes, control: bool
) -> None:
    data = b"".join(part(10 * number) for number, part in enumerate(parts)) + tail
    expected, error = _one_by_one(data, "python", control)
    found, raised = _streamed(data, codec, control)
    assert found == expected
    assert (raised and (raised.reason, raised.position, raised.path)) == (
        error and (error.reason, error.position, error.path)
    )


@pytest.mark.parametrize("batches", [1, 63, 64, 65, 200])
def test_as_many_batches_as_there_are(batches: int) -> None:
    data = b"".join(_plain(3 * number) for number in range(batches))
    assert [record.offset for record in Segment(data).records()] == list(range(3 * batches))


def test_a_file_that_becomes_shorter_between_two_records(tmp_path: Path) -> None:
    path = tmp_path / f"{0:020d}.log"
    big = [forge.record(0, b"v" * 20_000)]
    path.write_bytes(b"".join(forge.batch(number, big) for number in range(10)))
    with Segment(path) as segment:
        found = iter(segment.records())
        assert len(next(found).value or b"") == 20_000
        with path.open("r+b") as file:
            file.truncate(100)
        with pytest.raises(CorruptError) as caught:
            list(found)
    assert caught.value.reason is Reason.CHANGED


def test_records_of_a_batch_stay_as_they_were_read(tmp_path: Path) -> None:
    path = tmp_path / f"{0:020d}.log"
    path.write_bytes(forge.batch(0, _data(0)))
    with Segment(path) as segment:
        found = iter(segment.records())
        values = [next(found).value]
        path.write_bytes(b"\xee" * path.stat().st_size)  # the same file, and still mapped
        values += [record.value for record in found]
    assert values == [b"0", b"1", b"2"]


def test_a_segment_that_is_closed_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / f"{0:020d}.log"
    path.write_bytes(_plain(0) + _plain(3))
    expected = list(Segment(path).records())
    with Segment(path) as segment:
        found = iter(segment.records())
        first = next(found)
    del segment
    assert [first, next(found)] == expected[:2]
    del found  # gives the mapping back


def test_an_ended_iterator_stays_ended() -> None:
    found = iter(Segment(_plain(0)).records())
    assert len(list(found)) == 3
    assert next(found, None) is None


def test_arguments_that_do_not_fit_are_refused() -> None:
    native = pytest.importorskip("kafkaspec._native", reason="the extension was not built")
    table = bytes(8 * 64)
    good = (b"", 0, table, 1, 1, (0,) * 3, 0, 0, Record, (), 0, None, None)
    native.Records(*good)
    for place, value in (
        (1, "0"), (2, b""), (3, 0), (4, -1), (4, 2), (5, (0,) * 2), (5, (99,) * 3), (5, (-1,) * 3),
        (8, int), (9, (1000,)), (9, (-1,)), (12, b""), (12, 0),
    ):  # fmt: skip
        arguments = [*good[:place], value, *good[place + 1 :]]
        with pytest.raises((TypeError, ValueError)):
            native.Records(*arguments)
    for position, size in ((-1, 5), (0, 5), (5, 0), (1 << 62, 1 << 62)):
        columns = b"".join(value.to_bytes(8, "little", signed=True) for value in (position, size))
        values = columns + bytes(8 * 62)
        roles = (3, 3, 3)
        given = (b"abc", 0, values, 1, 1, roles, 0, 99, Record, (), 0, None)
        for skipped, end in (
            (None, 0),
            (b"\0", 0),
            (b"\1", (position + size + 2**63) % 2**64 - 2**63),
        ):
            empty = native.Records(*given, skipped)
            assert list(empty) == []
            assert empty.end == end
