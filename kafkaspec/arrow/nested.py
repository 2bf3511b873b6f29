"""Arrays of structs, lists and maps, made again from other children."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

Convert = Callable[[pa.Array, pa.Field], pa.Array]
"""Makes a child of an array, given what it was and the field of the new type that it is for."""


def rebuilt(
    array: pa.Array, kind: pa.DataType, convert: Convert, mask: pa.Array | None
) -> pa.Array:
    """Return a struct, list or map of the same shape whose children are converted.

    Below a null of a struct, a child is null too.

    Args:
        array: structs, lists or maps.
        kind: the type of the result.
        convert: makes each child.
        mask: true where the result is null; None if that is nowhere.
    """
    types = pa.types
    if types.is_struct(kind):
        # Below a null, flatten has nulls; a field has anything, also an index of no dictionary.
        pairs = zip(array.flatten(), kind, strict=True)
        children = [convert(child, field) for child, field in pairs]
        return pa.StructArray.from_arrays(children, fields=list(kind), mask=mask)
    if array.offset:  # lists of a part of an array cannot be made with a mask
        array = array.take(pa.array(range(len(array))))
    if types.is_map(kind):
        keys = convert(array.keys, kind.key_field)
        items = convert(array.items, kind.item_field)
        return pa.MapArray.from_arrays(array.offsets, keys, items, type=kind, mask=mask)
    values = convert(array.values, kind.value_field)
    return pa.ListArray.from_arrays(array.offsets, values, type=kind, mask=mask)


def nulls_of(array: pa.Array) -> pa.Array | None:
    """Return true for each null of an array, or None if it has none."""
    return array.is_null() if array.null_count else None
