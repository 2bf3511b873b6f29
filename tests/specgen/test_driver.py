"""The generator's command: what it finds in generated/, and what it says when it cannot run."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.specgen import driver, house

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
GOOD = Path(__file__).parent / "good"
TARGETS = tuple(target for target in house.TARGETS if target != "kaitai")


@pytest.fixture
def trees(tmp_path: Path) -> tuple[dict[str, Path], Path]:
    """The output for the sample, fresh and checked in."""
    fresh = driver.generate(GOOD, tmp_path / "fresh", TARGETS)
    driver.write(fresh, tmp_path / "checked_in", TARGETS)
    return fresh, tmp_path / "checked_in"


STRAYS = ["stray.py", "stray/", "stray/deep/file.txt", "python/old.py", "docs/empty/", "x.so"]


@pytest.mark.parametrize("stray", STRAYS)
def test_strays_are_seen_and_removed(trees: tuple[dict[str, Path], Path], stray: str) -> None:
    fresh, checked_in = trees
    (checked_in / "python" / "__pycache__").mkdir()
    (checked_in / "python" / "__pycache__" / "model.pyc").write_bytes(b"")
    assert driver.compare(fresh, checked_in, TARGETS) == []
    path = checked_in / stray
    if stray.endswith("/"):
        path.mkdir()
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("", encoding="utf-8")
    found = {difference.path: difference.what for difference in driver.compare(*trees, TARGETS)}
    assert found[stray] == "stale"
    assert f"removed {stray}" in driver.write(fresh, checked_in, TARGETS)
    assert driver.compare(fresh, checked_in, TARGETS) == []
    assert not path.exists()


def test_targets_that_were_not_chosen_keep_their_folder(
    trees: tuple[dict[str, Path], Path],
) -> None:
    fresh, checked_in = trees
    (checked_in / "kaitai").mkdir()
    (checked_in / "kaitai" / "sample.py").write_text("", encoding="utf-8")
    assert driver.compare(fresh, checked_in, TARGETS) == []


@pytest.mark.parametrize("module", ["click", "yaml", "lark"])
def test_without_a_dependency(tmp_path: Path, module: str) -> None:
    """One line says what to do."""
    (tmp_path / f"{module}.py").write_text(
        f"raise ModuleNotFoundError(name={module!r})", encoding="utf-8"
    )
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "codegen.py", "--lint"],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(tmp_path)},
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"this Python has no module {module}; run: make generate\n"


def test_each_problem_is_said_once(tmp_path: Path) -> None:
    text = (GOOD / "sample.ksy").read_text(encoding="utf-8").replace("Paint.", "Paint")
    (tmp_path / "sample.ksy").write_text(text, encoding="utf-8")
    shutil.copy(ROOT / "spec" / house.FILE, tmp_path)
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "codegen.py", "--lint", "--spec", tmp_path],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stderr == (
        "sample.ksy#/types/message/seq/4: doc: the doc of color does not end in a full stop\n"
    )
