"""Translate expressions of the specification to C over ``int64_t`` without undefined behaviour."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tools.specgen import expression as ex
from tools.specgen.model import Field, Model, PeekInstance, Type

_FUNCTIONS = {
    "+": "ks_add", "-": "ks_sub", "*": "ks_mul", "/": "ks_div", "%": "ks_mod", "<<": "ks_shl",
    ">>": "ks_shr",
}  # fmt: skip
_OPERATORS = {"and": "&&", "or": "||"}


class Unsupported(Exception):  # noqa: N818 - nothing is wrong: another codec does it
    """The C core does not support this shape; the Python codec reads and writes it."""


@dataclass(frozen=True)
class CTranslator:
    """Translator of the expressions of one type to C.

    Attributes:
        model: the whole specification.
        type: the type that contains the expressions.
        resolve: source text of a dotted name (``batch.attributes.compression``).
        value: source text of ``_``.
        position: name of the pointer that reads.
        end: name of the pointer where the stream ends.
    """

    model: Model
    type: Type
    resolve: Callable[[str], str]
    value: str = "_"
    position: str = "p"
    end: str = "end"

    def text(self, expression: ex.Expression) -> str:
        """Return the expression, in parentheses if it has operators."""
        match expression:
            case ex.Int(value):
                return f"INT64_C({value})" if abs(value) > 0x7FFF_FFFF else str(value)
            case ex.Bool(value):
                return str(int(value))
            case ex.EnumMember(enum, member):
                values = self.model.enum(f"{self.type.spec_id}.{enum}").values
                return str(next(value.value for value in values if value.id == member))
            case ex.Name("_"):
                return self.value
            case ex.Unary("not", operand):
                return f"!{self.text(operand)}"
            case ex.Unary("-", ex.Int(value)):
                return f"(-{self.text(ex.Int(value))})"
            case ex.Unary("-", operand):
                return f"ks_sub(0, {self.text(operand)})"
            case ex.Unary(operator, operand):
                return f"{operator}{self.text(operand)}"
            case ex.Ternary(condition, then, otherwise):
                parts = [self.text(part) for part in (condition, then, otherwise)]
                return "({} ? {} : {})".format(*parts)
            case ex.Binary() if expression == ex.LEFT:
                return f"(int64_t)({self.end} - {self.position})"
            case ex.Binary(operator, left, right) if operator in _FUNCTIONS:
                return f"{_FUNCTIONS[operator]}({self.text(left)}, {self.text(right)})"
            case ex.Binary(operator, left, right):
                sign = _OPERATORS.get(operator, operator)
                return f"({self.text(left)} {sign} {self.text(right)})"
            case ex.Attribute(ex.Name("_io"), "eof"):
                return f"({self.position} >= {self.end})"
            case ex.Name() | ex.Attribute():
                return self._name(expression)
        raise Unsupported(f"{self.type.location}: C has no translation of {expression}")

    def _name(self, expression: ex.Expression) -> str:
        parts: list[str] = []
        node = expression
        while isinstance(node, ex.Attribute):
            parts.insert(0, node.name)
            node = node.value
        if not isinstance(node, ex.Name):
            raise Unsupported(f"{self.type.location}: C has no translation of {expression}")
        if node.id == "_" and parts in ([], ["value"]):
            return self.value
        parts.insert(0, node.id)
        if parts[-1] == "value" and len(parts) > 1:
            parts.pop()
        return self.resolve(".".join(parts))


def bare(text: str) -> str:
    """Return the text without its outer parentheses, for a place that adds its own."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for place, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if depth == 0 and place < len(text) - 1:
            return text
    return text[1:-1]


def checks(translator: CTranslator, node: Field | PeekInstance) -> list[str]:
    """Return conditions that must hold for the value ``translator.value`` of a field."""
    valid = node.valid
    if valid is None:
        return []
    value = translator.value
    found = []
    if valid.equal is not None:
        found.append(f"{value} == {translator.text(valid.equal)}")
    if valid.minimum is not None:
        found.append(f"{value} >= {translator.text(valid.minimum)}")
    if valid.maximum is not None:
        found.append(f"{value} <= {translator.text(valid.maximum)}")
    if valid.any_of:
        found.append(" || ".join(f"{value} == {translator.text(e)}" for e in valid.any_of))
    if valid.expression is not None:
        found.append(translator.text(valid.expression))
    return found
