"""Translate expressions of the specification to Python source, for every emitter of Python.

Values are those of the typed model: an integer scalar is an ``int``, so ``num_headers.value`` in
the specification is plain ``num_headers`` here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tools.specgen import expression as ex
from tools.specgen.facts.terms import COMPARISONS, Terms
from tools.specgen.model import Field, camel

_TERNARY, _OR, _AND, _NOT, _COMPARE, _PIPE, _CARET, _AMPERSAND = range(8)
_SHIFT, _SUM, _PRODUCT, _UNARY, _ATOM = range(8, 13)
_PRECEDENCE = {
    "or": _OR, "and": _AND, "|": _PIPE, "^": _CARET, "&": _AMPERSAND, "<<": _SHIFT, ">>": _SHIFT,
    "+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "%": _PRODUCT,
}  # fmt: skip
_OPERATORS = {"/": "//"}


@dataclass(frozen=True)
class Stream:
    """Source text of ``_io.pos``, ``_io.size`` and the bytes left, where they are known."""

    position: str
    end: str
    base: str = ""

    @property
    def left(self) -> str:
        """Bytes that are left."""
        return (
            f"{self.end} - {self.position}"
            if " " not in self.position
            else (f"{self.end} - ({self.position})")
        )


@dataclass(frozen=True)
class Translator(Terms):
    """Translator of the expressions of one type to Python.

    Attributes:
        resolve: source text of a parameter, field or instance of the type.
        value: source text of ``_``.
        stream: source texts of ``_io``.
        enum_names: write enumeration members by name, else as numbers.
        wrap: reduce sums and products that may leave 64 bits, as Java does.
        overrides: source text of whole sub-expressions, which takes precedence.
    """

    resolve: Callable[[str], str]
    value: str = "_"
    stream: Stream | None = None
    enum_names: bool = False
    wrap: bool = False
    overrides: Mapping[ex.Expression, str] = field(default_factory=dict)

    def text(self, expression: ex.Expression) -> str:
        """Return the expression as Python source."""
        return self._top(expression)[0]

    def operand(self, expression: ex.Expression) -> str:
        """Return the expression as Python source that can be an operand of any operator."""
        text, level = self._top(expression)
        return text if level == _ATOM else f"({text})"

    def negated(self, expression: ex.Expression) -> str:
        """Return source text that is true if the expression is false."""
        return self.text(_negation(expression))

    def violated(self, field: Field) -> list[str]:
        """Return conditions, each true if ``valid`` does not hold for ``value``."""
        valid, value = field.valid, self.value
        if valid is None:
            return []
        tests = []
        if valid.equal is not None:
            tests.append(f"{value} != {self.operand(valid.equal)}")
        low, high = (part and self._bound(part) for part in (valid.minimum, valid.maximum))
        if low is not None and high is not None:
            tests.append(f"not {low} <= {value} <= {high}")
        elif low is not None:
            tests.append(f"{value} < {low}")
        elif high is not None:
            tests.append(f"{value} > {high}")
        if valid.any_of:
            tests.append(f"{value} not in {_tuple([self.text(item) for item in valid.any_of])}")
        if valid.expression is not None:
            tests.append(self.negated(valid.expression))
        return tests

    def _bound(self, expression: ex.Expression) -> str:
        return self.text(expression) if ex.literal(expression) else self.operand(expression)

    def _top(self, expression: ex.Expression) -> tuple[str, int]:
        text, level = self._render(expression)
        if self.wrap and _is_arithmetic(expression) and self.leaves_long(expression):
            return f"signed64({text})", _ATOM
        return text, level

    def _side(self, expression: ex.Expression, level: int, *, inside: bool = False) -> str:
        # Sums of sums are reduced once, at the outermost: the ring of integers allows it.
        rendered = self._render if inside and _is_arithmetic(expression) else self._top
        text, own = rendered(expression)
        return text if own >= level else f"({text})"

    def _render(self, expression: ex.Expression) -> tuple[str, int]:
        if expression in self.overrides:
            return self.overrides[expression], _ATOM
        match expression:
            case ex.Int(value):
                return str(value), _ATOM
            case ex.Bool(value):
                return str(value), _ATOM
            case ex.Name("_"):
                return self.value, _ATOM
            case ex.Name(name):
                return self.resolve(name), _ATOM
            case ex.EnumMember(enum, member):
                return self._enum(enum, member), _ATOM
            case ex.Attribute():
                return self._attribute(expression)
            case ex.Index(value, index):
                return f"{self.operand(value)}[{self.text(index)}]", _ATOM
            case ex.Unary("not", operand) if expression == _NOT_AT_END and self.stream:
                return f"{self.stream.position} != {self.stream.end}", _COMPARE
            case ex.Unary("not", operand):
                return f"not {self._side(operand, _NOT)}", _NOT
            case ex.Unary(operator, operand):
                return f"{operator}{self._side(operand, _UNARY, inside=True)}", _UNARY
            case ex.Ternary(condition, then, otherwise):
                parts = (self._side(part, _OR) for part in (then, condition, otherwise))
                return "{} if {} else {}".format(*parts), _TERNARY
            case ex.Binary():
                return self._binary(expression)
        raise AssertionError(expression)

    def _binary(self, node: ex.Binary) -> tuple[str, int]:
        if node.operator in COMPARISONS:
            left, right = (self._side(side, _PIPE) for side in (node.left, node.right))
            return f"{left} {node.operator} {right}", _COMPARE
        if node == ex.LEFT and self.stream:
            return self.stream.left, _SUM
        level = _PRECEDENCE[node.operator]
        inside = _is_arithmetic(node)
        # Few remember the precedence of shifts, masks and sums, so they get parentheses.
        clear = level if inside or level <= _AND else _UNARY
        same = isinstance(node.left, ex.Binary) and node.left.operator == node.operator
        left = self._side(node.left, level if same else clear, inside=inside)
        right = self._side(node.right, max(clear, level + 1), inside=inside)
        if isinstance(node.right, ex.Int) and node.operator in "&|^" and node.right.value > 9:
            right = hex(node.right.value)
        return f"{left} {_OPERATORS.get(node.operator, node.operator)} {right}", level

    def _attribute(self, node: ex.Attribute) -> tuple[str, int]:
        if node.value == ex.Name("_io"):
            return self._stream(node.name)
        if node.name == "value" and (
            node.value == ex.Name("_") or self.member_of(node) == self.member_of(node.value)
        ):
            return self._render(node.value)
        if node.name in ("size", "length") and self.member_of(node) is None:
            return f"len({self.text(node.value)})", _ATOM
        return f"{self.operand(node.value)}.{node.name}", _ATOM

    def _stream(self, name: str) -> tuple[str, int]:
        if self.stream is None:
            raise ValueError(f"{self.type.location}: _io is not known here")
        position, end, base = self.stream.position, self.stream.end, self.stream.base
        match name:
            case "eof":
                return f"{position} == {end}", _COMPARE
            case "pos" if base:
                return f"{position} - {base}", _SUM
            case "size" if base:
                return f"{end} - {base}", _SUM
        raise ValueError(f"{self.type.location}: _io.{name} is not supported")

    def _enum(self, enum_id: str, member: str) -> str:
        enum = self.model.enum(f"{self.type.spec_id}.{enum_id}")
        if self.enum_names:
            return f"{camel(enum_id)}.{member.upper()}"
        return str(next(value.value for value in enum.values if value.id == member))


_NOT_AT_END = ex.Unary("not", ex.Attribute(ex.Name("_io"), "eof"))


def _is_arithmetic(expression: ex.Expression) -> bool:
    return (isinstance(expression, ex.Binary) and expression.operator in ("+", "-", "*")) or (
        isinstance(expression, ex.Unary) and expression.operator == "-"
    )


_OPPOSITES = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def _negation(expression: ex.Expression) -> ex.Expression:
    match expression:
        case ex.Unary("not", operand):
            return operand
        case ex.Binary("or", left, right):
            return ex.Binary("and", _negation(left), _negation(right))
        case ex.Binary("and", left, right):
            return ex.Binary("or", _negation(left), _negation(right))
        case ex.Binary(operator, left, right) if operator in _OPPOSITES:
            return ex.Binary(_OPPOSITES[operator], left, right)
        case ex.Attribute(ex.Name("_io"), "eof"):
            return _NOT_AT_END
    return ex.Unary("not", expression)


def _tuple(items: list[str]) -> str:
    return f"({', '.join(items)})" if len(items) > 1 else f"({items[0]},)"
