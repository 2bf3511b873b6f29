"""Tasks read remote segments in large ranges, one ahead, each byte once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("fsspec")

from kafkaspec.errors import KafkaSpecError
from kafkaspec.io.ahead import AHEAD_BYTES, FIRST_BYTES, AheadReading, read_ahead
from kafkaspec.io.local import open_source
from kafkaspec.io.remote import as_path
from kafkaspec.io.window import Reading
from tests.counting import Counted, counted

SIZE = 3 * AHEAD_BYTES + 4321
START = 777


@pytest.fixture(name="url")
def _url(tmp_path: Path) -> Iterator[str]:
    root = tmp_path / "data"
    root.mkdir()
    (root / "file.log").write_bytes(content())
    with counted(root) as url:
        yield f"{url}/file.log"


def content() -> bytes:
    return np.arange(SIZE // 4 + 1, dtype=">u4").tobytes()[:SIZE]


def opened(url: str, start: int = START) -> Reading:
    file = open_source(as_path(url), mapped=False)
    assert isinstance(file, Reading)
    return read_ahead(file, start)


@pytest.mark.slow
@pytest.mark.parametrize("step", [100_003, 3 << 20, SIZE])
def test_each_byte_is_read_once_in_ranges_of_8_mib(url: str, step: int) -> None:
    file = opened(url)
    assert isinstance(file, AheadReading)
    found = b"".join(bytes(file.read(at, min(step, SIZE - at))) for at in range(START, SIZE, step))
    file.close()
    assert found == content()[START:]
    ranges = sorted((start, end) for _, start, end in Counted.reads)
    assert [end for _, end in ranges[:-1]] == [start for start, _ in ranges[1:]]
    assert (ranges[0][0], ranges[-1][1]) == (START, SIZE)
    assert [end - start for start, end in ranges[:-1]] == [FIRST_BYTES, *[AHEAD_BYTES] * 2]


def test_one_range_is_read_ahead_and_no_more(url: str) -> None:
    file = opened(url)
    file.read(START, 10)
    assert isinstance(file, AheadReading)
    file.close()  # waits for what has begun
    assert len(Counted.reads) <= 2
    assert sum(end - start for _, start, end in Counted.reads) <= FIRST_BYTES + AHEAD_BYTES


@pytest.mark.slow
def test_a_place_that_was_passed_is_read_by_itself(url: str) -> None:
    file = opened(url)
    file.read(START, 2 * AHEAD_BYTES)
    Counted.forget()
    assert bytes(file.read(START + 5, 100)) == content()[START + 5 :][:100]
    assert bytes(file.read(3, 100)) == content()[3:103]
    file.close()
    mine = [(start, end - start) for _, start, end in Counted.reads if end - start < FIRST_BYTES]
    assert (START + 5, 100) in mine
    assert (3, 100) in mine


def test_a_range_that_fails_does_not_hide_the_bytes_before_it(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Counted.cat_file

    def failing(self: Any, path: str, start: Any = None, end: Any = None, **options: Any) -> bytes:
        if end > START + FIRST_BYTES + AHEAD_BYTES:
            raise OSError("no such bytes")
        return real(self, path, start=start, end=end, **options)

    monkeypatch.setattr(Counted, "cat_file", failing)
    file = opened(url)
    sound = FIRST_BYTES + AHEAD_BYTES
    assert bytes(file.read(START, sound)) == content()[START : START + sound]
    with pytest.raises(KafkaSpecError, match="no such bytes"):
        file.read(START + sound, 10**6)
    file.close()


def test_small_and_local_files_are_read_as_before(url: str, tmp_path: Path) -> None:
    assert not isinstance(opened(url, SIZE - FIRST_BYTES), AheadReading)
    assert not isinstance(opened(str(tmp_path / "data" / "file.log")), AheadReading)
