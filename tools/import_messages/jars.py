"""Fetch the jars of a release that have schemas of what Kafka stores."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tools.brokers.maven import cache_root, find_tool, run
from tools.brokers.versions import VERSIONS, Version


class Module(NamedTuple):
    """An artifact, with the first and the last minor release in which it has such schemas."""

    artifact: str
    first: tuple[int, int]
    last: tuple[int, int] = (99, 0)


MODULES = (
    Module("kafka-clients", (2, 7)),
    Module("kafka-raft", (2, 7)),
    Module("kafka_2.13", (2, 8), (3, 8)),
    Module("kafka-metadata", (2, 8)),
    Module("kafka-storage", (3, 0)),
    Module("kafka-group-coordinator", (3, 5)),
    Module("kafka-transaction-coordinator", (3, 9)),
    Module("kafka-share-coordinator", (4, 0)),
)


def releases() -> list[Version]:
    """Return the releases that have such schemas, the oldest first."""
    first = min(module.first for module in MODULES)
    return [version for version in VERSIONS if version.release[:2] >= first]


def jars(version: Version) -> list[Path]:
    """Return the jars of a release; downloaded on the first call.

    Raises:
        ToolError: there is no Maven, or it fails.
    """
    minor = version.release[:2]
    wanted = [module.artifact for module in MODULES if module.first <= minor <= module.last]
    home = cache_root() / "schemas" / version.name
    found = [home / f"{artifact}-{version.name}.jar" for artifact in wanted]
    if all(path.is_file() for path in found):
        return found
    home.mkdir(parents=True, exist_ok=True)
    items = "".join(
        f"<artifactItem><groupId>org.apache.kafka</groupId><artifactId>{artifact}</artifactId>"
        f"<version>{version.name}</version></artifactItem>\n"
        for artifact in wanted
    )
    pom = home / "copy.xml"
    pom.write_text(
        '<project xmlns="http://maven.apache.org/POM/4.0.0">\n'
        "<modelVersion>4.0.0</modelVersion>\n"
        "<groupId>kafkaspec</groupId><artifactId>schemas</artifactId><version>1</version>\n"
        "<build><plugins><plugin><artifactId>maven-dependency-plugin</artifactId>"
        f"<configuration><outputDirectory>{home}</outputDirectory>\n"
        f"<artifactItems>\n{items}</artifactItems></configuration></plugin></plugins></build>\n"
        "</project>\n"
    )
    run(find_tool("mvn", "Apache Maven"), "-q", "-B", "-f", str(pom), "dependency:copy")
    return found
