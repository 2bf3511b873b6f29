"""Segments as tables of Polars and DuckDB, without a session: all rows, and no more is read."""

from __future__ import annotations

import base64
import shutil
from operator import itemgetter
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import kafkaspec as ks
from kafkaspec.errors import KafkaSpecError
from kafkaspec.tables.scans import SCAN_COLUMNS, read_kafka, scan_kafka
from tests.cli.helpers import lines, run
from tests.goldens import GOLDEN

LOGS = sorted(GOLDEN.glob("*/logs"))
_NEWEST = GOLDEN / "4.4.0" / "logs"


def _rows(logs: Path) -> list[dict[str, Any]]:
    with ks.LogDirectory(logs) as directory:
        table = directory.to_arrow(SCAN_COLUMNS, layout="binary", header_keys="binary")
        return sorted(table.to_pylist(), key=_place)


def _place(row: dict[str, Any]) -> tuple[str, int, int]:
    return row["topic"], row["partition"], row["offset"]


@pytest.mark.slow
def test_polars_and_duckdb_have_the_rows_of_the_library() -> None:
    for logs in (LOGS[0], _NEWEST):
        wanted = _rows(logs)
        assert wanted, logs
        names = ["topic", "partition", "offset", "key", "value"]
        kept = [{name: row[name] for name in names} for row in wanted]
        frame = scan_kafka(logs).select(names).sort(names[:3]).collect()
        assert frame.to_dicts() == kept, logs
        rows = read_kafka(logs)
        assert isinstance(rows, pa.dataset.Dataset)
        text = 'SELECT topic, partition, "offset", key, value FROM rows ORDER BY 1, 2, 3'
        found = duckdb.sql(text)
        assert found is not None
        assert found.to_arrow_table().to_pylist() == kept, logs


@pytest.mark.slow
def test_the_rows_are_those_of_dump() -> None:
    """Compares 100 golden segments and more."""
    compared = set()
    for version in ("0.10.0.1", "2.8.2", "4.4.0"):
        logs = GOLDEN / version / "logs"
        wanted = []
        for line in lines(run("dump", "--no-decode", "--format", "json", logs)):
            if "offset" in line and line["control"] is None:
                compared.add(line["file"])
                topic, _, partition = Path(line["file"]).parent.name.rpartition("-")
                key, value = map(_bytes, (line["key"], line["value"]))
                wanted.append((topic, int(partition), line["offset"], key, value))
        names = ["topic", "partition", "offset", "key", "value"]
        frame = scan_kafka(logs).select(names).collect()
        assert sorted(frame.rows(), key=_first) == sorted(wanted, key=_first)
        rows = read_kafka(logs)
        assert isinstance(rows, pa.dataset.Dataset)
        found = duckdb.sql('SELECT topic, partition, "offset", key, value FROM rows')
        assert found is not None
        assert sorted(found.fetchall(), key=_first) == sorted(wanted, key=_first)
    assert len(compared) >= 100


_first = itemgetter(0, 1, 2)


def _bytes(shown: Any) -> bytes | None:
    """The bytes that a line of JSON has."""
    if isinstance(shown, dict):
        return base64.b64decode(shown["base64"])
    return None if shown is None else shown.encode()


@pytest.mark.slow
@pytest.mark.parametrize("topic", ["segments", "headers", "none"])
@pytest.mark.parametrize("low", [0, 7, 43, 1 << 62])
def test_conditions_choose_the_same_rows(topic: str, low: int) -> None:
    wanted = [
        row["value"]
        for row in _rows(_NEWEST)
        if row["topic"] == topic and low <= row["offset"] < low + 20
    ]
    chosen = (pl.col("topic") == topic) & (pl.col("offset") >= low) & (pl.col("offset") < low + 20)
    frame = scan_kafka(_NEWEST).filter(chosen).select("value").collect()
    assert frame["value"].to_list() == wanted


@pytest.mark.slow
def test_what_a_condition_leaves_out_is_not_read(tmp_path: Path) -> None:
    """Files of other topics, and segments of other offsets, are broken, and nobody notices."""
    logs = tmp_path / "logs"
    shutil.copytree(_NEWEST, logs)
    for log in logs.glob("*/*.log"):
        if log.parent.name != "segments-0" or log.name == "00000000000000000000.log":
            log.write_bytes(b"\xff" * log.stat().st_size)
    rows = read_kafka(logs)
    with ks.Partition(_NEWEST / "segments-0") as partition:
        begin = partition.base_offsets[1]
        wanted = [record.offset for record in partition.records(start_offset=begin)]
    text = f"""SELECT "offset" FROM rows WHERE topic = 'segments' AND "offset" >= {begin}"""
    found = duckdb.sql(text)
    assert found is not None
    assert [row[0] for row in found.fetchall()] == wanted
    with pytest.raises(KafkaSpecError):
        rows.to_table()


@pytest.mark.slow
def test_options_are_those_of_the_library() -> None:
    whole = scan_kafka(_NEWEST).select(pl.len()).collect().item()
    committed = scan_kafka(_NEWEST, isolation="read_committed").select(pl.len()).collect().item()
    with ks.LogDirectory(_NEWEST) as directory:
        assert whole == directory.to_arrow(["offset"]).num_rows
        assert committed == directory.to_arrow(["offset"], isolation="read_committed").num_rows
    assert committed < whole


def test_paths_may_be_globs_and_several() -> None:
    one, other = _NEWEST / "plain-0", _NEWEST / "headers-0"
    assert set(scan_kafka([one, str(other)]).collect()["topic"]) == {"plain", "headers"}
    assert set(scan_kafka(f"{_NEWEST}/transactions-?").collect()["partition"]) == {0, 1}
    file = next(one.glob("*.log"))
    assert set(scan_kafka(file).collect()["topic"]) == {"plain"}


def test_errors_name_the_path_and_the_columns(tmp_path: Path) -> None:
    for path in (tmp_path / "none", f"{tmp_path}/*.log", tmp_path):
        with pytest.raises(KafkaSpecError, match=str(tmp_path)):
            read_kafka(path)
    with pytest.raises(ValueError, match=r"no column 'none'; there are offset"):
        read_kafka(_NEWEST, columns=["none"])
    with pytest.raises(TypeError, match="none"):
        read_kafka(_NEWEST, none=1)  # type: ignore[call-arg]
