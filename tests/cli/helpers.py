"""Runs the command in this process, and as a process of its own."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from kafkaspec.cli.main import main
from tests.goldens import GOLDEN

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-m", "kafkaspec.cli.main"]


def run(*arguments: str | Path) -> Result:
    """The command in this process. Anything but a clean exit is a failure of the test."""
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


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
        timeout=60,
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
