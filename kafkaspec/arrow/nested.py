"""Arrays of structs, lists and maps, made again from other children: as a writer takes them."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

_Convert = Callable[[pa.Array, pa.Field], pa.Array]
"""Makes a child of an array, given what it was and the field of the new type that it is for."""


def rebuilt(
    array: pa.Array, kind: pa.DataType, convert: _Convert, mask: pa.Array | None
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


def masked(array: pa.Array) -> pa.Array:
    """Return an array in which fields that are not nullable have no nulls under a null struct.

    What ``take`` puts there are nulls too, which some writers refuse (Parquet's of PyArrow). Nobody
    sees what stands there instead.
    """
    return _filled(array, nullable=True) if _is_strict(array.type) else array


def _is_strict(kind: pa.DataType) -> bool:
    """Return whether a type has a field somewhere that is not nullable."""
    return any(
        not field.nullable or _is_strict(field.type)
        for field in (kind.field(place) for place in range(kind.num_fields))
    )


def _filled(array: pa.Array, *, nullable: bool) -> pa.Array:
    kind, types = array.type, pa.types
    if not nullable and not array.null_count and not _is_strict(kind):
        return array
    if types.is_struct(kind) and not kind.num_fields:
        return array
    if types.is_nested(kind):
        mask = nulls_of(array) if nullable else None
        return rebuilt(array, kind, lambda item, own: _filled(item, nullable=own.nullable), mask)
    if nullable or not array.null_count:
        return array
    if types.is_dictionary(kind):
        indices = pc.fill_null(array.indices, 0)
        dictionary = array.dictionary
        if not len(dictionary):
            dictionary = pa.array([""], kind.value_type)
        return pa.DictionaryArray.from_arrays(indices, dictionary)
    return pc.fill_null(array, _nothing(kind))


def _nothing(kind: pa.DataType) -> pa.Scalar:
    """Return some value of a type: zero, or nothing."""
    types = pa.types
    if types.is_fixed_size_binary(kind):
        return pa.scalar(bytes(kind.byte_width), kind)
    if types.is_binary(kind) or types.is_string(kind):
        return pa.scalar(b"" if types.is_binary(kind) else "", kind)
    if types.is_temporal(kind):
        number = pa.int32() if kind.bit_width == pa.int32().bit_width else pa.int64()
        return pa.scalar(0, number).cast(kind)
    return pa.scalar(0, pa.int32()).cast(kind)
