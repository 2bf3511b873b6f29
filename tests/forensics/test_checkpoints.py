"""What deleteRecords removed stays removed, whoever writes the log again."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import kafkaspec as ks
from kafkaspec.files import names
from kafkaspec.files.checkpoints import leader_epoch_checkpoint, offset_checkpoint
from kafkaspec.files.checkpoints.leader_epoch_checkpoint import EpochEntry
from kafkaspec.files.checkpoints.log_directory import Checkpoints
from kafkaspec.files.checkpoints.offset_checkpoint import PartitionOffset
from kafkaspec.log.partition import Partition
from tests.cli.helpers import fingerprint, lines, run
from tests.goldens import GOLDEN

COMMANDS: dict[str, tuple[str, ...]] = {
    "salvage": ("salvage",),
    "redact": ("redact", "--key", "nobody"),
    "convert": ("convert",),
    "compaction": ("compaction", "--config", "cleanup.policy=delete"),
}
ALONE = [name for name in COMMANDS if name != "compaction"]  # it always writes a log directory
END = 45


def _log_directory(
    place: Path, start: int, *, magic: int = 2, compression: str = "none", step: int = 10
) -> Path:
    """Write a log directory with three segments of entries that begin at each tenth offset."""
    log = place / "t-0"
    log.mkdir(parents=True)
    for base in (0, 20, 40):
        entries = [
            ks.encode(
                [
                    ks.Record(n, n if magic else -1, b"k%d" % n, b"v%d" % n)
                    for n in range(first, min(first + step, END))
                ],
                magic=magic,
                compression=compression,
                partition_leader_epoch=first // 10 if magic == 2 else -1,
            )
            for first in range(base, min(base + 20, END), step)
        ]
        (log / f"{base:020}.log").write_bytes(b"".join(entries))
    ks.rebuild_indexes(log, place / "made-0")
    for path in (place / "made-0").iterdir():
        path.rename(log / path.name)
    (place / "made-0").rmdir()
    _list(place, names.LOG_START_OFFSETS, start)
    _list(place, names.HIGH_WATERMARKS, END)
    _list(place, names.RECOVERY_POINTS, END)
    return place


def _list(place: Path, file: str, offset: int) -> None:
    data = offset_checkpoint.serialize([PartitionOffset("t", 0, offset)])
    (place / file).write_bytes(data)


def _delivered(partition: Path) -> list[Any]:
    """What a broker delivers: all from the log start offset on."""
    with Partition(partition) as log:
        return list(log.records(log_start="checkpoint"))


def _dumped(path: Path) -> list[tuple[int, Any]]:
    """What the command shows of a partition, without asking for deleted records."""
    shown = run("dump", "--format", "json", "--log-start", "checkpoint", path)
    return [(item["offset"], item["value"]) for item in lines(shown) if "value" in item]


def _run(command: str, source: Path, out: Path, *more: str) -> Any:
    before = fingerprint(source)
    done = run(*COMMANDS[command], *more, source, "-o", out)
    assert done.exit_code in (0, 1), done.output
    assert fingerprint(source) == before
    return done


@pytest.mark.slow
@pytest.mark.parametrize("version", ["1.1.1", "2.8.2", "4.3.1"])
@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "compaction"])
def test_golden_logs(command: str, version: str, tmp_path: Path) -> None:
    """Of a broker's own files, in a log directory and alone: the same records can be read."""
    source = tmp_path / "in"
    shutil.copytree(GOLDEN / version / "logs" / "deleted-records-0", source / "deleted-records-0")
    for file in names.OFFSET_CHECKPOINTS:
        shutil.copy(GOLDEN / version / "logs" / file, source / file)
    wanted = _delivered(source / "deleted-records-0")
    assert wanted[0].offset == 25
    _run(command, source, tmp_path / "out")
    assert _delivered(tmp_path / "out" / "deleted-records-0") == wanted
    assert _dumped(tmp_path / "out" / "deleted-records-0") == _dumped(source / "deleted-records-0")
    with ks.open(tmp_path / "out") as log:
        assert [record.offset for record in log.records(log_start="checkpoint")] == [
            record.offset for record in wanted
        ]
    _run(command, source / "deleted-records-0", tmp_path / "alone")
    with ks.open(tmp_path / "alone") as log:
        assert list(log.records()) == wanted


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("start", [5, 20, 25, 41, END])
def test_a_log_directory(command: str, start: int, tmp_path: Path) -> None:
    source, out = _log_directory(tmp_path / "in", start), tmp_path / "out"
    done = _run(command, source, out, "--format", "json")
    assert _delivered(out / "t-0") == _delivered(source / "t-0")
    assert _dumped(out / "t-0") == _dumped(source / "t-0")
    found = {item["file"]: item for item in lines(done) if item["type"] == "checkpoint"}
    with Partition(out / "t-0") as log:
        assert log.log_start_offset == start
        assert log.log_end_offset == END
        assert log.high_watermark == END
        assert log.recovery_point is None
    cut = command == "convert"
    expected = ("cut", None) if cut else ("carried", start)
    entry = found[names.LOG_START_OFFSETS]
    assert (entry["carriage"], entry["new_offset"]) == expected
    assert found[names.HIGH_WATERMARKS]["carriage"] == "carried"
    assert found[names.RECOVERY_POINTS]["carriage"] == "dropped"
    assert "sound" in found[names.RECOVERY_POINTS]["why"]
    text = _run(command, source, tmp_path / "text").stdout
    for file, item in found.items():
        assert f"{file}: {item['carriage']} for 1 partition" in text
    assert not [item for item in ks.verify(out).findings if item.reason not in ("unclean_stop",)], (
        "verify"
    )


@pytest.mark.slow
@pytest.mark.parametrize("command", ALONE)
@pytest.mark.parametrize("compression", ["none", "gzip"])
@pytest.mark.parametrize("magic", [0, 1, 2])
def test_a_partition_alone(command: str, magic: int, compression: str, tmp_path: Path) -> None:
    """No checkpoint goes with it, so what is below the log start is gone, within entries too."""
    for start in (1, 10, 20, 25, 41, END):
        place = tmp_path / str(start)
        source = _log_directory(place / "in", start, magic=magic, compression=compression)
        out = place / "out" / "t-0"
        out.parent.mkdir()
        done = _run(command, source / "t-0", out, "--format", "json")
        wanted = _delivered(source / "t-0")
        assert [record.offset for record in wanted] == [*range(start, END)]
        with ks.open(out) as log:
            assert list(log.records()) == wanted
        with Partition(out) as log:
            assert (log.log_start_offset, log.log_end_offset) == (start, END)
            for record in wanted[::7]:
                at = log.find(offset=record.offset).record
                assert at is not None
                assert at.offset == record.offset
        assert not ks.verify(out).findings
        rebuilt = ks.rebuild_indexes(out)
        for file in rebuilt.files:  # an epoch without a batch is not in the log
            known = file.name == names.LEADER_EPOCHS and start == END
            assert file.comparison == "equal" or known, file
        entry = next(
            item
            for item in lines(done)
            if item["type"] == "checkpoint" and item["file"] == names.LOG_START_OFFSETS
        )
        assert (entry["offset"], entry["carriage"]) == (start, "cut")
        assert sorted(path.name for path in out.parent.iterdir()) == ["t-0"]
        if command == "redact":
            assert (
                b"v%d" % (start - 1) not in b"".join(path.read_bytes() for path in out.iterdir())
                or compression != "none"
            )


@pytest.mark.parametrize("command", ALONE)
def test_leader_epochs_begin_at_the_log_start(command: str, tmp_path: Path) -> None:
    """Kafka: ``LeaderEpochFileCache.truncateFromStart``."""
    source = _log_directory(tmp_path / "in", 25)
    _run(command, source / "t-0", tmp_path / "out")
    assert leader_epoch_checkpoint.read(tmp_path / "out" / names.LEADER_EPOCHS) == (
        EpochEntry(2, 25), EpochEntry(3, 30), EpochEntry(4, 40),
    )  # fmt: skip


@pytest.mark.parametrize("command", ALONE)
def test_the_end_stays_where_compaction_left_nothing(command: str, tmp_path: Path) -> None:
    """An entry may have no record from the log start on: its offsets are not given out again."""
    log = tmp_path / "in" / "t-0"
    log.mkdir(parents=True)
    records = [ks.Record(n, n, b"k%d" % n, b"v%d" % n) for n in range(5)]
    data = ks.encode(records, last_offset=9, producer_id=7, producer_epoch=0, base_sequence=0)
    (log / f"{0:020}.log").write_bytes(data)
    _list(tmp_path / "in", names.LOG_START_OFFSETS, 7)
    _run(command, log, tmp_path / "out")
    with Partition(tmp_path / "out") as out:
        assert list(out.records()) == []
        assert (out.log_start_offset, out.log_end_offset) == (7, 10)


def test_shifted_and_renumbered(tmp_path: Path) -> None:
    """Offsets in checkpoints move with those of the records, or are gone."""
    source = _log_directory(tmp_path / "in", 25)
    _list(source, names.HIGH_WATERMARKS, 42)
    _list(source, names.CLEANER_OFFSETS, 30)
    shift = ("--offsets", "shift", "--base-offset", "1000")
    _run("convert", source, tmp_path / "shifted", *shift)
    found = Checkpoints(tmp_path / "shifted")
    assert found.high_watermarks == {("t", 0): 1017}
    assert found.cleaner_offsets == {("t", 0): 1005}
    assert found.log_start_offsets == found.recovery_points == {}
    with Partition(tmp_path / "shifted" / "t-0") as log:
        assert [record.value for record in log.records()] == [b"v%d" % n for n in range(25, END)]
        assert log.log_start_offset == 1000
    done = _run("convert", source, tmp_path / "new", "--offsets", "renumber")
    assert "cleaner-offset-checkpoint: dropped for 1 partition; offsets are renumb" in done.stdout
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["t-0"]


@pytest.mark.slow
def test_deleted_records_that_are_asked_for(tmp_path: Path) -> None:
    source = _log_directory(tmp_path / "in", 25)
    done = _run("convert", source, tmp_path / "out", "--log-start", "ignore")
    assert "log-start-offset-checkpoint: dropped for 1 partition; the records below" in done.stdout
    assert [record.offset for record in _delivered(tmp_path / "out" / "t-0")] == [*range(END)]
    done = _run("convert", source, tmp_path / "some", "--log-start", "7")
    assert "log-start-offset-checkpoint: dropped for 1 partition; the records below" in done.stdout
    assert [record.offset for record in _delivered(tmp_path / "some" / "t-0")] == [*range(7, END)]
    done = _run("convert", source, tmp_path / "less", "--log-start", "30")
    assert "log-start-offset-checkpoint: cut for 1 partition; no record below" in done.stdout
    assert [record.offset for record in _delivered(tmp_path / "less" / "t-0")] == [*range(30, END)]


@pytest.mark.parametrize("command", ["salvage", "redact", "convert"])
def test_a_broken_checkpoint_is_named(command: str, tmp_path: Path) -> None:
    """A broker does not start with it, and what was deleted is not known."""
    source = _log_directory(tmp_path / "in", 25)
    (source / names.LOG_START_OFFSETS).write_text("0\n2\nt 0 25\n")
    done = _run(command, source, tmp_path / "out")
    assert done.exit_code == 1
    assert "not carried: " in done.stderr
    assert names.LOG_START_OFFSETS in done.stderr
    alone = _run(command, source / "t-0", tmp_path / "alone")
    assert (alone.exit_code, "not carried: " in alone.stderr) == (1, True)
    # Of the others, a partition alone has none.
    (source / names.LOG_START_OFFSETS).unlink()
    (source / names.HIGH_WATERMARKS).write_text("0\n2\nt 0 25\n")
    assert "not carried: " in _run(command, source, tmp_path / "high").stderr
    assert "not carried: " not in _run(command, source / "t-0", tmp_path / "alone-high").stderr


@pytest.mark.parametrize("command", ["salvage", "redact", "convert"])
def test_checkpoints_beyond_what_is_left(command: str, tmp_path: Path) -> None:
    """They are brought to the end of the output; a log start there still holds."""
    source = _log_directory(tmp_path / "in", 25)
    (source / "t-0" / f"{40:020}.log").write_bytes(b"")
    for path in (source / "t-0").glob("*.snapshot"):
        path.unlink()
    _list(source, names.HIGH_WATERMARKS, 44)
    options = ("--fill", "none") if command == "salvage" else ()
    done = _run(command, source, tmp_path / "out", "--format", "json", *options)
    found = {item["file"]: item for item in lines(done) if item["type"] == "checkpoint"}
    with Partition(tmp_path / "out" / "t-0") as log:
        end = log.log_end_offset
        assert [record.offset for record in log.records(log_start="checkpoint")] == [*range(25, 40)]
        assert (log.high_watermark, log.log_start_offset) == (end, 25)
    assert end == 40
    assert found[names.HIGH_WATERMARKS]["carriage"] == "adapted"


def test_what_was_lost_is_below_no_high_watermark(tmp_path: Path) -> None:
    """What salvage puts in the place of lost offsets was never on other replicas."""
    source = _log_directory(tmp_path / "in", 5)
    last = source / "t-0" / f"{40:020}.log"
    data = bytearray(last.read_bytes())
    data[-1] ^= 1
    last.write_bytes(data)
    done = _run("salvage", source, tmp_path / "out", "--format", "json")
    added = [item for item in lines(done) if item["type"] == "added"]
    assert [item["offsets"] for item in added] == [[40, 45]]
    assert Checkpoints(tmp_path / "out").high_watermarks == {("t", 0): 40}
    assert Checkpoints(tmp_path / "out").log_start_offsets == {("t", 0): 5}


def test_several_sources(tmp_path: Path) -> None:
    """Each has the checkpoint of its own log directory, and OUT is one."""
    for name, start in (("a", 25), ("b", 5)):
        _log_directory(tmp_path / name, start)
    (tmp_path / "b" / "t-0").rename(tmp_path / "b" / "u-1")
    (tmp_path / "b" / names.LOG_START_OFFSETS).write_text("0\n1\nu 1 5\n")
    paths = [tmp_path / "a" / "t-0", tmp_path / "b" / "u-1"]
    for command in ("salvage", "redact"):
        out = tmp_path / command
        done = run(*COMMANDS[command], *paths, "-o", out)
        assert done.exit_code in (0, 1), done.output
        assert Checkpoints(out).log_start_offsets == {("t", 0): 25, ("u", 1): 5}
