"""What a broker does with a damaged partition, against recorded answers of Kafka's own loader."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafkaspec.analysis import BrokerAction, verify
from kafkaspec.broker.profiles import get_profile
from tests.analysis.forge import write_segment
from tests.kafka import loader_answers, loader_cases
from tests.kafka.loader_answers import INDEX_INTERVAL_BYTES
from tests.kafka.loader_cases import Case
from tests.log.forge import batch, record
from tools.kafka.loader import Answer, predict


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


@pytest.mark.core
def test_the_prediction_is_what_the_loader_does(
    answers: list[tuple[Case, Answer]], tmp_path: Path
) -> None:
    profile = get_profile(loader_answers.RECORDED_WITH)
    for case, theirs in answers:
        directory = loader_answers.write(case.files, tmp_path / "ours-0")
        mine = predict(directory, profile, INDEX_INTERVAL_BYTES, clean=case.clean)
        assert mine == theirs, f"{case.damage}, {case.name}"


@pytest.mark.core
def test_verify_says_what_the_loader_does_after_a_crash(
    answers: list[tuple[Case, Answer]], tmp_path: Path
) -> None:
    for case, theirs in answers:
        if case.clean:
            continue
        directory = loader_answers.write(case.files, tmp_path / "ours-0")
        assert loader_answers.verify_agrees(directory, case.files, theirs), case.name


def test_a_file_has_the_outcome_that_it_has_in_its_partition(tmp_path: Path) -> None:
    value = [record(0, b"v")]
    write_segment(tmp_path / "t-0", batch(0, value) + batch(1, value, crc=7))
    unreadable = batch(2, value) + batch(3, value, count=9)
    second = write_segment(tmp_path / "t-0", unreadable, base=2)
    of_partition = [item for item in verify(tmp_path / "t-0").findings if item.file == str(second)]
    assert [item.action for item in of_partition] == [BrokerAction.CUTS_LOG]
    assert verify(second).findings == of_partition
    (tmp_path / "alone").mkdir()
    alone = second.rename(tmp_path / "alone" / second.name)
    (tmp_path / "alone" / second.with_suffix(".index").name).touch()
    assert [item.action for item in verify(alone).findings] == [BrokerAction.KEEPS_UNREADABLE]


def test_indexes_of_a_segment_that_a_clean_start_recovers_are_rebuilt(tmp_path: Path) -> None:
    log = batch(5, [record(0, b"v")])
    for number, (index, aborted, action) in enumerate(
        (
            (b"", (7, 1, 2, 3), BrokerAction.REBUILDS_INDEX),  # its marker is below the segment
            (None, (7, 5, 6, 7), BrokerAction.REBUILDS_INDEX),
            (b"", (7, 5, 6, 7), BrokerAction.HIDES_RECORDS),
        )
    ):
        directory = tmp_path / f"t-{number}"
        timeindex = [(9_000, 0)]
        write_segment(directory, log, base=5, index=index, timeindex=timeindex, txnindex=[aborted])
        found = verify(directory).findings
        actions = {item.action for item in found if item.counts}
        assert actions == {action}, [item.as_dict() for item in found]


def test_zeros_that_a_clean_start_fails_at(tmp_path: Path) -> None:
    log = batch(0, [record(0, b"v")]) + bytes(300)
    segment = write_segment(tmp_path / "t-0", log, index=[(0, 0)])
    (finding,) = verify(segment.parent).findings
    assert finding.action is BrokerAction.CUTS_LOG
    assert finding.broker.endswith(
        "A clean start fails in this segment too: the broker does not start."
    )
