"""Brokers take the end of a log from an offset index with wrong entries: what clients then see."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.kafka import index_cases
from tests.kafka.chosen import VERSIONS
from tests.kafka.index_cases import Served
from tools.brokers.client import Client
from tools.brokers.versions import Version
from tools.kafka.serving import Template

STARTED = [each for each in VERSIONS if each.name in index_cases.RECORDED_WITH]

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.parametrize("version", STARTED, ids=[version.name for version in STARTED]),
]

APPENDED = b"appended"


def test_a_broker_does_what_is_recorded(version: Version, tmp_path: Path) -> None:
    """Tests without a broker compare with it; RECORD=1 records it."""
    partitions = index_cases.cases(tmp_path / "ours")
    topics = {case: index_cases.topic(case) for case in partitions}
    (tmp_path / "broker").mkdir()
    settings = {"retention.ms": "-1"}
    template = Template(version, tmp_path / "broker", topics.values(), settings)
    template.place([(topics[case], path) for case, path in partitions.items()], clean=True)
    first = {}
    with template.running(), Client(template) as client:
        for case, topic in topics.items():
            end = client.consume(topic, "read_uncommitted").end
            consumed, _ = _got(client, topic)
            first[case] = end, client.append(topic), consumed, *_got(client, topic)
    with template.running(), Client(template) as client:
        found = {case: Served(*first[case], *_got(client, topic)) for case, topic in topics.items()}
    if os.environ.get("RECORD"):
        index_cases.record(version.name, found)
    assert found == index_cases.recorded()[version.name]


def _got(client: Client, topic: str) -> tuple[str, bool]:
    """Return the offsets that a consumer gets, and whether it gets what was appended."""
    records = client.consume(topic, "read_uncommitted").records
    delivers = any(record.value == APPENDED for record in records)
    return index_cases.runs(record.offset for record in records), delivers
