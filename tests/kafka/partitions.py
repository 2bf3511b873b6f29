"""Partitions that we write for a broker, with what a consumer must get of them."""

from __future__ import annotations

import os
import random
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import kafkaspec as ks
from tools.brokers.versions import Version

START_MS = 1_700_000_000_000
FILE_MS = START_MS + 500_000
"""Modification time of the segments: brokers take it for that of records without one."""
INDEX_INTERVAL_BYTES = 400
_PRODUCER, _OTHER = 4001, 4002
_DELETE_HORIZON = (3, 1)  # KIP-534
_READS_ON = (0, 8, 1)
"""Before it a broker does not read on in the next segment (``Log.read`` of 0.8.0): a consumer does
not get past offsets that are missing at the end of a segment. It has no cleaner to make such."""


@dataclass
class Log:
    """One partition in the making.

    Attributes:
        topic: its name.
        entries: of each segment, by base offset; each entry or batch on its own.
        records: what ``read_uncommitted`` delivers.
        hidden: offsets that ``read_committed`` does not deliver.
        stable: the last stable offset; the end of the log if None.
    """

    topic: str
    entries: dict[int, list[bytes]] = field(default_factory=dict)
    records: list[ks.Record] = field(default_factory=list)
    hidden: set[int] = field(default_factory=set)
    stable: int | None = None
    end: int = 0

    def roll(self, base_offset: int | None = None) -> None:
        """Begin a segment."""
        self.end = self.end if base_offset is None else base_offset
        self.entries[self.end] = []

    def add(self, records: Sequence[ks.Record], *, control: bool = False, **options: Any) -> None:
        """Append records as one batch."""
        if not self.entries:
            self.roll()
        magic = options.setdefault("magic", 2)
        if magic == 2:
            options.setdefault("partition_leader_epoch", 0)
        data = ks.encode(records, control=control, **options)
        self.entries[max(self.entries)].append(data)
        if not control:
            if options.get("timestamp_type") == "LogAppendTime":
                records = [r._replace(timestamp=options["max_timestamp"]) for r in records]
            self.records += records
        last = options.get("last_offset")
        self.end = (records[-1].offset if last is None else last) + 1

    def marker(self, producer: int, *, commit: bool) -> None:
        """Append the end of a transaction."""
        key, value = struct.pack(">hh", 0, int(commit)), struct.pack(">hi", 0, 0)
        record = ks.Record(self.end, START_MS + self.end, key, value)
        self.add([record], control=True, producer_id=producer, producer_epoch=0, transactional=True)

    def write(self, directory: Path) -> Path:
        """The segments as plain ``.log`` files."""
        directory.mkdir(parents=True)
        for base, entries in self.entries.items():
            path = directory / f"{base:020}.log"
            path.write_bytes(b"".join(entries))
            _set_time(path)
        return directory

    def write_whole(self, directory: Path, version: Version) -> Path:
        """The segments with all files beside them, rolled where they are small."""
        first = min(self.entries)
        options: dict[str, Any] = {
            "segment_bytes": 4000,
            "index_interval_bytes": INDEX_INTERVAL_BYTES,
        }
        with ks.SegmentWriter(directory, first, version.name, **options, sync=False) as writer:
            for entries in self.entries.values():
                for data in entries:
                    writer.append(data)
        for path in directory.iterdir():
            _set_time(path)
        return directory

    @property
    def uncommitted(self) -> list[ks.Record]:
        """The records for a consumer that reads all."""
        return list(self.records)

    @property
    def committed(self) -> list[ks.Record]:
        """The records for a consumer that reads committed ones only."""
        end = self.end if self.stable is None else self.stable
        return [
            record
            for record in self.records
            if record.offset not in self.hidden and record.offset < end
        ]


def _set_time(path: Path) -> None:
    os.utime(path, (FILE_MS / 1000, FILE_MS / 1000))


def some(start: int, count: int, magic: int, *, step: int = 1) -> list[ks.Record]:
    """Records with keys and values of all kinds."""
    chance = random.Random(start)
    pool: tuple[bytes | None, ...] = (
        None, b"", b"text", "schlüssel €".encode(), bytes(range(256)), b"long " * 300,
    )  # fmt: skip
    found = []
    for number in range(count):
        offset = start + number * step
        headers: tuple[tuple[str, bytes | None], ...] = ()
        if magic == 2 and number % 3 == 1:
            headers = (("", None), ("k", b""), ("k", b"again"), ("ß", chance.randbytes(70)))
        time = -1 if magic == 0 else START_MS + 10 * offset + chance.randrange(-30, 30)
        key = f"key {offset}".encode() if number % 2 else chance.choice(pool)
        found.append(ks.Record(offset, time, key, chance.choice(pool), headers))
    return found


def logs(version: Version) -> Iterator[Log]:
    """Every magic, codec and feature that this release can serve."""
    for magic in range(version.native_magic + 1):
        for codec in version.codecs:
            if codec == "zstd" and magic < 2:
                continue
            log = Log(f"magic-{magic}-{codec}")
            for number in range(4):
                log.add(some(number * 12, 12, magic), magic=magic, compression=codec)
            yield log
        if magic:
            log = Log(f"magic-{magic}-append-time")
            for number, codec in enumerate(("none", "gzip", "none")):
                log.add(
                    some(number * 8, 8, magic), magic=magic, compression=codec,
                    timestamp_type="LogAppendTime", max_timestamp=START_MS + number,
                )  # fmt: skip
            yield log
        yield _compacted(magic)
        yield _segments(magic, 5 if version.release >= _READS_ON else 0)
    if version.native_magic:
        yield _mixed(version.native_magic)
    if version.native_magic == 2:
        yield _transactions()
        yield _idempotent()
        yield _emptied()
    if version.release >= _DELETE_HORIZON:
        yield _with_delete_horizon()


@dataclass(frozen=True)
class Conversion:
    """A log in another form, and what that loses.

    Attributes:
        source: topic of the log.
        magic: to convert to.
        compression: likewise.
        headers: whether they can be kept.
        times: likewise.
    """

    source: str
    magic: int
    compression: str
    headers: bool = True
    times: bool = True

    def write(self, source: Path, target: Path, version: Version) -> Path:
        """Convert a partition directory, and check it."""
        report = ks.convert(
            source, target, magic=self.magic, compression=self.compression,
            profile=version.name, segment_bytes=4000,
        )  # fmt: skip
        # Offsets are missing between segments, as in the log that a broker is given.
        assert all(item.verified and not item.damaged for item in report.partitions)
        assert not report.left_out
        for path in target.iterdir():
            _set_time(path)
        return target

    def result(self, log: Log) -> Log:
        """The records that a consumer gets of it."""
        records = [
            record._replace(
                timestamp=record.timestamp if self.times else -1,
                headers=record.headers if self.headers else (),
            )
            for record in log.records
        ]
        return replace(log, records=records)


def conversions(version: Version) -> list[Conversion]:
    """The conversions for this release: up, down, and to another compression."""
    newest = version.native_magic
    best = "zstd" if "zstd" in version.codecs else "lz4"
    found = [Conversion("magic-0-gzip", newest, "snappy")]
    if newest:
        found += [
            Conversion("mixed", newest, best if newest == 2 else "lz4"),
            Conversion("segments-0", newest, "none"),
            Conversion("magic-1-gzip", 0, "snappy", times=False),
        ]
    if newest == 2:
        found += [
            Conversion("magic-2-gzip", 1, "snappy", headers=False),
            Conversion("transactions", 2, "gzip"),
            Conversion("emptied", 2, best),
        ]
    return found


def _compacted(magic: int) -> Log:
    log = Log(f"compacted-{magic}")
    for number, codec in enumerate(("none", "gzip", "none", "gzip")):
        log.add(some(number * 30 + 3, 6, magic, step=4), magic=magic, compression=codec)
    return log


def _segments(magic: int, gap: int) -> Log:
    log = Log(f"segments-{magic}")
    log.roll(100)
    for number in range(8):
        if number and number % 2 == 0:
            log.roll(log.end + (gap if number == 4 else 0))
        log.add(some(log.end, 9, magic), magic=magic, compression="gzip" if number % 3 else "none")
    return log


def _mixed(newest: int) -> Log:
    log = Log("mixed")
    for magic in range(newest + 1):
        for codec in ("none", "gzip"):
            log.add(some(log.end, 7, magic), magic=magic, compression=codec)
    return log


def _transactions() -> Log:
    log = Log("transactions")
    sequences = {_PRODUCER: 0, _OTHER: 0}

    def add(producer: int, count: int, codec: str = "none") -> None:
        log.add(
            some(log.end, count, 2), compression=codec, producer_id=producer, producer_epoch=0,
            base_sequence=sequences[producer], transactional=True,
        )  # fmt: skip
        sequences[producer] += count

    add(_PRODUCER, 3)
    log.marker(_PRODUCER, commit=True)
    start = log.end
    add(_PRODUCER, 4, "lz4")
    log.hidden |= set(range(start, log.end))
    add(_OTHER, 2)  # between the others, and committed
    log.marker(_PRODUCER, commit=False)
    log.marker(_OTHER, commit=True)
    log.add(some(log.end, 5, 2))
    log.roll()
    add(_OTHER, 3, "gzip")
    log.marker(_OTHER, commit=True)
    log.stable = log.end
    add(_PRODUCER, 2)  # left open
    log.add(some(log.end, 2, 2))
    return log


def _idempotent() -> Log:
    log = Log("idempotent")
    for number in range(5):
        log.add(
            some(log.end, 6, 2), compression="snappy" if number % 2 else "none",
            producer_id=_PRODUCER, producer_epoch=3, base_sequence=6 * number,
        )  # fmt: skip
    return log


def _emptied() -> Log:
    """Batches of which compaction kept the header only, and one whose last record is gone."""
    log = Log("emptied")
    log.add(some(0, 4, 2), producer_id=_PRODUCER, producer_epoch=0, base_sequence=0)
    data = ks.encode(
        [], base_offset=4, last_offset=9, partition_leader_epoch=0, max_timestamp=START_MS + 90,
        producer_id=_PRODUCER, producer_epoch=0, base_sequence=4,
    )  # fmt: skip
    log.entries[0].append(data)
    log.end = 10
    log.add(some(12, 3, 2), base_offset=10, last_offset=20)
    log.add(some(21, 3, 2), compression="gzip")
    return log


def _with_delete_horizon() -> Log:
    log = Log("delete-horizon")
    records = [r._replace(value=None) for r in some(0, 5, 2)]
    log.add(records, delete_horizon=START_MS * 2, max_timestamp=max(r.timestamp for r in records))
    log.add(some(5, 3, 2))
    return log
