"""After an edit of the specification and nothing else, all that is public follows."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.specgen import changes
from tests.specgen.edits import Edit, Files, insert
from tests.specgen.public import install, run
from tools.native.build import NoCompilerError


def _color(files: Files) -> None:
    """A field of the header of magic 3 with a default."""
    color = changes.integer("color", "s4", default="-1")
    insert(files, f"{changes.BATCH}_3", color, before="num_records")


@pytest.fixture(scope="module")
def magic_3(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("magic_3")
    try:
        return install(root, Edit("magic_3", changes.magic_3_beside), Edit("color", _color))
    except NoCompilerError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))


@pytest.mark.parametrize("program", ["magic_3.py", "convert_3.py"])
def test_magic_3_beside_the_others(program: str, magic_3: Path) -> None:
    """Through encode, decode, columns, verify, dump, explain, find, writing and convert."""
    done = run(magic_3, program)
    assert done.returncode == 0, done.stdout + done.stderr
