"""Partitioners against answers of librdkafka's own library and of Kafka's Java client."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import kafkaspec as ks
from kafkaspec.cli.main import main
from kafkaspec.forensics.partitions import HASHES, hash_keys, partition_of, place_keys
from kafkaspec.forensics.partitions.partitioners import PARTITIONERS, partitions_of
from kafkaspec.results import Strength

ANSWERS = Path(__file__).with_name("partitioner_answers.json")
_KAFKAS_OWN = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}
"""Of Kafka's ``UtilsTest.testMurmur2``."""


def _columns(keys: list[bytes]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    data = np.frombuffer(b"".join(keys), dtype=np.uint8)
    sizes = np.array([len(key) for key in keys], dtype=np.int64)
    return data, np.cumsum(sizes) - sizes, sizes


@pytest.mark.slow
def test_partitions_are_those_of_both_clients() -> None:
    answers = json.loads(ANSWERS.read_text(encoding="utf-8"))
    _, _, *partitioners = answers["columns"]
    keys = [bytes.fromhex(row[0]) for row in answers["rows"]]
    for number, name in enumerate(partitioners, 2):
        chosen = PARTITIONERS[name].hash
        hashes = hash_keys(chosen, *_columns(keys))
        for row, key, each in zip(answers["rows"], keys, hashes, strict=True):
            assert partition_of(name, key, row[1]) == row[number], (name, row)
            assert int(partitions_of(chosen, np.array([each]), row[1])[0]) == row[number]


def test_keys_without_bytes_are_those_of_librdkafka() -> None:
    """What its library answers for no bytes and 7 partitions."""
    for key in (None, b""):
        found = [partition_of(name, key, 7) for name in ("murmur2", "consistent", "fnv1a")]
        assert found == [2, 0, 2]


def test_murmur2_is_that_of_kafkas_own_test() -> None:
    hashes = hash_keys("murmur2", *_columns(list(_KAFKAS_OWN)))
    assert hashes.astype(np.int32).tolist() == list(_KAFKAS_OWN.values())


@pytest.mark.slow
@pytest.mark.parametrize("name", HASHES)
def test_a_column_has_the_hashes_of_its_keys(name: str) -> None:
    chance = random.Random(3)
    keys = [chance.randbytes(chance.randrange(0, 70)) for _ in range(200)]
    together = hash_keys(name, *_columns(keys))
    assert together.tolist() == [int(hash_keys(name, *_columns([key]))[0]) for key in keys]
    assert hash_keys(name, *_columns([])).tolist() == []


def _topic(place: Path, placed: list[tuple[bytes | None, int]], count: int) -> list[ks.Partition]:
    """Write a topic: keys, each with its partition, in this order."""
    logs: dict[int, list[ks.Record]] = {number: [] for number in range(count)}
    for at, (key, number) in enumerate(placed):
        logs[number].append(ks.Record(len(logs[number]), 1000 + at, key, b"v"))
    for number, records in logs.items():
        directory = place / f"orders-{number}"
        directory.mkdir(parents=True)
        data = ks.encode(records) if records else b""
        (directory / f"{0:020d}.log").write_bytes(data)
    return [ks.Partition(place / f"orders-{number}") for number in range(count)]


def _placed(partitioner: str, count: int, start: int, stop: int) -> list[tuple[bytes | None, int]]:
    answers: list[tuple[bytes | None, int]] = []
    for number in range(start, stop):
        key = b"key-%d" % number
        place = partition_of(partitioner, key, count)
        assert place is not None
        answers.append((key, place))
    return answers


@pytest.mark.parametrize("partitioner", ["default", "consistent_random", "fnv1a"])
def test_the_partitioner_is_found(partitioner: str, tmp_path: Path) -> None:
    topic = _topic(tmp_path, _placed(partitioner, 6, 0, 300), 6)
    found = place_keys(topic)
    assert found.best is not None
    assert partitioner in found.best.partitioners
    assert found.best.strength is Strength.STRONG
    assert found.best.fits == found.best.keyed == 300
    assert not len(found.misplaced)


def test_misplaced_keys_are_named(tmp_path: Path) -> None:
    placed = _placed("default", 6, 0, 300)
    key, right = placed[100]
    placed[100] = key, (right + 1) % 6
    found = place_keys(_topic(tmp_path, placed, 6))
    offset = sum(1 for _, number in placed[:100] if number == placed[100][1])
    (row,) = found.misplaced.to_pylist()
    wanted = {"topic": "orders", "partition": placed[100][1], "offset": offset, "belongs": right}
    assert row == wanted
    assert found.best is not None
    assert found.best.strength is Strength.LIKELY


@pytest.mark.slow
def test_a_change_of_the_number_is_found(tmp_path: Path) -> None:
    before = _placed("default", 4, 0, 200)
    placed = before + _placed("default", 6, 200, 500)
    found = place_keys(_topic(tmp_path, placed, 6))
    assert found.best is not None
    assert found.best.before == 4
    assert not len(found.misplaced)
    for item in found.placements:
        old = [at for at, (_, number) in enumerate(before) if number == item.partition]
        if item.partition >= 4:
            assert item.growth is None
            continue
        assert item.growth is not None
        assert item.growth.offset is not None
        # Records that fit both numbers can stand on either side of the change.
        near = [key for key, number in placed if number == item.partition]
        between = near[min(item.growth.offset, len(old)) : max(item.growth.offset, len(old))]
        for key in between:
            assert partition_of("default", key, 4) == partition_of("default", key, 6)


def test_records_without_a_key_say_which_of_a_family(tmp_path: Path) -> None:
    placed = _placed("default", 6, 0, 300) + [(None, number) for number in range(6)]
    found = place_keys(_topic(tmp_path, placed, 6))
    assert found.best is not None
    assert found.best.partitioners == ("default", "murmur2_random")
    assert [item.null_keys for item in found.placements] == [1] * 6


def test_nothing_is_claimed_of_one_partition_or_of_chance(tmp_path: Path) -> None:
    one = place_keys(_topic(tmp_path / "one", _placed("default", 1, 0, 300), 1))
    assert one.best is None
    chance = random.Random(5)
    keys: list[tuple[bytes | None, int]] = [
        (b"key-%d" % number, chance.randrange(6)) for number in range(300)
    ]
    assert place_keys(_topic(tmp_path / "chance", keys, 6)).best is None
    few = place_keys(_topic(tmp_path / "few", _placed("default", 6, 0, 5), 6))
    assert few.best is not None
    assert few.best.strength is Strength.CONSISTENT


@pytest.mark.slow
def test_the_command(tmp_path: Path) -> None:
    _topic(tmp_path, _placed("default", 4, 0, 200) + _placed("default", 6, 200, 500), 6)
    done = CliRunner().invoke(main, ["partitions", str(tmp_path)])
    assert done.exit_code == 1, done.output
    assert "before, it had 4 partitions" in done.stdout
    done = CliRunner().invoke(main, ["partitions", "--format", "json", str(tmp_path)])
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert {line["type"] for line in lines} == {"fit", "partition", "assumption", "summary"}
    assert lines[0]["before"] == 4
    assert CliRunner().invoke(main, ["partitions", str(tmp_path / "none")]).exit_code == 2
    few = ["partitions", "--count", "2", str(tmp_path)]
    assert CliRunner().invoke(main, few).exit_code == 2
    bad = tmp_path / "orders-0" / f"{0:020d}.log"
    bad.write_bytes(bad.read_bytes()[:-1] + b"x")
    done = CliRunner().invoke(main, ["partitions", str(tmp_path)])
    assert done.exit_code == 1
    assert "checksum" in done.stderr or "crc32c" in done.stderr
