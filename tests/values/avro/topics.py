"""Avro records of the real topics: their bytes, their schemas, and what they mean."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from kafkaspec.log.segment import Segment
from kafkaspec.model import Record
from kafkaspec.values.avro import compile_avro
from kafkaspec.values.definition import Definition, SchemaType
from kafkaspec.values.options import Options

DATA = Path(__file__).parents[1] / "data"
"""The log directories and expected rows."""


def records(folder: str, topic: str) -> Iterator[tuple[int, Record]]:
    """Yield each record of a topic with the number of its partition."""
    for path in sorted((DATA / folder / "logs").glob(f"{topic}-[0-9]/*.log")):
        with Segment(path) as segment:
            for record in segment.records():
                yield int(path.parent.name.rpartition("-")[2]), record


def expected(folder: str, topic: str, kind: str = "expected") -> list[dict[str, Any]]:
    """Return the expected lines of a topic."""
    text = (DATA / folder / kind / f"{topic}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@cache
def registered(folder: str) -> dict[tuple[str, int], tuple[int, dict[str, Any]]]:
    """Return id and record of each version of a subject that is Avro, the last one written."""
    found = {}
    for _, record in records(folder, "_schemas"):
        key = json.loads(record.key or b"{}")
        if key.get("keytype") == "SCHEMA" and record.value:
            value = json.loads(record.value)
            if value.get("schemaType", "AVRO") == "AVRO":
                found[value["subject"], value["version"]] = value["id"], value
    return found


def definition(folder: str, subject: str, version: int) -> Definition:
    """Return a version of a subject."""
    _, value = registered(folder)[subject, version]
    imports = tuple(
        (item["name"], definition(folder, item["subject"], item["version"]))
        for item in value.get("references") or ()
    )
    return Definition(SchemaType.AVRO, value["schema"], imports)


def by_id(folder: str, number: int, prefix: str = "") -> Definition:
    """Return the schema of an id in the context whose subjects begin so."""
    return next(
        definition(folder, *name)
        for name, (found, _) in registered(folder).items()
        if found == number and name[0].startswith(prefix) and (prefix or name[0][0] != ":")
    )


def arrow_type(definition: Definition, options: Options | None = None) -> pa.DataType:
    """Return the type of the column that a schema's values become."""
    return compile_avro(definition, options=options).type
