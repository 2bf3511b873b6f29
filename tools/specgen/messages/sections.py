"""Sections of tagged fields, and arrays after their counts, by their shape."""

from __future__ import annotations

from dataclasses import dataclass

from kafkaspec.messages.tables import Path
from tools.specgen.expression import Attribute, Name
from tools.specgen.facts.fields import scalar_of
from tools.specgen.model import (
    BytesType,
    DeriveFunction,
    Field,
    Model,
    Scalar,
    SwitchType,
    Type,
    TypeReference,
)


@dataclass(frozen=True)
class Section:
    """A section of tagged fields: a count, and items of a number, a size and content."""

    count: Field
    items: Field
    number: Field
    content: Field
    cases: tuple[tuple[int | None, TypeReference], ...]
    data: Path
    """Where an item has the bytes of a tag that is not known."""

    @classmethod
    def of(cls, model: Model, type_: Type) -> Section | None:
        """Return the section that a type is, None for any other."""
        if len(type_.fields) != 2 or not counts(*type_.fields):
            return None
        count, items = type_.fields
        if not isinstance(items.type, TypeReference) or items.condition is not None:
            return None
        one = model.type(items.type)
        if len(one.fields) != 3 or one.scalar:
            return None
        number, size, content = one.fields
        derive = size.derive
        if derive is None or derive.function is not DeriveFunction.LEN or derive.plus:
            return None
        if derive.first != content.id or number.derive is not None:
            return None
        if scalar_of(model, number) is not Scalar.UNSIGNED_VARINT32 or number.valid is not None:
            return None
        kind = content.type
        if isinstance(kind, BytesType) and kind.size == Attribute(Name(size.id), "value"):
            return cls(count, items, number, content, (), (content.id,))
        if not isinstance(kind, TypeReference) or kind.size is None:
            return None
        chooser = model.type(kind)
        switch = chooser.fields[0].type if chooser.is_choice else None
        if not isinstance(switch, SwitchType) or not isinstance(switch.on, Name):
            return None
        given = dict(zip((p.id for p in chooser.parameters), kind.arguments, strict=True))
        if given.get(switch.on.id) != Attribute(Name(number.id), "value"):
            return None
        default = dict(switch.cases).get(None)
        if default is None:
            return None
        unknown = model.type(default)
        if len(unknown.fields) != 1 or unknown.fields[0].type != BytesType(None):
            return None
        return cls(count, items, number, content, switch.cases, (content.id, unknown.fields[0].id))

    @classmethod
    def of_field(cls, model: Model, item: Field) -> Section | None:
        """Return the section that a field is, None for any other."""
        if not isinstance(item.type, TypeReference) or model.type(item.type).scalar:
            return None
        return cls.of(model, model.type(item.type))


def counts(count: Field, items: Field) -> bool:
    """Return whether a field is the count of the array after it."""
    derive = count.derive
    if derive is None or derive.function is not DeriveFunction.COUNT or items.repeat is None:
        return False
    return derive.first == items.id and items.repeat.count is not None
