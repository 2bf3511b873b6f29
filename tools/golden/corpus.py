"""Segments for accidents: of brokers, all magics and codecs, and some with segments in values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import kafkaspec as ks
from kafkaspec.log.segment import Segment
from kafkaspec.release import parse_release

_GOLDEN: Final = Path(__file__).parents[2] / "tests" / "golden"
_LOGS: Final = (
    "newest/logs/codec-mixed-0", "newest/logs/codec-zstd-0", "newest/logs/transactions-0",
    "newest/logs/headers-0", "newest/logs/compacted-0", "newest/logs/idempotent-0",
    "0.10.2.2/logs/codec-gzip-0", "0.10.2.2/logs/codec-none-0", "0.10.2.2/logs/codec-lz4-0",
    "0.8.2.2/logs/codec-snappy-0", "0.8.2.2/logs/codec-none-0", "0.8.2.2/logs/codec-gzip-0",
)  # fmt: skip
_FOREIGN: Final = {"earlier": 0, "later": 400, "the next": 20, "their own": 18, "other": 10}
"""First offsets of the segments in values, by what they are to the log."""
_HOLDERS: Final = (0, 10, 18, 20, 38)


@dataclass(frozen=True)
class Log:
    """A segment.

    Attributes:
        name: for messages.
        data: its bytes.
        places: byte offsets of its entries, and of the end.
    """

    name: str
    data: bytes
    places: tuple[int, ...]

    @property
    def entries(self) -> list[bytes]:
        """The bytes of each entry."""
        return [
            self.data[start:end] for start, end in zip(self.places, self.places[1:], strict=False)
        ]

    def __str__(self) -> str:
        return self.name


@cache
def corpus() -> tuple[Log, ...]:
    """Return the segments; each begins with offset 0 or is compacted."""
    found = []
    whole = [path.parts[-3] for path in _GOLDEN.glob("*/logs/codec-mixed-0")]
    newest = max(whole, key=parse_release)  # of those that are kept in full
    for name in (each.replace("newest", newest) for each in _LOGS):
        path = min((_GOLDEN / name).glob("*.log"), key=lambda path: -path.stat().st_size)
        found.append(_log(name.replace("/logs/", " "), path.read_bytes()))
    return (*found, *_foreign())


def _log(name: str, data: bytes) -> Log:
    return Log(name, data, (*(batch.position for batch in Segment(data).batches()), len(data)))


def _foreign() -> Iterator[Log]:
    """Logs of which some values are segments, whole or cut."""
    records = [ks.Record(number, number, b"k", b"value %d " % number * 9) for number in range(60)]
    for name, first in _FOREIGN.items():
        parts, number = [], 0
        for start in range(0, 40, 2):
            values = [bytes(90), bytes(range(200))]
            if start in _HOLDERS:
                inner = b"".join(
                    ks.encode([record._replace(offset=first + record.offset + start)])
                    for record in records[number : number + 6]
                )
                values[0] = inner if start != 20 else inner[:-30]
            number = (number + 6) % 50
            made = [
                ks.Record(start + place, 1000 + start, None, value)
                for place, value in enumerate(values)
            ]
            parts.append(ks.encode(made, partition_leader_epoch=0))
        yield _log(f"values with {name} offsets", b"".join(parts))
