"""Conditions choose the rows that DuckDB chooses, and what they leave unread has none of them."""

from __future__ import annotations

import json
import random
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest import mock

import duckdb
import pyarrow as pa
import pytest

import kafkaspec as ks
from kafkaspec.arrow.where.condition import Where
from kafkaspec.arrow.where.syntax import WhereError
from kafkaspec.cli.commands import dump_columns
from kafkaspec.log.segment import Segment
from tests.cli.helpers import golden, lines, run
from tests.cli.test_dump_columns import from_records
from tests.extent import examples
from tests.loops import each

COLUMNS = [
    "topic", "partition", "offset", "timestamp", "key", "value", "headers", "magic", "compression",
    "leader_epoch", "producer_id", "transactional", "timestamp_type", "sequence",
]  # fmt: skip
TIME = 1_767_225_600_000
"""The first of January 2026."""


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two topics of two partitions with several segments each."""
    chance = random.Random(15)
    path = tmp_path_factory.mktemp("where") / "logs"
    for topic in ("orders", "a.b-c"):
        for partition in (0, 3):
            folder = path / f"{topic}-{partition}"
            folder.mkdir(parents=True)
            for base in (0, 40, 80):
                records = [
                    ks.Record(
                        base + number,
                        chance.choice([-1, TIME + 1000 * (base + number), TIME + 500 * number]),
                        chance.choice([None, b"", b"a", b"b%c", b"c\xff", "ä".encode()]),
                        chance.choice([None, b"1 x", b"2\ny", b"x" * 30]),
                        tuple(
                            (chance.choice("hij"), chance.choice([None, b"a", b""])) for _ in "123"
                        ),
                    )
                    for number in range(chance.randint(20, 40))
                ]
                magic = chance.choice([2, 2, 1])
                if magic < 2:
                    records = [record._replace(headers=()) for record in records]
                size = chance.randint(5, 20)
                (folder / f"{base:020}.log").write_bytes(
                    b"".join(
                        ks.encode(
                            records[first : first + size],
                            magic=magic,
                            compression=chance.choice(["none", "gzip"]),
                        )
                        for first in range(0, len(records), size)
                    )
                )
    return path


def leaf(chance: random.Random) -> tuple[str, str]:
    """A random test, for us and for DuckDB."""
    sign = chance.choice(["=", "!=", "<", "<=", ">", ">=", "<>"])
    low, high = sorted(chance.choices(range(-2, 125), k=2))
    stamp = TIME + chance.choice([0, 500, 999, 20_000, 79_500])
    iso = f"2026-01-01T00:00:{chance.randrange(60):02}.{chance.choice(['5', '0004', '000000'])}Z"
    text = chance.choice(["a", "b%c", "ä", "", "zz"])
    blob = f"'{text}'::VARCHAR::BLOB" if text.isascii() else r"'\xC3\xA4'::BLOB"
    name, topic = chance.choice("hjk"), chance.choice(["orders", "a.b-c", "none"])
    last = f"list_filter(headers, lambda x: x.key = '{name}')[-1].value"
    ms = f"make_timestamptz({stamp * 1000})"
    return chance.choice([
        (f"offset {sign} {low}", f"\"offset\" {sign} {low}"),
        (f"{low}.5 {sign} offset", f"{low}.5 {sign} \"offset\""),
        (f"offset between {low} and {high}", f"\"offset\" between {low} and {high}"),
        (f"offset in ({low}, {high}, 1e30)", f"\"offset\" in ({low}, {high})"),
        (f"offset NOT in ({low})", f"\"offset\" not in ({low})"),
        (f"timestamp {sign} {stamp}", f"timestamp {sign} {ms}"),
        (f"timestamp {sign} '{iso}'", f"timestamp {sign} '{iso}'::TIMESTAMPTZ"),
        ("timestamp is null", "timestamp is null"),
        ("key is not null", "key is not null"),
        (f"key {sign} '{text}'", f"key {sign} {blob}"),
        (f"key {sign} value", f"key {sign} value"),
        (f"key in ('{text}', x'63FF', 'q')", f"key in ({blob}, '\\x63\\xFF'::BLOB)"),
        ("key in ('1','2','3','4','5','6','7','8','9','a')", "key in ('a'::BLOB)"),
        ("key like '%b\\%_'", "hex(key) = '622563'"),
        ("value matches '^[0-9]\\n?.'", "octet_length(value) < 9 and octet_length(value) > 0"),
        ("value not like '%x%'", "not contains(hex(value), '78')"),
        ("text(key) matches '^.$'", "hex(key) in ('61', 'C3A4') or if(hex(key) in ('63FF'), null, "
         "if(key is null, null, false))"),
        (f"length(value) {sign} 3", f"octet_length(value) {sign} 3"),
        (f"header('{name}') {sign} 'a'", f"{last} {sign} 'a'::BLOB"),
        (f"header('{name}') is null", f"{last} is null"),
        (f"has_header('{name}')", f"len(list_filter(headers, lambda x: x.key = '{name}')) > 0"),
        (f"topic {sign} '{topic}'", f"topic {sign} '{topic}'"),
        (f"partition {sign} 2", f"partition {sign} 2"),
        ("partition in (3, 4)", "partition in (3, 4)"),
        (f"topic in ('{topic}')", f"topic in ('{topic}')"),
        ("compression = 'gzip'", "compression = 'gzip'"),
        (f"magic {sign} 2", f"magic {sign} 2"),
        ("transactional", "transactional"),
        ("transactional = false", "transactional = false"),
        ("producer_id = -1", "producer_id = -1"),
    ])  # fmt: skip


def condition(chance: random.Random, depth: int = 0) -> tuple[str, str]:
    kind = chance.choice(["leaf", "and", "or", "not", "and"]) if depth < 3 else "leaf"
    if kind == "leaf":
        ours, theirs = leaf(chance)
        return ours, f"({theirs})"
    first = condition(chance, depth + 1)
    if kind == "not":
        return f"not ({first[0]})", f"(not {first[1]})"
    second = condition(chance, depth + 1)
    word = chance.choice([kind, kind.upper()])
    return f"({first[0]} {word} {second[0]})", f"({first[1]} {kind} {second[1]})"


@pytest.mark.slow  # and DuckDB throws within itself, at which a sanitizer ends the process
def test_random_conditions_choose_what_duckdb_chooses(directory: Path) -> None:
    chance = random.Random(2026)
    log = ks.open(directory)
    whole = log.to_arrow(COLUMNS, layout="binary")
    connection = duckdb.connect()
    connection.register("records", whole)
    place = ("topic", "partition", "offset")
    found = 0
    for _ in range(examples(150)):
        ours, theirs = condition(chance)
        rows = log.to_arrow(list(place), where=ours).to_pylist()
        expected = connection.execute(
            f'SELECT topic, partition, "offset" FROM records WHERE {theirs}'
        ).fetchall()
        assert sorted(tuple(row[name] for name in place) for row in rows) == sorted(expected), ours
        found += bool(expected)
    assert found > examples(150) // 3


@pytest.mark.core
def test_every_format_shows_the_same_records(directory: Path) -> None:
    """Of columns, in threads, and of records, which ``dump`` takes where columns do not serve."""
    chance = random.Random(7)
    for _ in range(examples(6)):
        ours, _ = condition(chance)
        with ks.open(directory) as log:
            expected = log.to_arrow(["topic", "partition", "offset"], where=ours).to_pylist()
        texts = [f"{row['topic']} {row['partition']} {row['offset']}" for row in expected]
        command = ("dump", directory, "--where", ours, "--log-start", "ignore", "--format")
        with mock.patch.object(dump_columns, "RANGE_BYTES", 700):
            assert run(*command, "%t %p %o\n").stdout.splitlines() == texts
            shown = lines(run(*command, "json"))
        with from_records():
            assert lines(run(*command, "json")) == shown
            assert run(*command, "%t %p %o\n").stdout.splitlines() == texts
        assert [row["offset"] for row in shown] == [row["offset"] for row in expected]
        text = [line for line in run(*command, "text").stdout.splitlines() if line[:1] == " "]
        assert [int(line.split()[0]) for line in text] == [row["offset"] for row in expected]
        assert run(*command, "%t %p %o\n", "--limit", "3").stdout.splitlines() == texts[:3]
        found = lines(run("find", directory, "--where", ours, "--all", "--format", "json"))
        at = [(row["file"], row["record"]["offset"]) for row in found if row["found"]]
        assert at == [(row["file"], row["offset"]) for row in shown]


def test_export(directory: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    arguments = ("--where", "topic = 'orders' and offset < 5 and magic >= 0")
    assert run("export", directory, "-o", out, "--columns", "offset,key", *arguments).exit_code == 0
    with ks.open(directory / "orders-0") as first, ks.open(directory / "orders-3") as second:
        expected = [row.offset for log in (first, second) for row in log.records(end_offset=5)]
    assert [eval(line, {"null": None})["offset"] for line in out.read_text().splitlines()] == (
        expected
    )  # fmt: skip


@pytest.mark.core
def test_fields_of_decoded_values(tmp_path: Path) -> None:
    path = Path(__file__).parents[1] / "values" / "data" / "karapace" / "logs" / "orders-0"
    with ks.open(path) as log:
        whole = log.to_typed(["offset", "value"]).read_all().to_pylist()
    expected = [row["offset"] for row in whole if row["value"] and row["value"]["qty"] > 3]
    assert 0 < len(expected) < len(whole)
    out = tmp_path / "out.jsonl"
    where = ("--value", "decode", "--where", "value.qty > 3", "--columns", "offset")
    assert run("export", path, "-o", out, *where).exit_code == 0
    assert [json.loads(line)["offset"] for line in out.read_text().splitlines()] == expected
    for wrong in ("value.no = 3", "value = 'x'", "value.qty = 'x'"):
        command = ("export", path, "-o", tmp_path / "x.jsonl", "--value", "decode")
        assert run(*command, "--where", wrong).exit_code == 2


@pytest.mark.core
def test_what_cannot_have_such_records_is_not_opened(directory: Path) -> None:
    opened: list[str] = []
    init = Segment.__init__

    def noted(self: Segment, *arguments: Any, **options: Any) -> None:
        init(self, *arguments, **options)
        opened.append(f"{self.path.parent.name}/{int(self.path.stem)}" if self.path else "")

    with mock.patch.object(Segment, "__init__", noted):
        for where, expected in {
            "topic = 'orders' and partition = 3 and offset between 41 and 60": ["orders-3/40"],
            "not (topic != 'a.b-c' or partition in (0, 1, 2)) and offset >= 85": ["a.b-c-3/80"],
            "topic = 'none'": [],
            "offset > 5 and offset < 3": [],
            "topic = 'orders' and (offset = 3 or offset = 4) and partition < 1": ["orders-0/0"],
        }.items():
            with ks.open(directory) as log:
                opened.clear()
                list(log.to_batches(["offset"], where=where))
                assert sorted(set(opened)) == expected, where
                opened.clear()
            run("dump", directory, "--where", where)  # looks for gaps between segments too
            folders = {name.partition("/")[0] for name in opened}
            assert folders == {name.partition("/")[0] for name in expected}, where


NESTED = pa.RecordBatch.from_pydict({
    "offset": pa.array([1, 2, 3, 4]),
    "value": pa.array(
        [{"a": {"n": 1, "d": Decimal("1.50")}, "f": 1.5, "u": 2**64 - 1, "t": 5, "day": 3},
         {"a": {"n": None, "d": None}, "f": float("nan"), "u": 0, "t": None, "day": None},
         {"a": None, "f": None, "u": 7, "t": 0, "day": 0}, None],
        pa.struct([
            ("a", pa.struct([("n", pa.int8()), ("d", pa.decimal128(9, 2))])), ("f", pa.float64()),
            ("u", pa.uint64()), ("t", pa.timestamp("ns")), ("day", pa.date32()),
        ])),
    "value.e.x": pa.array(["red", "blue", None, "red"]).dictionary_encode(),
    "nothing": pa.nulls(4),
})  # fmt: skip


@each(
    "text, offsets",
    [
        ("value.a.n = 1", [1]),
        ("value.a.n >= -200", [1]),
        ("value.a.n < 1000 or value.f > 1", [1]),
        ("value.a is null", [3, 4]),
        ("value.a.n is null", [2, 3, 4]),
        ("value.a.d = 1.5", [1]),
        ("value.a.d > 1.49 and value.a.d < 1.51", [1]),
        ("value.f <= 1.5", [1]),
        ("value.u = 18446744073709551615", [1]),
        ("value.u > -1", [1, 2, 3]),
        ("not value.u < 1e25", []),
        ("value.t = '1970-01-01T00:00:00'", [3]),
        ("value.t > 0", [1]),
        ("value.t < 0.000006", [1, 3]),
        ("value.day = '1970-01-04'", [1]),
        ("value.e.x = 'red'", [1, 4]),
        ("value.e.x like 'b%'", [2]),
        ("nothing = 3 or offset = 1", [1]),
        ("nothing is null and offset = 2", [2]),
        ('"offset" = 4 and "value".a is null', [4]),
    ],
)
def test_fields_of_typed_values(text: str, offsets: list[int]) -> None:
    assert NESTED.column(0).filter(Where(text).mask(NESTED)).to_pylist() == offsets


@each(
    "text, message",
    [
        ("", "a column, function or constant is expected, at character 1 of an empty condition"),
        ("offset >", "is expected, at character 9"),
        ("offset = 'a'", "int64 is not compared with a text"),
        ("offset = true", "int64 is not compared with true or false"),
        ("fo = 1", "there is no column fo; there are offset"),
        ("key = 1", "binary is not compared with a number"),
        ("offset in ()", "a column, function or constant is expected"),
        ("a b", "'b' is not expected here"),
        ("(" * 9 + "key is null", r"\) is expected"),
        ("(" * 5000, "nested 64 deep at most"),
        ("not " * 65 + "transactional", "nested 64 deep at most"),
        ("length(" * 65, "nested 64 deep at most"),
        ("offset = 1 or " * 9000 + "transactional", "65536 characters at most"),
        ("key matches '('", "this is not a pattern"),
        ("offset like '1%'", "patterns are for texts and bytes"),
        ("value.x = 1", "which has no field x"),
        ("offset = null", "use IS NULL"),
        ("1 = 1", "one side has to be a column"),
        ("header(key) = 'a'", "the name of a header in single quotes"),
        ("now() = 1", "there is no function now; there are header"),
        ("timestamp > 'yesterday'", "is not compared with a text"),
        ("timestamp > '9999-99-99'", "is not compared with a text"),
        ("key in (null)", "a list has constants"),
        ("'a", "begins no word, number or text, at character 1"),
        ("headers = 'x'", "headers has parts"),
        ("offset ~ 3", "begins no word, number or text, at character 8"),
        ("key", "this is binary, and not true or false"),
        ("offset = " + "1" * 39, "38 digits at most"),
        ("offset = value", "is not compared with"),
        ("x'0' = key", "."),
        ("offset; drop", "begins no word"),
    ],
)
def test_what_is_no_condition(text: str, message: str) -> None:
    path = golden("4.3.1", "headers-0") / f"{0:020}.log"
    with Segment(path) as log, pytest.raises(WhereError, match=message):
        log.to_batches(where=text)


@pytest.mark.core
def test_many_parts_are_no_depth(directory: Path) -> None:
    text = " or ".join(f"offset = {number}" for number in range(2000))
    with ks.open(directory / "orders-0") as log:
        rows = log.to_arrow(["offset"], where=f"({text}) and not (offset >= 2)").num_rows
    assert rows == 2


def test_wrong_usage() -> None:
    path = golden("4.3.1", "headers-0")
    for arguments in (
        ("dump", path, "--where", "offset ="),
        ("dump", path, "--where", "fo = 1"),
        ("dump", path, "--where", "offset = 1", "--batches"),
        ("dump", path, "--where", "offset = 1", "--format", "kafka"),
        ("find", path, "--where", "offset = 1", "--offset", "1"),
        ("find", path, "--where", "offset = 1", "--isolation", "read_committed"),
        ("export", path, "--where", "no", "-o", "/nowhere/x.parquet"),
    ):
        assert run(*arguments).exit_code == 2, arguments
    assert run("find", path, "--where", "offset = 1000").exit_code == 1
    assert run("dump", path, "--where", "offset = 1000").exit_code == 0
