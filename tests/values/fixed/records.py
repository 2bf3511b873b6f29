"""Keys, values and headers of the topics in ``tests/values/data``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

import kafkaspec as ks
from kafkaspec.values.decoded import Code, Decoded, Decoder
from kafkaspec.values.fixed import RecordDecoder, fixed
from kafkaspec.values.options import Options

DATA = Path(__file__).parents[1] / "data" / "karapace"
_HEADER = pa.struct([("key", pa.string()), ("value", pa.binary())])


class Records(NamedTuple):
    """Columns of a partition."""

    keys: pa.Array
    values: pa.Array
    headers: pa.Array


def records(topic: str) -> Records:
    """Return the records of partition 0 of a topic."""
    found = list(ks.Partition(DATA / "logs" / f"{topic}-0").records())
    headers = [
        [{"key": key, "value": _bytes(value)} for key, value in each.headers] for each in found
    ]
    return Records(
        octets(*(_bytes(each.key) for each in found)),
        octets(*(_bytes(each.value) for each in found)),
        pa.array(headers, pa.list_(_HEADER)),
    )


def expected(topic: str) -> list[dict[str, Any]]:
    """Return the lines that say what was given to serializers."""
    text = (DATA / "expected" / f"{topic}.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def octets(*rows: bytes | None) -> pa.Array:
    """Return rows as an array of bytes."""
    return pa.array(rows, pa.binary())


def decode(name: str, rows: pa.Array, sample: pa.Array | None = None) -> Decoded:
    """Return rows as a fixed format; whatever they are, their column is sound and as long."""
    decoder = fixed(name, Options(), sample=sample)
    assert not isinstance(decoder, RecordDecoder)
    return sound(decoder, decoder.decode(rows), rows)


def decode_records(name: str, found: Records) -> Decoded:
    """Return records as a fixed format."""
    decoder = fixed(name, Options())
    assert isinstance(decoder, RecordDecoder)
    return sound(decoder, decoder.decode_records(found.values, found.headers), found.values)


def sound(decoder: Decoder | RecordDecoder, decoded: Decoded, rows: pa.Array) -> Decoded:
    """Return what was decoded, after laws that hold for each row."""
    decoded.values.validate(full=True)
    assert decoded.values.type == decoder.type
    assert len(decoded.values) == len(rows)
    for row in decoded.failures:
        assert not decoded.values[row].is_valid
        assert rows[row].is_valid
    return decoded


def codes(decoded: Decoded) -> dict[int, Code]:
    """Return the codes of failures by row."""
    return {row: failure.code for row, failure in decoded.failures.items()}


def _bytes(value: Any) -> bytes | None:
    return None if value is None else bytes(value)
