"""Check rules ``type`` and S7: the kind of value of each expression, and what it may use."""

from __future__ import annotations

from collections.abc import Iterator

from tools.specgen import expression as ex
from tools.specgen.facts.fields import expressions, references
from tools.specgen.facts.ranges import VARINTS
from tools.specgen.facts.terms import COMPARISONS
from tools.specgen.lint.problem import Messages, Problem, found
from tools.specgen.model import (
    BitsType,
    BytesType,
    Field,
    FloatType,
    IntegerType,
    Model,
    Node,
    Parameter,
    PeekInstance,
    Type,
    TypeReference,
    ValueInstance,
    reachable,
)

NUMBER, TRUTH, BYTES, ARRAY, STREAM = "a number", "true or false", "bytes", "an array", "a stream"
FLOAT = "a float"
Kind = str | Type
"""The kind of a value: one of these, or a structure."""

_WANTED: dict[str, Kind | None] = {"if": TRUTH, "repeat-until": TRUTH, "value": None}
"""Kinds of the values of expressions by key; all others are numbers."""


class _MismatchError(Exception):
    """The expression has no meaning; the message says why, None if another rule reports it."""

    def __init__(self, message: str | None = None, rule: str = "type") -> None:
        super().__init__(message)
        self.message, self.rule = message, rule


def check(model: Model) -> Iterator[Problem]:
    """Yield problems with the kinds of values."""
    for type_ in model.all_types():
        circular = list(found("name", type_, _circular(type_)))
        yield from circular
        if circular:
            continue
        for node in type_.nodes:
            for key, expression, wanted in _expected(model, node):
                yield from _check(model, type_, node, key, expression, wanted)


def _circular(type_: Type) -> Messages:
    """Yield instances that are computed from themselves, directly or through others."""
    uses = {instance.id: ex.names(instance.value) for instance in type_.value_instances}
    for instance in type_.value_instances:
        if instance.id in reachable(instance.id, lambda name: uses.get(name, ())):
            yield instance, f"{instance.id} is computed from itself; write it over fields"


def _expected(model: Model, node: Node) -> Iterator[tuple[str, ex.Expression, Kind | None]]:
    """Yield every expression of a node with its key and the kind that it must have."""
    condition = (
        node.valid.expression if not isinstance(node, ValueInstance) and node.valid else None
    )
    for key, expression in expressions(node):
        if key != "type":
            wanted = TRUTH if expression is condition else _WANTED.get(key, NUMBER)
            yield key, expression, wanted
    for reference in () if isinstance(node, ValueInstance) else references(node.type):
        parameters = model.type(reference).parameters
        for parameter, argument in zip(parameters, reference.arguments, strict=True):
            kind = parameter.type
            yield "type", argument, NUMBER if isinstance(kind, IntegerType) else model.type(kind)


def _check(
    model: Model, type_: Type, node: Node, key: str, expression: ex.Expression, wanted: Kind | None
) -> Iterator[Problem]:
    try:
        value = _Kinds(model, type_, node).kind(expression)
    except _MismatchError as mismatch:
        if mismatch.message is not None:
            yield Problem(node.location, mismatch.rule, f"{key}: {mismatch.message}")
        return
    if wanted is None and value not in (NUMBER, TRUTH):
        message = f"{key}: it is {_name(value)}; write a number or a test"
        yield Problem(node.location, "type", message)
    elif wanted is not None and value != wanted:
        message = f"{key}: it is {_name(value)} where {_name(wanted)} is needed"
        yield Problem(node.location, "type", message)
    at_end = key == "valid" and type_.scalar is None and not isinstance(node, PeekInstance)
    if "_io" in ex.names(expression) and not at_end:
        message = f"{key}: _io stands in valid: of a field of a structure only; use a field"
        yield Problem(node.location, "S7", message)


def _name(kind: Kind) -> str:
    return kind if isinstance(kind, str) else f"a {kind.name}"


class _Kinds:
    """Checker of the kinds of the expressions of one node."""

    def __init__(self, model: Model, type_: Type, node: Node) -> None:
        self.model, self.type, self.node = model, type_, node

    def kind(self, expression: ex.Expression) -> Kind:
        """Return the kind of the value of an expression."""
        match expression:
            case ex.Int() | ex.EnumMember():
                return NUMBER
            case ex.Name("_index") if self.type.scalar in VARINTS:
                return NUMBER
            case ex.Name("_index"):
                raise _MismatchError("only a varint may use _index; write the bound without it")
            case ex.Bool():
                return TRUTH
            case ex.Name("_io"):
                return STREAM
            case ex.Name("_") if isinstance(self.node, Field | PeekInstance):
                return self._item(self.node)
            case ex.Name(name):
                return self._member(self.type, name)
            case ex.Attribute(inner, name):
                return self._attribute(self.kind(inner), name)
            case ex.Index(inner, index):
                return self._index(inner, index)
            case ex.Unary("not", operand):
                return self._all(TRUTH, TRUTH, operand)
            case ex.Unary(_, operand):
                return self._all(NUMBER, NUMBER, operand)
            case ex.Ternary(condition, then, otherwise):
                self._all(TRUTH, TRUTH, condition)
                return self._all(self.kind(then), self.kind(then), otherwise)
            case ex.Binary("and" | "or", left, right):
                return self._all(TRUTH, TRUTH, left, right)
            case ex.Binary() if expression == ex.LEFT:
                return NUMBER
            case ex.Binary(operator, left, right):
                return self._binary(operator, left, right)
        raise AssertionError(expression)

    def _binary(self, operator: str, left: ex.Expression, right: ex.Expression) -> Kind:
        self._all(NUMBER, NUMBER, left, right)
        number = ex.literal(right)
        if operator in ("/", "%") and (number is None or number < 1):
            raise _MismatchError(f"{operator} takes a constant from 1 on; write one")
        if operator in ("<<", ">>") and (number is None or not 0 <= number < 64):
            raise _MismatchError(f"{operator} takes a constant from 0 to 63; write one")
        return TRUTH if operator in COMPARISONS else NUMBER

    def _all(self, wanted: Kind, result: Kind, *parts: ex.Expression) -> Kind:
        for part in parts:
            if (found := self.kind(part)) != wanted:
                raise _MismatchError(f"it is {_name(found)} where {_name(wanted)} is needed")
        return result

    def _item(self, node: Field | PeekInstance | Parameter) -> Kind:
        """Return the kind of a field, or of one item of an array."""
        kind = node.type
        match kind:
            case IntegerType():
                return NUMBER
            case FloatType():
                return FLOAT
            case BitsType():
                return TRUTH if isinstance(node, Field) and node.is_bool else NUMBER
            case BytesType():
                return BYTES
            case TypeReference():
                return self.model.type(kind)
        raise _MismatchError(f"{node.id} is one of several structures; pass the value")

    def _member(self, owner: Type, name: str) -> Kind:
        member = owner.members.get(name)
        if member is None and owner is self.type:
            raise _MismatchError
        if member is None:
            raise _MismatchError(f"{owner.name} has no {name}; write the id of one of its fields")
        if isinstance(member, ValueInstance):
            return _Kinds(self.model, owner, member).kind(member.value)
        if isinstance(member, Field) and member.repeat is not None:
            return ARRAY
        return self._item(member)

    def _attribute(self, kind: Kind, name: str) -> Kind:
        if name == "as":
            raise _MismatchError
        if kind == STREAM:
            if name == "eof":
                return TRUTH
            message = "of _io only eof and _io.size - _io.pos may be used; write one of them"
            raise _MismatchError(message, "S7")
        if kind == ARRAY and name == "size":
            return NUMBER
        if isinstance(kind, str):
            raise _MismatchError(f"{kind} has no {name}")
        if kind.scalar is None:
            return self._member(kind, name)
        if kind.scalar in VARINTS and name == "value":
            return NUMBER
        raise _MismatchError(f"of {kind.name} only an integer .value may be used")

    def _index(self, inner: ex.Expression, index: ex.Expression) -> Kind:
        if self.type.scalar not in VARINTS or self.kind(inner) != ARRAY:
            raise _MismatchError("only the bytes of a varint have an index; write a field")
        self._all(NUMBER, NUMBER, index)
        return NUMBER
