"""Queries see what DuckDB sees in a table of all records, and read no more than they need."""

from __future__ import annotations

import json
import random
import shutil
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import duckdb
import pytest
from pyarrow import parquet

import kafkaspec as ks
from kafkaspec.log.segment import Segment
from kafkaspec.tables.sql.session import VIEW_COLUMNS, Session, SqlError
from tests.arrow.test_where import COLUMNS, TIME, condition, directory
from tests.cli.helpers import golden, lines, run
from tests.extent import examples
from tests.goldens import GOLDEN
from tests.log import forge
from tests.loops import each
from tests.work import calls

__all__ = ["directory"]

VIEWS = [name for name in COLUMNS if name != "topic"]


@pytest.fixture(scope="module")
def session(directory: Path) -> Iterator[Session]:
    with ks.open(directory) as log, Session(log, columns=VIEWS, threads=2) as made:
        yield made


def rows(session: Session, query: str) -> list[tuple[Any, ...]]:
    with session.query(query) as result:
        return [tuple(row.values()) for batch in result for row in batch.to_pylist()]


@pytest.fixture(scope="module")
def whole(directory: Path) -> Any:
    """The same views over tables in memory."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    with ks.open(directory) as log:
        for topic in ("orders", "a.b-c"):
            table = log.to_arrow(VIEWS, layout="binary", where=f"topic = '{topic}'")
            connection.register(topic, table)
    return connection


@pytest.mark.slow
def test_random_conditions(session: Session, whole: Any) -> None:
    chance = random.Random(4)
    found = 0
    for _ in range(examples(80)):
        _, sql = condition(chance)
        if "topic" in sql:
            continue
        view = chance.choice(["orders", '"a.b-c"'])
        what = chance.choice(['partition, "offset"', "count(*), max(epoch_ms(timestamp))"])
        query = f"SELECT {what} FROM {view} WHERE {sql} ORDER BY ALL"
        expected = whole.sql(query).fetchall()
        assert rows(session, query) == expected, query
        found += len(expected) > 1
    assert found > examples(80) // 8


@pytest.mark.slow
@each(
    "query",
    [
        'SELECT a."offset", b.partition FROM orders a JOIN "a.b-c" b USING ("offset") '
        'WHERE a."offset" < 20 ORDER BY ALL',
        "SELECT count(*) FROM orders a, orders b WHERE a.key = b.key AND a.\"offset\" > 90",
        "WITH t AS (SELECT * FROM orders) SELECT count(*), (SELECT max(\"offset\") FROM t) FROM t",
        "SELECT key, count(*) FROM orders GROUP BY ALL ORDER BY ALL",
        "SELECT count(*) FROM orders WHERE value IN (SELECT value FROM \"a.b-c\" WHERE magic = 1)",
        'SELECT "offset" FROM orders ORDER BY "offset" DESC, partition LIMIT 3',
        "SELECT count(*) FROM orders WHERE timestamp IS NULL OR timestamp < '2026-01-01T00:00:09Z'",
        "SELECT unnest(headers).key AS k, count(*) FROM orders GROUP BY k ORDER BY k",
    ],
)  # fmt: skip
def test_views_can_be_used_again_and_again(query: str, session: Session, whole: Any) -> None:
    assert rows(session, query) == whole.sql(query).fetchall()


@pytest.mark.slow
def test_what_is_read(directory: Path) -> None:
    opened: list[str] = []
    init = Segment.__init__

    def noted(self: Segment, *arguments: Any, **options: Any) -> None:
        init(self, *arguments, **options)
        opened.append(f"{self.path.parent.name}/{int(self.path.stem)}" if self.path else "")

    late = "2026-01-01T00:01:25Z"
    with (
        mock.patch.object(Segment, "__init__", noted),
        ks.open(directory) as log,
        Session(log, threads=1) as session,
    ):
        for query, expected in {
            'FROM orders WHERE partition = 3 AND "offset" BETWEEN 41 AND 60': ["orders-3/40"],
            'FROM "a.b-c" WHERE "offset" IN (3, 7) AND partition IN (0, 1)': ["a.b-c-0/0"],
            'FROM "a.b-c" WHERE "offset" > 7 AND "offset" < 3': [],
            "FROM orders WHERE partition = 1": [],
            'FROM orders a JOIN "a.b-c" b ON a."offset" = b."offset" WHERE a."offset" = 81 '
            "AND a.partition = 0 AND b.partition = 3": ["a.b-c-3/80", "orders-0/80"],
        }.items():
            opened.clear()
            rows(session, f"SELECT count(*) {query}")
            assert sorted(set(opened)) == expected, query
        rows(session, f"SELECT key FROM orders WHERE timestamp >= '{late}' AND text(value) > 'a'")
    topic, request = session.scans.requests[-1]
    assert topic == "orders"
    assert set(request.columns) >= {"key", "value", "timestamp"}
    assert "headers" not in request.columns
    assert request.start_timestamp == TIME + 85_000


@pytest.mark.slow
@each(
    "query",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM '/etc/passwd.csv'",
        "SELECT * FROM glob('/*')",
        "COPY (SELECT 1) TO '/tmp/kafkaspec-sql'",
        "COPY orders TO '/tmp/kafkaspec-sql.parquet'",
        "EXPORT DATABASE '/tmp/kafkaspec-sql'",
        "ATTACH '/tmp/kafkaspec-sql.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SELECT * FROM read_parquet('https://example.com/x.parquet')",
        "SET enable_external_access = true",
        "SELECT * FROM directory",
        "INSERT INTO orders VALUES (1)",
        "DELETE FROM orders",
        "SELECT * FROM none",
        "SELECT no_such FROM orders",
        "SELEC 1",
        "SELECT " + "(" * 201,
        "SELECT 1" + " " * (1 << 20),
        "SELECT error('x') FROM orders",
        "SELECT CAST(key AS INT) FROM orders",
    ],
)
def test_what_is_refused(query: str, session: Session) -> None:
    with pytest.raises(SqlError):
        rows(session, query)
    assert rows(session, "SELECT 1") == [(1,)]
    assert not list(Path("/tmp").glob("kafkaspec-sql*"))


def test_functions_and_columns(directory: Path) -> None:
    with ks.open(directory / "orders-0") as log, Session(log) as session:
        described = rows(session, "DESCRIBE orders")
        assert tuple(name for name, *_ in described) == VIEW_COLUMNS
        query = "SELECT text('\\xC3\\xA4'::BLOB), text('\\xFF'::BLOB)"
        assert rows(session, query) == [("ä", None)]
        found = rows(session, "SELECT header(headers, 'h') FROM orders ORDER BY \"offset\"")
        expected = [
            [value for name, value in record.headers if name == "h"] for record in log.records()
        ]
        assert [each for (each,) in found] == [each[-1] if each else None for each in expected]


KARAPACE = Path(__file__).parents[1] / "values" / "data" / "karapace" / "logs"


@pytest.mark.slow
@each(
    "topic, query",
    [
        ("orders", "SELECT value.client, count(*), sum(value.total.amount) FROM {} GROUP BY ALL"),
        (
            "orders",
            'SELECT "offset", key, value.status FROM {} WHERE value.qty > 3 AND partition = 1',
        ),
        ("orders", 'SELECT max(timestamp) FROM {} WHERE value IS NULL OR "offset" IN (3, 4)'),
        ("orders", "SELECT value.placed FROM {} WHERE value.placed > '2025-01-01T00:00:20Z'"),
        ("bad", "SELECT value_error, value_schema_id, count(*) FROM {} GROUP BY ALL"),
        ("every-type", "SELECT * EXCLUDE headers FROM {}"),
        ("proto-orders", "SELECT value, value_message FROM {} WHERE value_error IS NULL"),
        ("events", "SELECT value, count(*) FROM {} GROUP BY ALL"),
    ],
)
def test_typed_views(topic: str, query: str) -> None:
    """As a table of all typed rows in memory, which the reader of typed columns has made."""
    decoding: dict[str, Any] = {"value": "decode", "key": "decode"}
    with ks.open(KARAPACE) as log, Session(log, decoding=decoding) as session:
        table = log.to_typed(topic=topic, **decoding).read_all().drop_columns(["topic"])
        connection = duckdb.connect()
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("known", table)
        expected = connection.sql(f"{query.format('known')} ORDER BY ALL")
        assert expected is not None
        found = rows(session, f"{query.format(json.dumps(topic))} ORDER BY ALL")
        shown = [tuple(row.values()) for row in expected.to_arrow_table().to_pylist()]
    assert repr(found) == repr(shown)  # NaN is not equal to itself
    assert found


@pytest.mark.slow
def test_typed_views_of_the_command() -> None:
    query = "SELECT value_error AS e, count(*) AS n FROM bad GROUP BY ALL ORDER BY ALL"
    found = run("sql", KARAPACE, query, "--value", "decode", "--format", "json")
    assert found.exit_code == 1
    assert {"e": "unknown_id", "n": 2} in lines(found)
    assert "2 values not decoded" in found.stderr
    for arguments in (("--evolve", "each"), ("--topic", "orders"), ("--value-schema", "none@7")):
        refused = run("sql", KARAPACE, query, "--value", "decode", *arguments)
        assert refused.exit_code == 2, arguments


@pytest.mark.slow
def test_names_that_differ_in_case_and_times_beyond_duckdb(tmp_path: Path) -> None:
    for topic in ("Orders", "orders", "oRDERS"):
        folder = tmp_path / "logs" / f"{topic}-0"
        folder.mkdir(parents=True)
        made = [ks.Record(0, 1 << 60, b"k", topic.encode()), ks.Record(1, 5, b"k", b"")]
        (folder / f"{0:020}.log").write_bytes(ks.encode(made, magic=2))
    with ks.open(tmp_path / "logs") as log, Session(log) as session:
        assert session.renamed.keys() == {"Orders", "orders", "oRDERS"}
        for name in ("Orders", "orders", "oRDERS", "ORDERS"):
            for query in (
                f'SELECT count(*) FROM "{name}"',
                f"DESCRIBE {name}",
                f"FROM main.{name}",
            ):
                with pytest.raises(SqlError, match="is ambiguous") as caught:
                    rows(session, query)
                for topic, view in session.renamed.items():
                    assert f'topic {topic} is the view "{view}"' in str(caught.value)
                    assert rows(session, f'SELECT text(value) FROM "{view}" LIMIT 1') == [(topic,)]
        views = sorted(name for (name,) in rows(session, "SHOW TABLES") if name != session.batches)
        assert len({name.casefold() for name in views}) == 3
        values = {rows(session, f'SELECT text(value) FROM "{name}" LIMIT 1')[0] for name in views}
        assert values == {("Orders",), ("orders",), ("oRDERS",)}
        assert session.scans.untimed == 0
        (row,) = rows(session, 'SELECT epoch_ms(max(timestamp)), count(*) FROM "orders_2"')
        assert row == (5, 2)
        assert session.scans.untimed == 1
    found = run("sql", tmp_path / "logs", "SELECT timestamp FROM orders_2")
    assert found.exit_code == 1
    assert "1 timestamp" in found.stderr
    found = run("sql", tmp_path / "logs", "SELECT count(*) FROM orders")
    assert (found.exit_code, found.stdout) == (2, "")
    assert "is ambiguous" in found.stderr


@pytest.mark.slow
def test_the_names_of_views_meet_no_topic(tmp_path: Path) -> None:
    """DuckDB says which topic each view has: the value of a record is the name of its topic."""
    topics = ("a_b", "A_b", "A_B_1", "a_b_2", "a-b", "other")
    for topic in topics:
        folder = tmp_path / f"{topic}-0"
        folder.mkdir()
        (folder / f"{0:020}.log").write_bytes(ks.encode([ks.Record(0, 1, None, topic.encode())]))
    with ks.open(tmp_path) as log, Session(log) as session:
        assert session.renamed.keys() == {"a_b", "A_b"}
        for topic in topics:
            view = session.renamed.get(topic, topic)
            assert rows(session, f'SELECT text(value) FROM "{view}"') == [(topic,)]


@pytest.mark.slow
def test_damage_and_what_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "topic-0"
    path.mkdir()
    parts = [forge.batch(n, [forge.record(0, b"v%d" % n)]) for n in (0, 1, 2, 9)]
    broken = parts[1][:-1] + b"X"
    (path / f"{0:020}.log").write_bytes(parts[0] + broken + parts[2])
    (path / f"{9:020}.log").write_bytes(parts[3])
    query = 'SELECT count(*) AS n FROM topic a JOIN topic b USING ("offset")'
    found = run("sql", path, query, "--format", "json")
    assert lines(found) == [{"n": 3}]
    assert found.exit_code == 1
    assert sum("crc" in line for line in found.stderr.splitlines()) == 1
    assert "3 to 8" in found.stderr or "offsets 3" in found.stderr
    found = run("sql", path, query, "--on-error", "raise")
    assert found.exit_code == 2
    assert "crc" in found.stderr
    found = run("sql", path, 'SELECT text(value) FROM topic WHERE "offset" = 9')
    assert "v9" in found.stdout
    assert found.exit_code == 0
    shutil.rmtree(path)
    assert run("sql", path, "SELECT 1").exit_code == 2


def text(data: bytes | None) -> str | None:
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError:
        return None


@pytest.mark.slow
def test_output(directory: Path, tmp_path: Path) -> None:
    query = (
        'SELECT partition, "offset", text(key) AS key FROM orders WHERE "offset" < 3 ORDER BY ALL'
    )
    expected: list[dict[str, Any]] = [
        {"partition": partition, "offset": record.offset, "key": text(record.key)}
        for partition in (0, 3)
        for record in ks.open(directory / f"orders-{partition}").records(end_offset=3)
    ]
    found = run("sql", directory, query, "--format", "json")
    assert lines(found) == expected
    out = tmp_path / "out.parquet"
    assert run("sql", directory, query, "-o", out).exit_code == 0
    assert parquet.read_table(out).to_pylist() == expected
    shown = run("sql", directory, query).stdout.splitlines()
    assert shown[1].split() == ["partition", "offset", "key"]
    assert len([line for line in shown[3:] if line.strip()]) == len(expected)
    for arguments in (
        ("SELEC", ), ("SELECT 1", "--format", "parquet"), ("SELECT 1", "-o", tmp_path / "x.txt"),
        ("SELECT 1", "--columns", "no"), ("SELECT 1", "--memory", "much"),
        ("SELECT 1", "-o", directory / "x.parquet"),
    ):  # fmt: skip
        assert run("sql", directory, *arguments).exit_code == 2, arguments
    many = run("sql", directory, "SELECT range FROM range(1000)").stdout
    assert "and 800 rows more" in many


HEADERS = golden("4.3.1", "headers-0")


@pytest.mark.slow
def test_json_says_the_same_of_a_column_under_any_name() -> None:
    """A column of a query is what it is by its type: ``timestamp`` and ``headers`` are words."""
    query = 'SELECT timestamp, timestamp AS at FROM headers ORDER BY "offset"'
    rows = lines(run("sql", HEADERS, query, "--format", "json"))
    with ks.open(HEADERS) as log:
        stamps = [record.timestamp for record in log.records()]
    times = [datetime.fromtimestamp(stamp / 1000, UTC) for stamp in stamps]
    assert [datetime.fromisoformat(row["at"]) for row in rows] == times
    assert [row["timestamp"] for row in rows] == [row["at"] for row in rows]
    words = "SELECT 1 AS headers, 'x' AS timestamp"
    assert lines(run("sql", HEADERS, words, "--format", "json")) == [
        {"headers": 1, "timestamp": "x"}
    ]


def test_csv_says_that_it_has_no_headers() -> None:
    query = 'SELECT "offset", headers FROM headers LIMIT 1'
    found = run("sql", HEADERS, query, "--format", "csv")
    assert found.exit_code == 0
    assert "headers of records are left out" in found.stderr
    assert found.stdout.splitlines()[0] == '"offset"'


@pytest.mark.slow
def test_bytes_in_lists_are_shown_as_in_json() -> None:
    query = 'SELECT headers FROM headers ORDER BY "offset" LIMIT 2'
    first, second = lines(run("sql", HEADERS, query, "--format", "json"))
    assert first == {"headers": []}
    (pair,) = second["headers"]
    shown = json.loads(run("sql", HEADERS, query).stdout.splitlines()[4])
    assert shown == [dict(zip(("key", "value"), pair, strict=True))]


@pytest.mark.slow
@pytest.mark.parametrize("query", ["", " WHERE partition <> 7"], ids=str)
def test_the_work_grows_as_partitions_do(query: str, tmp_path: Path) -> None:
    work = []
    for number in (100, 200):
        logs = tmp_path / str(number)
        for partition in range(number):
            path = logs / f"t-{partition}" / f"{0:020d}.log"
            path.parent.mkdir(parents=True)
            path.write_bytes(ks.encode([ks.Record(0, 0, b"k", b"v")]))
        counted = run("sql", logs, f"SELECT count(*) AS found FROM t{query}", "--format", "json")
        assert json.loads(counted.stdout)["found"] == number - bool(query)
        work.append(calls(partial(run, "sql", logs, f"SELECT count(*) FROM t{query}")))
    assert work[1] < 2.2 * work[0], work


@pytest.mark.slow
def test_a_view_of_batches() -> None:
    """The table of the library, with the records of compressed messages too."""
    root = GOLDEN / "4.3.1" / "logs"
    with ks.open(root) as log, Session(log) as session:
        expected = log.batch_table()
        count = sum(1 for _ in log.records(include_control=True, log_start="ignore"))
        names = [name for name in expected.column_names if name != "num_records"]
        shown = [f"epoch_ms({name})" if name in TIMES else name for name in names]
        found = rows(session, f"SELECT {', '.join(shown)} FROM batches")
        assert found
        with Session(log, log_start="ignore") as whole:
            assert rows(whole, "SELECT sum(records) FROM batches") == [(count,)]
            found = rows(whole, f"SELECT {', '.join(shown)} FROM batches")
        table = [
            tuple(int(each.timestamp() * 1000) if name in TIMES and each else each
                  for name, each in zip(names, row, strict=True))
            for row in zip(*(expected.column(name).to_pylist() for name in names), strict=True)
        ]  # fmt: skip
        assert sorted(map(str, found)) == sorted(map(str, table))
        session.scans.requests.clear()
        assert rows(session, "SELECT sum(records) FROM batches WHERE topic = 'compacted'")
        assert [topic for topic, _ in session.scans.requests] == ["compacted"]
        with (
            Session(log, isolation="read_committed") as committed,
            pytest.raises(SqlError, match="do not say which records are committed"),
        ):
            rows(committed, "SELECT * FROM batches")


TIMES = ("base_timestamp", "max_timestamp", "delete_horizon")


@pytest.mark.slow
def test_a_topic_may_be_named_batches(tmp_path: Path) -> None:
    for name in ("Batches", "batches_1", "orders"):
        shutil.copytree(GOLDEN / "4.3.1" / "logs" / "plain-0", tmp_path / f"{name}-0")
    with ks.open(tmp_path) as log, Session(log) as session:
        assert session.batches == "batches_2"
        (records,) = rows(session, "SELECT count(*) FROM batches")
        assert rows(session, "SELECT sum(records) FROM batches_2 WHERE topic = 'orders'") == [
            records
        ]
    done = run("sql", tmp_path, "SELECT 1")
    assert 'view "batches_2"' in done.stderr


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    result = run("sql", golden("4.3.1", "plain-0"), "SELECT 1")
    assert result.exit_code == 2
    assert "pip install 'kafkaspec[sql]'" in result.output
    assert run("sql", "--help").exit_code == 0
