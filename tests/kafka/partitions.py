"""Partitions that we write for a broker, with what a consumer must get of them."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import kafkaspec as ks
from kafkaspec.scenarios.partition import INDEX_INTERVAL_BYTES, MadePartition
from tools.brokers.versions import Version

START_MS = 1_700_000_000_000
FILE_MS = START_MS + 500_000
"""Modification time of the segments: brokers take it for that of records without one."""
_PRODUCER, _OTHER = 4001, 4002
_DELETE_HORIZON = (3, 1)  # KIP-534
_READS_ON = (0, 8, 1)
"""Before it a broker does not read on in the next segment (``Log.read`` of 0.8.0): a consumer does
not get past offsets that are missing at the end of a segment. It has no cleaner to make such."""


def write_plain(log: MadePartition, directory: Path) -> Path:
    """Write the segments as plain ``.log`` files."""
    directory.mkdir(parents=True)
    for base, batches in log.entries.items():
        path = directory / f"{base:020}.log"
        path.write_bytes(b"".join(batch.data for batch in batches))
        _set_time(path)
    return directory


def write_whole(log: MadePartition, directory: Path, version: Version) -> Path:
    """Write the segments with all files beside them, rolled where they are small."""
    first = min(log.entries)
    options: dict[str, Any] = {
        "segment_bytes": 4000,
        "index_interval_bytes": INDEX_INTERVAL_BYTES,
    }
    with ks.SegmentWriter(directory, first, version.name, **options, sync=False) as writer:
        for batch in log.batches:
            writer.append(batch.data)
    for path in directory.iterdir():
        _set_time(path)
    return directory


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


def logs(version: Version) -> Iterator[MadePartition]:
    """Every magic, codec and feature that this release can serve."""
    for magic in range(version.native_magic + 1):
        for codec in version.codecs:
            if codec == "zstd" and magic < 2:
                continue
            log = MadePartition(f"magic-{magic}-{codec}")
            for number in range(4):
                log.add(some(number * 12, 12, magic), magic=magic, compression=codec)
            yield log
        if magic:
            log = MadePartition(f"magic-{magic}-append-time")
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

    def result(self, log: MadePartition) -> MadePartition:
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


def _compacted(magic: int) -> MadePartition:
    log = MadePartition(f"compacted-{magic}")
    for number, codec in enumerate(("none", "gzip", "none", "gzip")):
        log.add(some(number * 30 + 3, 6, magic, step=4), magic=magic, compression=codec)
    return log


def _segments(magic: int, gap: int) -> MadePartition:
    log = MadePartition(f"segments-{magic}")
    log.roll(100)
    for number in range(8):
        if number and number % 2 == 0:
            log.roll(log.end + (gap if number == 4 else 0))
        log.add(some(log.end, 9, magic), magic=magic, compression="gzip" if number % 3 else "none")
    return log


def _mixed(newest: int) -> MadePartition:
    log = MadePartition("mixed")
    for magic in range(newest + 1):
        for codec in ("none", "gzip"):
            log.add(some(log.end, 7, magic), magic=magic, compression=codec)
    return log


def _transactions() -> MadePartition:
    log = MadePartition("transactions")
    sequences = {_PRODUCER: 0, _OTHER: 0}

    def add(producer: int, count: int, codec: str = "none") -> None:
        log.add(
            some(log.end, count, 2), compression=codec, producer_id=producer, producer_epoch=0,
            base_sequence=sequences[producer], transactional=True,
        )  # fmt: skip
        sequences[producer] += count

    add(_PRODUCER, 3)
    log.marker(_PRODUCER, 0, START_MS + log.end, commit=True)
    add(_PRODUCER, 4, "lz4")
    add(_OTHER, 2)  # between the others, and committed
    log.marker(_PRODUCER, 0, START_MS + log.end, commit=False)
    log.marker(_OTHER, 0, START_MS + log.end, commit=True)
    log.add(some(log.end, 5, 2))
    log.roll()
    add(_OTHER, 3, "gzip")
    log.marker(_OTHER, 0, START_MS + log.end, commit=True)
    add(_PRODUCER, 2)  # left open
    log.add(some(log.end, 2, 2))
    return log


def _idempotent() -> MadePartition:
    log = MadePartition("idempotent")
    for number in range(5):
        log.add(
            some(log.end, 6, 2), compression="snappy" if number % 2 else "none",
            producer_id=_PRODUCER, producer_epoch=3, base_sequence=6 * number,
        )  # fmt: skip
    return log


def _emptied() -> MadePartition:
    """Batches of which compaction kept the header only, and one whose last record is gone."""
    log = MadePartition("emptied")
    log.add(some(0, 4, 2), producer_id=_PRODUCER, producer_epoch=0, base_sequence=0)
    log.add(
        [], base_offset=4, last_offset=9, max_timestamp=START_MS + 90,
        producer_id=_PRODUCER, producer_epoch=0, base_sequence=4,
    )  # fmt: skip
    log.add(some(12, 3, 2), base_offset=10, last_offset=20)
    log.add(some(21, 3, 2), compression="gzip")
    return log


def _with_delete_horizon() -> MadePartition:
    log = MadePartition("delete-horizon")
    records = [r._replace(value=None) for r in some(0, 5, 2)]
    log.add(records, delete_horizon=START_MS * 2, max_timestamp=max(r.timestamp for r in records))
    log.add(some(5, 3, 2))
    return log
