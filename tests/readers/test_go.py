"""The reader in Go is well formed, passes its own tests and the kit, and is equal to ours."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kafkaspec.conformance.levels import CaseLevel
from tests import goldens
from tools.readers.go import GENERATED, HERE, put_together

LEVELS = (
    CaseLevel.FRAMING,
    CaseLevel.RECORDS,
    CaseLevel.COMPRESSION,
)
ROOT = Path(__file__).parents[2]


def go(folder: Path, *arguments: str) -> str:
    """Run Go in a folder, and return what it prints."""
    done = subprocess.run(["go", *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The module, put together."""
    if shutil.which("go") is None:
        pytest.skip("no Go")
    into = tmp_path_factory.mktemp("go")
    put_together(into)
    return into


@pytest.fixture(scope="module")
def testee(module: Path) -> str:
    """The command of the reader as a testee."""
    go(module, "build", "-mod=readonly", "-o", "judged", "./testee")
    return str(module / "judged")


def test_generated_and_written_code_is_as_gofmt_has_it() -> None:
    if shutil.which("gofmt") is None:
        pytest.skip("no gofmt")
    done = subprocess.run(["gofmt", "-l", GENERATED, HERE], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.slow
def test_the_module_passes_its_own_tests_and_vet(module: Path) -> None:
    go(module, "vet", "./...")
    go(module, "test", "./...")


@pytest.mark.slow
def test_the_reader_passes_the_kit_on_cases_and_on_golden_segments(testee: str) -> None:
    levels = [word for level in LEVELS for word in ("--only-level", level)]
    command = [sys.executable, "-m", "kafkaspec", "conform", "--format", "json", *levels]
    command += ["--cases", str(goldens.GOLDEN), "--testee", testee]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    *_, last = done.stdout.splitlines()
    found = json.loads(last)
    assert done.returncode == 0, found["failures"]
    for level in LEVELS:
        counts = found["levels"][level]
        assert counts["passed"] > 50
        assert counts["failed"] == counts["expected_failure"] == counts["skipped"] == 0


@pytest.mark.slow
def test_the_reader_and_the_native_codec_agree_on_changed_logs(testee: str) -> None:
    command = [sys.executable, "-m", "kafkaspec", "conform", "--codec", "native"]
    command += ["--against", testee, "--logs", "3000", "--seed", "5"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout
    assert ", 0 different" in done.stdout
