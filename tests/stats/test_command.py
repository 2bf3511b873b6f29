"""``kafkaspec stats``: lines of JSON, text, exit codes, and what it keeps to itself."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

pytest.importorskip("datasketches")

import kafkaspec as ks
from tests.cli.helpers import COMMAND, fingerprint, golden, lines, run
from tests.goldens import GOLDEN

LOGS = GOLDEN / "2.8.2" / "logs"
NAME = "00000000000000000000.log"


@pytest.mark.slow
def test_json_has_every_table_and_ends_with_the_total() -> None:
    before = fingerprint(LOGS / "transactions-0")
    result = run("stats", LOGS / "transactions-0", LOGS / "segments-0", "--format", "json")
    assert result.exit_code == 0, result.output
    rows = lines(result)
    kinds = {row["type"] for row in rows}
    assert kinds >= {"codec", "producer", "transaction", "gap", "size", "time", "partition"}
    assert rows[-2]["type"] == "total"
    partitions = [row for row in rows if row["type"] == "partition"]
    assert [row["topic"] for row in partitions] == ["segments", "transactions"]
    assert sum(row["records"] for row in partitions) == rows[-2]["records"]
    assert fingerprint(LOGS / "transactions-0") == before


@pytest.mark.slow
def test_one_path_twice_counts_once() -> None:
    place = LOGS / "segments-0"
    once, twice = (run("stats", *paths, "--format", "json") for paths in ([place], [place] * 2))
    assert once.stdout.splitlines()[:-1] == twice.stdout.splitlines()[:-1]


@pytest.mark.slow
def test_a_segment_alone_is_measured_alone() -> None:
    first = sorted((LOGS / "segments-0").glob("*.log"))[0]
    (row,) = [r for r in lines(run("stats", first, "--format", "json")) if r["type"] == "partition"]
    assert row["file_bytes"] == first.stat().st_size
    assert row["segments"] == 1


@pytest.mark.slow
def test_keys_are_shown_on_request_only(tmp_path: Path) -> None:
    import kafkaspec as ks

    with ks.SegmentWriter(tmp_path / "t-0", sync=False) as writer:
        records = [ks.Record(0, 1000, b"a secret key of a customer", b"v")] * 3
        writer.append_records(records, offsets="assign")
    for form in ("text", "json"):
        assert "secret" not in run("stats", tmp_path / "t-0", "--format", form).output
    assert "a secret key of a customer" in run("stats", tmp_path / "t-0", "--show-keys").output
    shown = lines(run("stats", tmp_path / "t-0", "--show-keys", "--format", "json"))
    (row,) = [row for row in shown if row["type"] == "key"]
    assert bytes.fromhex(row["key"]) == b"a secret key of a customer"
    assert (row["count"], row["at_most"]) == (3, 3)
    assert "key" not in {
        name
        for row in lines(run("stats", tmp_path / "t-0", "--format", "json"))
        for name in row
        if row["type"] == "key"
    }


@pytest.mark.slow
def test_exit_codes(tmp_path: Path) -> None:
    place = tmp_path / "x-0"
    shutil.copytree(golden("2.8.2", "plain-0"), place)
    data = bytearray((place / NAME).read_bytes())
    data[-1] ^= 1
    (place / NAME).write_bytes(data)
    result = run("stats", place)
    assert result.exit_code == 1
    assert "not read: " in result.stdout
    assert "checksum_mismatch" in result.stdout
    (row,) = [r for r in lines(run("stats", place, "--format", "json")) if r["type"] == "error"]
    assert row["reason"] == "checksum_mismatch"
    assert run("stats", tmp_path / "nothing").exit_code == 2
    empty = lines(run("stats", golden("2.8.2", "empty-0"), "--format", "json"))
    assert [row["records"] for row in empty[:-1]] == [0, 0, 0]  # of partition, topic and all


@pytest.mark.slow
def test_a_cut_segment_is_named(tmp_path: Path) -> None:
    place = tmp_path / "x-0"
    shutil.copytree(golden("2.8.2", "plain-0"), place)
    data = (place / NAME).read_bytes()
    (place / NAME).write_bytes(data[:-5])
    assert run("stats", place).exit_code == 1


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasketches", None)
    result = run("stats", LOGS / "plain-0")
    assert result.exit_code == 2
    assert "pip install 'kafkaspec[stats]'" in result.output
    assert run("stats", "--help").exit_code == 0


@pytest.mark.slow
def test_the_largest_offset_is_the_last_one(tmp_path: Path) -> None:
    """No offset comes after it, so the end of such a log is not one."""
    largest = (1 << 63) - 1
    (tmp_path / "t-0").mkdir()
    data = ks.encode([ks.Record(largest, 1, None, b"a")])
    (tmp_path / "t-0" / f"{largest:020}.log").write_bytes(data)
    done = run("stats", tmp_path / "t-0", "--format", "json")
    assert done.exit_code == 0, done.output
    (row,) = (row for row in lines(done) if row["type"] == "partition")
    assert (row["first_offset"], row["last_offset"]) == (largest, largest)


@pytest.mark.slow
def test_a_terminal_of_80_columns_is_wide_enough() -> None:
    """Names stay whole and no line is longer; the columns that are left out are in the JSON."""
    pty = pytest.importorskip("pty", reason="no such terminals on Windows")
    leader, follower = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, "stats", *(str(LOGS / name) for name in ("codec-mixed-0", "compacted-0"))],
        stdout=follower, stderr=subprocess.DEVNULL, stdin=follower,
        env=os.environ | {"TERM": "dumb", "COLUMNS": "80", "LINES": "40"},
    ) as command:  # fmt: skip
        os.close(follower)
        shown = bytearray()
        with suppress(OSError):  # the other side is gone
            while piece := os.read(leader, 65536):
                shown += piece
        assert command.wait(timeout=300) == 0
    os.close(leader)
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.decode()).replace("\r", "")
    assert [line for line in text.splitlines() if len(line.rstrip()) > 80] == []
    (row,) = (line for line in text.splitlines() if line.startswith(" codec-mixed-0 "))
    assert "2.8 KiB" in row
    head = next(line for line in text.splitlines() if line.startswith(" partition"))
    assert {"records", "size", "ratio"} <= set(head.split())
    assert "not read" not in head


@pytest.mark.slow
@pytest.mark.parametrize("years", [0.00001, 0.1, 50])
def test_rates_times_the_time_are_what_is_there(tmp_path: Path, years: float) -> None:
    seconds = years * 365 * 86_400
    with ks.SegmentWriter(tmp_path / "t-0", sync=False) as writer:
        for number in range(3):
            record = ks.Record(number, int(1000 + number * seconds * 500), b"k", b"v")
            writer.append(ks.encode([record]))
    *_, total, _ = lines(run("stats", tmp_path / "t-0", "--format", "json"))
    for name in ("records", "bytes"):
        assert total[f"{name}_per_second"] * seconds == pytest.approx(total[name], rel=0.01)
