"""Integers that a field may hold: by its type, by ``valid``, and by expressions over fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from kafkaspec.layout.names import SCHEMA_VERSION
from tools.specgen.evaluate import UnknownNameError, evaluate, may_satisfy
from tools.specgen.expression import Attribute, Binary, Expression, Name, literal, walk
from tools.specgen.facts.fields import scalar_of, valid_parts
from tools.specgen.model import BitsType, Field, IntegerType, Model, Scalar, Type, Valid

MOST_VERSIONS = 64
"""Versions of a message, of which there are five at most today."""

MOST_TEXT = (1 << 15) - 1
"""Bytes of a string: its size has 16 bits, in flexible versions too."""

Interval = tuple[int, int]
"""The smallest and the largest value."""

LONG: Interval = (-(1 << 63), (1 << 63) - 1)
"""Java's ``long``, in which the meaning of value instances is defined."""


class Varint(NamedTuple):
    """How an integer scalar is coded: in at most ``size`` bytes, from ``bits`` bits."""

    size: int
    bits: int
    zigzag: bool

    @property
    def range(self) -> Interval:
        """The values that it holds."""
        half = 1 << (self.bits - 1)
        return (-half, half - 1) if self.zigzag else (0, 2 * half - 1)

    @property
    def last_bits(self) -> int:
        """Number of bits of the last possible byte that count."""
        return self.bits - 7 * (self.size - 1)


VARINTS = {
    Scalar.VARINT32: Varint(5, 32, zigzag=True),
    Scalar.VARINT64: Varint(10, 64, zigzag=True),
    Scalar.UNSIGNED_VARINT32: Varint(5, 32, zigzag=False),
}


def value_range(model: Model, field: Field) -> Interval | None:
    """Return the smallest and the largest integer of the field's type, None for other types."""
    match field.type:
        case IntegerType(minimum=low, maximum=high):
            return low, high
        case BitsType(width=width):
            return 0, (1 << width) - 1
    scalar = scalar_of(model, field)
    return VARINTS[scalar].range if scalar in VARINTS else None


def lower_bound(model: Model, field: Field) -> int | None:
    """Return the smallest value that type and ``valid`` allow, None if no bound is found."""
    bounds: list[int] = []
    if isinstance(field.type, IntegerType) and not field.type.signed:
        bounds.append(0)
    if scalar_of(model, field) is Scalar.UNSIGNED_VARINT32:
        bounds.append(0)
    if field.valid is not None:
        bounds += _bounds(field.valid)
    return max(bounds, default=None)


def is_text(model: Model, type_: Type) -> bool:
    """Return whether a type holds byte strings of at most 32,767 bytes, as Kafka's strings are.

    Its byte strings may be larger, and nothing else tells them apart.
    """
    if type_.scalar is None or type_.scalar.is_integer or len(type_.fields) != 2:
        return False
    size = type_.fields[0]
    bounds, derive = value_range(model, size), size.derive
    if bounds is None or derive is None:
        return False
    limits = [bounds[1]]
    if size.valid is not None and size.valid.expression is not None:
        limits += at_most(size.valid.expression, "_")
    return min(limits) - derive.plus <= MOST_TEXT


def first_version(field: Field) -> int:
    """Return the first version that has a field, 0 if that does not depend on the version."""
    for version in range(1, MOST_VERSIONS):
        before, here = (exists(field, number) for number in (version - 1, version))
        if here and before is False:
            return version
    return 0


def exists(field: Field, version: int) -> bool | None:
    """Return whether a version has a field, None if something else decides that."""
    if field.condition is None:
        return None
    try:
        found = evaluate(field.condition, {"version": version, SCHEMA_VERSION: version})
    except UnknownNameError:
        return None
    return bool(found)


def _bounds(valid: Valid) -> Iterator[int]:
    for expression in (valid.equal, valid.minimum):
        value = literal(expression)
        if value is not None:
            yield value
    choices = [literal(item) for item in valid.any_of]
    if choices and None not in choices:
        yield min(choice for choice in choices if choice is not None)
    if valid.expression is not None:
        yield from at_least(valid.expression, "_")


def at_least(condition: Expression, name: str) -> Iterator[int]:
    """Yield every ``n`` such that the condition demands ``name >= n``, by ``>=`` or ``>``."""
    for node in conjuncts(condition):
        match node:
            case Binary(">=" | ">", Binary("-", left, subtracted), right):
                less, number = literal(subtracted), literal(right)
                if number is not None and less is not None and _is(left, name):
                    yield number + less + (node.operator == ">")
            case Binary(">=" | ">", left, right):
                number = literal(right)
                if number is not None and _is(left, name):
                    yield number + (node.operator == ">")


def at_most(condition: Expression, name: str) -> Iterator[int]:
    """Yield every ``n`` such that the condition demands ``name <= n``, by ``<=`` or ``<``."""
    for node in conjuncts(condition):
        match node:
            case Binary("<=" | "<", left, right):
                number = literal(right)
                if number is not None and _is(left, name):
                    yield number - (node.operator == "<")


def _is(expression: Expression, name: str) -> bool:
    return expression in (Name(name), Attribute(Name(name), "value"))


def conjuncts(expression: Expression) -> Iterator[Expression]:
    """Yield the parts that ``and`` joins."""
    match expression:
        case Binary("and", left, right):
            yield from conjuncts(left)
            yield from conjuncts(right)
        case _:
            yield expression


def sole_lower_bound(field: Field) -> int | None:
    """Return the ``n`` where ``valid:`` demands ``_ >= n`` and nothing else."""
    valid = field.valid
    if valid is None:
        return None
    if valid == Valid(minimum=valid.minimum):
        return literal(valid.minimum)
    if valid.expression is None or valid != Valid(expression=valid.expression):
        return None
    if len(list(conjuncts(valid.expression))) > 1:
        return None
    return next(at_least(valid.expression, "_"), None)


def allowed_values(valid: Valid | None) -> frozenset[int] | None:
    """Return the allowed values, None if they are too many to list or not constant."""
    if valid is None:
        return None
    equal = literal(valid.equal)
    if equal is not None:
        return frozenset({equal})
    choices = [literal(item) for item in valid.any_of]
    if choices and None not in choices:
        return frozenset(choice for choice in choices if choice is not None)
    low, high = literal(valid.minimum), literal(valid.maximum)
    if valid.expression is not None:
        low = max(at_least(valid.expression, "_"), default=low)
        high = min(at_most(valid.expression, "_"), default=high)
        for node in conjuncts(valid.expression):
            match node:
                case Binary("==", left, right) if _is(left, "_") and literal(right) is not None:
                    low = high = literal(right)
    if low is None or high is None or high - low > 256:
        return None
    return frozenset(range(low, high + 1))


def example(
    model: Model, field: Field, scope: Mapping[str, Any] | None = None, first: int = 20
) -> int | None:
    """Return a value that the field may have, ``first`` if possible; None if none was found."""
    bounds = value_range(model, field)
    if bounds is None:
        return None
    allowed = allowed_values(field.valid)
    mentioned = [
        number + step
        for part in valid_parts(field.valid)
        for node in walk(part)
        if (number := literal(node)) is not None
        for step in (0, 1, -1)
    ]
    candidates: list[int] = [first, 1, 0, *range(2, 64), *mentioned, *bounds]
    if allowed is not None:
        candidates = sorted(allowed, reverse=True)
    for number in candidates:
        if bounds[0] <= number <= bounds[1] and may_satisfy(field.valid, number, scope or {}):
            return number
    return None
