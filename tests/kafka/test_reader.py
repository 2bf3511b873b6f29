"""Kafka's readers and ours about the same 10,000 logs: records, ends and reasons."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from kafkaspec.codecs import codec_names
from tests.kafka import cases
from tests.kafka.chosen import READERS
from tools.brokers.versions import Version
from tools.kafka import quirks
from tools.kafka.quirks import QUIRKS, Quirk, Reader
from tools.kafka.reader import Verdict, judge, ours

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.parametrize("version", READERS, ids=[version.name for version in READERS]),
]

CODECS = [name for name in ("native", "python") if name in codec_names()]


@cache
def our_verdicts(codec: str) -> list[Verdict]:
    return [ours(case.data, codec) for case in cases.all_cases()]


@pytest.fixture(scope="module")
def their_verdicts() -> dict[str, list[tuple[Verdict, Verdict]]]:
    """By release; filled when a release is first asked."""
    return {}


@pytest.fixture
def verdicts(
    version: Version,
    their_verdicts: dict[str, list[tuple[Verdict, Verdict]]],
    tmp_path: Path,
) -> list[tuple[Verdict, Verdict]]:
    if version.name not in their_verdicts:
        logs = [case.data for case in cases.all_cases()]
        their_verdicts[version.name] = judge(version, tmp_path, logs)
    return their_verdicts[version.name]


def _differences(
    version: Version, codec: str, verdicts: list[tuple[Verdict, Verdict]]
) -> tuple[list[str], Counter[str]]:
    """The differences that no quirk explains, and how often each quirk explains one."""
    unexplained = []
    seen: Counter[str] = Counter()
    for case, mine, theirs in zip(cases.all_cases(), our_verdicts(codec), verdicts, strict=True):
        for reader, verdict in zip(Reader, theirs, strict=True):
            if quirks.agree(mine, quirks.kind(verdict), verdict):
                continue
            quirk: Quirk | None = quirks.explanation(version, reader, mine, verdict)
            if quirk is None:
                unexplained.append(f"{case.name}, {reader}:\n  ours   {mine}\n  Kafka  {verdict}")
            else:
                seen[quirk.name] += 1
    return unexplained, seen


def test_there_are_enough_cases_of_both_verdicts(
    version: Version, verdicts: list[tuple[Verdict, Verdict]]
) -> None:
    accepted = sum(theirs.accepted for theirs, _ in verdicts)
    assert len(verdicts) >= cases.MINIMUM
    assert min(accepted, len(verdicts) - accepted) > cases.MINIMUM // 4


@pytest.mark.parametrize("codec", CODECS)
def test_every_difference_is_a_named_quirk(
    version: Version, codec: str, verdicts: list[tuple[Verdict, Verdict]]
) -> None:
    unexplained, _ = _differences(version, codec, verdicts)
    assert not unexplained, f"{len(unexplained)} differ:\n" + "\n".join(unexplained[:10])


def test_every_quirk_still_occurs(
    version: Version, verdicts: list[tuple[Verdict, Verdict]]
) -> None:
    _, seen = _differences(version, CODECS[0], verdicts)
    expected = {
        quirk.name
        for quirk in QUIRKS
        if any(quirk.applies_to(version, reader) for reader in Reader)
    }
    assert set(seen) == expected


def test_kafka_takes_all_that_encode_writes(
    version: Version, verdicts: list[tuple[Verdict, Verdict]]
) -> None:
    names = {case.name for case in cases.written()}
    no_zstd = version.release < (2, 1)
    refused = [
        f"{case.name}: {theirs}"
        for case, both in zip(cases.all_cases(), verdicts, strict=True)
        for theirs in both
        if case.name in names and not theirs.accepted
        if not (no_zstd and theirs.message == "Unknown compression type id: 4")
    ]
    assert not refused
