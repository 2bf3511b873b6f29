"""The page shows the stored results, and those are of runs that went as expected; the bytes of each
fault show it."""

from __future__ import annotations

from importlib.util import find_spec
from itertools import takewhile

import pytest

from kafkaspec.conformance.cases import Case
from kafkaspec.conformance.process import Testee
from kafkaspec.conformance.resource import RESOURCE, resource_cases
from kafkaspec.conformance.runner import Run, read_expected
from kafkaspec.conformance.vectors import vector_cases
from tests.goldens import VERSIONS as GOLDEN_VERSIONS
from tools.brokers.maven import cache_root
from tools.conformance import page
from tools.conformance.adapters import ADAPTERS, VERSIONS, Adapter
from tools.conformance.faults import MOST_BYTES, Fault, own_cases, shown

STORED = {result["adapter"]: result for result in page.load()}
OURS = ("native", "python", "kaitai", "construct")
JUDGED = [adapter for adapter in ADAPTERS if adapter.name not in OURS]
KAFKA = [
    adapter.name
    for adapter in ADAPTERS
    if adapter.name.startswith("kafka-") and adapter.language == "Java"
]
SLOW = (f"{RESOURCE}bomb/", f"{RESOURCE}nested/")
INSTALLED = {"kafka-python": "kafka", "aiokafka": "aiokafka"}
"""Decoders that the tests have, by their packages."""


@pytest.fixture(scope="module")
def cases() -> dict[str, Case]:
    """Return the cases that are made, and are not read from files of brokers or take seconds."""
    quick = takewhile(lambda case: not case.id.startswith(SLOW), resource_cases())
    return {case.id: case for case in (*vector_cases(), *quick)}


def shown_cases(adapter: Adapter, cases: dict[str, Case]) -> list[tuple[Fault, Case]]:
    return [
        (fault, fault.own or cases[fault.case])
        for fault in adapter.faults
        if not fault.case.startswith(SLOW)
    ]


def test_the_page_is_made_from_the_stored_results() -> None:
    assert page.PAGE.read_text(encoding="utf-8") == page.render(page.load()), "make conformance"


@pytest.mark.slow
def test_the_versions_are_there() -> None:
    assert set(VERSIONS) <= set(GOLDEN_VERSIONS)


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: adapter.name)
def test_every_decoder_has_results_of_its_list(adapter: Adapter) -> None:
    result = STORED[adapter.name]
    assert set(result["categories"]) == {
        *page.COLUMNS,
        *(case.category for case in own_cases(adapter.faults)),
    }
    assert sum(counts["failed"] for counts in result["categories"].values()) == 0
    listed = read_expected(adapter.expected) if adapter.expected else []
    assert [(item.pattern, item.failure, item.why) for item in listed] == [
        (item["pattern"], item["failure"], item["why"]) for item in result["expected"]
    ]
    expected = sum(counts["expected_failure"] for counts in result["categories"].values())
    assert expected == sum(item["cases"] for item in result["expected"])


def test_our_own_codecs_have_nothing_to_excuse_and_skip_nothing() -> None:
    for name in OURS:
        for counts in STORED[name]["categories"].values():
            assert counts["passed"] == sum(counts.values()) > 0


def test_the_same_specification_reads_the_segments_of_brokers_in_other_languages() -> None:
    languages = [adapter.name for adapter in ADAPTERS if adapter.name.startswith("kaitai-")]
    assert len(languages) >= 5
    for name in languages:
        for category in ("segment", "index", "snapshot", "control"):
            counts = STORED[name]["categories"][category]
            assert counts["passed"] == sum(counts.values()) > 0


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
