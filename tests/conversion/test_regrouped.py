"""New batches, and messages: the fast way writes what the way of entries does, for any jobs."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from kafkaspec import compression as compressions
from kafkaspec.codecs import codec_names
from tests import extent
from tests.conversion.ways import check, check_by_columns, check_goldens, log
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
