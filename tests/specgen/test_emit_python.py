"""The emitter of Python: against the specification's own expressions, other specs, refusals."""

from __future__ import annotations

import importlib
import shutil
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkaspec.codecs.python import PythonCodec
from kafkaspec.errors import KafkaSpecError
from tests.specgen.edits import HOUSE
from tools.specgen import driver, expression
from tools.specgen.facts.ranges import LONG
from tools.specgen.lint import derive, names, shapes
from tools.specgen.loader import load
from tools.specgen.model import Model
from tools.specgen.python import emit as emit_python
from tools.specgen.python.expressions import Stream, Translator

SPEC = Path(__file__).resolve().parents[2] / "spec"
MODEL = load(SPEC)

Build = Callable[..., PythonCodec]


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Build]:
    """Makes a codec from other specifications, next to the real one."""
    names: list[str] = []

    def make(directory: Path) -> PythonCodec:
        name = f"made_{tmp_path.name.replace('-', '_')}_{len(names)}"
        names.append(name)
        driver.generate(directory, tmp_path / name, ("layout", "python"), HOUSE)
        importlib.invalidate_caches()
        return PythonCodec(name)

    monkeypatch.syspath_prepend(str(tmp_path))
    yield make
    for module in [m for m in sys.modules if m.split(".")[0] in names]:
        del sys.modules[module]


def module_of(codec: PythonCodec, name: str) -> ModuleType:
    """A generated module of a codec."""
    return importlib.import_module(f"{codec._package}.{name}")


def changed_spec(directory: Path, old: str, new: str) -> Path:
    """A copy of the specification with one change in recordbatch.ksy."""
    copy = directory / "spec"
    shutil.copytree(SPEC, copy)
    path = copy / "recordbatch.ksy"
    text = path.read_text("utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), "utf-8")
    return copy


# Scalars are built in: the specification's own expressions say the same


def _instance(key: str, groups: list[int]) -> int:
    """``value`` of a varint type, by evaluating its instances over ``groups``."""
    type_ = MODEL.type(key)
    known: dict[str, Any] = {"groups": groups}
    for instance in type_.value_instances:
        text = Translator(MODEL, type_, str).text(instance.value)
        known[instance.id] = eval(text, {}, known)
    value: int = known["value"]
    return value


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "size"), [("varint32", 5), ("varint64", 10), ("unsigned_varint32", 5)]
)
@given(st.data())
def test_varints_are_what_the_specification_says(name: str, size: int, data: Any) -> None:
    groups = data.draw(st.lists(st.integers(0, 127), min_size=1, max_size=size))
    coded = bytes([*(group | 0x80 for group in groups[:-1]), groups[-1]])
    codec = PythonCodec()
    value, position = codec.parse(f"varint.{name}", coded)
    assert (value, position) == (_instance(f"varint.{name}", list(coded)), len(coded))
    written = codec.serialize(f"varint.{name}", value)
    assert len(written) <= len(coded)
    assert codec.parse(f"varint.{name}", written)[0] == value


# Expressions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3", "1 + 2 * 3"),
        ("(1 + 2) * 3", "(1 + 2) * 3"),
        ("1 - (2 - 3)", "1 - (2 - 3)"),
        ("7 / 2", "7 // 2"),
        ("(1 + 2) & 0xff", "(1 + 2) & 0xff"),
        ("1 << 3 | 4", "(1 << 3) | 4"),
        ("true ? 1 : false ? 2 : 3", "1 if True else (2 if False else 3)"),
        ("not (1 == 2) and 3 < 4", "not 1 == 2 and 3 < 4"),
        ("_io.eof or _ >= -1", "pos == end or value >= -1"),
        ("_.value - 1 <= _io.size - _io.pos", "value - 1 <= end - pos"),
        ("batch.attributes.compression", "batch.attributes.compression"),
        ("offset_delta.value + 1", "offset_delta + 1"),
        ("timestamp_type::log_append_time", "1"),
    ],
)
def test_expressions(text: str, expected: str) -> None:
    type_ = MODEL.type("recordbatch.record")
    translator = Translator(MODEL, type_, str, value="value", stream=Stream("pos", "end"))
    tree = expression.parse(text)
    translated = translator.text(tree)
    assert translated == expected
    if "_" not in text and "batch" not in text:
        assert eval(translated) is not None


def test_negations_read_well() -> None:
    translator = Translator(
        MODEL, MODEL.type("recordbatch.record"), str, stream=Stream("pos", "end")
    )
    for text, expected in [
        ("_io.eof", "pos != end"),
        ("1 < 2 and not (3 == 4)", "1 >= 2 or 3 == 4"),
        ("_io.eof or 1 == 2", "pos != end and 1 != 2"),
    ]:
        assert translator.negated(expression.parse(text)) == expected


def test_only_sums_that_may_leave_64_bits_are_wrapped() -> None:
    type_ = MODEL.type("recordbatch.record")
    translator = Translator(MODEL, type_, str, wrap=True)
    for text, expected in [
        ("batch.base_offset + offset_delta.value", "signed64(batch.base_offset + offset_delta)"),
        ("batch.base_sequence + offset_delta.value", "batch.base_sequence + offset_delta"),
        (
            "batch.base_offset - 1 + batch.base_offset",
            "signed64(batch.base_offset - 1 + batch.base_offset)",
        ),
    ]:
        assert translator.text(expression.parse(text)) == expected
    assert translator.interval(expression.parse("batch.base_offset")) == LONG
    assert translator.interval(expression.parse("-(offset_delta.value & 7)")) == (-7, 0)


# Specifications other than ours

SAMPLE = """\
meta: {id: sample, ks-version: '0.11', endian: be, bit-endian: be}
seq:
  - id: len_inner
    -derive: len(kind..high)
    type: u1
  - id: crc
    -derive: crc32(kind..uuid)
    type: u4
  - id: kind
    type: u1
    enum: kind
    valid:
      in-enum: true
  - id: low
    type: b4
  - id: high
    type: b12
    valid:
      max: 4000
  - id: uuid
    size: 4
  - id: num_numbers
    -derive: count(numbers) + 1
    type: u2
    valid:
      expr: _ >= 1
  - id: numbers
    type: s2
    repeat: expr
    repeat-expr: num_numbers - 1
  - id: limit
    -default: '7'
    type: s4
    if: kind == 1
  - id: points
    type: point
    repeat: eos
types:
  point:
    seq:
      - id: x
        type: s1
      - id: y
        type: u8
        valid:
          min: 1
enums:
  kind:
    1: {id: one}
    2: {id: two}
"""


@pytest.fixture
def sample(tmp_path: Path, build: Build) -> PythonCodec:
    (tmp_path / "spec").mkdir()
    (tmp_path / "spec" / "sample.ksy").write_text(SAMPLE, "utf-8")
    return build(tmp_path / "spec")


def _sample_bytes() -> bytes:
    inner = bytes.fromhex("01 5abc 0a0b0c0d")
    rest = bytes.fromhex("0003 0001 ffff 00000007 ff 0000000000000001 02 ffffffffffffffff")
    return bytes([3]) + zlib.crc32(inner).to_bytes(4, "big") + inner + rest


def test_shapes_that_our_specification_does_not_have(sample: PythonCodec) -> None:
    model = module_of(sample, "model.sample")
    made = model.Sample(
        kind=model.Kind.ONE,
        low=5,
        high=0xABC,
        uuid=b"\n\x0b\x0c\r",
        numbers=[1, -1],
        points=[model.Point(x=-1, y=1), model.Point(x=2, y=(1 << 64) - 1)],
    )
    assert made.limit == 7
    assert sample.serialize("sample.sample", made) == _sample_bytes()
    value, position = sample.parse("sample.sample", _sample_bytes())
    assert (value, position) == (made, len(_sample_bytes()))
    assert (value.len_inner, value.num_numbers) == (3, 3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "text", "reason", "offset", "path"),
    [
        (5, "03", "invalid_value", 5, "/kind"),
        (6, "5fff", "invalid_value", 6, "/high"),
        (12, "0000", "invalid_value", 12, "/num_numbers"),
        (12, "7fff", "truncated", 40, "/numbers/13"),
        (23, "0000000000000000", "invalid_value", 23, "/points/0/y"),
        (33, "", "truncated", 32, "/points/1/y"),
        (10, "", "truncated", 8, "/uuid"),
        (7, "", "truncated", 6, "/low"),
    ],
)
def test_errors_of_other_shapes(
    sample: PythonCodec, place: int, text: str, reason: str, offset: int, path: str
) -> None:
    data = bytearray(_sample_bytes())
    data[place : place + len(text) // 2] = bytes.fromhex(text)
    if not text:
        del data[place:]
    with pytest.raises(KafkaSpecError) as caught:
        sample.parse("sample.sample", bytes(data))
    error = caught.value
    assert (error.reason, error.position, error.path) == (reason, offset, path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"kind": 3}, "/kind"),
        ({"low": 16}, "/low"),
        ({"high": 4001}, "/high"),
        ({"uuid": b"abc"}, "/uuid"),
        ({"numbers": [0, 1 << 15]}, "/numbers/1"),
        ({"kind": 2, "limit": 7}, "/limit"),
        ({"limit": None}, "/limit"),
        ({"numbers": [0] * 70000}, "/num_numbers"),
    ],
)
def test_values_that_do_not_fit_a_shape(
    sample: PythonCodec, change: dict[str, Any], path: str
) -> None:
    value, _ = sample.parse("sample.sample", _sample_bytes())
    for name, wrong in change.items():
        setattr(value, name, wrong)
    with pytest.raises(KafkaSpecError) as caught:
        sample.serialize("sample.sample", value)
    assert (caught.value.reason, caught.value.path) == ("unencodable", path)


@pytest.mark.slow
def test_a_new_field_of_the_record_is_one_edit(tmp_path: Path, build: Build) -> None:
    codec = build(
        changed_spec(
            tmp_path,
            "      - id: offset_delta\n        -orig-id: offsetDelta\n",
            "      - id: origin\n        -default: '3'\n        type: u2\n"
            "        valid:\n          max: 9\n"
            "      - id: offset_delta\n        -orig-id: offsetDelta\n",
        )
    )
    model = module_of(codec, "model.recordbatch")
    batch = model.RecordBatch(
        base_offset=5,
        last_offset_delta=0,
        base_timestamp=10,
        max_timestamp=10,
        num_records=1,
        records=b"",
    )
    record = model.Record(batch=batch, timestamp_delta=1, offset_delta=2, value=b"v")
    record_set = model.RecordSet(batch=batch, records=[record])
    payload = codec.serialize("recordbatch.record_set", record_set)
    assert payload == bytes.fromhex("12 00 02 0003 04 01 02 76 00")
    assert codec.parse("recordbatch.record_set", payload, parameters=(batch,))[0] == record_set
    loop = module_of(codec, "records").decode_record_set
    assert loop(batch, payload) == [(7, 11, None, b"v", ())]
    assert loop(batch, payload.replace(b"\0\3", b"\0\x0a")) is None
    with pytest.raises(KafkaSpecError, match="origin"):
        codec.decode_records(batch, payload.replace(b"\0\3", b"\0\x0a"))


@pytest.mark.slow
def test_the_loop_gives_up_on_a_shape_that_it_is_not_made_for(tmp_path: Path, build: Build) -> None:
    codec = build(
        changed_spec(
            tmp_path,
            "      - id: offset_delta\n        -orig-id: offsetDelta\n",
            "      - id: origin\n        type: u1\n        if: attributes == 1\n"
            "      - id: offset_delta\n        -orig-id: offsetDelta\n",
        )
    )
    model = module_of(codec, "model.recordbatch")
    batch = model.RecordBatch(
        base_offset=5,
        last_offset_delta=0,
        base_timestamp=10,
        max_timestamp=10,
        num_records=1,
        records=b"",
    )
    assert module_of(codec, "records").decode_record_set(batch, b"") is None
    payload = bytes.fromhex("10 01 02 00 04 01 02 76 00")
    assert codec.decode_records(batch, payload) == [(7, 11, None, b"v", ())]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("type: b12", "type: b11", "bits: 15 bits "),
        ("id: low", "id: class", "reserved: class is "),
        (
            "    type: s2\n    repeat: expr",
            "    type: s2\n    valid: 3\n    repeat: expr",
            "valid: valid: is for numbers",
        ),
        (
            "-derive: crc32(kind..uuid)\n    type: u4",
            "-derive: crc32(kind..uuid)\n    size: 4",
            "derive: only an integer can be derived",
        ),
    ],
)
def test_the_linter_refuses_what_cannot_be_generated(
    tmp_path: Path, old: str, new: str, problem: str
) -> None:
    assert old in SAMPLE
    (tmp_path / "sample.ksy").write_text(SAMPLE.replace(old, new), "utf-8")
    model = load(tmp_path)
    modules = (names, derive) if problem.startswith(("bits", "derive")) else (shapes,)
    found = [p for module in modules for p in module.check(model)]
    assert any(f"{p.rule}: {p.message}".startswith(problem) for p in found), found


@pytest.mark.slow
def test_the_same_specification_gives_the_same_text() -> None:
    assert emit_python.emit(MODEL) == emit_python.emit(Model(MODEL.specs, MODEL.house))
