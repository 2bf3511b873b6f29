"""Translate expressions of the specification into the language of ImHex's patterns.

Numbers have 128 bits there, so that no sum of the specification overflows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from kafkaspec.layout import names
from tools.specgen import expression as ex
from tools.specgen.facts.fields import expressions, references
from tools.specgen.facts.segments import segments
from tools.specgen.facts.terms import Terms
from tools.specgen.model import Field, Model, Parameter, Type, TypeReference, ValueInstance

END: Final = "end_"
"""The parameter that says where the bytes of a structure end."""
_OPERATORS: Final = {"and": "&&", "or": "||"}
_WORDS: Final = (
    "if else while for match return break continue struct enum union fn bitfield unsigned signed"
    " le be parent namespace using this in out ref null const _ try catch import as is from"
    " true false nan inf addressof sizeof typenameof padding auto any float double bool char char16"
    " str u8 u16 u24 u32 u48 u64 u96 u128 s8 s16 s24 s32 s48 s64 s96 s128 builtin kafkaspec"
)
_KEYWORDS: Final = frozenset(_WORDS.split())


def identifier(name: str) -> str:
    """Return a name that is not a word of the language."""
    return f"{name}_" if name in _KEYWORDS else name


def name_of(key: str) -> str:
    """Return the name of a type, ``recordbatch::entry``."""
    spec_id, _, name = key.partition(".")
    return f"{identifier(spec_id)}::{identifier(name)}"


def quoted(text: str) -> str:
    """Return a string in one line."""
    shown = " ".join(text.split()).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{shown}"'


@dataclass(frozen=True)
class Expressions:
    """Translator of the expressions of one type.

    A structure that is a parameter is not passed: what is asked of it is, each number by itself.

    Attributes:
        model: the whole specification.
        type: the type that contains the expressions.
        places: what stands before a name, ``attributes_bits.`` of a bit among bytes.
    """

    model: Model
    type: Type
    places: Mapping[str, str] = field(default_factory=dict)

    def path(self, expression: ex.Expression) -> list[str] | None:
        """Return the names of ``a.b.c``, without the ``value`` of a type that is one value."""
        match expression:
            case ex.Name(name) if not name.startswith("_"):
                return [name]
            case ex.Attribute(inner, name):
                path = self.path(inner)
                terms = Terms(self.model, self.type)
                found = terms.member_of(expression)
                if name == "value" and found is not None and found == terms.member_of(inner):
                    return path
                return [*path, name] if path else None
        return None

    def parameters(self) -> list[str]:
        """Return the names of the parameters, those of structures as ``batch__num_records``."""
        found = []
        for parameter in self.type.parameters:
            if isinstance(parameter.type, TypeReference):
                asked = needs(self.model, self.type, parameter)
                found += ["__".join([parameter.id, *path]) for path in asked]
            else:
                found.append(identifier(parameter.id))
        return found

    def arguments(self, reference: TypeReference) -> Iterator[str]:
        """Yield the arguments of a reference."""
        type_ = self.model.type(reference)
        for parameter, given in zip(type_.parameters, reference.arguments, strict=True):
            if isinstance(parameter.type, TypeReference):
                for path in needs(self.model, type_, parameter):
                    whole = given
                    for name in path:
                        whole = ex.Attribute(whole, name)
                    yield self.argument(whole)
            else:
                yield self.argument(given)

    def argument(self, expression: ex.Expression) -> str:
        """Return an expression as an argument: the number of an enumeration, not its name."""
        text, found = self.side(expression), Terms(self.model, self.type).member_of(expression)
        named = found is not None and isinstance(found[1], Field) and found[1].enum
        return f"s128({text})" if named and "__" not in text else text

    def own(self, path: str) -> ex.Expression:
        """Return a member of this structure by its dotted path."""
        first, *rest = path.split(".")
        expression: ex.Expression = ex.Name(first)
        for name in rest:
            expression = ex.Attribute(expression, name)
        return expression

    def side(self, expression: ex.Expression, value: str = "") -> str:
        """Return an expression, in parentheses if it has operators."""
        text = self.text(expression, value)
        return text if re.fullmatch(r"[\w.$:]+", text) else f"({text})"

    def text(self, expression: ex.Expression, value: str = "") -> str:
        """Return an expression; ``value`` is what stands for ``_``."""
        if expression == ex.LEFT:
            return f"{END} - $"
        if path := self.path(expression):
            return self._member(path)
        match expression:
            case ex.Int(number):
                return str(number)
            case ex.Bool(truth):
                return str(truth).lower()
            case ex.Name("_") | ex.Attribute(ex.Name("_"), "value"):
                return value
            case ex.EnumMember(enum, member):
                values = self.model.enum(f"{self.type.spec_id}.{enum}").values
                return str(next(each.value for each in values if each.id == member))
            case ex.Attribute(ex.Name("_io"), "eof"):
                return f"$ >= {END}"
            case ex.Attribute(ex.Name("_"), "length" | "size"):
                return "0"  # only guards ask, and they are empty
            case ex.Unary(operator, operand):
                return f"{'!' if operator == 'not' else operator}{self.side(operand, value)}"
            case ex.Ternary(condition, then, otherwise):
                parts = [self.side(part, value) for part in (condition, then, otherwise)]
                return f"({parts[0]} ? {parts[1]} : {parts[2]})"
            case ex.Binary(operator, left, right):
                sides = self.side(left, value), self.side(right, value)
                return f"{sides[0]} {_OPERATORS.get(operator, operator)} {sides[1]}"
        raise ValueError(f"{self.type.location}: {expression} is not supported in ImHex")

    def _member(self, path: list[str]) -> str:
        found = self.type.members.get(path[0])
        if isinstance(found, Parameter) and isinstance(found.type, TypeReference):
            return "__".join(path)
        if isinstance(found, ValueInstance):  # which stands after all fields
            return f"({self.text(found.value)})"
        return self.places.get(path[0], "") + ".".join(map(identifier, path))


def needs(model: Model, type_: Type, parameter: Parameter) -> list[tuple[str, ...]]:
    """Return what a type asks of a structure that is its parameter, itself or to pass it on."""
    terms = Expressions(model, type_)
    found = set()
    for node in type_.nodes:
        for _, expression in expressions(node):
            found |= set(_asked(terms, expression, parameter.id))
        if isinstance(node, Field):
            for reference in references(node.type):
                found |= set(_passed(model, terms, reference, parameter.id))
    for segment in segments(model):
        for batch in segment.batches:
            if batch.record(model) is type_ and parameter is type_.parameters[0]:
                found.add(tuple(names.IS_CONTROL.split(".")))
    return sorted(found)


def _asked(
    terms: Expressions, expression: ex.Expression, parameter: str
) -> Iterator[tuple[str, ...]]:
    path = terms.path(expression)
    if path is None:
        for part in ex.parts(expression):
            yield from _asked(terms, part, parameter)
    elif path[0] == parameter and len(path) > 1:
        yield tuple(path[1:])


def _passed(
    model: Model, terms: Expressions, reference: TypeReference, parameter: str
) -> Iterator[tuple[str, ...]]:
    type_ = model.type(reference)
    for inner, given in zip(type_.parameters, reference.arguments, strict=True):
        path = terms.path(given)
        if isinstance(inner.type, TypeReference) and path and path[0] == parameter:
            yield from ((*path[1:], *rest) for rest in needs(model, type_, inner))
