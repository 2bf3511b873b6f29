"""Two copies of a log: what differs, what of it is legal, and what a follower truncates."""

from __future__ import annotations

import random
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

import kafkaspec as ks
from kafkaspec.files.checkpoints.leader_epoch_checkpoint import EpochEntry
from kafkaspec.forensics.replicas.comparison import (
    DifferenceKind,
    ReplicaComparison,
    ReplicaEpochs,
    compare_replicas,
    truncation,
)
from kafkaspec.log.partition import Partition
from tests.cli.helpers import lines, run
from tests.extent import examples
from tests.goldens import GOLDEN, VERSIONS, distinct_partitions
from tests.log.forge import batch, record

REPLICAS = Path(__file__).with_name("replicas")
"""Two brokers of 4.3.1 after an unclean election; see ``tests/kafka/test_replicas.py``."""


def _compare(a: Path, b: Path) -> ReplicaComparison:
    with Partition(a) as first, Partition(b) as second:
        return compare_replicas(first, second)


@pytest.mark.slow
def test_real_replicas_after_an_unclean_election() -> None:
    """The broker of A logged that it truncated from its high watermark 93 to 48."""
    result = run("diff", "--format", "json", REPLICAS / "a", REPLICAS / "b")
    assert result.exit_code == 1
    found = {item["type"]: item for item in reversed(lines(result))}
    assert found["partition"]["divergence"] == 48
    assert found["difference"]["kind"] == "diverged"
    assert found["truncation"]["leader"] == "B"
    assert found["truncation"]["offset"] == 48
    assert found["truncation"]["acknowledged"] == [48, 93]
    text = run("diff", REPLICAS / "a", REPLICAS / "b").stdout
    assert "A truncates to 48 and loses offsets 48 to 92" in text
    assert "acknowledged records" in text


@pytest.mark.slow
def test_a_log_is_the_same_as_itself() -> None:
    for version in VERSIONS:
        for path in distinct_partitions(version):
            found = _compare(path, path)
            assert found.differences == [], path
            assert found.same is (not found.errors), path


# -- kinds -----------------------------------------------------------------------------------------

Batches = list[bytes]


def _plain(count: int, *, start: int = 0, epoch: int = 0, text: bytes = b"v") -> Batches:
    """Batches of two records each; key k0, k1 ... of five."""
    return [
        batch(
            offset,
            [
                record(n, text + b"%d" % (offset + n), key=b"k%d" % ((offset + n) % 5))
                for n in (0, 1)
            ],
            leader_epoch=epoch,
        )
        for offset in range(start, start + 2 * count, 2)
    ]


def _damaged(data: bytes) -> bytes:
    return data[:-3] + bytes([data[-3] ^ 0x10]) + data[-2:]


def _gone(offset: int, kept: list[int], **fields: bytes | None) -> bytes:
    """A batch of two from which a cleaner has removed records."""
    records = [
        record(n, fields.get(f"v{n}", b"v%d" % (offset + n)), key=b"k%d" % ((offset + n) % 5))
        for n in kept
    ]
    return batch(offset, records, last_offset_delta=1)


@dataclass(frozen=True)
class Case:
    """Batches of A and B, cleaner offsets, and the kinds and offsets of their differences."""

    name: str
    a: Batches
    b: Batches
    expected: list[tuple[DifferenceKind, int, int]]
    cleaner: tuple[int, int] = (0, 0)


_TEN = _plain(10)
CASES = [
    Case("behind", _TEN, _TEN[:7], [(DifferenceKind.END, 14, 19)]),
    Case("later start", _TEN[3:], _TEN, [(DifferenceKind.LOG_START, 0, 5)]),
    Case(
        "both", _TEN[3:], _TEN[:7], [(DifferenceKind.LOG_START, 0, 5), (DifferenceKind.END, 14, 19)]
    ),
    Case("hole", _TEN, _TEN[:4] + _TEN[6:], [(DifferenceKind.MISSING, 8, 11)]),
    Case(
        "holes of both",
        _TEN[:2] + _TEN[3:],
        _TEN[:7] + _TEN[8:],
        [(DifferenceKind.MISSING, 4, 5), (DifferenceKind.MISSING, 14, 15)],
    ),
    Case("flip", _TEN, [*_TEN[:4], _damaged(_TEN[4]), *_TEN[5:]], [(DifferenceKind.DAMAGED, 8, 9)]),
    Case(
        "other value",
        _TEN,
        _TEN[:4] + _plain(1, start=8, text=b"x") + _TEN[5:],
        [(DifferenceKind.CHANGED, 8, 9)],
    ),
    Case(
        "two leaders",
        _TEN[:5] + _plain(3, start=10, text=b"a"),
        _TEN[:5] + _plain(6, start=10, epoch=1, text=b"b"),
        [(DifferenceKind.DIVERGED, 10, 21)],
    ),
    Case(
        "two leaders, other batches",
        [*_TEN[:5], batch(10, [record(0, b"a")]), batch(11, [record(0, b"b"), record(1, b"c")])],
        _TEN[:5] + _plain(6, start=10, epoch=1, text=b"b"),
        [(DifferenceKind.DIVERGED, 10, 21)],
    ),
    Case(
        "cleaned",
        _TEN,
        [_gone(0, [1]), *_TEN[2:]],
        [(DifferenceKind.CLEANED, 0, 3)],
        cleaner=(0, 10),
    ),
    Case(
        "cleaned too far: nothing newer below the checkpoint",
        _TEN[:2],
        [_gone(0, [1]), _TEN[1]],
        [(DifferenceKind.CLEANED, 0, 1), (DifferenceKind.MISSING, 0, 0)],
        cleaner=(0, 4),
    ),
    Case(
        "changed where a cleaner was",
        _TEN,
        [_gone(0, [0, 1], v0=b"other"), *_TEN[1:]],
        [(DifferenceKind.CLEANED, 0, 1), (DifferenceKind.CHANGED, 0, 0)],
        cleaner=(0, 10),
    ),
    Case(
        "tombstone removed",
        [_gone(0, [0, 1], v0=None), *_TEN[1:2]],
        [_gone(0, [1]), *_TEN[1:2]],
        [(DifferenceKind.CLEANED, 0, 1)],
        cleaner=(0, 4),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("swapped", [False, True])
def test_kinds(case: Case, swapped: bool, tmp_path: Path) -> None:
    paths = []
    for name, batches, cleaner in zip("ab", (case.a, case.b), case.cleaner, strict=True):
        first = ks.Segment(batches[0]).batch_at(0).base_offset
        path = tmp_path / name / "t-0"
        path.mkdir(parents=True)
        half = len(batches) // (2 if name == "a" else 3)
        for part in (batches[:half], batches[half:]):
            base = ks.Segment(part[0]).batch_at(0).base_offset if part else first
            (path / f"{base:020}.log").write_bytes(b"".join(part))
        (path.parent / "cleaner-offset-checkpoint").write_text(f"0\n1\nt 0 {cleaner}\n")
        paths.append(path)
    if swapped:
        paths.reverse()
    found = _compare(*paths)
    kinds = [(each.kind, each.first_offset, each.last_offset) for each in found.differences]
    assert sorted(kinds) == sorted(case.expected)
    assert found.same is all(each.legal for each in found.differences)
    assert not found.errors


def test_an_unreadable_entry_is_named_and_passed_over(tmp_path: Path) -> None:
    broken = bytearray(_TEN[4])
    broken[16] = 9  # magic
    for name, batches in (("a", _TEN), ("b", [*_TEN[:4], bytes(broken), *_TEN[5:]])):
        (tmp_path / name / "t-0").mkdir(parents=True)
        (tmp_path / name / "t-0" / f"{0:020}.log").write_bytes(b"".join(batches))
    result = run("diff", "--format", "json", tmp_path / "a" / "t-0", tmp_path / "b" / "t-0")
    assert result.exit_code == 1
    assert "[invalid_value]" in result.stderr
    (found,) = [item for item in lines(result) if item["type"] == "difference"]
    assert (found["kind"], found["offsets"]) == ("missing", [8, 10])
    assert (found["first_offset"], found["last_offset"]) == (8, 9)


def test_any_damage_is_seen(tmp_path: Path) -> None:
    """No byte of a log can change without a finding, and no foreign exception comes out."""
    chance = random.Random(14)
    original = b"".join(_TEN)
    places = [tmp_path / name / "t-0" for name in "ab"]
    for place in places:
        place.mkdir(parents=True)
        (place / f"{0:020}.log").write_bytes(original)
    log = places[1] / f"{0:020}.log"
    for _ in range(examples(300)):
        data = bytearray(original)
        at = chance.randrange(len(data))
        data[at] ^= chance.randrange(1, 256)
        log.write_bytes(data)
        found = _compare(*places)
        assert found.differences or found.errors, at
        result = run("diff", *places) if chance.random() < 0.05 else None
        assert result is None or result.exit_code in (0, 1)


# -- truncation ------------------------------------------------------------------------------------


def _history(chance: random.Random, rounds: int) -> tuple[list[list[tuple[int, int]]], list[int]]:
    """Replicas that take turns to lead: for each, the epoch of each offset; and the leaders."""
    logs: list[list[tuple[int, int]]] = [[], [], []]
    leaders = []
    for epoch in range(rounds):
        leader = chance.randrange(3)
        leaders.append(leader)
        for offset in range(len(logs[leader]), len(logs[leader]) + chance.randrange(4)):
            logs[leader].append((epoch, offset))
    return logs, leaders


def _epochs(log: list[tuple[int, int]]) -> ReplicaEpochs:
    entries: list[EpochEntry] = []
    for epoch, offset in log:
        if not entries or entries[-1].epoch != epoch:
            entries.append(EpochEntry(epoch, offset))
    return ReplicaEpochs(entries, len(log))


def test_after_truncation_a_follower_has_a_prefix_of_the_leader() -> None:
    """The law of KIP-101 and KIP-279, whatever leaders wrote alone before."""
    chance = random.Random(101)
    for number in range(examples(3000)):
        logs, _ = _history(chance, chance.randrange(1, 9))
        follower, leader = chance.sample(logs, 2)
        epochs = _epochs(follower), _epochs(leader).elected(9)
        offset, steps = truncation(*epochs, high_watermark=0)
        assert follower[:offset] == leader[:offset], (number, logs, steps)
        assert len(steps) <= len({epoch for epoch, _ in follower}), number


# -- the command -----------------------------------------------------------------------------------


def test_log_directories(tmp_path: Path) -> None:
    source = REPLICAS / "a"
    other = shutil.copytree(source, tmp_path / "copy")
    shutil.copytree(other / "elected-0", other / "more-0")
    result = run("diff", source, other)
    assert result.exit_code == 0
    assert "1 partition without a copy" in result.stderr
    assert "1 partition the same" in result.stderr
    mixed = run("diff", source, other / "more-0")
    assert mixed.exit_code == 2
    nothing = run("diff", source, tmp_path / "none")
    assert nothing.exit_code == 2


def test_remote_storage_has_what_the_broker_deleted() -> None:
    """No broker of the local log truncates to it."""
    place = GOLDEN / "4.3.1" / "tiered"
    result = run("diff", "--format", "json", place / "logs", place / "remote")
    assert result.exit_code == 0
    found = [item for item in lines(result) if item["type"] != "assumption"]
    assert [item.get("kind") for item in found] == ["log_start", "end", None, None]
    assert all(item["topic"] == "tiered" for item in found[:-1])


def test_without_pyarrow_the_logs_are_compared_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Only the elections, and records where a cleaner was, need it; what is left out is named."""
    monkeypatch.setattr("kafkaspec.cli.commands.diff.require_pyarrow", _no_arrow)
    path = GOLDEN / "4.3.1" / "logs" / "plain-0"
    result = run("diff", path, path)
    assert result.exit_code == 0
    assert "not searched for unclean elections: no columns" in result.stderr


def _no_arrow() -> None:
    raise ImportError("no columns")
