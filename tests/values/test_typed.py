"""Typed columns of real topics, by the schemas beside them."""

from __future__ import annotations

import json
import shutil
import zlib
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest

import kafkaspec as ks
from kafkaspec.errors import KafkaSpecError
from kafkaspec.values.options import Options
from kafkaspec.values.reading.request import ValueReport

DATA = Path(__file__).parent / "data"
KARAPACE = DATA / "karapace" / "logs"
CONFLUENT = DATA / "confluent" / "logs"


def expected(name: str) -> Iterator[dict[str, Any]]:
    """Yield the expected rows of a topic: karapace/orders."""
    registry, topic = name.split("/")
    for line in (DATA / registry / "expected" / f"{topic}.jsonl").open():
        yield json.loads(line)


def table(log: Path, **options: Any) -> pa.Table:
    with ks.open(log) as opened:
        found = opened.to_arrow(**{"value": "decode"} | options)
    found.validate(full=True)
    return found


def test_what_went_wrong_is_said_for_each_row() -> None:
    """The row that is a Long, but is one of a known schema to the last byte, decodes."""
    report = ValueReport()
    found = table(KARAPACE / "bad-0", raw=True, report=report)
    codes = {
        "truncated": "truncated",
        "trailing bytes": "trailing",
        "unknown schema id": "unknown_id",
        "not framed": "not_framed",
        "empty": "not_framed",
        "truncated frame": "truncated",
        "a Long that looks framed: id 0": "unknown_id",
        "a Long whose bytes look like a frame with a known id": None,
        "length beyond end": "truncated",
        "string is not UTF-8": "bad_utf8",
        "varint": "malformed",
        None: None,
    }
    rows = zip(expected("karapace/bad"), found.to_pylist(), strict=True)
    for wanted, row in rows:
        assert row["value_error"] == codes[wanted["error"]], wanted
        if wanted["error"] is None:
            assert row["value"] == wanted["value"]
        assert row["value_raw"] == (None if wanted["raw"] is None else b64decode(wanted["raw"]))
    assert report.rows == 16
    assert report.failed == 13


def test_rows_without_a_value_are_left_out_and_counted() -> None:
    report = ValueReport()
    found = table(KARAPACE / "bad-0", on_value_error="skip", report=report)
    assert found["offset"].to_pylist() == [0, 11, 15]
    assert "value_error" not in found.schema.names
    assert report.failed == 13


def test_the_first_row_without_a_value_is_an_error() -> None:
    with pytest.raises(KafkaSpecError, match=r"the value of offset 1, at its byte 9") as raised:
        table(KARAPACE / "bad-0", on_value_error="raise")
    assert raised.value.file is not None
    assert raised.value.file.endswith("bad-0/00000000000000000000.log")
    assert raised.value.position is not None
    assert raised.value.path == "/value/ms"


def test_a_mixture_is_not_decoded_by_a_guess() -> None:
    report = ValueReport()
    found = table(KARAPACE / "bad-0", value="auto", report=report)
    assert found.schema.field("value").type == pa.binary()
    assert report.notes == ["values stay bytes: of a sample of 15, 2 name a schema and decode"]


def test_values_that_name_no_schema_stay_bytes() -> None:
    report = ValueReport()
    found = table(KARAPACE / "bad-0", value="bytes", key="decode", report=report)
    assert found.schema.field("key").type == pa.binary()
    (said,) = report.undecoded
    assert said.startswith("bad: keys are not decoded, and stay bytes: nothing says their schema")


@pytest.mark.parametrize("topic", ["people", "people-copy", "ctx-people"])
def test_ids_of_a_context(topic: str) -> None:
    """The subject of no context has the name of the topic, and one context has the ids."""
    rows = table(CONFLUENT / f"{topic}-0").to_pylist()
    for wanted, row in zip(expected(f"confluent/{topic}"), rows, strict=True):
        assert row["value"] == wanted.get("latest", wanted["value"])
        assert row["value_schema_id"] == wanted["value_schema_id"]


def test_each_schema_has_record_batches_of_its_own() -> None:
    with ks.open(KARAPACE / "orders-0") as log:
        batches = list(log.to_typed(evolve="each", key="decode"))
    seen: dict[int | None, int] = {}
    types = {}
    for batch in batches:
        assert batch.column("key_schema_id").unique().to_pylist() == [6]
        (number,) = batch.column("value_schema_id").unique().to_pylist()
        seen[number] = seen.get(number, 0) + batch.num_rows
        types[number] = batch.schema.field("value").type
    wanted = [row["value_schema_id"] for row in expected("karapace/orders") if not row["partition"]]
    assert seen == {number: wanted.count(number) for number in set(wanted)}
    assert len(set(types.values())) == len(types)


def test_several_types_of_records_are_fields_of_a_struct() -> None:
    found = table(KARAPACE / "events-0")
    for wanted, row in zip(expected("karapace/events"), found.to_pylist(), strict=True):
        name = wanted["record"].removeprefix("web.")
        assert row["value"] == {"Click": None, "Login": None} | {name: wanted["value"]}


@pytest.mark.slow
def test_messages_have_their_names() -> None:
    rows = table(KARAPACE / "proto-mixed-0").to_pylist()
    names = [wanted["message"] for wanted in expected("karapace/proto-mixed")]
    assert [row["value_message"] for row in rows] == names
    for row in rows:
        (field,) = [name for name, value in row["value"].items() if value is not None]
        assert row["value_message"].endswith(field)


def test_a_version_of_the_subject() -> None:
    old = table(KARAPACE / "orders-0", evolve=1)
    assert "priority" not in [field.name for field in old.schema.field("value").type]
    for row in old.to_pylist():
        if row["value_schema_id"] == 3:  # of this version itself
            assert row["value_error"] is None
        elif row["value_error"] is not None:
            assert row["value_error"] == "resolution"
    with pytest.raises(ValueError, match="have no version 9"):
        table(KARAPACE / "orders-0", evolve=9)


def test_a_schema_that_is_given(tmp_path: Path) -> None:
    """By a file, for framed values whose registry is lost; by a subject."""
    schema = ks.SchemaLog.open(KARAPACE).by_id(9)
    assert schema is not None
    file = tmp_path / "click.avsc"
    file.write_text(schema.text)
    log = tmp_path / "bad-0"
    shutil.copytree(KARAPACE / "bad-0", log)
    report = ValueReport()
    found = table(log, value="avro", value_schema=str(file), report=report)
    assert found["value"][0].as_py() == {"url": "/ok", "ms": 1}
    assert report.notes == ["values have frames (confluent), whose ids are not looked up"]
    by_subject = table(KARAPACE / "bad-0", value_schema="web.Click@1")
    assert by_subject["value"][0].as_py() == {"url": "/ok", "ms": 1}
    with pytest.raises(ValueError, match="no file nothing, and no registry"):
        table(log, value="avro", value_schema="nothing")
    with pytest.raises(ValueError, match="one of avro, not of protobuf"):
        table(log, value="protobuf", value_schema=str(file))


def test_without_schemas_nothing_is_decoded(tmp_path: Path) -> None:
    log = tmp_path / "bad-0"
    shutil.copytree(KARAPACE / "bad-0", log)
    with pytest.raises(ValueError, match="no schemas"):
        table(log)
    assert table(log, schemas=KARAPACE).column("value_error").null_count == 3


def test_types_within_themselves() -> None:
    with pytest.raises(ValueError, match="is within itself"):
        table(KARAPACE / "tree-0")
    found = table(KARAPACE / "tree-0", values=Options(depth=2))
    assert found.column("value_error").null_count == len(found)


def test_a_log_directory_has_a_table_for_each_topic() -> None:
    with pytest.raises(ValueError, match="topics, of which each has a separate table"):
        table(KARAPACE)
    found = table(KARAPACE, topic="orders")
    assert set(found["partition"].to_pylist()) == {0, 1}


def test_the_schema_is_known_before_anything_is_read() -> None:
    with ks.open(KARAPACE / "orders-0") as log:
        assert log.value_schema(key="decode") == log.to_typed(key="decode").schema


@pytest.mark.parametrize(
    ("topic", "formats"),
    [
        ("heartbeats", ("mm2-heartbeat-key", "mm2-heartbeat-value")),
        ("A.checkpoints.internal", ("mm2-checkpoint-key", "mm2-checkpoint-value")),
        ("mm2-offset-syncs.B.internal", ("mm2-offset-sync-key", "mm2-offset-sync-value")),
        ("mm2-status.A.internal", ("text", "connect-status")),
    ],
)
def test_the_name_of_a_topic_says_its_format(topic: str, formats: tuple[str, str]) -> None:
    report = ValueReport()
    found = table(KARAPACE / f"{topic}-0", key="decode", report=report)
    for side, name, note in zip(("key", "value"), formats, report.notes, strict=True):
        assert found[f"{side}_error"].null_count == len(found)
        assert note.startswith(f"{side}s are read as {name}, by the name of the topic")


def test_formats_that_need_headers() -> None:
    found = table(KARAPACE / "cloudevents-0", value="cloudevents")
    assert found["value_error"].null_count == len(found) == 4
    with pytest.raises(ValueError, match="is a format of values"):
        table(KARAPACE / "cloudevents-0", value="bytes", key="cloudevents")


@pytest.mark.slow
def test_envelopes_become_rows() -> None:
    """Each is the row after the change, or before it if that deletes."""
    whole = table(KARAPACE / "debezium-0", value="auto").to_pylist()
    rows = table(KARAPACE / "debezium-0", value="auto", unwrap=True).to_pylist()
    for one, other in zip(whole, rows, strict=True):
        if one["value"] is None:
            assert other["value"] is None
            continue
        side = "before" if one["value"]["op"] == "d" else "after"
        assert other["value"]["row"] == one["value"][side]
        assert other["value"]["op"] == one["value"]["op"]
    with pytest.raises(ValueError, match="no envelope"):
        table(KARAPACE / "orders-0", unwrap=True)


def test_passwords_of_connect_are_not_shown_unless_asked_for(tmp_path: Path) -> None:
    log = tmp_path / "connect-configs-0"
    value = json.dumps({"properties": {"name": "sink", "database.password": "geheim"}}).encode()
    with ks.SegmentWriter(log) as writer:
        writer.append_records([ks.Record(0, 1, b"connector-sink", value)])
    hidden = table(log, raw=True)
    assert "geheim" not in str(hidden.to_pylist())
    assert "sink" in str(hidden.to_pylist())
    assert "geheim" in str(table(log, secrets=True).to_pylist())
    assert "geheim" in str(table(log, value="bytes").to_pylist())  # as they are


@pytest.mark.slow
def test_conditions_on_fields() -> None:
    found = table(KARAPACE / "orders-0", columns=["offset"], where="value.qty > 14 and offset < 9")
    wanted = [
        row["offset"]
        for row in table(KARAPACE / "orders-0").to_pylist()
        if row["value"] is not None and row["value"]["qty"] > 14 and row["offset"] < 9
    ]
    assert found["offset"].to_pylist() == wanted
    assert found.schema.names == ["offset"]
    assert len(wanted) > 0
    with pytest.raises(ValueError, match="nothing"):
        table(KARAPACE / "orders-0", where="value.nothing = 1")


@pytest.mark.slow
def test_values_of_an_array(tmp_path: Path) -> None:
    """With frames and schemas, with a schema alone, and in a format without one."""
    values = ks.open(KARAPACE / "orders-0").to_arrow(["value"], layout="binary")["value"]
    array = values.combine_chunks()
    newest = table(KARAPACE / "orders-0")["value"].combine_chunks()
    schemas = ks.SchemaLog.open(KARAPACE)
    assert ks.decode_values(array, schemas=schemas).values.equals(newest)
    bare = array.drop_null().slice(0, 3).cast(pa.binary_view())
    found = ks.decode_values(bare, "orders-value@1", framing="confluent", schemas=schemas)
    assert found.failures == {}
    assert [row["id"] for row in found.values.to_pylist()] == [1000, 1002, 1004]
    longs = ks.decode_values(pa.array([b"\0" * 7 + b"\5", b"x"]), format="long")
    assert longs.values.to_pylist() == [5, None]
    assert longs.failures[1].code == "truncated"
    with pytest.raises(ValueError, match="give a schema"):
        ks.decode_values(array)
    with pytest.raises(ValueError, match="no value names a schema"):
        ks.decode_values(pa.array([b"plain"]), schemas=schemas)
    with pytest.raises(ValueError, match="no framing 'none'"):
        ks.decode_values(array, "orders-value", framing="none", schemas=schemas)


def test_schemas_that_a_registry_gives_are_taken() -> None:
    """As a schema with its registry, alone, or as its definition; with and without imports."""
    schemas = ks.SchemaLog.open(KARAPACE)
    values = ks.open(KARAPACE / "orders-0").to_arrow(["value"], layout="binary")["value"]
    array = values.combine_chunks().drop_null().slice(0, 3)
    schema = schemas.resolve("orders-value", 1)
    named = ks.decode_values(array, "orders-value@1", framing="confluent", schemas=schemas)
    assert named.values.null_count == 0
    definition = schemas.definition(schema)
    for given in (schema, schemas.versions("orders-value")[0], definition):
        found = ks.decode_values(array, given, framing="confluent", schemas=schemas)
        assert found.values.equals(named.values)
    assert ks.decode_values(array, definition, framing="confluent").values.equals(named.values)
    with pytest.raises(ValueError, match="imports others: give the SchemaLog"):
        ks.decode_values(array, schema, framing="confluent")
    text = pa.array([b"\x04ab"])
    alone = next(each for each in schemas.schemas if not each.references and each.type == "AVRO")
    expected = ks.decode_values(text, schemas.definition(alone))
    assert ks.decode_values(text, alone).values.equals(expected.values)
    log = ks.open(KARAPACE / "orders-0")
    typed = [
        log.to_arrow(value="decode", value_schema=each, schemas=schemas)
        for each in (schema, "orders-value@1")
    ]
    assert typed[0].equals(typed[1])


@pytest.mark.slow
def test_messages_read_as_another_version() -> None:
    """The schema that is named has to have the messages that rows name."""
    schema = ks.SchemaLog.open(KARAPACE).by_id(14)
    assert schema is not None
    found = table(KARAPACE / "proto-mixed-0", value_schema=schema.subject)
    assert found["value"].equals(table(KARAPACE / "proto-mixed-0")["value"])


@pytest.mark.slow
def test_a_proto_file_with_imports() -> None:
    """They are found from a folder around it; frames say which message a row is."""
    file = DATA / "karapace" / "protos" / "shop" / "order.proto"
    for name in (str(file), f"{file}#shop.Order"):
        found = table(KARAPACE / "proto-orders-0", value="protobuf", value_schema=name)
        wanted = table(KARAPACE / "proto-orders-0")["value"].to_pylist()
        for one, other in zip(found["value"].to_pylist(), wanted, strict=True):
            # The registry has the fields in another order; as text, since NaN is not NaN.
            assert sorted(map(str, one.items())) == sorted(map(str, other.items()))


def test_what_the_registry_lost_is_said(tmp_path: Path) -> None:
    shutil.copytree(KARAPACE / "orders-0", tmp_path / "orders-0")
    (tmp_path / "_schemas-0").mkdir()
    name = f"{0:020}.log"
    data = (KARAPACE / "_schemas-0" / name).read_bytes()
    (tmp_path / "_schemas-0" / name).write_bytes(data[:5000])
    report = ValueReport()
    found = table(tmp_path / "orders-0", report=report)
    assert found["value_error"].null_count == len(found)
    (problem,) = report.problems
    assert problem.endswith("[missing]")
    assert "at byte 4879: the last 121 bytes" in problem


@pytest.mark.slow
def test_messages_with_their_names_before_them(tmp_path: Path) -> None:
    """As Apicurio writes them: the id, then a delimited message with the name."""
    log = tmp_path / "proto-orders-0"
    with ks.open(KARAPACE / "proto-orders-0") as opened:
        values = [record.value for record in opened.records()]
    assert all(value is None or value[5:7] == b"\2\2" for value in values)  # one index: 1
    ref = b"\x0a\x05Order"
    with ks.SegmentWriter(log) as writer:
        writer.append_records(
            ks.Record(offset, 1, None, bytes(value[:5]) + bytes([len(ref)]) + ref + value[7:])
            for offset, value in enumerate(values)
            if value is not None
        )
    report = ValueReport()
    found = table(log, schemas=KARAPACE, report=report)
    assert report.notes[0].startswith("values have frames (apicurio-ref)")
    wanted = [row for row in table(KARAPACE / "proto-orders-0")["value"].to_pylist() if row]
    assert str(found["value"].to_pylist()) == str(wanted)
    assert set(found["value_message"].to_pylist()) == {"shop.Order"}


def test_schemas_of_glue_are_files(tmp_path: Path) -> None:
    number = "2809284b-6e54-d0d3-4017-715ffe5636bd"
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / f"{number}.avsc").write_text('{"type": "string"}')
    log = tmp_path / "texts-0"
    values = [b"\3\0" + UUID(number).bytes + b"\4hi", b"\3\5" + UUID(number).bytes]
    values[1] += zlib.compress(b"\6you")
    with ks.SegmentWriter(log) as writer:
        writer.append_records(ks.Record(n, 1, None, value) for n, value in enumerate(values))
    found = table(log, schemas=tmp_path / "schemas")
    assert found["value"].to_pylist() == ["hi", "you"]


def test_single_objects_by_files(tmp_path: Path) -> None:
    file = DATA / "karapace" / "expected" / "single-object.schemas.json"
    for number, item in enumerate(json.loads(file.read_text())):
        (tmp_path / f"{number}.avsc").write_text(json.dumps(item["schema"]))
    rows = table(KARAPACE / "single-object-0", schemas=tmp_path).to_pylist()
    for wanted, row in zip(expected("karapace/single-object"), rows, strict=True):
        (value,) = [part for part in row["value"].values() if part is not None]
        assert value == wanted["value"]
