"""JSON that is damaged or made to harm: a failure for its row, and the others are read."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from kafkaspec.values.decoded import Code, Decoder
from kafkaspec.values.definition import Definition, SchemaType
from kafkaspec.values.json_schema import compile_json, infer_json
from kafkaspec.values.json_schema.reading import JsonDecoder
from kafkaspec.values.options import Bounds, Options

_SCHEMA = {
    "properties": {
        "i": {"type": "integer"},
        "n": {"type": "number"},
        "s": {"type": "string"},
        "l": {"type": "array", "items": {"type": "integer"}},
        "o": {"properties": {"x": {"type": "integer"}}},
    }
}
_OPTIONS = Options(bounds=Bounds(items=1000))

ROWS: tuple[tuple[bytes, Code | None], ...] = (
    (b"{}", None),
    (b"", Code.TRUNCATED),
    (b"  ", Code.TRUNCATED),
    (b'{"i":', Code.TRUNCATED),
    (b'{"s":"abc', Code.TRUNCATED),
    (b'{"i":1}{"i":2}', Code.TRAILING),
    (b'{"i":1} x', Code.TRAILING),
    (b'{"i":1}\n{"i":2}', Code.TRAILING),
    (b'{"s":"\xff"}', Code.BAD_UTF8),
    (b'{"s":"\\ud800"}', Code.BAD_UTF8),
    (b'{"s":"a\nb"}', Code.MALFORMED),
    (b'{"i":NaN}', Code.MALFORMED),
    (b'{"n":-Infinity}', Code.MALFORMED),
    (b'{"n":1e400}', Code.RANGE),
    (b'{"i":9223372036854775808}', Code.RANGE),
    (b'{"i":-9223372036854775809}', Code.RANGE),
    (b'{"i":1e999999}', Code.RANGE),
    (b'{"i":' + b"9" * 10_000 + b"}", Code.RANGE),
    (b'{"i":1e300}', Code.RANGE),
    (b'{"i":1.5}', Code.MALFORMED),
    (b'{"i":9007199254740993.5}', Code.MALFORMED),
    (b'{"i":true}', Code.MALFORMED),
    (b'{"i":"1"}', Code.MALFORMED),
    (b'{"s":1}', Code.MALFORMED),
    (b'{"o":[]}', Code.MALFORMED),
    (b"[]", Code.MALFORMED),
    (b"[" * 100_000, Code.DEPTH),
    (b'{"x":' * 100_000, Code.DEPTH),
    (b'{"x":' + b"[" * 70 + b"]" * 70 + b"}", Code.DEPTH),
    (b'{"l":[' + b"1," * 2000 + b"1]}", Code.BOUND),
    (b'{"s":"' + b"[" * 500 + b'"}', None),
    (b'{"s":"' + b"," * 2000 + b'"}', None),
    (b'{"i":1,"i":2}', None),
    (b'{"i":9007199254740993.0}', None),
    (b'{"i":1e3}', None),
    (b'{"n":1' + b"0" * 300 + b"}", None),
    (b'\t{"i"\r:\n1 }\n', None),
)


def _decoder() -> Decoder:
    return compile_json(Definition(SchemaType.JSON, json.dumps(_SCHEMA)), _OPTIONS)


def test_each_row() -> None:
    decoder = _decoder()
    payloads = pa.array([data for data, _ in ROWS], pa.binary())
    found = decoder.decode(payloads)
    for row, (data, code) in enumerate(ROWS):
        alone = decoder.decode(payloads.slice(row, 1))
        for failure in (found.failures.get(row), alone.failures.get(0)):
            assert (failure and failure.code) == code, data[:60]
        assert found.values[row].is_valid == (code is None)
        assert alone.values[0] == found.values[row]
    rows = {data: found.values[row].as_py() for row, (data, _) in enumerate(ROWS)}
    assert rows[b'{"i":1,"i":2}']["i"] == 2
    assert rows[b'{"i":9007199254740993.0}']["i"] == 9007199254740993
    assert rows[b'{"i":1e3}']["i"] == 1000


def test_any_json_is_its_text() -> None:
    decoder = compile_json(None, Options())
    good = [b'{"a" : 1.0}', b"null", b" [1e5]", b'"\xc3\xbc"']
    found = decoder.decode(pa.array([*good, None, b"{", b"[" * 9999], pa.binary()))
    assert found.values.to_pylist() == [*(data.decode() for data in good), None, None, None]
    assert {row: each.code for row, each in found.failures.items()} == {
        5: Code.TRUNCATED,
        6: Code.DEPTH,
    }


def test_output_is_bounded() -> None:
    options = Options(bounds=Bounds(output_bytes=1 << 20))
    wide = {"properties": {f"p{number}": {"type": "integer"} for number in range(1000)}}
    decoder = compile_json(Definition(SchemaType.JSON, json.dumps(wide)), options)
    found = decoder.decode(pa.array([b"{}"] * 1000, pa.binary()))
    assert len(found.values) == found.values.null_count == len(found.failures) == 1000
    assert {each.code for each in found.failures.values()} == {Code.BOUND}
    assert not decoder.decode(pa.array([b"{}"] * 100, pa.binary())).failures


@pytest.mark.parametrize("kind", [pa.int64(), pa.string()])
def test_a_type_from_a_sample(kind: pa.DataType) -> None:
    texts = [b'{"a":1,"b":[{"c":null}],"d":{}}', b'{"a":2,"e":true}', b"x", None]
    if kind == pa.string():
        texts.append(b'{"a":"mixed"}')
    sample = pa.array(texts, pa.binary())
    decoder = infer_json(sample, Options())
    inner = pa.struct([("c", pa.string()), ("_rest", pa.string())])
    assert decoder.type == pa.struct(
        [("a", kind), ("b", pa.list_(inner)), ("d", pa.string()), ("e", pa.bool_()),
         ("_rest", pa.string())]
    )  # fmt: skip
    found = decoder.decode(pa.array([b'{"a":2,"new":[1]}'], pa.binary()))
    assert found.values[0].as_py()["_rest"] == '{"new":[1]}'
    assert infer_json(pa.array([b"1", b"{}"], pa.binary()), Options()).type == pa.string()


def test_few_rows_with_other_properties() -> None:
    """Rows with what the schema has not, and damaged ones, do not disturb the others."""
    decoder = _decoder()
    assert isinstance(decoder, JsonDecoder)
    rows: list[bytes | None] = []
    for row in range(2000):
        more = '"more":{"x":null},' if row % 50 == 7 else '"\\u006dore":1,' if row == 999 else ""
        inner = ',"y":2' if row % 100 == 9 else ""
        text = f'{{{more}"i":{row},"o":{{"x":1{inner}}}}}'
        rows.append(b"{" if row == 1234 else None if row % 300 == 5 else text.encode())
    for payloads in (pa.array(rows, pa.binary()), pa.array([b"{}", *rows], pa.binary()).slice(1)):
        found, exact = decoder.decode(payloads), decoder.decode_by_row(payloads)
        assert found.values.equals(exact.values)
        assert found.failures == exact.failures
        assert list(found.failures) == [1234]
    assert found.values[7].as_py()["_rest"] == '{"more":{"x":null}}'
    assert found.values[999].as_py()["_rest"] == '{"more":1}'
    assert found.values[9].as_py()["o"]["_rest"] == '{"y":2}'
