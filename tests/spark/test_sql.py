"""Tables, letter case and wrong options, as a user of Spark meets them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

from kafkaspec.spark.options import read_options
from kafkaspec.spark.parsing import OptionError
from kafkaspec.spark.source import KafkaSegmentDataSource
from tests.spark import logs
from tests.spark.reading import stream_reader, table
from tests.spark.test_stream import finish

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(name="sql")
def _sql(spark: SparkSession) -> Iterator[Callable[[str], list[Any]]]:
    yield lambda text: spark.sql(text).collect()
    for name in ("logs", "others", "own", "saved"):
        spark.sql(f"DROP TABLE IF EXISTS {name}")
    spark.sql("DROP VIEW IF EXISTS place")


def test_tables(sql: Callable[[str], list[Any]], tmp_path: Path) -> None:
    """What Spark adds to OPTIONS (owner, provider ...) is let through; wrong ones are not."""
    old, new = tmp_path / "old", tmp_path / "new"
    logs.make(old / "orders-0", 4)
    given = f"OPTIONS (path '{old}', includeHeaders 'true') COMMENT 'x' TBLPROPERTIES ('a' = 'b')"
    sql(f"CREATE TABLE logs USING kafkasegment {given}")
    for place, text in ((new, "there is nothing here"), (f"{new}-*", "nothing matches")):
        with pytest.raises(Exception, match=text) as caught:
            sql(f"CREATE TABLE others USING kafkasegment LOCATION '{place}'")
        assert "Traceback" not in str(caught.value)
    new.mkdir()
    sql(f"CREATE TABLE others USING kafkasegment LOCATION '{new}'")
    assert sql("SELECT count(*), max(OFFSET), count(headers) FROM logs")[0][:] == (20, 19, 0)
    query = "SELECT key, value, topic, partition, offset, timestamp, timestampType FROM logs"
    # The columns are those of logs: nothing may be written there.
    with pytest.raises(Exception, match=r"INSERT INTO name WITH \(path = '...'\)") as caught:
        sql(f"INSERT INTO others {query}")
    assert len(str(caught.value)) < 400
    sql(f"INSERT INTO others WITH (path = '{new}') {query} WHERE offset < 7")
    assert sql("SELECT count(*), max(offset) FROM others")[0][:] == (7, 6)
    assert sql("SELECT count(*) FROM logs JOIN others USING (offset)")[0][0] == 7
    sql(f"CREATE TABLE own (value BINARY) USING kafkasegment LOCATION '{old}'")
    with pytest.raises(Exception, match=r"OPTIONS \(path '...', columns '...'\) instead of a list"):
        sql("SELECT * FROM own")
    assert sql(f"SELECT count(*) FROM own WITH (path = '{old}')")[0][0] == 20
    with pytest.raises(Exception, match="there is no option nonsense for reading"):
        sql(f"CREATE TABLE no USING kafkasegment OPTIONS (path '{old}', nonsense '1')")


def test_a_table_with_some_columns_keeps_its_path(
    spark: SparkSession, sql: Callable[[str], list[Any]], tmp_path: Path
) -> None:
    logs.make(tmp_path / "orders-0", 4)
    given = f"OPTIONS (path '{tmp_path}', columns 'OFFSET, value', subscribe 'orders')"
    sql(f"CREATE TABLE logs USING kafkasegment {given}")
    assert spark.table("logs").dtypes == [("OFFSET", "bigint"), ("value", "binary")]
    assert sql("SELECT count(value), max(offset) FROM logs")[0][:] == (20, 19)
    heads = f"OPTIONS (path '{tmp_path}', rows 'batches', columns 'records')"
    sql(f"CREATE TABLE others USING kafkasegment {heads}")
    assert sql("SELECT sum(records), count(*) FROM others")[0][:] == (20, 4)
    for wrong, text in (("offset, nothing", "no column 'nothing'"), ("offset,,", "lists names of")):
        with pytest.raises(Exception, match=text):
            sql(
                f"CREATE TABLE no USING kafkasegment OPTIONS (path '{tmp_path}', columns '{wrong}')"
            )
    frame = spark.read.format("kafkasegment").option("columns", "offset").schema("value binary")
    with pytest.raises(Exception, match="option columns lists others than the schema: value"):
        frame.load(str(tmp_path)).collect()


def test_a_path_is_no_table(sql: Callable[[str], list[Any]], tmp_path: Path) -> None:
    """Spark 4.3 takes only formats of files there (``ResolveSQLOnFile``); a view takes the path."""
    logs.make(tmp_path / "orders-0", 4)
    with pytest.raises(Exception, match="UNSUPPORTED_DATASOURCE_FOR_DIRECT_QUERY"):
        sql(f"SELECT * FROM kafkasegment.`{tmp_path}`")
    sql(f"CREATE TEMPORARY VIEW place USING kafkasegment OPTIONS (path '{tmp_path}')")
    assert sql("SELECT count(*) FROM place")[0][0] == 20


def test_tables_that_are_made_of_a_query(
    spark: SparkSession, sql: Callable[[str], list[Any]], tmp_path: Path
) -> None:
    """A table must not read where the table of its query reads."""
    old, new = tmp_path / "old", tmp_path / "new"
    logs.make(old / "orders-0", 4)
    sql(f"CREATE TABLE logs USING kafkasegment OPTIONS (path '{old}')")
    for place in (f"LOCATION '{new}'", f"OPTIONS (path '{new}')"):
        with pytest.raises(Exception, match=r"INSERT INTO name WITH \(path = '...'\)"):
            sql(f"CREATE TABLE others USING kafkasegment {place} AS SELECT * FROM logs")
        assert not new.exists()
        assert not spark.catalog.tableExists("others")
    writer = spark.table("logs").where("offset < 7").write.format("kafkasegment")
    writer.option("path", str(new)).mode("append").saveAsTable("saved")
    with pytest.raises(Exception, match="give a path"):
        sql("SELECT * FROM saved")
    assert sql(f"SELECT count(*) FROM saved WITH (path = '{new}')")[0][0] == 7
    sql(f"CREATE TEMPORARY VIEW place USING kafkasegment OPTIONS (path '{new}')")
    sql("INSERT INTO place SELECT * FROM logs WHERE offset >= 7")
    assert sql("SELECT count(*), max(offset) FROM place")[0][:] == (20, 19)


def test_properties_of_tables_are_no_options(tmp_path: Path) -> None:
    """The options as Spark 4.3.0 hands them over for ``CREATE TABLE``."""
    logs.make(tmp_path / "orders-0", 4)
    given = {
        "includeheaders": "true",
        "option.includeheaders": "true",
        "location": f"file:{tmp_path}",
        "comment": "x",
        "owner": "root",
        "a": "b",
        "path": f"file:{tmp_path}",
        "provider": "kafkasegment",
    }
    schema = KafkaSegmentDataSource(given).schema()
    assert "headers" in schema.names
    (task,) = KafkaSegmentDataSource({}).reader(schema).partitions()
    assert (
        sum(batch.num_rows for batch in KafkaSegmentDataSource({}).reader(schema).read(task)) == 20
    )
    with pytest.raises(OptionError, match="no option nonsense"):
        KafkaSegmentDataSource(given | {"nonsense": "1", "option.nonsense": "1"}).schema()
    with pytest.raises(OptionError, match="give one path"):
        KafkaSegmentDataSource({}).writer(schema, False)


def test_letter_case_of_columns(spark: SparkSession, tmp_path: Path) -> None:
    logs.make(tmp_path / "orders-0", 4)
    frame = spark.read.format("kafkasegment").schema(
        "OFFSET bigint, timestamptype int, Topic string"
    )
    rows = frame.load(str(tmp_path)).orderBy("offset").collect()
    assert [row.OFFSET for row in rows] == list(range(20))
    assert {(row.timestamptype, row.Topic) for row in rows} == {(0, "orders")}
    narrow = table(tmp_path, ["Offset", "VALUE"])
    assert narrow.column_names == ["Offset", "VALUE"]
    again = spark.createDataFrame([(b"v", "new")], "VALUE binary, Topic string")
    again.write.format("kafkasegment").mode("append").save(str(tmp_path / "written"))
    assert table(tmp_path / "written", ["topic", "value"]).to_pylist() == [
        {"topic": "new", "value": b"v"}
    ]


def test_wrong_options_are_said_in_a_line(spark: SparkSession, tmp_path: Path) -> None:
    logs.make(tmp_path / "orders-0", 1)

    def refused(**options: str) -> str:
        with pytest.raises(Exception, match=r"OptionError|NotThereError") as caught:
            spark.read.format("kafkasegment").options(**options).load(str(tmp_path)).collect()
        return str(caught.value)

    for options, text in (
        ({"subscribePattern": "("}, "option subscribePattern: "),
        ({"subscribe": "none"}, "subscribe names none, which is not there"),
        (
            {"subscribePattern": "order"},
            "subscribePattern order matches no topic; there are orders",
        ),
        ({"includeHeader": "true"}, "no option includeheader for reading; did you mean"),
        ({"kafka.isolation.levl": "x"}, "did you mean 'kafka.isolation.level'"),
        ({"maxOffsetsPerTrigger": "1"}, "option maxOffsetsPerTrigger is for streams"),
    ):
        found = refused(**options)
        assert text in found
        assert "Traceback" not in found
        assert len(found) < 300, found
    stream = spark.readStream.format("kafkasegment").option("endingOffsets", "latest")
    writer = stream.load(str(tmp_path)).writeStream.format("noop").trigger(availableNow=True)
    with pytest.raises(Exception, match="option endingOffsets is not for streams") as caught:
        finish(writer)
    assert "Traceback" not in str(caught.value)
    assert "UnboundLocalError" not in str(caught.value)


def test_a_stream_that_is_refused_says_so_when_it_begins(tmp_path: Path) -> None:
    """Spark 4.3 reports an error of ``streamReader`` as an UnboundLocalError of its own."""
    found = stream_reader(tmp_path, endingOffsets="latest")
    for call in (found.initialOffset, lambda: found.latestOffset({}, None)):
        with pytest.raises(OptionError, match="endingOffsets is not for streams"):
            call()
    with pytest.raises(OptionError, match="endingOffsets is not for streams"):
        found.partitions({}, {})


JAVA = (
    (r"\p{Alpha}+", "orders", "orders2"),
    (r"[\p{Lower}\p{Digit}_.-]+", "orders_2.a-b", "Orders"),
    (r"\P{Upper}*", "orders", "oRders"),
    (r"(?<first>[a-z])x\k<first>", "axa", "axb"),
    (r"\Qa.b\E.*", "a.bc", "axbc"),
    (r"or(?:ders|chids)\z", "orders", "order"),
    (r"(?i)ORDERS", "orders", "stock"),
    (r"(?<!x)orders(?=-)?", "orders", "xorders"),
    (r"a++b", "aab", "aa"),
    (r"\[a\]", "[a]", "a"),
)
"""Patterns of Java, a topic that each matches, and one that it does not; by its documentation."""


def test_patterns_of_java() -> None:
    for pattern, match, other in JAVA:
        options = read_options({"path": "/", "subscribePattern": pattern})
        assert options.selects(match, 0), pattern
        assert not options.selects(other, 0), pattern
    for pattern, text in (
        ("[a-z&&[^b]]", "classes within classes"),
        (r"\p{Nonsense}", "there is no class"),
        (r"[\P{Alpha}]", "Python has no"),
        ("(", "missing"),
    ):
        with pytest.raises(OptionError, match=f"option subscribePattern: .*{text}"):
            read_options({"path": "/", "subscribePattern": pattern})
