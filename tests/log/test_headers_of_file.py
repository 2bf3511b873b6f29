"""Headers of an open file, read one by one: the same as of windows, of a mapping and of bytes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkaspec.codecs import get_codec
from kafkaspec.errors import KafkaSpecError, Reason
from kafkaspec.io.local import FileReading
from kafkaspec.layout import names
from kafkaspec.log import headers as walk
from kafkaspec.log.header_table import CRC, POSITION, SIZE
from kafkaspec.log.headers import readable_headers
from kafkaspec.log.segment import Segment
from tests import goldens
from tests.codecs.test_headers import core
from tests.log import forge

SEGMENTS = [
    golden for golden in goldens.distinct(".log", ".checkpoint") if golden.path.stat().st_size
]
COLUMNS = (
    POSITION, SIZE, CRC, names.BASE_OFFSET, names.LAST_OFFSET, names.NUM_RECORDS, names.MAGIC,
    names.COMPRESSION, names.TIMESTAMP_TYPE, names.BASE_TIMESTAMP, names.MAX_TIMESTAMP,
    names.DELETE_HORIZON, names.LEADER_EPOCH, names.PRODUCER_ID, names.PRODUCER_EPOCH,
    names.BASE_SEQUENCE, names.LAST_SEQUENCE, names.IS_TRANSACTIONAL, names.IS_CONTROL,
)  # fmt: skip
PROC = Path("/proc/self/io")


@pytest.fixture(autouse=True, scope="module")
def of_small_files_too() -> Iterator[None]:
    """Read the headers of small files one by one as well, which otherwise takes longer."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(walk, "LEAST_SPARSE", 0)
        yield


class InWindows(FileReading):
    """A file whose headers are read as those of a URL are."""

    @property
    def descriptor(self) -> int | None:
        return None


WAYS: tuple[Callable[[Path], Segment], ...] = (
    lambda path: Segment(FileReading(path)),
    lambda path: Segment(InWindows(path)),
    lambda path: Segment(path),
    lambda path: Segment(path.read_bytes(), name=str(path)),
    lambda path: Segment(path, codec="python", mapped=False),
)


def headers(segment: Segment, start: int = 0, end: int | None = None) -> list[object]:
    """All columns of all entries, each error where it comes, and how the segment ends."""
    found: list[object] = []
    try:
        for item in readable_headers(segment, start, end):
            if isinstance(item, KafkaSpecError):
                found.append((item.reason, item.position, item.path, str(item)))
            else:
                columns = [item.list(name) for name in COLUMNS]
                found += zip(*columns, strict=True)
    except KafkaSpecError as error:
        found.append((error.reason, error.position, error.path, str(error)))
    return [*found, segment.tail]


def check(path: Path, start: int = 0, end: int | None = None) -> list[object]:
    """Compare what all ways find."""
    seen = []
    for way in WAYS:
        with way(path) as segment:
            seen.append(headers(segment, start, end))
    assert all(each == seen[0] for each in seen)
    return seen[0]


@pytest.mark.core
def test_goldens_give_the_same_in_all_ways() -> None:
    core()
    for golden in SEGMENTS:
        found = check(golden.path)
        positions = [item[0] for item in found if isinstance(item, tuple)]
        for place in positions[1:2]:
            assert check(golden.path, place)[:-1] == found[1:-1]
            check(golden.path, 0, place)


@given(data=st.data())
def test_damaged_goldens_give_the_same_in_all_ways(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    core()
    source = data.draw(st.sampled_from(SEGMENTS)).path
    stored = bytearray(source.read_bytes())
    for _ in range(data.draw(st.integers(0, 4))):
        place = data.draw(st.integers(0, len(stored) - 1))
        stored[place] = data.draw(st.sampled_from((0, 1, 2, 0x7F, 0x80, 0xFF)))
    path = tmp_path_factory.getbasetemp() / source.name
    path.write_bytes(stored[: data.draw(st.integers(0, len(stored)))])
    check(path)


def mixed(path: Path) -> list[int]:
    """Write large batches, small ones, and messages; return where each begins, and the end."""
    parts = [
        forge.batch(
            number, [forge.record(0, bytes((70_000, 20_000, 5000, 300, 1, 1, 9000)[number % 7]))]
        )
        for number in range(60)
    ]
    parts.insert(30, forge.legacy(30, bytes(9000), timestamp=5))
    path.write_bytes(b"".join(parts))
    return [sum(map(len, parts[:number])) for number in range(len(parts) + 1)]


def test_large_and_small_batches_and_messages_in_one_file(tmp_path: Path) -> None:
    core()
    path = tmp_path / f"{0:020}.log"
    places = mixed(path)
    *found, tail = check(path)
    assert [item[0] for item in found if isinstance(item, tuple)] == places[:-1]
    assert tail is None


@pytest.mark.core
def test_a_file_that_becomes_shorter_is_the_same_error(tmp_path: Path) -> None:
    core()
    path = tmp_path / f"{0:020}.log"
    places = mixed(path)
    data = path.read_bytes()
    for place in (places[3], places[20], places[30], places[31], places[59]):
        for cut in (place, place + 1, place + 60, place + 61, place + 100):
            seen = []
            for way in WAYS[:2]:
                path.write_bytes(data)
                with way(path) as segment:
                    os.truncate(path, cut)
                    seen.append(headers(segment))
            assert seen[0] == seen[1]
            if cut < place + 61:
                error = seen[0][-2]
                assert isinstance(error, tuple)
                assert error[:2] == (Reason.CHANGED, cut)


@pytest.mark.skipif(not PROC.exists(), reason="the system does not count bytes that are read")
def test_hardly_more_than_headers_is_read(tmp_path: Path) -> None:
    core()
    path = tmp_path / f"{0:020}.log"
    batch = forge.batch(0, [forge.record(0, bytes(16 << 10))])
    path.write_bytes(batch * 500)

    def count() -> int:
        return int(PROC.read_text(encoding="ascii").split()[1])

    with Segment(path, mapped=False) as segment:
        get_codec("native")
        before = count()
        assert len(headers(segment)) == 500 + 1
        assert count() - before < 500 * 61 + (256 << 10)
