"""The fields of users' records as expressions in a loop over the records of a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kafkaspec.model import Record
from tools.specgen import expression as ex
from tools.specgen.facts.ranges import LONG, Interval
from tools.specgen.model import Model, Scalar, Type, TypeReference, ValueInstance
from tools.specgen.python.expressions import Translator

_HALF: Interval = (LONG[0] // 2, LONG[1] // 2)
"""Bounds of numbers of which any two have a sum that fits 64 bits."""


class UnsupportedError(Exception):
    """The specification has a shape that the loop does not support."""


class Meanings:
    """The fields of ``kafkaspec.model.Record`` over the fields of the specification's record.

    Values that are the same for every record of a batch are computed once, before the loop. 64-bit
    numbers that are added are limited to half of the range, so that no sum has to be reduced.
    """

    def __init__(self, model: Model, type_: Type, local: Callable[[str], str]) -> None:
        self.model = model
        self.type = type_
        self.local = local
        self.hoisted: dict[ex.Expression, str] = {}
        self.bounds: dict[ex.Expression, Interval] = {}
        self.wanted = self._wanted()
        self._texts = [self._text(value) for value in self.wanted.values()]

    def texts(self) -> list[str]:
        """Return the source texts in the order of the tuple."""
        return self._texts

    def used(self) -> set[str]:
        """Return the names of the fields that are needed."""
        return {name for value in self.wanted.values() for name in ex.names(value)}

    def assignments(self) -> Iterator[str]:
        """Yield the statements before the loop."""
        for expression, name in self.hoisted.items():
            yield f"{name} = {Translator(self.model, self.type, str).text(expression)}"

    def limits(self) -> Iterator[tuple[str, Interval]]:
        """Yield the variables from before the loop and their bounds."""
        for expression, interval in self.bounds.items():
            yield self.hoisted[expression], interval

    def _wanted(self) -> dict[str, ex.Expression]:
        known = self.type.members
        found: dict[str, ex.Expression] = {}
        for name in Record._fields:
            member = known.get(name)
            if member is None:
                raise UnsupportedError(f"a record has no {name}")
            if isinstance(member, ValueInstance):
                if member.condition is not None:
                    raise UnsupportedError(f"{name} is optional")
                found[name] = member.value
            else:
                found[name] = ex.Name(name)
        return found

    def _text(self, expression: ex.Expression) -> str:
        self._hoist(expression, arithmetic=False)
        narrow = {
            field.id: _HALF
            for field in self.type.fields
            if isinstance(field.type, TypeReference)
            and self.model.type(field.type).scalar is Scalar.VARINT64
        }
        return Translator(
            self.model,
            self.type,
            self.local,
            wrap=True,
            intervals=narrow,
            overrides=self.hoisted,
            bounds=self.bounds,
        ).text(expression)

    def _hoist(self, node: ex.Expression, *, arithmetic: bool) -> None:
        parameters = {parameter.id for parameter in self.type.parameters}
        mentioned = ex.names(node)
        if mentioned and mentioned <= parameters:
            if node not in self.hoisted:
                last = node.name if isinstance(node, ex.Attribute) else f"fixed_{len(self.hoisted)}"
                self.hoisted[node] = self.local(last)
            low, high = Translator(self.model, self.type, str).interval(node)
            if arithmetic and (low < _HALF[0] or high > _HALF[1]):
                self.bounds[node] = _HALF
            return
        match node:
            case ex.Binary(operator, left, right):
                inside = operator in ("+", "-", "*")
                self._hoist(left, arithmetic=inside)
                self._hoist(right, arithmetic=inside)
            case ex.Unary(_, operand):
                self._hoist(operand, arithmetic=True)
            case ex.Ternary(condition, then, otherwise):
                for part in (condition, then, otherwise):
                    self._hoist(part, arithmetic=arithmetic)
            case ex.Name() | ex.Attribute() | ex.Int() | ex.EnumMember():
                return
            case _:
                raise UnsupportedError("an instance looks into an array")
