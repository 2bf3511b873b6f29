"""Programs written from the pages of the API alone: what is in them is enough, and is true."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.compute as pc
import pytest

import kafkaspec as ks
from tests.goldens import GOLDEN
from tests.test_types import mypy, pyright
from tools import api

FOLDER = Path(__file__).parent / "programs"
PROGRAMS = sorted(FOLDER.glob("*.py"))
LOGS = GOLDEN / "4.4.0" / "logs"
KARAPACE = Path(__file__).parent / "values" / "data" / "karapace" / "logs"


def run(name: str, *arguments: object, given: str = "", code: int = 0) -> list[str]:
    command = [sys.executable, str(FOLDER / name), *map(str, arguments)]
    done = subprocess.run(command, input=given, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return (done.stdout + (done.stderr if code else "")).splitlines()


def offsets(place: Path) -> list[int]:
    """Of the records of a partition, read by the reference codec."""
    return [record.offset for record in ks.Partition(place, codec="python").records()]


def test_there_are_ten_and_each_has_a_test() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    assert len(PROGRAMS) == 10
    assert {path.name for path in PROGRAMS} == set(re.findall(r'"(\w+\.py)"', text))


@pytest.mark.slow
def test_they_use_only_what_the_page_names() -> None:
    page = "\n".join(api.pages().values())
    for path in PROGRAMS:
        text = path.read_text(encoding="utf-8")
        assert "kafkaspec" not in text.replace("import kafkaspec as ks", "")
        for name in re.findall(r"\bks\.(\w+)", text):
            assert f"ks.{name}" in page, name


@pytest.mark.slow
def test_mypy_takes_them() -> None:
    done = mypy([*PROGRAMS])
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_pyright_takes_them(tmp_path: Path) -> None:
    for path in PROGRAMS:
        shutil.copy(path, tmp_path)
    done = pyright(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_read() -> None:
    lines = run("read.py", LOGS)
    places = sorted(path.name for path in LOGS.iterdir() if path.is_dir())
    assert sorted("-".join(line.split()[:2]) for line in lines) == places
    assert f"plain 0 {len(offsets(LOGS / 'plain-0'))}" in lines


@pytest.mark.slow
def test_look_up() -> None:
    records = list(ks.Partition(LOGS / "plain-0", codec="python").records())
    first = next(record for record in records if record.timestamp >= 1609459210000)
    found = run("look_up.py", LOGS, "plain-0", "2021-01-01T00:00:10Z")
    assert found == [f"{first.offset} {first.timestamp}"]
    (text,) = run("look_up.py", LOGS, "plian-0", "2021-01-01", code=1)
    assert text.endswith("there is no current partition 'plian-0'; did you mean 'plain-0'?")


@pytest.mark.slow
def test_tail(tmp_path: Path) -> None:
    """It waits for a line of its input: between two of them, records are appended."""
    (log,) = (LOGS / "plain-0").glob("*.log")
    (tmp_path / "plain-0").mkdir()
    data = log.read_bytes()
    cut = list(ks.Segment(log).batches())[-1]
    (tmp_path / "plain-0" / log.name).write_bytes(data[: cut.position + 30])
    command = [sys.executable, str(FOLDER / "tail.py"), str(tmp_path / "plain-0")]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin
        assert process.stdout
        seen = []
        for whole in (False, True):
            if whole:
                (tmp_path / "plain-0" / log.name).write_bytes(data)
            process.stdin.write("\n")
            process.stdin.flush()
            while not (line := process.stdout.readline()).startswith("end"):
                seen.append(int(line))
            assert (seen[-1] >= cut.base_offset) == whole
        process.stdin.close()
    assert seen == offsets(LOGS / "plain-0")


@pytest.mark.slow
def test_filter() -> None:
    (line,) = run("filter.py", LOGS, "offset < 5 and topic = 'plain'", "2020-01-01")
    assert line == str([offset for offset in offsets(LOGS / "plain-0") if offset < 5])


@pytest.mark.slow
def test_convert(tmp_path: Path) -> None:
    *_, last = run("convert.py", LOGS / "codec-gzip-0", tmp_path / "out")
    assert last == "True ['zstd']"
    assert offsets(tmp_path / "out") == offsets(LOGS / "codec-gzip-0")


@pytest.mark.slow
def test_check(tmp_path: Path) -> None:
    count = len(offsets(LOGS / "plain-0"))
    assert run("check.py", LOGS / "plain-0") == [f"True {count}"]
    shutil.copytree(LOGS / "plain-0", tmp_path / "plain-0")
    (log,) = (tmp_path / "plain-0").glob("*.log")
    data = bytearray(log.read_bytes())
    last = list(ks.Segment(bytes(data)))[-1]
    data[last.end - 1] ^= 1
    log.write_bytes(data)
    lines = run("check.py", tmp_path / "plain-0")
    (error,) = (line for line in lines if line.startswith("error checksum_mismatch "))
    assert error.replace("error", "finding", 1) in lines
    assert lines[-1].startswith("False ")


@pytest.mark.slow
def test_values() -> None:
    pytest.importorskip("orjson")
    first, second = run("values.py", KARAPACE, "orders")
    typed = ks.LogDirectory(KARAPACE).of_topic("orders").to_arrow(["value"], value="decode")
    assert first == f"{typed.num_rows} True 0"
    assert second.startswith("orders-value ")
    assert second.endswith(" True")
    assert pc.count(typed["value"]).as_py() > 0


@pytest.mark.slow
def test_write(tmp_path: Path) -> None:
    lines = run("write.py", tmp_path / "t-0")
    assert lines == ["5", "0 3 gzip 7", "3 2 none -1"]
    assert ks.verify(tmp_path / "t-0").clean


@pytest.mark.slow
def test_indexes(tmp_path: Path) -> None:
    (line,) = run("indexes.py", LOGS / "segments-0", tmp_path / "out")
    segments = len(list((LOGS / "segments-0").glob("*.log")))
    assert line.split()[:2] == ["True", str(segments)]
    for index in (tmp_path / "out").glob("*.index"):
        made = index.read_bytes()
        assert (LOGS / "segments-0" / index.name).read_bytes().startswith(made)


@pytest.mark.slow
def test_groups() -> None:
    lines = run("groups.py", LOGS)
    assert "group-a groups 0 12" in lines
