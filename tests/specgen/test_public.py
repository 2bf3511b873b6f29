"""After an edit of the specification and nothing else, all that is public follows."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.specgen import changes
from tests.specgen.edits import Edit
from tests.specgen.public import install, run
from tools.native.build import NoCompilerError


def test_magic_3_beside_the_others(tmp_path: Path) -> None:
    """Through encode, decode, columns, verify, dump, explain, find, writing and convert."""
    try:
        install(tmp_path, Edit("magic_3", changes.magic_3_beside))
    except NoCompilerError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))
    done = run(tmp_path, "magic_3.py")
    assert done.returncode == 0, done.stdout + done.stderr
