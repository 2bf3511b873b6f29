"""New batches, and messages: the fast way writes what the way of entries does, for any jobs."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from kafkaspec import Partition, Record, encode
from kafkaspec import compression as compressions
from kafkaspec.codecs import codec_names
from tests import extent
from tests.conversion.ways import check, check_by_columns, check_goldens, log, outcome
from tests.log import forge

pytestmark = pytest.mark.skipif("native" not in codec_names(), reason="there is no fast way")

PLANS: list[dict[str, Any]] = [
    {"batch_bytes": 700},
    {"batch_bytes": 1},
    {"batch_bytes": 5000, "compression": "lz4"},
    {"batch_bytes": 400, "compression": "none", "leader_epoch": 4},
    {"batch_bytes": 900, "compression": "zstd", "level": 3, "offsets": "renumber"},
    {"batch_bytes": 900, "offsets": "shift", "base_offset": 1 << 62, "magic": 2},
    {"batch_bytes": 700, "compression": "snappy", "start_offset": 40, "end_offset": 300},
    {"batch_bytes": 3000, "aborted": "drop", "profile": "2.8"},
    {"batch_bytes": 3000, "max_output": 900},
    {"offsets": "renumber"},
    {"offsets": "renumber", "base_offset": 5, "compression": "lz4", "start_offset": 40},
    {"offsets": "renumber", "compression": "none", "leader_epoch": 3, "magic": 2},
    {"magic": 1},
    {"magic": 1, "compression": "none", "batch_bytes": 500},
    {"magic": 1, "compression": "gzip", "offsets": "renumber", "level": 2},
    {"magic": 1, "compression": "snappy", "leader_epoch": 3, "end_offset": 300},
    {"magic": 0, "compression": "none", "offsets": "shift", "base_offset": 1 << 62},
    {"magic": 0, "compression": "lz4", "aborted": "drop"},
]


def records_of(chance: random.Random, offset: int) -> tuple[bytes, int]:
    """A batch with all sorts of records, and the offset after it."""
    rows, delta, first = [], 0, chance.randrange(50)
    times = [first, *(chance.randrange(-20, 90) for _ in range(chance.randrange(12)))]
    for row, time in enumerate(times):
        delta += (row > 0) * chance.choice([1, 1, 1, 3])
        key, value = (chance.choice([None, b"", b"text" * chance.randint(1, 40)]) for _ in "kv")
        name = chance.choice([b"a", b"trace-id"] + [b"\xc3\xa4"] * (chance.random() < 0.02))
        headers = [(name, chance.choice([None, b"x"]))] * chance.choice([0, 0, 1, 2])
        rows.append(
            forge.record(delta, value, key=key, timestamp_delta=time - first, headers=headers)
        )
    codec = chance.choice([0, 0, 1, 2, 3, 4])
    payload = compressions.compress(codec, b"".join(rows), magic=2)
    wrong = chance.random() < 0.05
    made = forge.batch(
        offset, payload, count=len(rows), last_offset_delta=delta + wrong, attributes=codec,
        base_timestamp=first, max_timestamp=max(times) + (chance.random() < 0.05),
        leader_epoch=chance.choice([1] * 8 + [2]),
    )  # fmt: skip
    return made, offset + delta + wrong + 1


def regular(seed: int) -> bytes:
    """Batches most of which go the fast way."""
    chance = random.Random(seed)
    made, offset = [], chance.choice([0, 7])
    for _ in range(150):
        data, offset = records_of(chance, offset)
        made.append(data)
    return b"".join(made)


def wrapped(seed: int) -> bytes:
    """Wrappers and messages of magic 0 and 1, most of which go the fast way, and some batches."""
    chance = random.Random(seed)
    magic, made, offset = chance.choice([0, 1]), list[bytes](), chance.choice([0, 7])
    for _ in range(60):
        rows = list[Record]()
        for _ in range(chance.choice([1, 2, 9, 30])):
            key, value = (chance.choice([None, b"", b"text" * chance.randint(1, 40)]) for _ in "kv")
            time = chance.choice([-1, chance.randrange(99)]) if magic else -1
            rows.append(Record(offset, time, key, value))
            offset += chance.choice([1, 1, 1, 3])
        compression = chance.choice(["gzip", "gzip", "snappy", "none", "lz4"])
        appended = magic == 1 and compression != "none" and chance.random() < 0.2
        made.append(
            encode(
                [row._replace(timestamp=50) for row in rows] if appended else rows,
                magic=2 if chance.random() < 0.05 else magic,
                compression=compression,
                timestamp_type="LogAppendTime" if appended else "CreateTime",
            )
        )
    return b"".join(made)


WRAPPED: list[dict[str, Any]] = [
    {"magic": 2, "batch_bytes": 700},
    {"magic": 2, "compression": "lz4", "batch_bytes": 5000, "offsets": "renumber"},
    {"magic": 1, "compression": "gzip", "batch_bytes": 900, "leader_epoch": 3},
    {"magic": 0, "compression": "snappy", "batch_bytes": 400, "start_offset": 40},
    {"magic": 2, "batch_bytes": 3000, "offsets": "shift", "base_offset": 1 << 62},
    {"magic": 2, "batch_bytes": 3000, "start_timestamp": 10, "end_timestamp": 80},
    {"magic": 2},
    {"magic": 1, "offsets": "renumber"},
]


@pytest.mark.core
@pytest.mark.parametrize("seed", range(extent.some(3)))
@pytest.mark.parametrize("plan", WRAPPED[:: 1 + extent.quick], ids=str)
def test_wrappers_leave_the_same_in_columns(
    plan: dict[str, Any], seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(wrapped(seed), tmp_path, monkeypatch, plan)


def test_records_of_wrappers_are_not_made_to_put_them_into_new_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [[Record(9 * n + row, 7, b"k", b"v" * 50) for row in range(9)] for n in range(40)]
    data = b"".join(encode(some, magic=1, compression="gzip") for some in rows)
    source = tmp_path / f"{0:020d}.log"
    source.write_bytes(data)
    monkeypatch.setattr("kafkaspec.conversion.message_columns.RecordRows.records", None)
    monkeypatch.setattr("kafkaspec.conversion.entries.EntryConverter._records", None)
    plan = {"magic": 2, "batch_bytes": 2000, "compression": "lz4"}
    found = outcome(source, tmp_path / "out", 1, plan)
    assert found["report"]["taken"] == 40
    made = [record for batch in Partition(tmp_path / "out").batches() for record in batch.records()]
    assert made == [record for some in rows for record in some]


@pytest.mark.core
@pytest.mark.parametrize("seed", range(extent.some(3)))
@pytest.mark.parametrize("make", [log, regular])
@pytest.mark.parametrize("plan", PLANS[:: 1 + extent.quick], ids=str)
def test_both_ways_leave_the_same(
    plan: dict[str, Any], make: Any, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each plan meets both reactions to errors, with both kinds of logs."""
    crosswise = PLANS.index(plan) + seed + (make is log)
    on_error = ("raise", "skip")[crosswise % 2]
    check(make(seed), tmp_path, monkeypatch, plan | {"on_error": on_error})


@pytest.mark.slow
@pytest.mark.parametrize("plan", [*PLANS[2:5], *PLANS[10:12], *PLANS[13:]], ids=str)
def test_goldens_become_the_same_both_ways(
    plan: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of two releases for each plan: both hold the same scenarios, in batches of magic 2."""
    number = PLANS.index(plan)
    check_goldens(("1.1.1", "4.3.1")[number % 2], tmp_path, monkeypatch, plan, number // 2)


def test_regular_batches_do_not_go_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_by_columns(tmp_path, monkeypatch, {"compression": "lz4", "batch_bytes": 500})


@pytest.mark.parametrize(
    "plan", [{"magic": 1, "compression": "none"}, {"magic": 0, "compression": "gzip"}], ids=str
)
def test_regular_batches_become_messages_many_at_a_time(
    plan: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_by_columns(tmp_path, monkeypatch, plan)


def test_batches_with_gaps_are_renumbered_many_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [forge.record(0, b"value"), forge.record(2, b"value")]
    batches = [forge.batch(3 * n, rows, last_offset_delta=2) for n in range(100)]
    check_by_columns(tmp_path, monkeypatch, {"offsets": "renumber"}, b"".join(batches))
