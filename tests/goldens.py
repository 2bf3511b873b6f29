"""The golden log directories, for all tests that read them."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kafkaspec.codecs import DEFAULT_CODEC, codec_names
from kafkaspec.conformance.goldens import read_dumps, read_produced
from kafkaspec.files.names import PARTITION_METADATA
from tests import extent
from tools.brokers.versions import by_name
from tools.golden import keep

GOLDEN = Path(__file__).parent / "golden"

VERSIONS = sorted(
    (path.parent.name for path in GOLDEN.glob("*/logs")),
    key=lambda name: tuple(int(part) for part in name.split(".")),  # as release() below
)
if extent.quick:  # the last one of each magic, so that the newest is among them
    VERSIONS = list({by_name(version).native_magic: version for version in VERSIONS}.values())


@dataclass(frozen=True)
class Golden:
    """One file of a golden log directory."""

    version: str
    path: Path

    @property
    def relative(self) -> Path:
        return self.path.relative_to(GOLDEN / self.version / "logs")

    @property
    def partition(self) -> str:
        """Name of the partition directory, ``.`` for a file of the root."""
        return str(self.relative.parent)

    @property
    def dump(self) -> str:
        """The output of that version's own dump tool for the file."""
        return dumps(self.version)[self.relative.as_posix()]

    @property
    def dumped(self) -> bool:
        """Whether the tool could read it: not the snapshots of metadata before 3.3."""
        return self.relative.as_posix() in dumps(self.version)

    def __str__(self) -> str:
        return f"{self.version}-{self.relative}"


@cache
def _everything(version: str) -> tuple[Golden, ...]:
    paths = sorted((GOLDEN / version / "logs").rglob("*"))
    return tuple(Golden(version, path) for path in paths)


def files(*suffixes: str, version: str | None = None) -> list[Golden]:
    """All golden files whose names end so, in order; of one version or of all."""
    return [
        golden
        for version in ([version] if version else VERSIONS)
        for golden in _everything(version)
        if golden.path.suffix in suffixes
    ]


@cache
def digest(path: Path) -> str:
    """The SHA-256 of a golden file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


@cache
def _first(suffixes: tuple[str, ...], versions: tuple[str, ...]) -> tuple[Golden, ...]:
    found: dict[tuple[str, str], Golden] = {}
    for version in versions:
        for golden in files(*suffixes, version=version):
            found.setdefault((golden.path.suffix, digest(golden.path)), golden)
    return tuple(found.values())


def distinct(
    *suffixes: str, version: str | None = None, among: Iterable[str] = VERSIONS
) -> list[Golden]:
    """Those of ``files`` with bytes that no other one before them has, for tests of bytes alone.

    More than half of what brokers wrote in the golden scenarios is what earlier releases wrote.

    Args:
        suffixes: of the names of the files.
        version: only those of this version; what earlier versions have is not among them.
        among: the versions that a test reads.
    """
    found = _first(suffixes, tuple(among))
    return [golden for golden in found if version in (None, golden.version)]


def named(name: str) -> list[Golden]:
    """All golden files of exactly this name, in order."""
    return [
        golden
        for version in VERSIONS
        for golden in _everything(version)
        if golden.path.name == name
    ]


@dataclass(frozen=True)
class Directory:
    """Golden files of one kind in one directory: one test each, or there would be too many."""

    version: str
    name: str
    files: tuple[Golden, ...]

    def __str__(self) -> str:
        return f"{self.version}-{self.name}"


_ACKNOWLEDGES_APPEND_TIME = (0, 10, 2)
"""Earlier clients report what they sent, not what the broker made of it."""
_APPEND_TIME = re.compile(r"^offset: (?P<offset>\d+) .*?LogAppendTime: (?P<time>\d+)", re.MULTILINE)

FULL = [version for version in VERSIONS if by_name(version).full]
"""The versions with the files of every scenario."""

MATRIX = [
    pytest.param(version, codec, id=f"{version}-{codec}")
    for version in VERSIONS
    for codec in (codec_names() if version in FULL else [DEFAULT_CODEC])
]
"""Versions by codec, for slow tests: all codecs where all scenarios are."""


def directories(*suffixes: str, of: Iterable[Golden] | None = None) -> list[Directory]:
    """All golden files whose names end so, or these, by version and directory."""
    found: dict[tuple[str, str], list[Golden]] = defaultdict(list)
    for golden in files(*suffixes) if of is None else of:
        found[golden.version, golden.partition].append(golden)
    return [Directory(*place, tuple(members)) for place, members in found.items()]


def release(version: str) -> tuple[int, ...]:
    """The version as numbers, for comparisons."""
    return tuple(int(part) for part in version.split("."))


def partitions(version: str) -> list[Path]:
    """The partition directories of a version that hold a segment."""
    return sorted({path.parent for path in (GOLDEN / version / "logs").glob("*/*.log")})


@cache
def _first_partitions() -> frozenset[Path]:
    found: dict[tuple[object, ...], Path] = {}
    for version in VERSIONS:
        for path in partitions(version):
            held = sorted(
                (item.name, digest(item))
                for item in path.iterdir()
                if item.name != PARTITION_METADATA  # a topic id, made by chance
            )
            found.setdefault((path.name, *held), path)
    return frozenset(found.values())


def distinct_partitions(version: str) -> list[Path]:
    """Those of ``partitions`` that no earlier version has byte for byte under the same name."""
    return [path for path in partitions(version) if path in _first_partitions()]


def label(path: Path) -> str:
    """Return the name of a test case: the version and the partition that ``path`` is."""
    return f"{path.parts[-3]}-{path.name}"


@cache
def dumps(version: str) -> dict[str, str]:
    """The output of that version's own dump tool, by path below ``logs``."""
    return read_dumps(GOLDEN / version)


@cache
def produced(version: str) -> dict[str, list[dict[str, Any]]]:
    """Acknowledged records by partition directory; keys, values, headers as bytes.

    Without those that went with their segments when the log start offset was raised, and without
    0.10.0's topic of append times: neither its client nor its dump tool shows them.
    """
    appended = _append_times(version) if release(version) < _ACKNOWLEDGES_APPEND_TIME else {}
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for record in read_produced(GOLDEN / version):
        for name in ("key", "value"):
            record[name] = _bytes(record[name])
        record["headers"] = tuple((key, _bytes(value)) for key, value in record["headers"])
        name = f"{record['topic']}-{record['partition']}"
        record["timestamp"] = appended.get((name, record["offset"]), record["timestamp"])
        found[name].append(record)
    for row in _scenarios(version):
        if row["log_start_offset"]:
            name = f"{row['topic']}-{row['partition']}"
            logs = (GOLDEN / version / "logs" / name).glob("*.log")
            first = min(int(path.stem) for path in logs)
            found[name] = [record for record in found[name] if record["offset"] >= first]
        append_time = row["topic_settings"].get("message.timestamp.type") == "LogAppendTime"
        if append_time and not appended and release(version) < _ACKNOWLEDGES_APPEND_TIME:
            del found[f"{row['topic']}-{row['partition']}"]
    return dict(found)


def _append_times(version: str) -> dict[tuple[str, int], int]:
    """Append times by partition directory and offset, as the dump tool shows them."""
    return {
        (path.split("/")[0], int(match["offset"])): int(match["time"])
        for path, text in dumps(version).items()
        for match in _APPEND_TIME.finditer(text)
    }


def _scenarios(version: str) -> list[dict[str, Any]]:
    """The partitions of the broker that was stopped cleanly, as the manifest has them."""
    manifest = json.loads((GOLDEN / version / keep.MANIFEST).read_text(encoding="utf-8"))
    return [row for row in manifest["scenarios"] if row["occasion"] == "clean"]


@cache
def compacted(version: str) -> frozenset[str]:
    """The partition directories where the cleaner has removed records."""
    return frozenset(
        f"{scenario['topic']}-{scenario['partition']}"
        for scenario in _scenarios(version)
        if scenario["compacted"]
    )


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)
