"""Sizes of types and fields and places of checksums, as far as the model fixes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tools.specgen.expression import Int
from tools.specgen.model import (
    BitsType,
    BytesType,
    DeriveFunction,
    Field,
    FloatType,
    IntegerType,
    Model,
    SwitchType,
    Type,
    TypeReference,
)


def minimum_size(model: Model, node: Type | Field) -> int:
    """Return the least number of bytes it takes; bits are rounded up to whole bytes."""
    if isinstance(node, Field):
        return (_field_bits(model, node, minimum=True) + 7) // 8
    if node.scalar and node.scalar.is_integer:
        return 1
    return _type_bits(model, node) // 8


def fixed_size(model: Model, node: Type | Field) -> int | None:
    """Return the number of bytes it always takes, None if that varies."""
    fields = (node,) if isinstance(node, Field) else node.fields
    if isinstance(node, Type) and node.scalar:
        return None
    if any(_varies(model, field) for field in fields):
        return None
    return minimum_size(model, node)


def _type_bits(model: Model, type_: Type) -> int:
    return sum(_field_bits(model, field, minimum=True) for field in type_.fields)


def _field_bits(model: Model, field: Field, *, minimum: bool) -> int:
    if minimum and (field.repeat is not None or field.condition is not None):
        return 0
    match field.type:
        case IntegerType(size=size) | FloatType(size=size):
            return 8 * size
        case BitsType(width=width):
            return width
        case BytesType(size=Int(value)):
            return 8 * value
        case BytesType():
            return 0
        case SwitchType(cases=cases):
            return min(_type_bits(model, model.type(reference)) for _, reference in cases)
        case TypeReference():
            return 8 * minimum_size(model, model.type(field.type))


def _varies(model: Model, field: Field) -> bool:
    if field.repeat is not None or field.condition is not None:
        return True
    match field.type:
        case IntegerType() | FloatType() | BitsType() | BytesType(size=Int()):
            return False
        case TypeReference():
            return fixed_size(model, model.type(field.type)) is None
    return True


@dataclass(frozen=True)
class ChecksumPlace:
    """A checksum over the bytes from ``start`` to the end of its type, stored at ``position``."""

    field: Field
    function: DeriveFunction
    position: int
    start: int


def checksum_of(model: Model, type_: Type) -> ChecksumPlace | None:
    """Return the first checksum of a type, None if it has none."""
    return next(checksums_of(model, type_), None)


def checksums_of(model: Model, type_: Type) -> Iterator[ChecksumPlace]:
    """Yield the checksums of a type, which stand at fixed places."""
    starts: dict[str, int] = {}
    position = 0
    for field in type_.fields:
        starts[field.id] = position
        size = fixed_size(model, field)
        if size is None:
            break
        position += size
    for field in type_.fields:
        if field.derive is not None and field.derive.function.is_checksum:
            place, start = starts[field.id], starts[field.derive.first]
            yield ChecksumPlace(field, field.derive.function, place, start)
