"""What the tests of the readers share."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def agrees_on_changed_logs(testee: str, *, seed: int) -> None:
    """Assert that a testee reads and refuses the same of 3,000 changed logs, and ends in none."""
    command = [sys.executable, "-m", "kafkaspec", "conform", "--codec", "native"]
    command += ["--against", testee, "--logs", "3000", "--seed", str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ", 0 skipped by one, 0 different" in done.stdout


def cargo(folder: Path, *arguments: str) -> None:
    """Run Cargo on the crate; libraries are compiled once for all runs."""
    environment = os.environ | {"CARGO_TARGET_DIR": str(ROOT / "build" / "readers" / "rust")}
    command = ["cargo", arguments[0], "--quiet", "--locked", *arguments[1:]]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
