"""The work for a run of batches does not grow with the batches before it."""

from __future__ import annotations

from typing import Any

import pytest

import kafkaspec as ks
from kafkaspec._generated.python.model.control_record import ControlRecordType
from kafkaspec.analysis.regular import RegularReader
from kafkaspec.codecs import codec_names, get_codec
from kafkaspec.log.encoding import encode_marker
from kafkaspec.model import Record

pytestmark = pytest.mark.skipif("native" not in codec_names(), reason="there are no columns")


class _Marks(bytearray):
    """Marks that count how many of them were copied."""

    copied = 0

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        if isinstance(key, slice):
            self.copied += len(found)
        return found


def test_marks_of_a_run_alone_are_looked_at() -> None:
    """Transactions of one batch: each run is as short as can be."""
    producer: dict[str, Any] = {"producer_id": 7, "producer_epoch": 0}
    entries = [
        (
            encode_marker(ControlRecordType.COMMIT, number, 1, **producer)
            if number % 2
            else ks.encode(
                [Record(number, 1, b"k", b"v")], **producer, base_sequence=number // 2,
                transactional=True,
            )
        )
        for number in range(600)
    ]  # fmt: skip
    core = get_codec("native").core
    assert core is not None
    seen = 0
    for part in RegularReader(ks.Segment(b"".join(entries)), core, 1).parts(0, None):
        marks, count = _Marks(part.marks), part.table.count
        part.marks, first, runs = marks, 0, list[tuple[int, int]]()
        for stop in part.stops():
            runs += part.data(first, stop)
            first = stop
        assert runs == [(number, number + 1) for number in range(count)]
        assert marks.copied == count
        seen = max(seen, count)
    assert seen > 100
