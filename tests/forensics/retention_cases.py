"""Logs and settings for retention, the same each time, and what Kafka's own code made of them."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import kafkaspec as ks
from kafkaspec.writing.segment_writer import SegmentWriter

RECORDED = Path(__file__).with_name("retention_answers.json")
RECORDED_WITH = "4.3.1"
REMOTE_RECORDED = RECORDED.with_name("retention_remote_answers.json")
"""Of topics with remote storage."""
REMOTE_SINCE = (4, 4)
"""The first release with ``remote.copy.lag.*`` (KIP-1241)."""
NOW = 1_790_000_000_000
DAY = 86_400_000


@dataclass
class Case:
    """A log as ``write`` makes it, and what is asked.

    Attributes:
        seed: of the log.
        settings: of the topic.
        log_start: first offset that is delivered.
        high_watermark: None for the end of the log.
    """

    seed: int
    settings: dict[str, str]
    log_start: int = 0
    high_watermark: int | None = None
    ends: list[int] = field(default_factory=list)


def cases(count: int, first: int = 0) -> Iterator[Case]:
    """Yield cases by their seeds."""
    for seed in range(first, first + count):
        chance = random.Random(seed * 7919)
        settings = {
            "cleanup.policy": chance.choice(
                ("delete", "delete", "delete", "compact,delete", "compact")
            )
        }
        if chance.random() < 0.8:
            settings["retention.ms"] = str(chance.choice((0, DAY, 7 * DAY, 30 * DAY, -1)))
        if chance.random() < 0.5:
            settings["retention.bytes"] = str(chance.choice((0, 500, 1500, 4000, 10**6, -1)))
        log_start = chance.choice((0, 0, 0, chance.randrange(60)))
        high = chance.choice((None, None, chance.randrange(60)))
        yield Case(seed, settings, log_start, high)


def remote_cases(count: int) -> Iterator[Case]:
    """Yield cases of topics with remote storage, by their seeds."""
    for case in cases(count):
        chance = random.Random(case.seed * 104_729)
        case.settings |= {"cleanup.policy": "delete", "remote.storage.enable": "true"}
        for name, values in _REMOTE.items():
            if chance.random() < 0.7:
                case.settings[name] = str(chance.choice(values))
        yield case


_TIMES, _SIZES = (DAY, 7 * DAY, 30 * DAY), (500, 1500, 4000, 10**6)
_REMOTE = {
    "local.retention.ms": (0, *_TIMES, -2, -1),
    "local.retention.bytes": (0, *_SIZES, -2, -1),
    "remote.copy.lag.ms": (0, *_TIMES, *_TIMES, -1),
    "remote.copy.lag.bytes": (0, *_SIZES, *_SIZES, -1),
}


def write(case: Case, directory: Path) -> Path:
    """Write the log of a case; return its directory. Its high watermark is then below its end."""
    chance = random.Random(case.seed)
    directory.parent.mkdir(exist_ok=True)
    magic = chance.choice((0, 1, 2, 2, 2))
    with SegmentWriter(
        directory, profile="4.3", segment_bytes=chance.choice((300, 600, 1500)), sync=False
    ) as writer:
        for _ in range(chance.randint(0, 25)):
            late = chance.random()
            age = -chance.randint(1, 9 * DAY) if late < 0.06 else chance.randint(0, 40 * DAY)
            stamp = -1 if magic == 0 or chance.random() < 0.05 else NOW - age
            records = [
                ks.Record(
                    0,
                    stamp if magic == 0 else stamp - (k if stamp > k else 0),
                    b"k",
                    b"v" * chance.randint(0, 120),
                )
                for k in range(chance.randint(1, 4))
            ]
            writer.append_records(records, offsets="assign", magic=magic)
        end = writer.next_offset
    if case.high_watermark is not None:
        case.high_watermark = min(case.high_watermark, end)
    case.log_start = min(
        case.log_start, end if case.high_watermark is None else case.high_watermark
    )
    for path in sorted(directory.glob("*.log")):
        age = chance.randint(0, 40 * DAY) // 1000
        os.utime(path, (NOW // 1000 - age, NOW // 1000 - age))
    return directory


def left(directory: Path) -> list[int]:
    """Return the base offsets of the segments that are there."""
    return sorted(int(path.stem) for path in directory.glob("*.log"))


def recorded(path: Path = RECORDED) -> dict[str, list[object]]:
    """Return what Kafka's own code made of cases, by seed: segments left, log start, log end."""
    found: dict[str, list[object]] = json.loads(path.read_text(encoding="utf-8"))
    return found
