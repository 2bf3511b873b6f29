"""The reader in C compiles without a warning, passes the kit, and names damage with its place."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kafkaspec as ks
from kafkaspec.conformance.levels import CaseLevel
from tests import goldens
from tools.native.single import EXAMPLE, JUDGED, SOURCE, files

LEVELS = (CaseLevel.FRAMING, CaseLevel.RECORDS, CaseLevel.COMPRESSION, CaseLevel.RESOURCE)
TESTEE = f"{sys.executable} -m tools.native.single.testee"
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files, and the programs that a strict compiler makes of them."""
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    into = tmp_path_factory.mktemp("single")
    for name, text in files().items():
        (into / name).write_text(text, encoding="utf-8")
    for source in (into / EXAMPLE, JUDGED):
        command = ["cc", "-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{into}"]
        command += [str(source), str(into / SOURCE), "-ldl", "-o", str(into / source.stem)]
        subprocess.run(command, check=True)
    return into


def kafkaspec(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kafkaspec", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT)


@pytest.mark.slow
def test_the_reader_passes_the_kit_on_cases_and_on_golden_segments(folder: Path) -> None:
    testee = f"{TESTEE} {folder / JUDGED.stem}"
    levels = [word for level in LEVELS for word in ("--only-level", level)]
    done = kafkaspec(
        "conform", "--format", "json", "--resource", "--cases", str(goldens.GOLDEN), *levels,
        "--testee", testee,
    )  # fmt: skip
    *_, last = done.stdout.splitlines()
    found = json.loads(last)
    assert done.returncode == 0, found["failures"]
    for level in LEVELS:
        counts = found["levels"][level]
        assert counts["passed"] > 50
        assert counts["failed"] == counts["expected_failure"] == 0
        assert counts["skipped"] <= (level == CaseLevel.RESOURCE), (level, counts)


@pytest.mark.slow
def test_the_reader_and_the_native_codec_agree_on_changed_logs(folder: Path) -> None:
    against = f"{TESTEE} {folder / JUDGED.stem}"
    done = kafkaspec(
        "conform", "--codec", "native", "--against", against, "--logs", "3000", "--seed", "5"
    )
    assert done.returncode == 0, done.stdout
    assert ", 0 different" in done.stdout


@pytest.mark.slow
def test_the_example_prints_what_dump_prints(folder: Path) -> None:
    """Segments without control records and without a zero byte, with which a text in C ends."""
    seen = 0
    for golden in goldens.distinct(".log"):
        segment = ks.Segment(golden.path)
        records = list(segment.records())
        shown = b"".join(map(_line, records))
        if b"\0" in shown or any(batch.is_control for batch in segment.batches()):
            continue
        seen += 1
        done = subprocess.run([folder / "example", golden.path], capture_output=True)
        assert (done.stdout, done.returncode) == (shown, 0), golden.path
    assert seen > 50


def _line(record: ks.Record) -> bytes:
    key, value = (b"null" if item is None else item for item in (record.key, record.value))
    return b"%d %d key=%b value=%b\n" % (record.offset, record.timestamp, key, value)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "status", "says"),
    [
        (lambda data: data[:-1], 1, "byte {last}: the log ends within an entry"),
        (lambda data: data[:-1] + b"?", 1, "byte {last}: the checksum does not match"),
        (lambda data: data + bytes(20), 1, "byte {end}: no entry begins here"),
        (lambda data: b"", 0, ""),
    ],
    ids=["cut", "flipped", "zeros", "empty"],
)  # fmt: skip
def test_damage_is_named_with_its_place(
    folder: Path, tmp_path: Path, change: Callable[[bytes], bytes], status: int, says: str
) -> None:
    data = b"".join(ks.encode([ks.Record(at, 5, b"k", b"v")]) for at in range(3))
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(change(data))
    done = subprocess.run([folder / "example", path], capture_output=True, text=True)
    last = len(data) * 2 // 3
    assert (done.returncode, done.stderr.strip()) == (status, says.format(last=last, end=len(data)))


@pytest.mark.slow
def test_the_example_names_what_it_cannot_read_or_write(folder: Path, tmp_path: Path) -> None:
    def said(*arguments: Path, **options: Any) -> tuple[int, str]:
        command = [folder / "example", *arguments]
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True, **options)
        return done.returncode, done.stderr

    log = next(golden.path for golden in goldens.distinct(".log") if golden.path.stat().st_size)
    assert said() == (2, "usage: records SEGMENT\n")
    assert said(tmp_path / "nowhere") == (2, f"{tmp_path / 'nowhere'}: No such file or directory\n")
    assert said(tmp_path) == (2, f"{tmp_path}: Is a directory\n")
    if Path("/dev/full").exists():
        with open("/dev/full", "wb") as full:
            assert said(log, stdout=full) == (2, "records: No space left on device\n")


def test_the_example_has_40_lines() -> None:
    assert len(files()[EXAMPLE].splitlines()) == 40
