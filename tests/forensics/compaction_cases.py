"""Logs for the cleaner, the same each time: of all formats, with all that its rules look at."""

from __future__ import annotations

import hashlib
import json
import os
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kafkaspec as ks
from kafkaspec.forensics.cleaner.compaction import Compaction, compaction
from kafkaspec.forensics.cleaner.settings import Settings
from kafkaspec.forensics.cleaner.view import LogView
from kafkaspec.log.partition import Partition
from kafkaspec.writing.segment_writer import SegmentWriter

RECORDED = Path(__file__).with_name("compaction_answers.json")
RELEASES = ("2.8.2", "3.9.2", "4.3.1")
RECORDED_SEEDS = 3
START = 1_700_000_000_000
DAY = 86_400_000


@dataclass(frozen=True)
class Step:
    """One pass of the cleaner.

    Attributes:
        now: its clock.
        checkpoint: first dirty offset; None for none.
        settings: of the topic.
        map_bytes: bytes of the table of keys.
        io_bytes: bytes that are read at once.
        expiration_ms: ``producer.id.expiration.ms``.
    """

    now: int
    checkpoint: int | None
    settings: dict[str, str]
    map_bytes: int
    io_bytes: int
    expiration_ms: int


class _Producers:
    """Producers that write batches and markers as brokers get them."""

    def __init__(self, chance: random.Random, version: int) -> None:
        self._chance, self._version = chance, version
        self._epoch = dict.fromkeys(range(7, 11), 0)
        self._sequence = dict.fromkeys(range(7, 11), 0)
        self.open: set[int] = set()

    def header(self, count: int, transactional: bool) -> dict[str, Any]:
        pid = self._chance.choice((9, 10) if transactional else (7, 8))
        first = self._sequence[pid]
        self._sequence[pid] += count
        if transactional:
            self.open.add(pid)
        return {
            "producer_id": pid,
            "producer_epoch": self._epoch[pid],
            "base_sequence": first,
            "transactional": transactional,
        }

    def marker(self, offset: int, time: int) -> bytes | None:
        if not self.open:
            return None
        pid = self._chance.choice(sorted(self.open))
        self.open.discard(pid)
        if self._version == 2:
            self._epoch[pid] += 1
            self._sequence[pid] = 0
        kind = self._chance.choice((b"\0\0\0\0", b"\0\0\0\1"))
        record = ks.Record(offset, time, kind, b"\0\0\0\0\0\0")
        return ks.encode(
            [record], control=True, transactional=True, producer_id=pid,
            producer_epoch=self._epoch[pid], partition_leader_epoch=0,
        )  # fmt: skip


def write(seed: int, directory: Path, *, compressed: bool, legacy: bool) -> Path:
    """Write the log of a seed; return its directory."""
    chance = random.Random(seed)
    directory.parent.mkdir(parents=True, exist_ok=True)
    kinds = chance.choice(("plain", "idempotent", "transactions", "mixed"))
    magics = chance.choice(((0,), (1,), (0, 1, 2), (2,))) if legacy else (2,)
    append_time = chance.random() < 0.3
    producers = _Producers(chance, chance.choice((1, 2)))
    pool = chance.choice((3, 10, 40))
    codecs = ("none", "gzip", "lz4", "snappy") if compressed else ("none",)
    time = START
    segment_bytes = chance.choice((400, 900, 2500, 6000))
    with SegmentWriter(
        directory,
        profile="4.3",
        sync=False,
        index_interval_bytes=chance.choice((0, 100, 4096)),
        segment_bytes=segment_bytes,
    ) as writer:
        ends = sorted(chance.randrange(400) for _ in magics[1:])
        while writer.next_offset < 400:
            offset = writer.next_offset
            magic = magics[sum(end <= offset for end in ends)]
            time += chance.randint(0, 5000)
            if magic == 2 and chance.random() < 0.25:
                marker = producers.marker(offset, time)
                if marker is not None:
                    writer.append(marker)
                    continue
            count = chance.choice((1, 1, 2, 3, 8))
            records = [
                ks.Record(
                    offset + number,
                    _time(chance, magic, time),
                    _key(chance, pool),
                    _value(chance),
                    _headers(chance, magic),
                )
                for number in range(count)
            ]
            options: dict[str, Any] = {"magic": magic, "compression": chance.choice(codecs)}
            if append_time and magic:
                options |= {"timestamp_type": "LogAppendTime", "max_timestamp": time}
            if magic == 2:
                options["partition_leader_epoch"] = 0
                if kinds != "plain" and chance.random() < 0.8:
                    transactional = kinds == "transactions" or (
                        kinds == "mixed" and chance.random() < 0.5
                    )
                    options |= producers.header(count, transactional)
            writer.append(ks.encode(records, **options), together=True)
        while producers.open and chance.random() < 0.9:
            marker = producers.marker(writer.next_offset, time)
            assert marker is not None
            writer.append(marker)
        writer.append(ks.encode([ks.Record(writer.next_offset, time, b"last", b"v")]))
    paths = sorted(directory.glob("*.log"))
    for number, path in enumerate(paths):
        moment = START // 1000 + number * 3600
        os.utime(path, (moment, moment))
    return directory


def steps(seed: int, bases: list[int], end: int) -> Iterator[Step]:
    """Yield the passes over the log of a seed."""
    chance = random.Random(seed * 31 + 1)
    now = START + chance.choice((1, 30)) * DAY
    retention = chance.choice((0, DAY, 3_600_000))
    settings = {
        "cleanup.policy": "compact",
        "delete.retention.ms": str(retention),
        "segment.bytes": str(chance.choice((700, 3000, 20000))),
        "index.interval.bytes": str(chance.choice((0, 100, 4096))),
        "min.compaction.lag.ms": str(chance.choice((0, 0, 0, now - START - 300_000))),
    }
    settings["segment.index.bytes"] = "4096"
    expiration = chance.choice((DAY, 20 * DAY, 20 * DAY))
    for _ in range(3):
        checkpoint = chance.choice((None, 0, chance.choice(bases), chance.randrange(end)))
        yield Step(
            now=now,
            checkpoint=checkpoint,
            settings=settings,
            map_bytes=24 * chance.choice((10, 30, 10000, 10000)),
            io_bytes=chance.choice((256, 1000, 262144)),
            expiration_ms=expiration,
        )
        now += chance.choice((1000, DAY + 1, 3_700_000))


def _time(chance: random.Random, magic: int, time: int) -> int:
    return -1 if magic == 0 or chance.random() < 0.02 else time + chance.randint(-3000, 3000)


def _key(chance: random.Random, pool: int) -> bytes | None:
    kind = chance.random()
    if kind < 0.06:
        return None
    if kind < 0.10:
        return b""
    if kind < 0.12:
        return chance.choice((b"\0\0\0\0", b"\0\0\0\1"))  # as of markers
    number = chance.randrange(pool)
    return b"%d" % number + b"k" * (number * 7 % 90)


def _value(chance: random.Random) -> bytes | None:
    return None if chance.random() < 0.2 else chance.randbytes(chance.choice((0, 3, 20, 70)))


def _headers(chance: random.Random, magic: int) -> tuple[tuple[str, bytes | None], ...]:
    if magic < 2 or chance.random() < 0.8:
        return ()
    return (("h", None), ("", b"x" * chance.randrange(5)))


def given(step: Step) -> Settings:
    """Return the settings of a pass, with those of the broker."""
    return Settings(
        step.settings
        | {
            "producer.id.expiration.ms": str(step.expiration_ms),
            "log.cleaner.dedupe.buffer.size": str(step.map_bytes),
            "log.cleaner.io.buffer.size": str(2 * step.io_bytes),
        }
    )


def ours(directory: Path, step: Step, release: str, target: Path) -> Compaction:
    """Have ``compaction`` write what a pass leaves."""
    listed = directory.parent / "cleaner-offset-checkpoint"
    listed.unlink(missing_ok=True)
    if step.checkpoint is not None:
        listed.write_text(f"0\n1\nt 0 {step.checkpoint}\n")
    target.mkdir(parents=True)
    view = LogView(Partition(directory))
    return compaction(view, given(step), step.now, release, target=target)


def contents(directory: Path) -> dict[str, bytes]:
    """Return the segments and indexes of a log. The loader makes the other files, at any stop."""
    return {
        path.name: path.read_bytes()
        for path in sorted(directory.iterdir())
        if path.suffix in (".log", ".index", ".timeindex", ".txnindex")
    }


def snapshots(directory: Path) -> set[str]:
    """Return the names of the producer snapshots."""
    return {path.name for path in directory.iterdir() if path.suffix == ".snapshot"}


def digest(directory: Path) -> str:
    """Return a hash of ``contents``."""
    found = hashlib.sha256()
    for name, data in contents(directory).items():
        found.update(f"{name} {len(data)} ".encode() + data)
    return found.hexdigest()


def recorded() -> dict[str, list[str]]:
    """Return hashes of what Kafka's own cleaner left after each pass, by release and case."""
    found: dict[str, list[str]] = json.loads(RECORDED.read_text(encoding="utf-8"))
    return found
