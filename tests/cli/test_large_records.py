"""A record of many MiB takes a few times its size of memory in every command that has its bytes."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

import kafkaspec as ks
from benchmarks.growth.measuring import spend
from tests.cli.helpers import lines, run
from tests.log.test_pieces import MEBIBYTE, measured

SIZE = 48 * MEBIBYTE
COMMANDS = [
    "verify {log}",
    "dump --format json {log}",
    "find --format json --offset 0 {log}",
    "find --format json --key k {log}",
    "explain {log}",
    "explain --format json {log}",
    "export -o {out}.parquet {log}",
    "redact --key k -o {out} {log}",
]


def stored(path: Path, value: bytes) -> Path:
    log = path / "t-0" / f"{0:020}.log"
    log.parent.mkdir(parents=True)
    log.write_bytes(ks.encode([ks.Record(0, 1, b"k", value)]))
    return log.parent


@pytest.mark.slow
@measured
@pytest.mark.parametrize("command", COMMANDS)
def test_a_large_record_takes_at_most_four_times_its_size(tmp_path: Path, command: str) -> None:
    used = []
    for size in (1000, SIZE):
        log = stored(tmp_path / str(size), bytes(size))
        words = shlex.split(command.format(log=log, out=tmp_path / f"out-{size}"))
        used.append(spend([sys.executable, "-m", "kafkaspec", *words], 60).memory * MEBIBYTE)
    assert used[1] - used[0] < 4 * SIZE


@pytest.mark.slow
@pytest.mark.parametrize("text", ["\0\u20ac\U0001f600\n" * 150_000, None])
def test_find_shows_a_large_record_as_a_small_one(tmp_path: Path, text: str | None) -> None:
    """In ASCII, as all of the line; ``dump`` shows the same."""
    value = b"\xff" * (2 * MEBIBYTE) if text is None else text.encode()
    assert len(value) > MEBIBYTE
    log = stored(tmp_path, value)
    result = run("find", "--format", "json", "--key", "k", log)
    (found,) = lines(result)
    (dumped,) = lines(run("dump", "--format", "json", log))
    assert result.stdout.isascii()
    assert found["record"] == dumped
    assert text is None or found["record"]["value"] == text
    assert json.loads(result.stdout)["how"] == "key"
