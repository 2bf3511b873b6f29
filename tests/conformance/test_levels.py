"""Levels: each case has one, a fault costs its level and no other, and the badge says so."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest

from kafkaspec.cli.exits import CLEAN, FINDINGS, USAGE
from kafkaspec.conformance.levels import CaseLevel
from kafkaspec.conformance.runner import LevelState
from kafkaspec.conformance.vectors import vector_cases
from tests.cli.helpers import lines, run
from tests.goldens import GOLDEN, VERSIONS

TESTEE = Path(__file__).parent / "faulty_testee.py"


def conform(fault: str, *arguments: str) -> tuple[int, dict[str, str], Counter[str]]:
    """Return the exit code, the state of each level, and the numbers of failures by level."""
    command = f"{sys.executable} {TESTEE} {fault}"
    done = run("conform", "--testee", command, "--format", "json", *arguments)
    *cases, summary = lines(done)
    failed = Counter(case["level"] for case in cases if case["outcome"] == "failed")
    states = {name: sums["state"] for name, sums in summary["levels"].items()}
    return done.exit_code, states, failed


@pytest.mark.slow
def test_every_level_but_the_asked_ones_has_vectors() -> None:
    found = {case.level for case in vector_cases()}
    assert found >= {
        CaseLevel.FRAMING,
        CaseLevel.RECORDS,
        CaseLevel.TRANSACTIONS,
        CaseLevel.INDEXES,
        CaseLevel.MESSAGES,
    }


@pytest.mark.parametrize("name", ["tables", "FRAMING"])
def test_an_unknown_level_is_an_error_that_lists_all(name: str) -> None:
    done = run("conform", "--codec", "python", "--only-level", name)
    assert done.exit_code == USAGE
    assert all(level in done.output for level in CaseLevel)


FAULTS = [
    ("checksum", CaseLevel.FRAMING, "checksum/*"),
    ("key", CaseLevel.RECORDS, "segment/*/plain-0/*"),
    ("gzip", CaseLevel.COMPRESSION, "segment/*/codec-*"),
    ("coordinator", CaseLevel.TRANSACTIONS, "control/*"),
    ("uncommitted", CaseLevel.TRANSACTIONS, "committed/*/transactions-*"),
    ("uncommitted", CaseLevel.TRANSACTIONS, "made/*"),
    ("byte", CaseLevel.WRITING, "made/*"),
    ("batches", CaseLevel.WRITING, "made/writing/2.none"),
    ("position", CaseLevel.INDEXES, "index/*"),
    ("version", CaseLevel.MESSAGES, "structure/offset_commit_key*"),
    ("swallow", CaseLevel.RESOURCE, "resource/nested/*"),
]


@pytest.mark.slow
def test_a_testee_without_a_fault_passes_each_level() -> None:
    only = [word for _, _, pattern in FAULTS for word in ("--only", pattern)]
    arguments = ("--cases", str(GOLDEN / VERSIONS[-1]), "--resource", *only)
    code, states, _ = conform("none", *arguments)
    assert code == CLEAN
    assert states == dict.fromkeys(CaseLevel, LevelState.PASSED)


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "level", "only"), FAULTS)
def test_a_fault_costs_its_level(fault: str, level: CaseLevel, only: str) -> None:
    cases = () if "made" in only else ("--cases", str(GOLDEN / VERSIONS[-1]))
    code, states, failed = conform(fault, *cases, "--only-level", level, "--only", only)
    assert (code, states[level]) == (FINDINGS, LevelState.FAILED)
    assert set(failed) == {level}
    assert {state for name, state in states.items() if name != level} == {LevelState.NOT_RUN}


@pytest.mark.slow
def test_help_with_compressed_payloads_and_kinds_that_are_not_read_do_not_pass() -> None:
    arguments = ("--cases", str(GOLDEN / VERSIONS[-1]), "--only", "*/codec-*")
    code, states, _ = conform("plain", *arguments)
    assert code == CLEAN
    assert states[CaseLevel.COMPRESSION] == LevelState.NOT_SUPPORTED
    code, states, _ = conform("gzip_only", *arguments)
    assert code == CLEAN
    assert states[CaseLevel.COMPRESSION] == LevelState.INCOMPLETE
    assert states[CaseLevel.INDEXES] == LevelState.NOT_SUPPORTED


@pytest.mark.slow
def test_a_badge_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    only = ("--only-level", "records", "--only", "record/*/key.*")
    picture, endpoint = tmp_path / "badge.svg", tmp_path / "badge.json"
    assert run("conform", "--codec", "python", *only, "--badge", str(picture)).exit_code == CLEAN
    text = "".join(ElementTree.parse(picture).getroot().itertext())
    assert "kafkaspec: 1 of 8 levels: records" in text
    picture.write_text("before")
    done = run("conform", "--codec", "python", "--only", "none", "--badge", str(picture))
    assert done.exit_code == USAGE
    assert picture.read_text() == "before"
    run("conform", "--codec", "python", *only, "--badge", str(endpoint))
    assert json.loads(endpoint.read_text())["message"] == "1 of 8 levels"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["badge.json", "badge.svg"]
    wrong = run("conform", "--codec", "python", *only, "--badge", str(tmp_path / "badge.png"))
    assert wrong.exit_code == USAGE
    assert "does not end in .svg or .json" in wrong.output
    nowhere = run("conform", "--codec", "python", *only, "--badge", str(tmp_path / "no" / "b.svg"))
    assert nowhere.exit_code == USAGE
    assert "there is no directory" in nowhere.output
