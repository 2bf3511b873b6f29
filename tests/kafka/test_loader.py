"""The loader of a broker, and what we say about it: what becomes of the log after a crash and after
a clean stop, where it is cut, and what indexes are made, on logs of all kinds."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import kafkaspec as ks
from kafkaspec.broker.actions import Recovery
from kafkaspec.broker.profiles import get_profile
from kafkaspec.files import names
from kafkaspec.scenarios.partition import INDEX_INTERVAL_BYTES
from kafkaspec.writing.rebuilt import RebuiltSegment
from tests.kafka import cases, loader_answers, loader_cases
from tests.kafka.chosen import SAMPLE, VERSIONS
from tools.brokers.versions import Version
from tools.kafka import loader
from tools.kafka.loader import Loaded

LOADERS = [version for version in VERSIONS if version.release >= loader.SINCE][-2:]
"""The two newest: a few minutes are enough for this."""
EVERY = 10
"""One of so many cases: the loader makes files for each."""
MOST_BACK = 3
_OTHERS = (names.OFFSET_INDEX, names.TIME_INDEX, names.TRANSACTION_INDEX, names.LEADER_EPOCHS)
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
    if set(theirs.sizes) != {0}:
        return Recovery.SPLITS
    return Recovery.KEEPS if theirs.sizes[0] == len(data) else Recovery.CUTS


def _agree(data: bytes, theirs: Loaded, mine: RebuiltSegment, files: dict[str, bytes]) -> bool:
    """Whether both do the same with a log, and make the same indexes if it is not refused."""
    if theirs.error.startswith("OutOfMemoryError"):
        return True  # what records claim to be is allocated; see the page about quirks
    done = _recovery(data, theirs)
    size = sum(theirs.sizes.values())
    if done in (Recovery.REFUSES, Recovery.SPLITS):
        # After the split, a log may be refused for what comes next.
        refused_later = mine.recovery is Recovery.SPLITS and "InvalidTxnState" in theirs.error
        return mine.recovery is done or refused_later
    if done is Recovery.CUTS and mine.recovery is Recovery.EMPTIES:
        # The indexes are truncated, but from 4.4 on their old entries stay in the files.
        return size == 0
    made = {name: data for name, data in theirs.files.items() if name.endswith(_OTHERS)}
    return mine.recovery is done and size == mine.valid_bytes and _equal(made, files)


def test_loader_and_rebuild_agree(version: Version, tmp_path: Path) -> None:
    every = cases.all_cases()
    # Not each tenth: the kinds of damage follow each other in a circle.
    chosen = [case.data for case in random.Random(7).sample(every, len(every) // EVERY)]
    chosen += list(_gone_back())
    crashes = [(loader.crashed(data), False) for data in chosen]
    loaded = loader.load(version, tmp_path, INDEX_INTERVAL_BYTES, crashes)
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
    crashes = [({SEGMENT.sibling(names.LOG): data}, False) for data in logs]
    for theirs in loader.load(version, tmp_path, 0, crashes):
        assert theirs.error.startswith("InvalidOffsetException")


def _gone_back() -> Iterator[bytes]:
    """Logs whose offsets go back, by one to ``MOST_BACK``, far enough apart to be indexed."""
    for back in range(1, MOST_BACK + 1):
        yield b"".join(
            ks.encode([ks.Record(offset, 7, None, b"v" * INDEX_INTERVAL_BYTES)])
            for offset in (10, 11, 12, 13, 13 - back, 20)
        )


def test_what_becomes_of_a_damaged_partition(version: Version, tmp_path: Path) -> None:
    """Outcome, end of the log, sizes and producers, after a crash and after a clean stop.

    ``verify`` follows 4.3; 4.4 refuses more versions in a transaction index (quirk Q22).
    """
    corpus = list(loader_cases.generate())
    assert len(corpus) >= loader_cases.MINIMUM
    corpus = corpus[::SAMPLE]
    stops = [(case.files, case.clean) for case in corpus]
    counts: dict[str, Counter[str]] = {}
    different = []
    profile = get_profile(version.name)
    answers = loader.load(version, tmp_path, INDEX_INTERVAL_BYTES, stops)
    for case, loaded in zip(corpus, answers, strict=True):
        count = counts.setdefault(case.damage, Counter())
        count["cases"] += 1
        if loader_answers.lacks_memory(loaded):
            count["out of memory (Q5)"] += 1
            continue
        theirs = loader.answer(loaded, case.files)
        count[theirs.outcome] += 1
        directory = loader_answers.write(case.files, tmp_path / "ours-0")
        mine = loader.predict(directory, profile, INDEX_INTERVAL_BYTES, clean=case.clean)
        crashed = not case.clean and version.name == loader_answers.RECORDED_WITH
        if crashed and not loader_answers.verify_agrees(directory, case.files, theirs):
            count["verify says something else"] += 1
            different.append(f"{case.name}: verify does not say {theirs}")
        if mine != theirs:
            count["different"] += 1
            stop = "clean stop" if case.clean else "crash"
            different.append(
                f"{case.name}, {stop}:\n  loader {theirs} {loaded.error}\n  ours   {mine}"
            )
    for damage, count in sorted(counts.items()):
        print(f"{damage}: {dict(count)}")
    assert not different, f"{len(different)} differ\n" + "\n".join(different[:10])


def test_verify_names_the_producers_that_are_forgotten(version: Version, tmp_path: Path) -> None:
    """Of a damaged snapshot after a clean stop; the loader knows all of them without the damage."""
    corpus = [case for case in loader_cases.damaged_snapshots() if case.clean][::SAMPLE]
    sound = list(loader_cases.partitions())
    stops = [(files, True) for _, files in sound] + [(case.files, True) for case in corpus]
    answers = list(loader.load(version, tmp_path, INDEX_INTERVAL_BYTES, stops))
    known = {name: set(loaded.producers) for (name, _), loaded in zip(sound, answers, strict=False)}
    (tmp_path / names.CLEAN_SHUTDOWN).touch()
    seen: Counter[bool] = Counter()
    different = []
    for case, loaded in zip(corpus, answers[len(sound) :], strict=True):
        directory = loader_answers.write(case.files, tmp_path / "ours-0")
        said = loader_answers.forgets(directory)
        lost = bool(known[case.name.split()[0]] - set(loaded.producers))
        seen[lost] += 1
        if lost and not said:
            different.append(f"{case.damage}, {case.name}: {loaded}")
    assert not different, f"{len(different)} of {seen}\n" + "\n".join(different[:10])
    assert seen[True] > MOST_BACK


def test_the_recorded_answers_are_those_of_the_loader(version: Version, tmp_path: Path) -> None:
    if version.name != loader_answers.RECORDED_WITH:
        pytest.skip("another release was recorded")
    corpus = list(loader_cases.generate(loader_answers.RECORDED_OF_EACH))
    stops = [(case.files, case.clean) for case in corpus]
    loaded = loader.load(version, tmp_path, INDEX_INTERVAL_BYTES, stops)
    text = loader_answers.recorded(version.name, zip(corpus, loaded, strict=True))
    if os.environ.get("RECORD"):
        loader_answers.RECORDED.write_text(text, encoding="utf-8")
    assert loader_answers.RECORDED.read_text(encoding="utf-8") == text
