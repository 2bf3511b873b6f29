"""Segments are read from URLs in ranges, on fsspec's file system in memory and PyArrow's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kafkaspec as ks
from tests import goldens
from tests.arrow import forge
from tests.arrow.test_columns import CODECS, records

pa = pytest.importorskip("pyarrow")
fsspec = pytest.importorskip("fsspec")

from fsspec.implementations.memory import MemoryFileSystem  # noqa: E402

MEBIBYTE = 1 << 20
VERSION = goldens.VERSIONS[-1]


class Counting(MemoryFileSystem):  # type: ignore[misc]
    """Counts the bytes that are read."""

    protocol = "counting"
    store: dict[str, Any] = {}  # noqa: RUF012  # as in its base
    pseudo_dirs = [""]  # noqa: RUF012
    done = 0

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        stripped: str = super()._strip_protocol(str(path).replace("counting://", "memory://"))
        return stripped

    def cat_file(self, path: str, start: Any = None, end: Any = None, **options: Any) -> bytes:
        assert start is not None, "a whole object"
        assert end is not None, "a whole object"
        data: bytes = super().cat_file(path, start=start, end=end, **options)
        Counting.done += len(data)
        return data


@pytest.fixture
def files() -> Iterator[Any]:
    fsspec.register_implementation("counting", Counting, clobber=True)
    system = fsspec.filesystem("counting")
    system.store.clear()
    system.pseudo_dirs[:] = [""]
    Counting.done = 0
    yield system
    system.store.clear()


def big(files: Any, index: Path | None = None) -> list[ks.Record]:
    made = [ks.Record(i, forge.START + i, b"k", bytes(8000)) for i in range(2000)]
    data = b"".join(ks.encode(made[i : i + 20]) for i in range(0, 2000, 20))
    files.pipe_file(f"/topic-3/{0:020d}.log", data)
    return made


@pytest.mark.core
@pytest.mark.parametrize("codec", CODECS)
def test_a_range_is_not_the_whole(files: Any, codec: str) -> None:
    made = big(files)
    size = files.info(f"/topic-3/{0:020d}.log")["size"]
    assert size > 15 * MEBIBYTE
    url = f"counting://topic-3/{0:020d}.log"
    with ks.open(url, codec=codec) as segment:
        assert isinstance(segment, ks.Segment)
        assert Counting.done == 0
        assert segment.size == size
        assert segment.base_offset == 0
        table = segment.to_arrow(end_offset=30)
        assert records(table) == made[:30]
        assert Counting.done <= MEBIBYTE
        Counting.done = 0
        assert next(iter(segment.records())) == made[0]
        assert Counting.done <= MEBIBYTE
        Counting.done = 0
        assert records(segment.to_arrow(["topic", "partition", *segment.schema.names])) == made
        assert Counting.done <= size + MEBIBYTE
        # With an index beside it the range is found without what lies before it.
        entries = [(20 * i + 19, batch.position) for i, batch in enumerate(segment.batches())]
        index = b"".join(
            offset.to_bytes(4, "big") + position.to_bytes(4, "big")
            for offset, position in entries[1:]
        )
    files.pipe_file(f"/topic-3/{0:020d}.index", index)
    with ks.open(url, codec=codec) as segment:
        assert isinstance(segment, ks.Segment)
        Counting.done = 0
        table = segment.to_arrow(start_offset=1500, end_offset=1530)
        assert records(table) == made[1500:1530]
        assert Counting.done <= MEBIBYTE
        place = segment.to_arrow(["topic", "partition"], end_offset=1).to_pylist()
        assert place == [{"topic": "topic", "partition": 3}]
        assert segment.find(offset=1999).offset == 1999


@pytest.mark.core
@pytest.mark.parametrize("codec", CODECS)
def test_golden_log_directory_behind_a_url(files: Any, codec: str) -> None:
    root = goldens.GOLDEN / VERSION / "logs"
    for path in root.rglob("*"):
        if path.is_file():
            files.pipe_file(f"/logs/{path.relative_to(root)}", path.read_bytes())
    with ks.open("counting://logs", codec=codec) as there, ks.open(root, codec=codec) as here:
        assert isinstance(there, ks.LogDirectory)
        assert isinstance(here, ks.LogDirectory)
        assert there.to_arrow() == here.to_arrow()
        assert len(there.batch_table()) == len(here.batch_table())
    with (
        ks.open("counting://logs/segments-0", codec=codec) as there,
        ks.open(root / "segments-0", codec=codec) as here,
    ):
        assert isinstance(there, ks.Partition)
        assert isinstance(here, ks.Partition)
        assert list(there.records()) == list(here.records())
        for timestamp in (0, forge.START * 2):
            found, expected = there.find(timestamp=timestamp), here.find(timestamp=timestamp)
            assert (found.offset, found.position) == (expected.offset, expected.position)


@pytest.mark.core
def test_a_file_system_that_is_handed_in(files: Any, tmp_path: Path) -> None:
    made = big(files)
    name = f"topic-3/{0:020d}.log"
    with ks.open(f"/{name}", filesystem=files) as segment:
        assert isinstance(segment, ks.Segment)
        assert records(segment.to_arrow(end_offset=5)) == made[:5]
    from pyarrow import fs

    forge.segment(tmp_path / "topic-3", [files.cat_file(f"/{name}", 0, 20 * MEBIBYTE)])
    local = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    with ks.open(name, filesystem=local) as segment:
        assert isinstance(segment, ks.Segment)
        assert records(segment.to_arrow(start_offset=1990)) == made[1990:]
    with ks.open("topic-3", filesystem=local) as partition:
        assert isinstance(partition, ks.Partition)
        assert partition.to_arrow(["offset"]).num_rows == 2000


def test_missing_objects(files: Any) -> None:
    for url in (f"counting://nothing/{0:020d}.log", "counting://nothing", "nosuchscheme://x/y"):
        with pytest.raises(ks.KafkaSpecError) as caught:
            ks.open(url)
        assert caught.value.reason == ks.Reason.UNREADABLE
        assert caught.value.file == url


def test_an_object_that_becomes_shorter(files: Any) -> None:
    big(files)
    name = f"/topic-3/{0:020d}.log"
    with ks.open(f"counting:/{name}") as segment:
        assert isinstance(segment, ks.Segment)
        files.pipe_file(name, files.cat_file(name, 0, MEBIBYTE))
        with pytest.raises(ks.KafkaSpecError) as caught:
            segment.to_arrow()
        assert caught.value.reason == ks.Reason.CHANGED
