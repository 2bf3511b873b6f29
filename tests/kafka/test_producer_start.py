"""Brokers take a wrong producer snapshot after a clean stop: what producers and consumers get."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.kafka import producer_cases
from tests.kafka.chosen import VERSIONS
from tests.kafka.producer_cases import END, Answered
from tools.brokers.client import Client
from tools.brokers.versions import Version
from tools.kafka.producing import produce, request_version
from tools.kafka.serving import Template

STARTED = [each for each in VERSIONS if each.name in producer_cases.RECORDED_WITH]

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.parametrize("version", STARTED, ids=[version.name for version in STARTED]),
]


def test_a_broker_does_what_is_recorded(version: Version, tmp_path: Path) -> None:
    """Tests without a broker compare with it; RECORD=1 records it."""
    now = int(time.time() * 1000)  # a broker forgets producers after a day
    partitions = producer_cases.cases(tmp_path / "ours", now)
    topics = {case: producer_cases.topic(case) for case in partitions}
    (tmp_path / "broker").mkdir()
    template = Template(version, tmp_path / "broker", topics.values(), {"retention.ms": "-1"})
    template.place([(topics[case], path) for case, path in partitions.items()], clean=True)
    number = END // 5
    request = request_version(version, 2, "none")
    assert request is not None
    found = {}
    with template.running(), Client(template) as client:
        for case, topic in topics.items():
            last, following = (
                producer_cases.batch(each, now, sent=True) for each in (number - 1, number)
            )
            again = produce(template.bootstrap, topic, last, request)
            committed = len(client.consume(topic, "read_committed").records)
            after = produce(template.bootstrap, topic, following, request)
            stored = len(client.consume(topic, "read_uncommitted").records)
            found[case] = Answered(
                (again.error_code, again.base_offset), committed, after.error_code, stored
            )
    if os.environ.get("RECORD"):
        producer_cases.record(version.name, found)
    assert found == producer_cases.recorded()[version.name]
