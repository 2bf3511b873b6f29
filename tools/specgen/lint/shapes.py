"""Check that codecs can be generated: choices, sizes, bits, ids and their clashes."""

from __future__ import annotations

import keyword
from collections.abc import Iterator

from tools.specgen.evaluate import literal
from tools.specgen.expression import Attribute, Binary, Int, Name, names
from tools.specgen.facts.fields import is_integer, references, size_of
from tools.specgen.facts.ranges import VARINTS
from tools.specgen.facts.segments import Segment, members, segments
from tools.specgen.facts.sizes import fixed_size, minimum_size
from tools.specgen.lint.problem import Problem
from tools.specgen.model import (
    BitsType,
    BytesType,
    Derive,
    DeriveFunction,
    Field,
    IntegerType,
    Model,
    PeekInstance,
    Scalar,
    Spec,
    SwitchType,
    Type,
    TypeReference,
    ValueInstance,
    camel,
)

LARGEST = 1 << 16
"""Largest constant size of bytes."""

MOST_COLUMNS = 64
"""Number of bits in which readers by columns keep which members an entry has."""

_C = (
    "auto break case char const continue default do double else enum extern float for goto if "
    "inline int long register restrict return short signed sizeof static struct switch typedef "
    "union unsigned void volatile while asm typeof bool errno null"
)
_JAVA = (
    "abstract assert boolean break byte case catch char class const continue default do double "
    "else enum extends final finally float for goto if implements import instanceof int interface "
    "long native new package private protected public return short static strictfp super switch "
    "synchronized this throw throws transient try void volatile while true false null "
    "wait notify notify_all get_class hash_code to_string clone finalize"
)
_PYTHON = "self cls field dataclass property list int bool bytes object print none true false"
_CONSTRUCT = "data obj stream this model"
RESERVED = frozenset((*_C.split(), *_JAVA.split(), *_PYTHON.split(), *keyword.kwlist))
"""Reserved words of Python, C and Java, and names that generated code uses."""

_CLASSES = {"Any", "Buffer", "IntEnum", "Struct"}


def check(model: Model) -> Iterator[Problem]:
    """Yield problems with the rules ``reserved``, ``clash``, ``shape``, ``size`` and S2 to S8."""
    for spec in model.specs:
        yield from _clashes(spec)
        for enum in spec.enums:
            yield from _reserved(enum.location, enum.id)
            yield from _twice(enum.location, [value.id for value in enum.values])
    for type_ in model.all_types():
        yield from _ids(type_)
        yield from _scalar(model, type_)
        yield from _bits(type_)
        yield from _parameters(model, type_)
        for field in type_.fields:
            yield from _field(model, type_, field)
            if isinstance(field.type, SwitchType):
                yield from _switch(model, type_, field, field.type)
        for peek in type_.peek_instances:
            yield from _peek(model, type_, peek)
    for segment in segments(model):
        yield from _segment(segment)


def _reserved(location: str, name: str) -> Iterator[Problem]:
    if name in RESERVED:
        yield Problem(
            location,
            "reserved",
            f"{name} is reserved in Python, C or Java; write another id",
        )


def _twice(location: str, ids: list[str]) -> Iterator[Problem]:
    for name in sorted({name for name in ids if ids.count(name) > 1}):
        yield Problem(location, "clash", f"{name} is here twice; rename one of them")


def _clashes(spec: Spec) -> Iterator[Problem]:
    """Yield types and enums whose classes would have the same name or hide a name in use."""
    yield from _reserved(f"{spec.file_name}#/meta/id", spec.id)
    seen: dict[str, str] = {}
    named = [(type_.location, type_.name) for type_ in spec.types]
    named += [(enum.location, enum.id) for enum in spec.enums]
    for location, name in named:
        other = seen.setdefault(camel(name), name)
        if camel(name) in _CLASSES:
            yield Problem(location, "clash", f"{name} is a name of generated code; rename it")
        elif (location, name) != named[0] and (location, other) != (location, name):
            yield Problem(
                location,
                "clash",
                f"{name} and {other} give the same class, {camel(name)}; rename one of them",
            )
        elif name in spec.imports:
            yield Problem(location, "clash", f"{name} is an imported file; rename the type")
    names_of = [name for _, name in named]
    for location, name in named[len(spec.types) :]:
        if name in names_of[: len(spec.types)]:
            message = (
                f"{name} is a type and an enum of one class, {camel(name)}; rename one of them"
            )
            yield Problem(location, "clash", message)


def _ids(type_: Type) -> Iterator[Problem]:
    yield from _reserved(type_.location, type_.name)
    for parameter in type_.parameters:
        yield from _reserved(type_.location, parameter.id)
        if parameter.id in _CONSTRUCT.split():
            message = f"generated code uses {parameter.id}; give the parameter another id"
            yield Problem(type_.location, "reserved", message)
    nodes: list[Field | PeekInstance | ValueInstance] = [
        *type_.fields,
        *type_.peek_instances,
        *type_.value_instances,
    ]
    for node in nodes:
        yield from _reserved(node.location, node.id)
    ids = {node.id: node.location for node in nodes}
    for field in type_.fields:
        parts = ["bits", "at", "end", "bytes"]
        if isinstance(field.type, BytesType | TypeReference):
            parts += ["position", "size"]
        for name in (f"{field.id}_{part}" for part in parts):
            if name in ids:
                message = f"generated code uses it for a part of {field.id}; rename one of them"
                yield Problem(ids[name], "clash", f"{name}: {message}")


def _parameters(model: Model, type_: Type) -> Iterator[Problem]:
    def problem(message: str) -> Problem:
        return Problem(type_.location, "shape", message)

    if type_.parameters and type_.scalar is not None:
        yield problem(f"{type_.name} is one value and takes no parameters; leave them out")
    for parameter in type_.parameters:
        kind = parameter.type
        if not isinstance(kind, TypeReference):
            continue
        if kind.arguments or kind.size is not None or kind.size_eos:
            yield problem(
                f"parameter {parameter.id} may have an id and a type only; leave out the rest"
            )
        if model.type(kind).is_transparent:
            yield problem(f"parameter {parameter.id} must be a structure with fields of its own")


def _scalar(model: Model, type_: Type) -> Iterator[Problem]:
    """Yield problems of a type that is one byte string: it must be a size and its bytes."""
    if type_.scalar is None:
        return

    def problem(message: str) -> Problem:
        return Problem(type_.location, "shape", message)

    if type_.peek_instances or (type_.value_instances and type_.scalar not in VARINTS):
        yield problem(f"{type_.name} is one value; leave its instances out")
    if type_.scalar in VARINTS:
        return
    if len(type_.fields) != 2:
        yield problem(f"-scalar: {type_.scalar} is a size and the bytes that have it; write both")
        return
    size, value = type_.fields
    derived = Derive(DeriveFunction.LEN, value.id, plus=size.derive.plus if size.derive else 0)
    plain = isinstance(value.type, BytesType) and value.repeat is None and value.valid is None
    if not plain or size.derive != derived or size.repeat or size.condition or value.default:
        yield problem(
            f"-scalar: {type_.scalar} is -derive: len({value.id}) and bytes of that size; "
            "write nothing else"
        )
    nullable = type_.scalar is Scalar.NULLABLE_BYTES
    number = size_of(value)
    if number is not None and (value.condition == Binary(">=", number, Int(0))) is not nullable:
        wanted = "needs" if nullable else "has no"
        yield problem(f"-scalar: {type_.scalar} {wanted} if: size >= 0 at {value.id}")


def _bits(type_: Type) -> Iterator[Problem]:
    bits = 0
    for field in type_.fields:
        if not isinstance(field.type, BitsType):
            bits = 0
            continue
        bits += field.type.width
        if bits % 8 == 0:
            if bits not in (8, 16, 32, 64):
                yield Problem(
                    field.location,
                    "bits",
                    f"{bits} bits are read as one number; fill them up to 8, 16, 32 or 64",
                )
            bits = 0


def _field(model: Model, type_: Type, field: Field) -> Iterator[Problem]:
    def problem(rule: str, message: str) -> Problem:
        return Problem(field.location, rule, message)

    if field.repeat is not None and field.condition is not None:
        yield problem("S8", "an array is not optional; make a type of it and its count, with if:")
    checked = field.valid is not None and not field.is_guard and type_.scalar not in VARINTS
    if checked and not is_integer(model, field):
        yield problem("valid", "valid: is for numbers; write it at a number inside, or -derive")
    if field.is_guard and (
        field.repeat or field.condition or field.default or field != type_.fields[-1]
    ):
        yield problem("S4", "a field at the end has only size: 0 and valid; leave the rest out")
    if field.enum is not None and field.repeat is not None:
        yield problem("shape", "an array has no enum; make a type of the item")
    if type_.scalar not in VARINTS and field.repeat is not None:
        if isinstance(field.type, TypeReference | SwitchType):
            inner = [model.type(reference) for reference in references(field.type)]
            least = min(minimum_size(model, item) for item in inner)
        else:
            size = literal(size_of(field))
            least = field.type.size if isinstance(field.type, IntegerType) else size or 0
        if least < 1:
            yield problem(
                "size",
                f"an item of {field.id} may be empty, so a count has no bound; "
                "give each item at least one byte",
            )
    for reference in references(field.type):
        for argument in reference.arguments:
            if not isinstance(argument, Int | Name | Attribute):
                yield problem("shape", "an argument is a number or a field; write a field for it")
    yield from _size(model, field)


def _size(model: Model, field: Field) -> Iterator[Problem]:
    def problem(message: str) -> Problem:
        return Problem(field.location, "size", message)

    size = literal(size_of(field))
    if size is None:
        return
    if not 0 <= size <= LARGEST:
        yield problem(f"a size of {size} bytes is impossible; write 0 to {LARGEST}")
    inner = [model.type(reference) for reference in references(field.type)]
    for type_ in inner:
        if minimum_size(model, type_) > size:
            yield problem(
                f"{type_.name} has at least {minimum_size(model, type_)} bytes, not {size}; "
                "write a size that fits"
            )
    if inner and size == 0:
        yield problem("a structure of 0 bytes; leave the field out")
    if field.default is not None and field.default.value == () and size > 0:
        yield problem(f"'[]' is empty, the field has {size} bytes; leave -default out")


def _switch(model: Model, type_: Type, field: Field, kind: SwitchType) -> Iterator[Problem]:
    def problem(message: str) -> Problem:
        return Problem(field.location, "S6", message)

    if not type_.is_choice or field.repeat or field.condition or type_.scalar:
        yield problem("a switch is the only field of its type; make a type of its own for it")
    ids = {peek.id for peek in type_.peek_instances}
    ids |= {p.id for p in type_.parameters if isinstance(p.type, IntegerType)}
    if not isinstance(kind.on, Name) or kind.on.id not in ids:
        yield problem("switch-on is a parameter or a number that is read ahead; write its name")
    if kind.size is not None or kind.size_eos:
        yield problem("a switch takes its size from the field that has its type; write it there")
    arguments: dict[str, TypeReference] = {}
    for _, reference in kind.cases:
        if model.type(reference).is_transparent:
            yield problem(f"{reference.name} is no structure of its own; choose structures")
        if arguments.setdefault(reference.name, reference) != reference:
            yield problem(f"{reference.name} takes other arguments in another case; make them one")


def _peek(model: Model, type_: Type, peek: PeekInstance) -> Iterator[Problem]:
    """Yield peeks that are not a field, at the same place, of every structure that they choose."""

    def problem(message: str) -> Problem:
        return Problem(peek.location, "S2", message)

    kind = next((f.type for f in type_.fields if isinstance(f.type, SwitchType)), None)
    if kind is None or kind.on != Name(peek.id):
        yield problem(f"{peek.id} is read ahead for a switch; write the field where it stands")
        return
    position = literal(peek.position)
    for case, reference in kind.cases:
        structure = model.type(reference)
        field = structure.field_by_id.get(peek.id)
        if field is None:
            if case is not None:
                yield problem(f"{structure.name} has no {peek.id}; write it at pos {position}")
            continue
        place = _place(model, structure, field)
        if place != position:
            found = "a varying place" if place is None else f"byte {place}"
            yield problem(
                f"{structure.name} has {peek.id} at {found}, pos says {position}; "
                "make both the same"
            )
        if field.type != peek.type or field.condition is not None or field.repeat is not None:
            yield problem(f"{structure.name} has another type for {peek.id}; make both the same")


def _place(model: Model, type_: Type, wanted: Field) -> int | None:
    sizes = [fixed_size(model, field) for field in type_.fields[: type_.fields.index(wanted)]]
    return None if None in sizes else sum(size for size in sizes if size is not None)


def _segment(segment: Segment) -> Iterator[Problem]:
    """Yield problems that keep a log from being read by columns."""
    columns = segment.scan_columns
    if len(columns) > MOST_COLUMNS:
        yield Problem(
            segment.entry.location,
            "shape",
            f"headers of all kinds have {len(columns)} numbers, {MOST_COLUMNS} fit; "
            "put rare ones into bytes",
        )
    for kind in segment.kinds:
        if len(members(segment.model, kind)) > MOST_COLUMNS:
            message = f"{kind.name} has more than {MOST_COLUMNS} numbers; put rare ones into bytes"
            yield Problem(kind.location, "shape", message)
    framing = {field.id for field in segment.framing}
    for kind in segment.kinds:
        for field in kind.fields:
            if field.id in framing:
                message = f"{segment.entry.name} has {field.id} too; rename one of them"
                yield Problem(field.location, "clash", message)
    for batch in segment.batches:
        given = {name for value in segment.arguments(batch.type).values() for name in names(value)}
        for field in segment.framing:
            if field.derive is None and field.id not in given:
                yield Problem(
                    field.location,
                    "shape",
                    f"{batch.type.name} on its own would lose {field.id}; pass it as a parameter",
                )
