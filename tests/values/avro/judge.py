"""Apache Avro for Java reads random values of random schemas; its jars come with PySpark."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from tests.values.avro.made import shown_bytes, shown_float, shown_integer
from tools.brokers.maven import java_tool, jvm

_SOURCE = Path(__file__).with_name("AvroJudge.java")


def asked(questions: Iterable[tuple[str, str, list[bytes]]], work: Path) -> list[list[Any]]:
    """Return what Java makes of payloads: for each a dictionary with ``value`` or ``error``.

    Args:
        questions: writer's schema, reader's schema, payloads.
        work: an empty folder.
    """
    found = find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    jars = str(Path(found.origin).parent / "jars" / "*")
    compiler = [java_tool("javac"), "-nowarn", "-encoding", "UTF-8", "-cp", jars, "-d", str(work)]
    subprocess.run([*compiler, str(_SOURCE)], check=True)
    lines = "".join(
        json.dumps(
            {
                "writer": writer,
                "reader": reader,
                "rows": [base64.b64encode(row).decode() for row in rows],
            }
        )
        + "\n"
        for writer, reader, rows in questions
    )
    (work / "asked").write_text(lines, encoding="utf-8")
    with (work / "asked").open("rb") as file:
        done = subprocess.run(
            [*jvm(), "-Xmx256m", "-cp", f"{work}:{jars}", _SOURCE.stem],
            stdin=file,
            stdout=subprocess.PIPE,
            check=True,
        )
    return [json.loads(line) for line in done.stdout.decode().rstrip("\n").split("\n")]


class Said:
    """Turns Avro's JSON encoding into the form of expected lines.

    Args:
        schema: the schema as JSON.
    """

    def __init__(self, schema: Any) -> None:
        self._names: dict[str, Any] = {}
        self._schema = schema
        self._collect(schema)

    def value(self, value: Any) -> Any:
        """Return one value."""
        return self._value(value, self._schema)

    def _collect(self, schema: Any) -> None:
        if isinstance(schema, list):
            for branch in schema:
                self._collect(branch)
        elif isinstance(schema, dict):
            if "name" in schema:
                self._names[self._label(schema)] = schema
            for field in schema.get("fields", ()):
                self._collect(field["type"])
            for key in ("items", "values"):
                self._collect(schema.get(key))

    def _label(self, schema: Any) -> str:
        if isinstance(schema, str):
            return schema
        if "name" in schema:
            return f"{schema.get('namespace', '')}.{schema['name']}".lstrip(".")
        return str(schema["type"])

    def _value(self, value: Any, schema: Any) -> Any:
        if isinstance(schema, str):
            schema = self._names.get(schema, {"type": schema})
        if isinstance(schema, list):
            if value is None:
                return None
            ((label, inner),) = value.items()
            branch = next(branch for branch in schema if self._label(branch) == label)
            found = self._value(inner, branch)
            several = sum(self._label(branch) != "null" for branch in schema) > 1
            return {"union": label, "value": found} if several else found
        match schema["type"]:
            case "record":
                return {
                    field["name"]: self._value(value[field["name"]], field["type"])
                    for field in schema["fields"]
                }
            case "array":
                return [self._value(item, schema["items"]) for item in value]
            case "map":
                return {
                    "map": sorted(
                        [key, self._value(item, schema["values"])] for key, item in value.items()
                    )
                }
            case "int" | "long":
                return shown_integer(value, schema["type"], schema.get("logicalType"))
            case "float":
                return shown_float(np.float32(value).tobytes())
            case "double":
                return shown_float(np.float64(value).tobytes())
            case "bytes" | "fixed":
                return shown_bytes(value.encode("latin-1"), schema)
        return value
