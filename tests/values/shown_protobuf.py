"""Protobuf values from Arrow, as the expected lines of tests/values/data have them."""

from __future__ import annotations

import base64
import json
import math
from typing import Any

import pyarrow as pa


def shown(value: pa.Scalar, descriptor: Any) -> Any:
    """Return a value in the form of expected lines.

    Args:
        value: a message, from a decoder.
        descriptor: descriptor of the message, as Google's library has it.
    """
    if not value.is_valid:
        return None
    name = descriptor.full_name
    if name in ("google.protobuf.Timestamp", "google.protobuf.Duration"):
        seconds, rest = divmod(value.value, 1_000_000)
        if name.endswith("Duration") and seconds < 0 and rest:
            seconds, rest = seconds + 1, rest - 1_000_000
        return {"seconds": seconds, "nanos": rest * 1000}
    if name in ("google.protobuf.Struct", "google.protobuf.Value", "google.protobuf.ListValue"):
        return {"json": json.loads(value.as_py())}
    if name == "google.protobuf.FieldMask":
        return {"paths": value.as_py()}
    if descriptor.file.name == "google/protobuf/wrappers.proto":
        return {"value": _single(value, descriptor.fields_by_number[1])}
    return {field.name: _field(value[field.name], field) for field in descriptor.fields}


def truncated(expected: Any) -> Any:
    """Return an expected value with times in whole microseconds, as our columns have them."""
    if isinstance(expected, list):
        return [truncated(one) for one in expected]
    if not isinstance(expected, dict):
        return expected
    if expected.keys() == {"seconds", "nanos"}:
        nanos = expected["nanos"]
        return {"seconds": expected["seconds"], "nanos": int(nanos / 1000) * 1000}
    return {name: truncated(one) for name, one in expected.items()}


def _field(value: pa.Scalar, field: Any) -> Any:
    if pa.types.is_map(value.type):
        key, item = field.message_type.fields_by_number[1], field.message_type.fields_by_number[2]
        entries = value.values
        pairs = [
            [_single(one["key"], key), _single(one["value"], item)]
            for one in (entries[place] for place in range(len(entries)))
        ]
        return {"map": sorted(pairs, key=lambda pair: pair[0])}
    if field.is_repeated:
        return [_single(value.values[place], field) for place in range(len(value.values))]
    return _single(value, field)


def _single(value: pa.Scalar, field: Any) -> Any:
    if not value.is_valid:
        return None
    if field.message_type is not None:
        return shown(value, field.message_type)
    found = value.as_py()
    if field.enum_type is not None:
        names = field.enum_type.values_by_name
        return found if found in names else {"unknown_enum": int(found)}
    if isinstance(found, bytes):
        return {"base64": base64.b64encode(found).decode()}
    if isinstance(found, float) and not math.isfinite(found):
        return {"float": "NaN" if math.isnan(found) else "Infinity" if found > 0 else "-Infinity"}
    return found
