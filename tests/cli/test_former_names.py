"""Options that were renamed: the old name does the same, and says what the new one is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from kafkaspec.cli.options import FormerName
from tests.cli.helpers import golden, run
from tests.goldens import GOLDEN
from tests.structure.commands import commands, option_name

PLAIN = golden("4.3.1", "plain-0")
COMPACTED = golden("4.3.1", "compacted-0")
TIERED = GOLDEN / "4.3.1" / "tiered"
SPEAKING: list[tuple[str, str, list[str | Path], list[str]]] = [
    ("--at", "--until-offset", ["cluster", PLAIN.parent / "__cluster_metadata-0"], ["3"]),
    ("--at", "--clock", ["compaction", COMPACTED], ["2026-12-01"]),
    ("--records", "--show-records", ["compaction", COMPACTED, "--clock", "2026-12-01"], []),
    ("--at", "--clock", ["retention", PLAIN], ["2026-12-01"]),
    ("--all", "--complete", ["transactions", PLAIN.parent], []),
    ("--all", "--complete", ["remote", TIERED / "logs", "--objects", TIERED / "remote"], []),
    ("--key", "--key-format", ["dump", PLAIN, "--value", "text"], ["text"]),
]


def former() -> Iterator[tuple[str, str]]:
    for name, command in commands().items():
        for option in command.params:
            if isinstance(option, FormerName):
                yield name, option_name(option)


@pytest.mark.parametrize(("old", "new", "arguments", "value"), SPEAKING, ids=str)
def test_an_old_name_does_the_same_and_says_so(
    old: str, new: str, arguments: list[str | Path], value: list[str]
) -> None:
    now, before = run(*arguments, new, *value), run(*arguments, old, *value)
    line = f"{old} is now {new}; the old name works until the next minor version\n"
    assert before.stdout == now.stdout
    assert before.exit_code == now.exit_code < 2
    assert before.stderr.count(line) == 1
    assert before.stderr.replace(line, "") == now.stderr


@pytest.mark.parametrize(
    ("option", "old", "new"), [("--on-error", "fail", "raise"), ("--crc", "error", "raise")]
)
def test_an_old_word_does_the_same_and_says_so(
    option: str, old: str, new: str, tmp_path: Path
) -> None:
    path = tmp_path / "damaged.log"
    data = bytearray((PLAIN / "00000000000000000000.log").read_bytes())
    data[-2] ^= 1
    path.write_bytes(data)
    now, before = (run("dump", path, option, word) for word in (new, old))
    line = f"{old} is now {new}; the old word works until the next minor version\n"
    assert before.stdout == now.stdout
    assert before.exit_code == now.exit_code > 0
    assert before.stderr.count(line) == 1
    assert before.stderr.replace(line, "") == now.stderr
    assert old not in run("dump", "--help").output.partition(option)[2].partition("]")[0]


def test_an_old_name_can_be_given_several_times(tmp_path: Path) -> None:
    arguments: list[str | Path] = ["redact", PLAIN, "--format", "json", "--way", "empty", "-o"]
    now = run(*arguments, tmp_path / "a", "--range", "0", "--range=2-3", "--match", "value=1")
    before = run(
        *arguments, tmp_path / "b", "--offsets", "0", "--offsets=2-3", "--where", "value=1"
    )
    assert now.exit_code == before.exit_code == 0, before.output
    assert before.stdout == now.stdout.replace(str(tmp_path / "a"), str(tmp_path / "b"))


def test_both_names_at_once_are_an_error() -> None:
    result = run("retention", PLAIN, "--at", "0", "--clock", "1")
    assert result.exit_code == 2
    assert "--at is the former name of --clock: give one of them" in result.stderr


@pytest.mark.slow
def test_no_help_shows_an_old_name() -> None:
    found = list(former())
    assert len(found) >= len(SPEAKING)
    for name, old in found:
        command = commands()[name]
        text = command.get_help(click.Context(command))
        assert f"  {old} " not in text, name
