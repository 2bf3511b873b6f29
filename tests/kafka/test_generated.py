"""Kafka's readers about every generated log of magic 0 to 2: as its verdict says, or by a quirk."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkaspec.conformance.cases import Case, Items
from kafkaspec.conformance.protocol import RequestKind
from kafkaspec.conformance.vectors import vector_cases
from kafkaspec.generation.corpus import corpus, random_cases
from tests.kafka.chosen import READERS
from tools.brokers.versions import Version
from tools.kafka import quirks
from tools.kafka.quirks import Reader
from tools.kafka.reader import judge, ours

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.parametrize("version", READERS, ids=[version.name for version in READERS]),
]

RANDOM = 3000


def logs() -> list[Case]:
    """Cases of log entries; vectors of records and messages are each in a separate log."""
    kinds = (RequestKind.LOG, RequestKind.CONTROL_RECORDS, RequestKind.COMMITTED_RECORDS)
    found = [*corpus(0), *vector_cases(), *random_cases(RANDOM, 31)]
    return list({case.data: case for case in found if case.kind in kinds}.values())


def test_every_verdict_is_kafkas_or_a_named_quirk(version: Version, tmp_path: Path) -> None:
    cases = logs()
    assert len(cases) > RANDOM
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
