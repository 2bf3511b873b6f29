"""The pages in ``docs/`` say what the data says that they are made from."""

from __future__ import annotations

import pytest

from kafkaspec.log.partition import Partition
from tests.goldens import GOLDEN
from tools.brokers.versions import VERSIONS, Version
from tools.kafka import release, results
from tools.kafka.compatibility import ABSENT, FEATURES, Absent, Feature, cell, missing
from tools.kafka.pages import DOCS, pages


@pytest.fixture(scope="module")
def cells() -> dict[tuple[Feature, Version], str]:
    """The marks of each feature and version."""
    kept = results.load()
    return {
        (feature, version): cell(feature, version, kept.get(version.name, {}))
        for version in VERSIONS
        for feature in FEATURES
    }


def test_pages_are_made_from_the_data() -> None:
    made = pages()
    assert made
    assert {name: (DOCS / name).read_text(encoding="utf-8") for name in made} == made


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.name)
def test_every_release_was_tried_with_all_that_it_has(
    version: Version, cells: dict[tuple[Feature, Version], str]
) -> None:
    lacking = {
        feature.name: marks
        for feature in FEATURES
        if (marks := missing(feature, version, cells[feature, version]))
    }
    assert lacking == {}


@pytest.mark.parametrize("absent", ABSENT, ids=lambda absent: absent.features)
def test_every_reason_is_needed_in_each_of_its_cells(
    absent: Absent, cells: dict[tuple[Feature, Version], str]
) -> None:
    found = [marks for where, marks in cells.items() if absent.applies_to(*where) and marks != "-"]
    assert found
    assert not [marks for marks in found if set(marks) & set(absent.marks)]


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.name)
def test_delete_horizons_are_in_the_segments_that_are_said_to_have_them(
    version: Version, cells: dict[tuple[Feature, Version], str]
) -> None:
    (feature,) = (feature for feature in FEATURES if feature.name == "delete horizon")
    found = any(
        batch.delete_horizon is not None
        for path in (GOLDEN / version.name / "logs").glob("compacted-*")
        for batch in Partition(path).batches()
    )
    assert found == ("r" in cells[feature, version])


def test_sentences_count_the_releases_that_were_tried() -> None:
    assert [line for line in release.sentences() if line.startswith(tuple(release.COUNTED))] == []
