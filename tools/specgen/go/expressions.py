"""Translate expressions of the specification to Go over ``int64``, in the spacing of gofmt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tools.specgen import expression as ex
from tools.specgen.facts.terms import COMPARISONS, Terms
from tools.specgen.model import Field, PeekInstance

_LOGIC = {"and": "&&", "or": "||"}
_FUNCTIONS = {"/": "floorDiv", "%": "floorMod"}
_TIGHT = 2
"""From this depth on gofmt writes arithmetic without blanks."""


class UnsupportedError(Exception):
    """Go has no translation of an expression, or no place for a shape."""


@dataclass(frozen=True)
class GoTranslator(Terms):
    """Translator of the expressions of one type to Go.

    Attributes:
        resolve: source text of a dotted name as ``int64``, or as ``bool`` of a single bit.
        value: source text of ``_`` as ``int64``.
        position: name of the variable that reads.
        end: name of the variable where the stream ends.
        base: name of the variable where the structure begins, if that is known.
    """

    resolve: Callable[[str], str]
    value: str = "value"
    position: str = "pos"
    end: str = "end"
    base: str = ""

    def text(self, expression: ex.Expression, depth: int = 1) -> str:
        """Return the expression, without parentheses around it.

        Args:
            expression: what to translate.
            depth: that of gofmt at this place: 1 for a whole expression, more for a part of one.
        """
        match expression:
            case ex.Int(value):
                return str(value)
            case ex.Bool(value):
                return str(value).lower()
            case ex.EnumMember(enum, member):
                values = self.model.enum(f"{self.type.spec_id}.{enum}").values
                return str(next(value.value for value in values if value.id == member))
            case ex.Name("_"):
                return self.value
            case ex.Unary("not", operand):
                return f"!{self._operand(operand, depth)}"
            case ex.Unary(operator, operand):
                sign = "^" if operator == "~" else operator
                return f"{sign}{self._operand(operand, depth)}"
            case ex.Ternary(condition, then, otherwise):
                inside = depth + 1
                parts = [self.text(part, inside) for part in (condition, then, otherwise)]
                return f"pick({', '.join(parts)})"
            case ex.Binary() if expression == ex.LEFT:
                gap = "-" if depth >= _TIGHT else " - "
                return f"int64({self.end}{gap}{self.position})"
            case ex.Binary(operator, left, right) if operator in _FUNCTIONS:
                parts = [self.text(part, depth + 1) for part in (left, right)]
                return f"{_FUNCTIONS[operator]}({', '.join(parts)})"
            case ex.Binary():
                return self._binary(expression, depth)
            case ex.Attribute(ex.Name("_io"), name):
                return self._stream(name, depth)
            case ex.Name() | ex.Attribute():
                return self._name(expression)
        raise UnsupportedError(f"{self.type.location}: Go has no translation of {expression}")

    def _binary(self, node: ex.Binary, depth: int) -> str:
        if node.operator in _LOGIC:
            parts = [self._term(part, node.operator, depth + 1) for part in (node.left, node.right)]
            return f" {_LOGIC[node.operator]} ".join(parts)
        if node.operator in COMPARISONS:
            parts = [self._side(part, depth + 1) for part in (node.left, node.right)]
            return f" {node.operator} ".join(parts)
        gap = "" if depth >= _TIGHT else " "
        left, right = (self._operand(part, depth) for part in (node.left, node.right))
        return f"{left}{gap}{node.operator}{gap}{right}"

    def _term(self, node: ex.Expression, operator: str, depth: int) -> str:
        """Return a part of ``and`` or ``or``."""
        if isinstance(node, ex.Binary) and node.operator in _LOGIC and node.operator != operator:
            return f"({self.text(node, depth - 1)})"
        return self.text(node, depth)

    def _side(self, node: ex.Expression, depth: int) -> str:
        """Return a side of a comparison."""
        if isinstance(node, ex.Binary) and (
            node.operator in COMPARISONS or node.operator in _LOGIC
        ):
            return f"({self.text(node, depth - 1)})"
        return self.text(node, depth)

    def _operand(self, node: ex.Expression, depth: int) -> str:
        """Return an operand of arithmetic."""
        plain = node == ex.LEFT or (isinstance(node, ex.Binary) and node.operator in _FUNCTIONS)
        negative = isinstance(node, ex.Unary) and node.operator == "-"
        if negative or (isinstance(node, ex.Binary) and not plain):
            return f"({self.text(node, depth)})"
        if isinstance(node, ex.Attribute) and node.value == ex.Name("_io"):
            return f"({self.text(node, depth)})"
        return self.text(node, depth + 1)

    def _stream(self, name: str, depth: int) -> str:
        gap = "-" if depth >= _TIGHT else " - "
        match name:
            case "eof":
                return f"{self.position} == {self.end}"
            case "pos" if self.base:
                return f"int64({self.position}{gap}{self.base})"
            case "size" if self.base:
                return f"int64({self.end}{gap}{self.base})"
        raise UnsupportedError(f"{self.type.location}: Go does not know _io.{name} here")

    def _name(self, expression: ex.Expression) -> str:
        if isinstance(expression, ex.Attribute) and expression.name == "value":
            inner = expression.value
            if inner == ex.Name("_"):
                return self.value
            if self.member_of(expression) == self.member_of(inner):
                return self._name(inner)
        parts: list[str] = []
        node = expression
        while isinstance(node, ex.Attribute):
            parts.insert(0, node.name)
            node = node.value
        if not isinstance(node, ex.Name):
            raise UnsupportedError(f"{self.type.location}: Go has no translation of {expression}")
        return self.resolve(".".join([node.id, *parts]))

    def violated(self, node: Field | PeekInstance) -> list[str]:
        """Return conditions, each true if ``valid`` does not hold for ``value``."""
        valid, value = node.valid, self.value
        if valid is None:
            return []
        found = []
        if valid.equal is not None:
            found.append(f"{value} != {self.text(valid.equal, _TIGHT)}")
        if valid.minimum is not None:
            found.append(f"{value} < {self.text(valid.minimum, _TIGHT)}")
        if valid.maximum is not None:
            found.append(f"{value} > {self.text(valid.maximum, _TIGHT)}")
        if valid.any_of:
            tests = [f"{value} != {self.text(each, _TIGHT)}" for each in valid.any_of]
            found.append(" && ".join(tests))
        if valid.expression is not None:
            found.append(self.text(negation(valid.expression)))
        return found


_OPPOSITES = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_EOF = ex.Attribute(ex.Name("_io"), "eof")


def negation(expression: ex.Expression) -> ex.Expression:
    """Return the opposite of a condition."""
    match expression:
        case ex.Unary("not", operand):
            return operand
        case ex.Binary("or", left, right):
            return ex.Binary("and", negation(left), negation(right))
        case ex.Binary("and", left, right):
            return ex.Binary("or", negation(left), negation(right))
        case ex.Binary(operator, left, right) if operator in _OPPOSITES:
            return ex.Binary(_OPPOSITES[operator], left, right)
    return ex.Unary("not", expression)
