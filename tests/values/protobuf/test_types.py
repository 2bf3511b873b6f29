"""Types of columns, by the table of Protobuf types, and options that change them."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from google.protobuf import json_format

from kafkaspec.values.decoded import Code
from kafkaspec.values.definition import SchemaError
from kafkaspec.values.options import Options
from kafkaspec.values.protobuf.decoder import DecodingWay, compile_protobuf, messages
from kafkaspec.values.protobuf.known import REGISTRIES
from tests.values.protobuf.schemas import linked, official, proto, proto2, proto3

WAYS: tuple[DecodingWay, ...] = ("fast", "exact")
IMPORTS = "\n".join(
    f'import "google/protobuf/{name}.proto";'
    for name in ("timestamp", "duration", "wrappers", "struct", "any", "field_mask", "empty")
)


def read(definition: Any, name: str, *rows: bytes | None, **options: Any) -> list[Any]:
    """Return rows, which both ways have to read alike and without a failure."""
    found: list[list[Any]] = []
    for way in WAYS:
        decoder = compile_protobuf(definition, name, options=Options(**options), way=way)
        decoded = decoder.decode(pa.array(rows, pa.binary()))
        assert decoded.failures == {}
        assert decoded.values.type == decoder.type
        found.append(decoded.values.to_pylist())
    assert found[0] == found[1]
    return found[0]


def test_each_type_has_its_column() -> None:
    schema = proto3(
        IMPORTS
        + """
        enum E { ZERO = 0; }
        message Inner { int32 x = 1; }
        message M {
          double d = 1; float f = 2; int64 i64 = 3; uint64 u64 = 4; int32 i32 = 5;
          fixed64 f64 = 6; fixed32 f32 = 7; bool b = 8; string s = 9; bytes y = 10;
          uint32 u32 = 11; sfixed32 sf32 = 12; sfixed64 sf64 = 13; sint32 s32 = 14; sint64 s64 = 15;
          E e = 16; Inner inner = 17; optional int32 maybe = 18;
          repeated string list = 19; map<int32, Inner> map = 20;
          google.protobuf.Timestamp timestamp = 21; google.protobuf.Duration duration = 22;
          google.protobuf.UInt64Value wrapper = 23; google.protobuf.Struct struct = 24;
          google.protobuf.Any any = 25; google.protobuf.FieldMask mask = 26;
          google.protobuf.Empty empty = 27;
          oneof choice { string one = 28; int32 other = 29; }
        }"""
    )
    text = pa.dictionary(pa.int32(), pa.string())
    inner = pa.struct([pa.field("x", pa.int32(), nullable=False)])
    plain = {
        "d": pa.float64(),
        "f": pa.float32(),
        "i64": pa.int64(),
        "u64": pa.uint64(),
        "i32": pa.int32(),
        "f64": pa.uint64(),
        "f32": pa.uint32(),
        "b": pa.bool_(),
        "s": pa.string(),
        "y": pa.binary(),
        "u32": pa.uint32(),
        "sf32": pa.int32(),
        "sf64": pa.int64(),
        "s32": pa.int32(),
        "s64": pa.int64(),
        "e": text,
        "list": pa.list_(pa.field("item", pa.string(), nullable=False)),
        "map": pa.map_(pa.int32(), pa.field("value", inner, nullable=False)),
    }
    nullable = {
        "inner": inner,
        "maybe": pa.int32(),
        "timestamp": pa.timestamp("us", "UTC"),
        "duration": pa.duration("us"),
        "wrapper": pa.uint64(),
        "struct": pa.string(),
        "any": pa.struct(
            [
                pa.field("type_url", pa.string(), nullable=False),
                pa.field("value", pa.binary(), nullable=False),
            ]
        ),
        "mask": pa.list_(pa.field("item", pa.string(), nullable=False)),
        "empty": pa.struct([]),
        "one": pa.string(),
        "other": pa.int32(),
    }
    decoder = compile_protobuf(schema, "M")
    assert decoder.is_fast
    found = {part.name: (part.type, part.nullable) for part in decoder.type}
    expected = {name: (kind, False) for name, kind in plain.items()}
    expected |= {name: (kind, True) for name, kind in nullable.items()}
    assert found == expected
    assert read(schema, "M", b"", None)[1] is None


@pytest.mark.slow
def test_unknown_enum_numbers_aliases_and_numbers_instead_of_names() -> None:
    schema = proto3(
        "enum E { option allow_alias = true; A = 0; B = 1; ALSO_B = 1; N = -2; }\n"
        "message M { E e = 1; repeated E many = 2; }"
    )
    message = official(schema, "M")
    rows = [
        message(e=1, many=[0, 1, 7]).SerializeToString(),
        message(e=-2).SerializeToString(),
        message(e=-9).SerializeToString(),
    ]
    assert read(schema, "M", *rows) == [
        {"e": "B", "many": ["A", "B", "7"]},
        {"e": "N", "many": []},
        {"e": "-9", "many": []},
    ]
    numbers = read(schema, "M", *rows, enums="int")
    assert [row["e"] for row in numbers] == [1, -2, -9]


def test_closed_enums_have_no_unknown_numbers() -> None:
    schema = proto2(
        "enum E { NO = 0; A = 1; B = 2; }\n"
        "message M { optional E e = 1; repeated E many = 2; map<int32, E> map = 3; }"
    )
    rows = [
        b"\x08\x02\x10\x01\x10\x09\x10\x02",
        b"\x08\x09",
        b"\x08\x01\x08\x09",
        b"\x1a\x04\x08\x01\x10\x02\x1a\x04\x08\x02\x10\x09",
    ]
    assert read(schema, "M", *rows) == [
        {"e": "B", "many": ["A", "B"], "map": []},
        {"e": None, "many": [], "map": []},
        {"e": "A", "many": [], "map": []},
        {"e": None, "many": [], "map": [(1, "B")]},
    ]


def test_oneof_columns_and_which_is_set() -> None:
    schema = proto3(
        "message Nothing {}\n"
        "message M { oneof kind { Nothing none = 1; string text = 2; int32 number = 3; } }"
    )
    rows = [b"", b"\x0a\x00", b"\x12\x00", b"\x18\x00", b"\x18\x05\x0a\x00"]
    found = read(schema, "M", *rows, oneof_case=True)
    assert [row["kind"] for row in found] == [None, "none", "text", "number", "none"]
    assert [row["none"] for row in found] == [None, {}, None, None, {}]
    assert [row["number"] for row in found] == [None, None, None, 0, None]


def test_defaults_of_proto2_on_request() -> None:
    schema = proto2(
        "enum E { A = 1; B = 2; }\n"
        'message M { optional string s = 1 [default = "none"]; optional int32 i = 2;'
        " optional E e = 3 [default = B]; optional bytes y = 4 [default = 'x'];"
        " oneof o { int32 x = 5 [default = 3]; } }"
    )
    absent = {"s": None, "i": None, "e": None, "y": None, "x": None}
    assert read(schema, "M", b"") == [absent]
    filled = {"s": "none", "i": 0, "e": "B", "y": b"x", "x": None}
    assert read(schema, "M", b"", defaults=True) == [filled]


def test_groups_and_extensions() -> None:
    schema = proto2(
        "package p;\n"
        "message M { optional group Part = 1 { optional int32 x = 1; }"
        " extensions 100 to 200; }\n"
        "extend M { optional string more = 100; repeated int32 many = 101; }"
    )
    payload = b"\x0b\x08\x05\x0c\xa2\x06\x01a\xa8\x06\x01\xa8\x06\x02"
    assert read(schema, "p.M", payload) == [{"part": {"x": 5}, "[p.more]": "a", "[p.many]": [1, 2]}]


def test_a_map_keeps_the_last_entry_of_a_key() -> None:
    schema = proto3("message V { int32 a = 1; int32 b = 2; }\nmessage M { map<string, V> m = 1; }")
    one, two = b"\x0a\x07\x0a\x01k\x12\x02\x08\x01", b"\x0a\x07\x0a\x01k\x12\x02\x10\x02"
    merged = b"\x0a\x0b\x0a\x01k\x12\x02\x08\x01\x12\x02\x10\x02"
    nothing = b"\x0a\x00"
    assert read(schema, "M", one + two, merged, nothing) == [
        {"m": [("k", {"a": 0, "b": 2})]},
        {"m": [("k", {"a": 1, "b": 2})]},
        {"m": [("", {"a": 0, "b": 0})]},
    ]


def test_unknown_fields_on_request() -> None:
    schema = proto3("message Inner { int32 x = 1; }\nmessage M { Inner _unknown = 1; }")
    unknown = b"\x18\x05\x22\x01a\x2b\x08\x01\x2c\x35\x01\x02\x03\x04\x39" + bytes(8)
    found = read(schema, "M", b"\x0a\x02\x10\x07" + unknown, b"", unknown_fields=True)
    assert found == [
        {"_unknown": {"x": 0, "_unknown": b"\x10\x07"}, "__unknown": unknown},
        {"_unknown": None, "__unknown": None},
    ]


@pytest.mark.slow
def test_what_is_deeper_than_the_levels_asked_for_is_json() -> None:
    schema = proto3("message T { int32 v = 1; repeated T children = 2; }")
    with pytest.raises(SchemaError, match="T holds itself"):
        compile_protobuf(schema, "T")
    message = official(schema, "T")
    tree = message(v=1, children=[message(v=2, children=[message(v=3, children=[message(v=4)])])])
    (found,) = read(schema, "T", tree.SerializeToString(), depth=1)
    assert found["children"][0]["v"] == 2
    deeper = found["children"][0]["children"]
    assert [json.loads(text) for text in deeper] == [
        json_format.MessageToDict(tree.children[0].children[0], preserving_proto_field_name=True)
    ]


@pytest.mark.slow
def test_structs_are_json_text() -> None:
    schema = proto3(IMPORTS + "message M { google.protobuf.Value v = 1; }")
    message = official(schema, "M")
    values: list[Any] = [None, 1.0, "é", [1.0, {}], {"a": [True]}]
    rows = []
    for value in values:
        made = message()
        json_format.ParseDict(value, made.v)
        rows.append(made.SerializeToString())
    found = read(schema, "M", b"", *rows, b"\x0a\x00", b"\x0a\x09\x11" + b"\0" * 6 + b"\xf0\x7f")
    assert found[0] == {"v": None}
    assert [json.loads(row["v"]) for row in found[1:]] == [*values, None, "Infinity"]


@pytest.mark.slow
def test_times_outside_of_what_they_may_be_are_failures() -> None:
    schema = proto3(
        IMPORTS + "message M { google.protobuf.Timestamp t = 1; google.protobuf.Duration d = 2; }"
    )
    message = official(schema, "M")
    good = message()
    good.t.seconds, good.t.nanos = -62135596800, 0
    good.d.seconds, good.d.nanos = -1, -500_000_999
    last = message()
    last.t.seconds, last.t.nanos = 253402300799, 999_999_999
    bad = [message() for _ in range(4)]
    bad[0].t.seconds = 253402300800
    bad[1].t.nanos = -1
    bad[2].d.seconds, bad[2].d.nanos = 1, -1
    bad[3].d.seconds = 315576000001
    rows = pa.array([one.SerializeToString() for one in (good, last, *bad)])
    for way in WAYS:
        found = compile_protobuf(schema, "M", way=way).decode(rows)
        assert {row: (one.code, one.path) for row, one in found.failures.items()} == {
            2: (Code.RANGE, "t"),
            3: (Code.RANGE, "t"),
            4: (Code.RANGE, "d"),
            5: (Code.RANGE, "d"),
        }
        assert found.values[0]["t"].value == -62135596800 * 10**6
        assert found.values[0]["d"].value == -1_500_000
        assert found.values[1]["t"].value == 253402300800 * 10**6 - 1


def test_missing_required_fields_are_failures() -> None:
    schema = proto2(
        "message Inner { required int32 x = 1; }\n"
        "message M { required int32 id = 1; repeated Inner inner = 2; }"
    )
    rows = pa.array([b"\x08\x01\x12\x02\x08\x00", b"\x12\x02\x08\x00", b"\x08\x01\x12\x00"])
    for way in WAYS:
        found = compile_protobuf(schema, "M", way=way).decode(rows)
        assert {row: (one.code, one.path) for row, one in found.failures.items()} == {
            1: (Code.MISSING_REQUIRED, "id"),
            2: (Code.MISSING_REQUIRED, "inner.x"),
        }


@pytest.mark.slow
def test_a_reader_takes_fields_by_their_numbers() -> None:
    old = proto3("message M { int32 a = 1; string b = 2; int32 gone = 3; }")
    new = proto3("message M { int64 renamed = 1; string b = 2; repeated string more = 4; }")
    payload = official(old, "M")(a=5, b="x", gone=9).SerializeToString()
    for index in ("M", (0,)):
        decoder = compile_protobuf(old, index, reader=new)
        assert decoder.decode(pa.array([payload])).values.to_pylist() == [
            {"renamed": 5, "b": "x", "more": []}
        ]
    with pytest.raises(SchemaError, match="no message 'M'"):
        compile_protobuf(old, "M", reader=proto3("message Other {}"))


def test_field_names_that_python_uses_otherwise() -> None:
    schema = proto3(
        "message M { int32 HasField = 1; int32 class = 2; int32 SerializeToString = 3; }"
    )
    assert read(schema, "M", b"\x08\x01\x10\x02\x18\x03") == [
        {"HasField": 1, "class": 2, "SerializeToString": 3}
    ]


@pytest.mark.slow
def test_karapace_writes_maps_as_lists_of_entries() -> None:
    entries = "message ByDayEntry { int64 key = 1; string value = 2; }"
    schema = proto3(f"message M {{ repeated .M.ByDayEntry by_day = 1; {entries} }}")
    assert compile_protobuf(schema, "M").type[0].type == pa.map_(
        pa.int64(), pa.field("value", pa.string(), nullable=False)
    )
    for other in (
        "repeated .M.ByDayEntry days = 1;",
        ".M.ByDayEntry by_day = 1;",
    ):
        schema = proto3(f"message M {{ {other} {entries} }}")
        assert not pa.types.is_map(compile_protobuf(schema, "M").type[0].type)
    three = "message ByDayEntry { int64 key = 1; string value = 2; int32 more = 3; }"
    schema = proto3(f"message M {{ repeated .M.ByDayEntry by_day = 1; {three} }}")
    assert pa.types.is_list(compile_protobuf(schema, "M").type[0].type)


@pytest.mark.slow
def test_editions() -> None:
    schema = proto(
        'edition = "2023";\n'
        "message I { int32 x = 1; }\n"
        "message M { int32 a = 1; int32 b = 2 [features.field_presence = IMPLICIT];\n"
        " I i = 3 [features.message_encoding = DELIMITED]; map<int32, I> m = 4; }"
    )
    message = linked(schema).FindMessageTypeByName("M")
    assert message.fields_by_name["i"].type == message.fields_by_name["i"].TYPE_GROUP
    assert read(schema, "M", b"\x1b\x08\x05\x1c\x22\x06\x08\x01\x12\x02\x08\x07", b"") == [
        {"a": None, "b": 0, "i": {"x": 5}, "m": [(1, {"x": 7})]},
        {"a": None, "b": 0, "i": None, "m": []},
    ]


def test_messages_lists_what_the_schema_declares() -> None:
    schema = proto3(
        "package p;\nmessage A { message B { message C {} } map<int32, B> m = 1; }\nmessage D {}"
    )
    assert messages(schema) == ["p.A", "p.A.B", "p.A.B.C", "p.D"]


def test_well_known_messages_can_be_the_value_itself() -> None:
    schema = proto3(IMPORTS + "message M {}")
    assert read(schema, "google.protobuf.StringValue", b"\x0a\x01a", b"", None) == ["a", "", None]
    assert compile_protobuf(schema, "M").type == pa.struct([])
    assert read(schema, "M", b"", None) == [{}, None]


@pytest.mark.slow
def test_files_that_registries_have_built_in() -> None:
    schema = proto3(
        """import "google/type/money.proto"; import "google/type/dayofweek.proto";
        import "confluent/meta.proto"; import "confluent/type/decimal.proto";
        message M {
          google.type.Money price = 1 [(confluent.field_meta).doc = "net"];
          google.type.DayOfWeek day = 2; confluent.type.Decimal decimal = 3; }"""
    )
    payload = b"\x0a\x07\x0a\x03EUR\x10\x05\x10\x02\x1a\x05\x0a\x01\x7b\x18\x02"
    assert read(schema, "M", payload) == [
        {
            "price": {"currency_code": "EUR", "units": 5, "nanos": 0},
            "day": "TUESDAY",
            "decimal": {"value": b"{", "precision": 0, "scale": 2},
        }
    ]
    for path in REGISTRIES:
        assert messages(proto3(f'import "{path}"; message M {{}}')) == ["M"]
