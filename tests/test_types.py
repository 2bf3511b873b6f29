"""The programs of the pages, and what users write, under mypy --strict and pyright."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pages import PAGES, ROOT, blocks

pytestmark = pytest.mark.slow

_WRONG = """
import kafkaspec as ks
ks.no_such_name
with ks.open("x") as log:
    log.no_such_method()
    reveal_type(next(log.batches()).base_offset)
    reveal_type([record.offset for record in log.records(start_offset=3)])
    reveal_type(log.find(timestamp=1).offset)
def later(log: ks.Log) -> int | None:
    return log.find(max_timestamp=True).timestamp
later(ks.open("x"))
later(ks.Segment("x"))
"""
_REVEALED = ("int", "list[int]", "int | None")


def programs(folder: Path) -> list[Path]:
    """Write a file for each block of Python in the pages."""
    files = []
    for block in (block for page in PAGES for block in blocks(page, "python")):
        files.append(folder / f"{block.page.replace('/', '_').replace('.', '_')}_{block.line}.py")
        files[-1].write_text(block.text, encoding="utf-8")
    assert files
    return files


def mypy(files: list[Path]) -> subprocess.CompletedProcess[str]:
    """With the options of the project, so that what they import need not be checked again."""
    command = [sys.executable, "-m", "mypy", "--no-pretty"]
    return subprocess.run([*command, *map(str, files)], cwd=ROOT, capture_output=True, text=True)


def pyright(folder: Path) -> subprocess.CompletedProcess[str]:
    if importlib.util.find_spec("pyright") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("pyright is not installed")
        pytest.skip("pyright is not installed")
    settings = {
        "include": ["."],
        "extraPaths": [str(ROOT), str(ROOT / "build" / "types")],
        "reportMissingModuleSource": False,
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "-p", str(folder)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_mypy_takes_the_programs_of_the_pages(tmp_path: Path) -> None:
    done = mypy(programs(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr


def test_pyright_takes_the_programs_of_the_pages(tmp_path: Path) -> None:
    programs(tmp_path)
    done = pyright(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_mypy_knows_the_types(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(_WRONG, encoding="utf-8")
    said = mypy([tmp_path / "wrong.py"]).stdout
    assert 'Module has no attribute "no_such_name"' in said
    assert 'Item "Segment" of "Segment | Partition | LogDirectory" has no attribute' in said
    assert said.count("error: ") == 4, said  # one for each of the three types of a log
    for type_ in _REVEALED:
        assert f'type is "{type_}"' in said


def test_pyright_knows_the_types(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(_WRONG, encoding="utf-8")
    said = pyright(tmp_path).stdout
    assert '"no_such_name" is not a known attribute of module "kafkaspec"' in said
    assert 'Cannot access attribute "no_such_method" for class "Segment"' in said
    for type_ in _REVEALED:
        assert f'is "{type_}"' in said
