"""Check rules S1 to S6, which keep a reader of hostile bytes within bounds."""

from __future__ import annotations

from collections.abc import Iterator

from tools.specgen.evaluate import literal
from tools.specgen.expression import Attribute, Binary, Expression, Index, Int, Name, walk
from tools.specgen.expression import parse as expression
from tools.specgen.facts.fields import fills_stream, references, size_of, source
from tools.specgen.facts.ranges import VARINTS, allowed_values, lower_bound
from tools.specgen.lint.problem import Problem
from tools.specgen.model import (
    BytesType,
    Field,
    IntegerType,
    Model,
    PeekInstance,
    Repeat,
    Scalar,
    SwitchType,
    Type,
    TypeReference,
    Valid,
)


def check(model: Model) -> Iterator[Problem]:
    """Yield problems with rules S1 to S6."""
    sized = _sized_types(model)
    for type_ in model.all_types():
        for field in type_.fields:
            yield from _s1_process(field)
            yield from _s3_bounds(model, type_, field)
            yield from _s6_switch(type_, field)
        for peek in type_.peek_instances:
            yield from _s2_peek(type_, peek, sized)
        yield from _s4_end(model, type_, sized)
        yield from _s5_varint(type_)


def _sized_types(model: Model) -> frozenset[str]:
    """Return the keys of types that are read from a substream of known size somewhere."""
    return frozenset(
        f"{reference.spec_id}.{reference.name}"
        for type_ in model.all_types()
        for field in type_.fields
        for reference in references(field.type)
        if size_of(field) is not None or getattr(field.type, "size_eos", False)
    )


def _s1_process(field: Field) -> Iterator[Problem]:
    if field.process is not None:
        yield Problem(
            field.location,
            "S1",
            f"process: {field.process} hides bytes from the specification; write size-eos: true "
            "and leave decompression to the library",
        )


def _s2_peek(type_: Type, peek: PeekInstance, sized: frozenset[str]) -> Iterator[Problem]:
    position = literal(peek.position)
    if position is None or position < 0:
        yield Problem(
            peek.location, "S2", "pos must be a constant; write the number of bytes from the start"
        )
    if type_.key not in sized:
        yield Problem(
            peek.location,
            "S2",
            f"pos counts from the start of the whole file unless {type_.name} is sized; "
            "give each field of this type a size",
        )
    if not isinstance(peek.type, IntegerType):
        yield Problem(peek.location, "S2", "only an integer can be read ahead; write its type")


def _s3_bounds(model: Model, type_: Type, field: Field) -> Iterator[Problem]:
    count = field.repeat.count if field.repeat else None
    if count is not None:
        yield from _s3_number(model, type_, field, count, "repeat-expr")
    size = size_of(field)
    if size is not None and literal(size) is None:
        yield from _s3_number(model, type_, field, size, "size")


def _s3_number(
    model: Model, type_: Type, field: Field, number: Expression, key: str
) -> Iterator[Problem]:
    origin = source(model, type_, number)
    if origin is None:
        yield Problem(
            field.location,
            "S3",
            f"{key} must be a field, field.value or parameter.field, less a number if need be, "
            "so that its bounds can be checked",
        )
        return
    bound = lower_bound(model, origin.field)
    if bound is not None and bound >= origin.minus:
        return
    if type_.scalar is Scalar.NULLABLE_BYTES and _is_null_guard(field, number):
        return
    smallest = f"min: {origin.minus}"
    if isinstance(origin.field.type, TypeReference):
        smallest = f"expr: _.value >= {origin.minus}"
    yield Problem(
        origin.field.location,
        "S3",
        f"{origin.field.id} is the {key} of {field.id} and may be too small; "
        f"write valid: {{{smallest}}}",
    )


def _is_null_guard(field: Field, size: Expression) -> bool:
    return field.condition == Binary(">=", size, Int(0))


def _s4_end(model: Model, type_: Type, sized: frozenset[str]) -> Iterator[Problem]:
    for field in type_.fields[:-1]:
        if _takes_rest(field):
            yield Problem(
                field.location,
                "S4",
                f"{field.id} takes all bytes left, so nothing can follow; move it to the end",
            )
        if field.is_guard:
            yield Problem(
                field.location, "S4", f"{field.id} demands the end; make it the last field"
            )
    is_file = type_ is model.spec(type_.spec_id).root and bool(type_.fields)
    if (type_.key in sized or is_file) and not _consumes_all(model, type_, ()):
        yield Problem(
            type_.location,
            "S4",
            f"bytes after the last field of {type_.name} go unnoticed; end it with "
            "{id: end, size: 0, valid: {expr: _io.eof}} or a size-eos field",
        )


def _takes_rest(field: Field) -> bool:
    return (isinstance(field.type, BytesType) and field.type.size is None) or fills_stream(field)


def _consumes_all(model: Model, type_: Type, seen: tuple[str, ...]) -> bool:
    if not type_.fields or type_.key in seen:
        return False
    last = type_.fields[-1]
    if last.is_guard or _takes_rest(last):
        return True
    if last.repeat is not None or size_of(last) is not None:
        return False
    inner = [model.type(reference) for reference in references(last.type)]
    return bool(inner) and all(_consumes_all(model, t, (*seen, type_.key)) for t in inner)


def _s5_varint(type_: Type) -> Iterator[Problem]:
    scalar = type_.scalar
    if scalar not in VARINTS:
        for field in type_.fields:
            if field.repeat is not None and field.repeat.until is not None:
                yield Problem(
                    field.location,
                    "S5",
                    "repeat: until has no bound; only types with a varint -scalar may use it, "
                    "write repeat: expr",
                )
        return
    last = VARINTS[scalar].size - 1
    if len(type_.fields) != 1 or type_.fields[0].type != IntegerType(1, signed=False):
        yield Problem(type_.location, "S5", "a varint has one field, an array of u1")
        return
    groups = type_.fields[0]
    # The compiler counts _index differently in repeat-until of different languages, and its Java
    # and C# do not compile if valid: expr and repeat: until are used together.
    if groups.repeat != Repeat(until=expression("_ < 0x80")):
        yield Problem(
            groups.location,
            "S5",
            "the last byte is the first without the continuation bit; write repeat-until: _ < 0x80",
        )
    bound = f"_index < {last} ? 0xff : 0x7f"
    if groups.valid != Valid(maximum=expression(bound)):
        yield Problem(
            groups.location,
            "S5",
            f"type {scalar} ends after {last + 1} bytes; write valid: {{max: '{bound}'}}",
        )
    yield from _s5_value(type_, groups.id, last)


def _s5_value(type_: Type, groups: str, last: int) -> Iterator[Problem]:
    assert type_.scalar is not None
    instances = {instance.id: instance for instance in type_.value_instances}
    if "value" not in instances:
        yield Problem(type_.location, "S5", "a varint needs an instance value, the integer")
    surplus = (1 << VARINTS[type_.scalar].last_bits) - 1
    for instance in type_.value_instances:
        masked = {
            node.left: literal(node.right)
            for node in walk(instance.value)
            if isinstance(node, Binary) and node.operator == "&"
        }
        for node in walk(instance.value):
            if not isinstance(node, Index) or node.value != Name(groups):
                continue
            index = literal(node.index)
            mask = surplus if index == last else 0x7F
            if index is None or masked.get(node) != mask:
                yield Problem(
                    instance.location,
                    "S5",
                    f"bits of {groups}[{index}] that do not count must be dropped; "
                    f"write {groups}[{index}] & 0x{mask:02x}",
                )


def _s6_switch(type_: Type, field: Field) -> Iterator[Problem]:
    if not isinstance(field.type, SwitchType):
        return
    cases = {case for case, _ in field.type.cases}
    if None in cases:
        return
    match field.type.on:
        case Name(name) | Attribute(Name(name), "value"):
            discriminator = _discriminator(type_, name)
        case _:
            discriminator = None
    allowed = allowed_values(discriminator.valid) if discriminator is not None else None
    if allowed is None or not allowed <= cases:
        missing = ", ".join(str(value) for value in sorted((allowed or set()) - cases))
        yield Problem(
            field.location,
            "S6",
            f"{field.id} has no case for {missing or 'every value of its switch'}; "
            "write a case _ or let valid: of the switch allow the cases only",
        )


def _discriminator(type_: Type, name: str) -> Field | PeekInstance | None:
    peeks = {peek.id: peek for peek in type_.peek_instances}
    return peeks.get(name) or type_.field_by_id.get(name)
