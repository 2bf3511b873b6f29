"""What a log does not deliver is an error, a row or a message; never nothing."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

from click.testing import CliRunner

import kafkaspec.spark
from kafkaspec.cli.main import main
from kafkaspec.log.missing import Missing, missing
from kafkaspec.spark.failing import DataLossError
from tests.spark import logs
from tests.spark.reading import table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(name="orders")
def _orders(tmp_path: Path) -> Path:
    return logs.make(tmp_path / "orders-0", 12)


LOST: dict[str, tuple[str, range, str]] = {
    "cut": (f"{20:020d}.log", range(25, 30), "beginning of a batch that is cut off"),
    "removed": (f"{20:020d}.*", range(20, 30), "the next segment begins at 30"),
    "two of them": (f"{0:018d}[23]0.log", range(20, 40), f"{30:020d}.index is there without"),
    "the last one": (f"{90:020d}.*", range(90, 100), "the high watermark in .* is 100"),
}


@pytest.mark.parametrize("case", LOST)
def test_what_a_log_does_not_deliver_is_never_silent(
    case: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    directory = logs.make(tmp_path / "orders-0", 20, segment_bytes=500)
    (tmp_path / "replication-offset-checkpoint").write_text("0\n1\norders 0 100\n")
    pattern, lost, text = LOST[case]
    for path in directory.glob(pattern):
        if case == "cut":
            with path.open("r+b") as file:
                file.truncate(path.stat().st_size - 10)
        else:
            path.unlink()
    left = sorted({*range(100)} - {*lost})
    said = rf"offsets {lost[0]} to {lost[-1]} are missing: .*{text}"
    for path in (tmp_path, tmp_path / "orders-*", directory):
        with pytest.raises(DataLossError, match=f"{said}.*; failOnDataLoss=false goes on"):
            table(path)
    for options in ({"failOnDataLoss": False}, {"mode": "DROPCORRUPT"}):
        caplog.clear()
        assert logs.offsets(table(directory, **options)) == left
        assert re.search(said, caplog.text)
    rows = table(directory, mode="PERMISSIVE").to_pylist()
    assert [row["offset"] for row in rows if row["_corrupt_record"] is None] == left
    (row,) = (row for row in rows if row["_corrupt_record"] is not None)
    assert re.search(said, row["_corrupt_record"])
    assert (row["topic"], row["partition"], row["offset"]) == ("orders", 0, lost[0])
    # What is not wanted is not missed.
    for start, end in ((0, lost[0]), (lost[-1] + 1, 100)):
        bounds = {"startingOffsets": start, "endingOffsets": end}
        given = {name: f'{{"orders":{{"0":{value}}}}}' for name, value in bounds.items()}
        assert logs.offsets(table(directory, **given)) == list(range(start, end))
    segments = sorted(directory.glob("*.log"))
    alone = [str(path) for path in segments if path.name == f"{40:020d}.log"]
    assert logs.offsets(table(alone)) == list(range(40, 50))


def test_a_log_start_offset_after_the_end_is_a_loss(orders: Path) -> None:
    """As ``kafkaspec dump`` says it; a broker would deliver nothing."""
    checkpoint = orders.parent / "log-start-offset-checkpoint"
    checkpoint.write_text("0\n1\norders 0 500\n")
    with pytest.raises(DataLossError, match="the log start offset 500 is after the end of the log"):
        table(orders)
    assert logs.offsets(table(orders, logStart="ignore")) == list(range(60))


def test_a_log_that_grows_while_it_is_planned_has_no_loss(
    orders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker writes batches first, and then the index, which may be read later."""
    path = logs.segment(orders)
    data = path.read_bytes()
    path.write_bytes(data[:-7])
    real = missing

    def grows(*given: Any, **options: Any) -> Iterator[Missing]:
        found = list(real(*given, **options))
        path.write_bytes(data)
        return iter(found)

    monkeypatch.setattr("kafkaspec.log.listed.missing_of", grows)
    assert logs.offsets(table(orders)) in (list(range(55)), list(range(60)))


def test_copies_that_are_deleted_or_moved_are_left_out(
    orders: Path, caplog: pytest.LogCaptureFixture
) -> None:
    copies = [
        orders.with_name(f"{name}.0123456789abcdef0123456789abcdef-{state}")
        for name, state in (("orders-0", "future"), ("stock-1", "delete"), ("stock-2", "stray"))
    ]
    for copy in copies:
        shutil.copytree(orders, copy)
    for path in (orders.parent, orders.parent / "*"):
        assert logs.offsets(table(path)) == list(range(60))
    for copy in copies:
        assert caplog.text.count(f"{copy}: left out: a") == 1  # however often they are listed
        assert logs.offsets(table(copy)) == list(range(60))


def test_jobs_name_what_is_missing(spark: SparkSession, tmp_path: Path) -> None:
    directory = logs.make(tmp_path / "logs" / "orders-0", 4, segment_bytes=500)
    logs.segment(directory, 0).write_bytes(b"")
    copy = tmp_path / "logs" / "orders-0.0123456789abcdef0123456789abcdef-delete"
    copy.mkdir()
    note = f"kafkaspec: note: {copy}: left out: a partition that is being deleted"
    lost = f"kafkaspec: {logs.segment(directory, 0)} at byte 0: offsets 0 to 9 are missing: "
    for command, done in (("stats", "10 records"), ("export", "10 records")):
        out = ["-o", str(tmp_path / "out")] if command == "export" else []
        result = CliRunner().invoke(main, ["spark", command, str(tmp_path / "logs"), *out])
        assert result.exit_code == 1, result.output
        assert result.stderr.count(lost) == 1
        assert command != "stats" or result.stderr.count(note) == 1  # once in a process
        assert done in result.stdout


def test_missing_data_is_no_wrong_option(tmp_path: Path) -> None:
    """One class for what is gone and for what was never there; the import needs no PySpark."""
    logs.make(tmp_path / "orders-0", 4, base=10)
    for options, kind in (
        ({"startingOffsets": '{"orders":{"0":3}}'}, kafkaspec.spark.DataLossError),
        ({"subscribe": "none"}, kafkaspec.spark.NotThereError),
        ({"assign": '{"orders":[1]}'}, kafkaspec.spark.NotThereError),
        ({"startingTimestamp": "2099-01-01"}, kafkaspec.spark.NotThereError),
    ):
        with pytest.raises(kafkaspec.spark.MissingDataError) as caught:
            table(tmp_path, **options)
        assert type(caught.value) is kind
    with pytest.raises(kafkaspec.spark.OptionError) as wrong:
        table(tmp_path, startingOffsets="nonsense")
    assert not isinstance(wrong.value, kafkaspec.spark.MissingDataError)
    code = (
        "import sys, kafkaspec.spark as s; s.MissingDataError; assert 'pyspark' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
