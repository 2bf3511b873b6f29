"""The commands of the page about changes of the specification lead from an edit to green tests."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools.kafka.replay import Tree

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "guide" / "new-kip.md"
BLOCK = re.compile(r"## One edit, step by step.*?```sh\n(.*?)```", re.DOTALL)
NOT_HERE = {"make drafts", "make test"}
"""They are tests themselves."""
SETS_UP = re.compile(r"^tools/setup/venv\.sh .*\n", re.MULTILINE)
"""In a copy it would make the environment of these tests one of the copy."""


TYPES = re.compile(r"\S+/mypy &")
"""A copy has no cache for it, without which it takes longer than all the rest."""


def _commands() -> list[str]:
    found = BLOCK.search(PAGE.read_text(encoding="utf-8"))
    assert found is not None
    return [line.partition("  #")[0].strip() for line in found[1].splitlines()]


def _run(tree: Tree, command: str) -> str:
    """Run a command of the page in a copy, with the environment of these tests."""
    environment = os.environ | {"PYTHONPATH": str(tree.home)}
    for name in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS"):  # or make says which folder it enters
        environment.pop(name, None)
    recipe = command
    if command.startswith("make "):
        arguments = [*command.split(), "--dry-run", f"VENV={sys.prefix}", "TESTS=tests/files"]
        shown = subprocess.run(
            arguments, cwd=tree.home, capture_output=True, text=True, check=True, env=environment
        )
        recipe = TYPES.sub("true &", SETS_UP.sub("", shown.stdout))
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", recipe], cwd=tree.home, capture_output=True, text=True,
        env=environment,
    )  # fmt: skip
    assert done.returncode == 0, f"{command}:\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.slow
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="the files of a checkout are copied")
def test_an_edit_leads_to_green_tests(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "tree")
    edit, *commands = _commands()
    assert {"make spec-diff A=HEAD", "make generate", "make quick", *NOT_HERE} == set(commands)
    _run(tree, edit)
    said = {command: _run(tree, command) for command in commands if command not in NOT_HERE}
    assert said["make spec-diff A=HEAD"].endswith(
        "1 change (1 of texts), 0 of them breaking somebody\n"
    )
    page = "generated/docs/index.md"
    new, old = ((home / page).read_text(encoding="utf-8") for home in (tree.home, ROOT))
    assert new != old, "the edit is not in what was generated"
    assert page in tree.commit()
