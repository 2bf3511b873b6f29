"""Real Avro topics give the rows that went into them."""

from __future__ import annotations

import struct
from collections import defaultdict
from typing import Any

import pyarrow as pa
import pytest

from kafkaspec.values.avro import compile_avro
from kafkaspec.values.decoded import Code
from kafkaspec.values.definition import Definition, SchemaError
from kafkaspec.values.options import Options
from tests.loops import each
from tests.values.avro.topics import arrow_type, by_id, definition, expected, records
from tests.values.shown import Shown

_TOPICS = (
    ("karapace", "orders"),
    ("karapace", "every-type"),
    ("karapace", "tree"),
    ("karapace", "events"),
    ("karapace", "headers"),
    ("confluent", "people"),
    ("confluent", "people-copy"),
    ("confluent", "raw"),
    ("confluent", "ctx-people"),
)
_LATEST = (("karapace", "orders", "orders-value", 3), ("confluent", "people", "people-value", 2))

_Row = tuple[int, int]


def _payloads(
    folder: str, topic: str, part: str, lines: list[dict[str, Any]]
) -> dict[int, dict[_Row, bytes]]:
    """Return payloads by id: after the frame, or bare where the id is in a header."""
    ids = {
        (line.get("partition", 0), line["offset"]): line.get(f"{part}_schema_id") for line in lines
    }
    found: dict[int, dict[_Row, bytes]] = defaultdict(dict)
    for partition, record in records(folder, topic):
        raw = getattr(record, part)
        number = ids.get((partition, record.offset))
        if raw is None or number is None:
            continue
        if topic != "headers":
            assert struct.unpack(">bi", raw[:5]) == (0, number)
            raw = raw[5:]
        found[number][partition, record.offset] = raw
    return found


def _decoded(
    payloads: dict[_Row, bytes],
    writer: Definition,
    reader: Definition | None = None,
    options: Options | None = None,
) -> dict[_Row, Any]:
    array = pa.array(payloads.values(), pa.binary())
    decoder = compile_avro(writer, reader, options)
    found = decoder.decode(array)
    found.values.validate(full=True)
    assert found.values.type == decoder.type == arrow_type(reader or writer, options)
    assert not found.failures
    return dict(zip(payloads, Shown(reader or writer).rows(found.values), strict=True))


@pytest.mark.parametrize("unions", ["struct", "dense_union"])
@pytest.mark.parametrize("recursion", [1, 3])
@each("folder,topic", _TOPICS)
def test_rows(folder: str, topic: str, unions: Any, recursion: int) -> None:
    lines = expected(folder, topic)
    options = Options(depth=recursion, unions=unions)
    for part in ("key", "value"):
        wanted = {
            (line["partition"], line["offset"]): line[part]
            for line in lines
            if line.get(f"{part}_schema_id") is not None
        }
        found: dict[_Row, Any] = {}
        for number, payloads in _payloads(folder, topic, part, lines).items():
            prefix = ":.ctx:" if topic.startswith("ctx-") else ""
            found |= _decoded(payloads, by_id(folder, number, prefix), options=options)
        assert found == {row: wanted[row] for row in found}
        assert part == "key" or found


@each("folder,topic,subject,version", _LATEST)
def test_rows_of_the_newest_schema(folder: str, topic: str, subject: str, version: int) -> None:
    if folder == "karapace":
        lines = expected(folder, topic, "expected-latest")
        wanted = {(line["partition"], line["offset"]): line["value"] for line in lines}
    else:
        lines = expected(folder, topic)
        wanted = {(line["partition"], line["offset"]): line["latest"] for line in lines}
    reader = definition(folder, subject, version)
    found: dict[_Row, Any] = {}
    for number, payloads in _payloads(folder, topic, "value", lines).items():
        found |= _decoded(payloads, by_id(folder, number), reader)
    assert found == {row: wanted[row] for row in found}
    assert len(found) > 5


def test_bad_rows() -> None:
    codes = {
        "truncated": Code.TRUNCATED,
        "trailing": Code.TRAILING,
        "five-bytes": Code.TRUNCATED,
        "string-length-lies": Code.TRUNCATED,
        "bad-utf8": Code.BAD_UTF8,
        "varint-too-long": Code.MALFORMED,
    }
    rows = {
        (record.key or b"").decode(): record.value or b""
        for _, record in records("karapace", "bad")
    }
    names = ["ok", *codes]
    payloads = [rows[name][5:] for name in names]
    found = compile_avro(definition("karapace", "web.Click", 1)).decode(
        pa.array(payloads, pa.binary())
    )
    assert {names[row]: failure.code for row, failure in found.failures.items()} == codes
    assert found.values.to_pylist() == [{"url": "/ok", "ms": 1}] + [None] * len(codes)


def test_recursion_has_to_be_asked_for() -> None:
    with pytest.raises(SchemaError, match=r"rec\.Node is within itself"):
        compile_avro(definition("karapace", "tree-value", 1))
