"""Random schemas: all at once and one by one give what was written."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from kafkaspec.values.avro import compile_avro
from kafkaspec.values.decoded import Decoded, Decoder, Failure
from kafkaspec.values.definition import Definition, SchemaType
from kafkaspec.values.options import Bounds, Options
from tests.extent import examples
from tests.loops import each
from tests.values.avro.made import Maker, text
from tests.values.shown import Shown

ROWS = 40
"""Enough that they are read at once; a few are read one by one."""
_FEW = 10


def one_by_one(decoder: Decoder, payloads: list[bytes | None]) -> Decoded:
    """Decode a few payloads at a time."""
    parts = []
    failures: dict[int, Failure] = {}
    for begin in range(0, len(payloads), _FEW):
        found = decoder.decode(pa.array(payloads[begin : begin + _FEW], pa.binary()))
        parts.append(found.values)
        failures |= {begin + row: failure for row, failure in found.failures.items()}
    return Decoded(pa.concat_arrays(parts), failures)


def _definition(schema: Any) -> Definition:
    return Definition(SchemaType.AVRO, text(schema))


@pytest.mark.slow
@each("seed", range(examples(200)))
def test_values(seed: int) -> None:
    maker = Maker(seed)
    definition = _definition(maker.schema())
    schema = json.loads(definition.text)
    made = [maker.value(schema) for _ in range(ROWS)]
    payloads: list[bytes | None] = [raw for raw, _ in made]
    decoder = compile_avro(definition)
    found = decoder.decode(pa.array(payloads, pa.binary()))
    found.values.validate(full=True)
    assert not found.failures
    assert Shown(definition).rows(found.values) == [shown for _, shown in made]
    exact = one_by_one(decoder, payloads)
    assert not exact.failures
    assert Shown(definition).rows(exact.values) == [shown for _, shown in made]


@pytest.mark.slow
@each("seed", range(examples(100)))
def test_evolution_both_ways(seed: int) -> None:
    maker = Maker(seed)
    written = maker.schema()
    payloads: list[bytes | None] = [maker.value(written)[0] for _ in range(ROWS)]
    reader = _definition(maker.other(written))
    decoder = compile_avro(_definition(written), reader)
    _both_ways(decoder, payloads, reader)


@pytest.mark.slow
@each("seed", range(examples(60)))
def test_bounds_both_ways(seed: int) -> None:
    maker = Maker(seed)
    written = maker.schema()
    payloads: list[bytes | None] = [maker.value(written)[0] for _ in range(ROWS)]
    for schema in (written, maker.other(written)):
        reader = _definition(schema)
        options = Options(bounds=Bounds(items=seed % 8, depth=1 + seed % 3))
        decoder = compile_avro(_definition(written), reader, options)
        _both_ways(decoder, payloads, reader)


@pytest.mark.slow
@each("seed", range(examples(100)))
def test_damage_both_ways(seed: int) -> None:
    """Damaged rows fail alike, or have the same value; all others keep theirs."""
    maker, random = Maker(seed), Random(seed)
    # In a record, since bytes alone may or may not have a length.
    schema = {"type": "record", "name": "Root", "fields": [{"name": "f", "type": maker.schema()}]}
    definition = _definition(schema)
    made = [maker.value(schema) for _ in range(ROWS)]
    payloads: list[bytes | None] = [raw for raw, _ in made]
    damaged = random.sample(range(ROWS), 15)
    for row in damaged:
        payloads[row] = _damaged(made[row][0], random)
    failed = _both_ways(compile_avro(definition), payloads, definition)
    rows = [row for row in range(ROWS) if row not in damaged]
    assert not failed & set(rows)
    found = compile_avro(definition).decode(pa.array(payloads, pa.binary())).values
    assert Shown(definition).rows(found.take(rows)) == [made[row][1] for row in rows]


def _damaged(raw: bytes, random: Random) -> bytes | None:
    place = random.randrange(len(raw) + 1)
    return random.choice(
        [
            None,
            b"",
            raw[:place],
            raw[:place] + random.randbytes(1) + raw[place + 1 :],
            raw[:place] + random.choice([b"\xff", b"\x80", b"\0", b"\1"]) + raw[place:],
            raw[:place] + b"\xff" * random.randrange(12) + raw[place:],
            raw + random.randbytes(2),
            random.randbytes(len(raw)),
        ]
    )


def _both_ways(decoder: Decoder, payloads: list[bytes | None], shown: Definition) -> set[int]:
    found = decoder.decode(pa.array(payloads, pa.binary()))
    found.values.validate(full=True)
    exact = one_by_one(decoder, payloads)
    assert found.failures == exact.failures
    assert found.values.type == exact.values.type == decoder.type
    assert Shown(shown).rows(found.values) == Shown(shown).rows(exact.values)
    for row, payload in enumerate(payloads):
        if payload is None or row in found.failures:
            assert found.values[row].as_py() is None
    return set(found.failures)
