"""The page shows the stored results, and those are of runs that went as expected; the bytes of each
fault show it."""

from __future__ import annotations

from importlib.util import find_spec
from itertools import takewhile

import pytest

from kafkaspec.conformance.cases import Case
from kafkaspec.conformance.levels import CaseLevel
from kafkaspec.conformance.made import MADE, made_cases
from kafkaspec.conformance.process import Testee
from kafkaspec.conformance.protocol import CaseFailure
from kafkaspec.conformance.resource import RESOURCE, resource_cases
from kafkaspec.conformance.runner import LevelState, Run, read_expected
from kafkaspec.conformance.vectors import vector_cases
from tests.goldens import VERSIONS as GOLDEN_VERSIONS
from tools.brokers.maven import cache_root
from tools.conformance import page
from tools.conformance.adapters import ADAPTERS, VERSIONS, Adapter
from tools.conformance.faults import (
    KINDS,
    MOST_BYTES,
    Fault,
    Kind,
    Rule,
    Verdict,
    own_cases,
    shown,
)

STORED = {result["adapter"]: result for result in page.load()}
OURS = ("native", "python", "kaitai", "construct")
READERS = ("kafkaspec-rust", "kafkaspec-go")
JUDGED = [adapter for adapter in ADAPTERS if adapter.name not in OURS + READERS]
KAFKA = [
    adapter.name
    for adapter in ADAPTERS
    if adapter.name.startswith("kafka-") and adapter.language == "Java"
]
SLOW = (f"{RESOURCE}bomb/", f"{RESOURCE}nested/")
WRITTEN_BY_BROKERS = ("segment", "control", "index", "snapshot", "committed")
"""Categories of cases that brokers wrote, as they are."""
INSTALLED = {"kafka-python": "kafka", "aiokafka": "aiokafka"}
"""Decoders that the tests have, by their packages."""


@pytest.fixture(scope="module")
def cases() -> dict[str, Case]:
    """Return the cases that are made, and are not read from files of brokers or take seconds."""
    quick = takewhile(lambda case: not case.id.startswith(SLOW), resource_cases())
    return {case.id: case for case in (*vector_cases(), *made_cases(), *quick)}


def shown_cases(adapter: Adapter, cases: dict[str, Case]) -> list[tuple[Fault, Case]]:
    return [
        (fault, fault.own or cases[fault.case])
        for fault in adapter.faults
        if not fault.case.startswith(SLOW)
    ]


@pytest.mark.slow
def test_the_page_is_made_from_the_stored_results() -> None:
    assert page.PAGE.read_text(encoding="utf-8") == page.render(page.load()), "make conformance"


@pytest.mark.slow
def test_the_versions_are_there() -> None:
    assert set(VERSIONS) <= set(GOLDEN_VERSIONS)


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: adapter.name)
def test_every_decoder_has_results_of_its_list(adapter: Adapter) -> None:
    result = STORED[adapter.name]
    assert list(result["levels"]) == list(CaseLevel)
    assert sum(sums["failed"] for sums in result["levels"].values()) == 0
    listed = read_expected(adapter.expected) if adapter.expected else []
    assert [(item.pattern, item.failure, item.why) for item in listed] == [
        (item["pattern"], item["failure"], item["why"]) for item in result["expected"]
    ]
    expected = sum(sums["expected_failure"] for sums in result["levels"].values())
    own = len(own_cases(adapter.faults))  # which do not count for the levels
    assert expected + own == sum(item["cases"] for item in result["expected"])


def test_our_own_codecs_pass_all_levels() -> None:
    for name in OURS:
        for sums in STORED[name]["levels"].values():
            assert (sums["state"], sums["skipped"]) == (LevelState.PASSED, 0)


@pytest.mark.parametrize("name", READERS)
def test_our_readers_in_other_languages_pass_all_that_they_answer(name: str) -> None:
    """They have no list of failures, so that each one is unexpected."""
    assert not STORED[name]["expected"]
    passed = {level for level, sums in STORED[name]["levels"].items() if sums["passed"] > 50}
    assert passed >= {"framing", "records", "compression", "messages", "resource"}


def test_a_level_is_passed_only_by_answers() -> None:
    """Levels that a decoder does not answer are not offered, and none is passed with a failure."""
    rows = [line.split(" | ") for line in page.PAGE.read_text("utf-8").splitlines()]
    titles = {f"| {result['title']}": result for result in STORED.values()}
    table = [row for row in rows if row[0] in titles and len(row) == len(CaseLevel) + 3]
    assert len(table) == len(STORED)
    for title, _, *cells, _ in table:
        for level, cell in zip(CaseLevel, cells, strict=True):
            sums = titles[title]["levels"][level]
            assert cell.startswith("**passed**") == (
                sums["passed"] > 0 == sums["expected_failure"] == sums["skipped"]
            )
            assert (cell == "not offered") == (sums["passed"] + sums["expected_failure"] == 0)


@pytest.mark.slow
def test_the_page_names_only_what_was_compiled_of_the_specification() -> None:
    """A decoder that is not in CI need not be one of these, and there may be none."""
    page_without = page.render([STORED["krabka"], STORED["kaitai-go"]])
    assert f"Go with `{STORED['kaitai-go']['specification']}`." in page_without
    assert "krabka-protocol (crabka) with" not in page_without
    assert "(crabka) with" not in page_without
    assert "Results that CI does not check" not in page.render([STORED["krabka"]])


def test_like_differences_are_judged_alike() -> None:
    """The kind decides, by one rule; the same reason is of the same kind for all decoders."""
    kinds: dict[str, Kind] = {}
    for adapter in JUDGED:
        for fault in adapter.faults:
            assert kinds.setdefault(fault.title, fault.kind) is fault.kind, fault.title
    assert set(kinds.values()) == set(KINDS.values())


@pytest.mark.parametrize("adapter", JUDGED, ids=lambda adapter: adapter.name)
def test_the_verdict_follows_from_the_cases(adapter: Adapter) -> None:
    """What ends a process, takes memory or misreads what brokers wrote is no choice."""
    kinds = {fault.title: fault.kind for fault in adapter.faults}
    for item in STORED[adapter.name]["expected"]:
        kind, category = kinds[item["why"]], item["pattern"].partition("/")[0]
        if item["failure"] in (CaseFailure.CRASHED, CaseFailure.TIMED_OUT):
            assert kind.verdict is Verdict.FAULT, item
        if item["failure"] == CaseFailure.MEMORY:
            assert kind.verdict is Verdict.FAULT or kind.rule is Rule.IN_PROPORTION, item
        of_a_writer = category in WRITTEN_BY_BROKERS or category == MADE.strip("/")
        if of_a_writer and item["failure"] in (CaseFailure.REFUSED, CaseFailure.WRONG):
            assert kind.rule in (Rule.MISREAD, Rule.NOT_OFFERED), item


def test_the_same_specification_reads_the_segments_of_brokers_in_other_languages() -> None:
    languages = [adapter.name for adapter in ADAPTERS if adapter.name.startswith("kaitai-")]
    assert len(languages) >= 5
    for name in languages:
        classes = STORED[name]["classes"]
        of_brokers = {**classes[CaseLevel.INDEXES], **classes[page.SEGMENTS]}
        of_brokers["control"] = classes[CaseLevel.TRANSACTIONS]["control_records"]
        for kind, (passed, put) in of_brokers.items():
            assert kind == "types" or passed == put > 0


@pytest.mark.slow
@pytest.mark.parametrize("adapter", JUDGED, ids=lambda adapter: adapter.name)
def test_each_failure_has_a_fault_or_choice_with_bytes(
    adapter: Adapter, cases: dict[str, Case]
) -> None:
    assert adapter.expected
    listed = read_expected(adapter.expected)
    assert {item.why for item in listed} == {fault.title for fault in adapter.faults}
    assert len({fault.title for fault in adapter.faults}) == len(adapter.faults)
    for fault, case in shown_cases(adapter, cases):
        lines = [item for item in listed if item.matches(case.id)]
        assert fault.title in {item.why for item in lines}, case.id
        stored = STORED[adapter.name]["faults"][case.id]
        assert stored["hex"] == shown(case)
        assert stored["answer"]
        assert 0 < len(stored["hex"]) <= 2 * MOST_BYTES


@pytest.mark.parametrize(
    "name",
    [*OURS[:2], *(pytest.param(name, marks=pytest.mark.slow) for name in KAFKA)],
)
@pytest.mark.slow
def test_our_codecs_and_kafka_answer_each_of_those_bytes(name: str, cases: dict[str, Case]) -> None:
    if name in KAFKA and not (cache_root() / "brokers" / name.partition("-")[2] / "jars").is_dir():
        pytest.skip(f"the jars of {name} are not there")
    put = {case.id: case for adapter in JUDGED for _, case in shown_cases(adapter, cases)}
    judge = next(adapter for adapter in ADAPTERS if adapter.name == name)
    with Testee(judge.command()) as testee:
        run = Run(testee)
        for result in run.all(put.values()):
            assert not result.failure, f"{result.case.id}: {result.detail}"


@pytest.mark.slow
@pytest.mark.parametrize("name", INSTALLED)
def test_a_decoder_that_is_installed_has_those_faults(name: str, cases: dict[str, Case]) -> None:
    if not find_spec(INSTALLED[name]):
        pytest.skip(f"there is no {name}")
    adapter = next(adapter for adapter in ADAPTERS if adapter.name == name)
    assert adapter.expected
    put = {case.id: case for _, case in shown_cases(adapter, cases)}
    with Testee(adapter.command()) as testee:
        run = Run(testee, read_expected(adapter.expected), partial=True)
        found = list(run.all(put.values()))
    assert run.as_expected
    for result in found:
        assert result.detail == STORED[name]["faults"][result.case.id]["answer"]
