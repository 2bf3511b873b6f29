"""Arrow arrays and JSON texts of what both ways read: made here, so that they are alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import orjson
import pyarrow as pa
from google.protobuf import json_format

from kafkaspec.values.decoded import Code, PayloadError
from kafkaspec.values.options import Bounds
from kafkaspec.values.protobuf.plan import TEXT, Enumeration, Meaning, Special
from kafkaspec.values.protobuf.schema import ProtobufSchema, member, message_class

KEY, VALUE = member(1), member(2)
"""Names of the fields of a map's entry."""
_Mask: TypeAlias = Any
"""An array of NumPy, true where there is no value; None if there are values everywhere."""

SECONDS = {
    Meaning.TIMESTAMP: (-62135596800, 253402300799),
    Meaning.DURATION: (-315576000000, 315576000000),
}
"""First and last second that the messages may have: the years 1 and 9999, and 10,000 years."""
NANOS = 999_999_999


def enumeration(node: Enumeration, numbers: Any, mask: _Mask) -> pa.Array:
    """Return values of an enumeration; unknown numbers become their decimal text."""
    if node.type != TEXT:
        return pa.array(numbers, pa.int32(), mask=mask)
    known = np.fromiter(node.names, np.int32, len(node.names))
    order = np.argsort(known)
    places = np.searchsorted(known, numbers, sorter=order)
    indices = order[np.minimum(places, len(known) - 1)].astype(np.int32)
    texts = list(node.names.values())
    unknown = known[indices] != numbers
    if unknown.any():
        new, inverse = np.unique(numbers[unknown], return_inverse=True)
        indices[unknown] = len(texts) + inverse
        texts.extend(map(str, new.tolist()))
    return pa.DictionaryArray.from_arrays(
        pa.array(indices, pa.int32(), mask=mask), pa.array(texts, pa.string())
    )


def cases(names: Mapping[int, str], numbers: Any) -> pa.Array:
    """Return the names of the members that are set; 0 where none is."""
    node = Enumeration(TEXT, names, False)
    return enumeration(node, np.where(numbers == 0, next(iter(names)), numbers), numbers == 0)


def microseconds(meaning: Meaning, seconds: Any, nanos: Any) -> tuple[Any, Any]:
    """Return microseconds, and where seconds or nanoseconds are not within what is allowed.

    A timestamp is rounded down and a duration towards zero, as Google's libraries do.
    """
    first, last = SECONDS[meaning]
    bad = (seconds < first) | (seconds > last)
    if meaning is Meaning.TIMESTAMP:
        bad |= (nanos < 0) | (nanos > NANOS)
        rest = nanos // 1000
    else:
        bad |= (nanos < -NANOS) | (nanos > NANOS)
        bad |= ((seconds > 0) & (nanos < 0)) | ((seconds < 0) & (nanos > 0))
        rest = np.sign(nanos) * (np.abs(nanos) // 1000)
    return np.where(bad, 0, seconds) * 1_000_000 + np.where(bad, 0, rest), bad


def record(type_: pa.DataType, columns: Sequence[pa.Array], mask: _Mask, length: int) -> pa.Array:
    if not columns:  # no column says how many there are
        place = pa.array(np.zeros(length, np.int8), mask=mask)
        return pa.Array.from_buffers(type_, length, [place.buffers()[0]], place.null_count)
    return pa.StructArray.from_arrays(
        columns, fields=list(type_), mask=None if mask is None else pa.array(mask)
    )


class JsonTexts:
    def __init__(self, schema: ProtobufSchema, bounds: Bounds) -> None:
        self._schema = schema
        self._pool: Any = None
        self._depth = bounds.depth

    def text(self, node: Special, message: Any) -> str:
        if node.meaning is Meaning.JSON:
            return orjson.dumps(self._value(node.descriptor.name, message, 1)).decode()
        if self._pool is None:
            self._pool = self._schema.original()
        name = node.descriptor.full_name
        original = message_class(self._pool.FindMessageTypeByName(name))
        try:
            text: str = json_format.MessageToJson(
                original.FromString(message.SerializeToString()),
                preserving_proto_field_name=True,
                indent=None,
                ensure_ascii=False,
                descriptor_pool=self._pool,
            )
            return text
        except (ValueError, TypeError, OverflowError, RecursionError, json_format.Error) as error:
            raise PayloadError(Code.UNSUPPORTED, f"no JSON text of {name}: {error}") from error

    def _value(self, name: str, message: Any, depth: int) -> Any:
        if depth > self._depth:
            raise PayloadError(Code.DEPTH, f"messages are nested more than {self._depth} levels")
        if name == "Struct":
            return {
                getattr(entry, KEY): self._value("Value", getattr(entry, VALUE), depth + 1)
                for entry in getattr(message, member(1))
            }
        if name == "ListValue":
            return [self._value("Value", one, depth + 1) for one in getattr(message, member(1))]
        case = message.WhichOneof("oneof_0")
        if case is None or case == member(1):
            return None
        value = getattr(message, case)
        if case == member(2) and not np.isfinite(value):
            return "NaN" if np.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        if case == member(5):
            return self._value("Struct", value, depth + 1)
        if case == member(6):
            return self._value("ListValue", value, depth + 1)
        return value
