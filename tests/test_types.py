"""The programs of the pages, and what users write, under mypy --strict and pyright."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from tests.pages import PAGES, ROOT, blocks
from tests.test_options import misspelled

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


MAKES_A_PACKAGE = {"docs/guide/other-formats.md"}
"""Pages whose program imports what it generates first; its types are tested with the generator."""


def programs(folder: Path) -> list[Path]:
    """Write a file for each block of Python in the pages."""
    files = []
    for block in (block for page in PAGES for block in blocks(page, "python")):
        if block.page in MAKES_A_PACKAGE:
            continue
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


def _missed(said: str, typos: dict[int, str], checker: str) -> list[str]:
    """Return the words that a type checker has not complained about, at their lines."""
    shape = {
        "mypy": r"(?m)^typos\.py:(\d+): error: Unexpected keyword argument \"(\w+)\"",
        "pyright": r"typos\.py:(\d+):\d+ - error: No parameter named \"(\w+)\"",
    }[checker]
    found = {(int(line), word) for line, word in re.findall(shape, said)}
    return [f"{line}: {word}" for line, word in typos.items() if (line, word) not in found]


_BUILD = """
import os, sys
from setuptools import build_meta
os.environ["CC"] = "no-compiler"  # the extension that is there stays
build_meta.build_editable(sys.argv[1])
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment in which the project is installed as an editable one."""
    home = tmp_path_factory.mktemp("editable")
    build = [sys.executable, "-c", _BUILD, str(home)]
    settings = os.environ | {"CI": "", "KAFKASPEC_NATIVE": ""}
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, env=settings)
    assert done.returncode == 0, done.stderr
    (wheel,) = home.glob("*.whl")
    venv.create(home / "venv", with_pip=False)
    python = home / "venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = subprocess.run([python, "-c", where], capture_output=True, text=True).stdout.strip()
    with zipfile.ZipFile(wheel) as file:
        file.extractall(packages)
    find = "import importlib.util; print(importlib.util.find_spec('kafkaspec').origin)"
    origin = subprocess.run([python, "-c", find], cwd=home, capture_output=True, text=True).stdout
    assert Path(origin.strip()).samefile(ROOT / "kafkaspec" / "__init__.py")
    assert "stubs" not in origin
    return python


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_an_editable_installation_shows_its_types_elsewhere(
    checker: str, installed: Path, tmp_path: Path
) -> None:
    if importlib.util.find_spec(checker) is None and os.environ.get("CI") != "true":
        pytest.skip(f"{checker} is not installed")
    (tmp_path / "wrong.py").write_text(
        _WRONG + "from kafkaspec._generated.layout import LAYOUTS\nreveal_type(LAYOUTS)\n",
        encoding="utf-8",
    )
    program, typos = misspelled()
    assert len(typos) > 300
    (tmp_path / "typos.py").write_text(program, encoding="utf-8")
    options = {"mypy": ["--strict", "--python-executable"], "pyright": ["--pythonpath"]}
    command = [sys.executable, "-m", checker, *options[checker], str(installed)]
    done = subprocess.run([*command, "typos.py"], cwd=tmp_path, capture_output=True, text=True)
    assert _missed(done.stdout, typos, checker) == [], done.stdout + done.stderr
    done = subprocess.run([*command, "wrong.py"], cwd=tmp_path, capture_output=True, text=True)
    said = done.stdout
    assert "no_such_name" in said, said + done.stderr
    assert "no_such_method" in said
    assert said.count("error: " if checker == "mypy" else " - error: ") == 4, said
    assert "Layouts" in said.splitlines()[-2]
    for type_ in _REVEALED:
        assert f'is "{type_}"' in said, said
