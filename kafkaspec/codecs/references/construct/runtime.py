"""All that generated Construct definitions use besides Construct itself, under one name."""

from __future__ import annotations

from kafkaspec.codecs.references.construct.derive import Count, Crc32, Crc32c, Derived, Length, Span
from kafkaspec.codecs.references.construct.expressions import (
    at_end_,
    either_,
    int64_,
    position_,
    remaining_,
    size_,
    value_,
)
from kafkaspec.codecs.references.construct.fields import (
    Boolean,
    BoundedVarInt,
    ExactBytes,
    Field,
    Guard,
    Named,
    RemainingBytes,
    SizedBytes,
    UnsignedVarInt32,
    VarInt32,
    VarInt64,
)
from kafkaspec.codecs.references.construct.parts import Ahead, Choice, Items, Sized, With
from kafkaspec.codecs.references.construct.structure import Structure, Value
from kafkaspec.codecs.references.construct.window import Window

__all__ = [
    "Ahead",
    "Boolean",
    "BoundedVarInt",
    "Choice",
    "Count",
    "Crc32",
    "Crc32c",
    "Derived",
    "ExactBytes",
    "Field",
    "Guard",
    "Items",
    "Length",
    "Named",
    "RemainingBytes",
    "Sized",
    "SizedBytes",
    "Span",
    "Structure",
    "UnsignedVarInt32",
    "Value",
    "VarInt32",
    "VarInt64",
    "Window",
    "With",
    "at_end_",
    "either_",
    "int64_",
    "position_",
    "remaining_",
    "size_",
    "value_",
]
