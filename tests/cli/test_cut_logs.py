"""A log that ends within a batch is named by each command that reads it, and in the exit code."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.helpers import golden, run

COMMANDS = (
    ["transactions"],
    ["producers"],
    ["gaps"],
    ["compaction"],
    ["retention"],
    ["partitions"],
    ["schemas", "--topic", "segments"],
    ["diff", golden("4.3.1", "segments-0")],
    ["salvage", "-o", "OUT"],
    ["redact", "--all-values", "-o", "OUT"],
)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_the_cut_is_named(command: list[str | Path], tmp_path: Path) -> None:
    cut = tmp_path / "segments-0"
    cut.mkdir()
    name = f"{0:020}.log"
    (cut / name).write_bytes((golden("4.3.1", "segments-0") / name).read_bytes()[:700])
    out = tmp_path / "out"
    result = run(*(out if part == "OUT" else part for part in command), cut)
    assert result.exit_code == 1, result.output
    said = result.stdout + result.stderr
    assert "304 bytes" in said or "304 B" in said
