"""Messages of magic 0 and 1, appended request by request: the indexes of the leader come out.

A log does not show where a request began; the scenario that the broker was given does.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

import kafkaspec as ks
from tests import goldens
from tests.loops import each
from tests.writing.golden_settings import numbers, partitions
from tools.brokers.versions import VERSIONS
from tools.golden import scenarios
from tools.golden.again import index_interval, is_modern, segment_bytes
from tools.golden.model import Send

FOREVER = 1 << 60
SKIPPED = (
    "compacted",
    "format-mixed",
    "time-types",
    "__",
    "unclean",
    "deleted",
    "leader",
    "groups",
)
"""Logs that were changed later, or whose settings changed on the way."""
STAMPED_BEFORE_DOWN_WRITING = (0, 10, 2)
"""This line takes timestamps for the time index before it writes magic 0, which has none."""


def requests(version: str, path: Path) -> list[int]:
    """Number of records in each produce request, in order."""
    (row,) = [row for row in VERSIONS if row.name == version]
    name = path.name.rpartition("-")[0]
    (scenario,) = [item for item in scenarios.for_version(row) if item.name == name]
    return [len(step.records) for step in scenario.steps if isinstance(step, Send)]


def messages(path: Path) -> Iterator[tuple[int, bytes, bool]]:
    """Number of records and bytes of each entry, and whether it is compressed."""
    with ks.Partition(path) as partition:
        for batch in partition.batches():
            yield len(batch.records()), bytes(batch.data), batch.is_compressed


def legacy() -> list[Path]:
    return [
        path
        for path in partitions()
        if not path.name.startswith(SKIPPED)
        and "compacted" not in path.name
        and not is_modern(path)
    ]


@pytest.mark.slow
@each("path", legacy(), goldens.label)
def test_the_requests_of_a_producer(path: Path, tmp_path: Path) -> None:
    version = path.parts[-3]
    entries = messages(path)
    out = tmp_path / path.name
    with ks.SegmentWriter(
        out,
        profile=version,
        segment_bytes=segment_bytes(path),
        segment_ms=FOREVER,
        index_interval_bytes=index_interval(path),
        leader_epoch=0,
        sync=False,
    ) as writer:
        for wanted in requests(version, path):
            taken, data = 0, []
            while taken < wanted:
                count, part, compressed = next(entries)
                taken += count
                if compressed:  # what is too large for a batch of the producer comes in several
                    writer.append(part, together=True)
                else:
                    data.append(part)
            assert taken == wanted
            writer.append(b"".join(data), together=True)
    assert next(entries, None) is None
    for name in sorted(item.name for item in chain(path.iterdir(), out.iterdir())):
        stamped = numbers(version)[:3] == STAMPED_BEFORE_DOWN_WRITING and "format-0" in path.name
        if name.endswith(".timeindex") and stamped:
            continue
        theirs, ours = path / name, out / name
        assert ours.exists(), name
        assert theirs.exists(), name
        assert ours.read_bytes() == theirs.read_bytes(), name
