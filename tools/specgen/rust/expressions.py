"""Translate expressions of the specification to Rust.

Numbers are ``i64``, in which Kafka computes, and wrap as Java's do where a value instance may leave
64 bits. A check that may leave them is computed in ``i128``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tools.specgen import expression as ex
from tools.specgen.facts.fields import is_bytes, scalar_of
from tools.specgen.facts.terms import COMPARISONS, Terms
from tools.specgen.model import (
    BitsType,
    Field,
    FloatType,
    IntegerType,
    Member,
    Parameter,
    PeekInstance,
    Scalar,
    Type,
    ValueInstance,
)
from tools.specgen.rust.naming import identifier, instance_parameters, local

_WRAPPING = {"+": "wrapping_add", "-": "wrapping_sub", "*": "wrapping_mul"}
_EUCLID = {"/": "div_euclid", "%": "rem_euclid"}
_LOGIC = {"and": "&&", "or": "||"}


@dataclass(frozen=True)
class Translator(Terms):
    """Translator of the expressions of one type.

    Attributes:
        prefix: what stands before fields and parameters of the type: ``self.``, or nothing.
        value: the field that ``_`` is, in the variable of its name.
        wrap: whether sums and products wrap.
        wide: whether numbers are ``i128``.
    """

    prefix: str = ""
    value: Field | PeekInstance | None = None
    wrap: bool = False
    wide: bool = False
    names: dict[str, str] = field(default_factory=dict)

    def text(self, expression: ex.Expression) -> str:
        """Return the expression as Rust."""
        return bare(self._of(expression)._render(expression))

    def number(self, expression: ex.Expression) -> str:
        """Return a number as an ``i64`` that other operators may follow."""
        chosen = self._of(expression)
        text = chosen._render(expression)
        return f"({text} as i64)" if chosen.wide else text

    def argument(self, expression: ex.Expression) -> str:
        """Return a number as the argument of a function."""
        return bare(self.number(expression))

    def reference(self, expression: ex.Expression) -> str:
        """Return a structure as the argument of a function, which borrows it."""
        found = self.member_of(expression)
        place = self.place(expression)
        return place if found is not None and isinstance(found[1], Parameter) else f"&{place}"

    def violated(self, member: Field | PeekInstance) -> list[str]:
        """Return tests, each true if the ``valid`` of a member does not hold for it."""
        valid = member.valid
        if valid is None:
            return []
        chosen, name = replace(self, value=member), ex.Name("_")
        tests: list[ex.Expression] = []
        for operator, bound in (("!=", valid.equal), ("<", valid.minimum), (">", valid.maximum)):
            if bound is not None:
                tests.append(ex.Binary(operator, name, bound))
        found = [chosen.text(test) for test in tests]
        if valid.any_of:
            numbers = [ex.literal(item) for item in valid.any_of]
            if None in numbers:
                listed = ", ".join(chosen.text(item) for item in valid.any_of)
                found.append(f"![{listed}].contains(&{chosen.text(name)})")
            else:
                listed = " | ".join(map(str, numbers))
                found.append(f"!matches!({chosen.text(name)}, {listed})")
        if valid.expression is not None:
            found.append(chosen.text(negation(valid.expression)))
        return found

    def _of(self, expression: ex.Expression) -> Translator:
        """Return the translator with numbers that are wide enough."""
        if self.wrap:
            return self
        nodes = [node for node in ex.walk(expression) if not self.is_boolean(node)]
        wide = any(self._is_arithmetic(node) and self.leaves_long(node) for node in nodes)
        return replace(self, wide=wide or any(map(self._is_large, nodes)))

    def _is_large(self, expression: ex.Expression) -> bool:
        found = self._member(expression)
        kind = None if found is None else found[1]
        return (
            isinstance(kind, Field | PeekInstance)
            and isinstance(kind.type, IntegerType)
            and kind.type.size == 8
            and not kind.type.signed
        )

    @staticmethod
    def _is_arithmetic(expression: ex.Expression) -> bool:
        if isinstance(expression, ex.Unary):
            return expression.operator == "-"
        return isinstance(expression, ex.Binary) and expression.operator in _WRAPPING

    def _member(self, expression: ex.Expression) -> tuple[Type, Member] | None:
        if expression in (ex.Name("_"), ex.Attribute(ex.Name("_"), "value")):
            return None if self.value is None else (self.type, self.value)
        return self.member_of(expression)

    def interval(self, expression: ex.Expression) -> tuple[int, int]:
        """Return the bounds of an integer; ``_`` has those of its field."""
        if (
            expression in (ex.Name("_"), ex.Attribute(ex.Name("_"), "value"))
            and self.value is not None
        ):
            return super().interval(ex.Name(self.value.id))
        if expression == ex.LEFT:
            return 0, (1 << 62)
        return super().interval(expression)

    def _render(self, expression: ex.Expression) -> str:
        match expression:
            case ex.Int(value):
                return str(value)
            case ex.Bool(value):
                return str(value).lower()
            case ex.EnumMember(enum_id, member):
                enum = self.model.enum(f"{self.type.spec_id}.{enum_id}")
                return str(next(item.value for item in enum.values if item.id == member))
            case ex.Unary("not", operand):
                return f"!{self._render(operand)}"
            case ex.Unary("-", ex.Int(value)):
                return f"-{value}"
            case ex.Unary("-", operand):
                return self._arithmetic(ex.Binary("-", ex.Int(0), operand))
            case ex.Unary(_, operand):
                return f"!{self._render(operand)}"
            case ex.Ternary(condition, then, otherwise):
                test, one, other = map(self._bare, (condition, then, otherwise))
                return f"(if {test} {{ {one} }} else {{ {other} }})"
            case ex.Binary():
                return self._binary(expression)
            case ex.Name() | ex.Attribute():
                return self._name(expression)
        raise ValueError(f"{self.type.location}: an expression without a form in Rust")

    def _bare(self, expression: ex.Expression) -> str:
        return bare(self._render(expression))

    def _binary(self, node: ex.Binary) -> str:
        if node == ex.LEFT:
            return self._cast("input.left()")
        if node.operator in _WRAPPING:
            return self._arithmetic(node)
        left, right = self._render(node.left), self._render(node.right)
        if node.operator in _EUCLID:
            return f"{self._receiver(node.left)}.{_EUCLID[node.operator]}({bare(right)})"
        return f"({left} {_LOGIC.get(node.operator, node.operator)} {right})"

    def _arithmetic(self, node: ex.Binary) -> str:
        right = self._render(node.right)
        if self.wrap and self.leaves_long(node):
            method = _WRAPPING[node.operator]
            return f"{self._receiver(node.left)}.{method}({bare(right)})"
        return f"({self._render(node.left)} {node.operator} {right})"

    def _receiver(self, expression: ex.Expression) -> str:
        """Return a number that a method can follow."""
        text = self._render(expression)
        if ex.literal(expression) is not None:
            text = f"{text}_{self._word}"
            return f"({text})" if text.startswith("-") else text
        return text

    @property
    def _word(self) -> str:
        return "i128" if self.wide else "i64"

    def _cast(self, text: str) -> str:
        return f"({text} as {self._word})"

    def _name(self, node: ex.Name | ex.Attribute) -> str:
        if isinstance(node, ex.Attribute) and node.value == ex.Name("_io"):
            if node.name == "eof":
                return "input.is_at_end()"
            return self._cast({"pos": "input.position()", "size": "input.size()"}[node.name])
        found = self._member(node)
        if found is None:
            if isinstance(node, ex.Attribute) and node.name in ("size", "length"):
                return self._cast(f"{self.place(node.value)}.len()")
            raise ValueError(f"{self.type.location}: an unknown name in an expression")
        return self._typed(found[1], self.place(node))

    def place(self, node: ex.Expression) -> str:
        """Return the path of a member as it is stored."""
        match node:
            case ex.Name("_"):
                assert self.value is not None
                return local(self.value.id)
            case ex.Name(name):
                member = self.type.members[name]
                if name in self.names:
                    return self.names[name]
                if isinstance(member, ValueInstance):
                    return self._instance(member)
                if isinstance(member, Parameter) and member in instance_parameters(self.type):
                    return local(name)
                return self.prefix + identifier(name) if self.prefix else local(name)
            case ex.Attribute(inner, name):
                outer = self._member(inner)
                held = None if outer is None else outer[1]
                if isinstance(held, Field) and scalar_of(self.model, held) is not None:
                    return self.place(inner)
                found = self._member(node)
                if found is not None and isinstance(found[1], ValueInstance):
                    if instance_parameters(found[0]):
                        raise ValueError(f"{self.type.location}: a value that needs a structure")
                    return f"{self.place(inner)}.{identifier(name)}()"
                return f"{self.place(inner)}.{identifier(name)}"
        raise ValueError(f"{self.type.location}: an expression without a place")

    def _instance(self, member: ValueInstance) -> str:
        if self.prefix:
            given = ", ".join(local(item.id) for item in instance_parameters(self.type))
            return f"{self.prefix}{identifier(member.id)}({given})"
        return self._render(member.value)

    def _typed(self, member: Member, place: str) -> str:
        """Return a number in the word of the expression, or a test."""
        if isinstance(member, Field) and member.is_bool:
            return place
        if isinstance(member, ValueInstance):
            boolean = Terms(self.model, self.type).is_boolean(member.value)
            return place if boolean else self._wider("i64", place)
        if isinstance(member, Parameter):
            return self._wider("i64", place)
        if isinstance(member, Field) and member.condition is not None:
            place = f"{place}.unwrap_or_default()"
        return self._wider(self._stored(member), place)

    def _stored(self, member: Field | PeekInstance) -> str:
        match member.type:
            case IntegerType(size, signed):
                return f"{'i' if signed else 'u'}{8 * size}"
            case BitsType(width):
                return f"u{next(bits for bits in (8, 16, 32, 64) if width <= bits)}"
            case FloatType():
                raise ValueError(f"{member.location}: no expressions of floating-point numbers")
        assert isinstance(member, Field)
        scalar = scalar_of(self.model, member)
        if is_bytes(self.model, member) or scalar is None:
            raise ValueError(f"{member.location}: not a number")
        names = {Scalar.VARINT32: "i32", Scalar.VARINT64: "i64", Scalar.UNSIGNED_VARINT32: "u32"}
        return names[scalar]

    def _wider(self, stored: str, place: str) -> str:
        if stored == self._word:
            return place
        return (
            f"({place} as i64)"
            if stored == "u64" and not self.wide
            else (f"{self._word}::from({place})")
        )


_OPPOSITES: dict[str, str] = {
    "==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">",
}  # fmt: skip
assert set(_OPPOSITES) == set(COMPARISONS)


def negation(expression: ex.Expression) -> ex.Expression:
    """Return the expression that is true where another is false."""
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


def _is_wrapped(text: str) -> bool:
    """Return whether the first parenthesis closes at the end."""
    if not text.startswith("("):
        return False
    depth = 0
    for place, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 0:
            return place == len(text) - 1
    return False


def bare(text: str) -> str:
    """Return a text without the parentheses around all of it."""
    return text[1:-1] if _is_wrapped(text) else text
