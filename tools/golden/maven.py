"""Resolve a broker's jars from Maven into a cache outside the repository; compile against them."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from tools.golden.versions import Feature, Mode, Version

JAVA_SOURCES = Path(__file__).with_name("java")
_RESOLVE_SECONDS = 600
# What not every client can do is a class of its own.
_COMMANDS = {
    Feature.GROUPS: "Consume",
    Feature.DELETE_RECORDS: "DeleteRecords",
    Feature.SHARE_GROUPS: "ConsumeShared",
}


class ToolError(RuntimeError):
    """Something outside Python failed: Maven, the compiler, a broker, the dump tool."""


def cache_root() -> Path:
    """Return ``$KAFKASPEC_CACHE`` or ``~/.cache/kafkaspec``."""
    configured = os.environ.get("KAFKASPEC_CACHE")
    return Path(configured) if configured else Path.home() / ".cache" / "kafkaspec"


def java_tool(name: str) -> str:
    """Return the path of ``java`` or ``javac``: from ``JAVA_HOME``, else from ``PATH``."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(name, path=str(Path(home) / "bin")) if home else shutil.which(name)
    if found is None:
        raise ToolError(f"{name} not found: install a JDK 17 or set JAVA_HOME")
    return found


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
    return resolve_artifacts(home, version.artifacts, version.excluded)


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
    maven = shutil.which("mvn")
    if maven is None:
        raise ToolError("mvn not found: install Maven, it fetches the brokers")
    _run(
        maven, "-q", "-B", "-f", str(build), "dependency:copy-dependencies",
        f"-DoutputDirectory={jars}", "-DincludeScope=runtime",
    )  # fmt: skip
    build.rename(stamp)
    return jars


def compile_driver(version: Version, jars: Path) -> Path:
    """Compile the driver against the version's own client; the directory of its classes."""
    wanted = {"Driver", "Topics", "Command", "DumpAll"}
    wanted.add("ZookeeperTopics" if version.mode is Mode.ZOOKEEPER else "AdminTopics")
    wanted |= {name for feature, name in _COMMANDS.items() if feature in version.features}
    sources = sorted(JAVA_SOURCES / f"{name}.java" for name in wanted)
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]
    classes = jars.parent / f"driver-{digest}"
    if not (classes / "Driver.class").is_file():
        classes.mkdir(exist_ok=True)
        _run(
            java_tool("javac"), "-nowarn", "-Xlint:none", "-cp", f"{jars}/*", "-d", str(classes),
            *map(str, sources),
        )  # fmt: skip
    return classes


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=_RESOLVE_SECONDS)
    if done.returncode:
        detail = (done.stdout + done.stderr).strip()[-4000:]
        raise ToolError(f"{Path(command[0]).name} ended with {done.returncode}:\n{detail}")
