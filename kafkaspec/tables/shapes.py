"""Columns as formats of files take them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec.arrow.nested import nulls_of, rebuilt

Leaf = Callable[[pa.Array, pa.DataType], pa.Array]
"""Converts an array to a type."""


def flattened(batch: pa.RecordBatch, separator: str) -> pa.RecordBatch:
    """Return a batch with the fields of structs as separate columns, at all levels."""
    arrays: list[pa.Array] = []
    fields: list[pa.Field] = []
    for field, array in zip(batch.schema, batch.columns, strict=True):
        for path, own, leaf in _leaves((field.name,), field, array):
            arrays.append(leaf)
            fields.append(own.with_name(separator.join(path)))
    return unique(pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields)))


def _leaves(
    path: tuple[str, ...], field: pa.Field, array: pa.Array
) -> Iterator[tuple[tuple[str, ...], pa.Field, pa.Array]]:
    if not pa.types.is_struct(field.type) or not field.type.num_fields:
        yield path, field, array
        return
    for child, values in zip(field.type, array.flatten(), strict=True):
        yield from _leaves((*path, child.name), child.with_nullable(True), values)


def unique(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch in which no two names of columns are equal but for case."""
    names = unique_names(batch.schema.names)
    return batch if names == batch.schema.names else batch.rename_columns(names)


def unique_names(names: list[str]) -> list[str]:
    """Return names, numbered where they are equal but for case, as Spark and Delta compare them."""
    taken = {name.casefold() for name in names}
    seen: set[str] = set()
    found = []
    for name in names:
        made, number = name, 1
        while made.casefold() in seen or (number > 1 and made.casefold() in taken):
            number += 1
            made = f"{name}_{number}"
        seen.add(made.casefold())
        found.append(made)
    return found


def for_parquet(kind: pa.DataType) -> pa.DataType:
    """Return the type that Parquet takes: a struct without fields becomes a boolean."""
    return _mapped(
        kind, lambda own: pa.bool_() if pa.types.is_struct(own) and not own.num_fields else own
    )


def without_dictionaries(kind: pa.DataType) -> pa.DataType:
    """Return the type without dictionaries: they differ between batches, and a file has one."""
    return _mapped(kind, lambda own: own.value_type if pa.types.is_dictionary(own) else own)


def _mapped(kind: pa.DataType, leaf: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    types = pa.types
    if types.is_struct(kind) and kind.num_fields:
        return pa.struct([_field(field, leaf) for field in kind])
    if types.is_map(kind):
        return pa.map_(_mapped(kind.key_type, leaf), _field(kind.item_field, leaf))
    if types.is_list(kind):
        return pa.list_(_field(kind.value_field, leaf))
    return leaf(kind)


def _field(field: pa.Field, leaf: Callable[[pa.DataType], pa.DataType]) -> pa.Field:
    return field.with_type(_mapped(field.type, leaf))


def converted(array: pa.Array, kind: pa.DataType, leaf: Leaf | None = None) -> pa.Array:
    """Return an array in another type of the same shape, such as ``for_parquet`` returns.

    A struct without fields becomes a boolean, a dictionary its values. ``leaf`` converts what is
    neither nested nor a dictionary; without it, that has its type already.
    """
    own, types = array.type, pa.types
    if own == kind:
        return array
    if types.is_struct(own) and not own.num_fields:
        flags = pa.repeat(pa.scalar(True), len(array))
        return pc.if_else(array.is_valid(), flags, pa.scalar(None, kind))
    if types.is_dictionary(own):
        return converted(array.dictionary_decode(), kind, leaf)
    if leaf is not None and not types.is_nested(own):
        return leaf(array, kind)
    return rebuilt(array, kind, lambda part, to: converted(part, to.type, leaf), nulls_of(array))
