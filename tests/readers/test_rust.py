"""The crate compiles without a warning, and passes the kit on cases and on golden segments."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kafkaspec.conformance.levels import CaseLevel
from kafkaspec.files.names import INDEXES, LOG
from tests import goldens
from tests.readers.running import (
    agrees_on_changed_batches_of_brokers,
    agrees_on_changed_logs,
    answers_as_ours_over_damage,
    cargo,
    filters_as_kafkas_consumer,
    looks_up_as_ours,
    number_in,
)
from tools.golden import again
from tools.readers.rust import assemble

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
BUILT = ROOT / "build" / "readers" / "rust" / "debug" / "examples"


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
    return copied(crate, "testee")


def copied(crate: Path, example: str) -> str:
    """Return the path of an example that is built, which a draft's does not replace there."""
    return shutil.copy(BUILT / example, str(crate / example))


def run(program: str, *arguments: str) -> list[str]:
    """Run an example, and return its lines."""
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


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
    levels = [word for level in CaseLevel for word in ("--only-level", level)]
    found = conform(testee, "--resource", "--cases", str(goldens.GOLDEN), *levels)
    for level in CaseLevel:
        counts = found["levels"][level]
        assert counts["passed"] > (20 if level is CaseLevel.WRITING else 50), (level, counts)
        assert counts["failed"] == counts["expected_failure"] == 0
        assert level is CaseLevel.RESOURCE or not counts["skipped"], (level, counts)
        assert (counts["not_supported"] > 0) is (level is CaseLevel.INDEXES)  # text files


def test_look_ups_are_ours_also_with_a_wrong_index(
    crate: Path, testee: str, tmp_path: Path
) -> None:
    find = copied(crate, "find")

    def ask(log: Path, how: str, numbers: Sequence[int]) -> list[int]:
        return list(map(number_in, run(find, str(log), how, *map(str, numbers))))

    looks_up_as_ours(tmp_path / "wrong-0", ask)
    answers_as_ours_over_damage(tmp_path / "damaged-0", ask)


def test_transactions_are_those_of_kafkas_consumer(
    crate: Path, testee: str, tmp_path: Path
) -> None:
    filters_as_kafkas_consumer(tmp_path, Path(copied(crate, "committed")))


def test_indexes_are_as_brokers_write_them(crate: Path, testee: str, tmp_path: Path) -> None:
    indexes, seen = copied(crate, "indexes"), 0
    for partition in goldens.partitions("4.4.0"):
        if not (again.is_written_once(partition) and again.is_modern(partition)):
            continue
        for log in partition.glob(f"*{LOG}"):
            run(indexes, str(log), str(tmp_path), str(again.index_interval(partition)))
            for kind in INDEXES:
                theirs = log.with_suffix(kind)
                made = (tmp_path / theirs.name).read_bytes()
                assert theirs.read_bytes() == made, theirs
                seen += bool(made)
    assert seen > 20


def test_the_crate_passes_its_own_tests(crate: Path) -> None:
    cargo(crate, "test")


def test_the_crate_and_the_native_codec_agree_on_changed_logs(testee: str) -> None:
    """The crate is built with checks of overflow, so that each one would end the testee."""
    agrees_on_changed_logs(testee, seed=6)
    agrees_on_changed_batches_of_brokers(testee, seed=6)


def test_the_crate_has_no_warning(crate: Path) -> None:
    if shutil.which("cargo-clippy") is None:
        pytest.skip("no Rust: clippy is missing")
    cargo(crate, "clippy", "--all-targets", "--", "-D", "warnings")
