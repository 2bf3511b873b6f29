"""Read Kafka's message schemas from the jars of a release.

They are JSON with comments and trailing commas, and some have text after the closing brace. What
is read here is a fact of an interface: names, types, order, versions, tags, nulls and defaults.
Comments and ``about`` texts are left where they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZipFile

NOT_STORED = ("request", "response", "header")
"""Types of schemas that never reach a disk."""
_PASSED_ON = frozenset({"DefaultPrincipalData"})
"""Stored nowhere, though it is neither a request nor a response."""
_FOLDERS = ("common/message/", "common/metadata/", "message/")
_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*')
_TRAILING = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[\]}])')
_RANGE = re.compile(r"(\d+)(?:-(\d+)|(\+))?")


class SchemaError(ValueError):
    """A schema cannot be read; the message names it."""


@dataclass(frozen=True)
class Versions:
    """A range of versions; ``high`` is None for all later ones."""

    low: int
    high: int | None

    def __contains__(self, version: int) -> bool:
        return self.low <= version and (self.high is None or version <= self.high)


@dataclass(frozen=True)
class SchemaField:
    """A field of a schema; ``fields`` are those of the structure that it declares."""

    name: str
    type: str
    versions: Versions | None
    nullable: Versions | None
    tagged: Versions | None
    tag: int | None
    default: str | None
    fields: tuple[SchemaField, ...] = ()

    @property
    def element(self) -> str:
        """Its type, or that of its items."""
        return self.type.removeprefix("[]")

    @property
    def is_array(self) -> bool:
        """Whether it is an array."""
        return self.type.startswith("[]")

    def exists(self, version: int) -> bool:
        """Return whether a version has it, tagged or not."""
        return any(held is not None and version in held for held in (self.versions, self.tagged))


@dataclass(frozen=True)
class Schema:
    """One message; ``source`` is its place in Kafka's repository."""

    name: str
    kind: str
    number: int | None
    versions: Versions
    flexible: Versions | None
    fields: tuple[SchemaField, ...]
    structs: dict[str, tuple[SchemaField, ...]]
    source: str

    @property
    def latest(self) -> int:
        """The last version."""
        assert self.versions.high is not None
        return self.versions.high

    def is_flexible(self, version: int) -> bool:
        """Return whether a version has compact sizes and tagged fields."""
        return self.flexible is not None and version in self.flexible

    def fields_of(self, field: SchemaField) -> tuple[SchemaField, ...]:
        """Return the fields of the structure that a field holds, or whose items it holds."""
        return field.fields or self.structs[field.element]


def read_jars(jars: Iterable[Path]) -> dict[str, Schema]:
    """Return the stored schemas of the jars of one release, by name."""
    found: dict[str, Schema] = {}
    for jar in sorted(jars):
        with ZipFile(jar) as archive:
            for name in archive.namelist():
                if name.endswith(".json") and name.startswith(_FOLDERS):
                    module = re.sub(r"-\d[\d.]*$", "", jar.stem)
                    schema = _schema(archive.read(name).decode("utf-8"), f"{module}:{name}")
                    if schema is not None:
                        found[schema.name] = schema
    return found


def read_folder(folder: Path, modules: Collection[str]) -> dict[str, Schema]:
    """Return the stored schemas of a checkout of Kafka, by name.

    Args:
        folder: the checkout.
        modules: the modules of Kafka that store something.

    Raises:
        SchemaError: there is none below the folder, or one cannot be read.
    """
    found: dict[str, Schema] = {}
    for path in sorted(folder.rglob("*.json")):
        place = path.relative_to(folder).as_posix()
        module, inside, name = f"/{place}".rpartition("/src/main/resources/")
        module = module.rpartition("/")[2]
        if inside and module in modules and name.startswith(_FOLDERS):
            text = path.read_text(encoding="utf-8")
            schema = _schema(text, f"{module}:{name}")
            if schema is not None:
                found[schema.name] = schema
    if not found:
        raise SchemaError(f"{folder}: no MODULE/src/main/resources/common/message/*.json below it")
    return found


def _schema(text: str, source: str) -> Schema | None:
    text = _COMMENT.sub(lambda match: match[1] or "", text)
    text = _TRAILING.sub(lambda match: match[1] or "", text)
    try:
        node, _ = json.JSONDecoder().raw_decode(text.lstrip())
    except ValueError as error:
        raise SchemaError(f"{source}: {error}") from None
    if not isinstance(node, dict) or "validVersions" not in node:
        return None
    if node.get("type") in NOT_STORED or node["name"] in _PASSED_ON:
        return None
    versions = _versions(node["validVersions"])
    if versions is None:
        return None
    if versions.high is None:
        raise SchemaError(f"{source}: validVersions has no end")
    number = node.get("apiKey")
    kind = node["type"]
    everywhere = None
    if kind == "data" and node["name"].endswith("Key"):
        # Until 4.0 the type of a record was written as the version of its key.
        number, versions, everywhere = versions.high, Versions(0, 0), Versions(0, None)
    return Schema(
        name=node["name"],
        kind=kind,
        number=number,
        versions=versions,
        flexible=_versions(node.get("flexibleVersions")),
        fields=tuple(_fields(node["fields"], everywhere)),
        structs={
            item["name"]: tuple(_fields(item["fields"])) for item in node.get("commonStructs", ())
        },
        source=_place(source),
    )


def _place(source: str) -> str:
    """Return the place of a file in Kafka's repository."""
    artifact, _, name = source.partition(":")
    return f"{module_of(artifact)}/src/main/resources/{name}"


def module_of(artifact: str) -> str:
    """Return the module of Kafka's repository that an artifact is made of."""
    module = artifact.removeprefix("kafka-")
    return {"kafka_2.13": "core", "kafka_2.12": "core"}.get(module, module)


def _fields(
    nodes: list[dict[str, Any]], everywhere: Versions | None = None
) -> Iterator[SchemaField]:
    for node in nodes:
        tagged = _versions(node.get("taggedVersions"))
        default = node.get("default")
        yield SchemaField(
            name=node["name"],
            type=node["type"],
            versions=everywhere or _versions(node.get("versions")) or tagged,
            nullable=_versions(node.get("nullableVersions")),
            tagged=tagged,
            tag=None if tagged is None else int(node["tag"]),
            # A bare null is no default; the text "null" is.
            default=None if default is None else str(default).lower(),
            fields=tuple(_fields(node.get("fields", []))),
        )


def _versions(text: str | None) -> Versions | None:
    if text is None or text == "none":
        return None
    match = _RANGE.fullmatch(text)
    if match is None:
        raise SchemaError(f"{text!r} is not a range of versions")
    low = int(match[1])
    return Versions(low, None if match[3] else int(match[2] or low))
