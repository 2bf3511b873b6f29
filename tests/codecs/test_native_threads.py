"""Two threads on one segment; ``make sanitize SANITIZER=thread`` runs them too."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable
from typing import Any

import crc32c
import pytest

from kafkaspec import Segment
from kafkaspec.codecs.python import PythonCodec
from kafkaspec.columns.memory import Layout
from tests import goldens
from tests.codecs.native_cases import decode, records

native = pytest.importorskip("kafkaspec._native", reason="the extension was not built")

from kafkaspec.codecs.native import NativeCodec  # noqa: E402

THREADS = 2
TIMES = 10
PATH = goldens.GOLDEN / "4.3.1/logs/plain-0/00000000000000000000.log"
CODEC = NativeCodec()


def _at_once(work: Callable[[], Any]) -> list[Any]:
    """Return what ``work`` returns in each of the threads."""
    results: list[Any] = []
    start = threading.Barrier(THREADS)

    def run() -> None:
        start.wait()
        for _ in range(TIMES):
            results.append(work())

    threads = [threading.Thread(target=run) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == THREADS * TIMES
    return results


def test_one_segment() -> None:
    with Segment(PATH, codec=CODEC) as segment:
        expected = list(Segment(PATH, codec=PythonCodec()).records())
        for found in _at_once(lambda: list(segment.records())):
            assert found == expected
        batches = list(segment.batches())
        written = [CODEC.encode_records(batch.message, list(batch.records())) for batch in batches]
        for made in _at_once(
            lambda: [CODEC.encode_records(b.message, list(b.records())) for b in batches]
        ):
            assert made == written


@pytest.mark.parametrize("layout", Layout)
def test_one_buffer(layout: Layout) -> None:
    data = PATH.read_bytes()
    batches = list(Segment(PATH, codec=PythonCodec()).batches())
    items = [[0, b.position, b.size, -1, 0, 0, b.num_records or 0, native.VERIFY] for b in batches]
    expected = [record for batch in batches for record in batch.records()]

    def work() -> tuple[Any, ...]:
        status, columns = decode(CODEC.core, (data,), items, layout)
        assert status == native.OK
        sums = native.crc32c(data * 8), native.crc32(data * 8)
        return records(columns.result(), len(expected), layout, (data,)), sums, CODEC.scan(data)

    for found, sums, table in _at_once(work):
        assert found == expected
        assert sums == (crc32c.crc32c(data * 8), zlib.crc32(data * 8))
        assert table.count == len(batches)


def test_one_iterator() -> None:
    """Each record goes to one of the threads; one that comes while another is served is refused."""
    expected, data = list(Segment(PATH, codec=CODEC).records()), PATH.read_bytes()
    for _ in range(TIMES):
        found, refused = CODEC.plain_records(data, 0, verify=False, most=len(data)), set[str]()

        def take(found: Any = found, refused: set[str] = refused) -> list[Any]:
            taken: list[Any] = []
            while True:
                try:
                    taken.append(next(found))
                except StopIteration:
                    return taken
                except ValueError as error:
                    refused.add(str(error))

        assert sorted(record for taken in _at_once(take) for record in taken) == expected
        assert refused <= {"the iterator is already in use"}
