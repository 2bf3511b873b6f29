"""Batches that stay batches: the fast way writes what the way of entries does, for any jobs."""

from __future__ import annotations

import random
import struct
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from kafkaspec import compression as compressions
from kafkaspec.codecs import codec_names, get_codec
from kafkaspec.conversion import kept
from kafkaspec.conversion.choices import Choices
from kafkaspec.conversion.kept import Kept
from kafkaspec.conversion.partition import PartitionConversion
from kafkaspec.errors import KafkaSpecError
from tests.goldens import files
from tests.log import forge

pytestmark = pytest.mark.skipif("native" not in codec_names(), reason="there is no fast way")

PLANS: list[dict[str, Any]] = [
    {},
    {"compression": "lz4"},
    {"compression": "zstd", "level": 3, "leader_epoch": 4},
    {"compression": "none", "offsets": "renumber", "base_offset": 3},
    {"compression": "snappy", "offsets": "shift", "base_offset": 1 << 62},
    {"offsets": "renumber"},
    {"leader_epoch": -1, "magic": 2},
    {"compression": "gzip", "magic": 2, "start_offset": 40, "end_offset": 300},
    {"compression": "lz4", "aborted": "drop"},
    {"compression": "none", "max_output": 900},
    {"compression": "lz4", "segment_bytes": 3000},
    {"compression": "zstd", "profile": "1.1"},
]

TRANSACTIONAL, CONTROL, HORIZON, RESERVED = 0x10, 0x20, 0x40, 0x80


def entry(chance: random.Random, offset: int) -> tuple[bytes, int]:
    """A batch, now and then of an unusual kind or damaged, and the offset after it."""
    what = chance.choice(["plain"] * 12 + ["control", "empty", "gap", "kept", "message", "broken"])
    if what == "message":
        return forge.legacy(offset, b"value"), offset + 1
    if what == "control":
        key, value = struct.pack(">hh", 0, chance.randrange(2)), struct.pack(">hi", 0, 3)
        producer = (chance.randrange(2), 0, -1)
        marker = forge.record(0, value, key=key)
        flags = CONTROL | TRANSACTIONAL
        return forge.batch(offset, [marker], attributes=flags, producer=producer), offset + 1
    count = 0 if what == "empty" else chance.randint(1, 9)
    records = b"".join(
        forge.record(row, chance.choice([None, b"text " * chance.randint(1, 60)]))
        for row in range(count)
    )
    codec = chance.choice([0, 0, 1, 2, 3, 4])
    payload = compressions.compress(codec, records, magic=2) if count else b""
    flags = codec | chance.choice([0, 0, 0, 8, HORIZON, RESERVED])
    producer = (-1, -1, -1)
    if chance.random() < 0.2:
        flags, producer = flags | TRANSACTIONAL, (chance.randrange(2), 0, chance.randrange(99))
    last = max(count - 1, 0) + (3 if what == "gap" else 0)
    crc = None
    if what == "broken":
        crc = chance.choice([None, 7])
        payload = payload[:-3] if codec else payload
        flags |= chance.choice([0, 5])
    made = forge.batch(
        offset, payload, count=count, last_offset_delta=last, attributes=flags,
        producer=producer, leader_epoch=chance.randrange(3), crc=crc,
        max_timestamp=1000 + chance.randrange(50),
    )  # fmt: skip
    return made, offset + last + 1 - (what == "broken" and chance.random() < 0.3)


def log(seed: int, count: int = 150) -> bytes:
    """Entries one after the other, and perhaps the beginning of another one."""
    chance = random.Random(seed)
    made, offset = [], chance.choice([0, 7])
    for _ in range(count):
        data, offset = entry(chance, offset)
        made.append(data)
    return b"".join(made)[: -chance.choice([1, 20]) if seed % 3 == 0 else None]


def outcome(source: Path, target: Path, jobs: int, plan: dict[str, Any]) -> dict[str, Any]:
    """Everything that a conversion leaves: files, counts, and errors as text."""
    conversion = PartitionConversion(
        "source", [source], target, Choices(**plan), get_codec("native"), jobs=jobs
    )
    try:
        conversion.run()
    except KafkaSpecError as error:
        assert not target.exists()
        return {"error": str(error)}
    found: dict[str, Any] = {path.name: path.read_bytes() for path in sorted(target.iterdir())}
    edges: dict[int, int] = defaultdict(int)
    for _, spans in conversion.spans:
        for start, stop in spans:
            edges[start] += 1
            edges[stop] -= 1
    report = conversion.result.as_dict()
    del report["target"]
    return found | {"report": report, "edges": {at: n for at, n in edges.items() if n}}


def check(
    data: bytes, directory: Path, monkeypatch: pytest.MonkeyPatch, plan: dict[str, Any]
) -> None:
    """Compare both ways, with few and with many batches at a time and with any number of jobs."""
    source = directory / f"{0:020d}.log"
    source.write_bytes(data)
    with monkeypatch.context() as slow:
        slow.setattr(Kept, "available", False)
        expected = outcome(source, directory / "slow", 1, plan)
    for number, (most, jobs) in enumerate([(1 << 20, 1), (2000, 1), (600, 3)]):
        monkeypatch.setattr(kept, "RANGE_BYTES", most)
        made = outcome(source, directory / f"fast-{number}", jobs, plan)
        assert made == expected


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("on_error", ["fail", "skip"])
@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_both_ways_leave_the_same(
    plan: dict[str, Any],
    on_error: str,
    seed: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    check(log(seed), tmp_path, monkeypatch, plan | {"on_error": on_error})


@pytest.mark.slow
@pytest.mark.parametrize("plan", [{"compression": "lz4"}, {"offsets": "renumber"}], ids=str)
@pytest.mark.parametrize("version", ["1.1.1", "4.3.1"])
def test_goldens_become_the_same_both_ways(
    version: str, plan: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, golden in enumerate(files(".log", version=version)):
        place = tmp_path / str(number)
        place.mkdir()
        check(golden.path.read_bytes(), place, monkeypatch, plan)


def test_what_grows_beyond_memory_is_converted_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = forge.record(0, bytes(100_000))
    payload = compressions.compress(1, records, magic=2)
    batches = (forge.batch(n, payload, count=1, attributes=1) for n in range(30))
    monkeypatch.setattr(kept, "WHOLE_BYTES", 1 << 18)
    check(b"".join(batches), tmp_path, monkeypatch, {"compression": "none"})


def test_regular_batches_do_not_go_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = b"".join(forge.batch(n, [forge.record(0, b"value")]) for n in range(100))
    source = tmp_path / f"{0:020d}.log"
    source.write_bytes(data)
    monkeypatch.setattr("kafkaspec.conversion.entries.EntryConverter.convert", None)
    for jobs in (1, 2):
        found = outcome(source, tmp_path / f"out-{jobs}", jobs, {"compression": "lz4"})
        assert found["report"]["taken"] == 100
