"""The reader in Go is well formed, passes its own tests and the kit, and is equal to ours."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import kafkaspec as ks
from kafkaspec.broker.index_rules import Rule
from kafkaspec.conformance.levels import CaseLevel
from kafkaspec.files.names import OFFSET_INDEX, TIME_INDEX
from kafkaspec.writing.comparison import Comparison
from tests import goldens
from tests.readers.running import (
    agrees_on_changed_batches_of_brokers,
    agrees_on_changed_logs,
    answers_as_ours_over_damage,
    filters_as_kafkas_consumer,
    looks_up_as_ours,
    number_in,
)
from tests.writing.golden_settings import PER_BATCH, RESTARTED, numbers, partitions
from tools.golden.again import index_interval
from tools.readers.go import GENERATED, HERE, put_together

LEVELS = (
    CaseLevel.FRAMING, CaseLevel.RECORDS, CaseLevel.COMPRESSION, CaseLevel.TRANSACTIONS,
    CaseLevel.INDEXES, CaseLevel.MESSAGES, CaseLevel.RESOURCE,
)  # fmt: skip
ROOT = Path(__file__).parents[2]
LOG = goldens.GOLDEN / "4.4.0" / "logs" / "headers-0" / "00000000000000000000.log"


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


@pytest.mark.slow
def test_generated_and_written_code_is_as_gofmt_has_it() -> None:
    if shutil.which("gofmt") is None:
        pytest.skip("no gofmt")
    done = subprocess.run(["gofmt", "-l", GENERATED, HERE], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.slow
def test_the_module_passes_vet_and_its_program_prints_the_records(module: Path) -> None:
    """The guide's commands run its own tests (``tests/conformance/test_languages.py``)."""
    go(module, "vet", "./...")
    found = re.search(r"^```go\n(.*?)^```$", (module / "README.md").read_text("utf-8"), re.M | re.S)
    assert found
    (module / "example").mkdir()
    (module / "example" / "main.go").write_text(found[1], "utf-8")
    wanted = [f"{record.offset} {record.timestamp} " for record in ks.open(LOG).records()]
    shown = go(module, "run", "./example", str(LOG)).splitlines()
    assert [line[: len(start)] for line, start in zip(shown, wanted, strict=True)] == wanted


@pytest.mark.slow
def test_the_module_has_the_path_that_it_is_given(tmp_path: Path) -> None:
    put_together(tmp_path, "example.org/reader")
    if shutil.which("go") is None:
        pytest.skip("no Go")
    assert "example.org/reader/format" in go(tmp_path, "list", "./...").split()
    go(tmp_path, "vet", "./...")


@pytest.mark.slow
def test_the_reader_passes_the_kit_on_cases_and_on_golden_segments(testee: str) -> None:
    levels = [word for level in LEVELS for word in ("--only-level", level)]
    command = [sys.executable, "-m", "kafkaspec", "conform", "--format", "json", *levels]
    command += ["--resource", "--cases", str(goldens.GOLDEN), "--testee", testee]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    *_, last = done.stdout.splitlines()
    found = json.loads(last)
    assert done.returncode == 0, found["failures"]
    for level in LEVELS:
        counts = found["levels"][level]
        assert counts["passed"] > 50
        assert counts["failed"] == counts["expected_failure"] == counts["skipped"] == 0
        assert (counts["not_supported"] > 0) is (level is CaseLevel.INDEXES)  # text files


def built(module: Path, name: str) -> Path:
    """Build a program that is beside this file, and return its path."""
    folder = module / f"{name}_program"
    folder.mkdir()
    shutil.copy(Path(__file__).with_name(f"{name}.go"), folder)
    go(module, "build", "-o", name, f"./{folder.name}")
    return module / name


@pytest.mark.slow
def test_look_ups_are_ours_also_with_a_wrong_index(module: Path, tmp_path: Path) -> None:
    program = built(module, "look_up")

    def ask(log: Path, how: str, numbers: Sequence[int]) -> list[int]:
        return list(map(number_in, go_run(program, str(log), how, *map(str, numbers))))

    looks_up_as_ours(tmp_path / "wrong-0", ask)
    answers_as_ours_over_damage(tmp_path / "damaged-0", ask)


@pytest.mark.slow
def test_transactions_are_those_of_kafkas_consumer(module: Path, tmp_path: Path) -> None:
    filters_as_kafkas_consumer(tmp_path, built(module, "committed"))


@pytest.fixture(scope="module")
def writer(module: Path) -> Path:
    """A program that writes partitions, and the indexes of logs."""
    return built(module, "write_log")


@pytest.mark.slow
def test_nothing_is_wrong_with_a_partition_that_it_writes(writer: Path, tmp_path: Path) -> None:
    partition = tmp_path / "written-0"
    partition.mkdir()
    go_run(writer, "partition", str(partition), "7")
    report = ks.verify(partition)
    assert report.findings == []
    assert report.totals.records > 4000
    for rule in (Rule.RECOVERY, Rule.APPEND):
        made = ks.rebuild_indexes(partition, rule=rule).files
        assert {Path(file.name).suffix for file in made} >= {OFFSET_INDEX, TIME_INDEX}
        indexes = [file for file in made if Path(file.name).suffix in (OFFSET_INDEX, TIME_INDEX)]
        assert len(indexes) == 6
        assert all(file.entries > 20 for file in indexes)
        assert {file.comparison for file in indexes} == {Comparison.EQUAL}, rule


@pytest.mark.slow
def test_indexes_of_the_logs_of_brokers_are_theirs(writer: Path, tmp_path: Path) -> None:
    """Brokers index each batch since 3.9.1; a restart within a segment shows in its indexes."""
    logs: dict[int, list[Path]] = {}
    for path in partitions():
        if numbers(path.parts[-3]) >= PER_BATCH and not path.name.startswith(RESTARTED):
            logs.setdefault(index_interval(path), []).extend(sorted(path.glob("*.log")))
    compared = entries = 0
    for interval, found in logs.items():
        folders = [tmp_path / f"{interval}-{number}" for number in range(len(found))]
        for folder in folders:
            folder.mkdir()
        stems = [folder / log.stem for folder, log in zip(folders, found, strict=True)]
        pairs = [str(path) for pair in zip(found, stems, strict=True) for path in pair]
        go_run(writer, "indexes", str(interval), *pairs)
        for log, stem in zip(found, stems, strict=True):
            for suffix in (OFFSET_INDEX, TIME_INDEX):
                theirs = log.with_suffix(suffix).read_bytes()
                ours = stem.with_name(f"{stem.name}{suffix}").read_bytes()
                assert theirs[: len(ours)] == ours, log
                assert not any(theirs[len(ours) :]), log  # preallocated
                compared += 1
                entries += len(ours) > 0
    assert compared > 300
    assert entries > 100


def go_run(program: Path, *arguments: str) -> list[str]:
    """Run a program of the module, and return its lines."""
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
def test_the_reader_and_the_native_codec_agree_on_changed_logs(testee: str) -> None:
    agrees_on_changed_logs(testee, seed=5)
    agrees_on_changed_batches_of_brokers(testee, seed=5)
