"""A batch that decompresses to more than the bound: the message names the option for it."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest

import kafkaspec as ks
from kafkaspec.compression import DEFAULT_MAX_OUTPUT
from tests.cli.helpers import run

_OPTION = "max_output (--max-output) raises it"
_MORE = str(2 * DEFAULT_MAX_OUTPUT)


@pytest.fixture(scope="module")
def partition(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three records in a batch: the second alone is as large as the bound."""
    values = (b"before", bytes(DEFAULT_MAX_OUTPUT), b"after")
    records = [ks.Record(number, 1, b"k", value) for number, value in enumerate(values)]
    home = tmp_path_factory.mktemp("bound") / "large-0"
    home.mkdir()
    (home / f"{0:020d}.log").write_bytes(ks.encode(records, compression="zstd"))
    return home


@pytest.mark.slow
@pytest.mark.memory
@pytest.mark.parametrize(
    "command",
    [
        ["find", "--offset", "2"],
        ["find", "--key", "k"],
        ["export", "--to", "parquet", "--columns", "offset,timestamp", "-o", "out"],
        ["stats"],
        ["sql", 'SELECT max("offset") FROM large'],
        ["explain", "--records", "1"],
        ["verify"],
        ["convert", "-o", "converted-0"],
    ],
    ids=" ".join,
)
def test_the_message_names_the_option_which_delivers_all_records(
    command: list[str], partition: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = next(partition.glob("*.log")) if command[0] == "explain" else partition
    arguments: list[str | Path] = [command[0], path, *command[1:]]
    refused = run(*arguments)
    assert refused.exit_code in (1, 2)
    assert _OPTION in " ".join(refused.output.split())
    shutil.rmtree("converted-0", ignore_errors=True)
    taken = run(*arguments, "--max-output", _MORE)
    assert "exceeds the bound" not in taken.output
    assert taken.exit_code == 0, taken.output


@pytest.mark.slow
def test_the_api_names_the_option(partition: Path) -> None:
    with ks.open(partition) as log, pytest.raises(ks.CorruptError, match="max_output"):
        list(log.records())
    with ks.open(partition, max_output=2 * DEFAULT_MAX_OUTPUT) as log:
        assert [record.offset for record in log.records()] == [0, 1, 2]


@pytest.mark.slow
def test_other_processes_have_the_bound_too(tmp_path: Path) -> None:
    """Processes that are no copies of this one, since it has another thread."""
    home = tmp_path / "large-0"
    home.mkdir()
    record = ks.Record(0, 1, b"k", bytes(1 << 20))
    (home / f"{0:020d}.log").write_bytes(ks.encode([record], compression="zstd"))
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    try:
        found = run("stats", home, "--jobs", "2", "--max-output", "65536")
    finally:
        done.set()
        other.join()
    assert found.exit_code == 1
    assert _OPTION in " ".join(found.output.split())


@pytest.mark.slow
def test_the_records_that_do_not_come_are_counted(tmp_path: Path) -> None:
    """All of them: a batch delivers all of its records or none, and the message says which."""
    values = (b"before", bytes(1 << 20), b"after")
    records = [ks.Record(number, 1, b"k", value) for number, value in enumerate(values, 7)]
    home = tmp_path / "large-0"
    home.mkdir()
    later = ks.encode([ks.Record(10, 1, b"k", b"later")])
    (home / f"{7:020d}.log").write_bytes(ks.encode(records, compression="zstd") + later)
    for command in (["dump"], ["stats"], ["export", "-o", str(tmp_path / "out.jsonl")], ["verify"]):
        found = run(command[0], home, *command[1:], "--max-output", "65536")
        assert "its 3 records, offsets 7 to 9, are left out" in " ".join(found.output.split())
        assert found.exit_code in (1, 2)
    assert "later" in run("dump", home, "--max-output", "65536").stdout
