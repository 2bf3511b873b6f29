"""Rows of real topics with JSON Schemas are what was given to their serializers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import kafkaspec as ks
from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.values.definition import Definition, SchemaType
from kafkaspec.values.json_schema import compile_json
from kafkaspec.values.options import Options

DATA = Path(__file__).parents[1] / "data"
_FRAME = LAYOUTS["schema_frame.id_frame"].minimum_size


def _definition(directory: Path, subject: str) -> Definition:
    """Return the last schema of a subject, by what the topic says and nothing else."""
    found = {}
    for record in ks.Partition(directory / "logs" / "_schemas-0").records():
        if record.value and '"schema"' in (text := bytes(record.value).decode()):
            value = json.loads(text)
            found[value["subject"]] = value
    wanted = found[subject]
    imports = [(each["name"], _definition(directory, each["subject"]))
               for each in wanted.get("references") or ()]  # fmt: skip
    return Definition(SchemaType.JSON, wanted["schema"], tuple(imports))


def _plain(row: Any, expected: Any) -> Any:
    """Return a row as the JSON that it was made of, for fields of the expected one."""
    if isinstance(row, list) and isinstance(expected, dict):  # a map
        return dict(row)
    if not isinstance(row, dict) or "_rest" not in row:
        return row
    others = json.loads(row["_rest"]) if row["_rest"] else {}
    found = {name: item for name, item in row.items() if name != "_rest"} | others
    assert all(found[name] is None for name in found.keys() - expected.keys())
    return {
        name: None if found[name] is None else _plain(found[name], item)
        for name, item in expected.items()
    }


@pytest.mark.parametrize("place", ["karapace/users", "confluent/cust"])
def test_expected_rows(place: str) -> None:
    directory, topic = DATA / place.partition("/")[0], place.partition("/")[2]
    decoder = compile_json(_definition(directory, f"{topic}-value"), Options())
    records = list(ks.Partition(directory / "logs" / f"{topic}-0").records())
    payloads = pa.array(
        [None if each.value is None else bytes(each.value)[_FRAME:] for each in records],
        pa.binary(),
    )
    found = decoder.decode(payloads)
    assert not found.failures
    lines = (directory / "expected" / f"{topic}.jsonl").read_text().splitlines()
    assert len(lines) == len(records)
    for line, row in zip(lines, found.values.to_pylist(), strict=True):
        expected = json.loads(line)["value"]
        if expected is None:
            assert row is None
            continue
        if (anything := expected.get("anything")) is not None:
            assert json.loads(row["anything"]) == anything
            row["anything"] = anything
        assert _plain(row, expected) == expected
