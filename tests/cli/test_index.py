"""``kafkaspec index``."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from kafkaspec.cli.main import main
from tests import goldens

SEGMENTS = goldens.GOLDEN / "4.3.1/logs/transactions-segments-0"


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["index", *map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.output


def test_the_table_names_each_file_and_what_equals(tmp_path: Path) -> None:
    code, text = run(SEGMENTS, "-o", tmp_path / "out", "--interval", 200)
    assert code == 0
    for item in (tmp_path / "out").iterdir():
        assert item.name in text
    assert "16 files made by the rule of recovery: 16 equal" in text


def test_json_says_the_same(tmp_path: Path) -> None:
    code, text = run(SEGMENTS, "-o", tmp_path / "out", "--interval", 200, "--format", "json")
    *rows, last = [json.loads(line) for line in text.splitlines()]
    assert code == 0
    assert (last["type"], last["segments"]) == ("summary", 4)
    assert len(rows) == 4
    for row in rows:
        assert row["valid_bytes"] == row["size"]
        assert row["error"] is None
        for file in row["files"]:
            assert file["compared"] == "equal"
            assert (tmp_path / "out" / file["name"]).stat().st_size == file["size"]


def test_a_difference_comes_with_its_cause(tmp_path: Path) -> None:
    code, text = run(SEGMENTS, "-o", tmp_path / "out")
    assert code == 0
    assert "index.interval.bytes" in text


def test_damage_is_a_finding(tmp_path: Path) -> None:
    source = tmp_path / "plain-0"
    shutil.copytree(goldens.GOLDEN / "4.3.1/logs/plain-0", source)
    log = source / "00000000000000000000.log"
    data = bytearray(log.read_bytes())
    data[-1] ^= 1
    log.write_bytes(data)
    code, text = run(source, "-o", tmp_path / "out")
    assert code == 1
    assert "recovery truncates the log at byte" in text
    assert log.read_bytes() == data


@pytest.mark.parametrize(
    "arguments",
    [
        ("/nowhere", "-o", "OUT"),
        (SEGMENTS,),
        (SEGMENTS, "-o", "OUT", "--profile", "9.9"),
        (SEGMENTS, "-o", "OUT", "--profile", "x"),
        (SEGMENTS, "-o", "OUT", "--interval", "-1"),
        (SEGMENTS, "-o", "OUT", "--rule", "guess"),
        (SEGMENTS, "-o", SEGMENTS),
    ],
    ids=str,
)
def test_wrong_usage(arguments: tuple[object, ...], tmp_path: Path) -> None:
    before = sorted(SEGMENTS.iterdir())
    code, _ = run(*(tmp_path / "out" if item == "OUT" else item for item in arguments))
    assert code == 2
    assert list(tmp_path.iterdir()) == []
    assert sorted(SEGMENTS.iterdir()) == before


def test_an_error_of_one_partition_stays_with_it(tmp_path: Path) -> None:
    logs, out = tmp_path / "logs", tmp_path / "out"
    copy = f"plain-0.{'a' * 32}-delete"
    for name in ("plain-0", "broken-0", copy):
        shutil.copytree(goldens.GOLDEN / "4.3.1/logs/segments-0", logs / name)
    (logs / "gone-0").symlink_to("nowhere")
    (logs / "lost+found").mkdir()
    broken = sorted((logs / "broken-0").glob("*.log"))[2]
    broken.unlink()
    broken.symlink_to("nowhere")
    code, said = run(logs, "-o", out)
    assert code == 1
    assert [item.name for item in out.iterdir()] == ["plain-0"]
    for text in (
        f"not read: {logs / 'gone-0'}: No such file",
        f"not read: {broken}: No such file",
        f"note: {logs / copy}: left out: a partition that is being deleted",
        f"note: {logs}: 1 folder was not read: lost+found",
    ):
        assert text in said
    shutil.rmtree(out)
    shutil.rmtree(logs / "plain-0")
    code, said = run(logs, "-o", out)
    assert (code, out.exists()) == (2, False)
    assert "of 2 partitions, none can be read" in said
    code, said = run(logs / copy, "-o", out)
    assert code == 0
    assert f"note: {logs / copy}: a partition that is being deleted" in said


def test_several_paths_have_a_directory_each(tmp_path: Path) -> None:
    """With the files that each of them has alone; one that cannot be read is named."""
    plain = goldens.GOLDEN / "4.3.1/logs/plain-0"
    code, text = run(SEGMENTS, plain, tmp_path / "nothing", "-o", tmp_path / "out")
    assert code == 1
    assert f"not read: {tmp_path / 'nothing'}" in text
    for source in (SEGMENTS, plain):
        alone = tmp_path / f"alone-{source.name}"
        run(source, "-o", alone)
        made = tmp_path / "out" / source.name
        assert {each.name: each.read_bytes() for each in made.iterdir()} == {
            each.name: each.read_bytes() for each in alone.iterdir()
        }
    segment = plain / f"{0:020d}.log"
    code, text = run(segment, SEGMENTS, "-o", tmp_path / "mixed")
    assert code == 0
    assert {each.name for each in (tmp_path / "mixed").iterdir()} == {plain.name, SEGMENTS.name}


def test_two_paths_of_one_name_are_refused(tmp_path: Path) -> None:
    plain = goldens.GOLDEN / "4.3.1/logs/plain-0"
    other = goldens.GOLDEN / "3.9.2/logs/plain-0"
    for both in ((plain, other), (plain, other / f"{0:020d}.log")):
        code, text = run(*both, "-o", tmp_path / "out")
        assert code == 2
        assert "two of the sources are called plain-0" in text
        assert not (tmp_path / "out").exists()
