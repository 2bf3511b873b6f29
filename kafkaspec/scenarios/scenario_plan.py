"""The plan of a scenario: its partitions, and what ``expected.json`` says of them."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from kafkaspec import compression
from kafkaspec.broker.profiles import Profile
from kafkaspec.files import names
from kafkaspec.files.checkpoints import (
    clean_shutdown,
    kafka_uuid,
    meta_properties,
    offset_checkpoint,
)
from kafkaspec.files.checkpoints.clean_shutdown import CleanShutdown
from kafkaspec.files.checkpoints.meta_properties import MetaProperties
from kafkaspec.files.checkpoints.offset_checkpoint import PartitionOffset
from kafkaspec.layout.kinds import CURRENT, require_kind
from kafkaspec.log.batch import NO_TIMESTAMP
from kafkaspec.model import Headers, Record
from kafkaspec.output.atomic import DirectoryAside
from kafkaspec.results import OffsetRange, as_json
from kafkaspec.scenarios.partition import MadeBatch, MadePartition

EXPECTED: Final = "expected.json"
LOGS: Final = "logs"
CODECS: Final = (compression.NAMES[0], *compression.NAMES)
"""Compressions to choose from; ``none`` is there twice."""
DAY_MS: Final = 86_400_000
_HISTORY_MS: Final = 4 * DAY_MS
"""From the first record to the time when the broker stopped."""
_STEP_MS: Final = 250
_WORDS: Final = ("ready", "café", "δοκιμή", "試験", "paid", "x" * 70)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedFinding:
    """A finding that ``verify`` must report.

    Attributes:
        file: path in the scenario's directory.
        reason: one of ``kafkaspec.analysis.reasons.FindingReason``.
        bytes: where in the file its position lies, the end exclusive; None if it is about no place.
        offsets: where its log offset lies, likewise.
    """

    file: str
    reason: str
    bytes: tuple[int, int] | None = None
    offsets: OffsetRange | None = None


@dataclass
class ScenarioPlan:
    """A scenario in the making.

    Attributes:
        name: its name.
        seed: all that is random follows from it and from the name.
        now: time at which the broker was stopped, ms; all records are older.
        most: most records in a partition.
        profile: rules of the broker that writes the files.
        chance: the source of everything random.
        logs: partitions by log directory, the directory of each broker of a cluster.
        damage: functions that break what was written, given the scenario's directory.
        findings: what ``verify`` must report of it.
    """

    name: str
    seed: int
    now: int
    most: int
    profile: Profile
    chance: random.Random = field(init=False)
    logs: dict[str, list[MadePartition]] = field(default_factory=dict)
    damage: list[Callable[[Path], None]] = field(default_factory=list)
    findings: list[ExpectedFinding] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.chance = random.Random(f"{self.name} {self.seed}")
        self._cluster, self._time = self.uuid(), self.now - _HISTORY_MS - _STEP_MS * 4 * self.most
        self._topics: dict[str, UUID] = {}

    # -- what happens -----------------------------------------------------------------------

    def partition(self, topic: str, number: int = 0, *, directory: str = LOGS) -> MadePartition:
        """Begin a partition."""
        if topic not in self._topics:
            self._topics[topic] = self.uuid()
        made = MadePartition(topic, number, self._topics[topic])
        self.logs.setdefault(directory, []).append(made)
        return made

    def uuid(self) -> UUID:
        """Return a random id."""
        return UUID(int=self.chance.getrandbits(128), version=4)

    def tick(self) -> int:
        """Return the time of the next event, ms."""
        self._time += self.chance.randrange(1, _STEP_MS)
        return self._time

    def advance(self, milliseconds: int) -> None:
        """Let time pass."""
        self._time += milliseconds

    def records(
        self, offset: int, count: int, *, magic: int = CURRENT, keys: int | None = None
    ) -> list[Record]:
        """Return records with keys and values of several kinds.

        Args:
            keys: number of keys to choose from; None for some records without a key.
        """
        kind, found = require_kind(magic), []
        for number in range(offset, offset + count):
            time = self.tick() if kind.has_timestamps else NO_TIMESTAMP
            key = self._bytes("key ") if keys is None else b"key %d" % self.chance.randrange(keys)
            headers: Headers = ()
            if kind.has_headers and not self.chance.randrange(4):
                headers = (("trace", b"%d" % number), ("größe", None))
            found.append(Record(number, time, key, self._bytes(f"value {number} "), headers))
        return found

    def _bytes(self, head: str) -> bytes | None:
        word = self.chance.choice((None, "", *_WORDS))
        return word if word is None else (head + word).encode()

    def compression(self) -> str:
        """Return the compression of a batch."""
        return self.chance.choice(CODECS)

    def sizes(self, total: int, most: int = 8) -> Iterator[int]:
        """Yield numbers of records of batches until they are ``total``."""
        while total > 0:
            size = min(total, self.chance.randint(1, most))
            yield size
            total -= size

    # -- files ------------------------------------------------------------------------------

    def write(self, out: Path) -> Path:
        """Write the directory of the scenario; return the path of ``expected.json``.

        Raises:
            KafkaSpecError: ``unreadable``: it is not empty, or cannot be written.
        """
        with DirectoryAside(out, sync=False) as aside:
            for node, (name, partitions) in enumerate(self.logs.items()):
                directory = aside.path / name
                directory.mkdir()
                for made in partitions:
                    made.write(directory / made.name, self.profile)
                for file, data in self._texts(node, partitions).items():
                    (directory / file).write_bytes(data)
            for apply in self.damage:
                apply(aside.path)
            for path in aside.path.rglob("*"):
                os.utime(path, (self.now / 1000, self.now / 1000))
            text = json.dumps(self.expected(), ensure_ascii=False, indent=1) + "\n"
            aside.write(EXPECTED, text.encode())
        return out / EXPECTED

    def _texts(self, node: int, partitions: list[MadePartition]) -> dict[str, bytes]:
        """Return the text files of a log directory by name."""
        flushed = [PartitionOffset(each.topic, each.partition, each.flushed) for each in partitions]
        replicated = [
            PartitionOffset(each.topic, each.partition, each.replicated) for each in partitions
        ]
        starts = [
            PartitionOffset(each.topic, each.partition, each.log_start)
            for each in partitions
            if each.log_start > min(each.segments)
        ]
        clean = [
            PartitionOffset(each.topic, each.partition, each.clean)
            for each in partitions
            if each.clean is not None
        ]
        properties = MetaProperties(
            node_id=node, cluster_id=kafka_uuid.to_text(self._cluster), directory_id=self.uuid()
        )
        files = {
            names.HIGH_WATERMARKS: offset_checkpoint.serialize(replicated),
            names.RECOVERY_POINTS: offset_checkpoint.serialize(flushed),
            names.LOG_START_OFFSETS: offset_checkpoint.serialize(starts),
            names.CLEANER_OFFSETS: offset_checkpoint.serialize(clean),
            names.META_PROPERTIES: meta_properties.serialize(properties),
        }
        if not any(each.crashed for each in partitions):
            stop = CleanShutdown(broker_epoch=node + 5)
            files[names.CLEAN_SHUTDOWN] = clean_shutdown.serialize(stop)
        return files

    # -- what is true of it -----------------------------------------------------------------

    def expected(self) -> dict[str, Any]:
        """Return what is true of it, ready for JSON."""
        return {
            "scenario": self.name,
            "seed": self.seed,
            "now": self.now,
            "logs": {
                directory: {made.name: _expected(made) for made in partitions}
                for directory, partitions in self.logs.items()
            },
            "findings": [as_json(each) for each in self.findings],
        }


def _expected(made: MadePartition) -> dict[str, Any]:
    """Return what is true of a partition; a range of offsets is ``[start, end]``, end exclusive."""
    bases = made.segments
    return {
        "log_start_offset": made.log_start,
        "log_end_offset": made.end,
        "high_watermark": made.replicated,
        "last_stable_offset": made.stable,
        "segments": [
            _segment(base, end, made.entries[base])
            for base, end in zip(bases, [*bases[1:], made.end], strict=True)
        ],
        "records": [_record(record) for record in made.uncommitted],
        "committed": [record.offset for record in made.committed],
        "transactions": [
            {
                "producer_id": each.producer_id,
                "producer_epoch": each.producer_epoch,
                "first_offset": each.first_offset,
                "offsets": each.offsets,
                "marker": each.marker,
                "outcome": str(each.outcome),
            }
            for each in made.transactions
        ],
        "leader_epochs": [{"epoch": epoch, "start_offset": at} for epoch, at in made.epochs],
        **made.facts,
    }


def _segment(base: int, end: int, batches: list[MadeBatch]) -> dict[str, Any]:
    return {
        "base_offset": base,
        "end_offset": end,
        "size": sum(len(batch.data) for batch in batches),
        "records": sum(batch.count for batch in batches if not batch.control),
        "control_records": sum(batch.count for batch in batches if batch.control),
        "max_timestamp": max((batch.max_timestamp for batch in batches), default=NO_TIMESTAMP),
    }


def _record(record: Record) -> dict[str, Any]:
    return {
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": _text(record.key),
        "value": _text(record.value),
        "headers": [[name, _text(value)] for name, value in record.headers],
    }


def _text(data: bytes | None) -> str | None:
    """Return bytes as text; those of Kafka's own messages are Latin-1, byte by byte."""
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")
