"""The crate compiles without a warning, and passes the kit on cases and on golden segments."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kafkaspec.conformance.levels import CaseLevel
from tests import goldens
from tests.readers.running import agrees_on_changed_logs, cargo
from tools.readers.rust import assemble

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
LEVELS = (
    CaseLevel.FRAMING,
    CaseLevel.RECORDS,
    CaseLevel.COMPRESSION,
    CaseLevel.MESSAGES,
    CaseLevel.RESOURCE,
)
"""Levels of which the crate passes each case that it answers."""


@pytest.fixture(scope="module")
def crate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The crate, put together."""
    if shutil.which("cargo") is None:
        pytest.skip("no Rust: cargo is missing")
    into = tmp_path_factory.mktemp("rust")
    assemble(into)
    return into


@pytest.fixture(scope="module")
def testee(crate: Path) -> str:
    """The command of the reader as a testee."""
    cargo(crate, "build", "--examples")
    built = ROOT / "build" / "readers" / "rust" / "debug" / "examples" / "testee"
    return shutil.copy(built, str(crate / "testee"))


def conform(testee: str, *arguments: str) -> dict[str, Any]:
    """Run the kit, and return its last line."""
    command = [sys.executable, "-m", "kafkaspec", "conform", "--format", "json"]
    done = subprocess.run(
        [*command, *arguments, "--testee", testee], capture_output=True, text=True, cwd=ROOT
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert done.returncode == 0, found["failures"]
    return found


def test_the_crate_passes_the_kit_on_cases_and_on_golden_segments(testee: str) -> None:
    levels = [word for level in LEVELS for word in ("--only-level", level)]
    found = conform(testee, "--resource", "--cases", str(goldens.GOLDEN), *levels)
    for level in LEVELS:
        counts = found["levels"][level]
        assert counts["passed"] > 50
        assert counts["failed"] == counts["expected_failure"] == 0
        assert level == CaseLevel.RESOURCE or not counts["skipped"], (level, counts)


def test_the_crate_and_the_native_codec_agree_on_changed_logs(testee: str) -> None:
    """The crate is built with checks of overflow, so that each one would end the testee."""
    agrees_on_changed_logs(testee, seed=6)


def test_the_crate_has_no_warning(crate: Path) -> None:
    if shutil.which("cargo-clippy") is None:
        pytest.skip("no Rust: clippy is missing")
    cargo(crate, "clippy", "--all-targets", "--", "-D", "warnings")
