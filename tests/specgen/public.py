"""Install an edited specification beside a copy of the library, and run programs on it.

A change of ``spec/`` is one edit: so nothing but the specification is edited in the copy, its code
is generated and compiled, and the programs use the public API and the command as any user does.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.specgen.edits import FAST, SPEC, Edit, edit_spec
from tools.native.build import build
from tools.specgen import driver
from tools.specgen.kaitai.emit import CompilerMissing
from tools.specgen.model import MESSAGES

PACKAGE = SPEC.parent / "kafkaspec"
PROGRAMS = "tests.specgen.programs"
_NOT_COPIED = shutil.ignore_patterns("_generated", "*.so")
"""Bytecode is copied, as it fits the copies: they keep the times of their sources."""


def few_messages(folder: str, names: list[str]) -> list[str]:
    """Kafka's messages but one of each topic, to leave out where no program reads them."""
    return sorted(names)[1:] if Path(folder).parent.name == MESSAGES else []


def copied(root: Path, *, messages: bool = False) -> Path:
    """Copy the library without what is generated, and the specification; return where that is."""
    shutil.copytree(PACKAGE, root / "kafkaspec", ignore=_NOT_COPIED)
    ignored = None if messages else few_messages
    return Path(shutil.copytree(SPEC, root / "spec", ignore=ignored))


def install(
    root: Path,
    *edits: Edit,
    messages: bool = False,
    change: Callable[[Path], None] = lambda spec: None,
) -> Path:
    """Make an importable library from an edited specification.

    Args:
        root: an empty directory; goes to ``PYTHONPATH``.
        edits: of the specification, in order.
        messages: whether it has all of Kafka's messages, or one for each topic.
        change: changes the files of the specification after the edits.

    Returns:
        ``root``.

    Raises:
        NoCompilerError: there is no C compiler.
    """
    spec = copied(root, messages=messages)
    edit_spec(spec, *edits)
    change(spec)
    generated = root / "kafkaspec" / "_generated"
    try:
        driver.generate(spec, generated)
    except CompilerMissing:
        if os.environ.get("CI") == "true":
            raise
        driver.generate(spec, generated, FAST)
    # What the compiler would gain, no program here runs long enough to use.
    build(generated, root / "kafkaspec" / "_native.abi3.so", ["-O0"])
    return root


def run(root: Path, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program of ``programs/`` on an installed library."""
    places = os.pathsep.join((str(root), str(SPEC.parent)))  # the second for the programs only
    temporary = os.environ.get("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())
    environment = {**os.environ, "PYTHONPATH": places, "TMPDIR": temporary}
    command = [sys.executable, "-m", f"{PROGRAMS}.{program}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=root)
