"""Apache Avro for Java reads random values as we do, by their own schema and by others."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kafkaspec.values.avro import compile_avro
from kafkaspec.values.decoded import Code
from kafkaspec.values.definition import Definition, SchemaType
from kafkaspec.values.options import Options
from tests.values.avro.judge import Said, asked
from tests.values.avro.made import Maker, text
from tests.values.avro.test_random import ROWS
from tests.values.shown import Shown

_SEEDS = int(os.environ.get("AVRO_SCHEMAS") or 15)
"""Schemas of two kinds, and as many that these are read as; ``make avro-judge`` takes 1,000."""

pytestmark = [pytest.mark.slow, pytest.mark.spark]


def test_java(tmp_path: Path) -> None:
    cases: list[tuple[Any, Any, list[bytes], Options]] = []
    for seed in range(_SEEDS):
        for recursion in (False, True):
            maker = Maker(seed, logical=not recursion, recursion=recursion)
            schema: dict[str, Any] = {"type": "record", "name": "Root", "namespace": ""}
            schema["fields"] = [{"name": "f", "type": maker.schema()}]
            rows = [maker.value(schema)[0] for _ in range(ROWS)]
            options = Options(depth=int(recursion))
            cases.append((schema, schema, rows, options))
            cases.append((schema, maker.other(schema), rows, options))
    answers = asked(((text(w), text(r), rows) for w, r, rows, _ in cases), tmp_path)
    wrong = []
    read = refused = 0
    for (writer, reader, rows, options), answer in zip(cases, answers, strict=True):
        definition = Definition(SchemaType.AVRO, text(reader))
        decoder = compile_avro(Definition(SchemaType.AVRO, text(writer)), definition, options)
        found = decoder.decode(pa.array(rows, pa.binary()))
        said = Said(json.loads(text(reader)))
        assert not isinstance(answer[0], str), (answer, text(writer), text(reader))
        shown = Shown(definition).rows(found.values)
        for row, one in enumerate(answer):
            if "error" in one:
                refused += 1
                # A row may have both: we stop at the first.
                codes = {Code.RESOLUTION, Code.BAD_UTF8}
                fits = row in found.failures and found.failures[row].code in codes
            else:
                read += 1
                fits = row not in found.failures and shown[row] == said.value(one["value"])
                if row in found.failures and found.failures[row].code == Code.BAD_UTF8:
                    # Bytes as a string: Java puts another character for what is not UTF-8.
                    fits = "\ufffd" in json.dumps(one["value"], ensure_ascii=False)
            if not fits:
                wrong.append(
                    (text(writer), text(reader), row, one, shown[row], found.failures.get(row))
                )
                break
    assert not wrong, f"{len(wrong)} of {len(cases)}: {wrong[0]}"
    assert read > refused > 0
