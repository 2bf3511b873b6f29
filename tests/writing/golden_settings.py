"""The settings of the brokers of the golden partitions."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import kafkaspec as ks
from tests import goldens


@cache
def _scenarios(version: str) -> dict[str, dict[str, Any]]:
    text = (goldens.GOLDEN / version / "manifest.json").read_text(encoding="utf-8")
    return {f"{item['topic']}-{item['partition']}": item for item in json.loads(text)["scenarios"]}


def numbers(version: str) -> tuple[int, ...]:
    """A version so that it can be compared."""
    return tuple(int(part) for part in version.split("."))


def settings_of(path: Path) -> dict[str, str]:
    """Settings of the topic of a partition directory; {} for an internal one."""
    found: dict[str, str] = _scenarios(path.parts[-3]).get(path.name, {}).get("topic_settings", {})
    return found


def index_interval(path: Path) -> int:
    """``index.interval.bytes`` of a partition."""
    return int(settings_of(path).get("index.interval.bytes", 4096))


def segment_bytes(path: Path) -> int:
    """``segment.bytes`` of a partition."""
    settings = settings_of(path)
    return int(settings.get("segment.bytes") or settings.get("internal.segment.bytes") or (1 << 30))


def segment_index_bytes(path: Path) -> int:
    """``segment.index.bytes`` of a partition."""
    return int(settings_of(path).get("segment.index.bytes", 10 << 20))


def partitions() -> list[Path]:
    """All golden partition directories with a segment."""
    return [path for version in goldens.VERSIONS for path in goldens.partitions(version)]


def is_modern(path: Path) -> bool:
    """Whether a partition consists of batches of magic 2."""
    with ks.Partition(path) as partition:
        return all(batch.magic == 2 for batch in partition.batches())
