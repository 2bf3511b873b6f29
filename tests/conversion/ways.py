"""Logs of all sorts of batches, converted by columns and entry by entry."""

from __future__ import annotations

import random
import struct
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from kafkaspec import compression as compressions
from kafkaspec.codecs import get_codec
from kafkaspec.conversion import ranges
from kafkaspec.conversion.choices import Choices
from kafkaspec.conversion.kept import KeptBatches
from kafkaspec.conversion.messages import FromMessages, ToMessages, Wrappers
from kafkaspec.conversion.partition import PartitionConversion
from kafkaspec.conversion.regrouped import Regrouped
from kafkaspec.errors import KafkaSpecError
from tests.goldens import distinct
from tests.log import forge

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
        slow.setattr(KeptBatches, "available", False)
        slow.setattr(Regrouped, "available", False)
        slow.setattr(ToMessages, "available", False)
        slow.setattr(FromMessages, "available", False)
        slow.setattr(Wrappers, "draft", lambda *_: None)
        expected = outcome(source, directory / "slow", 1, plan)
    for number, (most, jobs) in enumerate([(1 << 20, 1), (2000, 1), (600, 3)]):
        monkeypatch.setattr(ranges, "RANGE_BYTES", most)
        made = outcome(source, directory / f"fast-{number}", jobs, plan)
        assert made == expected


def check_goldens(
    version: str, directory: Path, monkeypatch: pytest.MonkeyPatch, plan: dict[str, Any], turn: int
) -> None:
    """Compare both ways on every other golden segment of a version of Kafka, by turns."""
    for number, golden in enumerate([*distinct(".log", among=[version])][turn % 2 :: 2]):
        place = directory / str(number)
        place.mkdir()
        check(golden.path.read_bytes(), place, monkeypatch, plan)


def check_by_columns(
    directory: Path,
    monkeypatch: pytest.MonkeyPatch,
    plan: dict[str, Any],
    data: bytes | None = None,
) -> None:
    """A hundred regular batches are not converted one by one."""
    if data is None:
        data = b"".join(forge.batch(n, [forge.record(0, b"value")]) for n in range(100))
    source = directory / f"{0:020d}.log"
    source.write_bytes(data)
    monkeypatch.setattr("kafkaspec.conversion.entries.EntryConverter.convert", None)
    for jobs in (1, 2):
        found = outcome(source, directory / f"out-{jobs}", jobs, plan)
        assert found["report"]["taken"] == 100
