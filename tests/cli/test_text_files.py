"""``dump`` and ``explain`` of text files, against the text that a broker wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafkaspec.files import names
from tests.cli.helpers import lines, run
from tests.goldens import GOLDEN, named

LOGS = GOLDEN / "4.3.1" / "logs"
FILES = [golden for name in names.TEXT_FILES for golden in named(name)[-2:]]


@pytest.mark.parametrize("name", names.OFFSET_CHECKPOINTS)
def test_dump_of_offsets_as_json(name: str) -> None:
    expected = [line.split(" ") for line in (LOGS / name).read_text().splitlines()[2:]]
    found = lines(run("dump", "--format", "json", LOGS / name))
    assert [
        [line["topic"], str(line["partition"]), str(line["offset"])] for line in found
    ] == expected
    text = run("dump", LOGS / name).stdout.splitlines()
    assert text[0] == str(LOGS / name)
    assert len(text) == 1 + len(expected)


def test_dump_of_the_other_files_as_json() -> None:
    place = LOGS / "__cluster_metadata-0"
    found = lines(
        run(
            "dump", "--format", "json",
            place / names.QUORUM_STATE, place / names.PARTITION_METADATA,
            LOGS / names.META_PROPERTIES, LOGS / names.CLEAN_SHUTDOWN,
        )
    )  # fmt: skip
    quorum = json.loads((place / names.QUORUM_STATE).read_text())
    assert found[0]["leader_epoch"] == quorum["leaderEpoch"]
    assert found[0]["voted_directory_id"] == quorum["votedDirectoryId"]
    assert (place / names.PARTITION_METADATA).read_text().endswith(f" {found[1]['topic_id']}")
    written = dict(
        line.split("=") for line in (LOGS / names.META_PROPERTIES).read_text().splitlines()[2:]
    )
    assert found[2]["cluster_id"] == written["cluster.id"]
    assert found[2]["directory_id"] == written["directory.id"]
    shutdown = json.loads((LOGS / names.CLEAN_SHUTDOWN).read_text())
    assert found[3]["broker_epoch"] == shutdown["brokerEpoch"]


def test_dump_of_text_files_and_logs() -> None:
    place = LOGS / "plain-0"
    alone = run("dump", place).stdout
    both = run("dump", place, place / names.LEADER_EPOCHS).stdout
    assert both.endswith(alone)
    assert both.startswith(str(place / names.LEADER_EPOCHS))


def test_dump_of_a_broken_file(tmp_path: Path) -> None:
    path = tmp_path / names.LEADER_EPOCHS
    path.write_bytes(b"0\n1\n1 x\n")
    result = run("dump", path)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "at byte 6 /entries/0/start_offset: line 3" in result.stderr
    assert run("dump", tmp_path / names.QUORUM_STATE).exit_code == 2


@pytest.mark.parametrize("options", [("--batches",), ("--from-offset", "0")])
def test_options_for_logs_are_refused(options: tuple[str, ...]) -> None:
    result = run("dump", *options, LOGS / names.META_PROPERTIES)
    assert result.exit_code == 2
    assert options[0] in result.stderr
    assert run("explain", "--offset", "1", LOGS / names.META_PROPERTIES).exit_code == 2


@pytest.mark.parametrize("golden", FILES, ids=str)
def test_explain_shows_bytes_where_they_are(golden: object) -> None:
    from tests.goldens import Golden

    assert isinstance(golden, Golden)
    data = golden.path.read_bytes()
    result = run("explain", "--records", "0", "--format", "json", golden.path)
    assert result.exit_code == 0
    fields = lines(result)
    for field in fields:
        assert data[field["start"] : field["end"]].hex() == field["hex"]
        assert data[field["start"] : field["end"]].decode() == field["value"]
    shown = {at for field in fields for at in range(field["start"], field["end"])}
    assert {data[at] for at in set(range(len(data))) - shown} <= {0x0A}
    assert run("explain", golden.path).exit_code == 0


def test_explain_of_a_broken_file(tmp_path: Path) -> None:
    path = tmp_path / names.HIGH_WATERMARKS
    path.write_bytes(b"0\n9\na 0 1\nb\x1b[2J 0 1\nc 0 1\nd 0 1\n")
    result = run("explain", path)
    assert result.exit_code == 1
    assert "\x1b" not in result.stdout
    assert "1 more entry" in result.stdout
    assert "line 2: 9 entries are announced, but 4 follow" in " ".join(result.stdout.split())
    path.write_bytes(b"0\n1\n\xff\n")
    assert run("explain", path).exit_code == 1
    path.write_bytes(b"")
    assert run("explain", path).exit_code == 0


def test_a_line_that_is_one_zero_byte_is_shown(tmp_path: Path) -> None:
    path = tmp_path / names.META_PROPERTIES
    path.write_bytes(b"version=1\n\0\n")
    result = run("explain", "--format", "json", path)
    assert result.exit_code == 1
    assert [item["value"] for item in lines(result)][:2] == ["version=1", "\0"]
