"""Compile our small Java programs against the jars of one release, once for each pair."""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
from pathlib import Path

from tools.golden.maven import ToolError, java_tool
from tools.golden.versions import Version

SOURCES = Path(__file__).with_name("java")
_SECONDS = 120
_RECORDS_MOVED = (4, 3)
_SHIM = "package org.apache.kafka.common.record.internal;\nfinal class NotYet {}\n"
"""Gives releases before 4.3 the package that later ones moved their record classes to, so that one
source can import both."""


def compile_programs(version: Version, jars: Path, *names: str) -> Path:
    """Compile ``NAME.java`` for each name; the directory of the classes, beside the jars.

    Raises:
        ToolError: the compiler is missing or fails.
    """
    sources = [SOURCES / f"{name}.java" for name in names]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]
    classes = jars.parent / f"judge-{digest}"
    if classes.is_dir():
        return classes
    with tempfile.TemporaryDirectory(prefix="judge-", dir=jars.parent) as name:
        work = Path(name)
        if version.release < _RECORDS_MOVED:
            shim = work / "NotYet.java"
            shim.write_text(_SHIM, encoding="utf-8")
            sources.append(shim)
        made = work / "classes"
        done = subprocess.run(
            [
                java_tool("javac"), "-nowarn", "-Xlint:none", "-proc:none", "-encoding", "UTF-8",
                "-cp", f"{jars}/*", "-d", str(made), *map(str, sources),
            ],
            capture_output=True, text=True, timeout=_SECONDS,
        )  # fmt: skip
        if done.returncode:
            raise ToolError(f"javac for {version.name}:\n{(done.stdout + done.stderr)[-4000:]}")
        made.rename(classes)
    return classes
