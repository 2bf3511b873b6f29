"""``diff`` of two states says where the logs differ that ``diff`` of the logs compares."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

import kafkaspec as ks
from kafkaspec.analysis.state_file import StateFile
from kafkaspec.forensics.replicas.comparison import DifferenceKind, LogDifference, compare_replicas
from kafkaspec.forensics.replicas.states import StateComparison, compare_states
from kafkaspec.log.partition import Partition
from tests import work
from tests.cli.helpers import lines, run
from tests.goldens import GOLDEN
from tests.log.forge import batch, record

REPLICAS = Path(__file__).with_name("replicas")
NAME = "orders-0"


def write(home: Path, batches: list[bytes], *, cuts: list[int], start: int = 0) -> Path:
    """Write a partition whose segments begin at some of its batches, and return it."""
    place = home / NAME
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    bounds = [start, *(cut for cut in cuts if cut > start), len(batches)]
    for first, stop in pairwise(bounds):
        base = int.from_bytes(batches[first][:8], "big") if first < len(batches) else 0
        (place / f"{base:020}.log").write_bytes(b"".join(batches[first:stop]))
    return place


def made(count: int, epoch: int = 0, text: bytes = b"v") -> list[bytes]:
    return [
        batch(
            offset,
            [record(n, text + b"%d" % (offset + n), key=b"k%d" % (offset + n)) for n in (0, 1)],
            leader_epoch=epoch,
        )
        for offset in range(0, 2 * count, 2)
    ]


def by_states(a: Path, b: Path) -> StateComparison:
    """What two states say, which are made of the logs."""
    states = []
    for number, log in enumerate((a, b)):
        state = log.parent.parent / f"{number}.state"
        state.unlink(missing_ok=True)
        ks.verify(log.parent, state=state)
        states.append(state)
    (found,), _ = compare_states(*map(StateFile, states))
    return found


def overlap(one: LogDifference, other: LogDifference) -> bool:
    return one.first_offset <= other.last_offset and other.first_offset <= one.last_offset


def agree(a: Path, b: Path) -> StateComparison:
    """Compare the answer of states with that of segments."""
    with Partition(a) as first, Partition(b) as second:
        exact = compare_replicas(first, second)
    found = by_states(a, b)
    assert found.same is exact.same
    for item in exact.differences:
        assert any(overlap(item, other) for other in found.differences), item
    for other in found.differences:
        assert any(overlap(item, other) for item in exact.differences), other
    return found


Change = Callable[[list[bytes], random.Random], list[bytes]]


def flipped(batches: list[bytes], chance: random.Random) -> list[bytes]:
    number = chance.randrange(len(batches))
    data = bytearray(batches[number])
    data[-3] ^= 0x10
    return [*batches[:number], bytes(data), *batches[number + 1 :]]


def without_tail(batches: list[bytes], chance: random.Random) -> list[bytes]:
    return batches[: chance.randrange(1, len(batches))]


def of_another_epoch(batches: list[bytes], chance: random.Random) -> list[bytes]:
    number = chance.randrange(1, len(batches))
    return batches[:number] + made(len(batches), epoch=1)[number:]


def without_one(batches: list[bytes], chance: random.Random) -> list[bytes]:
    number = chance.randrange(1, len(batches) - 1)
    return batches[:number] + batches[number + 1 :]


def the_same(batches: list[bytes], chance: random.Random) -> list[bytes]:
    return list(batches)


@pytest.mark.slow
@pytest.mark.parametrize("change", [flipped, without_tail, of_another_epoch, without_one, the_same])
def test_states_differ_where_segments_do(tmp_path: Path, change: Change) -> None:
    for seed in range(12):
        chance = random.Random(seed)
        batches = made(chance.choice([12, 300]))
        cuts = [sorted(chance.sample(range(1, len(batches)), 2)) for _ in "ab"]
        a = write(tmp_path / "a", batches, cuts=cuts[0])
        b = write(tmp_path / "b", change(batches, chance), cuts=[x for x in cuts[1] if x < 6])
        found = agree(a, b)
        legal = change in (without_tail, the_same)
        assert all(item.legal for item in found.differences) is legal or change is of_another_epoch


def test_a_flip_is_found_in_a_small_range(tmp_path: Path) -> None:
    batches = made(1000)
    a = write(tmp_path / "a", batches, cuts=[500])
    data = bytearray(batches[600])
    data[-3] ^= 0x10
    b = write(tmp_path / "b", [*batches[:600], bytes(data), *batches[601:]], cuts=[300])
    (item,) = agree(a, b).differences
    assert item.kind is DifferenceKind.OTHER
    assert item.first_offset <= 1200 <= item.last_offset
    assert item.last_offset - item.first_offset < 32


def test_a_later_start_is_legal(tmp_path: Path) -> None:
    batches = made(300)
    a = write(tmp_path / "a", batches, cuts=[100])
    b = write(tmp_path / "b", batches, cuts=[100], start=100)
    found = agree(a, b)
    assert {item.kind for item in found.differences} == {DifferenceKind.LOG_START}


def test_real_replicas_after_an_unclean_election(tmp_path: Path) -> None:
    for name in "ab":
        ks.verify(REPLICAS / name, state=tmp_path / name)
    result = run("diff", "--format", "json", tmp_path / "a", tmp_path / "b")
    assert result.exit_code == 1
    found = lines(result)
    first = next(item for item in found if item["type"] == "difference" and not item["legal"])
    assert first["first_offset"] <= 48 <= first["last_offset"]
    text = run("diff", tmp_path / "a", tmp_path / "b").stdout
    assert "elected-0" in text


@pytest.mark.slow
def test_the_same_logs_have_the_same_states(tmp_path: Path) -> None:
    logs = GOLDEN / "4.3.1" / "logs"
    shutil.copytree(logs, tmp_path / "copy")
    ks.verify(logs, state=tmp_path / "a")
    ks.verify(tmp_path / "copy", state=tmp_path / "b")
    shutil.rmtree(tmp_path / "copy")
    result = run("diff", tmp_path / "a", tmp_path / "b")
    assert result.exit_code == 0
    assert "partitions the same, by what verify remembers" in result.stderr + result.stdout


def test_a_state_and_a_log_are_not_compared(tmp_path: Path) -> None:
    logs = GOLDEN / "4.3.1" / "logs" / "plain-0"
    ks.verify(logs, state=tmp_path / "a")
    result = run("diff", tmp_path / "a", logs)
    assert result.exit_code == 2
    assert "both states" in result.stderr
    os.truncate(tmp_path / "a", 200)
    result = run("diff", tmp_path / "a", tmp_path / "a")
    assert result.exit_code == 2
    assert "cut off" in result.stderr


@pytest.mark.slow
def test_each_segment_is_decoded_once(tmp_path: Path) -> None:
    """However many differences there are: the work grows with the segments."""

    def compared(segments: int) -> int:
        size, batches = 32, made(32 * segments)
        cuts = list(range(size, len(batches), size))
        other = list(batches)
        for number in range(0, len(batches), 2 * size):
            other[number] = made(len(batches), text=b"w")[number]
        states = []
        for name, data in (("a", batches), ("b", other)):
            home = tmp_path / f"{name}{segments}"
            write(home, data, cuts=cuts)
            states.append(StateFile(tmp_path / f"{name}{segments}.state"))
            ks.verify(home, state=states[-1].place)
        (found,), _ = compare_states(*states)
        assert len(found.differences) == segments // 2
        return work.calls(lambda: compare_states(*states))

    compared(4)
    assert compared(32) < 5 * compared(8)
