"""Runs the command in this process, and as a process of its own."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from kafkaspec.cli.exits import USAGE
from kafkaspec.cli.main import main
from tests.goldens import GOLDEN

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = ROOT / "generated" / "schemas"
COMMAND = [sys.executable, "-m", "kafkaspec.cli.main"]


def run(*arguments: str | Path) -> Result:
    """The command in this process. Anything but a clean exit is a failure of the test."""
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    check_lines(arguments, result)
    return result


def check_lines(arguments: Sequence[str | Path], result: Result) -> None:
    """Check each line of JSON against the schema of its command.

    The last one is the summary, unless an error ended the command.
    """
    words = [str(argument) for argument in arguments]
    name = "-".join(words[: 2 if words[:1] == ["spark"] else 1])
    if ("--format", "json") not in pairwise(words) or not (SCHEMAS / f"{name}.json").exists():
        return
    kinds = validators(name)
    types = []
    for text in result.stdout.splitlines():
        line = json.loads(text)
        types.append(line["type"])
        assert line["type"] in kinds, f"{name} declares no line of type {line['type']}"
        error = best_match(kinds[line["type"]].iter_errors(line))
        assert error is None, f"{name}: {error.message} in {text}"
    if types and (result.exit_code != USAGE or "summary" in types):
        assert types.index("summary") == len(types) - 1, f"{name}: {types}"


@cache
def validators(name: str) -> dict[str, Draft202012Validator]:
    """Validators of the lines of a command, by type."""
    schema = json.loads((SCHEMAS / f"{name}.json").read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    return {
        line["properties"]["type"]["const"]: Draft202012Validator(line) for line in schema["anyOf"]
    }


def lines(result: Result) -> list[dict[str, Any]]:
    """The JSON lines that it wrote."""
    return [json.loads(line) for line in result.stdout.splitlines()]


def process(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """The command as a process."""
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        **options,
    )


def golden(version: str, partition: str) -> Path:
    """A golden partition directory."""
    return GOLDEN / version / "logs" / partition


def first_segment(directory: Path) -> Path:
    return sorted(directory.glob("*.log"))[0]


def fingerprint(directory: Path) -> dict[str, tuple[str, int]]:
    """Hash and modification time of everything under a directory."""
    return {
        str(path.relative_to(directory)): (
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "",
            path.lstat().st_mtime_ns,
        )
        for path in sorted(directory.rglob("*"))
    }
