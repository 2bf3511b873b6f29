"""What the README shows is run: each command, and each line of output that it prints."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```(console|python|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
README = (ROOT / "README.md").read_text(encoding="utf-8")
_LATE = "failed to connect back"
_STARTS = 5
"""Spark gives the planner of a stream ten seconds to start, which a busy machine may not keep."""
LINK = re.compile(r"\]\((?!https?://)([^)#]+)\)")


def blocks(language: str) -> list[str]:
    return [body for kind, body in BLOCK.findall(README) if kind == language]


def environment() -> dict[str, str]:
    # The console script of the environment that runs the tests, whatever it is called.
    return os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def steps(block: str) -> list[tuple[str, list[str]]]:
    """Pairs of a command and the lines that the README shows of its output."""
    found: list[tuple[str, list[str]]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line != "...":
            found[-1][1].append(line)
    return found


@pytest.mark.parametrize("block", blocks("console"), ids=lambda block: block.split("\n")[0][2:50])
def test_console_blocks(block: str, tmp_path: Path) -> None:
    for command, shown in steps(block):
        expected = 1 if "# exit code 1" in command else 0
        run = command.replace("/tmp/", f"{shlex.quote(str(tmp_path))}/")
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", run],
            cwd=ROOT,
            env=environment() | {"COLUMNS": "160"},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == expected, done.stdout + done.stderr
        printed = done.stdout.replace(str(tmp_path), "/tmp")
        for line in shown:
            assert line.rstrip() in printed, f"{command}\n{printed}"


@pytest.mark.parametrize("block", blocks("python"), ids=lambda block: block.split("\n")[0])
def test_python_blocks(block: str) -> None:
    if "pyspark" in block and shutil.which("java") is None:
        pytest.skip("Spark needs Java 17 or newer")
    for _ in range(_STARTS):
        done = subprocess.run(
            [sys.executable, "-c", block],
            cwd=ROOT,
            env=environment() | {"SPARK_LOCAL_IP": "127.0.0.1"},
            capture_output=True,
            text=True,
            check=False,
        )
        if _LATE not in done.stderr:
            break
    assert done.returncode == 0, done.stderr


def test_the_make_targets_exist() -> None:
    targets = re.findall(r"^make ([a-z]+)", "\n".join(blocks("sh")), re.MULTILINE)
    targets += re.findall(r"`make ([a-z]+)`", README)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert targets
    assert [name for name in targets if f"\n{name}:" not in makefile] == []


def test_the_links_lead_somewhere() -> None:
    assert [link for link in LINK.findall(README) if not (ROOT / link).exists()] == []
