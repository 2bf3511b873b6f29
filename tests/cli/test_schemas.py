"""The JSON Schemas of the lines of commands: what is declared is what is checked in."""

from __future__ import annotations

import pytest

from tests.cli.helpers import run
from tools import outputs


def test_the_schemas_are_those_of_the_commands() -> None:
    there = {path.name: path.read_text("utf-8") for path in outputs.FOLDER.glob("*.json")}
    assert there == outputs.texts(), "run python -m tools.outputs"


@pytest.mark.slow
def test_help_names_every_line_and_member() -> None:
    for name, output in outputs.outputs().items():
        words = run(*name.split(), "--help").stdout.replace(",", " ").split()
        for kind, line in output.lines.items():
            missing = {kind, *line.kinds.keys()} - set(words)
            assert not missing, f"{name} --help does not name {missing}"
