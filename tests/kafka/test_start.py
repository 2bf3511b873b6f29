"""Brokers start on damaged log directories, and do what ``kafkaspec doctor`` says before."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.kafka import start_answers
from tests.kafka.chosen import SAMPLE, VERSIONS
from tests.kafka.start_cases import cases
from tools.brokers.versions import Version
from tools.kafka.starting import Starter

STARTED = [each for each in VERSIONS if each.name in start_answers.RECORDED_WITH]

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.parametrize("version", STARTED, ids=[version.name for version in STARTED]),
]


def test_a_broker_does_what_was_predicted(version: Version, tmp_path: Path) -> None:
    """And what is recorded for tests without a broker; RECORD=1 records it."""
    (tmp_path / "broker").mkdir()
    starter = Starter(version, tmp_path / "broker")
    answers: dict[str, start_answers.Answer] = {}
    wrong: list[str] = []
    for number, case in enumerate(list(cases(version.name))[::SAMPLE]):
        place = tmp_path / f"{number}"
        directories = case.make(version.name, place / "theirs")
        answers[case.name] = answer = start_answers.of(starter.start_on(directories))
        wrong += start_answers.differences(case, version.name, answer, place / "ours")
    if os.environ.get("RECORD"):
        start_answers.record(version.name, answers)
    assert not wrong, f"{len(wrong)} of {len(answers)}:\n" + "\n".join(wrong[:20])
    before = start_answers.recorded()[version.name]
    different = [name for name, answer in answers.items() if answer != before[name]]
    assert not different
