"""``kafkaspec explain --as``: any file as any type of the specification."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.codecs import codec_names
from tests.cli.helpers import first_segment, golden, lines, run

VECTORS = Path(__file__).parents[2] / "generated" / "vectors"


def _vectors() -> dict[str, list[dict[str, Any]]]:
    """Vectors of each type whose parameters are numbers."""
    found: dict[str, list[dict[str, Any]]] = {}
    for path in sorted(VECTORS.glob("*.json")):
        for vector in json.loads(path.read_text(encoding="utf-8"))["vectors"]:
            if all(isinstance(item, int) for item in vector["parameters"]):
                found.setdefault(vector["type"], []).append(vector)
    return found


@pytest.mark.slow
def test_every_type_with_every_codec(tmp_path: Path) -> None:
    """One vector that is accepted and one that is refused, of every type."""
    path = tmp_path / "bytes"
    seen = set()
    for type_key, vectors in _vectors().items():
        by_verdict = {vector["verdict"]: vector for vector in reversed(vectors)}
        for verdict, vector in by_verdict.items():
            path.write_bytes(bytes.fromhex(vector["hex"]))
            parameters = [f"--parameter={number}" for number in vector["parameters"]]
            result = run("explain", path, "--as", type_key, *parameters, "--codec", "all")
            where = (type_key, vector["name"], result.output)
            assert result.exit_code == (0 if verdict == "accept" else 1), where
            assert result.stdout.count(" agrees") == len(codec_names()), where
            seen.add(type_key)
    structured = {
        key for key, layout in LAYOUTS.items() if any(kind for _, kind in layout.parameters)
    }
    roots_without_bytes = {key for key, layout in LAYOUTS.items() if not layout.fields}
    assert set(LAYOUTS) - seen <= structured | roots_without_bytes


def test_json_has_the_fields(tmp_path: Path) -> None:
    path = tmp_path / "odd.name"
    path.write_bytes(bytes.fromhex("00000007 01 02 e8b7be43 61"))
    fields = lines(run("explain", path, "--as", "framed_message", "--format", "json"))
    codec = next(field for field in fields if field["path"].endswith("/compression"))
    assert (codec["value"], codec["name"], codec["bits"]) == (2, "snappy", [6, 8])
    assert [field["spec"].partition("#")[0] for field in fields] == ["message_set.ksy"] * len(
        fields
    )


def test_the_name_of_an_index_says_its_base_offset(tmp_path: Path) -> None:
    index = first_segment(golden("4.3.1", "segments-0")).with_suffix(".index")
    given = index.with_name("copy")
    path = tmp_path / "00000000000000000100.index"
    path.write_bytes(index.read_bytes()[:8])
    assert run("explain", path, "--as", "index.offset_index").exit_code == 0
    other = tmp_path / given.name
    other.write_bytes(path.read_bytes())
    refused = run("explain", other, "--as", "index.offset_index")
    assert refused.exit_code == 2
    assert "has the parameters base_offset: give --parameter N" in refused.stderr
    assert run("explain", other, "--as", "offset_index", "--parameter", "100").exit_code == 0


def test_a_part_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "bytes"
    path.write_bytes(b"??" + bytes.fromhex("9601") + b"more")
    result = run("explain", path, "--as", "varint32", "--position", "2")
    assert "75" in result.stdout
    assert "4 more bytes follow" in result.stdout
    cut = run("explain", path, "--as", "varint32", "--position", "2", "--size", "1")
    assert cut.exit_code == 1
    assert "[truncated]" in cut.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--as", "mesage_set"], "there is no type mesage_set; did you mean 'message_set'"),
        (["--as", "nothing.like.it"], "transaction_index.aborted_transaction"),
        (["--as", "record"], "needs a recordbatch.record_batch"),
        (["--as", "varint32", "--parameter", "1"], "varint.varint32 has no parameters"),
        (["--as", "varint32", "--offset", "1"], "--as takes --position"),
        (["--as", "varint32", "--position", "9"], "byte 9 is not in the file"),
        (["--size", "1"], "go with --as"),
    ],
)
def test_wrong_usage(tmp_path: Path, arguments: list[str], message: str) -> None:
    path = tmp_path / "bytes"
    path.write_bytes(b"\x00")
    result = run("explain", path, *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_huge_file_is_not_read(disk_path: Path) -> None:
    path = disk_path / "sparse"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    result = run("explain", path, "--as", "message_set")
    assert result.exit_code == 2
    assert "--size" in result.stderr
    assert run("explain", path, "--as", "entry", "--size", "8").exit_code == 1


def test_numbers_have_the_names_that_kafka_shows(tmp_path: Path) -> None:
    """State 2 of a transaction, and one that no release has, which stays a number."""
    path = tmp_path / "value"
    for number, shown, name in ((2, "2 (PrepareCommit)", "PrepareCommit"), (99, " 99 ", "")):
        path.write_bytes(b"\0\0" + bytes(14) + bytes([number]) + b"\xff" * 4 + bytes(16))
        command = ("explain", path, "--as", "transaction_log_value")
        assert shown in run(*command).stdout
        fields = lines(run(*command, "--format", "json"))
        (state,) = [field for field in fields if field["kafka_name"] == "TransactionStatus"]
        assert (state["value"], state["name"]) == (number, name)
