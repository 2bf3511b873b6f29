"""``generated/`` is the package ``kafkaspec._generated``, without a link that git would keep."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_PLACES = """
import kafkaspec, kafkaspec._generated.layout, kafkaspec._generated.python.model.recordbatch
from importlib.resources import files
print(kafkaspec.__file__)
print(kafkaspec._generated.layout.__file__)
print(kafkaspec._generated.python.model.recordbatch.__file__)
print(next(item for item in files("kafkaspec._generated.vectors").iterdir()))
"""


def test_git_keeps_no_symbolic_link() -> None:
    """A checkout on Windows makes text files of them."""
    if not (ROOT / ".git").exists():
        pytest.skip("no checkout of git")
    kept = subprocess.run(
        ["git", "ls-files", "--stage"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert kept
    assert [line for line in kept.splitlines() if line.startswith("120000")] == []


@pytest.mark.slow
@pytest.mark.parametrize("how", ["directory", "PYTHONPATH"])
def test_another_checkout_has_its_own_generated_code(tmp_path: Path, how: str) -> None:
    """Never that of the installed one: the two may differ."""
    for name in ("kafkaspec", "generated"):
        shutil.copytree(
            ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "*.so")
        )
    environment = os.environ | ({"PYTHONPATH": str(tmp_path)} if how == "PYTHONPATH" else {})
    done = subprocess.run(
        [sys.executable, "-c", _PLACES],
        cwd=tmp_path if how == "directory" else "/",
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    places = [Path(line) for line in done.stdout.splitlines()]
    assert len(places) == 4
    assert [place for place in places if not place.is_relative_to(tmp_path)] == []
