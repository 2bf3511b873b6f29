"""``dump`` of indexes and snapshots, against what the release's own tool says of them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kafkaspec.conformance import dump_text
from kafkaspec.files import names
from tests.cli.helpers import lines, run
from tests.goldens import GOLDEN, VERSIONS, files

LOGS = GOLDEN / "4.3.1" / "logs"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", [names.OFFSET_INDEX, names.TIME_INDEX, names.TRANSACTION_INDEX])
def test_entries_are_those_that_the_tool_prints(version: str, kind: str) -> None:
    goldens = [golden for golden in files(kind, version=version) if golden.dumped]
    if not goldens:
        pytest.skip("this release has none")
    found: dict[str, list[dict[str, object]]] = {str(golden.path): [] for golden in goldens}
    for line in lines(run("dump", "--format", "json", *found)):
        assert line.pop("entry") == len(found[line["file"]])
        found[line.pop("file")].append(line)
    for golden in goldens:
        expected = [
            {_snake(name): value for name, value in entry.items()}
            for entry in dump_text.index_lines(golden.dump)
        ]
        assert found[str(golden.path)] == expected, golden


@pytest.mark.slow
def test_producers_are_those_that_the_tool_prints() -> None:
    seen = 0
    for golden in files(names.PRODUCER_SNAPSHOT, version="4.3.1"):
        found = lines(run("dump", "--format", "json", golden.path))
        expected = dump_text.snapshot_lines(golden.dump)
        assert [(str(line["producer_id"]), str(line["timestamp"])) for line in found] == [
            (line["producerId"], line["lastTimestamp"]) for line in expected
        ], golden
        seen += len(found)
    assert seen > 20


def test_text_has_a_line_for_each_entry() -> None:
    path = LOGS / "transactions-0" / f"{0:020d}.txnindex"
    assert run("dump", path).stdout.splitlines() == [
        str(path),
        "  version 0  producer_id 4  first_offset 4  last_offset 8  last_stable_offset 9",
        "  version 0  producer_id 5  first_offset 13  last_offset 18  last_stable_offset 11",
        "  version 0  producer_id 4  first_offset 21  last_offset 25  last_stable_offset 26",
    ]
    path = path.with_suffix(names.TIME_INDEX)
    assert run("dump", path).stdout.splitlines()[1].startswith("  offset 27  timestamp 2026-")


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    shutil.copytree(LOGS / "transactions-0", tmp_path, dirs_exist_ok=True)
    first = f"{0:020d}"
    for name, said in (
        (f"{first}.index", "trailing_bytes"),
        (f"{first}.timeindex", "trailing_bytes"),
        (f"{first}.txnindex", "trailing_bytes"),
        (f"{28:020d}.snapshot", "trailing_bytes"),
    ):
        path = tmp_path / name
        path.write_bytes(path.read_bytes() + b"\1\2\3")
        result = run("dump", path)
        assert result.exit_code == 1, name
        assert said in result.stderr or "bytes" in result.stderr, name
    snapshot = tmp_path / f"{28:020d}.snapshot"
    data = (LOGS / "transactions-0" / snapshot.name).read_bytes()
    snapshot.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    result = run("dump", "--format", "json", snapshot)
    assert result.exit_code == 1
    assert "checksum_mismatch" in result.stderr
    assert len(lines(result)) == 2
    assert run("dump", tmp_path / f"{99:020d}.index").exit_code == 2
    assert run("dump", "--batches", tmp_path / f"{first}.index").exit_code == 2


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
