"""Packages that the generator makes for formats that are not Kafka's."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.specgen.edits import SPEC
from tests.specgen.formats.samples import FORMATS, NAMES

ROOT = SPEC.parent


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory with a package for each format, from one command each."""
    made = tmp_path_factory.mktemp("other")
    for name in NAMES:
        command: list[str | Path] = [sys.executable, ROOT / "tools" / "codegen.py"]
        command += ["--spec", FORMATS / name, "--out", made / f"{name}_codec"]
        subprocess.run(command, check=True, cwd=made)
        # Neither Python nor the compiler may warn a stranger.
        environment = {**os.environ, "CFLAGS": "-O0 -Wall -Wextra -Werror"}
        subprocess.run(
            [sys.executable, "-W", "error", "-m", f"{name}_codec.native.build"],
            check=True, cwd=made, env=environment,
        )  # fmt: skip
    sys.path.insert(0, str(made))
    yield made
    sys.path.remove(str(made))
    for name in [name for name in sys.modules if name.partition("_codec")[0] in NAMES]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def package(home: Path) -> Any:
    """Return the package of a format by its name."""
    return lambda name: importlib.import_module(f"{name}_codec")
