"""Messages about bad input say nothing twice, and do not begin in the middle of a word."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from kafkaspec.log.segment import Segment
from tests.cli.helpers import run
from tests.goldens import GOLDEN

pytestmark = pytest.mark.slow

_LOGS = GOLDEN / "4.3.1" / "logs"
_TWICE = re.compile(r"\b(?P<said>[\w'./-]+(?: [\w'./-]+){0,8}):? ?[:,;] (?P=said)\b")
"""A word, or some, that come again after a colon, comma or semicolon."""

_BAD = {
    "count": ("recovery-point-offset-checkpoint", b"0\n5\nplain 0 1\n"),
    "version": ("recovery-point-offset-checkpoint", b"9\n1\nplain 0 1\n"),
    "cleaner": ("cleaner-offset-checkpoint", b"x\n"),
    "properties": ("meta.properties", b"version=x\n"),
    "escape": ("meta.properties", b"a=\\u00\n"),
    "epochs": ("plain-0/leader-epoch-checkpoint", b"0\n3\n0 0\n"),
    "epoch": ("plain-0/leader-epoch-checkpoint", b"0\n1\n0 x\n"),
    "id": ("plain-0/partition.metadata", b"version: 0\ntopic_id: ???\n"),
    "quorum": ("plain-0/quorum-state", b'{"a":'),
    "producers": (f"plain-0/{30:020d}.snapshot", b"\0\1" + bytes(8) + b"\\9"),
    "index": (f"plain-0/{0:020d}.index", b"abc"),
    "aborted": (f"plain-0/{0:020d}.txnindex", b"abc" * 20),
    "log": (f"plain-0/{0:020d}.log", b"garbage" * 40),
    "size": (f"plain-0/{0:020d}.log", bytes(11) + b"\xff" + bytes(40)),
    "empty": (f"plain-0/{0:020d}.log", b""),
}
_COMMANDS = (
    ("verify",), ("dump",), ("stats",), ("doctor",), ("gaps",), ("transactions",), ("retention",),
    ("producers",), ("groups",), ("cluster",), ("schemas",), ("remote",), ("compaction",),
    ("find", "--offset", "3"), ("find", "--key", "k"), ("index", "--check"), ("partitions",),
    ("salvage", "-o", "none/txn-0"), ("convert", "-o", "none/to-0"), ("export", "-o", "o.jsonl"),
)  # fmt: skip


def _said_twice(text: str) -> list[str]:
    return [line for line in text.splitlines() if _TWICE.search(line)]


def test_the_pattern_finds_what_was_said_twice() -> None:
    assert _said_twice("kafkaspec: a/b at byte 2: line 2: line 2 announces 5 entries\n")
    assert _said_twice("zstd: zstd: the stream is broken\n")
    assert not _said_twice("line 2: 5 entries are announced, but 1 follow\n")


@pytest.mark.parametrize("name", _BAD)
def test_messages_say_nothing_twice(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    logs = tmp_path / "logs"
    shutil.copytree(_LOGS / "plain-0", logs / "plain-0")
    for path in _LOGS.iterdir():
        if path.is_file():
            shutil.copy(path, logs)
    file, data = _BAD[name]
    (logs / file).write_bytes(data)
    told = 0
    for command, *options in _COMMANDS:
        for place in (logs, logs / "plain-0"):
            found = run(command, place, *options)
            assert _said_twice(found.stderr) == [], (command, place)
            told += found.exit_code != 0
    for command in ("explain", "verify"):
        found = run(command, logs / file)
        assert _said_twice(found.output) == [], command
    assert told > 5


def test_a_salvage_below_a_directory_that_is_not_there_says_what_to_make(tmp_path: Path) -> None:
    found = run("salvage", _LOGS / "plain-0", "-o", tmp_path / "new" / "txn-0")
    text = " ".join(found.stderr.split())
    assert (found.exit_code, f"no directory {tmp_path / 'new'}; make it first" in text) == (2, True)
    assert list(tmp_path.iterdir()) == []


def test_a_salvage_without_markers_names_the_option(tmp_path: Path) -> None:
    shutil.copytree(_LOGS / "transactions-0", tmp_path / "transactions-0")
    log = tmp_path / "transactions-0" / f"{0:020d}.log"
    with Segment(log) as segment:
        marker = [batch for batch in segment.batches() if batch.is_control][-1]
    data = bytearray(log.read_bytes())
    data[marker.end - 1] ^= 1
    log.write_bytes(data)
    found = run("salvage", tmp_path / "transactions-0", "-o", tmp_path / "txn-0")
    assert "no markers were asked for; --markers does" in " ".join(found.output.split())
