"""Types of decoded keys and values as Spark and the tables of a lake take them.

They have no unsigned integers, no fixed sizes, no more than 38 digits, and no names of fields
that are equal but for case; Parquet, to which all is written, has no empty structs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec.tables.shapes import converted, unique_names

_TIMES: Final = pa.time64("us")
"""Times of a day are numbers of µs: Spark has a type for them, and writes it to no file."""

_DURATIONS: Final = pa.duration("us")

_DIGITS: Final = 38
"""Most digits of Spark's decimals."""

Leaves = Mapping[pa.DataType, pa.DataType]

_LEAVES: Final[Leaves] = {
    pa.null(): pa.string(),
    pa.int8(): pa.int16(),
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
    pa.large_string(): pa.string(),
    pa.large_binary(): pa.binary(),
}


def spark_value(kind: pa.DataType, leaves: Leaves = _LEAVES) -> pa.DataType:
    """Return the type in which Spark takes a column of keys or values."""
    types = pa.types
    nested = partial(spark_value, leaves=leaves)
    if types.is_struct(kind):
        if not kind.num_fields:
            return pa.bool_()
        names = unique_names([field.name for field in kind])
        return pa.struct(
            [pa.field(name, nested(field.type)) for name, field in zip(names, kind, strict=True)]
        )
    if types.is_map(kind):
        return pa.map_(nested(kind.key_type), nested(kind.item_type))
    if types.is_list(kind):
        return pa.list_(pa.field("element", nested(kind.value_type)))
    if types.is_dictionary(kind):
        return nested(kind.value_type)
    if isinstance(kind, pa.BaseExtensionType) or types.is_fixed_size_binary(kind):
        return pa.binary()
    if types.is_timestamp(kind):
        return pa.timestamp("us", "UTC" if kind.tz else None)
    if types.is_time(kind):
        return pa.int64()
    if types.is_duration(kind):
        return leaves.get(_DURATIONS, _DURATIONS)
    if types.is_decimal(kind) and kind.precision > _DIGITS:
        return pa.string()
    return leaves.get(kind, kind)


spark_nested: Final = partial(
    spark_value, leaves={kind: own for kind, own in _LEAVES.items() if kind != pa.int8()}
)
"""The same for a column of messages, in which ``int8`` stays: Spark calls it ``tinyint``."""


lake_value: Final = partial(
    spark_value,
    leaves={
        **_LEAVES,
        **dict.fromkeys((pa.int8(), pa.uint8(), pa.int16()), pa.int32()),
        _DURATIONS: pa.int64(),
    },
)
"""The same for a table of a lake: Iceberg has no small integers, and neither format durations."""


def as_engine(values: pa.Array, kind: pa.DataType) -> tuple[pa.Array, list[int]]:
    """Return keys or values in such a type, and the rows for which it has no room.

    Times are cut to µs.
    """
    return by_rows(values, kind, partial(converted, leaf=_cast))


def by_rows(
    values: pa.Array, kind: pa.DataType, convert: Callable[[pa.Array, pa.DataType], pa.Array]
) -> tuple[pa.Array, list[int]]:
    """Return values in another type, with nulls for those that it has no room for, and their rows.

    Args:
        convert: raises ``pa.ArrowInvalid`` if it has no room for one of some values.
    """
    try:
        return convert(values, kind), []
    except pa.ArrowInvalid:
        made, beyond = [], []
        for row in range(len(values)):
            try:
                made.append(convert(values.slice(row, 1), kind))
            except pa.ArrowInvalid:
                made.append(pa.nulls(1, kind))
                beyond.append(row)
        return pa.concat_arrays(made), beyond


def _cast(array: pa.Array, kind: pa.DataType) -> pa.Array:
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if pa.types.is_time(array.type):
        array = array.cast(_TIMES)
    if pa.types.is_duration(array.type) and kind != _DURATIONS:
        array = pc.cast(array, options=pc.CastOptions(_DURATIONS, allow_time_truncate=True))
    options = pc.CastOptions(target_type=kind, allow_time_truncate=True)
    return pc.cast(array, options=options)
