"""Batches that stay batches: the fast way writes what the way of entries does, for any jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafkaspec import compression as compressions
from kafkaspec.codecs import codec_names
from kafkaspec.conversion import kept
from tests import extent
from tests.conversion.ways import check, check_by_columns, check_goldens, log
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


@pytest.mark.core
@pytest.mark.parametrize("seed", range(extent.some(3)))
@pytest.mark.parametrize("on_error", ["raise", "skip"])
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
    check_goldens(version, tmp_path, monkeypatch, plan, int("offsets" in plan))


@pytest.mark.core
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
    check_by_columns(tmp_path, monkeypatch, {"compression": "lz4"})
