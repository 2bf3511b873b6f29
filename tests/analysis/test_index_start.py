"""What a broker makes of an offset index with wrong entries after a clean stop, as recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkaspec.analysis import BrokerAction, verify
from kafkaspec.analysis.broker_start import BrokerStart
from kafkaspec.analysis.findings import Finding
from kafkaspec.analysis.reasons import Area
from tests.kafka import index_cases
from tests.kafka.index_cases import END, Served


@pytest.fixture(scope="module")
def partitions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return index_cases.cases(tmp_path_factory.mktemp("indexes"))


def of_index(path: Path) -> list[Finding]:
    return [item for item in verify(path).findings if item.area is Area.OFFSET_INDEX]


@pytest.mark.parametrize("version", index_cases.RECORDED_WITH)
def test_the_log_end_is_the_one_that_a_broker_found(
    version: str, partitions: dict[str, Path]
) -> None:
    answers = index_cases.recorded()[version]
    assert answers.keys() == partitions.keys()
    assert {case for case, served in answers.items() if served.end < END}
    for case, path in partitions.items():
        start, served = BrokerStart(path), answers[case]
        assert start.after_clean_stop.end_offset == served.end == served.appended, case
        assert start.hidden == ((served.end, END) if served.end < END else None), case


def test_verify_says_which_records_are_hidden(partitions: dict[str, Path]) -> None:
    answers = index_cases.recorded()["4.3.1"]
    for case, path in partitions.items():
        served, found = answers[case], of_index(path)
        wrong = [item for item in found if item.counts]
        assert {item.action for item in wrong} <= {BrokerAction.HIDES_RECORDS}, case
        if served.end == END:
            assert not [item for item in wrong if "gives them out again" in item.broker], case
            assert all("finds the end of the log" in item.broker for item in wrong), case
            continue
        assert wrong, case
        for item in wrong:
            assert f"finds {served.end}, not {END}" in item.broker
            assert f"does not get offsets {served.end} to {END - 1}" in item.reader


def test_what_verify_says_of_consumers_is_what_they_got() -> None:
    """Before an append they get nothing of it, after one the old records, and never the new one."""
    for answers in index_cases.recorded().values():
        for served in answers.values():
            whole = served.end == END
            wanted = Served(
                end=served.end,
                appended=served.end,
                consumed=f"0-{served.end - 1}",
                then=f"0-{END - 1 + whole}",
                delivers=whole,
                after=f"0-{served.end - 1 + whole}",
                still_delivers=whole,
            )
            assert served == wanted
