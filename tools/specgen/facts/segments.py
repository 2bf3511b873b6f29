"""Find the entries of a log in the model: their kinds, record sets, and what fits columns.

Nothing here knows a field by name. A *segment* is a type that repeats one type up to the end of
the stream; an *entry* frames a choice by a length; a *batch* is a case of that choice with opaque
bytes that a count belongs to; its *record set* is the type that has the batch as parameter and
repeats a type by that count. Every other case is a *message*: one record, which stands alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tools.specgen import expression as ex
from tools.specgen.facts.fields import is_bytes, is_integer
from tools.specgen.model import (
    BitsType,
    Derive,
    DeriveFunction,
    Field,
    IntegerType,
    Model,
    Parameter,
    PeekInstance,
    SwitchType,
    Type,
    TypeReference,
    ValueInstance,
)

KIND = "entry.kind"
"""Column of a scan: the kind of an entry, as its index in ``Segment.kinds``."""


@dataclass(frozen=True)
class Member:
    """A value of a structure that readers by columns keep as a 64-bit integer.

    Attributes:
        path: dotted ids of the specification, ``attributes.compression``.
        condition: when it is present, an expression of ``owner``; None for always.
        instance: the value instance that it is, None for a field.
        owner: the type that contains the condition and the instance.
        bits: number of bits of a fixed-size field, 0 for everything else.
    """

    path: str
    owner: Type
    condition: ex.Expression | None = None
    instance: ValueInstance | None = None
    bits: int = 0

    @property
    def identifier(self) -> str:
        """The path as an identifier."""
        return self.path.replace(".", "_")


def resolved(model: Model, reference: TypeReference) -> Type:
    """Return the structure that a reference shows; for a frame, the structure inside it."""
    type_ = model.type(reference)
    while type_.is_frame:
        type_ = model.inner(type_.fields[1])
    return type_


def members(model: Model, type_: Type) -> tuple[Member, ...]:
    """Return all members of a structure that fit integers, in the order of the specification.

    A byte string has two: its ``position`` and its ``size``, which is -1 for null.
    """
    found = [Member(p.id, type_) for p in type_.parameters if isinstance(p.type, IntegerType)]
    found += _field_members(model, type_, type_, None, None)
    found += [
        Member(instance.id, type_, instance.condition, instance)
        for instance in type_.value_instances
    ]
    return tuple(found)


def _field_members(
    model: Model,
    owner: Type,
    type_: Type,
    outer: ex.Expression | None,
    condition: ex.Expression | None,
) -> list[Member]:
    """Return the members of ``type_``, which ``owner`` holds at the path ``outer``."""
    found = []
    for field in type_.fields:
        here = ex.Name(field.id) if outer is None else ex.Attribute(outer, field.id)
        path = next(ex.dotted(here))
        own = field.condition
        if own is not None and outer is not None:
            own = ex.rename(own, lambda name: ex.Attribute(outer, name))
        when = own if condition is None or own is None else ex.Binary("and", condition, own)
        when = when or condition
        if is_integer(model, field):
            kind = field.type
            bits = 8 * kind.size if isinstance(kind, IntegerType) else 0
            bits = kind.width if isinstance(kind, BitsType) else bits
            found.append(Member(path, owner, when, bits=bits))
        elif is_bytes(model, field):
            found += [Member(f"{path}.{part}", owner, when) for part in ("position", "size")]
        elif isinstance(field.type, TypeReference) and field.repeat is None:
            inner = model.type(field.type)
            if not inner.is_transparent:
                found += _field_members(model, owner, inner, here, when)
    return found


@dataclass(frozen=True)
class Batch:
    """A kind of entry whose records lie in opaque bytes."""

    type: Type
    count: Field
    payload: Field
    record_set: Type

    @property
    def parameter(self) -> Parameter:
        """The parameter of the record set that is the batch."""
        return self.record_set.parameters[0]

    @property
    def items(self) -> Field:
        """The repeated field of the record set."""
        return next(field for field in self.record_set.fields if field.repeat is not None)

    def record(self, model: Model) -> Type:
        """Return the structure of a record."""
        assert isinstance(self.items.type, TypeReference)
        return resolved(model, self.items.type)


@dataclass(frozen=True)
class Segment:
    """A type that repeats entries up to its end, and the parts of these entries."""

    model: Model
    type: Type

    @cached_property
    def entry(self) -> Type:
        """The type that is repeated."""
        return self.model.inner(self.type.fields[0])

    @cached_property
    def body(self) -> Field:
        """The field of the entry that holds the choice."""
        return next(item for item in self.entry.fields if _is_choice(self.model, self.entry, item))

    @cached_property
    def length(self) -> Field:
        """The field of the entry that is the size of the body."""
        return next(field for field in self.entry.fields if _is_length(field, self.body))

    @cached_property
    def choice(self) -> Type:
        """The type that chooses."""
        return self.model.inner(self.body)

    @cached_property
    def switch(self) -> SwitchType:
        """The choice itself."""
        switch = self.choice.fields[0].type
        assert isinstance(switch, SwitchType)
        return switch

    @cached_property
    def peek(self) -> PeekInstance:
        """The field that the choice depends on."""
        return self.choice.peek_instances[0]

    @cached_property
    def kinds(self) -> tuple[Type, ...]:
        """The types of the cases, each once."""
        return tuple(
            dict.fromkeys(self.model.type(reference) for _, reference in self.switch.cases)
        )

    @cached_property
    def framing(self) -> tuple[Field, ...]:
        """The fields of the entry before its body."""
        return self.entry.fields[: self.entry.fields.index(self.body)]

    def arguments(self, kind: Type) -> dict[str, ex.Expression]:
        """Return the arguments of a kind, as expressions over fields of the entry and the peek."""
        body = self.body.type
        assert isinstance(body, TypeReference)
        reference = next(ref for _, ref in self.switch.cases if self.model.type(ref) == kind)
        outer = {
            parameter.id: argument
            for parameter, argument in zip(self.choice.parameters, body.arguments, strict=True)
        }
        return {
            parameter.id: ex.rename(argument, lambda name: outer.get(name, ex.Name(name)))
            for parameter, argument in zip(kind.parameters, reference.arguments, strict=True)
        }

    @cached_property
    def batches(self) -> tuple[Batch, ...]:
        """Kinds with records in opaque bytes."""
        return tuple(batch for kind in self.kinds if (batch := _batch(self.model, kind)))

    @cached_property
    def messages(self) -> tuple[Type, ...]:
        """All other kinds."""
        batches = {batch.type.key for batch in self.batches}
        return tuple(kind for kind in self.kinds if kind.key not in batches)

    @cached_property
    def scan_columns(self) -> tuple[str, ...]:
        """Columns of entries: place and kind, then the members of the headers of every kind."""
        found = dict.fromkeys(["position", "size", KIND])
        found |= dict.fromkeys(member.path for member in members(self.model, self.entry))
        for kind in self.kinds:
            found |= dict.fromkeys(member.path for member in members(self.model, kind))
        return tuple(found)


def _is_length(field: Field, body: Field) -> bool:
    plus = field.derive.plus if field.derive else 0
    return field.derive == Derive(DeriveFunction.LEN, body.id, plus=plus)


def _batch(model: Model, kind: Type) -> Batch | None:
    for field in kind.fields:
        if kind.is_opaque_count(field):
            assert field.derive is not None
            payload = kind.field_by_id[field.derive.first]
            record_set = _record_set(model, kind, field)
            if record_set is not None:
                return Batch(kind, field, payload, record_set)
    return None


def _record_set(model: Model, kind: Type, count: Field) -> Type | None:
    for type_ in model.all_types():
        for parameter in type_.parameters:
            if not isinstance(parameter.type, TypeReference) or model.type(parameter.type) != kind:
                continue
            wanted = ex.Attribute(ex.Name(parameter.id), count.id)
            counts = (wanted, ex.Attribute(wanted, "value"))  # of a varint
            if any(field.repeat and field.repeat.count in counts for field in type_.fields):
                return type_
    return None


def repeated_choices(model: Model) -> list[Segment]:
    """Return the types that repeat length-framed choices up to their end, with batches first.

    Fields may follow such a choice.
    """
    found = []
    files = [spec for spec in model.specs if not spec.is_message]
    for type_ in (type_ for spec in files for type_ in spec.types):
        if len(type_.fields) != 1 or not isinstance(type_.fields[0].type, TypeReference):
            continue
        repeat = type_.fields[0].repeat
        entry = model.type(type_.fields[0].type)
        if repeat and repeat.eos and any(_is_choice(model, entry, body) for body in entry.fields):
            found.append(Segment(model, type_))
    return sorted(found, key=lambda segment: not segment.batches)


def segments(model: Model) -> tuple[Segment, ...]:
    """Return the types that repeat entries that end in a length-framed choice."""
    return tuple(item for item in repeated_choices(model) if item.body is item.entry.fields[-1])


def _is_choice(model: Model, entry: Type, body: Field) -> bool:
    """Return whether a field is a sized choice by a number at a fixed place."""
    if not isinstance(body.type, TypeReference) or body.repeat is not None:
        return False
    choice = model.type(body.type)
    switch = choice.fields[0].type if choice.is_choice else None
    return (
        isinstance(switch, SwitchType)
        and [ex.Name(peek.id) for peek in choice.peek_instances] == [switch.on]
        and any(_is_length(field, body) for field in entry.fields)
    )
