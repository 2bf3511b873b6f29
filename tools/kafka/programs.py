"""Classes and a logging binding for Java programs and brokers of a release."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path

from tools.golden.maven import ToolError, cache_root, java_tool
from tools.golden.versions import Version

SOURCES = Path(__file__).with_name("java")
_SECONDS = 300
_BINDING = "org.slf4j:slf4j-simple:1.7.36"
_RECORDS_MOVED = (4, 3)
_SHIM = "package org.apache.kafka.common.record.internal;\nfinal class NotYet {}\n"
"""Gives releases before 4.3 the package that later ones moved their record classes to, so that one
source can import both."""


def compile_programs(version: Version, jars: Path, *names: str) -> Path:
    """Compile ``NAME.java`` for each name; return the directory of the classes, next to the jars.

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


def class_path(version: Version, jars: Path) -> list[str]:
    """Return the jars of a release, with something that prints what it logs.

    Raises:
        ToolError: Maven is missing or fails.
    """
    names = ("slf4j-log4j12-*", "slf4j-reload4j-*")
    bound = any(any(jars.glob(name)) for name in names) or not any(jars.glob("slf4j-api-*"))
    return [f"{jars}/*", *([] if bound else [str(_binding())])]


def _binding() -> Path:
    """Return a jar that prints to standard error; from Kafka 3.0 on the POMs name none."""
    _, name, version = _BINDING.split(":")
    folder = cache_root() / "logging"
    jar = folder / f"{name}-{version}.jar"
    if not jar.is_file():
        maven = shutil.which("mvn")
        if maven is None:
            raise ToolError("mvn not found: install Maven, it fetches the brokers")
        done = subprocess.run(
            [
                maven, "-q", "-B", "dependency:copy", f"-Dartifact={_BINDING}",
                f"-DoutputDirectory={folder}",
            ],
            capture_output=True, text=True, timeout=_SECONDS,
        )  # fmt: skip
        if done.returncode or not jar.is_file():
            raise ToolError(f"mvn dependency:copy {_BINDING}:\n{done.stdout[-2000:]}")
    return jar
