"""Kafka's classes about every generated log of magic 0 to 2, index, snapshot and text file.

They say what its verdict says, or a numbered quirk says why not.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from kafkaspec.conformance.cases import Case, Items
from kafkaspec.conformance.process import Testee
from kafkaspec.conformance.protocol import RequestKind
from kafkaspec.conformance.runner import CaseOutcome, Run
from kafkaspec.conformance.vectors import vector_cases
from kafkaspec.generation.corpus import corpus, random_cases
from tests.kafka.chosen import READERS
from tests.kafka.test_differential import RELEASE
from tools.brokers.versions import Version
from tools.conformance import clients
from tools.kafka import quirks
from tools.kafka.quirks import Reader
from tools.kafka.reader import judge, ours

pytestmark = pytest.mark.kafka

RANDOM = 4600
"""Random cases; 70 of 100 are logs."""
LOGS = 3000
"""Logs that are asked about, at least."""


def logs() -> list[Case]:
    """Cases of log entries; vectors of records and messages are each in a separate log."""
    kinds = (RequestKind.LOG, RequestKind.CONTROL_RECORDS, RequestKind.COMMITTED_RECORDS)
    found = [*corpus(0), *vector_cases(), *random_cases(RANDOM, 31)]
    return list({case.data: case for case in found if case.kind in kinds}.values())


@pytest.mark.parametrize("version", READERS, ids=[version.name for version in READERS])
def test_every_verdict_is_kafkas_or_a_named_quirk(version: Version, tmp_path: Path) -> None:
    cases = logs()
    assert len(cases) > LOGS
    unexplained: list[str] = []
    for case, theirs in zip(cases, judge(version, tmp_path, [c.data for c in cases]), strict=True):
        mine = ours(case.data, "python")
        assert mine.accepted == isinstance(case.expected, Items), case.id
        for reader, verdict in zip(Reader, theirs, strict=True):
            if quirks.agree(mine, quirks.kind(verdict), verdict):
                continue
            if quirks.explanation(version, reader, mine, verdict) is None:
                unexplained.append(f"{case.id}, {reader}:\n  ours   {mine}\n  Kafka  {verdict}")
    assert not unexplained, f"{len(unexplained)} differ:\n" + "\n".join(unexplained[:10])


BESIDE = (
    RequestKind.OFFSET_INDEX, RequestKind.TIME_INDEX, RequestKind.TRANSACTION_INDEX,
    RequestKind.PRODUCER_SNAPSHOT, RequestKind.TEXT,
)  # fmt: skip


@pytest.mark.parametrize("release", ["4.4.0", "3.9.2", "2.8.2"])
def test_what_lies_beside_a_log_is_read_as_its_verdict_says(release: str) -> None:
    cases = [case for case in (*corpus(0), *random_cases(3_000, 8)) if case.kind in BESIDE]
    with Testee(clients.kafka(release), timeout=60) as kafka:
        results = list(Run(kafka).all(cases))
        # The readers of text files are Scala before 4.0.
        texts = RequestKind.TEXT in kafka.hello.kinds
    assert texts == (release == RELEASE)
    assert [(each.case.id, each.detail) for each in results if each.failure] == []
    passed = Counter(each.case.kind for each in results if each.outcome is CaseOutcome.PASSED)
    assert passed[RequestKind.TEXT] > (800 if texts else -1)
    assert all(passed[kind] > 50 for kind in BESIDE if kind is not RequestKind.TEXT)


@pytest.mark.parametrize("release", ["4.4.0", "3.9.2", "2.8.2"])
def test_what_differs_is_a_known_quirk(release: str) -> None:
    known = ("Q9", "Q14", "Q43")
    cases = [case for case in corpus(0) if case.kind is not RequestKind.TYPE]
    with Testee(clients.kafka(release), timeout=60) as kafka:
        run = Run(kafka, known=known)
        failed = [each for each in run.all(cases) if each.outcome is CaseOutcome.FAILED]
    assert [(each.case.id, each.detail) for each in failed] == []
    assert run.as_expected
    assert all(run.by_quirk()[quirk] for quirk in known)
