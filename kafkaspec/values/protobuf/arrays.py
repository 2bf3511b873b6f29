"""Arrow arrays of what both ways read: both make them here, so that they are alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from kafkaspec.values.protobuf.plan import TEXT, Enumeration, Unit

Mask: TypeAlias = Any
"""An array of NumPy, true where there is no value; None if there are values everywhere."""

SECONDS = {
    Unit.TIMESTAMP: (-62135596800, 253402300799),
    Unit.DURATION: (-315576000000, 315576000000),
}
"""First and last second that the messages may have: the years 1 and 9999, and 10,000 years."""
NANOS = 999_999_999


def enumeration(node: Enumeration, numbers: Any, mask: Mask) -> pa.Array:
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


def microseconds(unit: Unit, seconds: Any, nanos: Any) -> tuple[Any, Any]:
    """Return microseconds, and where seconds or nanoseconds are not within what is allowed.

    A timestamp is rounded down and a duration towards zero, as Google's libraries do.
    """
    first, last = SECONDS[unit]
    bad = (seconds < first) | (seconds > last)
    if unit is Unit.TIMESTAMP:
        bad |= (nanos < 0) | (nanos > NANOS)
        rest = nanos // 1000
    else:
        bad |= (nanos < -NANOS) | (nanos > NANOS)
        bad |= ((seconds > 0) & (nanos < 0)) | ((seconds < 0) & (nanos > 0))
        rest = np.sign(nanos) * (np.abs(nanos) // 1000)
    return np.where(bad, 0, seconds) * 1_000_000 + np.where(bad, 0, rest), bad


def record(type_: pa.DataType, columns: Sequence[pa.Array], mask: Mask, length: int) -> pa.Array:
    """Return structs of columns."""
    if not columns:  # no column says how many there are
        place = pa.array(np.zeros(length, np.int8), mask=mask)
        return pa.Array.from_buffers(type_, length, [place.buffers()[0]], place.null_count)
    return pa.StructArray.from_arrays(
        columns, fields=list(type_), mask=None if mask is None else pa.array(mask)
    )


def null_rows(values: pa.Array, rows: Any) -> pa.Array:
    """Return an array with null in the rows that ``rows`` says."""
    keep = pa.array(~rows)
    return pa.compute.if_else(keep, values, pa.scalar(None, values.type))
