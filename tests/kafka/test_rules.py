"""The rules of a release's brokers are found from what they wrote, and from their loader."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kafkaspec.broker import profiles
from kafkaspec.broker.profiles import IndexKey, IndexUnit, TimeEntry, get_profile
from kafkaspec.dumplog import options
from tests.kafka.chosen import VERSIONS
from tools.brokers.maven import ToolError
from tools.brokers.versions import by_name
from tools.kafka import rules
from tools.kafka.rules import Evidence, UnknownRuleError

NEWEST = [version for version in VERSIONS if version.release >= (4, 4)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "before", "found"),
    [
        ("2.8.2", "2.7.2", {"snapshot_per_segment": True}),
        ("3.7.2", "3.6.2", {"time_entry": TimeEntry.BATCH}),
        ("3.6.2", "3.5.2", {}),
    ],
)
def test_a_rule_is_found_from_golden_segments(
    name: str, before: str, found: dict[str, object], tmp_path: Path
) -> None:
    evidence = Evidence(by_name(name), tmp_path)
    assert rules.changed(get_profile(before), evidence) == found


@pytest.mark.slow
def test_what_no_single_rule_explains_is_named(tmp_path: Path) -> None:
    other = replace(get_profile("3.9.0"), index_key=IndexKey.FIRST, time_entry=TimeEntry.RECORD)
    with pytest.raises(UnknownRuleError, match=r"(?s)no known rule explains it:\n.*segments-0/"):
        rules.changed(other, Evidence(by_name("3.9.2"), tmp_path))


@pytest.mark.kafka
@pytest.mark.parametrize("version", NEWEST, ids=lambda version: version.name)
def test_a_rule_is_found_from_the_loader(version: object, tmp_path: Path) -> None:
    assert version in NEWEST
    evidence = Evidence(by_name("4.4.0"), tmp_path)
    assert rules.changed(get_profile("4.3"), evidence) == {"whole_versions": True}


def test_rows_are_added_as_they_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row of the table is the line that there is, and the newest releases are those we ran."""
    for module in (profiles, options):
        copy = tmp_path / Path(str(module.__file__)).name
        text = Path(str(module.__file__)).read_text(encoding="utf-8")
        copy.write_text(text.replace('    since("4.4.0", whole_versions=True)\n', ""), "utf-8")
        monkeypatch.setattr(module, "__file__", str(copy))
    rules.add("4.4.0", {"whole_versions": True})
    made = (tmp_path / "profiles.py").read_text(encoding="utf-8")
    assert made == Path(rules.__file__).parents[2].joinpath(
        "kafkaspec", "broker", "profiles.py"
    ).read_text(encoding="utf-8")
    rules.add("4.5.0", {"index_unit": IndexUnit.APPEND})
    made = (tmp_path / "profiles.py").read_text(encoding="utf-8")
    assert '    since("4.5.0", index_unit=IndexUnit.APPEND)\n    return' in made
    assert 'NEWEST: Final = "4.5"\n' in made


def test_a_constant_that_is_not_there_is_named() -> None:
    assert rules.set_constant("A = 1\nB = 2\n", "B", "3") == "A = 1\nB = 3\n"
    with pytest.raises(ToolError, match="0 lines begin with C = "):
        rules.set_constant("A = 1\n", "C", "3")
