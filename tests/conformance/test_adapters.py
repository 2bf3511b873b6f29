"""The page shows the stored results, and those are of runs that went as expected."""

from __future__ import annotations

import pytest

from kafkaspec.conformance.cases import CATEGORIES
from kafkaspec.conformance.runner import read_expected
from tests.goldens import VERSIONS as GOLDEN_VERSIONS
from tools.conformance import page
from tools.conformance.adapters import ADAPTERS, VERSIONS, Adapter

STORED = {result["adapter"]: result for result in page.load()}


def test_the_page_is_made_from_the_stored_results() -> None:
    assert page.PAGE.read_text(encoding="utf-8") == page.render(page.load()), "make conformance"


@pytest.mark.slow
def test_the_versions_are_there() -> None:
    assert set(VERSIONS) <= set(GOLDEN_VERSIONS)


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: adapter.name)
def test_every_decoder_has_results_of_its_list(adapter: Adapter) -> None:
    result = STORED[adapter.name]
    assert set(result["categories"]) == set(CATEGORIES)
    assert sum(counts["failed"] for counts in result["categories"].values()) == 0
    listed = read_expected(adapter.expected) if adapter.expected else []
    assert [(item.pattern, item.failure, item.why) for item in listed] == [
        (item["pattern"], item["failure"], item["why"]) for item in result["expected"]
    ]
    expected = sum(counts["expected_failure"] for counts in result["categories"].values())
    assert expected == sum(item["cases"] for item in result["expected"])


def test_our_own_codecs_have_nothing_to_excuse_and_skip_nothing() -> None:
    for name in ("native", "python", "kaitai", "construct"):
        for counts in STORED[name]["categories"].values():
            assert counts["passed"] == sum(counts.values()) > 0


def test_the_same_specification_reads_the_segments_of_brokers_in_other_languages() -> None:
    languages = [adapter.name for adapter in ADAPTERS if adapter.name.startswith("kaitai-")]
    assert len(languages) >= 5
    for name in languages:
        for category in ("segment", "index", "snapshot", "control"):
            counts = STORED[name]["categories"][category]
            assert counts["passed"] == sum(counts.values()) > 0
