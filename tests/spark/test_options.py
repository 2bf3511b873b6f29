"""Options and schemas: accepted and refused as Spark's own Kafka source does, or by name."""

from __future__ import annotations

import json
import pickle

import pytest

pytest.importorskip("pyspark")

from pyspark.sql.types import StructType

from kafkaspec.spark.options import EARLIEST, LATEST, RangeBound, read_options
from kafkaspec.spark.parsing import OptionError
from kafkaspec.spark.schema import COLUMNS, default_schema, output_of

REFUSED = [
    ({"kafka.bootstrap.servers": "x:1"}, "kafka.bootstrap.servers: .* not brokers"),
    ({"kafka.group.id": "x"}, "kafka.group.id"),
    ({"groupIdPrefix": "x"}, "groupidprefix"),
    ({"fetchOffset.numRetries": "1"}, "fetchoffset.numretries"),
    ({"kafkaConsumer.pollTimeoutMs": "1"}, "polltimeoutms"),
    ({"minOffsetsPerTrigger": "1"}, "minoffsetspertrigger"),
    ({"maxTriggerDelay": "1s"}, "maxtriggerdelay"),
    ({"maxOffsetsPerTrigger": "1"}, "maxOffsetsPerTrigger is for streams"),
    ({"startingOffset": "earliest"}, "no option startingoffset"),
    ({"subscribe": "a", "assign": '{"a":[0]}'}, "at most one of"),
    ({"subscribe": " , "}, "subscribe names no topic"),
    ({"subscribePattern": "("}, "subscribePattern"),
    ({"assign": '{"a":0}'}, "assign is JSON"),
    ({"assign": "a"}, "is not JSON"),
    ({"startingOffsets": "latest"}, "can't be latest"),
    ({"startingOffsets": '{"a":{"0":-1}}'}, "can't be latest"),
    ({"endingOffsets": "earliest"}, "can't be earliest"),
    ({"endingOffsets": '{"a":{"0":-2}}'}, "can't be earliest"),
    ({"startingOffsets": '{"a":{"0":-3}}'}, "startingOffsets is JSON"),
    ({"startingOffsets": '{"a":{"x":3}}'}, "startingOffsets is JSON"),
    ({"startingOffsets": '{"a":3}'}, "startingOffsets is JSON"),
    ({"startingOffsets": "[" * 100_000}, "is not JSON"),
    ({"startingTimestamp": "-5"}, "startingTimestamp is a whole number"),
    ({"startingTimestamp": "yesterday"}, "startingTimestamp: 'yesterday' is neither"),
    ({"startingOffsetsByTimestamp": '{"a":{"0":"x"}}'}, "ByTimestamp: 'x' is neither"),
    ({"startingTimestamp": "9" * 30}, "startingTimestamp is a whole number"),
    ({"startingOffsetsByTimestampStrategy": "x"}, "Strategy is one of"),
    ({"minPartitions": "0"}, "minPartitions is a whole number"),
    ({"maxPartitionBytes": "0"}, "maxPartitionBytes is a size"),
    ({"maxPartitionBytes": "a lot"}, "maxPartitionBytes is a size"),
    ({"failOnDataLoss": "yes"}, "failOnDataLoss is one of true, false"),
    ({"mode": "DROPMALFORMED"}, "mode is one of"),
    ({"isolation.level": "serializable"}, "isolation.level is one of"),
    (
        {"isolation.level": "read_committed", "kafka.isolation.level": "read_uncommitted"},
        "differ",
    ),
    ({"check.crcs": "no"}, "check.crcs is one of"),
    ({"check.crcs": "true", "kafka.check.crcs": "false"}, "check.crcs and kafka.check.crcs differ"),
    ({"path": ""}, "give a path"),
    ({"paths": "x"}, "paths is not JSON"),
    ({"paths": '{"a":1}'}, "paths is a JSON list"),
]


@pytest.mark.parametrize(("options", "match"), REFUSED, ids=lambda item: str(item)[:40])
def test_unsupported_options_are_refused_by_name(options: dict[str, str], match: str) -> None:
    with pytest.raises(OptionError, match=match):
        read_options({"path": "/logs", **options})


def test_streams_have_no_end() -> None:
    for name in ("endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp"):
        with pytest.raises(OptionError, match=f"{name} is not for streams"):
            read_options({"path": "/logs", name: "latest"}, streaming=True)


def test_defaults_are_those_of_the_kafka_source() -> None:
    batch = read_options({"path": "/logs"})
    assert (batch.start, batch.end) == (RangeBound(EARLIEST), RangeBound(LATEST))
    assert batch.fail_on_data_loss
    assert not batch.committed
    stream = read_options({"PATH": "/logs", "MaxOffsetsPerTrigger": "5"}, streaming=True)
    assert (stream.start, stream.max_offsets) == (RangeBound(LATEST), 5)


def test_timestamps_go_before_offsets() -> None:
    options = {
        "path": "/logs",
        "startingOffsets": '{"a":{"0":23}}',
        "startingOffsetsByTimestamp": '{"a":{"0":5}}',
    }
    assert read_options(options).start == RangeBound(timestamps={("a", 0): 5})
    assert read_options({**options, "startingTimestamp": "7"}).start == RangeBound(timestamps=7)
    for time in ("1970-01-01T00:00:00.007Z", "1970-01-01 01:00:00.007+01:00"):
        assert read_options({**options, "startingTimestamp": time}).start == RangeBound(
            timestamps=7
        )
        by_partition = {"startingOffsetsByTimestamp": json.dumps({"a": {"1": time}})}
        assert read_options({"path": "x", **by_partition}).start == RangeBound(
            timestamps={("a", 1): 7}
        )


def test_the_isolation_level_has_two_names() -> None:
    for name in ("isolation.level", "kafka.isolation.level"):
        assert read_options({"path": "/logs", name: "read_committed"}).committed


def test_crcs_are_checked_unless_that_is_off() -> None:
    assert read_options({"path": "/logs"}).check_crcs
    for name in ("check.crcs", "kafka.check.crcs"):
        assert not read_options({"path": "/logs", name: "false"}).check_crcs


def test_sizes() -> None:
    for text, size in (("128m", 128 << 20), ("4096", 4096), ("2 KB", 2048), ("1g", 1 << 30)):
        assert read_options({"path": "/", "maxPartitionBytes": text}).max_bytes == size


SPARK_KAFKA = (
    "struct<key:binary,value:binary,topic:string,partition:int,offset:bigint,"
    "timestamp:timestamp,timestampType:int"
)
"""Structured Streaming + Kafka Integration Guide of Spark, "Each row in the source has ..."."""


def test_the_schema_is_that_of_the_kafka_source() -> None:
    plain = default_schema(read_options({"path": "/logs"}))
    assert plain.simpleString() == SPARK_KAFKA + ">"
    headers = default_schema(read_options({"path": "/logs", "includeHeaders": "true"}))
    column = "headers:array<struct<key:string,value:binary>>"
    assert headers.simpleString() == f"{SPARK_KAFKA},{column}>"


@pytest.mark.parametrize(
    ("schema", "match"),
    [
        ("struct<offsets:bigint>", "no column 'offsets'"),
        ("struct<offset:int>", "offset is bigint, not int"),
        ("struct<offset:bigint,offset:bigint>", "none of them twice"),
        ("struct<>", "at least one"),
    ],
)
def test_a_schema_that_cannot_be_filled(schema: str, match: str) -> None:
    from pyspark.sql.types import IntegerType, LongType, StructField

    kinds = {"bigint": LongType(), "int": IntegerType()}
    inner = schema.removeprefix("struct<").removesuffix(">")
    fields = [item.split(":") for item in inner.split(",") if item]
    made = StructType([StructField(name, kinds[kind]) for name, kind in fields])
    with pytest.raises(OptionError, match=match):
        output_of(made, read_options({"path": "/logs"}))


def test_options_and_columns_travel() -> None:
    options = read_options({"path": "/logs", "includeBatch": "true"})
    output = output_of(default_schema(options), options)
    assert pickle.loads(pickle.dumps((options, output))) == (options, output)
    assert set(output.names) <= set(COLUMNS)
