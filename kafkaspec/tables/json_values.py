"""Values of Arrow as JSON has them, nested ones too: one form for all that is shown as JSON."""

from __future__ import annotations

import json
import math
from base64 import b64decode
from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec.columns.json_lines import bytes_value
from kafkaspec.errors import Reason, make_error
from kafkaspec.files.checkpoints import kafka_uuid
from kafkaspec.layout.names import TAGGED_FIELDS, UNUSED

SELDOM: Final = frozenset({TAGGED_FIELDS, UNUSED})
"""Fields of messages that are left out where there is nothing in them."""

TIME: Final = "timestamp"
HEADERS: Final = "headers"
RECORD_TIME: Final = pa.timestamp("ms", "UTC")


def json_rows(table: pa.Table) -> list[dict[str, Any]]:
    """Return the rows of a table of Kafka's messages, with ``messages`` of ``json_values``."""
    batches = table.combine_chunks().to_batches()
    return [row for batch in batches for row in json_values(batch.to_struct_array(), messages=True)]


def json_values(array: pa.Array, *, messages: bool = False) -> list[Any]:
    """Return the values of an array as JSON has them.

    Dates and times are in ISO 8601, decimals and durations (in seconds) are text, bytes are a
    string where they are UTF-8 and ``{"base64": "..."}`` where they are not, numbers that JSON does
    not have are ``"NaN"``, ``"Infinity"`` and ``"-Infinity"``. A map is an object if its keys are
    text, else pairs.

    Args:
        array: the array.
        messages: whether they are of Kafka's messages: 16 bytes of a fixed size are an id, in
            Kafka's form, and unknown tagged fields and surplus bytes are left out where there are
            none.
    """
    kind = array.type
    types = pa.types
    if isinstance(array, pa.ExtensionArray):
        return [None if item is None else str(item) for item in array.to_pylist()]
    if types.is_dictionary(kind):
        shown = json_values(array.dictionary, messages=messages)
        return [None if code is None else shown[code] for code in array.indices.to_pylist()]
    if types.is_struct(kind):
        return _structs(array, messages=messages)
    if types.is_map(kind):
        return _maps(array)
    if types.is_list(kind) or types.is_large_list(kind):
        return _lists(array, array.values, lambda items: json_values(items, messages=messages))
    if types.is_union(kind):
        return [_plain(item) for item in array.to_pylist()]
    if messages and types.is_fixed_size_binary(kind) and kind.byte_width == kafka_uuid.SIZE:
        return [None if i is None else kafka_uuid.bytes_to_text(i) for i in array.to_pylist()]
    return _leaves(array)


def array_of(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Return the array of a message whose values ``json_values`` gives: its reverse.

    Raises:
        KafkaSpecError: ``unencodable``: a value is not one of that type.
    """
    try:
        return pa.array([_of_json(value, kind) for value in values], kind)
    except (pa.ArrowException, ArithmeticError, LookupError, TypeError, ValueError,
            AttributeError) as error:  # fmt: skip
        raise make_error(Reason.UNENCODABLE, str(error)) from None


def _of_json(value: Any, kind: pa.DataType) -> Any:
    types = pa.types
    if value is None:
        return None
    if types.is_struct(kind):
        names = {field.name for field in kind}
        if unknown := sorted(value.keys() - names):
            raise ValueError(f"unknown field {unknown[0]!r}; there are {', '.join(sorted(names))}")
        value = dict.fromkeys(SELDOM & names, ()) | value
        return {field.name: _of_json(value.get(field.name), field.type) for field in kind}
    if types.is_list(kind):
        return [_of_json(item, kind.value_type) for item in value]
    if types.is_fixed_size_binary(kind) and kind.byte_width == kafka_uuid.SIZE:
        found = kafka_uuid.from_text(value)
        if found is None:
            raise ValueError(f"{value!r} is not an id")
        return found.bytes
    if types.is_binary(kind) or types.is_fixed_size_binary(kind):
        if isinstance(value, dict):
            return b64decode(value["base64"], validate=True)
        return value.encode() if value else b""
    return value


def json_lines(batch: pa.RecordBatch, *, compact: bool) -> bytes:
    """Return a JSON object for each row, a line each; where there is no core to make them.

    The time of a record (``timestamp``) is in ms since the epoch, and headers are pairs, as
    wherever records are shown as JSON here.

    Args:
        batch: the rows.
        compact: whether no blanks are between the parts; otherwise it is of Kafka's own columns
            and messages, see ``json_values``, and as the core makes lines.
    """
    names = batch.schema.names
    columns = [
        _column(name, array, messages=not compact)
        for name, array in zip(names, batch.columns, strict=True)
    ]
    rows = (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))
    return "".join(f"{dumped(row, compact=compact)}\n" for row in rows).encode()


def dumped(value: Any, *, compact: bool) -> str:
    """Return the text of a value of ``json_values``; ``compact`` as in ``json_lines``."""
    if not compact:
        return json.dumps(value, ensure_ascii=False)
    import orjson

    return orjson.dumps(value).decode()


def _column(name: str, array: pa.Array, *, messages: bool) -> list[Any]:
    if name == TIME and array.type == RECORD_TIME:
        return list(array.cast(pa.int64()).to_pylist())
    if name == HEADERS and is_pairs(array.type):
        return _lists(array, array.values, _pairs)
    return json_values(array, messages=messages)


def is_pairs(kind: pa.DataType) -> bool:
    """Return whether a column has headers of records."""
    types = pa.types
    if not types.is_list(kind) or not types.is_struct(kind.value_type):
        return False
    return [field.name for field in kind.value_type] == ["key", "value"]


def _leaves(array: pa.Array) -> list[Any]:
    kind = array.type
    types = pa.types
    if types.is_floating(kind):
        return _floats(array)
    if types.is_binary(kind) or types.is_fixed_size_binary(kind) or types.is_binary_view(kind):
        return list(map(bytes_value, array.to_pylist()))
    if types.is_timestamp(kind):
        text = pc.strftime(array, "%Y-%m-%dT%H:%M:%S")
        return list((pc.binary_join_element_wise(text, "Z", "") if kind.tz else text).to_pylist())
    if types.is_duration(kind):
        counts = array.cast(pa.duration("us")).cast(pa.int64())
        return [None if item is None else _seconds(item) for item in counts.to_pylist()]
    if types.is_temporal(kind) or types.is_decimal(kind):
        return list(array.cast(pa.string()).to_pylist())
    return list(array.to_pylist())


def _seconds(microseconds: int) -> str:
    whole, rest = divmod(abs(microseconds), 1_000_000)
    text = f"{whole}.{rest:06}".rstrip("0").rstrip(".")
    return f"{'-' * (microseconds < 0)}{text}s"


def _floats(array: pa.Array) -> list[Any]:
    values = array.to_pylist()
    finite = pc.all(pc.is_finite(array), skip_nulls=True).as_py()
    if finite is not False:
        return list(values)
    return [value if value is None else number(value) for value in values]


def number(value: float) -> float | str:
    """Return a number as JSON has it."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")


def _structs(array: pa.StructArray, *, messages: bool) -> list[Any]:
    names = [field.name for field in array.type]
    columns = [json_values(column, messages=messages) for column in array.flatten()]
    present = array.is_valid().to_pylist()
    if not columns:
        return [{} if is_there else None for is_there in present]
    rows = [
        dict(zip(names, row, strict=True)) if is_there else None
        for row, is_there in zip(zip(*columns, strict=True), present, strict=True)
    ]
    for name in SELDOM.intersection(names) if messages else ():
        for row in rows:
            if row is not None and not row[name]:
                del row[name]
    return rows


def _pairs(array: pa.StructArray) -> list[Any]:
    return [None if pair is None else list(pair.values()) for pair in json_values(array)]


def _lists(array: pa.Array, values: pa.Array, shown: Callable[[pa.Array], list[Any]]) -> list[Any]:
    """Return the items of each list or map of an array.

    Args:
        array: the array.
        values: its items, also those before and after its rows.
        shown: returns those of a part of ``values``.
    """
    ends = array.offsets.to_pylist()
    items = shown(values.slice(ends[0], ends[-1] - ends[0])) if len(array) else []
    return [
        items[start - ends[0] : end - ends[0]] if is_there else None
        for start, end, is_there in zip(ends, ends[1:], array.is_valid().to_pylist(), strict=False)
    ]


def _maps(array: pa.MapArray) -> list[Any]:
    keys, items = (_lists(array, part, json_values) for part in (array.keys, array.items))
    made = dict if pa.types.is_string(array.type.key_type) else list
    return [
        None if own is None else made(zip(own, values, strict=True))
        for own, values in zip(keys, items, strict=True)
    ]


def _plain(value: Any) -> Any:
    """Return a value of a union, which Arrow gives as objects of Python."""
    if isinstance(value, bytes):
        return bytes_value(value)
    if isinstance(value, float):
        return number(value)
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if isinstance(value, str | int | None) else str(value)
