"""Check that codecs can be generated: choices, sizes, bits, ids and their clashes."""

from __future__ import annotations

import keyword
from collections.abc import Iterator, Sequence, Set

from tools.specgen.evaluate import may_satisfy
from tools.specgen.expression import Attribute, Binary, Int, Name, literal, names
from tools.specgen.facts.fields import is_integer, is_nullable, references, size_of
from tools.specgen.facts.ranges import VARINTS, allowed_values
from tools.specgen.facts.segments import Segment, members, repeated_choices, segments
from tools.specgen.facts.sizes import fixed_size, minimum_size
from tools.specgen.house import House
from tools.specgen.lint.problem import Located, Messages, Problem, found
from tools.specgen.model import (
    BytesType,
    Derive,
    DeriveFunction,
    Enum,
    Field,
    FloatType,
    IntegerType,
    Model,
    Parameter,
    PeekInstance,
    Scalar,
    Spec,
    SwitchType,
    Type,
    TypeReference,
    camel,
)

LARGEST = 1 << 16
"""Largest constant size of bytes."""

MOST_COLUMNS = 64
"""Number of bits in which readers by columns keep which members an entry has."""

_C = (
    "auto break case char const continue default do double else enum extern float for goto if "
    "inline int long register restrict return short signed sizeof static struct switch typedef "
    "union unsigned void volatile while asm typeof bool errno null unix linux"
)
_JAVA = (
    "abstract assert boolean break byte case catch char class const continue default do double "
    "else enum extends final finally float for goto if implements import instanceof int interface "
    "long native new package private protected public return short static strictfp super switch "
    "synchronized this throw throws transient try void volatile while true false null "
    "wait notify notify_all get_class hash_code to_string clone finalize"
)
_PYTHON = "self cls field dataclass property list int bool bytes object print none true false"
_FILES = "messages model readme topics"
_OPEN_FILES = "build crc formats layout module numbers rows runtime sources tables"
"""Files beside those of the specification, where no library stands above generated code."""
_KEYWORDS = [word for word in keyword.kwlist if word.islower()]
RESERVED = frozenset((*_C.split(), *_JAVA.split(), *_PYTHON.split(), *_KEYWORDS))
"""Reserved words of Python, C and Java, and names that generated code uses."""

_ARGUMENTS = frozenset(["data", "obj", "stream", "this", "model", "p", "end", "base", "h"])
_CLASSES = {"Any", "Buffer", "IntEnum", "Struct"}
_KINDS = {"frame", "entries", "batch"}
_MEMBERS = {"present", "selector"}


def check(model: Model) -> Iterator[Problem]:
    """Yield problems with the rules ``reserved``, ``clash``, ``shape``, ``size`` and S2 to S8."""
    for spec in model.specs:
        yield from found("clash", spec.root, _classes(spec))
        files = _FILES if model.house.library else f"{_FILES} {_OPEN_FILES}"
        if spec.id in files.split():
            message = f"generated code has a file {spec.id}; give this one another id"
            yield Problem(spec.root.location, "reserved", message)
        for enum in spec.enums:
            yield from found("reserved", enum, _reserved(enum.id))
            yield from found("clash", enum, _twice([value.id for value in enum.values]))
            yield from found("clash", enum, _alike([(value, value.id) for value in enum.values]))
            yield from found("clash", enum, _one_name(model.house, enum))
            for value in enum.values:
                words = {*_KEYWORDS, "mro"}
                yield from found("reserved", value, _reserved(value.id, words))
    for type_ in model.all_types():
        yield from found("reserved", type_, _words(type_))
        yield from found("clash", type_, _parts(type_))
        yield from found("clash", type_, _alike([(node, node.id) for node in type_.nodes]))
        yield from found("shape", type_, _scalar(model, type_))
        yield from found("shape", type_, _parameters(model, type_))
        for field in type_.fields:
            yield from _field(model, type_, field)
            yield from found("size", field, _size(model, type_, field))
            if isinstance(field.type, SwitchType):
                yield from found("S6", field, _switch(model, type_, field, field.type))
        for peek in type_.peek_instances:
            yield from found("S2", peek, _peek(model, type_, peek))
    for segment in repeated_choices(model):
        last = segment.entry.fields[-1]
        if segment.batches and segment.body is not last:
            ends = f"{segment.body.id} reaches to the end of an entry of a log"
            yield from found("shape", last, [f"{ends}; put {last.id} before it"])
    for segment in segments(model):
        yield from found("clash", segment.entry, _names_in_c(segment))
        yield from found("shape", segment.entry, _segment(segment))


def _reserved(name: str, words: Set[str] = RESERVED) -> Iterator[str]:
    if name in words:
        yield f"{name} is reserved in Python, C or Java; write another id"


def _words(type_: Type) -> Messages:
    yield from _reserved(type_.name)
    for node in (*type_.parameters, *type_.nodes):
        place = type_ if isinstance(node, Parameter) else node
        for message in _reserved(node.id):
            yield place, message
    for parameter in type_.parameters:
        if parameter.id in _ARGUMENTS:
            yield f"generated code uses {parameter.id}; give the parameter another id"


def _twice(ids: list[str]) -> Messages:
    for name in sorted({name for name in ids if ids.count(name) > 1}):
        yield f"{name} is here twice; rename one of them"


def _alike(named: Sequence[tuple[Located, str]]) -> Messages:
    """Yield ids that differ, but not in the languages that write CamelCase."""
    seen: dict[str, str] = {}
    for node, name in named:
        other = seen.setdefault(camel(name), name)
        if other != name:
            yield node, f"{name} and {other} are both {camel(name)} elsewhere; rename one of them"


def _one_name(house: House, enum: Enum) -> Messages:
    """Yield values that are called the same, so that the name says neither of them."""
    seen: dict[str, str] = {}
    for value in enum.values:
        other = seen.setdefault(value.shown, value.id)
        if other != value.id:
            where = f" in {house.name}" if house.name else ""
            message = f"{other} and {value.id} are both {value.shown}{where}"
            yield value, f"{message}; write another -orig-id"


def _classes(spec: Spec) -> Messages:
    """Yield types and enums whose classes would have the same name or hide a name in use."""
    seen: dict[str, str] = {}
    types = {type_.name for type_ in spec.types}
    named: list[tuple[Type | Enum, str]] = [(type_, type_.name) for type_ in spec.types]
    for node, name in [*named, *((enum, enum.id) for enum in spec.enums)]:
        class_ = camel(name)
        other = seen.setdefault(class_, name)
        if class_ in _CLASSES and name not in RESERVED:
            yield node, f"{name} is a name of generated code; rename it"
        elif other != name:
            yield node, f"{name} and {other} give the same class, {class_}; rename one of them"
        elif name in spec.imports:
            yield node, f"{name} is an imported file; rename the type"
        elif isinstance(node, Enum) and name in types:
            yield node, f"{name} is a type and an enum of one class, {class_}; rename one of them"


def _parts(type_: Type) -> Messages:
    """Yield ids that generated code makes of the ids of other fields."""
    ids = {node.id: node for node in type_.nodes}
    for field in type_.fields:
        parts = ["bits", "at", "end", "bytes"]
        if isinstance(field.type, BytesType | TypeReference):
            parts += ["position", "size"]
        for name in (f"{field.id}_{part}" for part in parts):
            if name in ids:
                message = f"generated code uses it for a part of {field.id}; rename one of them"
                yield ids[name], f"{name}: {message}"


def _parameters(model: Model, type_: Type) -> Messages:
    if type_.parameters and type_.scalar is not None:
        yield f"{type_.name} is one value and takes no parameters; leave them out"
    for parameter in type_.parameters:
        kind = parameter.type
        if not isinstance(kind, TypeReference):
            continue
        if kind.arguments or kind.size is not None or kind.size_eos:
            yield f"parameter {parameter.id} may have an id and a type only; leave out the rest"
        if model.type(kind).is_transparent:
            yield f"parameter {parameter.id} must be a structure with its own fields"


def _scalar(model: Model, type_: Type) -> Messages:
    """Yield problems of a type that is one byte string: it must be a size and its bytes."""
    if type_.scalar is None:
        return
    if type_.peek_instances or (type_.value_instances and type_.scalar not in VARINTS):
        yield f"{type_.name} is one value; leave its instances out"
    if type_.scalar in VARINTS:
        return
    if len(type_.fields) != 2:
        yield f"-scalar: {type_.scalar} is a size and the bytes that have it; write both"
        return
    size, value = type_.fields
    derived = Derive(DeriveFunction.LEN, value.id, plus=size.derive.plus if size.derive else 0)
    plain = isinstance(value.type, BytesType) and value.repeat is None and value.valid is None
    if not plain or size.derive != derived or size.repeat or size.condition or value.default:
        yield (
            f"-scalar: {type_.scalar} is -derive: len({value.id}) and bytes of that size; "
            "write nothing else"
        )
    nullable = type_.scalar is Scalar.NULLABLE_BYTES
    number = size_of(value)
    if number is not None and (value.condition == Binary(">=", number, Int(0))) is not nullable:
        wanted = "needs" if nullable else "has no"
        yield f"-scalar: {type_.scalar} {wanted} if: size >= 0 at {value.id}"
    unsigned = isinstance(size.type, IntegerType) and not size.type.signed
    if nullable and unsigned and not derived.plus:
        yield f"-scalar: {type_.scalar} is null where {size.id} is negative; give it a signed type"


def _field(model: Model, type_: Type, field: Field) -> Iterator[Problem]:
    def problem(rule: str, message: str) -> Problem:
        return Problem(field.location, rule, message)

    if field.repeat is not None and field.condition is not None and not is_nullable(type_, field):
        message = "an array is optional only by its count; make a type of both, with if:"
        yield problem("S8", message)
    checked = field.valid is not None and not field.is_guard and type_.scalar not in VARINTS
    if checked and not is_integer(model, field):
        yield problem("valid", "valid: is for numbers; write it at a number inside, or -derive")
    if field.is_guard and (
        field.repeat or field.condition or field.default or field != type_.fields[-1]
    ):
        yield problem("S4", "a field at the end has only size: 0 and valid; leave the rest out")
    if field.enum is not None and field.repeat is not None:
        yield problem("shape", "an array has no enum; make a type of the item")
    for reference in references(field.type):
        for argument in reference.arguments:
            if not isinstance(argument, Int | Name | Attribute):
                yield problem("shape", "an argument is a number or a field; write a field for it")


def _size(model: Model, type_: Type, field: Field) -> Messages:
    size = literal(size_of(field))
    inner = [model.type(reference) for reference in references(field.type)]
    if type_.scalar not in VARINTS and field.repeat is not None:
        least = size or 0
        if isinstance(field.type, IntegerType | FloatType):
            least = field.type.size
        if inner:
            least = min(minimum_size(model, item) for item in inner)
        if least < 1:
            yield (
                f"an item of {field.id} may be empty, so a count has no bound; "
                "give each item at least one byte"
            )
    if size is None:
        return
    if not 0 <= size <= LARGEST:
        yield f"a size of {size} bytes is impossible; write 0 to {LARGEST}"
        return
    for item in inner:
        least = minimum_size(model, item)
        if least > size:
            yield f"{item.name} has at least {least} bytes, not {size}; write a size that fits"
    if inner and size == 0:
        yield "a structure of 0 bytes; leave the field out"
    if field.default is not None and field.default.value == () and size > 0:
        yield f"'[]' is empty, the field has {size} bytes; leave -default out"


def _switch(model: Model, type_: Type, field: Field, kind: SwitchType) -> Messages:
    if not type_.is_choice or field.repeat or field.condition or type_.scalar:
        yield "a switch is the only field of its type; make a separate type for it"
    ids = {peek.id for peek in type_.peek_instances}
    ids |= {p.id for p in type_.parameters if isinstance(p.type, IntegerType)}
    if not isinstance(kind.on, Name) or kind.on.id not in ids:
        yield "switch-on is a parameter or a number that is read ahead; write its name"
    if kind.size is not None or kind.size_eos:
        yield "a switch takes its size from the field that has its type; write it there"
    arguments: dict[str, TypeReference] = {}
    for _, reference in kind.cases:
        if model.type(reference).is_transparent:
            yield f"{reference.name} is not a separate structure; choose structures"
        if arguments.setdefault(reference.name, reference) != reference:
            yield f"{reference.name} takes other arguments in another case; make them one"


def _peek(model: Model, type_: Type, peek: PeekInstance) -> Messages:
    """Yield peeks that are not a field, at the same place, of every structure that they choose."""
    kind = next((f.type for f in type_.fields if isinstance(f.type, SwitchType)), None)
    if kind is None or kind.on != Name(peek.id):
        yield f"{peek.id} is read ahead for a switch; write the field where it stands"
        return
    position = literal(peek.position)
    for case, reference in kind.cases:
        structure = model.type(reference)
        field = structure.field_by_id.get(peek.id)
        if field is None:
            if (
                case is not None or len(kind.cases) > 1
            ):  # serializers check it against the other cases
                yield f"{structure.name} has no {peek.id}; write it at pos {position}"
            continue
        place = _place(model, structure, field)
        if place != position:
            where = "a varying place" if place is None else f"byte {place}"
            yield (
                f"{structure.name} has {peek.id} at {where}, pos says {position}; "
                "make both the same"
            )
        if field.type != peek.type or field.condition is not None or field.repeat is not None:
            yield f"{structure.name} has another type for {peek.id}; make both the same"
        else:
            yield from _case(kind, reference, field)


def _case(kind: SwitchType, chosen: TypeReference, field: Field) -> Messages:
    """Yield numbers that a structure may hold though they choose another one, or the reverse."""
    own = {case for case, reference in kind.cases if reference == chosen}
    if None in own:
        return  # readers take it for the numbers that have no case
    numbers = sorted(case for case in own if case is not None)
    wanted = numbers[0] if len(numbers) == 1 else f"{{any-of: {numbers}}}"
    advice = f"as another case would read it; write valid: {wanted}"
    allowed = allowed_values(field.valid)
    if allowed is None:
        yield f"{chosen.name} must not hold any {field.id}, {advice}"
    for number in sorted((allowed or set()) - own):
        yield f"{chosen.name} must not hold {field.id} {number}, {advice}"
    for number in numbers:
        if not may_satisfy(field.valid, number, {}):
            yield f"{chosen.name} never holds {field.id} {number}, its case; write valid: {wanted}"


def _place(model: Model, type_: Type, wanted: Field) -> int | None:
    sizes = [fixed_size(model, field) for field in type_.fields[: type_.fields.index(wanted)]]
    return None if None in sizes else sum(size for size in sizes if size is not None)


def _segment(segment: Segment) -> Messages:
    """Yield problems that keep a log from being read by columns."""
    columns = segment.scan_columns
    if len(columns) > MOST_COLUMNS:
        yield (
            f"headers of all kinds have {len(columns)} numbers, {MOST_COLUMNS} fit; "
            "put rare ones into bytes"
        )
    for field in segment.framing:
        if not isinstance(field.type, IntegerType) or field.condition or field.repeat:
            yield field, f"readers find each entry by a constant place; make {field.id} an integer"
    for kind in segment.kinds:
        if len(members(segment.model, kind)) > MOST_COLUMNS:
            message = f"has more than {MOST_COLUMNS} numbers; put rare ones into bytes"
            yield kind, f"{kind.name} {message}"
    for batch in segment.batches:
        given = {name for value in segment.arguments(batch.type).values() for name in names(value)}
        for field in segment.framing:
            if field.derive is None and field.id not in given:
                message = f"would lose {field.id}; pass it as a parameter"
                yield field, f"{batch.type.name} on its own {message}"
    pending = [segment.entry, *(batch.record_set for batch in segment.batches)]
    seen = set(pending)
    while pending:
        type_ = pending.pop()
        stored = [item for item in type_.fields if item.derive and item.derive.function.is_checksum]
        if type_ in segment.kinds:
            if len(stored) != 1:
                number = len(stored) or "no"
                yield type_, f"{type_.name} has {number} checksums; readers verify one, -derive it"
        else:
            for field in stored:
                yield field, "readers verify the checksum of an entry only; leave -derive out"
        inner = {segment.model.type(ref) for item in type_.fields for ref in references(item.type)}
        pending += inner - seen
        seen |= inner


def _names_in_c(segment: Segment) -> Messages:
    framing = {field.id for field in segment.framing}
    for type_ in (*segment.kinds, *(batch.record_set for batch in segment.batches)):
        if type_.name in _KINDS:
            yield type_, f"{type_.name} is a name of generated code; rename it"
    for type_ in (*segment.kinds, segment.entry):
        for node in type_.nodes:
            if node.id in framing and type_ is not segment.entry:
                yield node, f"{segment.entry.name} has {node.id} too; rename one of them"
            elif node.id in _MEMBERS:
                yield node, f"{node.id} is a name of generated code; rename it"
