"""Retention as Kafka's own code does it, on random logs, and what we say that it does."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from kafkaspec.forensics.cleaner.retention import Hold
from tests.forensics import retention_cases
from tests.forensics.retention_cases import NOW, Case
from tests.forensics.test_retention import holds, ours
from tests.kafka.chosen import SAMPLE, VERSIONS
from tools.brokers.versions import Version
from tools.kafka.cleaner import Cleaner

CASES = 400
_RECORDED = 60
CHOSEN = [version for version in VERSIONS if version.name in ("2.8.2", "3.9.2", "4.3.1")]
REMOTE = [version for version in VERSIONS if version.release >= retention_cases.REMOTE_SINCE]

pytestmark = pytest.mark.kafka


def _theirs(cleaner: Cleaner, case: Case, directory: Path) -> list[object]:
    start, end = cleaner.retain(
        directory, NOW, case.settings, log_start=case.log_start, high_watermark=case.high_watermark
    )
    return [retention_cases.left(directory), start, end]


@pytest.mark.parametrize("version", CHOSEN, ids=[version.name for version in CHOSEN])
def test_segments_that_are_deleted(version: Version, tmp_path: Path) -> None:
    different, deleted, stays = [], 0, 0
    answers = {}
    with Cleaner(version, tmp_path) as cleaner:
        for case in retention_cases.cases(CASES):
            if case.seed % SAMPLE:
                continue
            directory = retention_cases.write(case, tmp_path / f"c{case.seed}" / "t-0")
            before = retention_cases.left(directory)
            mine = ours(case, directory, version.name)
            theirs = _theirs(cleaner, case, directory)
            answers[str(case.seed)] = theirs
            deleted += len(set(before) - set(retention_cases.left(directory)))
            stays += before == retention_cases.left(directory)
            if mine != theirs:
                different.append(f"{case}: Kafka {theirs}, ours {mine}")
    assert not different, f"{len(different)} differ\n" + "\n".join(different[:10])
    assert deleted > len(answers) // 2
    assert stays > len(answers) // 8
    if version.name == retention_cases.RECORDED_WITH and SAMPLE == 1:
        text = json.dumps({str(seed): answers[str(seed)] for seed in range(_RECORDED)}) + "\n"
        if os.environ.get("RECORD"):
            retention_cases.RECORDED.write_text(text, encoding="utf-8")
        assert retention_cases.RECORDED.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("version", REMOTE, ids=[version.name for version in REMOTE])
def test_segments_that_are_deleted_after_they_were_copied(version: Version, tmp_path: Path) -> None:
    """KIP-1241: with remote storage, and all that is to be copied in it."""
    different, answers, waits = [], {}, 0
    with Cleaner(version, tmp_path) as cleaner:
        for case in retention_cases.remote_cases(CASES):
            directory = retention_cases.write(case, tmp_path / f"c{case.seed}" / "t-0")
            mine = ours(case, directory, version.name)
            waits += Hold.REMOTE in holds(case, directory)
            theirs = answers[str(case.seed)] = _theirs(cleaner, case, directory)
            if mine != theirs:
                different.append(f"{case}: Kafka {theirs}, ours {mine}")
    assert not different, f"{len(different)} differ\n" + "\n".join(different[:10])
    assert CASES // 8 < waits < CASES
    if version is VERSIONS[-1]:
        text = json.dumps({str(seed): answers[str(seed)] for seed in range(_RECORDED)}) + "\n"
        if os.environ.get("RECORD"):
            retention_cases.REMOTE_RECORDED.write_text(text, encoding="utf-8")
        assert retention_cases.REMOTE_RECORDED.read_text(encoding="utf-8") == text
