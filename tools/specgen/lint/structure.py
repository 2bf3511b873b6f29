"""Check rules S1 to S6, which keep a reader of hostile bytes within bounds."""

from __future__ import annotations

from collections.abc import Iterator

from tools.specgen import expression as ex
from tools.specgen.evaluate import may_satisfy
from tools.specgen.facts.fields import fills_stream, is_nullable, references, size_of, source
from tools.specgen.facts.ranges import VARINTS, allowed_values, lower_bound, value_range
from tools.specgen.lint.problem import Messages, Problem, found
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
            yield from found("S1", field, _process(field))
            yield from found("S3", field, _bounds(model, type_, field))
            yield from found("S6", field, _switch(type_, field))
            yield from found("S6", field, _dead_cases(model, type_, field))
        for peek in type_.peek_instances:
            yield from found("S2", peek, _peek(type_, peek, sized))
        yield from found("S4", type_, _end(model, type_, sized))
        yield from found("S5", type_, _until(type_))
        yield from found("S5", type_, _varint(type_, type_.scalar))


def _sized_types(model: Model) -> frozenset[str]:
    """Return the keys of types that are read from a substream of known size somewhere."""
    return frozenset(
        f"{reference.spec_id}.{reference.name}"
        for type_ in model.all_types()
        for field in type_.fields
        for reference in references(field.type)
        if size_of(field) is not None or getattr(field.type, "size_eos", False)
    )


def _process(field: Field) -> Messages:
    if field.process is not None:
        yield (
            f"process: {field.process} hides bytes from the specification; write size-eos: true "
            "and leave decompression to the library"
        )


def _peek(type_: Type, peek: PeekInstance, sized: frozenset[str]) -> Messages:
    position = ex.literal(peek.position)
    if position is None or position < 0:
        yield "pos must be a constant; write the number of bytes from the start"
    if type_.key not in sized:
        yield (
            f"pos counts from the start of the whole file unless {type_.name} is sized; "
            "give each field of this type a size"
        )
    if not isinstance(peek.type, IntegerType):
        yield "only an integer can be read ahead; write its type"


def _bounds(model: Model, type_: Type, field: Field) -> Messages:
    count = field.repeat.count if field.repeat else None
    if count is not None:
        yield from _number(model, type_, field, count, "repeat-expr")
    size = size_of(field)
    if size is not None and ex.literal(size) is None:
        yield from _number(model, type_, field, size, "size")


def _number(model: Model, type_: Type, field: Field, number: ex.Expression, key: str) -> Messages:
    origin = source(model, type_, number)
    if origin is None:
        yield (
            f"{key} must be a field, field.value or parameter.field, less a number if need be, "
            "so that its bounds can be checked"
        )
        return
    bound = lower_bound(model, origin.field)
    if bound is not None and bound >= origin.minus:
        return
    if is_nullable(type_, field):
        return
    smallest = f"min: {origin.minus}"
    if isinstance(origin.field.type, TypeReference):
        smallest = f"expr: _.value >= {origin.minus}"
    yield (
        origin.field,
        f"{origin.field.id} is the {key} of {field.id} and may be too small; "
        f"write valid: {{{smallest}}}",
    )


def _end(model: Model, type_: Type, sized: frozenset[str]) -> Messages:
    for field in type_.fields[:-1]:
        if _takes_rest(field):
            message = "takes all bytes left, so nothing can follow; move it to the end"
            yield field, f"{field.id} {message}"
        if field.is_guard:
            yield field, f"{field.id} demands the end; make it the last field"
    is_file = type_ is model.spec(type_.spec_id).root and bool(type_.fields)
    if (type_.key in sized or is_file) and not _consumes_all(model, type_):
        yield (
            f"bytes after the last field of {type_.name} go unnoticed; end it with "
            "{id: end, size: 0, valid: {expr: _io.eof}} or a size-eos field"
        )


def _takes_rest(field: Field) -> bool:
    return (isinstance(field.type, BytesType) and field.type.size is None) or fills_stream(field)


def _consumes_all(model: Model, type_: Type) -> bool:
    if not type_.fields:
        return False
    last = type_.fields[-1]
    if last.is_guard or _takes_rest(last):
        return True
    if last.repeat is not None or size_of(last) is not None:
        return False
    inner = [model.type(reference) for reference in references(last.type)]
    return bool(inner) and all(_consumes_all(model, item) for item in inner)


def _until(type_: Type) -> Messages:
    for field in type_.fields:
        until = field.repeat is not None and field.repeat.until is not None
        if until and type_.scalar not in VARINTS:
            yield (
                field,
                "repeat: until has no bound; only types with a varint -scalar may use it, "
                "write repeat: expr",
            )


def _varint(type_: Type, scalar: Scalar | None) -> Messages:
    if scalar not in VARINTS:
        return
    last = VARINTS[scalar].size - 1
    if len(type_.fields) != 1 or type_.fields[0].type != IntegerType(1, signed=False):
        yield "a varint has one field, an array of u1"
        return
    groups = type_.fields[0]
    # The compiler counts _index differently in repeat-until of different languages, and its Java
    # and C# do not compile if valid: expr and repeat: until are used together.
    if groups.repeat != Repeat(until=ex.parse("_ < 0x80")):
        message = "without the continuation bit; write repeat-until: _ < 0x80"
        yield groups, f"the last byte is the first {message}"
    bound = f"_index < {last} ? 0xff : 0x7f"
    if groups.valid != Valid(maximum=ex.parse(bound)):
        message = f"ends after {last + 1} bytes; write valid: {{max: '{bound}'}}"
        yield groups, f"type {scalar} {message}"
    if "value" not in {instance.id for instance in type_.value_instances}:
        yield "a varint needs an instance value, the integer"
    surplus = (1 << VARINTS[scalar].last_bits) - 1
    for instance in type_.value_instances:
        masked = {
            _or_zero(node.left): ex.literal(node.right)
            for node in ex.walk(instance.value)
            if isinstance(node, ex.Binary) and node.operator == "&"
        }
        for node in ex.walk(instance.value):
            if not isinstance(node, ex.Index) or node.value != ex.Name(groups.id):
                continue
            index = ex.literal(node.index)
            mask = surplus if index == last else 0x7F
            if index is None or masked.get(node) != mask:
                yield (
                    instance,
                    f"bits of {groups.id}[{index}] that do not count must be dropped; "
                    f"write {groups.id}[{index}] & 0x{mask:02x}",
                )


def _or_zero(expression: ex.Expression) -> ex.Expression:
    """Return ``x`` of ``... ? x : 0``, whose bits are dropped together."""
    match expression:
        case ex.Ternary(_, then, ex.Int(0)):
            return then
    return expression


def _switch(type_: Type, field: Field) -> Messages:
    if not isinstance(field.type, SwitchType):
        return
    cases = {case for case, _ in field.type.cases}
    if None in cases:
        return
    chooser = None
    match field.type.on:
        case ex.Name(name) | ex.Attribute(ex.Name(name), "value"):
            peeks = {peek.id: peek for peek in type_.peek_instances}
            chooser = peeks.get(name) or type_.field_by_id.get(name)
    allowed = allowed_values(chooser.valid) if chooser is not None else None
    if allowed is None or not allowed <= cases:
        missing = ", ".join(str(value) for value in sorted((allowed or set()) - cases))
        yield (
            f"{field.id} has no case for {missing or 'every value of its switch'}; "
            "write a case _ or let valid: of the switch allow the cases only"
        )


def _dead_cases(model: Model, type_: Type, field: Field) -> Messages:
    """Yield cases of numbers that the switch never is."""
    if not isinstance(field.type, SwitchType) or not isinstance(field.type.on, ex.Name):
        return
    name = field.type.on.id
    choosers = list(_choosers(model, type_, name))
    for case, _ in field.type.cases:
        if case is None or any(_may_be(model, chooser, case) for chooser in choosers):
            continue
        yield (
            f"{name} is never {case}, so readers refuse what is written so; let its type and "
            "valid: allow it, or leave the case out"
        )


_Chooser = Field | PeekInstance | IntegerType


def _choosers(model: Model, type_: Type, name: str) -> Iterator[_Chooser]:
    """Yield what a switch depends on; of a parameter what is passed, its type if not known."""
    parameters = {item.id: item.type for item in type_.parameters}
    kind = parameters.get(name)
    if kind is None:
        yield from (field for field in type_.fields if field.id == name)
        yield from (peek for peek in type_.peek_instances if peek.id == name)
        return
    place = list(parameters).index(name)
    passed = [
        source(model, owner, reference.arguments[place])
        for owner in model.all_types()
        for item in owner.fields
        for reference in references(item.type)
        if model.type(reference) is type_
    ]
    known = [origin.field for origin in passed if origin is not None and not origin.minus]
    if passed and len(known) == len(passed):
        yield from known
    elif isinstance(kind, IntegerType):
        yield kind


def _may_be(model: Model, chooser: _Chooser, number: int) -> bool:
    if isinstance(chooser, IntegerType):
        return chooser.minimum <= number <= chooser.maximum
    if isinstance(chooser, PeekInstance):
        known = not isinstance(chooser.type, IntegerType) or _may_be(model, chooser.type, number)
    else:
        bounds = value_range(model, chooser)
        known = bounds is None or bounds[0] <= number <= bounds[1]
    return known and may_satisfy(chooser.valid, number, {})
