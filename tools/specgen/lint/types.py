"""Check rules ``type`` and S7: the kind of value of each expression, and what it may use."""

from __future__ import annotations

from collections.abc import Iterator

from tools.specgen.evaluate import literal
from tools.specgen.expression import (
    LEFT,
    Attribute,
    Binary,
    Bool,
    EnumMember,
    Expression,
    Index,
    Int,
    Name,
    Ternary,
    Unary,
    names,
)
from tools.specgen.facts.fields import references, valid_parts
from tools.specgen.facts.ranges import VARINTS
from tools.specgen.facts.terms import COMPARISONS, members
from tools.specgen.lint.problem import Problem
from tools.specgen.model import (
    BitsType,
    BytesType,
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

NUMBER, TRUTH, BYTES, ARRAY, STREAM = "a number", "true or false", "bytes", "an array", "a stream"
Kind = str | Type
"""The kind of a value: one of these, or a structure."""

Node = Field | PeekInstance | ValueInstance | Parameter


class _MismatchError(Exception):
    """The expression has no meaning; the message says why, None if another rule reports it."""

    def __init__(self, message: str | None = None, rule: str = "type") -> None:
        super().__init__(message)
        self.message, self.rule = message, rule


def check(model: Model) -> Iterator[Problem]:
    """Yield problems with the kinds of values."""
    for type_ in model.all_types():
        circular = _circular(type_)
        yield from circular
        if circular:
            continue
        nodes: list[Node] = [*type_.fields, *type_.peek_instances, *type_.value_instances]
        for node in nodes:
            for key, expression, wanted in _expected(model, node):
                yield from _check(model, type_, node, key, expression, wanted)


def _circular(type_: Type) -> list[Problem]:
    """Yield instances that are computed from themselves, directly or through others."""
    uses = {instance.id: names(instance.value) for instance in type_.value_instances}
    found = []
    for instance in type_.value_instances:
        seen: set[str] = set()
        pending = [instance.id]
        while pending:
            new = uses.get(pending.pop(), frozenset()) & uses.keys() - seen
            seen |= new
            pending += new
        if instance.id in seen:
            message = f"{instance.id} is computed from itself; write it over fields"
            found.append(Problem(instance.location, "name", message))
    return found


def _expected(model: Model, node: Node) -> Iterator[tuple[str, Expression, Kind | None]]:
    """Yield every expression of a node with its key and the kind that it must have."""
    if isinstance(node, ValueInstance):
        yield "value", node.value, None
        if node.condition is not None:
            yield "if", node.condition, TRUTH
        return
    valid = None if isinstance(node, Parameter) else node.valid
    for part in valid_parts(valid):
        is_condition = valid is not None and part is valid.expression
        yield "valid", part, TRUTH if is_condition else NUMBER
    for reference in references(node.type):
        parameters = model.type(reference).parameters
        for parameter, argument in zip(parameters, reference.arguments, strict=True):
            wanted = parameter.type
            given = NUMBER if isinstance(wanted, IntegerType) else model.type(wanted)
            yield "type", argument, given
    if isinstance(node.type, SwitchType):
        yield "type/switch-on", node.type.on, NUMBER
    size = getattr(node.type, "size", None)
    if size is not None and not isinstance(size, int):
        yield "size", size, NUMBER
    if isinstance(node, Field):
        if node.condition is not None:
            yield "if", node.condition, TRUTH
        if node.repeat is not None and node.repeat.count is not None:
            yield "repeat-expr", node.repeat.count, NUMBER
        if node.repeat is not None and node.repeat.until is not None:
            yield "repeat-until", node.repeat.until, TRUTH


def _check(
    model: Model, type_: Type, node: Node, key: str, expression: Expression, wanted: Kind | None
) -> Iterator[Problem]:
    location = type_.location if isinstance(node, Parameter) else node.location
    try:
        found = _Kinds(model, type_, node).kind(expression)
    except _MismatchError as mismatch:
        if mismatch.message is not None:
            yield Problem(location, mismatch.rule, f"{key}: {mismatch.message}")
        return
    if wanted is None and found not in (NUMBER, TRUTH):
        yield Problem(location, "type", f"{key}: it is {_name(found)}; write a number or a test")
    elif wanted is not None and found != wanted:
        message = f"{key}: it is {_name(found)} where {_name(wanted)} is needed"
        yield Problem(location, "type", message)
    if "_io" in names(expression) and (key != "valid" or type_.scalar is not None):
        message = f"{key}: _io stands in valid: of a structure only; use a field"
        yield Problem(location, "S7", message)


def _name(kind: Kind) -> str:
    return kind if isinstance(kind, str) else f"a {kind.name}"


class _Kinds:
    """Checker of the kinds of the expressions of one node."""

    def __init__(self, model: Model, type_: Type, node: Node) -> None:
        self.model, self.type, self.node = model, type_, node

    def kind(self, expression: Expression) -> Kind:
        """Return the kind of the value of an expression."""
        match expression:
            case Int() | EnumMember():
                return NUMBER
            case Name("_index") if self.type.scalar in VARINTS:
                return NUMBER
            case Name("_index"):
                raise _MismatchError("only a varint may use _index; write the bound without it")
            case Bool():
                return TRUTH
            case Name("_io"):
                return STREAM
            case Name("_") if isinstance(self.node, Field | PeekInstance):
                return self._item(self.node)
            case Name(name):
                return self._member(self.type, name)
            case Attribute(inner, name):
                return self._attribute(self.kind(inner), name)
            case Index(inner, index):
                return self._index(inner, index)
            case Unary("not", operand):
                return self._all(TRUTH, TRUTH, operand)
            case Unary(_, operand):
                return self._all(NUMBER, NUMBER, operand)
            case Ternary(condition, then, otherwise):
                self._all(TRUTH, TRUTH, condition)
                return self._all(self.kind(then), self.kind(then), otherwise)
            case Binary("and" | "or", left, right):
                return self._all(TRUTH, TRUTH, left, right)
            case Binary() if expression == LEFT:
                return NUMBER
            case Binary(operator, left, right):
                return self._binary(operator, left, right)
        raise AssertionError(expression)

    def _binary(self, operator: str, left: Expression, right: Expression) -> Kind:
        self._all(NUMBER, NUMBER, left, right)
        number = literal(right)
        if operator in ("/", "%") and (number is None or number < 1):
            raise _MismatchError(f"{operator} takes a constant from 1 on; write one")
        if operator in ("<<", ">>") and (number is None or not 0 <= number < 64):
            raise _MismatchError(f"{operator} takes a constant from 0 to 63; write one")
        return TRUTH if operator in COMPARISONS else NUMBER

    def _all(self, wanted: Kind, result: Kind, *parts: Expression) -> Kind:
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
            case BitsType():
                return TRUTH if isinstance(node, Field) and node.is_bool else NUMBER
            case BytesType():
                return BYTES
            case TypeReference():
                return self.model.type(kind)
        raise _MismatchError(f"{node.id} is one of several structures; pass the value")

    def _member(self, owner: Type, name: str) -> Kind:
        member = members(owner).get(name)
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

    def _index(self, inner: Expression, index: Expression) -> Kind:
        if self.type.scalar not in VARINTS or self.kind(inner) != ARRAY:
            raise _MismatchError("only the bytes of a varint have an index; write a field")
        self._all(NUMBER, NUMBER, index)
        return NUMBER
