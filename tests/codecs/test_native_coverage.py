"""Branches of the generated C: which nobody can take, and how many of the others are taken."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tools.native import coverage
from tools.native.coverage import CorePlace, CoverageError, Unreachable, merged, share
from tools.native.fuzz.run import CORE, ROOT

PAGE = ROOT / "docs" / "guide" / "generate.md"
PLACE = CorePlace("some.c", 2, "some")
LISTED = Unreachable("some", "if (a && b)", 1, "Nobody does.")


@pytest.fixture
def core(tmp_path: Path) -> Path:
    (tmp_path / "some.c").write_text("{\n    if (a && b)\n}\n", encoding="utf-8")
    return tmp_path


def test_a_branch_that_nobody_can_take_does_not_count(core: Path) -> None:
    found = share({PLACE: [5, 3, 0, 0]}, [LISTED], core)
    assert found == (4, 2, 1)
    assert found.reached == 2 / 3


@pytest.mark.parametrize("item", [LISTED, LISTED._replace(text="if (a)")], ids=["taken", "gone"])
def test_a_stale_list_is_an_error(core: Path, item: Unreachable) -> None:
    with pytest.raises(CoverageError, match=re.escape(f"{item.text!r}")):
        share({PLACE: [5, 3, 2, 1]}, [item], core)


def test_counts_of_two_programs_are_added() -> None:
    other = PLACE._replace(line=1)
    both = merged([{PLACE: [5, 0]}, {PLACE: [0, 0], other: [1, 1]}])
    assert both == {PLACE: [5, 0], other: [1, 1]}


def test_the_list_names_lines_of_the_core_with_a_reason() -> None:
    text = "".join(path.read_text("utf-8") for path in sorted(CORE.glob("*.[ch]")))
    lines = {line.strip() for line in text.splitlines()}
    listed = coverage.read_unreachable()
    assert [item for item in listed if item.text not in lines or len(item.why) < 20] == []
    number = sum(item.branches for item in listed)
    assert f"lists the {number} that nobody can take" in PAGE.read_text("utf-8")


@pytest.mark.slow
@pytest.mark.skipif(
    any(shutil.which(name) is None for name in ("gcc", "gcov")), reason="there is no gcov"
)
def test_the_fuzz_target_takes_most_branches(tmp_path: Path) -> None:
    counts = coverage.by_fuzz_target(tmp_path / "target")
    found = share(counts, coverage.read_unreachable())
    assert found.branches > 500
    assert found.reached >= coverage.LEAST
