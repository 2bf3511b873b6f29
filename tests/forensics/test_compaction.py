"""``compaction``, compared with what Kafka's own cleaner did; ``make test-kafka`` asks it again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import kafkaspec as ks
from kafkaspec.files import names
from kafkaspec.files.checkpoints import offset_checkpoint
from kafkaspec.forensics.cleaner.compaction import compaction
from kafkaspec.forensics.cleaner.dirty import DirtyBound, NotYet
from kafkaspec.forensics.cleaner.settings import Settings
from kafkaspec.forensics.cleaner.view import LogView
from kafkaspec.log.partition import Partition
from kafkaspec.writing.segment_writer import SegmentWriter
from tests import extent
from tests.cli.helpers import fingerprint, golden, run
from tests.forensics import compaction_cases as cases
from tests.loops import each

NOW = cases.START + 10 * cases.DAY


@pytest.mark.slow
@each("release", cases.RELEASES[-1:] if extent.quick else cases.RELEASES)
def test_as_kafka_cleans(tmp_path: Path, release: str) -> None:
    """Each pass begins with what Kafka left, and Kafka's is what we left, if hashes are equal."""
    checked = 0
    for key, hashes in cases.recorded().items():
        version, kind, seed = key.split()
        if version != release:
            continue
        directory = cases.write(
            int(seed), tmp_path / key / "t-0", compressed=False, legacy=kind == "messages"
        )
        bases = [int(path.stem) for path in sorted(directory.glob("*.log"))]
        steps = cases.steps(int(seed), bases, Partition(directory).log_end_offset)
        for number, (step, wanted) in enumerate(zip(steps, hashes, strict=False)):
            target = tmp_path / key / f"after-{number}" / "t-0"
            cases.ours(directory, step, release, target)
            assert cases.digest(target) == wanted, (key, number)
            directory = target
            checked += 1
    assert checked >= 12


@pytest.mark.slow
def test_without_the_extension_the_same_is_left(tmp_path: Path) -> None:
    directory = cases.write(1, tmp_path / "t-0", compressed=True, legacy=True)
    left = []
    for codec in ("native", "python"):
        target = tmp_path / codec
        target.mkdir()
        view = LogView(Partition(directory, codec=codec))
        found = compaction(view, Settings(), NOW, "3.9", target=target)
        left.append((cases.contents(target), found.removed, found.batches, found.end_offset))
    assert left[0] == left[1]
    assert left[0][1]


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    """Two closed segments with a key in each, and an active one that has both keys again."""
    path = tmp_path / "logs" / "t-0"
    path.parent.mkdir()
    with SegmentWriter(path, segment_bytes=200, sync=False) as writer:
        for number in range(6):
            key = b"a" if number % 2 else b"b"
            record = ks.Record(number, cases.START + number, key, b"%d" % number * 60)
            writer.append(ks.encode([record]))
    assert len(list(path.glob("*.log"))) > 3
    return path


def test_the_active_segment_does_not_supersede(partition: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    found = compaction(LogView(Partition(partition)), Settings(), NOW, target=out)
    kept = list(Partition(out).records())
    active = Partition(partition).last_base_offset
    assert active is not None
    assert found.dirty.bound is DirtyBound.ACTIVE
    closed = [record for record in Partition(partition).records() if record.offset < active]
    last = {record.key: record for record in closed}
    assert [r for r in kept if r.offset < active] == sorted(last.values(), key=lambda r: r.offset)
    assert [r.offset for r in kept if r.offset >= active] == list(range(active, 6))


def test_a_second_pass_changes_nothing(partition: Path, tmp_path: Path) -> None:
    """With no new dirty bytes, and before the horizons."""
    one, two = tmp_path / "one" / "t-0", tmp_path / "two" / "t-0"
    for path in (one, two):
        path.mkdir(parents=True)
    found = compaction(LogView(Partition(partition)), Settings(), NOW, target=one)
    (one.parent / names.CLEANER_OFFSETS).write_text(f"0\n1\nt 0 {found.end_offset}\n")
    again = compaction(LogView(Partition(one)), Settings(), NOW, target=two)
    assert again.dirty.not_yet is NotYet.NOTHING
    assert cases.contents(two) == cases.contents(one)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"cleanup.policy": "delete"}, NotYet.POLICY),
        ({"min.cleanable.dirty.ratio": "1.0"}, NotYet.RATIO),
        ({"min.compaction.lag.ms": str(100 * cases.DAY)}, NotYet.EMPTY),
        ({}, None),
        ({"min.cleanable.dirty.ratio": "1.0", "max.compaction.lag.ms": "1"}, None),
    ],
    ids=str,
)
def test_why_not_yet(partition: Path, settings: dict[str, str], why: NotYet | None) -> None:
    found = compaction(LogView(Partition(partition)), Settings(settings), NOW)
    assert found.dirty.not_yet is why
    if "min.compaction.lag.ms" in settings:
        assert found.dirty.bound is DirtyBound.LAG
        assert found.dirty.holder is not None


def test_the_command_writes_a_log_directory(partition: Path, tmp_path: Path) -> None:
    before, out = fingerprint(partition), tmp_path / "out"
    shown = run("compaction", "--clock", str(NOW), "-o", out, partition)
    assert shown.exit_code == 1, shown.output
    assert "superseded" in shown.stdout
    assert "cleanup.policy = compact, default of Kafka" in shown.stdout
    entries = offset_checkpoint.read(out / names.CLEANER_OFFSETS)
    assert [(each.topic, each.partition) for each in entries] == [("t", 0)]
    assert entries[0].offset == Partition(partition).last_base_offset
    assert ks.verify(out).clean
    again = run("compaction", "--clock", str(NOW), out)
    assert again.exit_code == 0
    assert fingerprint(partition) == before
    taken = run("compaction", "--clock", str(NOW), "-o", out, partition)
    assert taken.exit_code == 2


def test_each_record_that_goes(partition: Path) -> None:
    shown = run("compaction", "--clock", str(NOW), "--show-records", "--format", "json", partition)
    lines = [json.loads(line) for line in shown.stdout.splitlines()]
    gone = [line for line in lines if line["type"] == "record"]
    keys = {record.offset: record.key for record in Partition(partition).records()}
    assert gone
    for line in gone:
        assert line["rule"] == "superseded"
        assert line["newest"] > line["offset"]
        assert keys[line["newest"]] == keys[line["offset"]]
    assert lines[-2]["removed"] == {"superseded": len(gone)}


def test_a_log_that_a_broker_cleaned_is_clean() -> None:
    """Below its checkpoint; the golden brokers were stopped after their cleaners."""
    for name in ("compacted-0", "compacted-transactions-0"):
        shown = run("compaction", "--clock", str(NOW), golden("4.3.1", name))
        assert shown.exit_code == 0
        assert "no whole segment is dirty" in shown.stdout


def test_damage_stops_the_output_but_not_the_report(partition: Path, tmp_path: Path) -> None:
    path = sorted(partition.glob("*.log"))[0]
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    other = Path(shutil.copytree(golden("3.9.2", "segments-0"), partition.parent / "segments-0"))
    assert run("compaction", other, partition).exit_code == 1
    out = tmp_path / "out"
    assert run("compaction", "-o", out, other, partition).exit_code == 2
    assert not out.exists()


def test_older_releases_are_refused(partition: Path) -> None:
    shown = run("compaction", "--profile", "1.1", partition)
    assert shown.exit_code == 2
    assert "before 2.4.1" in shown.stderr


@pytest.mark.slow
def test_damage_is_said_once_and_its_offsets_are_named(tmp_path: Path) -> None:
    """The cleaner stops at a broken header; what is lost there is what ``gaps`` names."""
    for number in (12, 36):  # a closed segment, and the active one
        place = tmp_path / str(number) / "segments-0"
        shutil.copytree(golden("4.3.1", "segments-0"), place)
        path = place / f"{number:020}.log"
        data = bytearray(path.read_bytes())
        data[8:12] = b"\xff\xff\xff\xff"
        path.write_bytes(data)
        found = {name: run(name, place, "--format", "json") for name in ("compaction", "gaps")}
        told = {name: result.stderr.splitlines() for name, result in found.items()}
        assert told["compaction"] == told["gaps"]
        assert f"offsets {number} to {number + 2} are missing" in found["gaps"].stderr
        sums = [json.loads(result.stdout.splitlines()[-1]) for result in found.values()]
        for name in ("exit_code", "logs", "unreadable", "undecoded", "missing"):
            assert sums[0][name] == sums[1][name], (number, name)
