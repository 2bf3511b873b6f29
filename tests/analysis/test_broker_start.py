"""What a broker does with a damaged partition, against recorded answers of Kafka's own loader."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.kafka import loader_answers, loader_cases
from tests.kafka.loader_answers import Answer
from tests.kafka.loader_cases import Case


@pytest.fixture(scope="module")
def answers() -> list[tuple[Case, Answer]]:
    rows = json.loads(loader_answers.RECORDED.read_text(encoding="utf-8"))["answers"]
    known = {digest: Answer.of_json(answer) for digest, *answer in rows}
    cases = loader_cases.generate(loader_answers.RECORDED_OF_EACH)
    found = [
        (case, known.get(loader_answers.digest(case.files, clean=case.clean))) for case in cases
    ]
    answered = [(case, answer) for case, answer in found if answer is not None]
    assert len(answered) >= 0.97 * len(found)  # without those that run out of memory
    return answered


def test_the_prediction_is_what_the_loader_does(
    answers: list[tuple[Case, Answer]], tmp_path: Path
) -> None:
    for case, theirs in answers:
        directory = loader_answers.write(case.files, tmp_path / "ours-0")
        mine = loader_answers.ours(directory, loader_answers.RECORDED_WITH, clean=case.clean)
        assert mine == theirs, f"{case.damage}, {case.name}"


def test_verify_says_what_the_loader_does_after_a_crash(
    answers: list[tuple[Case, Answer]], tmp_path: Path
) -> None:
    for case, theirs in answers:
        if case.clean:
            continue
        directory = loader_answers.write(case.files, tmp_path / "ours-0")
        assert loader_answers.verify_agrees(directory, case.files, theirs), case.name
