"""Kafka's own cleaner, of three releases, on random logs: what it leaves, byte for byte."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from pathlib import Path

import pytest

import kafkaspec as ks
from kafkaspec.forensics.cleaner.compaction import Compaction
from kafkaspec.log.partition import Partition
from tests.forensics import compaction_cases as cases
from tests.kafka.chosen import SAMPLE, VERSIONS
from tools.brokers.versions import Version
from tools.kafka.cleaner import Cleaned, Cleaner

SEEDS = 20
"""Logs of each kind; each is cleaned three times."""
KINDS = {"batches": (False, False), "messages": (False, True), "compressed": (True, True)}
CHOSEN = [version for version in VERSIONS if version.name in cases.RELEASES]

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.parametrize("version", CHOSEN, ids=[version.name for version in CHOSEN]),
]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_left(version: Version, kind: str, tmp_path: Path) -> None:
    compressed, legacy = KINDS[kind]
    seen: Counter[str] = Counter()
    different: list[str] = []
    answers: dict[str, list[str]] = {}
    with Cleaner(version, tmp_path) as cleaner:
        for seed in range(0, SEEDS, SAMPLE):
            home = tmp_path / f"{seed}"
            directory = cases.write(seed, home / "t-0", compressed=compressed, legacy=legacy)
            key = f"{version.name} {kind} {seed}"
            answers[key] = []
            for number, step in enumerate(_steps(seed, directory)):
                before = cases.contents(directory)
                target = tmp_path / f"{seed}-{number}"
                made = cases.ours(directory, step, version.name, target)
                theirs = _clean(cleaner, directory, step)
                wrong = _range(made, theirs) or _compared(
                    target, directory, before, seen, theirs, made, version
                )
                if wrong:
                    different.append(f"{kind}, seed {seed}, pass {number}: {wrong}")
                if wrong or theirs.error or not made.dirty.cleanable_bytes:
                    break
                answers[key].append(cases.digest(directory))
                shutil.rmtree(target)
            shutil.rmtree(home)
    print(version.name, kind, dict(seen))
    assert not different, f"{len(different)} differ of {dict(seen)}\n" + "\n".join(different[:10])
    if SAMPLE == 1:
        assert seen["rewritten"] >= 100
        assert seen["full table"] >= 3
        _record(version, kind, answers)


def _steps(seed: int, directory: Path) -> list[cases.Step]:
    bases = [int(path.stem) for path in sorted(directory.glob("*.log"))]
    return list(cases.steps(seed, bases, Partition(directory).log_end_offset))


def _clean(cleaner: Cleaner, directory: Path, step: cases.Step) -> Cleaned:
    return cleaner.clean(
        directory,
        step.now,
        step.settings,
        checkpoint=step.checkpoint,
        map_bytes=step.map_bytes,
        io_bytes=step.io_bytes,
        expiration_ms=step.expiration_ms,
    )


def _range(made: Compaction, theirs: Cleaned) -> str:
    """Return what differs in how far the log is dirty, "" for nothing."""
    dirty = made.dirty
    mine = (
        dirty.first_dirty,
        dirty.first_uncleanable,
        dirty.clean_bytes,
        dirty.cleanable_bytes,
        dirty.overdue,
    )
    other = (
        theirs.first_dirty,
        theirs.first_uncleanable,
        theirs.clean_bytes,
        theirs.cleanable_bytes,
        theirs.needed,
    )
    return "" if mine == other else f"Kafka {other}, ours {mine}"


def _compared(
    target: Path,
    directory: Path,
    before: dict[str, bytes],
    seen: Counter[str],
    theirs: Cleaned,
    made: Compaction,
    version: Version,
) -> str:
    """Return what differs in the files, "" for nothing; count what was seen."""
    if theirs.error:
        # Asked to clean a log of which nothing can be cleaned, which no broker does.
        seen["fails"] += 1
        return "" if made.fails or not made.dirty.cleanable_bytes else theirs.error
    if made.fails:
        return made.fails
    if made.dirty.cleanable_bytes and made.end_offset != theirs.end:
        return f"checkpoint: Kafka {theirs.end}, ours {made.end_offset}"
    if not made.dirty.cleanable_bytes:  # no broker cleans it
        return ""
    mine, others = cases.contents(target), cases.contents(directory)
    if set(mine) != set(others):
        return f"files: {sorted(set(mine) ^ set(others))}"
    seen["full table"] += made.full
    for name, data in others.items():
        if name.endswith(".log"):
            seen["segments"] += 1
            seen["rewritten"] += data != before.get(name)
        if mine[name] == data:
            continue
        log = name.rpartition(".")[0] + ".log"
        packed = _same(mine[log], others[log])
        if not packed:
            return f"{name}: {len(data)} bytes, ours {len(mine[name])}"
        seen["other compressors"] += name == log
    # Before 3.0 they are removed a minute later, without another name until then.
    if version.release >= (3,) and cases.snapshots(target) - cases.snapshots(directory):
        return f"snapshots: {cases.snapshots(target)}, {cases.snapshots(directory)}"
    return ""


def _same(mine: bytes, theirs: bytes) -> bool:
    """Return whether two logs differ in what compressors make of the same records alone."""
    if mine == theirs:
        return False
    pairs = zip(ks.Segment(mine).batches(), ks.Segment(theirs).batches(), strict=True)
    return all(
        one.data == other.data
        or (
            one.is_compressed
            and one.compression == other.compression
            and (one.magic, one.base_offset, one.last_offset, one.max_timestamp)
            == (other.magic, other.base_offset, other.last_offset, other.max_timestamp)
            and one.base_timestamp == other.base_timestamp
            and one.delete_horizon == other.delete_horizon
            and list(one.records()) == list(other.records())
        )
        for one, other in pairs
    )


def _record(version: Version, kind: str, answers: dict[str, list[str]]) -> None:
    """Compare with the answers that the other tests go by; write them if ``RECORD`` is set."""
    if kind == "compressed":
        return
    wanted = {f"{version.name} {kind} {seed}" for seed in range(cases.RECORDED_SEEDS)}
    kept = {key: value for key, value in answers.items() if key in wanted}
    known = cases.recorded() if cases.RECORDED.exists() else {}
    if os.environ.get("RECORD"):
        text = json.dumps(known | kept, indent=1, sort_keys=True) + "\n"
        cases.RECORDED.write_text(text, encoding="utf-8")
        known |= kept
    assert {key: value for key, value in known.items() if key in wanted} == kept
