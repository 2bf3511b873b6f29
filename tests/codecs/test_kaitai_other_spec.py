"""The adapter knows no field by name: a specification that it never saw works as it stands."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from kafkaspec.codecs.references.kaitai.codec import KaitaiCodec
from kafkaspec.errors import KafkaSpecError, Reason
from tests.specgen.edits import HOUSE
from tools.specgen import driver
from tools.specgen.kaitai import emit as emit_kaitai

pytestmark = pytest.mark.slow

SPEC = Path(__file__).resolve().parents[2] / "spec"

SHAPE = """\
meta:
  id: shape
  title: Shapes for tests
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - varint
  endian: be
  bit-endian: be
doc: Not a file of Kafka.
seq:
  - id: head
    type: head
  - id: body
    type: body(head.kind)
types:
  head:
    doc: Head.
    seq:
      - id: num_points
        -derive: count(points)
        type: varint::unsigned_varint32
        valid:
          expr: _.value <= _io.size - _io.pos
      - id: points
        type: point
        repeat: expr
        repeat-expr: num_points.value
      - id: scale
        type: varint::varint64
      - id: kind
        type: u1
      - id: high
        type: b4
      - id: middle
        type: b3
      - id: flag
        type: b1
      - id: low
        type: b12
      - id: tail
        type: b4
  point:
    doc: Point.
    seq:
      - id: x
        type: varint::varint32
      - id: y
        type: u2
        valid:
          max: 1000
  body:
    doc: Body.
    params:
      - id: kind
        type: u1
    seq:
      - id: content
        type:
          switch-on: kind
          cases:
            1: note
            2: point
  note:
    doc: Note.
    seq:
      - id: len_text
        -derive: len(text) + 1
        type: u1
        valid:
          min: 1
      - id: text
        size: len_text - 1
  tailed:
    doc: A structure that reaches to the end, after others.
    seq:
      - id: first
        type: u1
      - id: outer
        type: tailed_outer
  tailed_outer:
    doc: A structure in the same stream.
    seq:
      - id: points
        type: tailed_points
        size: 4
      - id: note
        type: note
        size-eos: true
  tailed_points:
    doc: A substream.
    seq:
      - id: points
        type: u2
        repeat: eos
  scaled:
    doc: A point in the scale of a head.
    params:
      - id: head
        type: head
    seq:
      - id: x
        type: s4
      - id: rest
        size: head.points[0].x.value
    instances:
      scaled_x:
        value: x + head.scale.value
        doc: Scaled.
"""
HEAD = bytes.fromhex("02 02 0001 03 03e8 08 01 5b 0a bc".replace(" ", ""))
"""Points 1,1 and -2,1000; scale 4; kind 1; bits 5, 5, true, 0x0ab, 0xc."""


@pytest.fixture(scope="module")
def codec(tmp_path_factory: pytest.TempPathFactory) -> Any:
    try:
        emit_kaitai.java_command()
        emit_kaitai.compiler_jars()
    except emit_kaitai.CompilerMissing as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))
    root = tmp_path_factory.mktemp("other")
    spec = root / "spec"
    shutil.copytree(SPEC, spec, ignore=shutil.ignore_patterns("*.md", "LICENSE"))
    (spec / "shape.ksy").write_text(SHAPE, encoding="utf-8")
    driver.generate(spec, root / "other_spec", ("layout", "python", "kaitai"), HOUSE)
    sys.path.insert(0, str(root))
    yield KaitaiCodec("other_spec")
    sys.path.remove(str(root))


def test_arrays_scalars_and_bits(codec: KaitaiCodec) -> None:
    head, end = codec.parse("shape.head", HEAD)
    assert end == len(HEAD)
    assert [(point.x, point.y) for point in head.points] == [(1, 1), (-2, 1000)]
    assert (head.scale, head.kind, head.high, head.middle, head.flag) == (4, 1, 5, 5, True)
    assert (head.low, head.tail) == (0x0AB, 0xC)
    assert codec.serialize("shape.head", head) == HEAD


def test_bits_across_bytes_have_their_places(codec: KaitaiCodec) -> None:
    positions = {p.path: (p.start, p.end, p.bits) for p in codec.positions("shape.head", HEAD)}
    assert positions["/high"] == (9, 10, (0, 4))
    assert positions["/flag"] == (9, 10, (7, 8))
    assert positions["/low"] == (10, 12, (0, 12))
    assert positions["/tail"] == (11, 12, (4, 8))


def test_a_cut_run_of_bits_fails_at_the_first_field_that_is_not_there(codec: KaitaiCodec) -> None:
    for size, begin, path in ((9, 9, "/high"), (10, 10, "/low"), (11, 10, "/low")):
        with pytest.raises(KafkaSpecError) as caught:
            codec.parse("shape.head", HEAD[:size])
        error = caught.value
        assert (error.reason, error.position, error.path) == (Reason.TRUNCATED, begin, path)
        assert codec.positions("shape.head", HEAD[:size])[-1].error is not None


def test_a_refused_item_of_an_array(codec: KaitaiCodec) -> None:
    with pytest.raises(KafkaSpecError) as caught:
        codec.parse("shape.head", HEAD[:5] + b"\xff\xff" + HEAD[7:])
    assert (caught.value.position, caught.value.path) == (5, "/points/1/y")


def test_a_choice_by_a_field(codec: KaitaiCodec) -> None:
    data = HEAD + b"\x03ab"
    shape, end = codec.parse("shape.shape", data)
    assert (shape.body.text, shape.body.len_text, end) == (b"ab", 3, len(data))
    assert codec.serialize("shape.shape", shape) == data
    shape.body = shape.head.points[0]
    with pytest.raises(KafkaSpecError) as caught:
        codec.serialize("shape.shape", shape)
    assert caught.value.path == "/body/content"
    shape.head.kind = 2
    assert codec.serialize("shape.shape", shape)[-3:] == b"\x02\x00\x01"


def test_a_choice_without_a_case_is_an_error(codec: KaitaiCodec) -> None:
    data = HEAD[:8] + b"\x07" + HEAD[9:] + b"\x03ab"
    with pytest.raises(KafkaSpecError) as caught:
        codec.parse("shape.shape", data)
    error = caught.value
    assert (error.reason, error.position) == (Reason.INVALID_VALUE, len(HEAD))
    assert (error.path, error.spec) == ("/body/content", "shape.ksy#/types/body/seq/0")


def test_a_structure_that_reaches_to_the_end(codec: KaitaiCodec) -> None:
    data = bytes.fromhex("09 0001 0002 03 6162")
    tailed, end = codec.parse("shape.tailed", data)
    assert (tailed.first, tailed.outer.points.points, end) == (9, [1, 2], len(data))
    assert tailed.outer.note.text == b"ab"
    assert codec.serialize("shape.tailed", tailed) == data
    assert codec.serialize("shape.tailed", tailed, raw=True) == data
    tailed.outer.note.text = b"abcdef"
    assert codec.serialize("shape.tailed", tailed) == data[:5] + b"\x07abcdef"


def test_a_structure_of_the_model_as_parameter(codec: KaitaiCodec) -> None:
    """Kaitai's expressions ask it for ``.value`` of scalars, in fields and in arrays."""
    head, _ = codec.parse("shape.head", HEAD)
    data = b"\0\0\0\x05?"
    scaled, end = codec.parse("shape.scaled", data + b"more", parameters=(head,))
    assert (scaled.rest, end, scaled.head, scaled.scaled_x) == (b"?", 5, head, 9)
    assert codec.serialize("shape.scaled", scaled, parameters=(head,)) == data
    assert codec.serialize("shape.scaled", scaled) == data
