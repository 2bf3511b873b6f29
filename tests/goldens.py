"""The golden log directories, for all tests that read them."""

from __future__ import annotations

import base64
import json
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tools.golden import keep

GOLDEN = Path(__file__).parent / "golden"

VERSIONS = sorted(
    (path.parent.name for path in GOLDEN.glob("*/logs")),
    key=lambda name: tuple(int(part) for part in name.split(".")),
)


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
        """What that version's own dump tool says about the file."""
        return dumps(self.version)[self.relative.as_posix()]

    def __str__(self) -> str:
        return f"{self.version}-{self.relative}"


def files(*suffixes: str, version: str | None = None) -> list[Golden]:
    """All golden files whose names end so, in order; of one version or of all."""
    return [
        Golden(version, path)
        for version in ([version] if version else VERSIONS)
        for path in sorted((GOLDEN / version / "logs").rglob("*"))
        if path.suffix in suffixes
    ]


def named(name: str) -> list[Golden]:
    """All golden files of exactly this name, in order."""
    return [
        Golden(version, path)
        for version in VERSIONS
        for path in sorted((GOLDEN / version / "logs").rglob(name))
    ]


def partitions(version: str) -> list[Path]:
    """The partition directories of a version that hold a segment."""
    return sorted({path.parent for path in (GOLDEN / version / "logs").glob("*/*.log")})


@cache
def dumps(version: str) -> dict[str, str]:
    """What that version's own dump tool says, by path below ``logs``."""
    return keep.read_dump(GOLDEN / version)


@cache
def produced(version: str) -> dict[str, list[dict[str, Any]]]:
    """Acknowledged records by partition directory; keys, values, headers as bytes."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for record in keep.read_produced(GOLDEN / version):
        for name in ("key", "value"):
            record[name] = _bytes(record[name])
        record["headers"] = tuple((key, _bytes(value)) for key, value in record["headers"])
        found[f"{record['topic']}-{record['partition']}"].append(record)
    return dict(found)


@cache
def compacted(version: str) -> frozenset[str]:
    """The partition directories where the cleaner has removed records."""
    manifest = json.loads((GOLDEN / version / "manifest.json").read_text(encoding="utf-8"))
    return frozenset(
        f"{scenario['topic']}-{scenario['partition']}"
        for scenario in manifest["scenarios"]
        if scenario["compacted"]
    )


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)
