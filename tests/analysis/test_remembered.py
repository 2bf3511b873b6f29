"""``verify`` with a state: the same answers, and only what is new is read."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

import kafkaspec as ks
from kafkaspec.analysis import FindingReason, Report, files, remembered
from kafkaspec.analysis.changes import FileStamp, SegmentChange, change_of
from kafkaspec.analysis.remembered import Memory
from kafkaspec.analysis.state_file import StateFile
from kafkaspec.analysis.tree import DigestTree, differences
from kafkaspec.analysis.verification import memory_options, verify_events
from kafkaspec.log.segment import Segment
from kafkaspec.results import OffsetRange
from tests.cli.helpers import lines, run
from tests.goldens import GOLDEN

LAST = "4.3.1"
SOURCES = sorted(
    path
    for version in ("2.8.2", "3.9.2", LAST)
    for path in (GOLDEN / version / "logs").iterdir()
    if any(log.stat().st_size > 1000 for log in path.glob("*.log"))
)
ONLY_HERE = (FindingReason.CHANGED_SINCE, FindingReason.DAMAGE_AT_REST)
HOUR = 3_600 * 10**9


def known(report: Report) -> list[tuple[Any, ...]]:
    """What a run found, without what only a run that remembers can find."""
    return sorted(
        (item.file, item.severity, item.area, item.reason, item.message, str(item.position),
         str(item.offset), item.path)
        for item in report.findings if item.reason not in ONLY_HERE
    )  # fmt: skip


def counted(report: Report) -> list[tuple[Any, ...]]:
    """What it counted by file."""
    return [
        (each.file, each.size, each.entries, each.batches, each.control_batches, each.records,
         each.unread, each.magics, each.codecs, each.first_offset, each.last_offset)
        for each in report.files if each.checked
    ]  # fmt: skip


def said(report: Report, reason: FindingReason) -> list[str]:
    return [item.message for item in report.findings if item.reason is reason]


def ends(path: Path) -> list[int]:
    with Segment(path) as segment:
        return [item.end for item in segment.scan(0) if isinstance(item, ks.Batch)]


def flip(path: Path, position: int, *, hidden: bool = False) -> None:
    """Change a byte, and leave no trace of that if it is hidden."""
    before = path.stat()
    with path.open("r+b") as file:
        file.seek(position)
        byte = file.read(1)[0]
        file.seek(position)
        file.write(bytes([byte ^ 1]))
    modified = before.st_mtime_ns + (0 if hidden else HOUR)
    os.utime(path, ns=(before.st_atime_ns, modified))


class Growing:
    """A log directory with a partition that grows into one that a broker wrote, and is damaged."""

    def __init__(self, home: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.source = self.random.choice(SOURCES)
        self.top = home / f"logs{seed}"
        self.place = self.top / self.source.name
        self.place.mkdir(parents=True)
        self.clock = time.time_ns()
        self.names = sorted(path.name for path in self.source.glob("*.log"))
        self.last = self.random.randrange(len(self.names))
        for name in self.names[: self.last]:
            self.put(name)
        self.begin()

    def touch(self, path: Path, shift: int = 0) -> None:
        self.clock += HOUR
        os.utime(path, ns=(self.clock, self.clock + shift))

    def put(self, name: str, size: int | None = None) -> None:
        target = self.place / name
        with target.open("r+b" if target.exists() else "wb") as file:
            file.write((self.source / name).read_bytes()[:size])
        self.touch(target)
        if self.random.random() < 0.7:
            for path in self.source.glob(f"{name[:20]}.*"):
                if path.suffix != ".log":
                    shutil.copyfile(path, self.place / path.name)
                    self.touch(self.place / path.name)

    def begin(self) -> None:
        name = self.names[self.last]
        self.put(name, self.random.choice([0, *ends(self.source / name)]))

    def any(self) -> Path:
        return self.random.choice(sorted(self.place.glob("*.log")))

    def step(self, hidden: bool) -> None:
        work = [self.grow, self.grow, self.roll, self.cut, self.damage, self.lose_first,
                self.lose, self.lose_index, self.replace, self.restore]  # fmt: skip
        self.random.choice([*work, self.rot] if hidden else work)()

    def grow(self) -> None:
        name = self.names[self.last]
        target, whole = self.place / name, (self.source / name).read_bytes()
        old = target.read_bytes() if target.exists() else b""
        if whole.startswith(old) and len(old) < len(whole):
            # Perhaps in the middle of a batch, as the append of a broker that writes just now.
            more = [end for end in ends(self.source / name) if end > len(old)]
            size = self.random.choice([*more, self.random.randrange(len(old), len(whole)) + 1])
            self.put(name, size)

    def roll(self) -> None:
        if self.last + 1 < len(self.names):
            self.put(self.names[self.last])
            self.last += 1
            self.begin()

    def cut(self) -> None:
        path = max(self.place.glob("*.log"))
        os.truncate(path, self.random.choice([0, *ends(path)]))
        self.touch(path)

    def damage(self) -> None:
        self.rot(hidden=False)

    def rot(self, *, hidden: bool = True) -> None:
        path = self.any()
        if path.stat().st_size:
            flip(path, self.random.randrange(path.stat().st_size), hidden=hidden)
            if not hidden:
                self.touch(path)

    def lose_first(self) -> None:
        first = min(self.place.glob("*.log"))
        if first != max(self.place.glob("*.log")):
            for path in self.place.glob(f"{first.stem}.*"):
                path.unlink()

    def lose(self) -> None:
        inner = sorted(self.place.glob("*.log"))[1:-1]
        if inner:
            self.random.choice(inner).unlink()

    def lose_index(self) -> None:
        found = sorted(path for path in self.place.iterdir() if path.suffix != ".log")
        if found:
            self.random.choice(found).unlink()

    def replace(self) -> None:
        path = self.any()
        data = path.read_bytes()
        (self.place / "new").write_bytes(data[: self.random.choice([len(data), len(data) // 2])])
        (self.place / "new").replace(path)
        self.touch(path)

    def restore(self) -> None:
        self.touch(self.any(), -1000 * HOUR)


def law(home: Path, seed: int, *, hidden: bool) -> None:
    """After each change, a run that remembers says what a run says that does not."""
    growing = Growing(home, seed)
    state = home / f"state{seed}"
    for _ in range(7):
        plain = ks.verify(growing.top)
        report = ks.verify(growing.top, state=state, reread="100%" if hidden else "0%")
        assert known(report) == known(plain), growing.source
        assert counted(report) == counted(plain), growing.source
        assert report.clean <= plain.clean
        assert report.clean == plain.clean or said(report, FindingReason.DAMAGE_AT_REST)
        growing.step(hidden)


@pytest.mark.core
@pytest.mark.parametrize("hidden", [False, True])
def test_a_run_that_remembers_says_the_same(tmp_path: Path, hidden: bool) -> None:
    for seed in range(2):
        law(tmp_path, seed, hidden=hidden)


@pytest.mark.slow
@pytest.mark.parametrize("hidden", [False, True])
def test_many_runs_that_remember_say_the_same(tmp_path: Path, hidden: bool) -> None:
    for seed in range(2, 60):
        law(tmp_path, seed, hidden=hidden)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A log directory with a partition of four segments."""
    shutil.copytree(GOLDEN / LAST / "logs" / "segments-0", tmp_path / "logs" / "segments-0")
    return tmp_path / "logs"


def summary(logs: Path, state: Path, *options: str) -> dict[str, Any]:
    result = run("verify", "--format", "json", "--state", state, *options, logs)
    found: dict[str, Any] = lines(result)[-1]
    return found


def segments(logs: Path) -> list[Path]:
    return sorted(logs.rglob("*.log"))


def size(logs: Path) -> int:
    return sum(path.stat().st_size for path in segments(logs))


@pytest.mark.core
def test_a_second_pass_reads_nothing(logs: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    first = summary(logs, state)
    assert first["bytes_read"] == size(logs)
    assert first["segments"] == {"new": 4}
    second = summary(logs, state)
    assert second["bytes_read"] == 0
    assert second["segments"] == {"unchanged": 4}
    different = {"bytes_read", "segments"}
    assert {name: value for name, value in first.items() if name not in different} == {
        name: value for name, value in second.items() if name not in different
    }
    # Damage that leaves no trace is found by reading only.
    flip(segments(logs)[1], 100, hidden=True)
    assert summary(logs, state)["exit_code"] == 0
    assert summary(logs, state, "--reread", "100%")["exit_code"] == 1


@pytest.mark.core
def test_only_what_is_new_of_a_segment_is_read(logs: Path, tmp_path: Path) -> None:
    last, state = segments(logs)[-1], tmp_path / "state"
    whole, end = last.read_bytes(), ends(last)[-2]
    for path in last.parent.glob(f"{last.stem}.*index"):
        path.unlink()
    os.truncate(last, end)
    summary(logs, state)
    with last.open("ab") as file:
        file.write(whole[end:])
    os.utime(last, ns=(0, time.time_ns() + HOUR))
    found = summary(logs, state)
    assert found["segments"] == {"unchanged": 3, "grown": 1}
    assert found["bytes_read"] == len(whole) - end
    assert found["batches"] == summary(logs, tmp_path / "other")["batches"]


def test_an_old_finding_stays_without_reading(logs: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    flip(segments(logs)[0], 100)
    first = ks.verify(logs, state=state)
    assert not first.clean
    assert known(ks.verify(logs, state=state)) == known(first)
    assert summary(logs, state)["bytes_read"] == 0


def _truncate(path: Path) -> None:
    os.truncate(path, ends(path)[0])


def _rewrite(path: Path) -> None:
    flip(path, 100)


def _clean(path: Path) -> None:
    _another(path, path.read_bytes()[: ends(path)[0]])


def _replace(path: Path) -> None:
    _another(path, path.read_bytes())


def _another(path: Path, data: bytes) -> None:
    modified = path.stat().st_mtime_ns
    new = path.with_name("new")
    new.write_bytes(data)
    os.utime(new, ns=(modified, modified))
    new.replace(path)


def _restore(path: Path) -> None:
    os.utime(path, ns=(0, path.stat().st_mtime_ns - HOUR))


def _touch_index(path: Path) -> None:
    os.utime(path.with_suffix(".index"), ns=(0, 0))


@pytest.mark.parametrize(
    ("change", "work", "number"),
    [
        (SegmentChange.TRUNCATED, _truncate, 3),
        (SegmentChange.REWRITTEN, _rewrite, 1),
        (SegmentChange.CLEANED, _clean, 0),
        (SegmentChange.REPLACED, _replace, 0),
        (SegmentChange.RESTORED, _restore, 1),
        (SegmentChange.DELETED, Path.unlink, 0),
        (SegmentChange.DELETED, Path.unlink, 1),
        (SegmentChange.DELETED, Path.unlink, 3),
        (SegmentChange.INDEX, _touch_index, 1),
    ],
)
def test_a_changed_segment_is_noticed_as_what_it_is(
    logs: Path, tmp_path: Path, change: SegmentChange, work: Callable[[Path], None], number: int
) -> None:
    state = tmp_path / "state"
    ks.verify(logs, state=state)
    work(segments(logs)[number])
    report = ks.verify(logs, state=state)
    assert [text.split(": ")[1] for text in said(report, FindingReason.CHANGED_SINCE)] == [change]
    assert known(report) == known(ks.verify(logs))


def test_a_segment_before_one_that_cannot_be_read_is_read_again(tmp_path: Path) -> None:
    """It is read with the state before it, not with that before the one that follows."""
    source = GOLDEN / LAST / "logs" / "transactions-segments-0"
    shutil.copytree(source, tmp_path / "logs" / source.name)
    *_, second, last = segments(tmp_path / "logs")
    last.unlink()
    last.symlink_to(last.name)  # leads nowhere
    state = tmp_path / "state"
    ks.verify(tmp_path / "logs", state=state)
    os.utime(second, ns=(0, time.time_ns() + HOUR))
    report = ks.verify(tmp_path / "logs", state=state)
    assert said(report, FindingReason.CHANGED_SINCE)
    assert known(report) == known(ks.verify(tmp_path / "logs"))


def test_the_rule_for_what_happened_to_a_file() -> None:
    old = FileStamp(size=10, modified=5, inode=1)
    assert change_of(old, old) is SegmentChange.UNCHANGED
    assert change_of(None, old) is SegmentChange.NEW
    assert change_of(old, None) is SegmentChange.DELETED
    assert change_of(old, FileStamp(11, 6, 1)) is SegmentChange.GROWN
    assert change_of(old, FileStamp(9, 6, 1)) is SegmentChange.TRUNCATED
    assert change_of(old, FileStamp(10, 6, 1)) is SegmentChange.REWRITTEN
    assert change_of(old, FileStamp(9, 5, 2)) is SegmentChange.CLEANED
    assert change_of(old, FileStamp(10, 6, 2)) is SegmentChange.REPLACED
    for inode in (1, 2):
        assert change_of(old, FileStamp(10, 4, inode)) is SegmentChange.RESTORED


def test_a_segment_that_was_cut_and_has_grown_again_is_read_again(
    logs: Path, tmp_path: Path
) -> None:
    # A follower truncates to where its leader differs, and appends what the leader has.
    last, state = segments(logs)[-1], tmp_path / "state"
    whole, end = last.read_bytes(), ends(last)[0]
    os.truncate(last, end)
    ks.verify(logs, state=state)
    flipped = bytearray(whole)
    flipped[end - 1] ^= 1
    last.write_bytes(flipped)
    os.utime(last, ns=(0, time.time_ns() + HOUR))
    report = ks.verify(logs, state=state)
    assert known(report) == known(ks.verify(logs))
    assert not report.clean


@pytest.mark.core
@pytest.mark.parametrize("field", ["partition_leader_epoch", "records"])
def test_damage_at_rest_is_found_and_stays(logs: Path, tmp_path: Path, field: str) -> None:
    state, path = tmp_path / "state", segments(logs)[1]
    ks.verify(logs, state=state)
    with Segment(path) as segment:
        batch = [item for item in segment.scan(0) if isinstance(item, ks.Batch)][1]
    # The epoch is the one thing in a batch that neither a checksum nor an order of offsets guards.
    flip(path, batch.position + 15 if field != "records" else batch.end - 1, hidden=True)
    for _ in range(2):
        report = ks.verify(logs, state=state, reread="100%")
        (found,) = (item for item in report.findings if item.reason is FindingReason.DAMAGE_AT_REST)
        assert found.file == os.fspath(path)
        assert found.offsets is not None
        assert found.offsets.start <= batch.base_offset <= batch.last_offset
        assert found.offsets.end is None or batch.last_offset < found.offsets.end
        assert f"offsets {found.offsets.start} to " in found.message
        assert not report.clean
    # A file that is written again has other bytes for another reason.
    flip(path, 0)
    flip(path, 0)
    assert not said(ks.verify(logs, state=state), FindingReason.DAMAGE_AT_REST)


@pytest.mark.core
def test_reread_takes_what_was_not_read_for_longest(logs: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    summary(logs, state)
    read: list[int] = []
    began = time.time()
    for _ in segments(logs):
        found = summary(logs, state, "--reread", "10%")
        read.append(found["bytes_read"])
        time.sleep(0.01)
    assert sorted(read) == sorted(path.stat().st_size for path in segments(logs))
    assert found["all_read_since_timestamp_seconds"] >= began - 0.01


def test_other_options_are_refused(logs: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    ks.verify(logs, state=state)
    with pytest.raises(ks.KafkaSpecError, match="/max_output: it is of runs with max_output"):
        ks.verify(logs, state=state, max_output=1000)
    ks.verify(logs, state=state, max_output=1000, start_over=True)
    ks.verify(logs, state=state, max_output=1000)


def test_a_state_is_of_local_directories(logs: Path, tmp_path: Path) -> None:
    with pytest.raises(ks.KafkaSpecError, match="local directories only"):
        ks.verify(segments(logs)[0], state=tmp_path / "state")
    with pytest.raises(ks.KafkaSpecError, match="must not change"):
        ks.verify(logs, state=logs / "segments-0" / "state")
    read: list[int] = []
    with pytest.raises(ks.KafkaSpecError, match="there is no directory"):
        ks.verify(logs, state=tmp_path / "no" / "state", progress=lambda size, _: read.append(size))
    assert not read
    result = run("verify", "--reread", "5%", logs)
    assert result.exit_code == 2
    assert "need --state" in result.stderr
    result = run("verify", "--rate", "50Mb/s", logs)
    assert result.exit_code == 2
    assert "one of B, kB, MB, GB, KiB, MiB, GiB" in result.stderr


@pytest.mark.core
def test_processes_remember_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logs = tmp_path / "logs"
    for number in range(4):
        shutil.copytree(GOLDEN / LAST / "logs" / "segments-0", logs / f"segments-{number}")
    monkeypatch.setattr(files, "MANY", 2)
    monkeypatch.setattr(files, "_MOST", 2)
    one, two = tmp_path / "one", tmp_path / "two"
    for jobs in ("1", "2"):
        for _ in range(2):
            state = one if jobs == "1" else two
            found = summary(logs, state, "--jobs", jobs)
        assert found["segments"] == {"unchanged": 16}
        assert found["bytes_read"] == 0
        flip(segments(logs)[4], 100)
        flip(segments(logs)[4], 100)
    path = segments(logs)[7]
    flip(path, 100)
    reports = [summary(logs, state, "--jobs", jobs) for state, jobs in ((one, "1"), (two, "2"))]
    assert reports[0]["findings"] == reports[1]["findings"]
    assert reports[0]["exit_code"] == 1


def test_partitions_that_are_gone_are_forgotten(logs: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    shutil.copytree(GOLDEN / LAST / "logs" / "plain-0", logs / "plain-0")
    ks.verify(logs, state=state)
    shutil.rmtree(logs / "segments-0")
    assert said(ks.verify(logs, state=state), FindingReason.CHANGED_SINCE)
    assert not said(ks.verify(logs, state=state), FindingReason.CHANGED_SINCE)


_KILLED = """
import os, signal, sys
from kafkaspec.analysis import remembered, verify
remembered._SAVED_EVERY = 0
number, save = 0, remembered.Memory.save
def saved(memory):
    global number
    number += 1
    if number == {at} and {before}:
        os.kill(os.getpid(), signal.SIGKILL)
    save(memory)
    if number == {at}:
        os.kill(os.getpid(), signal.SIGKILL)
remembered.Memory.save = saved
verify(sys.argv[1], state=sys.argv[2])
"""


@pytest.mark.slow
@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_run_that_is_killed_goes_on(logs: Path, tmp_path: Path, at: int, before: bool) -> None:
    state = tmp_path / "state"
    script = _KILLED.format(at=at, before=before)
    done = subprocess.run([sys.executable, "-c", script, logs, state], check=False)
    assert done.returncode == -signal.SIGKILL
    read = at - before
    left = sum(path.stat().st_size for path in segments(logs)[read:])
    found = summary(logs, state)
    assert found["bytes_read"] == left
    assert found["exit_code"] == 0


@pytest.mark.slow
def test_a_write_that_is_killed_leaves_a_whole_state(logs: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    ks.verify(logs, state=state)
    before = state.read_bytes()
    flip(segments(logs)[-1], 100)
    script = """
import os, signal, sys
from kafkaspec.analysis import state_file, verify
made = state_file.state_line
def line(values):
    if "lines" in values:
        os.kill(os.getpid(), signal.SIGKILL)
    return made(values)
state_file.state_line = line
verify(sys.argv[1], state=sys.argv[2])
"""
    done = subprocess.run([sys.executable, "-c", script, logs, state], check=False)
    assert done.returncode == -signal.SIGKILL
    assert state.read_bytes() == before
    assert summary(logs, state)["exit_code"] == 1


@pytest.mark.slow
def test_a_rate_is_kept(logs: Path) -> None:
    began = time.monotonic()
    ks.verify(logs, rate=f"{size(logs)}B/s")
    assert time.monotonic() - began >= 0.99


def test_metrics_have_what_was_read(logs: Path, tmp_path: Path) -> None:
    flip(segments(logs)[0], 100)
    run("verify", "--state", tmp_path / "s", "--metrics", tmp_path / "m.prom", logs)
    text = (tmp_path / "m.prom").read_text().splitlines()
    assert f"kafkaspec_verify_bytes_read {size(logs)}" in text
    assert 'kafkaspec_verify_segments_by_kind{kind="new"} 4' in text
    assert 'kafkaspec_verify_reasons_by_kind{kind="checksum_mismatch"} 1' in text
    assert any(line.startswith("kafkaspec_verify_all_read_since_") for line in text)


# -- the file ------------------------------------------------------------------------------------


def test_a_state_that_is_written_again_is_the_same(logs: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    flip(segments(logs)[2], 300)
    ks.verify(logs, state=state)
    before = state.read_bytes()
    memory = Memory.of_store(StateFile(state), memory_options("native", None))
    memory.is_saved = False
    memory.save()
    assert state.read_bytes() == before


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        (b'"version":2', b'"version":1', "/version"),
        (b'"format":"k', b'"format":"K', "/format"),
        (b'"end":', b'"fin":', "/segments/end"),
        (b'"end":[', b'"end":[-', "/segments/end"),
        (b'"end":[', b'"end":[1111111111111111111111', "/segments/end/0"),
        (b'"end":[', b'"end":[1,', "/segments/end"),
        (b'"tree":[[', b'"tree":[[9', "/segments/tree"),
        (b'"lines":', b'"lines":9', "/lines"),
        (b'"read":[', b'"read":[],"x":[', "/segments/x"),
        (b'"read":[', b'"read":[-', "/segments/read"),
        (b'"segment":["', b'"segment":["/', "/segments/segment"),
        (b'"severity":"error"', b'"severity":"fatal"', "/segments/findings/severity"),
    ],
)
def test_a_damaged_state_names_byte_field_and_reason(
    logs: Path, tmp_path: Path, old: bytes, new: bytes, field: str
) -> None:
    state = tmp_path / "state"
    flip(segments(logs)[0], 100)
    ks.verify(logs, state=state)
    data = state.read_bytes()
    place = data.index(old)
    for made in (data.replace(old, new, 1), sealed(data.replace(old, new, 1))):
        state.write_bytes(made)
        with pytest.raises(ks.KafkaSpecError) as caught:
            ks.verify(logs, state=state)
        assert caught.value.file == os.fspath(state)
        assert caught.value.path == field
        assert caught.value.position == data.rfind(b"\n", 0, place) + 1
        assert run("verify", "--state", state, logs).exit_code == 2


def sealed(data: bytes) -> bytes:
    """A state with the checksum of its lines, as one that means to deceive has it."""
    start = data.rindex(b"\n", 0, -1) + 1
    return data[:start] + re.sub(rb'"crc":\d+', b'"crc":%d' % crc32(data[:start]), data[start:])


def test_a_state_with_other_bytes_is_refused(logs: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    ks.verify(logs, state=state)
    state.write_bytes(re.sub(rb'"read":\[1', b'"read":[2', state.read_bytes(), count=1))
    with pytest.raises(ks.KafkaSpecError, match="not those that were written") as caught:
        ks.verify(logs, state=state)
    assert caught.value.path == "/crc"


def test_leaves_that_deceive_are_refused_when_they_are_compared(logs: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    ks.verify(logs, state=state)
    data = state.read_bytes()
    wrong = re.sub(rb'"tree":\[\[(\d+),"', rb'"tree":[[\1,"////', data, count=1)
    state.write_bytes(sealed(wrong))
    assert ks.verify(logs, state=state).clean
    for arguments in (("verify", "--state", state, "--reread", "100%", logs),
                      ("diff", state, state)):  # fmt: skip
        result = run(*arguments)
        assert result.exit_code == 2
        assert "line 2 of the state" in result.stderr


@pytest.mark.parametrize("field", ["start", "end", "read"])
@pytest.mark.parametrize("number", [1 << 40, 1 << 62, 1 << 63])
def test_no_more_is_read_than_a_file_has(
    logs: Path, tmp_path: Path, field: str, number: int
) -> None:
    """Where a state says that more was read, the segment is read again; nothing is allocated."""
    state = tmp_path / "state"
    last = segments(logs)[-1]
    whole, cut = last.read_bytes(), ends(last)[-2]
    for path in last.parent.glob(f"{last.stem}.*index"):
        path.unlink()
    os.truncate(last, cut)
    ks.verify(logs, state=state)
    head, line, end = state.read_bytes().splitlines(keepends=True)
    log = json.loads(line)
    columns = log["segments"]
    if field == "read":
        columns["end"][-1] = number
    else:
        columns["checks"][-1][last.name][field == "end"] = number
    made = json.dumps(log, separators=(",", ":")).encode()
    state.write_bytes(sealed(head + made + b"\n" + end))
    with last.open("ab") as file:
        file.write(whole[cut:])
    os.utime(last, ns=(0, time.time_ns() + HOUR))
    tracemalloc.start()
    report = ks.verify(logs, state=state)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert known(report) == known(ks.verify(logs))
    assert most < 100 << 20


@pytest.mark.core
def test_no_bytes_of_a_state_fail_in_another_way(logs: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    flip(segments(logs)[0], 100)
    ks.verify(logs, state=state)
    data = state.read_bytes()
    chance = random.Random(1)
    wrong, errors = tmp_path / "wrong", []
    for _ in range(300):
        made = bytearray(data)
        for _ in range(chance.randrange(1, 4)):
            place = chance.randrange(len(made))
            made[place : place + chance.randrange(3)] = bytes(
                chance.choice(b'0123456789-[]{},:"ax\n\xff') for _ in range(chance.randrange(3))
            )
        given = bytes(made[: chance.choice([len(made), chance.randrange(len(made))])])
        if b"\n" in given[:-1] and chance.random() < 0.8:
            given = sealed(given)
        wrong.write_bytes(given)
        try:
            memory = Memory.of_store(
                StateFile(wrong), memory_options("native", None), reread=chance.choice([0, 1])
            )
            for _ in verify_events(logs, memory=memory):
                pass
        except ks.KafkaSpecError as error:
            errors.append(error)
    assert errors
    assert all(each.file == os.fspath(wrong) and each.position is not None for each in errors)


# -- the tree ------------------------------------------------------------------------------------


def tree_of(path: Path, *, by_columns: bool) -> DigestTree:
    from kafkaspec.analysis.verify_segment import SegmentVerifier, VerifyChecks
    from kafkaspec.analysis.watch import SegmentWatch

    watch = SegmentWatch.from_start()
    checks = VerifyChecks(("native",), by_columns=by_columns)
    for _ in SegmentVerifier(path, checks, watch=watch).run():
        pass
    return watch.tree


@pytest.mark.parametrize("name", ["codec-none-0", "transactions-0", "idempotent-snappy-0"])
def test_the_tree_of_columns_is_that_of_batches(name: str) -> None:
    for path in sorted((GOLDEN / LAST / "logs" / name).glob("*.log")):
        assert tree_of(path, by_columns=True) == tree_of(path, by_columns=False)


def test_levels_do_not_matter_for_a_comparison() -> None:
    path = GOLDEN / LAST / "logs" / "codec-none-0" / "00000000000000000000.log"
    fine, coarse = tree_of(path, by_columns=True), tree_of(path, by_columns=True)
    coarse.level += 3
    coarse.leaves = {0: _sum(coarse)}
    assert not differences([fine], [coarse])
    ((number, leaf),) = coarse.leaves.items()
    coarse.leaves[number] = leaf._replace(digest=leaf.digest ^ 1)
    (found,) = differences([fine], [coarse])
    assert found.offsets == OffsetRange(0, 1 << coarse.level)


def _sum(tree: DigestTree) -> Any:
    whole, *others = tree.leaves.values()
    for other in others:
        whole = whole.plus(other)
    return whole


def test_saving_happens_now_and_then(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saves: list[int] = []
    monkeypatch.setattr(remembered, "_SAVED_EVERY", 0)
    monkeypatch.setattr(Memory, "save", lambda memory: saves.append(len(memory.logs)))
    ks.verify(logs, state=tmp_path / "state")
    assert len(saves) == len(segments(logs)) + 1
