"""Sound batches are checked by columns, all others one by one: both say the same, in one order.

The reference checks every batch by itself. Threads, and parts of a few batches, change nothing.
"""

from __future__ import annotations

import random
import shutil
import struct
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkaspec.analysis import verify_segment
from kafkaspec.analysis.verify_segment import SegmentVerifier
from kafkaspec.codecs.native import load_core
from kafkaspec.compression import CompressionType, compress
from kafkaspec.writing.rebuild import rebuild_indexes
from tests.analysis.entries import marker_batch
from tests.analysis.forge import ABORT, COMMIT, DELETE_HORIZON, TRANSACTIONAL, write_segment
from tests.analysis.ways import same_in_all_ways, told
from tests.extent import some
from tests.goldens import GOLDEN, VERSIONS, directories, distinct, distinct_partitions
from tests.kafka.loader_cases import generate
from tests.log.forge import batch, legacy, record, wrapper
from tests.vectors.test_vectors import VECTORS

pytest.importorskip("kafkaspec._native", reason="the extension was not built")

APPEND_TIME = 0x08
NAMES = ("x", "schlüssel", "\N{KEY}")


@pytest.mark.core
@pytest.mark.parametrize("version", VERSIONS)
def test_of_what_real_brokers_wrote(version: str) -> None:
    """Partitions, each content once, and the last log directory as a whole."""
    whole = [GOLDEN / version / "logs"] if version == VERSIONS[-1] else []
    for path in whole + distinct_partitions(version):
        same_in_all_ways(path)


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Numbers of the entries that are checked by themselves, by file."""
    found: Counter[str] = Counter()
    check = SegmentVerifier._entry

    def counted(self: SegmentVerifier, *arguments: object) -> object:
        found[self._file] += 1
        return check(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(verify_segment.SegmentVerifier, "_entry", counted)
    return found


def add_indexes(partition: Path, interval: int) -> None:
    """Add the indexes that a broker makes."""
    with tempfile.TemporaryDirectory() as name:
        rebuild_indexes(partition, name, index_interval_bytes=interval, sync=False)
        for path in Path(name).rglob("*index"):
            shutil.copyfile(path, partition / path.name)


def batches(path: Path) -> int:
    return sum(event[1]["batches"] for event in told(path)[:-1] if event[0] == "file")


@pytest.mark.core
def test_sound_batches_with_indexes_are_never_checked_alone(
    tmp_path: Path, alone: Counter[str]
) -> None:
    log = b"".join(
        batch(
            3 * n,
            [record(i, b"v" * 90, headers=((b"k", b""),)) for i in range(3)],
            base_timestamp=n,
            max_timestamp=n,
        )
        for n in range(200)
    )
    path = write_segment(tmp_path / "t-0", log, index=None)
    add_indexes(path.parent, 1)
    assert (path.parent / f"{0:020}.index").stat().st_size > 190 * 8
    assert same_in_all_ways(path.parent)
    alone.clear()
    assert batches(path) == 200
    assert not alone


@pytest.mark.parametrize("producers", [1, 3])
@pytest.mark.parametrize("attributes", [0, TRANSACTIONAL])
def test_batches_of_producers_are_never_checked_alone(
    tmp_path: Path, alone: Counter[str], producers: int, attributes: int
) -> None:
    log = b"".join(
        batch(
            n,
            [record(0, b"v")],
            producer=(n % producers, 0, n // producers),
            attributes=attributes,
        )
        for n in range(60)
    )
    path = write_segment(tmp_path / "t-0", log)
    same_in_all_ways(path.parent)
    alone.clear()
    assert batches(path) == 60
    assert not alone


@pytest.mark.parametrize("magic", [0, 1])
def test_messages_and_wrappers_are_never_checked_alone(
    tmp_path: Path, alone: Counter[str], magic: int
) -> None:
    log = b""
    for n in range(0, 300, 3):
        log += legacy(n, b"v" * 90, magic=magic, timestamp=n)
        inner = [
            legacy(0 if magic else n + 1, b"a", magic=magic, timestamp=n),
            legacy(1 if magic else n + 2, b"b", magic=magic, timestamp=n + 1),
        ]
        attributes = APPEND_TIME if magic and n % 2 else 0
        log += wrapper(n + 2, inner, magic=magic, timestamp=n + 1, attributes=attributes)
    path = write_segment(tmp_path / "t-0", log, index=None)
    add_indexes(path.parent, 1)
    assert same_in_all_ways(path.parent)
    alone.clear()
    assert batches(path) == 200
    assert not alone


@pytest.mark.core
def test_markers_are_never_checked_alone(tmp_path: Path, alone: Counter[str]) -> None:
    log = b"".join(
        batch(2 * n, [record(0, b"v")], producer=(7, 0, n), attributes=TRANSACTIONAL)
        + marker_batch(2 * n + 1, (ABORT, COMMIT)[n % 2])
        for n in range(60)
    )
    path = write_segment(tmp_path / "t-0", log, index=None)
    add_indexes(path.parent, 1)
    assert (path.parent / f"{0:020}.txnindex").stat().st_size
    assert same_in_all_ways(path.parent)
    alone.clear()
    assert batches(path) == 120
    assert sum(alone.values()) == 0


# -- damage --------------------------------------------------------------------------------------


def _copies(tmp_path: Path) -> list[Path]:
    """Partitions of real brokers that are small enough to try many damages."""
    found = []
    for number, directory in enumerate(directories(of=distinct(".log"))):
        source = directory.files[0].path.parent
        size = sum(path.stat().st_size for path in source.glob("*.log"))
        if 0 < size < 6000 and number % 30 == 0:
            target = tmp_path / directory.version / source.name
            shutil.copytree(source, target, copy_function=shutil.copyfile)
            found.append(target)
    return found


@pytest.mark.slow
def test_of_real_logs_and_indexes_with_flipped_bits(tmp_path: Path) -> None:
    chance = random.Random(12)
    for partition in _copies(tmp_path):
        files = [
            path
            for suffix in ("log", "index", "timeindex", "txnindex")
            for path in sorted(partition.glob(f"*.{suffix}"))
            if 0 < path.stat().st_size < 6000
        ]
        for path in files:
            data = path.read_bytes()
            for _ in range(2):
                broken = bytearray(data)
                broken[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
                path.write_bytes(broken)
                same_in_all_ways(partition)
            path.write_bytes(data)


@pytest.mark.slow
def test_of_the_logs_that_the_loader_of_kafka_is_asked_about(tmp_path: Path) -> None:
    partition = tmp_path / "t-0"
    for case in generate(60):
        partition.mkdir()
        for name, data in case.files.items():
            (partition / name).write_bytes(data)
        same_in_all_ways(partition)
        shutil.rmtree(partition)


@pytest.mark.core
def test_of_vectors_of_entries(tmp_path: Path) -> None:
    good = batch(0, [record(0, b"a"), record(1, b"b")]), batch(1 << 40, [record(0, b"z")])
    found = [bytes.fromhex(item["hex"]) for item in VECTORS if item["type"].endswith(".entry")]
    assert found
    for data in found:
        path = write_segment(tmp_path / "t-0", good[0] + data + good[1])
        same_in_all_ways(path)


# -- logs that almost are sound ------------------------------------------------------------------


class _Maker:
    """Makes entries that continue a log, now and then with something wrong."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.offset = chance.choice((0, 0, 5, 1 << 40))
        self.epoch = 0
        self.sequences: Counter[int] = Counter()
        self.time = 1000
        self.tidy = chance.random() < 0.3
        self.old = chance.choice((0.0, 0.05, 0.05, 0.9, 1.0))
        self.wrong = 0.0 if self.tidy else chance.choice((0.0, 0.02, 0.3))

    def near(self, right: int) -> int:
        """The right number, seldom another one."""
        if self.chance.random() >= self.wrong:
            return right
        return right + self.chance.choice((-2, -1, 1, 2, 1000, -3000))

    def entry(self) -> bytes:
        chance = self.chance
        kind = 1.0 if self.tidy else chance.random()
        if kind < self.old:
            return self.legacy()
        if kind < self.old + 0.1:
            self.offset += 1
            return marker_batch(self.offset - 1, chance.choice((ABORT, COMMIT)))
        return self.batch()

    def legacy(self) -> bytes:
        """A message, or a wrapper of some."""
        chance, magic = self.chance, self.chance.randrange(2)
        time = self.time = self.time + chance.choice((0, 1, 5, -3))
        attributes = chance.choice((0, 0, 0, APPEND_TIME)) if magic else 0
        slack = b"" if chance.random() >= self.wrong else b"slack"
        if chance.random() < 0.5:
            self.offset += 1
            return legacy(
                self.near(self.offset - 1),
                chance.choice((None, b"old")),
                magic=magic,
                attributes=attributes,
                timestamp=self.near(time),
                crc=None if chance.random() >= self.wrong else 7,
                slack=slack,
            )
        count = chance.randrange(1, 4)
        first, self.offset = self.offset, self.offset + count
        inner = b"".join(
            legacy(
                self.near(number if magic else first + number),
                b"in",
                magic=magic if chance.random() >= self.wrong else chance.choice((0, 1, 2, 5)),
                timestamp=time - count + 1 + number,
                crc=None if chance.random() >= self.wrong / 3 else 7,
                slack=slack if chance.random() < 0.3 else b"",
            )
            for number in range(count)
        )
        codec = chance.choice([codec for codec in CompressionType if 0 < codec < 4])
        if chance.random() < self.wrong:
            inner = chance.choice((inner[:-5], inner + b"12345", inner + bytes(20), b""))
        return legacy(
            self.near(self.offset - 1),
            compress(codec, inner, magic=magic),
            magic=magic,
            attributes=attributes | codec,
            timestamp=self.near(time),
            slack=slack,
        )

    def batch(self) -> bytes:
        chance, count = self.chance, self.chance.randrange(1, 5)
        delta = 0
        deltas, times = [], []
        for _ in range(count):
            deltas.append(self.near(delta))
            delta += chance.choice((1, 1, 1, 3))
            times.append(self.time)
            self.time += chance.choice((0, 1, 5, -3))
        records = [
            record(
                offset,
                chance.choice((None, b"value", b"v" * 200)),
                timestamp_delta=time - times[0],
                headers=self.headers(),
            )
            for offset, time in zip(deltas, times, strict=True)
        ]
        attributes = chance.choice((0, 0, 0, APPEND_TIME, DELETE_HORIZON))
        producer = (-1, -1, -1)
        if chance.random() < 0.4:
            number = chance.choice((7, 7, 8))
            sequence = self.near(self.sequences[number])
            producer = (number, self.near(0), sequence)
            self.sequences[number] = max(0, sequence + delta)
            attributes |= 0 if self.tidy else chance.choice((0, TRANSACTIONAL))
        if not self.tidy and chance.random() < 0.05:
            self.epoch += chance.choice((1, 1, -1))
        base, self.offset = self.near(self.offset), self.offset + delta
        payload = b"".join(records)
        codec = chance.choice((0, 0, *CompressionType))
        if codec:
            payload = compress(codec, payload, magic=2)
        made = batch(
            base,
            payload,
            count=self.near(count),
            last_offset_delta=self.near(delta - 1),
            attributes=attributes | codec,
            base_timestamp=self.near(times[0]),
            max_timestamp=self.near(max(times)),
            producer=producer,
            leader_epoch=self.epoch,
        )
        if chance.random() < self.wrong / 10:
            changed = bytearray(made)
            changed[chance.randrange(len(made))] ^= 1 << chance.randrange(8)
            return bytes(changed)
        return made

    def headers(self) -> tuple[tuple[bytes, bytes], ...]:
        if self.chance.random() < 0.7:
            return ()
        if self.chance.random() < self.wrong:
            return (
                (self.chance.choice((b"\xff", b"\xed\xa0\x80", b"\xc0\x80", b"\xf0\x9f")), b""),
            )
        return tuple((name.encode(), b"1") for name in self.chance.sample(NAMES, 2))


def _edited(path: Path, layout: str, change: Callable[[int], int], chance: random.Random) -> None:
    """Change a number of the entries of an index."""
    size = struct.calcsize(layout)
    entries = [list(entry) for entry in struct.iter_unpack(layout, path.read_bytes())]
    if entries:
        entry = chance.choice(entries)
        number = chance.randrange(len(entry))
        entry[number] = change(entry[number])
    if entries and chance.random() < 0.2:
        entries.remove(chance.choice(entries))
    assert size
    path.write_bytes(b"".join(struct.pack(layout, *entry) for entry in entries))


def _make(tmp_path: Path, seed: int) -> None:
    """A partition of two segments, with indexes of its own that may be damaged."""
    chance = random.Random(seed)
    maker = _Maker(chance)
    shutil.rmtree(tmp_path, ignore_errors=True)
    name = chance.choice(("t-0", "t-0", "__consumer_offsets-3"))
    for _ in range(2):
        base = max(0, maker.offset)
        log = b"".join(maker.entry() for _ in range(chance.randrange(1, 40)))
        if not maker.tidy:
            log += chance.choice((b"", b"", b"", b"\0" * 40, log[:30]))
        path = write_segment(tmp_path / name, log, base=base, index=None)
    add_indexes(tmp_path / name, chance.choice((1, 200, 4096)))
    for path in sorted((tmp_path / name).iterdir()):
        layout = {".index": ">ii", ".timeindex": ">qi", ".txnindex": ">hqqqq"}.get(path.suffix)
        if layout and not maker.tidy and chance.random() < 0.3:
            by = chance.choice((-1, 1, 1, 70, -70))
            _edited(path, layout, lambda number, by=by: number + by, chance)  # type: ignore[misc]
        elif layout == ">ii" and chance.random() < 0.3:
            path.write_bytes(path.read_bytes() + bytes(80))


@pytest.mark.core
@pytest.mark.parametrize("first", range(0, 20 * some(20), 20))
def test_of_made_logs(tmp_path: Path, first: int) -> None:
    for seed in range(first, first + 20):
        _make(tmp_path / str(seed), seed)
        found = same_in_all_ways(tmp_path / str(seed))
        assert found, seed


@pytest.mark.slow
def test_made_logs_are_sound_and_broken_in_many_ways(tmp_path: Path) -> None:
    reasons: Counter[str] = Counter()
    clean = 0
    for seed in range(60):
        _make(tmp_path / str(seed), seed)
        events = told(tmp_path / str(seed))[:-1]
        findings = [event[1]["reason"] for event in events if event[0] == "finding"]
        reasons.update(findings)
        clean += not set(findings) - {"missing_snapshot"}
    assert len(reasons) > 15
    assert clean > 2


def test_the_core_is_used_where_it_is_there() -> None:
    assert load_core().module.mark
