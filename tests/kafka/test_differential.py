"""Kafka's own classes read mutated logs as our codec does, but for two quirks."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from kafkaspec.conformance.differential import QUIRKS, UNREAD, LogComparison
from kafkaspec.conformance.process import Testee
from kafkaspec.generation.corpus import corpus
from tests.extent import examples
from tools.conformance import clients

pytestmark = pytest.mark.kafka

RELEASE = "4.4.0"
LOGS = 5_000
SEED = 20


@pytest.fixture(scope="module")
def kafka() -> Iterator[Testee]:
    with Testee(clients.kafka(RELEASE), timeout=60) as testee:
        yield testee


def test_kafka_reads_mutated_logs_as_our_codec_does(kafka: Testee) -> None:
    ours = [sys.executable, "-m", "kafkaspec.conformance.testee", "native"]
    with Testee(ours, timeout=60) as testee:
        comparison = LogComparison(testee, kafka, SEED, list(corpus(SEED)), QUIRKS)
        assert list(comparison.run(examples(LOGS))) == []
    assert comparison.sums["known"][UNREAD] > 0
    assert comparison.sums["accepted"] > comparison.sums["cases"] // 10
