"""The testee that the guide shows, and a decoder that was written from the guide."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from kafkaspec.cli.exits import CLEAN
from kafkaspec.conformance.levels import CaseLevel
from kafkaspec.conformance.runner import LevelState
from tests.cli.helpers import lines, run
from tests.goldens import GOLDEN, VERSIONS
from tests.pages import ROOT

GUIDE = ROOT / "docs" / "guide" / "conform.md"
PERL = ROOT / "tools" / "conformance" / "perl" / "testee.pl"
TCL = ROOT / "tools" / "conformance" / "tcl" / "testee.tcl"
MOST_LINES = 60
LOGS = [CaseLevel.FRAMING, CaseLevel.RECORDS, CaseLevel.TRANSACTIONS]
STRANGERS = {
    "perl": (
        PERL,
        [*LOGS, CaseLevel.INDEXES],
        [CaseLevel.COMPRESSION, CaseLevel.WRITING, CaseLevel.RESOURCE],
    ),
    "tclsh": (TCL, LOGS, [CaseLevel.RESOURCE]),
}
"""Decoders by the program that runs them: the levels that each passes, and those of which it does a
part."""


def shown() -> str:
    """Return the testee that the guide shows."""
    text = GUIDE.read_text("utf-8").partition("## A testee in 60 lines")[2]
    found = re.search(r"^```python\n(.*?)^```$", text, re.M | re.S)
    assert found is not None
    return found[1]


def states(command: list[str], *arguments: str) -> tuple[int, dict[str, dict[str, object]]]:
    done = run("conform", "--testee", shlex.join(command), "--format", "json", *arguments)
    return done.exit_code, lines(done)[-1]["levels"]


@pytest.mark.slow
def test_the_testee_of_the_guide_fails_nothing(tmp_path: Path) -> None:
    """It knows magic 2 only, does not decompress, and shares no code with kafkaspec."""
    text = shown()
    assert sum(bool(line.strip()) for line in text.splitlines()) <= MOST_LINES
    assert "kafkaspec" not in text
    path = tmp_path / "testee.py"
    path.write_text(text, encoding="utf-8")
    code, levels = states([sys.executable, "-I", str(path)], "--cases", str(GOLDEN / VERSIONS[-1]))
    assert code == CLEAN
    for level in (CaseLevel.FRAMING, CaseLevel.RECORDS):
        assert levels[level]["state"] == LevelState.INCOMPLETE
    assert int(str(levels[CaseLevel.RECORDS]["passed"])) > 150


@pytest.mark.slow
@pytest.mark.parametrize("program", STRANGERS)
def test_a_strangers_decoder_passes_levels(program: str) -> None:
    """Perl of core modules has gzip only, and Tcl no compression, indexes or writer."""
    path, passed, parts = STRANGERS[program]
    command = shutil.which(program)
    if command is None:
        pytest.skip(f"there is no {program}")
    code, levels = states([command, str(path)], "--resource", "--cases", str(GOLDEN / VERSIONS[-1]))
    assert code == CLEAN
    found = {level: levels[level]["state"] for level in CaseLevel}
    assert [level for level in found if found[level] == LevelState.PASSED] == passed
    assert [level for level in found if found[level] == LevelState.INCOMPLETE] == parts
    others = set(CaseLevel) - {*passed, *parts}
    assert {found[level] for level in others} == {LevelState.NOT_SUPPORTED}


def test_a_strangers_decoder_is_small() -> None:
    """The one that the guide calls small is what someone can write in a few minutes."""
    text = TCL.read_text("utf-8")
    assert sum(bool(line.strip()) for line in text.splitlines()) <= 2 * MOST_LINES
    assert "package require" not in text
