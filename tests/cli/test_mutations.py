"""Damaged files of real brokers: every command ends with an exit code and a message."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from tests.cli.helpers import fingerprint, run
from tests.goldens import VERSIONS, partitions
from tests.loops import each

COMMANDS = (
    ["verify", "--codec", "all"],
    ["verify", "--format", "json"],
    ["dump", "--format", "json"],
    ["dump", "--crc", "ignore"],
    ["dump", "--batches"],
    ["transactions", "--format", "json"],
    ["producers", "--format", "json"],
    ["gaps", "--format", "json"],
    ["find", "--offset", "7"],
    ["find", "--timestamp", "2021-01-01T00:00:05Z"],
    ["retention", "--format", "json"],
    ["compaction", "--format", "json"],
)

_SALVAGE = ("salvage", "--repair", "bits,headers", "--markers", "abort", "--fill", "all")


def damage(data: bytearray, chance: random.Random) -> bytearray:
    """Flip a bit, cut, overwrite, repeat a piece, or all of it a little."""
    place = chance.randrange(len(data))
    kind = chance.randrange(5)
    if kind == 0:
        data[place] ^= 1 << chance.randrange(8)
    elif kind == 1:
        del data[place:]
    elif kind == 2:
        size = chance.choice([1, 2, 4, 8])
        data[place : place + size] = bytes([chance.choice([0, 127, 128, 255])]) * size
    elif kind == 3:
        other = chance.randrange(len(data))
        data[place:place] = data[other : other + chance.randrange(200)]
    else:
        for _ in range(20):
            data[chance.randrange(len(data))] = chance.randrange(256)
    return data


@pytest.mark.slow
@each("seed", range(60))
def test_damaged_partitions(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    source = chance.choice(partitions(chance.choice(VERSIONS)))
    partition = Path(shutil.copytree(source, tmp_path / source.name))
    victims = sorted(path for path in partition.iterdir() if path.suffix and path.stat().st_size)
    if not victims:
        return
    victim = chance.choice(victims)
    victim.write_bytes(damage(bytearray(victim.read_bytes()), chance))
    before = fingerprint(partition)
    for command in COMMANDS:
        result = run(*command, partition)
        assert result.exit_code in (0, 1), command
        assert "codecs_disagree" not in result.stdout
    result = run(*_SALVAGE, "-o", tmp_path / "out", "--unproven", tmp_path / "unproven", partition)
    assert result.exit_code in (0, 1), result.stderr
    if victim.suffix != ".metadata":
        assert run("explain", victim).exit_code in (0, 1, 2)
    assert fingerprint(partition) == before
