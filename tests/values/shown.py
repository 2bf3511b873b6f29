"""Avro values of Arrow arrays in the form of ``data/README.md``, without our reading of schemas."""

from __future__ import annotations

import base64
import json
import math
import uuid
from typing import Any

import numpy as np
import pyarrow as pa

from kafkaspec.values.definition import Definition

_PRIMITIVE = {"null", "boolean", "int", "long", "float", "double", "bytes", "string"}
_MICROS = {"s": 1_000_000, "ms": 1_000, "us": 1}


class Shown:
    """Shows values of one Avro schema.

    Args:
        definition: the schema.
    """

    def __init__(self, definition: Definition) -> None:
        self._names: dict[str, Any] = {}
        self._root = self._load(definition)

    def rows(self, array: pa.Array) -> list[Any]:
        """Return each value as the expected lines have it."""
        return [self._value(item, self._root) for item in array]

    def _load(self, definition: Definition) -> Any:
        for _, imported in definition.imports:
            self._load(imported)
        return self._define(json.loads(definition.text), "")

    def _define(self, schema: Any, space: str) -> Any:
        """Return a schema with full names in all places."""
        if isinstance(schema, list):
            return [self._define(branch, space) for branch in schema]
        if isinstance(schema, str):
            if schema in _PRIMITIVE or "." in schema:
                return schema
            full = f"{space}.{schema}" if space else schema
            return full if full in self._names else schema
        schema = dict(schema)
        if isinstance(schema["type"], dict | list):
            return self._define(schema["type"], space)
        if schema["type"] == "array":
            schema["items"] = self._define(schema["items"], space)
        elif schema["type"] == "map":
            schema["values"] = self._define(schema["values"], space)
        elif "name" in schema:
            name = schema["name"]
            space = name.rpartition(".")[0] if "." in name else schema.get("namespace", space)
            schema["name"] = name if "." in name or not space else f"{space}.{name}"
            self._names[schema["name"]] = schema
            schema["fields"] = [
                item | {"type": self._define(item["type"], space)}
                for item in schema.get("fields", ())
            ]
        elif schema["type"] not in _PRIMITIVE:
            return self._define(schema["type"], space)
        return schema

    def _resolved(self, schema: Any) -> Any:
        while isinstance(schema, str):
            schema = {"type": schema} if schema in _PRIMITIVE else self._names[schema]
        return schema

    def _label(self, schema: Any) -> str:
        schema = self._resolved(schema)
        return str(schema.get("name") or schema["type"])

    def _value(self, value: pa.Scalar, schema: Any) -> Any:
        schema = self._resolved(schema)
        if not value.is_valid:
            return None
        if isinstance(schema, list):
            return self._branch(value, schema)
        kind = schema["type"]
        if kind in {"record", "error"}:
            if pa.types.is_string(value.type):
                return self._json(json.loads(value.as_py()), schema)
            return {
                item["name"]: self._value(value[item["name"]], item["type"])
                for item in schema["fields"]
            }
        if kind == "array":
            return [self._value(item, schema["items"]) for item in value.values]
        if kind == "map":
            entries = value.values
            pairs = [
                [key.as_py(), self._value(item, schema["values"])]
                for key, item in zip(entries.field(0), entries.field(1), strict=True)
            ]
            return {"map": sorted(pairs, key=lambda pair: pair[0])}
        return _leaf(value)

    def _branch(self, value: pa.Scalar, schema: list[Any]) -> Any:
        branches = [branch for branch in schema if self._label(branch) != "null"]
        if len(branches) == 1:
            return self._value(value, branches[0])
        if isinstance(value, pa.UnionScalar):
            inner = value.value
            if not inner.is_valid:
                return None
            branch = branches[value.type_code]
        else:
            ((branch, inner),) = (
                (branch, value[number])
                for number, branch in enumerate(branches)
                if value[number].is_valid
            )
        return {"union": self._label(branch), "value": self._value(inner, branch)}

    def _json(self, value: Any, schema: Any) -> Any:
        """Show a value of Avro's JSON encoding, without logical types."""
        schema = self._resolved(schema)
        if isinstance(schema, list):
            if value is None:
                return None
            ((name, inner),) = value.items()
            branch = next(branch for branch in schema if self._label(branch) == name)
            found = self._json(inner, branch)
            several = len([branch for branch in schema if self._label(branch) != "null"]) > 1
            return {"union": name, "value": found} if several else found
        kind = schema["type"]
        if kind in {"record", "error"}:
            return {
                item["name"]: self._json(value[item["name"]], item["type"])
                for item in schema["fields"]
            }
        if kind == "array":
            return [self._json(item, schema["items"]) for item in value]
        if kind == "map":
            pairs = [[key, self._json(item, schema["values"])] for key, item in value.items()]
            return {"map": sorted(pairs, key=lambda pair: pair[0])}
        if kind in {"bytes", "fixed"}:
            return _base64(value.encode("latin-1"))
        if kind in {"float", "double"} and isinstance(value, str):
            return {"float": value}
        return value


def _leaf(value: pa.Scalar) -> Any:
    seen = value.type
    if pa.types.is_decimal(seen):
        return {"decimal": format(value.as_py(), "f")}
    if pa.types.is_date(seen):
        return {"date": str(np.datetime64(value.value, "D"))}
    if pa.types.is_time(seen):
        return {"time_us": value.value * _MICROS[seen.unit]}
    if pa.types.is_timestamp(seen):
        name = "timestamp" if seen.tz else "local_timestamp"
        if seen.unit == "ns":
            return {f"{name}_ns": value.value}
        return {f"{name}_us": value.value * _MICROS[seen.unit]}
    if pa.types.is_struct(seen):
        return {"duration": list(value.as_py().values())}
    found = value.as_py()
    if isinstance(found, uuid.UUID):
        return str(found)
    if isinstance(found, bytes):
        return _base64(found)
    if isinstance(found, float) and not math.isfinite(found):
        return {"float": "NaN" if math.isnan(found) else "Infinity" if found > 0 else "-Infinity"}
    return found


def _base64(value: bytes) -> dict[str, str]:
    return {"base64": base64.b64encode(value).decode()}
