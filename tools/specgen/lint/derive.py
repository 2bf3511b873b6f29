"""Check the rules for writers: ``-derive``, ``-default``, constants, bounds of ``valid``."""

from __future__ import annotations

from collections.abc import Iterator

from tools.specgen.evaluate import may_satisfy
from tools.specgen.expression import literal
from tools.specgen.facts.fields import is_bytes, is_integer, null_mark, scalar_of, size_of, source
from tools.specgen.facts.kinds import entry_files
from tools.specgen.facts.ranges import example, value_range
from tools.specgen.facts.sizes import fixed_size
from tools.specgen.lint.problem import Messages, Problem, found
from tools.specgen.model import (
    BytesType,
    Derive,
    DeriveFunction,
    Field,
    FloatType,
    IntegerType,
    Model,
    Scalar,
    Type,
    TypeReference,
    reachable,
)


def check(model: Model) -> Iterator[Problem]:
    """Yield problems with the rules ``derive``, ``default``, ``constant`` and ``valid``."""
    for type_ in model.all_types():
        for field in type_.fields:
            if field.derive is not None:
                yield from found("derive", field, _derive(model, type_, field, field.derive))
            yield from found("derive", field, _used_as(model, type_, field))
            yield from found("default", field, _default(model, field))
            yield from found("ascending", field, _ascending(model, field))
            yield from found("offsets", field, _offsets(model, type_, field))
            yield from found("constant", field, _constant(field))
            yield from found("valid", field, _bounds(model, field))
        yield from found("derive", type_, _cycles(type_))


def _span(type_: Type, derive: Derive) -> range | None:
    """Return the indexes of the fields that a derived one is computed from."""
    ids = [field.id for field in type_.fields]
    if derive.first not in ids or (derive.last is not None and derive.last not in ids):
        return None
    first = ids.index(derive.first)
    last = ids.index(derive.last) if derive.last else first
    return range(first, len(ids) if derive.open_end else last + 1)


def _derive(model: Model, type_: Type, field: Field, derive: Derive) -> Messages:
    span = _span(type_, derive)
    if span is None:
        names = (derive.first, derive.last)
        missing = next(name for name in names if name and name not in type_.field_by_id)
        yield f"{type_.name} has no field {missing}; write the id of a sibling"
        return
    if not span:
        yield f"{derive.last} stands before {derive.first}; swap them"
    if field.default is not None:
        yield "a derived field has no -default; leave one of the two out"
    scalar = scalar_of(model, field)
    if not isinstance(field.type, IntegerType) and not (scalar and scalar.is_integer):
        yield "only an integer can be derived; give it an integer type"
    if derive.function.is_checksum:
        yield from _checksum(model, type_, field, derive, span)
        return
    target = type_.field_by_id[derive.first]
    if derive.last is not None or derive.open_end:
        yield f"{derive.function} takes one field; write {derive.function}({derive.first})"
    if derive.function is DeriveFunction.LEN and size_of(target) is None:
        yield f"{target.id} has no size: that could use it; write size: {field.id}"
    if derive.function is DeriveFunction.PRESENT and null_mark(type_, target) is None:
        yield (
            f"{target.id} is not a structure that may be null by this mark; "
            f"write if: {field.id} >= 0, or {field.id}.value >= 1"
        )
    holds_items = target.repeat is not None or isinstance(target.type, BytesType)
    if derive.function is DeriveFunction.COUNT and not holds_items:
        yield f"{target.id} is neither an array nor bytes that hold one; use len or drop it"


def _checksum(model: Model, type_: Type, field: Field, derive: Derive, span: range) -> Messages:
    if span.stop != len(type_.fields) or not (derive.open_end or derive.last):
        yield (
            "a checksum covers everything up to the end of its type; "
            f"write {derive.function}({derive.first}..)"
        )
    if field.type not in (IntegerType(4, False), IntegerType(4, False, little=True)):
        yield f"{derive.function} has 32 bits without sign; write type: u4"
    if derive.plus:
        yield f"nothing can be added to a checksum; write {derive.function}(...) alone"
    head = type_.fields[: max(span.start, type_.fields.index(field))]
    varying = [item.id for item in head if fixed_size(model, item) is None]
    if varying:
        yield (
            f"{varying[0]} has no fixed size, so checksum and span have no fixed place; "
            "move it after both"
        )


def _used_as(model: Model, type_: Type, field: Field) -> Messages:
    size = size_of(field)
    origin = source(model, type_, size) if size is not None and literal(size) is None else None
    if origin is not None and origin.foreign:
        yield (
            origin.field,
            f"{field.id} of {type_.name} takes its size from another type; "
            "put size and content into one type",
        )
    elif origin is not None:
        wanted = Derive(DeriveFunction.LEN, field.id, plus=origin.minus)
        yield from _expect(origin.field, wanted, f"size of {field.id}")
    count = field.repeat.count if field.repeat else None
    origin = source(model, type_, count) if count is not None else None
    if origin is not None and origin.foreign:
        derive = origin.field.derive
        if derive is None or derive.function is not DeriveFunction.COUNT:
            yield (
                origin.field,
                f"it is the number of {field.id} in {type_.name}; "
                "write -derive: count(...) of the bytes that hold them",
            )
    elif origin is not None:
        wanted = Derive(DeriveFunction.COUNT, field.id, plus=origin.minus)
        yield from _expect(origin.field, wanted, f"number of {field.id}")


def _expect(field: Field, wanted: Derive, role: str) -> Messages:
    if field.derive != wanted:
        text = f"{wanted.function}({wanted.first})" + (f" + {wanted.plus}" if wanted.plus else "")
        yield field, f"it is the {role}; write -derive: {text}"


def _cycles(type_: Type) -> Messages:
    edges: dict[str, list[str]] = {}
    for field in type_.fields:
        span = _span(type_, field.derive) if field.derive else None
        inside = type_.fields[span.start : span.stop] if span is not None else ()
        edges[field.id] = [item.id for item in inside if item.derive is not None]
    for start in edges:
        if start in reachable(start, edges.__getitem__):
            message = f"end the span before it or start it after {start}"
            yield type_.field_by_id[start], f"{start} is derived from itself; {message}"


def _default(model: Model, field: Field) -> Messages:
    if field.default is None:
        return
    value = field.default.value
    if field.constant is not None:
        yield "valid: allows one value only, the default anyway; leave -default out"
    elif value == ():
        if field.repeat is None and not is_bytes(model, field):
            yield "'[]' is for bytes and arrays; write a number or 'null'"
    elif value is None:
        if scalar_of(model, field) is not Scalar.NULLABLE_BYTES and field.condition is None:
            yield "'null' is for nullable bytes; write a number or '[]'"
    elif isinstance(value, int):
        bounds = value_range(model, field)
        if isinstance(field.type, FloatType) and field.repeat is None:
            return
        if value == 0 and literal(size_of(field)) is not None and is_bytes(model, field):
            return
        if bounds is None or field.repeat is not None:
            yield "a number is for integers; write 'null' or '[]'"
        elif not bounds[0] <= value <= bounds[1] or not may_satisfy(field.valid, value, {}):
            yield f"{value} is not a value that the field may have; write one that is"


def _ascending(model: Model, field: Field) -> Messages:
    if field.ascending is None:
        return
    if field.repeat is None or not isinstance(field.type, TypeReference):
        yield "-ascending is for arrays of structures; leave it out"
        return
    fields = model.inner(field).fields
    if not fields or fields[0].id != field.ascending or not is_integer(model, fields[0]):
        yield f"{field.ascending} is not the first number of an item; write the id of that"


def _offsets(model: Model, type_: Type, field: Field) -> Messages:
    if field.offsets is None:
        return
    if field.offsets != "elsewhere":
        yield f"there is no -offsets: {field.offsets}; write elsewhere"
    if type_ is not model.spec(type_.spec_id).root or type_.spec_id not in entry_files(model):
        yield "-offsets is for the entries of a log that a file ends with; leave it out"
    elif field is not type_.fields[-1]:
        yield "-offsets is for the entries; write it there"


def _constant(field: Field) -> Messages:
    if field.valid is not None and field.valid.equal is not None and field.constant is None:
        yield "a writer must know the constant; write a number, or -derive it"
    if field.derive is not None and field.constant is not None:
        yield "a derived field is not a constant; leave -derive or valid out"


def _bounds(model: Model, field: Field) -> Messages:
    bounds = value_range(model, field)
    if field.valid is None or bounds is None:
        return
    valid = field.valid
    limits = [literal(part) for part in (valid.equal, valid.minimum, valid.maximum, *valid.any_of)]
    beyond = [n for n in limits if n is not None and not bounds[0] <= n <= bounds[1]]
    for limit in beyond:
        yield (
            f"{limit} does not fit the type, which holds {bounds[0]} to {bounds[1]}; "
            "write a bound inside or a wider type"
        )
    low, high = literal(valid.minimum), literal(valid.maximum)
    if low is not None and high is not None and low > high:
        yield f"no value is between {low} and {high}; swap them"
    elif not beyond and example(model, field) is None:
        yield "no allowed value was found; write bounds that leave one"
