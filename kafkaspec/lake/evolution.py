"""Columns of typed tables that change from one increment to the next.

Columns are added, nullable, and stay when a schema drops them. Iceberg also widens types; Delta,
as deltalake writes it, does not. Where a table keeps another type than rows have, the rows go
into it whose values have room there; a task says of the others why. A field whose name differs from
one of the table in case alone, which most readers take for the same, has no room there. Files that
do not fit are refused before anything is committed.
"""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from kafkaspec.arrow.nested import nulls_of, rebuilt
from kafkaspec.errors import Reason, make_error


def evolved(place: str, old: pa.Schema, new: pa.Schema, *, widen: bool) -> pa.Schema:
    """Return the columns of a table after rows of a schema were added.

    Args:
        place: of the table, for the error.
        old: columns of the table.
        new: columns of the rows.
        widen: whether the table's format widens types.

    Raises:
        KafkaSpecError: ``unencodable``: a column cannot have both types, or two names differ in
            case alone.
    """
    merged = pa.schema(_merged(place, list(old), list(new), widen, ""))
    counts = Counter(name.lower() for name in merged.names)
    twice = sorted(name for name in merged.names if counts[name.lower()] > 1)
    if twice:
        raise _refused(place, f"names of columns differ in case alone: {', '.join(twice)}")
    return merged


def fitted(old: pa.Schema, new: pa.Schema, *, widen: bool) -> pa.Schema:
    """Return the columns of new rows with the types that a table takes; see ``evolved``."""
    return pa.schema(_taken(list(old), list(new), widen))


def _taken(old: list[pa.Field], new: list[pa.Field], widen: bool) -> list[pa.Field]:
    known = {field.name: field.type for field in old}
    used = {name.lower() for name in known}
    return [
        field.with_type(_taken_type(known[field.name], field.type, widen))
        if field.name in known
        else field
        for field in new
        if field.name in known or field.name.lower() not in used
    ]


def _taken_type(old: pa.DataType, new: pa.DataType, widen: bool) -> pa.DataType:
    if types.is_struct(old) and types.is_struct(new):
        return pa.struct(_taken(list(old), list(new), widen))
    if types.is_list(old) and types.is_list(new):
        inner = new.value_field
        return pa.list_(inner.with_type(_taken_type(old.value_type, inner.type, widen)))
    if types.is_map(old) and types.is_map(new) and old.key_type == new.key_type:
        return pa.map_(new.key_type, _taken_type(old.item_type, new.item_type, widen))
    return new if old == new or (widen and (_wider(old, new) or _wider(new, old))) else old


def others(taken: pa.DataType, own: pa.DataType, path: str) -> list[str]:
    """Return which types of a column are others in a table, in words; see ``fitted``."""
    if taken == own:
        return []
    alike = (types.is_struct, types.is_list, types.is_map)
    if not any(check(taken) and check(own) for check in alike):
        return [f"{path} is {taken} in the table, and {own} here"]
    found = []
    named = types.is_struct(own)
    kept = {taken.field(place).name if named else place: taken.field(place).type
            for place in range(taken.num_fields)}  # fmt: skip
    for place in range(own.num_fields):
        field = own.field(place)
        inner = f"{path}.{field.name}" if named else f"{path}[]"
        kind = kept.get(field.name if named else place)
        if kind is None:
            found.append(f"{inner} differs in case alone from a field of the table")
        else:
            found += others(kind, field.type, inner)
    return found


def as_taken(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return values in the type that a table takes.

    Raises:
        pa.ArrowInvalid: one of them would be another value there.
    """
    own = values.type
    if own == kind:
        return values
    if types.is_struct(own) and types.is_struct(kind):
        values = _with(values, {field.name for field in kind})
    if any(check(own) and check(kind) for check in (types.is_struct, types.is_list, types.is_map)):
        return rebuilt(values, kind, lambda part, to: as_taken(part, to.type), nulls_of(values))
    if values.null_count == len(values):
        return pa.nulls(len(values), kind)
    if not (_wider(kind, own) or _wider(own, kind)):
        raise pa.ArrowInvalid(f"{own} is no {kind}")
    made = values.cast(kind)
    same = pc.equal(made.cast(own), values)
    if types.is_floating(own):
        same = pc.or_(same, pc.is_nan(values))
    if not pc.all(same, min_count=0).as_py():
        raise pa.ArrowInvalid(f"{kind} has no room for it")
    return made


def _with(values: pa.Array, names: set[str]) -> pa.Array:
    """Return structs with the named fields alone; the others have to be null."""
    parts = list(zip(values.type, values.flatten(), strict=True))
    kept = [(field, part) for field, part in parts if field.name in names]
    for field, part in parts:
        if field.name not in names and part.null_count < len(part):
            raise pa.ArrowInvalid(f"the table has no column for {field.name}")
    if len(kept) == len(parts):
        return values
    fields = [field for field, _ in kept]
    return pa.StructArray.from_arrays(
        [part for _, part in kept], fields=fields, mask=nulls_of(values)
    )


def _merged(
    place: str, old: list[pa.Field], new: list[pa.Field], widen: bool, path: str
) -> list[pa.Field]:
    known = {field.name: field for field in old}
    given = {field.name: field for field in new}
    kept = [
        field.with_type(_type(place, field.type, given[name].type, widen, path + name))
        if name in given
        else field
        for name, field in known.items()
    ]
    return kept + [field.with_nullable(True) for name, field in given.items() if name not in known]


def _type(place: str, old: pa.DataType, new: pa.DataType, widen: bool, path: str) -> pa.DataType:
    if old == new:
        return old
    if types.is_struct(old) and types.is_struct(new):
        return pa.struct(_merged(place, list(old), list(new), widen, f"{path}."))
    if types.is_list(old) and types.is_list(new):
        return pa.list_(_type(place, old.value_type, new.value_type, widen, f"{path}[]"))
    if types.is_map(old) and types.is_map(new) and old.key_type == new.key_type:
        return pa.map_(old.key_type, _type(place, old.item_type, new.item_type, widen, path))
    if widen and (_wider(old, new) or _wider(new, old)):
        return new if _wider(old, new) else old
    why = f"the column {path} has the type {old}, and rows have {new}"
    if _wider(old, new) or _wider(new, old):
        why += "; deltalake does not widen types of Delta tables"
    raise _refused(place, why)


def _wider(old: pa.DataType, new: pa.DataType) -> bool:
    """Return whether both formats define the new type as a wider one of the old."""
    if (old, new) in ((pa.int32(), pa.int64()), (pa.float32(), pa.float64())):
        return True
    return bool(
        types.is_decimal(old)
        and types.is_decimal(new)
        and old.scale == new.scale
        and old.precision < new.precision
    )


def _refused(place: str, why: str) -> Exception:
    return make_error(Reason.UNENCODABLE, why, file=place)
