"""Hostile bytes and schemas: failures of rows, within bounds of memory and time."""

from __future__ import annotations

import base64
import random
import threading
from pathlib import Path

import pyarrow as pa
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from kafkaspec.codecs import get_codec
from kafkaspec.errors import KafkaSpecError
from kafkaspec.values.decoded import Code, PayloadError
from kafkaspec.values.definition import Definition, SchemaError, SchemaType
from kafkaspec.values.options import Bounds, Options
from kafkaspec.values.protobuf import wire
from kafkaspec.values.protobuf.decoder import DecodingWay, compile_protobuf, resolve_indexes
from kafkaspec.values.protobuf.indexes import read_index_list, split_index_lists, split_names
from kafkaspec.values.protobuf.schema import Order
from tests.values.protobuf.schemas import official, proto3

WAYS: tuple[DecodingWay, ...] = ("fast", "exact")
SCHEMA = proto3(
    "message I { int32 x = 1; string s = 2; }\n"
    "message M { int32 i = 1; string s = 2; I inner = 3; repeated fixed32 p = 4;"
    " repeated int64 v = 5; repeated I many = 6; map<string, I> map = 7; }"
)
BAD = {
    b"\x08": (Code.TRUNCATED, 1, "i"),
    b"\x08\x80": (Code.TRUNCATED, 1, "i"),
    b"\x88": (Code.TRUNCATED, 0, ""),
    b"\x08" + b"\xff" * 10 + b"\x01": (Code.MALFORMED, 1, "i"),
    b"\x12\x05ab": (Code.TRUNCATED, 0, "s"),
    b"\x12\xff\xff\xff\xff\x0f": (Code.MALFORMED, 0, "s"),
    b"\x12" + b"\xff" * 9 + b"\x01": (Code.MALFORMED, 1, "s"),
    b"\x12\x03a\xffb": (Code.BAD_UTF8, 3, "s"),
    b"\x12\x03\xed\xa0\x80": (Code.BAD_UTF8, 2, "s"),
    b"\x1a\x04\x12\x02\xc0\x80": (Code.BAD_UTF8, 4, "inner.s"),
    b"\x1a\x03\x08\x01\x10": (Code.TRUNCATED, 5, "inner.s"),
    b"\x1a\x02\x12\x05xxxxx": (Code.TRUNCATED, 2, "inner.s"),
    b"\x22\x03abc": (Code.MALFORMED, 2, "p"),
    b"\x2a\x02\x01\x80": (Code.TRUNCATED, 3, "v"),
    b"\x00\x01": (Code.MALFORMED, 0, ""),
    b"\x06": (Code.MALFORMED, 0, ""),
    b"\x0f": (Code.MALFORMED, 0, "i"),
    b"\xf8\xff\xff\xff\x1f\x01": (Code.MALFORMED, 0, ""),
    b"\x88\x80\x80\x80\x80\x00\x01": (Code.MALFORMED, 0, ""),
    b"\xa3\x06": (Code.TRUNCATED, 2, ""),
    b"\xa4\x06": (Code.MALFORMED, 0, ""),
    b"\xa3\x06\xac\x06": (Code.MALFORMED, 2, ""),
    b"\xa3\x06" * 100 + b"\xa4\x06" * 100: (Code.DEPTH, 126, ""),
    b"\xa3\x06" * 500_000: (Code.DEPTH, 126, ""),
    b"\x0d\x01\x02": (Code.TRUNCATED, 1, "i"),
}
FINE = [b"", b"\x0a\x01a", b"\x12\x81\x00a", b"\x88\x80\x80\x80\x00\x01", b"\xa3\x06\xa4\x06"]


@pytest.mark.parametrize("way", WAYS)
def test_what_is_wrong_is_said_with_its_place(way: DecodingWay) -> None:
    """And the rows around it are read all the same."""
    rows = [row for bad in BAD for row in (FINE[len(bad) % len(FINE)], bad, None)]
    decoded = compile_protobuf(SCHEMA, "M", way=way).decode(pa.array(rows))
    found = {rows[row]: (one.code, one.position, one.path) for row, one in decoded.failures.items()}
    assert found == BAD
    assert [row for row in range(len(rows)) if not decoded.values[row].is_valid] == [
        row for row in range(len(rows)) if row % 3
    ]


@pytest.mark.parametrize("way", WAYS)
def test_items_are_bounded(way: DecodingWay) -> None:
    options = Options(bounds=Bounds(items=10))
    decoder = compile_protobuf(SCHEMA, "M", options=options, way=way)
    rows = [
        *(b"\x2a\x0a" + bytes(10), b"\x2a\x0b" + bytes(11), b"\x32\x00" * 10, b"\x32\x00" * 11),
        *(b"\x22\x28" + bytes(40), b"\x22\x2c" + bytes(44), b"\x3a\x00" * 11, b"\x28\x01" * 11),
    ]
    decoded = decoder.decode(pa.array(rows))
    assert {one.code for one in decoded.failures.values()} == {Code.BOUND}
    assert sorted(decoded.failures) == [1, 3, 5, 6, 7]


@pytest.mark.core
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.memory
def test_columns_of_few_bytes_are_bounded(way: DecodingWay) -> None:
    """Two bytes make a message of a thousand columns."""
    fields = " ".join(f"int64 f{number} = {number};" for number in range(1, 1001))
    schema = proto3(f"message Wide {{ {fields} }}\nmessage M {{ repeated Wide w = 1; }}")
    decoder = compile_protobuf(schema, "M", way=way)
    rows = [b"\x0a\x00" * 500_000, b"\x0a\x00", b"\x0a\x00" * 500_000]
    before = pa.default_memory_pool().max_memory()
    decoded = decoder.decode(pa.array(rows))
    assert {row: one.code for row, one in decoded.failures.items()} == {
        0: Code.BOUND,
        2: Code.BOUND,
    }
    assert pa.default_memory_pool().max_memory() - before < 1 << 28


def test_json_texts_are_bounded() -> None:
    """A field of two bytes has a name of many."""
    name = "x" * 10_000
    schema = proto3(f"message T {{ int32 {name} = 1; T t = 2; }}")
    options = Options(depth=1, bounds=Bounds(output_bytes=100_000))
    decoder = compile_protobuf(schema, "T", options=options)
    row = b"\x12\x04\x12\x02\x08\x01"
    decoded = decoder.decode(pa.array([row] * 20))
    assert {one.code for one in decoded.failures.values()} == {Code.BOUND}
    assert 5 < len(decoded.failures) < 15


def test_a_library_that_panics(monkeypatch: pytest.MonkeyPatch) -> None:
    """The exact way reads what it did not."""

    class PanicException(BaseException):
        pass

    class Handler:
        def array_to_record_batch(self, payloads: pa.Array) -> pa.RecordBatch:
            raise PanicException("slice index starts at 10 but ends at 9")

    monkeypatch.setattr("kafkaspec.values.protobuf.fast.handler", lambda root: Handler())
    decoder = compile_protobuf(SCHEMA, "M")
    assert decoder.is_fast
    decoded = decoder.decode(pa.array([b"\x08\x05", b"\x08"]))
    assert decoded.values[0]["i"].as_py() == 5
    assert list(decoded.failures) == [1]


def test_both_checks_of_bytes_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the extension and without it."""
    rows = pa.array([*BAD, *FINE, None])
    one = compile_protobuf(SCHEMA, "M").decode(rows)
    monkeypatch.setattr(wire, "usable", lambda: None)
    other = compile_protobuf(SCHEMA, "M").decode(rows)
    assert one.failures == other.failures
    assert one.values.equals(other.values)
    assert len(one.failures) == len(BAD)


@pytest.mark.core
def test_slices_and_threads() -> None:
    message = official(SCHEMA, "M")
    rows = [
        message(i=number, s=str(number), v=[number]).SerializeToString() for number in range(99)
    ]
    decoder = compile_protobuf(SCHEMA, "M")
    whole = decoder.decode(pa.array(rows)).values
    part = decoder.decode(pa.array([*rows, None]).slice(7, 50))
    assert part.failures == {}
    assert part.values.equals(whole.slice(7, 50))
    found: list[bool] = []

    def run() -> None:
        for _ in range(20):
            decoded = decoder.decode(pa.array(rows))
            found.append(not decoded.failures and decoded.values.equals(whole))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 80


SYNTAX = 'syntax = "proto3";\n'
SCHEMAS = {
    "nothing of the kind": "this is not a schema",
    "an import of this machine": f'{SYNTAX}import "/etc/passwd";',
    "an import above": f'{SYNTAX}import "../secret.proto";',
    "an import that is missing": f'{SYNTAX}import "missing.proto";',
    "proto2 that lost its syntax": "message M { int32 x = 1; }",
    "deep nesting": SYNTAX + "message A {" * 100_000,
    "deep options": SYNTAX + "option x = " + "{a:" * 1_000_000,
    "too long": SYNTAX + " " * (5 << 20),
    "columns without end": SYNTAX
    + "message M0 {}"
    + "".join(f"message M{n} {{ M{n - 1} a = 1; M{n - 1} b = 2; }}" for n in range(1, 41))
    + "message M { M40 x = 1; }",
    "levels without end": SYNTAX
    + "message M0 {}"
    + "".join(f"message M{n} {{ M{n - 1} a = 1; }}" for n in range(1, 101))
    + "message M { M100 x = 1; }",
    "recursion": f"{SYNTAX}message M {{ A a = 1; }} message A {{ M m = 1; }}",
    "characters that no file has": f"{SYNTAX}\ud800",
}


@pytest.mark.core
@pytest.mark.parametrize("text", SCHEMAS.values(), ids=SCHEMAS)
def test_schemas_that_are_none(text: str) -> None:
    with pytest.raises(SchemaError) as error:
        compile_protobuf(Definition(SchemaType.PROTOBUF, text), "M")
    assert "/kafkaspec-" not in str(error.value)
    assert " 00:00:" not in str(error.value)
    assert len(str(error.value)) < 700


@pytest.mark.core
def test_imports_that_are_none() -> None:
    one = proto3("message A {}")
    for path in ("../a.proto", "/a.proto", "a/../../b.proto", "a\0b", "", "a//b.proto", "a\\b"):
        with pytest.raises(SchemaError):
            compile_protobuf(
                Definition(SchemaType.PROTOBUF, f"{SYNTAX}message M {{}}", ((path, one),)), "M"
            )
    circle = Definition(
        SchemaType.PROTOBUF,
        f'{SYNTAX}import "a.proto"; message M {{}}',
        (("a.proto", proto3('import "b.proto";')), ("b.proto", proto3('import "a.proto";'))),
    )
    with pytest.raises(SchemaError, match="itself"):
        compile_protobuf(circle, "M")
    many = tuple((f"a{number}.proto", one) for number in range(300))
    with pytest.raises(SchemaError, match="256"):
        compile_protobuf(Definition(SchemaType.PROTOBUF, f"{SYNTAX}message M {{}}", many), "M")
    missing = proto3('import "x.proto";')
    with pytest.raises(SchemaError):
        compile_protobuf(missing, "M")


def test_descriptors_that_are_none() -> None:
    """protoc has not looked at them."""
    file = FileDescriptorProto(name="m.proto", dependency=["m.proto"])
    wrong = FileDescriptorProto(name="m.proto")
    wrong.message_type.add(name="M").field.add(name="x", number=1, type=11, type_name=".Missing")
    twice = FileDescriptorProto(name="m.proto")
    twice.message_type.add(name="M")
    twice.message_type.add(name="M")
    made = [one.SerializeToString() for one in (file, wrong, twice, FileDescriptorProto())]
    for data in (*made, b"\x0a\x01m\x1a\x02\xff\xfe", b"\x0a\x02\xff\xfe\x22\x03\x0a\x01M"):
        text = base64.b64encode(data).decode()
        with pytest.raises(SchemaError):
            compile_protobuf(Definition(SchemaType.PROTOBUF, text), "M")


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "local.proto").write_text(f"{SYNTAX}message L {{}}")
    with pytest.raises(SchemaError, match="not found"):
        compile_protobuf(proto3('import "local.proto"; message M { L l = 1; }'), "M")
    assert [path.name for path in tmp_path.iterdir()] == ["local.proto"]


def test_index_lists() -> None:
    lists = {
        b"\x00": (0,),
        b"\x02\x00": (0,),
        b"\x02\x02": (1,),
        b"\x04\x02\x04": (1, 2),
        b"\x80\x01" + b"\x00" * 64: (0,) * 64,
        b"\x02\xfe\xff\xff\xff\x0f": ((1 << 31) - 1,),
    }
    bad = {
        b"": Code.TRUNCATED,
        b"\x80": Code.TRUNCATED,
        b"\x04\x00": Code.TRUNCATED,
        b"\x01": Code.MESSAGE_INDEX,
        b"\x82\x01" + b"\x00" * 65: Code.MESSAGE_INDEX,
        b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01": Code.MESSAGE_INDEX,
        b"\x02\x01": Code.MESSAGE_INDEX,
        b"\x02\x80\x80\x80\x80\x10": Code.MESSAGE_INDEX,
        b"\xff" * 11: Code.MALFORMED,
    }
    rows: list[bytes | None] = [*(one + b"\x08rest" for one in lists), None, *bad]
    heads = split_index_lists(pa.array([b"before", *rows]).slice(1))
    for row, (head, indexes) in enumerate(lists.items()):
        assert heads.values[heads.groups[row]] == indexes, head
        assert heads.payloads[row].as_py() == b"\x08rest"
    assert {rows[row]: one.code for row, one in heads.failures.items()} == bad
    assert heads.payloads.null_count == 1 + len(bad)
    assert len(heads.payloads) == len(rows)
    many = pa.array([b"\x02" + bytes([2 * (row % 60)]) + b"x" for row in range(1000)] * 3)
    heads = split_index_lists(many)
    assert [heads.values[group] for group in heads.groups] == [
        (row % 1000 % 60,) for row in range(3000)
    ]
    assert heads.payloads.to_pylist() == [b"x"] * 3000


def test_index_lists_are_those_of_the_specification() -> None:
    """What the specification's own reader takes is read alike, and the rest refused."""
    codec = get_codec("python")
    chance = random.Random(15)
    read = 0
    for _ in range(2000):
        size = chance.randrange(8)
        data = bytes(chance.choice((0, 1, 2, 4, 6, 128, 130, 255)) for _ in range(size))
        try:
            expected, end = codec.parse("schema_frame.message_indexes", data)
        except KafkaSpecError:
            with pytest.raises(PayloadError):
                read_index_list(data)
            continue
        indexes = tuple(expected.indexes) or (0,)
        if min(indexes) < 0:
            with pytest.raises(PayloadError):
                read_index_list(data)
        else:
            assert read_index_list(data) == (indexes, end), data
            read += 1
    assert read > 100


def test_which_message_indexes_mean() -> None:
    """The first way to count for which there is a message that knows a field of the sample."""
    text = (
        "message A { message X { int32 x = 1; } map<int32, int32> m = 1;"
        " message Y { string y = 2; message Z { fixed64 z = 3; } } }"
        " message B { message C { bytes c = 4; message D { fixed32 d = 5; } } }"
    )
    schema = proto3(text)
    known = {
        "A.X": b"\x08\x01",
        "A.Y": b"\x12\x01a",
        "A.Y.Z": b"\x19" + bytes(8),
        "B.C": b"\x22\x00",
        "B.C.D": b"\x2d" + bytes(4),
    }
    cases = {
        ((0, 0), "A.X"): Order.DESCRIPTOR,
        ((0, 2), "A.Y"): Order.DESCRIPTOR,  # the entry of the map is the one between
        ((0, 1), "A.Y"): Order.TEXT,
        ((0, 2, 0), "A.Y.Z"): Order.DESCRIPTOR,
        ((0, 1, 0), "A.Y.Z"): Order.TEXT,
        ((1, 0, 0), "B.C.D"): Order.DESCRIPTOR,
        ((0, 0, 1), "B.C.D"): Order.REVERSED,
        ((0, 1), "B.C"): Order.REVERSED,
    }
    for (indexes, name), order in cases.items():
        found = resolve_indexes(schema, indexes, pa.array([None, b"", known[name]]))
        assert found == (order, name), indexes
    nothing = pa.array([], pa.binary())
    assert resolve_indexes(schema, (0, 1), nothing) == (Order.TEXT, "A.Y")
    for indexes in ((2,), (0, 3), (0, 0, 0), ()):
        with pytest.raises(SchemaError, match="indexes"):
            resolve_indexes(schema, indexes, nothing)


def test_names_that_apicurio_writes() -> None:
    head = b"\x08\x0a\x06Person"
    heads = split_names(pa.array([head + b"\x08\x01", head, b"\x05\x0a", b"\x02\x12\x00", None]))
    assert heads.values == ("Person",)
    assert heads.payloads.to_pylist() == [b"\x08\x01", b"", None, None, None]
    assert {row: one.code for row, one in heads.failures.items()} == {
        2: Code.TRUNCATED,
        3: Code.NOT_FRAMED,
    }
    schema = proto3("package p; message Person { int32 x = 1; }")
    decoder = compile_protobuf(schema, heads.values[0])
    assert decoder.message == "p.Person"
