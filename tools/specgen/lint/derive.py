"""Check the rules for writers: ``-derive``, ``-default``, constants, bounds of ``valid``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tools.specgen.evaluate import literal, may_satisfy
from tools.specgen.facts.fields import scalar_of, size_of, source
from tools.specgen.facts.ranges import example, value_range
from tools.specgen.facts.sizes import fixed_size
from tools.specgen.lint.problem import Problem
from tools.specgen.model import (
    BytesType,
    Derive,
    DeriveFunction,
    Field,
    IntegerType,
    Model,
    Scalar,
    Type,
)


def check(model: Model) -> Iterator[Problem]:
    """Yield problems with the rules ``derive``, ``default``, ``constant`` and ``valid``."""
    for type_ in model.all_types():
        for field in type_.fields:
            if field.derive is not None:
                yield from _derive(model, type_, field, field.derive)
            yield from _used_as(model, type_, field)
            yield from _default(model, field)
            yield from _constant(field)
            yield from _bounds(model, field)
        yield from _cycles(type_)


@dataclass(frozen=True)
class _Span:
    """Return the indexes of the first and the last field that a derived one is computed from."""

    first: int
    last: int


def _span(type_: Type, derive: Derive) -> _Span | None:
    ids = [field.id for field in type_.fields]
    if derive.first not in ids or (derive.last is not None and derive.last not in ids):
        return None
    first = ids.index(derive.first)
    last = ids.index(derive.last) if derive.last else first
    return _Span(first, len(ids) - 1 if derive.open_end else last)


def _derive(model: Model, type_: Type, field: Field, derive: Derive) -> Iterator[Problem]:
    def problem(message: str) -> Problem:
        return Problem(field.location, "derive", message)

    ids = {item.id for item in type_.fields}
    missing = [name for name in (derive.first, derive.last) if name and name not in ids]
    if missing:
        yield problem(f"{type_.name} has no field {missing[0]}; write the id of a sibling")
        return
    span = _span(type_, derive)
    assert span is not None
    if span.last < span.first:
        yield problem(f"{derive.last} stands before {derive.first}; swap them")
    if field.default is not None:
        yield problem("a derived field has no -default; leave one of the two out")
    if not _is_integer(model, field):
        yield problem("only an integer can be derived; give it an integer type")
    if derive.function.is_checksum:
        yield from _checksum(model, type_, field, derive, span)
        return
    target = type_.field_by_id[derive.first]
    if derive.last is not None or derive.open_end:
        yield problem(f"{derive.function} takes one field; write {derive.function}({derive.first})")
    if derive.function is DeriveFunction.LEN and size_of(target) is None:
        yield problem(f"{target.id} has no size: that could use it; write size: {field.id}")
    is_array = target.repeat is not None
    if derive.function is DeriveFunction.COUNT and not is_array and not _is_bytes(target):
        yield problem(
            f"{target.id} is neither an array nor bytes that hold one; use len or drop it"
        )


def _checksum(
    model: Model, type_: Type, field: Field, derive: Derive, span: _Span
) -> Iterator[Problem]:
    def problem(message: str) -> Problem:
        return Problem(field.location, "derive", message)

    if span.last != len(type_.fields) - 1 or not (derive.open_end or derive.last):
        yield problem(
            "a checksum covers everything up to the end of its type; "
            f"write {derive.function}({derive.first}..)"
        )
    if field.type != IntegerType(4, signed=False):
        yield problem(f"{derive.function} has 32 bits without sign; write type: u4")
    if derive.plus:
        yield problem(f"nothing can be added to a checksum; write {derive.function}(...) alone")
    head = type_.fields[: max(span.first, type_.fields.index(field))]
    varying = [item.id for item in head if fixed_size(model, item) is None]
    if varying:
        yield problem(
            f"{varying[0]} has no fixed size, so checksum and span have no fixed place; "
            "move it after both"
        )


def _is_integer(model: Model, field: Field) -> bool:
    scalar = scalar_of(model, field)
    return isinstance(field.type, IntegerType) or (scalar is not None and scalar.is_integer)


def _is_bytes(field: Field) -> bool:
    return isinstance(field.type, BytesType)


def _used_as(model: Model, type_: Type, field: Field) -> Iterator[Problem]:
    size = size_of(field)
    if size is not None and literal(size) is None:
        origin = source(model, type_, size)
        if origin is not None and origin.foreign:
            yield Problem(
                origin.field.location,
                "derive",
                f"{field.id} of {type_.name} takes its size from another type; "
                "put size and content into one type",
            )
        elif origin is not None:
            wanted = Derive(DeriveFunction.LEN, field.id, plus=origin.minus)
            yield from _expect(origin.field, wanted, f"size of {field.id}")
    count = field.repeat.count if field.repeat else None
    origin = source(model, type_, count) if count is not None else None
    if origin is None:
        return
    if origin.foreign:
        derive = origin.field.derive
        if derive is None or derive.function is not DeriveFunction.COUNT:
            yield Problem(
                origin.field.location,
                "derive",
                f"it is the number of {field.id} in {type_.name}; "
                "write -derive: count(...) of the bytes that hold them",
            )
    else:
        wanted = Derive(DeriveFunction.COUNT, field.id, plus=origin.minus)
        yield from _expect(origin.field, wanted, f"number of {field.id}")


def _expect(field: Field, wanted: Derive, role: str) -> Iterator[Problem]:
    if field.derive != wanted:
        text = f"{wanted.function}({wanted.first})" + (f" + {wanted.plus}" if wanted.plus else "")
        yield Problem(field.location, "derive", f"it is the {role}; write -derive: {text}")


def _cycles(type_: Type) -> Iterator[Problem]:
    edges: dict[str, list[str]] = {}
    for field in type_.fields:
        span = _span(type_, field.derive) if field.derive else None
        if span is not None:
            inside = type_.fields[span.first : span.last + 1]
            edges[field.id] = [item.id for item in inside if item.derive is not None]
    for start in edges:
        seen: set[str] = set()
        pending = list(edges[start])
        while pending:
            name = pending.pop()
            if name not in seen:
                seen.add(name)
                pending += edges.get(name, [])
        if start in seen:
            yield Problem(
                type_.field_by_id[start].location,
                "derive",
                f"{start} is derived from itself; end the span before it or start it after {start}",
            )


def _default(model: Model, field: Field) -> Iterator[Problem]:
    if field.default is None:
        return

    def problem(message: str) -> Problem:
        return Problem(field.location, "default", message)

    value = field.default.value
    if field.constant is not None:
        yield problem("valid: allows one value only, the default anyway; leave -default out")
    elif value == ():
        if field.repeat is None and not _is_bytes(field):
            yield problem("'[]' is for bytes and arrays; write a number or 'null'")
    elif value is None:
        if scalar_of(model, field) is not Scalar.NULLABLE_BYTES and field.condition is None:
            yield problem("'null' is for nullable bytes; write a number or '[]'")
    elif isinstance(value, int):
        bounds = value_range(model, field)
        if bounds is None or field.repeat is not None:
            yield problem("a number is for integers; write 'null' or '[]'")
        elif not bounds[0] <= value <= bounds[1] or not may_satisfy(field.valid, value, {}):
            yield problem(f"{value} is not a value that the field may have; write one that is")


def _constant(field: Field) -> Iterator[Problem]:
    if field.valid is not None and field.valid.equal is not None and field.constant is None:
        yield Problem(
            field.location,
            "constant",
            "a writer must know the constant; write a number, or -derive it",
        )
    if field.derive is not None and field.constant is not None:
        yield Problem(
            field.location, "constant", "a derived field is no constant; leave -derive or valid out"
        )


def _bounds(model: Model, field: Field) -> Iterator[Problem]:
    bounds = value_range(model, field)
    if field.valid is None or bounds is None:
        return
    valid = field.valid
    limits = [literal(part) for part in (valid.equal, valid.minimum, valid.maximum, *valid.any_of)]
    beyond = [n for n in limits if n is not None and not bounds[0] <= n <= bounds[1]]
    for limit in beyond:
        yield Problem(
            field.location,
            "valid",
            f"{limit} does not fit the type, which holds {bounds[0]} to {bounds[1]}; "
            "write a bound inside or a wider type",
        )
    low, high = literal(valid.minimum), literal(valid.maximum)
    if low is not None and high is not None and low > high:
        yield Problem(field.location, "valid", f"no value is between {low} and {high}; swap them")
    elif not beyond and example(model, field) is None:
        yield Problem(
            field.location, "valid", "no allowed value was found; write bounds that leave one"
        )
