"""Kafka's readers of text files and ours agree on 4,500 files: content, or refusal."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from kafkaspec.files import names
from tests.kafka.chosen import VERSIONS
from tests.kafka.text_cases import all_cases
from tools.brokers.versions import Version
from tools.kafka.checkpoints import TextVerdict, judge_text, our_text

JUDGES = [version for version in VERSIONS if version.release >= (4, 3)]
"""The releases that have all of these readers in Java, with today's signatures."""

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.parametrize("version", JUDGES, ids=[version.name for version in JUDGES]),
]


def expected_difference(name: str, data: bytes, ours: TextVerdict, theirs: TextVerdict) -> bool:
    """The two ways in which kafkaspec is stricter, as its documentation says."""
    if name == names.CLEAN_SHUTDOWN:  # Kafka cannot refuse it: it has no epoch then
        return ours.content is None and theirs.content == "OptionalLong.empty"
    # Kafka takes the lower 16 bits of any number.
    return name == names.QUORUM_STATE and ours.content is None and b'"data_version":' in data


def test_they_agree(version: Version, tmp_path: Path) -> None:
    cases = all_cases()
    verdicts = judge_text(version, tmp_path, cases)
    assert len(verdicts) == len(cases) > 4_500
    differences: Counter[str] = Counter()
    unexplained = []
    for (name, data), theirs in zip(cases, verdicts, strict=True):
        ours = our_text(name, data)
        if ours.content == theirs.content:
            continue
        if expected_difference(name, data, ours, theirs):
            differences[name] += 1
        else:
            unexplained.append((name, data, ours, theirs))
    assert unexplained == []
    assert differences[names.QUORUM_STATE] < 10
    assert differences[names.CLEAN_SHUTDOWN]
    accepted = Counter(
        name
        for (name, _), verdict in zip(cases, verdicts, strict=True)
        if verdict.content is not None
    )
    assert all(accepted[name] > 20 for name in names.TEXT_FILES)  # both sides were judged
