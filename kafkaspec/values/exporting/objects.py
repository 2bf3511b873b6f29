"""Values of typed columns as JSON has them."""

from __future__ import annotations

import math
from base64 import b64encode
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc


def json_lines(batch: pa.RecordBatch) -> bytes:
    """Return a JSON object for each row, a line each.

    Dates and times are in ISO 8601, decimals and durations (in seconds) are text, bytes are a
    string where they are UTF-8 and ``{"base64": "..."}`` where they are not, numbers that JSON does
    not have are ``"NaN"``, ``"Infinity"`` and ``"-Infinity"``. A map is an object if its keys are
    text, else pairs. The time of a record (``timestamp``) is in ms since the epoch, and headers
    are pairs, as wherever records are shown as JSON here.
    """
    names = batch.schema.names
    columns = [_column(name, array) for name, array in zip(names, batch.columns, strict=True)]
    rows = zip(*columns, strict=True)
    return b"".join(
        orjson.dumps(dict(zip(names, row, strict=True)), option=orjson.OPT_APPEND_NEWLINE)
        for row in rows
    )


def _column(name: str, array: pa.Array) -> list[Any]:
    if name == "timestamp":
        return list(array.cast(pa.int64()).to_pylist())
    if name == "headers":
        pairs = objects(array.flatten())
        return _lists(array, [[pair["key"], pair["value"]] for pair in pairs])
    return objects(array)


def objects(array: pa.Array) -> list[Any]:
    """Return the values of an array as objects that JSON has."""
    kind = array.type
    types = pa.types
    if isinstance(array, pa.ExtensionArray):
        return _extension(array)
    if types.is_dictionary(kind):
        shown = objects(array.dictionary)
        return [None if code is None else shown[code] for code in array.indices.to_pylist()]
    if types.is_struct(kind):
        return _structs(array)
    if types.is_map(kind):
        return _maps(array)
    if types.is_list(kind) or types.is_large_list(kind):
        return _lists(array, objects(array.flatten()))
    if types.is_union(kind):
        return [_plain(item) for item in array.to_pylist()]
    return _leaves(array)


def _leaves(array: pa.Array) -> list[Any]:
    kind = array.type
    types = pa.types
    if types.is_floating(kind):
        return _floats(array)
    if types.is_binary(kind) or types.is_fixed_size_binary(kind) or types.is_binary_view(kind):
        return _octets(array)
    if types.is_timestamp(kind):
        text = pc.strftime(array, "%Y-%m-%dT%H:%M:%S")
        return list((pc.binary_join_element_wise(text, "Z", "") if kind.tz else text).to_pylist())
    if types.is_duration(kind):
        return [None if item is None else _seconds(item) for item in _counts(array)]
    if types.is_temporal(kind) or types.is_decimal(kind):
        return list(array.cast(pa.string()).to_pylist())
    return list(array.to_pylist())


def _counts(array: pa.Array) -> list[int | None]:
    """Return durations in microseconds."""
    return list(array.cast(pa.duration("us")).cast(pa.int64()).to_pylist())


def _seconds(microseconds: int) -> str:
    whole, rest = divmod(abs(microseconds), 1_000_000)
    text = f"{whole}.{rest:06}".rstrip("0").rstrip(".")
    return f"{'-' * (microseconds < 0)}{text}s"


def _floats(array: pa.Array) -> list[Any]:
    values = array.to_pylist()
    finite = pc.all(pc.is_finite(array), skip_nulls=True).as_py()
    if finite is not False:
        return list(values)
    return [value if value is None else _number(value) for value in values]


def _number(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")


def _octets(array: pa.Array) -> list[Any]:
    return [None if item is None else octets(item) for item in array.to_pylist()]


def octets(data: bytes) -> str | dict[str, str]:
    """Return bytes as JSON has them here."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": b64encode(data).decode("ascii")}


def _extension(array: pa.ExtensionArray) -> list[Any]:
    return [None if item is None else str(item) for item in array.to_pylist()]


def _structs(array: pa.StructArray) -> list[Any]:
    names = [field.name for field in array.type]
    columns = [objects(column) for column in array.flatten()]
    present = array.is_valid().to_pylist()
    if not columns:
        return [{} if is_there else None for is_there in present]
    rows = zip(*columns, strict=True)
    return [
        dict(zip(names, row, strict=True)) if is_there else None
        for row, is_there in zip(rows, present, strict=True)
    ]


def _lists(array: pa.Array, items: list[Any]) -> list[Any]:
    """Return lists of the items of an array of lists, given all of them that are in rows."""
    found: list[Any] = []
    start = 0
    for size in pc.list_value_length(array).to_pylist():
        if size is None:
            found.append(None)
            continue
        found.append(items[start : start + size])
        start += size
    return found


def _maps(array: pa.MapArray) -> list[Any]:
    entries = array.cast(pa.list_(pa.struct(list(_entry(array.type)))))
    flat = entries.flatten()
    pairs = list(zip(objects(flat.field(0)), objects(flat.field(1)), strict=True))
    rows = _lists(entries, pairs)
    if pa.types.is_string(array.type.key_type):
        return [None if row is None else dict(row) for row in rows]
    return rows


def _entry(kind: pa.MapType) -> list[pa.Field]:
    return [kind.key_field, kind.item_field]


def _plain(value: Any) -> Any:
    """Return a value of a union, which Arrow gives as objects of Python."""
    if isinstance(value, bytes):
        return octets(value)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if isinstance(value, str | int | None) else str(value)
