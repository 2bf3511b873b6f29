"""The engine reads Protobuf as it was written, as Google's library and our own decoder do."""

from __future__ import annotations

import base64
import json
import os
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import kafkaspec as ks
from tests.explorer.testee import Engine, needs_build, wanted

pa = pytest.importorskip("pyarrow")
pytest.importorskip("grpc_tools")

from google.protobuf.descriptor_pb2 import (  # noqa: E402
    DescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
)
from google.protobuf.message import DecodeError  # noqa: E402

from kafkaspec.values.protobuf.decoder import compile_protobuf  # noqa: E402
from tests.values.protobuf.random_schemas import Messages, Schemas, drops_entries, told  # noqa: E402
from tests.values.protobuf.schemas import linked, official, proto, proto2, proto3  # noqa: E402
from tests.values.protobuf.test_real_rows import DATA, TOPICS  # noqa: E402

pytestmark = [needs_build, pytest.mark.slow]

SCHEMAS = int(os.environ.get("PROTOBUF_SCHEMAS", "25"))
ROWS = 30
F = FieldDescriptorProto


def _values(engine: Engine, registry: list[Path], log: Path) -> list[dict[str, Any]]:
    """All records of a log as the page has them."""
    ids = list(range(1, len(registry) + 1))
    mine = len(registry) + 1
    calls: list[list[Any]] = [["useSchemas", ids], ["list", mine]]
    _, _, _, rows = engine.call([*registry, log], *calls, ["rows", mine, 0, 10_000])
    count = len(rows["result"]["row"])
    pages = engine.call(
        [*registry, log], *calls, *(["records", mine, row, 0, 10_000] for row in range(count))
    )[3:]
    return [one for page in pages for one in page["result"]["records"]]


def _same(found: Any, expected: Any) -> bool:
    """Whether JSON says what an expected line of tests/values/data has."""
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(_same, found, expected))
    if not isinstance(expected, dict):
        return bool(found == expected)
    match sorted(expected):
        case ["map"]:
            pairs = sorted(found.items() if isinstance(found, dict) else found, key=lambda p: p[0])
            return _same([list(pair) for pair in pairs], expected["map"])
        case ["base64"]:
            own = found["base64"] if isinstance(found, dict) else _base64(found)
            return bool(own == expected["base64"])
        case ["json"]:
            return bool(found == expected["json"])
        case ["float"] | ["value"] | ["paths"]:
            return _same(found, *expected.values())
        case ["unknown_enum"]:
            return bool(found == str(expected["unknown_enum"]))
        case ["nanos", "seconds"]:
            micros = int(expected["nanos"] / 1000)
            return bool(_microseconds(found) == expected["seconds"] * 10**6 + micros)
    fields = {name for name in found if not name.startswith("[")}  # the judge has no extensions
    return fields == expected.keys() and all(
        _same(found[name], value) for name, value in expected.items()
    )  # fmt: skip


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _microseconds(text: str) -> int:
    """A timestamp or duration."""
    if text.endswith("s"):
        whole, _, rest = text.strip("-s").partition(".")
        return (-1 if text.startswith("-") else 1) * int(whole + rest.ljust(6, "0"))
    delta = datetime.fromisoformat(text) - datetime.fromisoformat("1970-01-01T00:00:00Z")
    return (delta.days * 86_400 + delta.seconds) * 10**6 + delta.microseconds


@pytest.mark.parametrize(("home", "topic"), TOPICS, ids=[topic for _, topic in TOPICS])
def test_rows_are_what_was_written(engine: Engine, home: str, topic: str) -> None:
    """Nested messages, maps that Karapace rewrote, references, all ways to count messages."""
    logs = DATA / home / "logs"
    (log,) = (logs / f"{topic}-0").glob("*.log")
    found = _values(engine, sorted((logs / "_schemas-0").glob("*.log")), log)
    lines = (DATA / home / "expected" / f"{topic}.jsonl").read_text("utf-8").splitlines()
    expected = list(map(json.loads, lines))
    assert [int(one["offset"]) for one in found] == [row["offset"] for row in expected]
    seen = 0
    for one, row in zip(found, expected, strict=True):
        value = one["value"]
        if row["value"] is None:
            assert (value["message"], value["size"]) == (None, -1)
            continue
        assert _same(json.loads(value["message"]), row["value"]), (value["message"], row)
        assert value["messageName"].startswith(f"{row['message']} of "), value["messageName"]
        assert f"(id {row['value_schema_id']})" in value["messageName"]
        seen += 1
    assert seen > 3


# -- random schemas --------------------------------------------------------------------------------


def _text(file: FileDescriptorProto) -> str:
    """A schema as text, with comments and options to pass over; types by their full names."""
    head = 'edition = "2023";' if file.syntax == "editions" else f'syntax = "{file.syntax}";'
    lines = [f'{head} // é " {{', f"package {file.package};"]
    lines += [f'import "{path}";' for path in file.dependency]
    lines.append('option java_package = "}"; /* { */')
    for enum in file.enum_type:
        values = " ".join(f"{one.name} = {one.number};" for one in enum.value)
        alias = "option allow_alias = true;"
        if enum.options.HasField("features"):
            alias += " option features = { enum_type: CLOSED };"
        lines.append(f"enum {enum.name} {{ {alias} {values} }}")
    for message in file.message_type:
        lines += _message(message, file.syntax)
    for part in file.extension:
        lines.append(f"extend {part.extendee} {{ {_field(part, file.syntax)} }}")
    return "\n".join(lines)


def _message(message: DescriptorProto, syntax: str) -> Iterator[str]:
    yield f"message {message.name} {{ /* of {len(message.field)} fields */"
    entries = {one.name: one for one in message.nested_type if one.options.map_entry}
    for inner in message.nested_type:
        if inner.name not in entries:
            yield from _message(inner, syntax)
    within = None
    for part in message.field:
        own = (
            part.oneof_index if part.HasField("oneof_index") and not part.proto3_optional else None
        )
        if own != within:
            yield "}" if own is None else f"oneof {message.oneof_decl[own].name} {{"
            within = own
        entry = entries.get(part.type_name.rpartition(".")[2])
        if entry is not None:
            key, value = (_type(one) for one in entry.field)
            yield f"map<{key}, {value}> {part.name} = {part.number};"
        else:
            yield _field(part, syntax, in_oneof=own is not None)
    if within is not None:
        yield "}"
    for one in message.extension_range:
        yield f"extensions {one.start} to {one.end - 1};"
    yield "}"


def _field(part: FieldDescriptorProto, syntax: str, in_oneof: bool = False) -> str:
    label = {F.LABEL_REPEATED: "repeated", F.LABEL_REQUIRED: "required"}.get(part.label, "")
    if not label and (syntax == "proto2" or part.proto3_optional) and not in_oneof:
        label = "optional"
    options = []
    if label == "repeated" and part.options.HasField("packed") and part.type != F.TYPE_MESSAGE:
        options.append(f"packed = {str(part.options.packed).lower()}")
    features = part.options.features
    if features.HasField("message_encoding"):
        options += ["deprecated = true", "features.message_encoding = DELIMITED"]
    if features.HasField("field_presence"):
        options += ["features.field_presence = IMPLICIT", f"json_name = ']{part.number}'"]
    shown = f" [{', '.join(options)}]" if options else ""
    return f"{label} {_type(part)} {part.name} = {part.number}{shown};"


def _type(part: FieldDescriptorProto) -> str:
    return str(part.type_name or F.Type.Name(part.type).removeprefix("TYPE_").lower())


def _framed(folder: Path, text: str, rows: list[bytes]) -> tuple[Path, Path]:
    """A registry's log with a schema of id 7, and a log with values of it."""
    key = {"keytype": "SCHEMA", "subject": "t-value", "version": 1}
    value = {"id": 7, "schemaType": "PROTOBUF", "schema": text}
    registry, log = (folder / name / f"{0:020d}.log" for name in ("_schemas-0", "t-0"))
    records = [ks.Record(0, 0, json.dumps(key).encode(), json.dumps(value).encode())]
    framed = [ks.Record(n, 0, None, b"\0\0\0\0\7" + row) for n, row in enumerate(rows)]
    for path, part in ((registry, records), (log, framed)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(ks.encode(part))
    return registry, log


def test_random_schemas_as_googles_library_reads_them(engine: Engine, tmp_path: Path) -> None:
    """Random messages, half of them damaged; what is refused is what our own decoder refuses.

    Their schemas are texts, descriptors of a file, and of a set of files.
    """
    seen = Counter[str]()
    for seed in range(SCHEMAS):
        file = Schemas(seed).file()
        form = seen[file.syntax] % 3
        seen[file.syntax] += 1
        if form == 0:
            _without_groups(file)
            text = _text(file)
        else:
            given = file if form == 1 else FileDescriptorSet(file=[_other(), file])
            text = base64.b64encode(given.SerializeToString()).decode()
        schema = proto(text)
        last = len(file.message_type) - 1
        name = f"r.{file.message_type[last].name}"
        message = official(schema, name)
        made = Messages(seed)
        whole = [made.fill(message()).SerializePartialToString() for _ in range(ROWS // 2)]
        rows = whole + [made.damaged(data, made.r.choice(whole)) for data in whole]
        index = bytes([2, 2 * last])
        registry, log = _framed(tmp_path, text, [index + row for row in rows])
        failures = compile_protobuf(schema, name).decode(pa.array(rows)).failures
        for number, (one, row) in enumerate(
            zip(_values(engine, [registry], log), rows, strict=True)
        ):
            where = f"schema {seed}, row {number}: {row.hex()}\n{text}"
            shown = one["value"]["message"]
            assert (shown is None) == (number in failures), (
                f"{where}\n{one['problem']} {failures.get(number)}"
            )
            if shown is None:
                seen["refused"] += 1
                continue
            try:
                judged = message.FromString(row)
            except DecodeError:
                raise AssertionError(where) from None
            if drops_entries(judged):
                continue
            assert _same(json.loads(shown), told(judged)), f"{where}\n{shown}\n{told(judged)}"
            seen["read"] += 1
    assert min(seen["read"], seen["refused"]) > 2 * SCHEMAS, seen
    assert min(seen[syntax] for syntax in ("proto2", "proto3", "editions")) >= 3, seen


def _other() -> FileDescriptorProto:
    """A file before that of the schema, which it does not need."""
    return FileDescriptorProto(
        name="other.proto", syntax="proto3", message_type=[DescriptorProto(name="Other")]
    )


def _without_groups(file: FileDescriptorProto) -> None:
    """Turn groups into plain messages: the text of a schema declares no type for a group."""
    waiting = list(file.message_type)
    fields = list(file.extension)
    for message in waiting:  # grows
        waiting += message.nested_type
        fields += message.field
    for part in fields:
        if part.type == F.TYPE_GROUP:
            part.type = F.TYPE_MESSAGE


# -- texts and bytes that are refused -------------------------------------------------------------


def test_groups_extensions_and_scopes(engine: Engine, tmp_path: Path) -> None:
    text = proto2("""
      package a.b;
      import "google/protobuf/descriptor.proto";
      extend google.protobuf.FieldOptions { optional string note = 50000; }
      message Inner { optional int32 outer = 1; }
      message M {
        message Inner { optional string own = 1; }
        optional group Pair = 1 { required sint32 x = 1; repeated Inner in = 2 [(note) = "];"]; }
        optional b.Inner far = 2;
        extensions 100 to max;
        reserved 5 to 7, 9; reserved "gone";
        extend M { optional bool flag = 100; }
      }
      service S { rpc Get(M) returns (stream M) { option deprecated = true; } }
    """).text
    message = official(proto(text), "a.b.M")()
    message.pair.x = -5
    message.pair.__getattribute__("in").add(own="ü")
    message.far.outer = 3
    message.Extensions[message.DESCRIPTOR.extensions_by_name["flag"]] = True
    data = message.SerializeToString()
    registry, log = _framed(tmp_path, text, [b"\2\2" + data, b"\2\2" + data[:3]])
    good, bad = _values(engine, [registry], log)
    assert json.loads(good["value"]["message"]) == {
        "pair": {"x": -5, "in": [{"own": "ü"}]}, "far": {"outer": 3}, "[a.b.M.flag]": True,
    }  # fmt: skip
    assert "group 1 has no end" in bad["problem"]


CHOSEN = """
  edition = "2023";
  package e;
  import "google/protobuf/cpp_features.proto";
  message Implied {
    int32 n = 1; Kind kind = 2; sint32 own = 3 [features.field_presence = EXPLICIT];
  }
  enum Kind { NONE = 0; SOME = 1; }
  option features = {
    field_presence: IMPLICIT; [pb.cpp] { string_type: VIEW }, message_encoding: DELIMITED
  };
  message Group {
    Implied sized = 1 [deprecated = false, features.message_encoding = LENGTH_PREFIXED];
    Implied grouped = 2;
    repeated Implied list = 3;
    map<string, Implied> map = 4;
    oneof either {
      Implied first = 5;
      string second = 6 [features.(pb.cpp).string_type = VIEW];
    }
    enum Closed { option features.enum_type = CLOSED; A = 0; B = 1; }
    Closed closed = 7 [features.field_presence = EXPLICIT];
    extensions 100 to 200;
  }
  message Outer { Group group = 1; repeated Group groups = 2; map<int32, Group> by = 3; }
  extend Group { Implied added = 100; }
"""
"""Every feature that an edition lets a schema set, before and after the fields that it affects."""


@pytest.mark.parametrize("form", ["text", "descriptor"])
def test_what_an_edition_lets_a_schema_choose(engine: Engine, tmp_path: Path, form: str) -> None:
    schema = proto(CHOSEN)
    made = official(schema, "e.Outer")
    group = made.DESCRIPTOR.fields_by_name["group"].message_type._concrete_class
    one = group(first={"n": 3, "own": 0}, grouped={"kind": 7}, closed=1, list=[{"n": 1}, {}])
    one.sized.SetInParent()
    one.map["k"].n = 5
    one.Extensions[group.DESCRIPTOR.file.extensions_by_name["added"]].own = -4
    message = made(group=one, groups=[one, group(second="", closed=0)], by={-2: one})
    # A number that the closed enumeration has not: it is as if the field were not there.
    unknown = made(groups=[group()]).SerializeToString().replace(b"\x13\x14", b"\x13\x38\x05\x14")
    rows = [message.SerializeToString(), b"", unknown]
    file = linked(schema).FindFileByName("schema.proto").serialized_pb
    text = CHOSEN if form == "text" else base64.b64encode(file).decode()
    registry, log = _framed(tmp_path, text, [b"\2\4" + row for row in rows])
    for row, found in zip(rows, _values(engine, [registry], log), strict=True):
        assert found["problem"] is None
        assert _same(json.loads(found["value"]["message"]), told(made.FromString(row))), row


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('edition = "1997"; message M {}', "edition 1997"),
        ('edition = "2023"; option features.enum_type = AJAR; message M {}', "OPEN or CLOSED"),
        ("message M { Nothing n = 1; }", "no type Nothing"),
        ("message M { int32 n = 0; }", "line 1"),
        ("message M { int32 n = 1", "is expected"),
        ("/* message M {}", "does not end"),
        ("message M {" * 70, "levels"),
        ("enum E { A = 0; }", "no message"),
        ("Q2hhbm5lbA==", "declares nothing"),
        ('message M { option a = "' + "\\a" * 200_000, "begins nothing"),
        ("message M { option a = " + "/*" * 200_000, "does not end"),
    ],
)  # fmt: skip
def test_what_is_no_schema_is_said(engine: Engine, tmp_path: Path, text: str, reason: str) -> None:
    registry, log = _framed(tmp_path, text, [b"\0"] * 3)
    for one in _values(engine, [registry], log):
        assert reason in one["problem"]
        assert one["value"]["message"] is None


def test_messages_cannot_take_the_engine_from_its_user(engine: Engine, tmp_path: Path) -> None:
    fields = " ".join(f"int32 f{n} = {n};" for n in range(2, 3000))
    text = proto3(f"message M {{ repeated M m = 1; {fields} }}").text
    deep = b""
    for _ in range(80):
        size = len(deep)
        prefix = bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])
        deep = b"\x0a" + prefix + deep
    wide = b"\x0a\0" * 100_000
    registry, log = _framed(tmp_path, text, [b"\0" + deep, b"\0" + wide, b"\x80" * 12, b"\2\x08"])
    problems = [one["problem"] for one in _values(engine, [registry], log)]
    for problem, part in zip(
        problems, ("levels", "items", "number of more", "no message"), strict=True
    ):
        assert part in problem


ORDER = "message Order { string sku = 1; int64 n = 2; } message Other { bool b = 1; }"


@pytest.mark.parametrize("form", ["text", "visibility", "descriptor", "set"])
def test_a_given_schema_of_protobuf_and_a_search(engine: Engine, tmp_path: Path, form: str) -> None:
    """Messages without a frame are read as the first message of the given schema."""
    schema = proto3(ORDER)
    file = linked(schema).FindFileByName("schema.proto").serialized_pb
    made = FileDescriptorSet(file=[_other(), FileDescriptorProto.FromString(file)])
    given = {
        "text": schema.text,
        "visibility": f'edition = "2024"; option features.field_presence = IMPLICIT; export {ORDER}'
        .replace("message Other", "local message Other"),
        "descriptor": base64.b64encode(file).decode(),
        "set": base64.encodebytes(made.SerializeToString()).decode(),
    }[form]  # fmt: skip
    message = official(schema, "Order")
    rows = [message(sku=f"K{n}", n=n).SerializeToString() for n in range(5)]
    path = tmp_path / f"{0:020d}.log"
    path.write_bytes(ks.encode([ks.Record(n, 0, None, row) for n, row in enumerate(rows)]))
    search = {"files": [1], "wanted": wanted("n > 2", "json", ("value",))}
    _, said, found = engine.call([path], ["giveSchema", given], ["find", search])
    assert "error" not in said
    assert [int(hit["offset"]) for said in found["said"] for hit in said["hits"]] == [3, 4]
    assert found["result"]["decoded"] == 5
