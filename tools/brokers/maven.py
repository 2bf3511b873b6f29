"""Fetch the jars of a release with Maven, and compile our Java against them."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from tools.brokers.versions import GROUP, SOMETIMES_MISSING, Version

JAVA_SOURCES = Path(__file__).with_name("java")
_SECONDS = 600
_NOT_FOUND = re.compile(r"Could not find artifact|was not found in")
"""Maven's words for what a repository does not have, and did not have when it was asked before."""
_LOGGING = "org.slf4j:slf4j-simple:1.7.36"
_LOGGING_API = "org.slf4j:slf4j-api"


class ToolError(RuntimeError):
    """Something outside Python failed: Maven, the compiler, a broker, the dump tool."""


class MissingToolError(ToolError):
    """A program is not installed."""


def cache_root() -> Path:
    """Return ``$KAFKASPEC_CACHE`` or ``~/.cache/kafkaspec``."""
    configured = os.environ.get("KAFKASPEC_CACHE")
    return Path(configured) if configured else Path.home() / ".cache" / "kafkaspec"


def java_tool(name: str) -> str:
    """Return the path of ``java`` or ``javac``: from ``JAVA_HOME``, else from ``PATH``."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(name, path=str(Path(home) / "bin")) if home else shutil.which(name)
    if found is None:
        raise MissingToolError(f"{name} not found: install a JDK 17 or set JAVA_HOME")
    return found


def jvm() -> list[str]:
    """Return ``java`` with the options that every JVM here takes.

    Without them a JVM that finds the file of its performance counters locked, as another one in a
    container with the same process id and ``/tmp`` has it, says so on standard output.
    """
    return [java_tool("java"), "-XX:-UsePerfData"]


def _dependency(coordinate: str, excluded: tuple[str, ...]) -> str:
    group, artifact, version, *classifier = (escape(part) for part in coordinate.split(":"))
    which = "".join(f"<classifier>{name}</classifier>" for name in classifier)
    exclusions = "".join(
        f"<exclusion><groupId>{escape(g)}</groupId><artifactId>{escape(a)}</artifactId></exclusion>"
        for g, a in (pair.split(":") for pair in excluded)
    )
    return (
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
        f"<version>{version}</version>{which}<exclusions>{exclusions}</exclusions></dependency>\n"
    )


def _pom(artifacts: Sequence[str], excluded: tuple[str, ...]) -> str:
    dependencies = "".join(_dependency(c, excluded) for c in artifacts)
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0">\n'
        "<modelVersion>4.0.0</modelVersion>\n"
        "<groupId>kafkaspec</groupId><artifactId>golden</artifactId><version>1</version>\n"
        f"<dependencies>\n{dependencies}</dependencies>\n</project>\n"
    )


def resolve(version: Version) -> Path:
    """Return the directory with all jars of ``version``; downloaded on the first call."""
    home = cache_root() / "brokers" / version.name
    return resolve_artifacts(home, version.artifacts, version.left_out)


def missing(release: str) -> tuple[str, ...]:
    """Return the artifacts that a release may lack, and does.

    Raises:
        ToolError: there is no Maven, or it fails otherwise.
    """
    return tuple(name for name in SOMETIMES_MISSING if not _published(name, release))


def _published(name: str, release: str) -> bool:
    artifact, _, classifier = name.partition("::")
    wanted = [GROUP, artifact, release, *(["jar", classifier] if classifier else [])]
    try:
        run(
            find_tool("mvn", "Apache Maven"), "-q", "-B", "dependency:get", "-Dtransitive=false",
            f"-Dartifact={':'.join(wanted)}",
        )  # fmt: skip
    except ToolError as error:
        if not _NOT_FOUND.search(str(error)):
            raise
        return False
    return True


def resolve_artifacts(home: Path, artifacts: Sequence[str], excluded: tuple[str, ...] = ()) -> Path:
    """Return the directory with artifacts and all that they need, below ``home``.

    Raises:
        ToolError: there is no Maven, or it fails.
    """
    pom = _pom(artifacts, excluded)
    jars, stamp = home / "jars", home / "pom.xml"
    if stamp.is_file() and stamp.read_text() == pom and jars.is_dir():
        return jars
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    build = home / "resolve.xml"
    build.write_text(pom)
    run(
        find_tool("mvn", "Apache Maven"), "-q", "-B", "-f", str(build),
        "dependency:copy-dependencies", f"-DoutputDirectory={jars}", "-DincludeScope=runtime",
    )  # fmt: skip
    build.rename(stamp)
    return jars


def class_path(version: Version) -> list[str]:
    """Return the jars of a release, with something that prints what it logs to standard error.

    Raises:
        ToolError: there is no Maven, or it fails.
    """
    jars = resolve(version)
    names = ("slf4j-log4j12-*", "slf4j-reload4j-*")
    if any(any(jars.glob(name)) for name in names) or not any(jars.glob("slf4j-api-*")):
        return [f"{jars}/*"]
    # From Kafka 3.0 on the POMs name none.
    binding = resolve_artifacts(cache_root() / "slf4j-simple", [_LOGGING], (_LOGGING_API,))
    return [f"{jars}/*", f"{binding}/*"]


def compile_java(version: Version, *names: str) -> Path:
    """Compile these classes against the jars of a release; return the directory of the classes.

    Raises:
        ToolError: Maven or the compiler is missing or fails.
    """
    return compile_against(resolve(version), *names)


def compile_against(jars: Path, *names: str) -> Path:
    """Compile these classes against jars in a directory; see ``compile_java``."""
    sources = sorted(JAVA_SOURCES.rglob("*.java"))
    digest = hashlib.sha256(repr(names).encode())
    for path in sources:
        digest.update(path.read_bytes())
    classes = jars.parent / f"classes-{digest.hexdigest()[:16]}"
    if not classes.is_dir():
        with tempfile.TemporaryDirectory(prefix="classes-", dir=jars.parent) as work:
            made = Path(work) / "made"
            run(
                java_tool("javac"), "-nowarn", "-Xlint:none", "-proc:none", "-encoding", "UTF-8",
                "-cp", f"{jars}/*", "-sourcepath", str(JAVA_SOURCES), "-d", str(made),
                *(str(JAVA_SOURCES / f"{name}.java") for name in names),
            )  # fmt: skip
            made.rename(classes)
    return classes


def find_tool(name: str, what: str) -> str:
    """Return the path of a program; raise :class:`MissingToolError` with what to install."""
    found = shutil.which(name)
    if found is None:
        raise MissingToolError(f"{name} is not on the PATH: install {what}")
    return found


def run(*command: str, cwd: Path | None = None) -> None:
    """Run a program; raise :class:`ToolError` with its output when it fails."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, cwd=cwd)
    if done.returncode:
        detail = (done.stdout + done.stderr).strip()[-4000:]
        raise ToolError(f"{Path(command[0]).name} ended with {done.returncode}:\n{detail}")
