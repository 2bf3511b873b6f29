"""Text and table cells of the format pages: expressions, types, sizes, allowed values."""

from __future__ import annotations

from tools.specgen import expression as ex
from tools.specgen.facts.fields import null_mark
from tools.specgen.facts.ranges import VARINTS
from tools.specgen.facts.sizes import fixed_size, minimum_size
from tools.specgen.model import (
    BitsType,
    BytesType,
    DeriveFunction,
    Field,
    FloatType,
    IntegerType,
    Model,
    SwitchType,
    Type,
    TypeReference,
    Valid,
)

_PRECEDENCE = {
    "or": 1, "and": 2, "==": 4, "!=": 4, "<": 4, "<=": 4, ">": 4, ">=": 4, "|": 5, "^": 6, "&": 7,
    "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}  # fmt: skip
_BIT_OPERATORS = {"|", "^", "&", "<<", ">>"}
_AT_END = ex.Attribute(ex.Name("_io"), "eof")


def expression_text(expression: ex.Expression, precedence: int = 0) -> str:
    """Return the expression as one would write it."""
    match expression:
        case ex.Int(value):
            return hex(value) if value > 255 else str(value)
        case ex.Bool(value):
            return "true" if value else "false"
        case ex.Name(name):
            return name
        case ex.EnumMember(_, member):
            return member
        case ex.Attribute(inner, name):
            return f"{expression_text(inner, 12)}.{name}"
        case ex.Index(inner, index):
            return f"{expression_text(inner, 12)}[{expression_text(index)}]"
        case ex.Unary(operator, operand):
            blank = " " if operator == "not" else ""
            return f"{operator}{blank}{expression_text(operand, 11)}"
        case ex.Ternary(condition, then, otherwise):
            text = (
                f"{expression_text(condition, 1)} ? {expression_text(then)}"
                f" : {expression_text(otherwise)}"
            )
            return f"({text})" if precedence else text
        case ex.Binary(operator, left, right):
            own = _PRECEDENCE[operator]
            if operator in _BIT_OPERATORS:
                # Few remember the precedence of these.
                first = _bit_operand(left, operator, right=False)
                text = f"{first} {operator} {_bit_operand(right, operator, right=True)}"
                return f"({text})" if own < precedence else text
            text = f"{expression_text(left, own)} {operator} {expression_text(right, own + 1)}"
            return f"({text})" if own < precedence else text


def _bit_operand(operand: ex.Expression, operator: str, *, right: bool) -> str:
    bare = not isinstance(operand, ex.Binary | ex.Ternary)
    same = isinstance(operand, ex.Binary) and operand.operator == operator and not right
    return expression_text(operand, 11 if bare else 0 if same else 99)


def plain(expression: ex.Expression, subject: str) -> ex.Expression:
    """Return the expression in the reader's terms: ``_`` by its name, no ``.value``, no ``_io``."""
    if expression == ex.LEFT:
        return ex.Name("bytes_left")
    if expression == _AT_END:
        return ex.Name("at_end")
    match expression:
        case ex.Name("_"):
            return ex.Name(subject)
        case ex.Attribute(inner, "value"):
            return plain(inner, subject)
    return ex.rebuild(expression, lambda part: plain(part, subject))


def code(expression: ex.Expression, subject: str = "") -> str:
    """Return the expression as Markdown code, safe inside a table."""
    return f"`{expression_text(plain(expression, subject))}`".replace("|", "\\|")


def cell(text: str) -> str:
    """Return the text of one table cell."""
    return " ".join(text.split()).replace("|", "\\|")


def type_text(model: Model, field: Field, page: str) -> str:
    """Return the type of a field, with a link if it has a section."""
    kind = field.type
    match kind:
        case IntegerType(size=size, signed=signed):
            text = f"{'' if signed else 'u'}int{8 * size}{'le' if kind.little else ''}"
        case FloatType(size=size):
            text = f"float{8 * size}{'le' if kind.little else ''}"
        case BitsType():
            text = "bool" if field.is_bool else "bits"
        case BytesType():
            text = "nothing" if field.is_guard else "bytes"
        case TypeReference():
            text = link(model, kind, page)
        case SwitchType(on=on, cases=cases):
            text = f"by {code(on)}: " + ", ".join(
                f"{'other' if case is None else case} {link(model, reference, page)}"
                for case, reference in cases
            )
    return f"array of {text}" if field.repeat is not None else text


def link(model: Model, reference: TypeReference, page: str) -> str:
    """Return a link to the section of a type."""
    target = model.type(reference)
    file = "" if target.spec_id == page else f"{target.spec_id}.md"
    return f"[{target.name}]({file}#{target.name})"


def size_text(model: Model, field: Field) -> str:
    """Return how many bytes the field takes."""
    if field.is_guard:
        return "0"
    if isinstance(field.type, BitsType):
        return f"{field.type.width} bit{'s' if field.type.width > 1 else ''}"
    if field.repeat is not None:
        return _array_size(field)
    fixed = fixed_size(model, field)
    if fixed is not None:
        return str(fixed)
    if isinstance(field.type, IntegerType | FloatType):
        return str(field.type.size)
    if field.type.size is not None:
        return code(field.type.size)
    if isinstance(field.type, BytesType) or getattr(field.type, "size_eos", False):
        return "rest"
    if isinstance(field.type, TypeReference):
        return type_size(model, model.type(field.type))
    return f"{minimum_size(model, field)}+"


def _array_size(field: Field) -> str:
    assert field.repeat is not None
    if field.repeat.count is not None:
        return f"{code(field.repeat.count)} items"
    return "rest" if field.repeat.eos else "varies"


def type_size(model: Model, type_: Type) -> str:
    """Return the size in bytes: ``61``, ``1 to 5`` or ``17+``."""
    if type_.scalar in VARINTS:
        return f"1 to {VARINTS[type_.scalar].size}"
    fixed = fixed_size(model, type_)
    return str(fixed) if fixed is not None else f"{minimum_size(model, type_)}+"


def allowed_text(field: Field, page: str) -> str:
    """Return the values that readers accept."""
    parts = [] if field.is_guard else [valid_text(field.valid, field.id)]
    if field.is_guard and field.valid is not None and field.valid.expression is not None:
        parts.append(code(field.valid.expression))
    if field.enum:
        file, _, name = field.enum.partition(".")
        parts.append(f"[{name}]({'' if file == page else f'{file}.md'}#{name})")
    if field.condition is not None:
        parts.append(f"only if {code(field.condition)}")
    return "; ".join(part for part in parts if part)


def valid_text(valid: Valid | None, subject: str) -> str:
    """Return the conditions of ``valid`` in words."""
    if valid is None:
        return ""
    if valid.in_enum:
        return "values of the enumeration"
    if valid.equal is not None:
        return code(valid.equal, subject)
    if valid.any_of:
        return " or ".join(code(item, subject) for item in valid.any_of)
    if valid.expression is not None:
        return code(valid.expression, subject)
    if valid.minimum is not None and valid.maximum is not None:
        return f"{_bound(valid.minimum)} to {_bound(valid.maximum)}"
    if valid.minimum is not None:
        return f"{_bound(valid.minimum)} or more"
    if valid.maximum is not None:
        return f"{_bound(valid.maximum)} or less"
    return ""


def _bound(expression: ex.Expression) -> str:
    value = ex.literal(expression)
    return str(value) if value is not None else code(expression)


def meaning(model: Model, field: Field) -> str:
    """Return the doc of the field, or of its structure if the field has none."""
    if field.doc or not isinstance(field.type, TypeReference):
        return cell(field.doc)
    text = cell(model.type(field.type).doc)
    return text.split(". ")[0].rstrip(".") + "." if text else ""


def writer_text(model: Model, type_: Type, field: Field) -> str:
    """Return what a writer puts there."""
    if field.is_guard:
        return "nothing"
    if field.constant is not None:
        return f"always {field.constant}"
    if field.derive is not None:
        derive = field.derive
        plus = f" plus {derive.plus}" if derive.plus else ""
        if type_.is_opaque_count(field):
            return f"as given: the items in `{derive.first}`"
        match derive.function:
            case DeriveFunction.LEN:
                return f"size of `{derive.first}`{plus}"
            case DeriveFunction.COUNT:
                return f"number of `{derive.first}`{plus}"
            case DeriveFunction.PRESENT:
                null = null_mark(type_, type_.field_by_id[derive.first])
                return f"1, or {null} if `{derive.first}` is null"
            case DeriveFunction.CRC32 | DeriveFunction.CRC32C:
                name = "CRC-32" if derive.function is DeriveFunction.CRC32 else "CRC-32C"
                return f"{name} from `{derive.first}` to the end"
    if field.default is not None:
        value = field.default.value
        if value == 0 and isinstance(field.type, BytesType):
            return "zeros unless given"
        return f"{'empty' if value == () else 'null' if value is None else value} unless given"
    if isinstance(field.type, TypeReference) and field.repeat is None:
        inner = model.type(field.type)
        if not inner.scalar and all(item.default for item in inner.fields):
            return "its defaults unless given"
    return "as given"
