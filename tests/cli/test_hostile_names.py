"""Names that hold escape sequences, C1 bytes, bidirectional marks or line ends."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

import kafkaspec as ks
from tests.cli.helpers import process, run

HOSTILE = "a\x1b[2J\x1b]0;x\x07\u009b31m\u202eb\u2028\u200f\r\nclean: 1 file checked\n[bold]\udcff"
"""Clears the screen, sets a title, colours, turns text around, and forges a result."""

TOPIC = HOSTILE.replace("\n", "")
"""No name of a partition has a line end."""

_SAFE = re.compile(r"[\n -~\u2500-\u257f]*")
"""Printable ASCII, line ends and the lines of tables."""


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A log directory whose name, topics and files are hostile; one batch has a wrong checksum."""
    top = tmp_path / f"{HOSTILE}-logs"
    data = ks.encode([ks.Record(0, 1_700_000_000_000, b"k", b"v")])
    try:
        for number in range(2):
            partition = top / f"{TOPIC}-{number}"
            partition.mkdir(parents=True)
            content = data[:-1] + b"x" if number else data
            (partition / f"{0:020d}.log").write_bytes(content)
            (partition / f"{HOSTILE}.txt").write_bytes(b"?")
            (partition / f"{0:020d}.snapshot").write_bytes(b"?")
            (partition / "partition.metadata").write_text(f"version: 0\ntopic_id: {HOSTILE[:-1]}")
        (top / f"{TOPIC}-9").symlink_to(f"{TOPIC}-9")
        (top / "meta.properties").write_text("\x1b[2J")
    except OSError:
        pytest.skip("the file system has no such names")
    return top


TEXT = {
    "verify": ["verify"],
    "verify quiet": ["verify", "--quiet"],
    "dump": ["dump"],
    "dump batches": ["dump", "--batches"],
    "find": ["find", "--offset", "0"],
    "index": ["index", "-o", "out"],
    "redact": ["redact", "--all-values", "--on-error", "skip", "-o", "out"],
    "diff": ["diff", "tests/forensics/replicas/a"],
    "doctor": ["doctor"],
    "partitions": ["partitions"],
    "convert": ["convert", "--on-error", "skip", "-o", "out"],
    "export": ["export", "--to", "jsonl", "-o", "out"],
    "salvage": ["salvage", "-o", "out"],
    "schemas": ["schemas"],
}


def outputs(command: list[str], logs: Path) -> list[str]:
    """What the command prints about the directory, a partition, a segment, a file and nothing."""
    partition = logs / f"{TOPIC}-1"
    shown = []
    for path in (logs, partition, partition / f"{0:020d}.log", partition / f"{HOSTILE}.txt"):
        out = logs.parent / f"{HOSTILE}.out"
        result = run(*(out if part == "out" else part for part in command), path)
        assert result.exit_code in (0, 1, 2)
        shown += [result.stdout, result.stderr]
        if out.is_dir():
            shutil.rmtree(out)
        out.unlink(missing_ok=True)
    result = run(*command, partition / f"{HOSTILE}.log")
    return [*shown, result.stdout, result.stderr]


@pytest.mark.parametrize("name", TEXT)
def test_no_name_reaches_the_terminal_as_it_is(logs: Path, name: str) -> None:
    if name in ("index", "convert", "export", "salvage"):
        (logs / f"{TOPIC}-9").unlink()
    shown = outputs(TEXT[name], logs)
    assert any(r"a\x1b[2J" in text for text in shown)
    for text in shown:
        assert _SAFE.fullmatch(text), ascii(text)
        assert not any(line.startswith("clean: 1 file") for line in text.splitlines())


def test_text_files_and_bytes(logs: Path) -> None:
    partition = logs / f"{TOPIC}-0"
    for command in ("dump", "explain"):
        for path in (partition / "partition.metadata", logs / "meta.properties"):
            result = run(command, path)
            for text in (result.stdout, result.stderr):
                assert _SAFE.fullmatch(text), ascii(text)


@pytest.mark.parametrize("command", [["verify"], ["dump"], ["find", "--offset", "0"]], ids=str)
def test_json_is_valid_and_has_the_true_names(logs: Path, command: list[str]) -> None:
    result = run(*command, "--format", "json", logs)
    named = set()
    for line in result.stdout.split("\n")[:-1]:
        assert line.isascii()
        assert line.isprintable()
        named.add(json.loads(line).get("file"))
    assert str(logs / f"{TOPIC}-0" / f"{0:020d}.log") in named


@pytest.mark.slow
def test_a_process_writes_the_same(logs: Path) -> None:
    done = process("verify", logs)
    for text in (done.stdout, done.stderr):
        assert _SAFE.fullmatch(text), ascii(text)
    assert r"a\x1b[2J\x1b]0;x\x07\x9b31m\u202eb\u2028\u200f\r\nclean: 1" in done.stdout
