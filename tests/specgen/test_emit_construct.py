"""Construct definitions: for people in a REPL, and from specifications that are not Kafka's."""

from __future__ import annotations

import ast
import io
import re
import sys
import zlib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import construct  # type: ignore[import-untyped]
import pytest

from kafkaspec._generated.construct.index import offset_index
from kafkaspec._generated.construct.recordbatch import (
    entry,
    legacy_message,
    message,
    record,
    record_batch,
    record_set,
)
from kafkaspec.codecs.python import PythonCodec
from kafkaspec.codecs.references.construct.codec import ConstructCodec
from kafkaspec.errors import KafkaSpecError, Reason
from tests.specgen.edits import HOUSE
from tools.specgen import driver
from tools.specgen.construct.emit import emit
from tools.specgen.construct.expressions import Deferred
from tools.specgen.expression import parse
from tools.specgen.loader import load

ROOT = Path(__file__).resolve().parents[2]
MODEL = load(ROOT / "spec")
ONE = bytes.fromhex(
    "0000000000000000 0000003a ffffffff 02 716a6189 0000 00000000 00000000000003e8"
    "00000000000003e8 ffffffffffffffff ffff ffffffff 00000001 10 00 00 00 02 6b 02 76 00"
)

HEAD = """\
meta:
  id: toy
  ks-version: '0.11'
  endian: be
  bit-endian: be
seq:
"""

TOY = f"""{HEAD}\
  - id: len_rest
    -derive: len(size_a..items) + 3
    type: u2
    valid:
      min: 3
  - id: crc
    -derive: crc32(size_a..)
    type: u4
  - id: size_a
    -derive: len(a)
    type: u1
  - id: a
    size: size_a
  - id: flag
    -default: '1'
    type: b1
  - id: kind
    type: b2
    enum: kind
    valid:
      in-enum: true
  - id: wide
    -default: '0'
    type: b5
  - id: version
    type: s1
    valid: -3
  - id: extra
    type: u2
    if: version < 0 and not flag
  - id: num_items
    -derive: count(items)
    type: u1
    valid:
      max: (_io.size - _io.pos) / 2
  - id: items
    type: item(version, kind)
    repeat: expr
    repeat-expr: num_items
  - id: tail
    type: tail
    size-eos: true
types:
  item:
    params:
      - id: version
        type: s1
      - id: kind
        type: u1
    seq:
      - id: number
        type: u2
        valid:
          expr: _ % 2 == 0
    instances:
      twice:
        value: 'kind == kind::big ? number * 2 : -number'
  tail:
    seq:
      - id: body
        type:
          switch-on: code
          cases:
            7: seven
            _: other
    instances:
      code:
        pos: 1
        type: u1
  seven:
    seq:
      - id: first
        type: u1
      - id: code
        type: u1
        valid: 7
      - id: end
        size: 0
        valid:
          expr: _io.eof
  other:
    seq:
      - id: first
        type: u1
      - id: code
        type: u1
      - id: all
        size-eos: true
enums:
  kind:
    0: small
    1: big
"""


def words(text: str) -> set[str]:
    """Names in the code of a module, without its comments and strings."""
    return {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}


@pytest.mark.parametrize("output", emit(MODEL), ids=lambda output: str(output.path))
def test_only_what_is_safe_on_untrusted_bytes(output: Any) -> None:
    tree = ast.parse(output.text)
    assert not any(isinstance(node, ast.Lambda) for node in ast.walk(tree))
    swallow_errors = {"GreedyRange", "Optional", "Peek", "Select", "Union", "StopIf"}
    never_end = {"VarInt", "ZigZag", "NullTerminated", "RepeatUntil", "PrefixedArray", "LazyBound"}
    assert not words(output.text) & (swallow_errors | never_end)
    assert ".compile(" not in output.text


@pytest.mark.slow
def test_every_definition_has_the_fields_of_its_type_in_their_order() -> None:
    for type_ in MODEL.all_types():
        if type_.scalar:
            continue
        module = import_module(f"kafkaspec._generated.construct.{type_.spec_id}")
        definition = getattr(module, type_.name)
        structure = definition if hasattr(definition, "key") else definition.subcon
        assert (structure.key, structure.parameters) == (
            type_.key,
            tuple(parameter.id for parameter in type_.parameters),
        )
        peeks = {peek.id for peek in type_.peek_instances}
        names = [member.name for member in structure.subcons if member.name not in peeks]
        fields = [field.id for field in type_.fields]
        assert names == [*fields, *(instance.id for instance in type_.value_instances)]


def test_a_batch_in_a_repl() -> None:
    found = entry.parse(ONE)
    batch = found.message.content
    assert (found.base_offset, found.message.magic, batch.num_records) == (0, 2, 1)
    assert batch.attributes.compression.name == "NONE"
    assert (batch.last_offset, batch.delete_horizon) == (0, None)
    (framed,) = record_set.parse(batch.records, batch=batch).records
    assert (framed.len_body, framed.body.offset, framed.body.timestamp) == (8, 0, 1000)
    assert framed.body._given["batch"] is batch
    assert "batch" not in repr(framed)
    assert entry.build(found) == ONE


def test_building_from_plain_dictionaries() -> None:
    records = record_set.build(
        {
            "records": [
                {"body": {"timestamp_delta": 0, "offset_delta": 0, "key": b"k", "value": b"v"}}
            ]
        },
        batch={"num_records": 1},
    )
    batch = {
        "last_offset_delta": 0,
        "base_timestamp": 1000,
        "max_timestamp": 1000,
        "num_records": 1,
        "records": records,
    }
    assert record_batch.build(batch, base_offset=0) == ONE[12:]
    assert entry.build({"base_offset": 0, "message": {"magic": 2, "content": batch}}) == ONE
    legacy = {"magic": 0, "value": b"a"}
    built = message.build({"content": legacy}, base_offset=3)
    assert built == bytes.fromhex("51df3a32 00 00 ffffffff 00000001 61")
    assert legacy_message.parse(built, offset=3).offset == 3


def test_parameters_are_asked_for() -> None:
    with pytest.raises(TypeError, match=r"parse\(data, batch=\.\.\.\)"):
        record.parse(b"")
    with pytest.raises(TypeError, match=r"record needs its parameters"):
        record.build({})


def test_definitions_inside_of_other_constructs_and_streams() -> None:
    outer = construct.Struct("mark" / construct.Int16ub, "entry" / entry, "end" / construct.Int8ub)
    found = outer.parse(b"\x00\x09" + ONE + b"\x07")
    assert (found.mark, found.entry.len_message, found.end) == (9, 58, 7)
    stream = io.BytesIO(b"12345" + ONE)
    stream.seek(5)
    assert entry.parse_stream(stream).base_offset == 0
    assert stream.tell() == len(ONE) + 5
    with pytest.raises(construct.StreamError, match="-> entry -> message"):
        outer.parse(b"\x00\x09" + ONE[:-1])


def test_arrays_end_exactly() -> None:
    with pytest.raises(construct.StreamError, match="-> entries -> position"):
        offset_index.parse(bytes(12), base_offset=0)


@pytest.mark.parametrize(
    ("text", "deferred"),
    [
        (
            "_.value >= 1 and _.value - 1 <= _io.size - _io.pos",
            "(value_ >= 1) & ((value_ - 1) <= remaining_)",
        ),
        ("_io.eof or batch.num_records == 0", "at_end_ | (this._.batch.num_records == 0)"),
        ("not _io.eof", "~at_end_"),
        ("_io.size - 1 == _io.pos % 2", "(size_ - 1) == (position_ % 2)"),
        ("attributes / 2 << 1", "(this.attributes // 2) << 1"),
        ("~num_headers.value ^ 0x1_0000", "(-1 - this.num_headers) ^ 0x10000"),
        ("headers[_index].key.size", "len_(this.headers[this._index].key)"),
        (
            "num_headers.value > 0 ? offset_delta.value : -1",
            "either_(this.num_headers > 0, this.offset_delta, -1)",
        ),
    ],
)
def test_expressions(text: str, deferred: str) -> None:
    translator = Deferred(MODEL, MODEL.type("recordbatch.record"))
    assert translator.text(parse(text)) == deferred


def test_sums_are_reduced_once_and_only_where_they_can_leave_64_bits() -> None:
    translator = Deferred(MODEL, MODEL.type("recordbatch.record"))
    assert (
        translator.text(parse("timestamp_delta.value + offset_delta.value + 1"), wrap=True)
        == "int64_((this.timestamp_delta + this.offset_delta) + 1)"
    )
    assert translator.text(parse("offset_delta.value + 1"), wrap=True) == "this.offset_delta + 1"


def spec(directory: Path, text: str) -> Path:
    directory.mkdir(parents=True)
    (directory / "toy.ksy").write_text(text, encoding="utf-8")
    return directory


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, ConstructCodec]]:
    """Definitions and codec of a specification that is not in the tree."""
    place = tmp_path_factory.mktemp("toy")
    package = "toy_of_test_emit_construct"
    driver.generate(
        spec(place / "spec", TOY), place / package, ("layout", "python", "construct"), HOUSE
    )
    sys.path.insert(0, str(place))
    try:
        yield import_module(f"{package}.construct.toy"), ConstructCodec(package)
    finally:
        sys.path.remove(str(place))


# a "hi"; flag 0, kind big, wide 5 in a byte; version -3; extra 9; one item; a tail "seven".
REST = bytes.fromhex("02 6869 25 fd 0009 01 0004")
TAIL = bytes.fromhex("0107")
BYTES = (
    (len(REST) + 3).to_bytes(2) + zlib.crc32(REST + TAIL).to_bytes(4) + REST + TAIL
)  # fmt: skip


@pytest.mark.slow
def test_another_specification_reads_and_writes(toy: tuple[Any, ConstructCodec]) -> None:
    module, codec = toy
    found = module.toy.parse(BYTES)
    assert (found.a, found.flag, found.kind, found.wide) == (b"hi", False, 1, 5)
    assert (found.version, found.extra, found.tail.code) == (-3, 9, 7)
    assert [(item.number, item.version, item.twice) for item in found["items"]] == [(4, -3, 8)]
    assert module.toy.build(found) == BYTES
    value, end = codec.parse("toy.toy", BYTES)
    assert end == len(BYTES)
    assert (value.kind, type(value.kind), value.items[0].twice) == (1, int, 8)
    assert type(value.tail).__name__ == "Seven"
    assert codec.serialize("toy.toy", value) == BYTES


TOY_ERRORS = {
    "kind": (9, 0x60, Reason.INVALID_VALUE, "/kind", 9),
    "version": (10, 1, Reason.INVALID_VALUE, "/version", 10),
    "count": (13, 3, Reason.INVALID_VALUE, "/num_items", 13),
    "odd number": (15, 5, Reason.INVALID_VALUE, "/items/0/number", 14),
}


@pytest.mark.parametrize(
    ("index", "byte", "reason", "path", "offset"), TOY_ERRORS.values(), ids=TOY_ERRORS
)
def test_another_specification_refuses(
    toy: tuple[Any, ConstructCodec],
    index: int,
    byte: int,
    reason: Reason,
    path: str,
    offset: int,
) -> None:
    data = bytearray(BYTES)
    data[index] = byte
    with pytest.raises(KafkaSpecError) as caught:
        toy[1].parse("toy.toy", data)
    assert (caught.value.reason, caught.value.path, caught.value.position) == (reason, path, offset)


def test_trailing_bytes_and_the_default_case(toy: tuple[Any, ConstructCodec]) -> None:
    _, codec = toy
    with pytest.raises(KafkaSpecError) as caught:
        codec.parse("toy.toy", BYTES + b"x")
    error = caught.value
    assert (error.reason, error.path, error.position) == (
        Reason.TRAILING_BYTES,
        "/tail/body/end",
        len(BYTES),
    )
    value, _ = codec.parse("toy.toy", BYTES[:-1] + b"\x08abc")
    assert (type(value.tail).__name__, value.tail.code, value.tail.all) == ("Other", 8, b"abc")


MIXED = f"""{HEAD}\
  - id: low
    -default: '0'
    type: b3
  - id: limit
    type: b5
    valid:
      min: 4
  - id: crc
    -derive: crc32(even..last)
    type: u4
  - id: even
    type: b4
    valid:
      expr: _ % 2 == 0 and _ <= limit
  - id: odd
    type: b12
  - id: num_ones
    -derive: count(ones)
    type: u1
    valid:
      max: _io.size - _io.pos
  - id: ones
    type: s1
    repeat: expr
    repeat-expr: num_ones
  - id: name
    type: name
  - id: last
    type: box(even)
    size-eos: true
    if: limit > 9
types:
  name:
    -scalar: nullable_bytes
    seq:
      - id: len_value
        -derive: len(value) + 1
        type: u1
      - id: value
        size: len_value - 1
        if: len_value - 1 >= 0
  box:
    params:
      - id: even
        type: u1
    seq:
      - id: len_inner
        -derive: len(inner)
        type: u1
        valid:
          min: 2
      - id: inner
        type: inner(even)
        size: len_inner
      - id: rest
        -default: '[]'
        size-eos: true
  inner:
    params:
      - id: by
        type: u1
    seq:
      - id: x
        type: u2
        valid:
          expr: _ != by
"""


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[PythonCodec, ConstructCodec]]:
    """Both codecs of a specification with bits between bytes and checks across fields."""
    place = tmp_path_factory.mktemp("mixed")
    package = "mixed_of_test_emit_construct"
    driver.generate(
        spec(place / "spec", MIXED), place / package, ("layout", "python", "construct"), HOUSE
    )
    sys.path.insert(0, str(place))
    try:
        yield PythonCodec(package), ConstructCodec(package)
    finally:
        sys.path.remove(str(place))


def result(function: Any, *arguments: Any, **options: Any) -> Any:
    try:
        return function(*arguments, **options)
    except KafkaSpecError as error:
        return error.reason, error.path, error.position, error.spec


@pytest.mark.slow
def test_every_byte_changed_or_cut_gives_what_the_python_codec_gives(
    mixed: tuple[PythonCodec, ConstructCodec],
) -> None:
    python, construct_codec = mixed
    # low 1, limit 10; even 8, odd 0x123; two ones; a name of two bytes; a box and a byte more.
    spanned = bytes.fromhex("8123 02 05ff 03 6869 02 0007 ee")
    data = b"\x2a" + zlib.crc32(spanned).to_bytes(4) + spanned
    value, end = construct_codec.parse("toy.toy", data)
    assert (value.low, value.limit, value.even, value.odd) == (1, 10, 8, 0x123)
    assert (value.ones, value.name) == ([5, -1], b"hi")
    assert (value.last.inner.x, value.last.inner.by, value.last.rest) == (7, 8, b"\xee")
    assert (end, construct_codec.serialize("toy.toy", value)) == (len(data), data)
    several = [data[:size] for size in range(len(data))]
    for index in range(len(data)):
        for byte in range(256):
            several.append(data[:index] + bytes([byte]) + data[index + 1 :])
    accepted = 0
    for changed in several:
        expected = result(python.parse, "toy.toy", changed)
        assert result(construct_codec.parse, "toy.toy", changed) == expected, changed.hex()
        if not hasattr(expected[0], "limit"):
            continue
        accepted += 1
        for raw in (False, True):
            written = result(python.serialize, "toy.toy", expected[0], raw=raw)
            assert result(construct_codec.serialize, "toy.toy", expected[0], raw=raw) == written
    assert 0 < accepted < len(several)


_UNTIL = """\
  - id: xs
    type: u1
    repeat: until
    repeat-until: _ == 0
"""
_VALID = """\
  - id: x
    type: u1
    valid:
      expr: {} == _
"""
_NAMED = """\
  - id: x
    type: {}
types:
  {}:
    params:
      - id: {}
        type: u1
    seq:
      - id: y
        type: u1
"""
REFUSED = {
    "an array until": (_UNTIL, "repeat"),
    "recursion": ("  - id: x\n    type: toy\n    if: false\n", "inside itself"),
    "a name of the runtime": (
        _NAMED.format("value_(1)", "value_", "p"),
        "value_ cannot be the name of a definition",
    ),
    "a parameter of parse": (
        _NAMED.format("a(1)", "a", "stream"),
        "stream cannot be a parameter",
    ),
    "the parent": (_VALID.format("_parent.y"), "_parent is not supported"),
    "what streams have not": (_VALID.format("_io.foo"), "_io.foo is not supported"),
}


@pytest.mark.parametrize(("fields", "text"), REFUSED.values(), ids=REFUSED)
def test_the_emitter_names_unknown_constructs(tmp_path: Path, fields: str, text: str) -> None:
    model = load(spec(tmp_path / "spec", HEAD + fields))
    with pytest.raises(ValueError, match=re.escape(text)):
        emit(model)
