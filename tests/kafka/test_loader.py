"""The loader of a broker, after a crash, and ``rebuild_indexes``: what becomes of the log, where it
is cut, and what indexes are made, on logs of all kinds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import kafkaspec as ks
from kafkaspec.files import names
from kafkaspec.writing.rebuilt import RebuiltSegment, Recovery
from tests.kafka import cases
from tests.kafka.chosen import VERSIONS
from tests.kafka.partitions import INDEX_INTERVAL_BYTES
from tools.brokers.versions import Version
from tools.kafka import loader
from tools.kafka.loader import Loaded

LOADERS = [version for version in VERSIONS if version.release >= loader.SINCE][-1:]
"""The newest: one minute is enough for this."""
EVERY = 10
"""One of so many cases: the loader makes files for each."""
MOST_BACK = 3
SEGMENT = names.SegmentName(0, names.LOG)

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.parametrize("version", LOADERS, ids=[version.name for version in LOADERS]),
]


def _rebuilt(version: Version, work: Path, data: bytes) -> tuple[RebuiltSegment, dict[str, bytes]]:
    """Our report about a log, and the indexes that we make."""
    path = work / "ours-0" / SEGMENT.sibling(names.LOG)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    out = work / "out"
    report = ks.rebuild_indexes(
        path.parent,
        out,
        profile=version.name,
        index_interval_bytes=INDEX_INTERVAL_BYTES,
        sync=False,
    )
    files = {}
    for made in out.iterdir():
        if not made.name.endswith(names.PRODUCER_SNAPSHOT):
            files[made.name] = made.read_bytes()
        made.unlink()
    out.rmdir()
    return report.segments[0], files


def _equal(theirs: dict[str, bytes], mine: dict[str, bytes]) -> bool:
    """Byte for byte, except for zeros at the end: from 4.4 on, closing a log does not trim indexes.

    A loader makes an empty checkpoint of leader epochs where there is no epoch.
    """
    if not theirs.get(names.LEADER_EPOCHS, b"x"):
        theirs = {name: data for name, data in theirs.items() if name != names.LEADER_EPOCHS}
    return theirs.keys() == mine.keys() and all(
        theirs[name].startswith(data) and not any(theirs[name][len(data) :])
        for name, data in mine.items()
    )


def _recovery(data: bytes, theirs: Loaded) -> Recovery:
    """The result of the loader."""
    if theirs.error:
        return Recovery.REFUSES
    if theirs.bases != (0,):
        return Recovery.SPLITS
    return Recovery.KEEPS if theirs.size == len(data) else Recovery.CUTS


def _agree(data: bytes, theirs: Loaded, mine: RebuiltSegment, files: dict[str, bytes]) -> bool:
    """Whether both do the same with a log, and make the same indexes if it is not refused."""
    if theirs.error.startswith("OutOfMemoryError"):
        return True  # what records claim to be is allocated; see the page about quirks
    done = _recovery(data, theirs)
    if done in (Recovery.REFUSES, Recovery.SPLITS):
        # Behind the split a log may be refused for what comes next.
        refused_later = mine.recovery is Recovery.SPLITS and "InvalidTxnState" in theirs.error
        return mine.recovery is done or refused_later
    if done is Recovery.CUTS and mine.recovery is Recovery.EMPTIES:
        # The indexes are truncated, but from 4.4 on their old entries stay in the files.
        return theirs.size == 0
    sizes = theirs.size == mine.valid_bytes
    return mine.recovery is done and sizes and _equal(theirs.files, files)


def test_loader_and_rebuild_agree(version: Version, tmp_path: Path) -> None:
    chosen = [case.data for case in cases.all_cases()[::EVERY]]
    chosen += list(_gone_back())
    loaded = loader.load(version, tmp_path, INDEX_INTERVAL_BYTES, chosen)
    different = []
    seen: Counter[Recovery | None] = Counter()
    kept = 0
    for number, (data, theirs) in enumerate(zip(chosen, loaded, strict=True)):
        mine, files = _rebuilt(version, tmp_path, data)
        seen[mine.recovery] += 1
        kept += bool(mine.refused)
        if not _agree(data, theirs, mine, files):
            theirs = replace(theirs, files=dict.fromkeys(theirs.files, b""))
            different.append(f"{number}:\n  loader {theirs}\n  ours   {mine}")
    assert not different, f"{seen}\n" + "\n".join(different[:10])
    assert seen[Recovery.KEEPS] > len(chosen) // 4
    assert seen[Recovery.CUTS] > len(chosen) // 4
    assert set(seen) == set(Recovery) - {Recovery.REMOVES}
    assert min(seen.values()) >= MOST_BACK
    assert kept > 20


def test_without_an_index_offsets_that_go_back_refuse_the_log(
    version: Version, tmp_path: Path
) -> None:
    """As the note says: a loader that misses an index recovers outside of what would catch it."""
    logs = list(_gone_back())
    for theirs in loader.load(version, tmp_path, 0, logs, indexes=()):
        assert theirs.error.startswith("InvalidOffsetException")


def _gone_back() -> Iterator[bytes]:
    """Logs whose offsets go back, by one to ``MOST_BACK``, far enough apart to be indexed."""
    for back in range(1, MOST_BACK + 1):
        yield b"".join(
            ks.encode([ks.Record(offset, 7, None, b"v" * INDEX_INTERVAL_BYTES)])
            for offset in (10, 11, 12, 13, 13 - back, 20)
        )
