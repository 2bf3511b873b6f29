"""The extension of DuckDB: rows as in Python, damage named with its place, no more is decoded."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

import kafkaspec as ks
from kafkaspec.files.names import LOG, parse_partition
from kafkaspec.model import java_text
from kafkaspec.tables.scans import SCAN_COLUMNS, read_kafka
from tests import goldens
from tools.native.duckdb import EXTENSION, build, fetch_headers

pytestmark = pytest.mark.slow
_GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "use-from.md"
_NAME = f"{0:020d}{LOG}"
_SPY = """
#include "kafkaspec.h"
#include <stdio.h>
#include <stdlib.h>
ks_reader *__real_ks_open(const void *bytes, int64_t size, const ks_options *options);
ks_reader *__wrap_ks_open(const void *bytes, int64_t size, const ks_options *options)
{
    const char *path = getenv("ASKED");
    FILE *file = path && options ? fopen(path, "w") : NULL;
    for (int i = 0; file && options->columns[i]; i++)
        fprintf(file, "%s\\n", options->columns[i]);
    if (file)
        fclose(file);
    return __real_ks_open(bytes, size, options);
}
"""
"""Writes the names of the columns that a reader is asked for."""

Query = Callable[..., list[tuple[Any, ...]]]


@pytest.fixture(scope="module")
def query(tmp_path_factory: pytest.TempPathFactory) -> Query:
    """A function that runs a query in a DuckDB with the extension, made by a strict compiler."""
    for tool in ("cc", "cargo"):
        if shutil.which(tool) is None:
            pytest.skip(f"no {tool}")
    into = tmp_path_factory.mktemp("extension")
    spy = into / "spy.c"
    spy.write_text(_SPY)
    options = ["-O1", "-Werror", "-Wl,--wrap=ks_open", str(spy)]
    path = build(into, fetch_headers(into / "headers"), options)
    connection = duckdb.connect(config={"allow_unsigned_extensions": True})
    connection.execute(f"LOAD '{path}'")
    return lambda text, *values: connection.execute(text, values).fetchall()


def test_every_golden_segment_has_the_records_of_the_codec_in_python(query: Query) -> None:
    """Of all releases, with all compressions; in the order of the file."""
    text = (
        'SELECT "offset", coalesce(epoch_ms(timestamp), -1), timestamp_type, key, value, headers'
        " FROM read_kafka(?)"
    )
    seen = 0
    for golden in goldens.distinct(LOG):
        wanted = []
        for batch in ks.Segment(golden.path, codec="python").batches():
            if not batch.is_control:
                wanted += [_row(record, batch) for record in batch.records()]
        assert query(text, str(golden.path)) == wanted, golden.path
        seen += 1
    assert seen > (100 if len(goldens.VERSIONS) > 3 else 50)


def _row(record: ks.Record, batch: ks.Batch) -> tuple[Any, ...]:
    pairs = [
        {"key": java_text(key.encode("utf-8", "surrogateescape")), "value": value}
        for key, value in record.headers
    ]
    kind = batch.timestamp_type
    return record.offset, record.timestamp, kind, record.key, record.value, pairs


@pytest.mark.parametrize("version", goldens.VERSIONS[::8])
def test_directories_and_globs_have_rows_and_types_of_python(query: Query, version: str) -> None:
    logs = goldens.GOLDEN / version / "logs"
    whole = read_kafka(logs, log_start="ignore")
    names = ", ".join(f'"{name}"' for name in SCAN_COLUMNS if name != "timestamp")
    text = f"SELECT {names}, epoch_us(timestamp) FROM"
    here = duckdb.connect()
    here.register("whole", whole)
    wanted = here.execute(f"{text} whole ORDER BY 1, 2, 3").fetchall()
    assert wanted
    for pattern in (logs, f"{logs}/", f"{logs}/*", f"{logs}/*/*", f"{logs}/*/*{LOG}"):
        assert query(f"{text} read_kafka(?) ORDER BY 1, 2, 3", str(pattern)) == wanted, pattern
    described = here.execute("DESCRIBE FROM whole").fetchall()
    assert query(f"DESCRIBE FROM read_kafka('{logs}')") == described


def test_a_query_decodes_the_columns_that_it_names(
    query: Query, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = tmp_path / "asked"
    monkeypatch.setenv("ASKED", str(asked))
    log = str(goldens.GOLDEN / goldens.VERSIONS[-1] / "logs" / "headers-0")
    always = {"batch.attributes.is_control"}
    for selected, wanted in (
        ("count(*)", set()),
        ("count(topic)", set()),
        ('max("offset")', {"offset"}),
        ("count(key)", {"key"}),
        ("count(headers)", {"headers.key", "headers.value"}),
    ):
        assert query(f"SELECT {selected} FROM read_kafka(?)", log)[0][0]
        assert set(asked.read_text().splitlines()) == wanted | always, selected


def _data(count: int = 3, value: bytes = b"v") -> bytes:
    return b"".join(ks.encode([ks.Record(at, 5, b"k", value)]) for at in range(count))


@pytest.mark.parametrize(
    ("change", "says", "kept"),
    [
        (lambda data: data[:-1], "byte {last}: the log ends within an entry", 2),
        (lambda data: data[:-1] + b"?", "byte {last}: the checksum does not match", None),
        (lambda data: data + bytes(20), "byte {end}: no entry begins here", 3),
        (lambda data: data + bytes(9 << 20), "byte {end}: no entry begins here", 3),
        (lambda data: data + bytes(20) + b"\1", "byte {end}: no entry begins here", None),
        (lambda data: data + bytes(9), "byte {end}: the log ends within an entry", 3),
    ],
    ids=["cut", "flipped", "zeros", "many zeros", "others", "few zeros"],
)
@pytest.mark.parametrize("value", [b"v", b"v" * (9 << 20)], ids=["small", "large"])
def test_damage_is_an_error_with_file_and_byte(
    query: Query,
    tmp_path: Path,
    change: Callable[[bytes], bytes],
    says: str,
    kept: int | None,
    value: bytes,
) -> None:
    """A large entry is larger than the part of a file that is read at once."""
    data = _data(value=value)
    path = tmp_path / _NAME
    path.write_bytes(change(data))
    text = f"{path}: {says.format(last=len(data) * 2 // 3, end=len(data))}"
    with pytest.raises(duckdb.Error, match=text):
        query("SELECT count(value) FROM read_kafka(?)", str(path))
    skipping = "SELECT count(value) FROM read_kafka(?, tail := 'skip')"
    if kept is None:
        with pytest.raises(duckdb.Error, match=text):
            query(skipping, str(path))
    else:
        assert query(skipping, str(path)) == [(kept,)]
        with ks.Segment(path) as segment:
            assert len(list(segment.records())) == kept


def test_entries_of_all_sizes_come_whole(query: Query, tmp_path: Path) -> None:
    sizes = [1 << at % 25 for at in range(50)]
    records = [ks.Record(at, 5, None, bytes([at]) * size) for at, size in enumerate(sizes)]
    path = tmp_path / _NAME
    path.write_bytes(b"".join(ks.encode([record]) for record in records))
    wanted = [
        (at, hashlib.md5(record.value or b"").hexdigest()) for at, record in enumerate(records)
    ]
    assert query('SELECT "offset", md5(value) FROM read_kafka(?)', str(path)) == wanted


def test_odd_values_are_those_of_python(query: Query, tmp_path: Path) -> None:
    keys = (b"a\xffb", b"\xed\xa0\x80", b"\xe2\x82", "€\0".encode(), b"")
    pairs = tuple((key.decode("utf-8", "surrogateescape"), None) for key in keys)
    stamps = [-1, 0, 1 << 62, -(1 << 62), (1 << 63) // 1000 - 1, -1000]
    path = tmp_path / _NAME
    path.write_bytes(b"".join(
        ks.encode([ks.Record(at, stamp, b"", None, pairs)]) for at, stamp in enumerate(stamps)
    ))  # fmt: skip
    text = "SELECT epoch_us(timestamp), key, value, headers FROM"
    here = duckdb.connect()
    here.register("whole", read_kafka(path))
    assert query(f"{text} read_kafka(?)", str(path)) == here.execute(f"{text} whole").fetchall()


def test_topic_and_partition_are_those_of_the_directory(
    query: Query, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [
        "a-0", "a-b-1", "a-+5", "a-007", "a-2147483647", "a-2147483648", "-1", "a-", "a", "a--1",
        "é-1", "a-99999999999999999999", "a-00000000000000000000000001", "a-3.x-delete",
        "a-3-delete", "a-3.x-future", "a.b-4.y-stray",
    ]  # fmt: skip
    current = []
    for name in names:
        (tmp_path / name).mkdir()
        path = tmp_path / name / _NAME
        path.write_bytes(_data(1))
        parsed = parse_partition(name)
        place = (parsed.topic, parsed.partition) if parsed else (None, None)
        current += [place] if parsed and not parsed.state else []
        text = "SELECT topic, partition FROM read_kafka(?)"
        monkeypatch.chdir(path.parent)
        for each in (path, path.parent, _NAME, f"./{_NAME}", "."):
            assert query(text, str(each)) == [place], (name, each)
    found = query("SELECT topic, partition FROM read_kafka(?) ORDER BY ALL", str(tmp_path))
    assert found == sorted(current)


def test_the_guide_is_true(query: Query) -> None:
    (section,) = re.findall(r"^## DuckDB$(.*?)^## ", _GUIDE.read_text("utf-8"), re.M | re.S)
    (block,) = re.findall(r"^```sql$(.*?)^```$", section, re.M | re.S)
    load, *statements = filter(str.strip, block.split(";"))
    assert load.strip() == f"LOAD 'dist/duckdb/{EXTENSION}'"
    assert len(statements) > 1
    for statement in statements:
        (counts,) = query(f"SELECT count(COLUMNS(*)) FROM ({statement})")
        assert all(counts), statement


def test_errors_name_the_path(query: Query, tmp_path: Path) -> None:
    (tmp_path / "empty-0").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for path, says in (
        ("none", "No such file or directory"),
        (f"*{LOG}", "no segment matches it"),
        ("**/x", "a glob has no"),
        ("", "holds neither segments nor partition directories"),
        ("empty-0", "holds neither segments nor partition directories"),
        ("pipe", "it is not a file"),
    ):
        with pytest.raises(duckdb.Error, match=str(tmp_path)) as caught:
            query("FROM read_kafka(?)", f"{tmp_path}/{path}")
        assert says in str(caught.value)
    with pytest.raises(duckdb.Error, match="tail is raise or skip, not other"):
        query("FROM read_kafka(?, tail := 'other')", str(tmp_path))
    with pytest.raises(duckdb.Error, match="the path is NULL"):
        query("FROM read_kafka(NULL)")
