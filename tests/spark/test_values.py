"""The options ``value.decode`` and ``key.decode``: typed columns, as the library has them."""

from __future__ import annotations

import json
import pickle
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark")

import kafkaspec as ks
from kafkaspec.spark.parsing import OptionError
from kafkaspec.tables.engine_types import as_engine, spark_value
from kafkaspec.values.options import Options
from tests.spark.reading import source, stream_reader, table
from tests.values.registry.topics import DATA, record, schema, write

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_UNDECODED = {
    **dict.fromkeys(("every-type", "bad", "tree", "proto-orders"), ("auto", "decode")),
    "single-object": ("auto", "auto"),
}
"""Topics of which keys or values have no schema, and what to ask for them: key, value."""

KARAPACE, CONFLUENT = (DATA / name / "logs" for name in ("karapace", "confluent"))


@pytest.mark.parametrize(
    ("home", "topic"),
    [
        *((KARAPACE, topic) for topic in (
            "orders", "every-type", "events", "headers", "bad", "users", "tree", "proto-orders",
            "proto-mixed", "proto-legacy", "proto-rewritten", "single-object",
        )),
        *((CONFLUENT, topic) for topic in ("people", "raw", "ctx-people", "track", "cust")),
    ],
    ids=lambda item: item if isinstance(item, str) else item.parent.name,
)  # fmt: skip
def test_rows_are_those_of_the_library(home: Path, topic: str) -> None:
    key, value = _UNDECODED.get(topic, ("decode", "decode"))
    ours = table(home, subscribe=topic, value_decode=value, key_decode=key, depth=2)
    theirs = ks.LogDirectory(home).of_topic(topic).to_arrow(
        value=value, key=key, values=Options(depth=2)
    )  # fmt: skip
    columns = [name for name in theirs.schema.names if name.startswith(("key", "value"))]
    assert [name for name in ours.schema.names if name.startswith(("key", "value"))] == columns
    names = ["partition", "offset", *columns]
    found = sorted(
        ours.select(names).to_pylist(), key=lambda row: (row["partition"], row["offset"])
    )
    assert repr(_plain(found)) == repr(_plain(theirs.select(names).to_pylist()))
    assert len(found) > 2


@pytest.mark.parametrize("topic", _UNDECODED)
def test_what_was_to_be_decoded_and_cannot_be_is_an_error(topic: str) -> None:
    """A query has no exit code, so it does not begin; ``auto`` leaves bytes."""
    side = "value" if _UNDECODED[topic][1] == "auto" else "key"
    options = {f"{side}_decode": "decode"}
    with pytest.raises(OptionError, match=rf"option {side}\.decode: {topic}: .* auto leaves"):
        table(KARAPACE, subscribe=topic, depth=2, **options)


def _plain(value: Any) -> Any:
    """Values as both have them: Spark has no struct without fields, no uuid, no time of a day."""
    if isinstance(value, time):
        midnight = datetime(1970, 1, 1)
        return (datetime.combine(midnight, value) - midnight) // timedelta(microseconds=1)
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()} or True
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return getattr(value, "bytes", value)


def test_types_of_spark() -> None:
    assert spark_value(pa.uuid()) == pa.binary()
    kinds = {
        pa.uint64(): pa.decimal128(20, 0),
        pa.binary(3): pa.binary(),
        pa.timestamp("ns", "UTC"): pa.timestamp("us", "UTC"),
        pa.timestamp("ms"): pa.timestamp("us"),
        pa.time32("ms"): pa.int64(),
        pa.decimal256(50, 3): pa.string(),
        pa.dictionary(pa.int32(), pa.string()): pa.string(),
        pa.struct([]): pa.bool_(),
        pa.null(): pa.string(),
    }
    for kind, wanted in kinds.items():
        nested = pa.struct([("a", pa.list_(kind)), ("A", pa.map_(pa.string(), kind)), ("b", kind)])
        found = spark_value(nested)
        assert [field.name for field in found] == ["a", "A_2", "b"]
        assert found.field(2).type == wanted
        empty, _ = as_engine(pa.array([None, {"a": [None], "A": [], "b": None}], nested), found)
        assert empty.type == found
        assert [item is None for item in empty.to_pylist()] == [True, False]


def test_slices_and_nulls_keep_their_rows() -> None:
    kind = pa.struct([("x", pa.list_(pa.uint32())), ("m", pa.map_(pa.string(), pa.uint8()))])
    rows = [
        None if n % 3 == 0 else
        {"x": None if n % 4 == 0 else list(range(n)), "m": [("k", n)] if n % 2 else None}
        for n in range(12)
    ]  # fmt: skip
    whole = pa.array(rows, kind)
    for start in range(5):
        part, beyond = as_engine(whole.slice(start, 6), spark_value(kind))
        part.validate(full=True)
        assert part.to_pylist() == rows[start : start + 6]
        assert beyond == []


def test_a_time_beyond_spark_is_an_error_of_its_row() -> None:
    values = pa.array([0, 1 << 62, 5], pa.timestamp("ms", "UTC"))
    found, beyond = as_engine(values, spark_value(values.type))
    assert beyond == [1]
    assert found.cast(pa.int64()).to_pylist() == [0, None, 5000]


def test_rows_without_a_value_by_the_option() -> None:
    place: dict[str, Any] = {"subscribe": "bad", "value_decode": "decode"}
    kept = table(KARAPACE, **place, onValueError="skip")
    assert kept["offset"].to_pylist() == [0, 11, 15]
    assert "value_error" not in kept.schema.names
    assert table(KARAPACE, ["offset"], **place, onValueError="skip").num_rows == 3
    for mode in ("FAILFAST", "PERMISSIVE"):
        with pytest.raises(
            ks.KafkaSpecError, match=r"at byte 0 /value/ms: the value of offset 1, "
        ):
            table(KARAPACE, **place, onValueError="raise", mode=mode)
    few = table(KARAPACE, ["value_error", "offset"], **place)
    assert few["value_error"].null_count == 3


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"value_decode": "decode"}, "name one with subscribe"),
        ({"value_decode": "decode", "subscribe": "none"}, "there are none"),
        ({"value_decode": "decode", "subscribe": "orders", "evolve": "9"}, "version 9"),
        ({"value_decode": "decode", "subscribe": "orders", "evolve": "each"}, "whole number"),
        ({"value_decode": "decode", "subscribe": "tree"}, "within itself"),
        (
            {"value_decode": "decode", "subscribe": "orders", "includeControl": "true"},
            "cannot be combined with",
        ),
        ({"value_decode": "decode", "subscribe": "orders", "onValueError": "no"}, "is one of"),
    ],
    ids=str,
)
def test_what_cannot_be_followed(options: dict[str, Any], text: str) -> None:
    with pytest.raises(OptionError, match=text):
        table(KARAPACE, **options)


V1 = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}
V2 = {"type": "record", "name": "R", "fields": [
    {"name": "a", "type": "int"}, {"name": "b", "type": "string", "default": ""},
]}  # fmt: skip


def _framed(number: int, payload: bytes) -> bytes:
    return b"\0" + number.to_bytes(4, "big") + payload


def _grow(home: Path, topic: str, records: list[tuple[Any, Any]]) -> None:
    """Append records to a log, as a broker does."""
    (file,) = (home / f"{topic}-0").glob("*.log")
    offset = sum(1 for _ in ks.Segment(file).records())
    data = b"".join(
        ks.encode([record(offset + n, key, value)]) for n, (key, value) in enumerate(records)
    )
    with file.open("ab") as out:
        out.write(data)


def test_a_stream_meets_a_new_schema_and_keeps_its_columns(tmp_path: Path) -> None:
    home = write(tmp_path, [schema("t-value", 1, 1, V1)])
    write(home, [(None, _framed(1, b"\x02"))], topic="t")
    options = {"subscribe": "t", "value_decode": "decode", "startingOffsets": "earliest"}
    reader = pickle.dumps(stream_reader(home, **options))
    started = pickle.loads(reader)
    _grow(home, "_schemas", [schema("t-value", 2, 2, V2)])
    _grow(home, "t", [(None, _framed(2, b"\x04\x02x")), (None, _framed(3, b"\x04"))])
    begin = started.initialOffset()
    end = started.latestOffset(begin, started.getDefaultReadLimit())
    rows = [
        row
        for task in started.partitions(begin, end)
        for batch in pickle.loads(reader).read(pickle.loads(pickle.dumps(task)))
        for row in batch.to_pylist()
    ]
    assert [row["value"] for row in rows] == [{"a": 1}, {"a": 2}, None]
    assert [row["value_schema_id"] for row in rows] == [1, 2, None]
    assert [row["value_error"] for row in rows] == [None, None, "unknown_id"]


def test_a_table_keeps_the_columns_that_it_had(tmp_path: Path) -> None:
    """A schema that was planned goes with later versions: values are read as the one it has."""
    home = write(tmp_path, [schema("t-value", 1, 1, V1)])
    write(home, [(None, _framed(1, b"\x02"))], topic="t")
    made = source(home, {"subscribe": "t", "value_decode": "decode"})
    planned = made.schema()
    _grow(home, "_schemas", [schema("t-value", 2, 2, V2)])
    _grow(home, "t", [(None, _framed(2, b"\x04\x02x"))])
    assert planned != made.schema()
    reader = made.reader(planned)
    values = [
        row["value"]
        for task in reader.partitions()
        for batch in reader.read(task)
        for row in batch.to_pylist()
    ]
    assert values == [{"a": 1}, {"a": 2}]


def test_in_spark(spark: SparkSession, tmp_path: Path) -> None:
    """What Java's Avro read with the newest schema, in the JVM and back."""
    import kafkaspec.spark

    rows = kafkaspec.spark.read(
        spark, str(KARAPACE), subscribe="orders", value_decode="decode", key_decode="decode"
    )
    lines = (DATA / "karapace" / "expected-latest" / "orders.jsonl").read_text().splitlines()
    wanted = {(row["partition"], row["offset"]): row for row in map(json.loads, lines)}
    found = rows.selectExpr(
        "partition", "offset", "key.id key", "value.qty", "value.status", "value.client",
        "size(value.attributes) attributes", "value_error",
    ).collect()  # fmt: skip
    assert len(found) == 60
    compared = 0
    for row in found:
        assert row["value_error"] is None
        value = wanted.get((row["partition"], row["offset"]), {}).get("value")
        if value is not None:
            assert (row["qty"], row["status"]) == (value["qty"], value["status"])
            compared += 1
    assert compared > 40


def test_the_job_writes_each_topic_with_its_columns(spark: SparkSession, tmp_path: Path) -> None:
    """To Parquet and back, by another reader."""
    from kafkaspec.spark.jobs.export import count_failed, export_typed

    out = tmp_path / "out"
    topics = ["bad", "every-type"]
    written = export_typed(
        spark, str(KARAPACE), str(out), topics=topics, value_decode="decode", key_decode="auto"
    )
    assert list(written) == topics
    assert count_failed(written["bad"]) == (16, {"key_error": 0, "value_error": 13})
    for topic in topics:
        theirs = ks.LogDirectory(KARAPACE).of_topic(topic).to_arrow(value="decode")
        assert list((out / f"topic={topic}").glob("day=*"))
        found = pq.read_table(out / f"topic={topic}").sort_by("offset")
        assert found["value_error"].to_pylist() == theirs["value_error"].to_pylist()
        assert repr(_plain(found["value"].to_pylist())) == repr(_plain(theirs["value"].to_pylist()))
