"""The loader of a broker, after a crash, and ``rebuild_indexes``: where the log is cut, and what
indexes are made, on logs of all kinds."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import kafkaspec as ks
from kafkaspec.errors import Reason
from kafkaspec.log import names
from kafkaspec.writing.rebuild import RebuiltSegment
from tests.kafka import cases
from tests.kafka.chosen import VERSIONS
from tests.kafka.partitions import INDEX_INTERVAL_BYTES
from tools.golden.maven import resolve
from tools.golden.versions import Version
from tools.kafka import loader
from tools.kafka.loader import Loaded
from tools.kafka.reader import ours

LOADERS = [version for version in VERSIONS if version.release >= loader.SINCE][-1:]
"""The newest: one minute is enough for this."""
EVERY = 10
"""One of so many cases: the loader makes files for each."""
SEGMENT = names.SegmentName(0, names.LOG)

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.parametrize("version", LOADERS, ids=[version.name for version in LOADERS]),
]


def _rebuilt(version: Version, work: Path, data: bytes) -> tuple[RebuiltSegment, dict[str, bytes]]:
    """Our report about a log, and the indexes that we make."""
    path = work / SEGMENT.sibling(names.LOG)
    path.write_bytes(data)
    out = work / "out"
    report = ks.rebuild_indexes(
        path, out, profile=version.name, index_interval_bytes=INDEX_INTERVAL_BYTES, sync=False
    )
    files = {}
    for made in out.iterdir():
        if not made.name.endswith(names.PRODUCER_SNAPSHOT):
            files[made.name] = made.read_bytes()
        made.unlink()
    out.rmdir()
    return report.segments[0], files


def _equal(theirs: dict[str, bytes], mine: dict[str, bytes]) -> bool:
    """Byte for byte, but for zeros behind them: from 4.4 on closing a log does not trim indexes."""
    return theirs.keys() == mine.keys() and all(
        theirs[name].startswith(data) and not any(theirs[name][len(data) :])
        for name, data in mine.items()
    )


def _explanation(data: bytes, theirs: Loaded, mine: RebuiltSegment) -> str:
    """Why the loader does something else: "" for a reason that is not known, a defect.

    Recovery looks at checksums and offsets of entries, and at the records of wrappers and of
    control batches; only these can make it refuse a log.
    """
    far = mine.error is not None and "too far from the base offset" in mine.error.detail
    if theirs.error:
        if theirs.error.startswith("OutOfMemoryError"):
            return "refused: out of memory"
        if theirs.error.startswith("InvalidTxnStateException"):
            return "refused: a batch outside of the transaction that its producer has open"
        if far:
            return "refused: an offset that does not fit the segment"
        readable = mine.error is None and ours(data, "python").accepted
        return "" if readable else "refused: a record that cannot be read"
    if theirs.size > mine.valid_bytes and mine.error is not None:
        if far:
            return "split: an offset that does not fit the segment"
        if mine.error.reason in (Reason.INVALID_VALUE, Reason.OVERRUN):
            return "kept: a header that recovery does not read"
    return ""


def test_loader_and_rebuild_agree(version: Version, tmp_path: Path) -> None:
    chosen = cases.all_cases()[::EVERY]
    logs = [case.data for case in chosen]
    loaded = loader.load(version, resolve(version), tmp_path, INDEX_INTERVAL_BYTES, logs)
    unexplained = []
    seen: Counter[str] = Counter()
    for case, theirs in zip(chosen, loaded, strict=True):
        mine, files = _rebuilt(version, tmp_path, case.data)
        if theirs.size == mine.valid_bytes and _equal(theirs.files, files):
            seen["equal" if theirs.size == len(case.data) else "cut at the same byte"] += 1
            continue
        why = _explanation(case.data, theirs, mine)
        seen[why] += 1
        if not why:
            unexplained.append(f"{case.name}:\n  loader {theirs}\n  ours   {mine}")
    assert not unexplained, f"{seen}\n" + "\n".join(unexplained[:10])
    assert seen["equal"] > len(chosen) // 4
    assert seen["cut at the same byte"] > len(chosen) // 8
    assert set(seen) >= {
        "refused: an offset that does not fit the segment",
        "refused: a record that cannot be read",
        "split: an offset that does not fit the segment",
        "kept: a header that recovery does not read",
    }
