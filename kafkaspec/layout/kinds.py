"""The formats of log entries in the specification, by their magic, and their headers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields
from functools import cache
from importlib import import_module
from operator import attrgetter
from types import ModuleType
from typing import Any, Final, NamedTuple, TypeVar

from kafkaspec._generated.layout import ENTRY_KINDS, ENUMS, LAYOUTS
from kafkaspec.errors import Reason, make_error
from kafkaspec.layout import EntryKind, FieldLayout, Kind, TypeLayout, names
from kafkaspec.layout.framing import BODY, ENTRY, RECORD_BATCH

_T = TypeVar("_T")

PACKAGE: Final = "kafkaspec._generated"
"""The generated code of the installed specification; tests make others."""

KINDS: Final[Mapping[int, EntryKind]] = ENTRY_KINDS[ENTRY]
"""The kinds by magic."""

MAGICS: Final = tuple(sorted(KINDS))
"""Every magic there is, the oldest first."""

CURRENT: Final = next(magic for magic, kind in KINDS.items() if kind.key == RECORD_BATCH)
"""The magic that brokers and producers write today, and the default for writing."""


magic_of: Final[Callable[[Any], int]] = attrgetter(names.MAGIC)
"""Return the magic of a message of the typed model."""

compression_of: Final[Callable[[Any], int]] = attrgetter(names.COMPRESSION)
"""Return the compression id of a message of the typed model."""


def require_kind(magic: int) -> EntryKind:
    """Return the kind of entry with this magic.

    Raises:
        ValueError: there is none.
    """
    kind = KINDS.get(magic) if isinstance(magic, int) else None
    if kind is None:
        raise ValueError(f"no magic {magic!r}; there are {', '.join(map(str, MAGICS))}")
    return kind


def kind_of(message: Any) -> EntryKind:
    """Return the kind of a message of the typed model, whichever specification it comes from."""
    return _kinds(type(message).__module__)[magic_of(message)]


@cache
def _kinds(module: str) -> Mapping[int, EntryKind]:
    kinds: Mapping[int, EntryKind] = _tables(_package(module)).ENTRY_KINDS[ENTRY]
    return kinds


def layout_of(message: Any, type_key: str) -> TypeLayout:
    """Return the layout of a type in the specification that a message is from."""
    found: TypeLayout = _tables(_package(type(message).__module__)).LAYOUTS[type_key]
    return found


def records_field(batch: Any) -> FieldLayout:
    """Return the field of the record set of a batch that holds its records."""
    layout = layout_of(batch, kind_of(batch).record_set)
    return next(field for field in layout.fields if field.repeated)


def header_fields(name: str) -> list[FieldLayout]:
    """Return the fields with this dotted name in the headers of all kinds."""
    return [header_field(kind, name) for kind in KINDS.values() if name in kind.header]


def header_field(kind: EntryKind, name: str) -> FieldLayout:
    """Return the field with this dotted name in the headers of a kind, which must have it."""
    key = kind.key
    for part in name.split("."):
        field = next(item for item in LAYOUTS[key].fields if item.id == part)
        key = field.type
    return field


def value_names(name: str) -> tuple[str, ...]:
    """Return the names of all numbers that an enumerated field of headers can hold."""
    fields = header_fields(name)
    known = {number: text for field in fields for number, (text, _) in ENUMS[field.enum].items()}
    numbers = range(1 << max(field.width for field in fields))
    return tuple(known.get(number, f"unknown({number})") for number in numbers)


def kafka_name(enum: str, number: int) -> str | None:
    """Return what Kafka calls a number of an enumeration, None for one that it does not know."""
    _, found = ENUMS[enum].get(number, (None, None))
    return found


def kafka_names(enum: str) -> dict[int, str]:
    """Return the numbers of an enumeration that Kafka has a name for, with these."""
    return {number: name for number in ENUMS[enum] if (name := kafka_name(enum, number))}


def shown_name(enum: str, number: int) -> str:
    """Return the same, and ``UNKNOWN(9)`` for a number that Kafka does not know."""
    return kafka_name(enum, number) or f"UNKNOWN({number})"


class RecordClasses(NamedTuple):
    """Classes of the typed model for the records of a batch.

    Attributes:
        record_set: class for all records together.
        record: class for one record.
        header: class for a header of a record; ``dict`` for a kind without headers.
        parameter: name of the batch in a record and in a record set.
        stored: fields of a record that its constructor takes.
        missing: those without a default that ``kafkaspec.model.Record`` lacks.
    """

    record_set: type[Any]
    record: type[Any]
    header: type[Any]
    parameter: str
    stored: frozenset[str]
    missing: frozenset[str]


def record_classes(batch: Any) -> RecordClasses:
    """Return the classes for the records of a batch of the typed model."""
    return _record_classes(type(batch).__module__, kind_of(batch))


@cache
def _record_classes(module: str, kind: EntryKind) -> RecordClasses:
    package = _package(module)
    layouts = _tables(package).LAYOUTS
    record = layouts[kind.record]
    headers = next((field.type for field in record.fields if field.id == names.HEADERS), "")
    (parameter,) = (name for name, _ in layouts[kind.record_set].parameters)
    made_of = _class(package, kind.record)
    return RecordClasses(
        record_set=_class(package, kind.record_set),
        record=made_of,
        header=_class(package, headers) if headers else dict,
        parameter=parameter,
        stored=frozenset(_accepted(made_of)),
        missing=required(made_of) - {parameter, *names.RECORD_NAMES},
    )


def new_message(kind: EntryKind, values: Mapping[str, Any]) -> Any:
    """Make a message of the typed model.

    Args:
        kind: its format.
        values: values by dotted name; all others have the default of the specification.

    Raises:
        KafkaSpecError: ``unencodable``: a value that the format has no place for, or a missing
            value for a field without default. The text names it.
    """
    return _maker(kind.magic, kind.key, tuple(values))(values)


_Maker = Callable[[Mapping[str, Any]], Any]


@cache
def _maker(magic: int, type_key: str, given: tuple[str, ...]) -> _Maker:
    """Return a function that makes a message from values with these names."""
    foreign = sorted(name for name in given if name not in KINDS[magic].header)
    if foreign:
        raise _refuse(f"magic {magic} has no place for {', '.join(foreign)}")
    return _maker_of(type_key, {name: name for name in given}, magic)


def _maker_of(type_key: str, given: Mapping[str, str], magic: int) -> _Maker:
    made_of = _class(PACKAGE, type_key)
    accepted = _accepted(made_of)
    direct = [(field, name) for field, name in given.items() if field in accepted]
    parts: list[tuple[str, _Maker]] = []
    computed = set(given.values()) - {name for _, name in direct}
    for field in LAYOUTS[type_key].fields:
        inner = _below(field.id, given)
        if inner and field.kind is Kind.TYPE:
            parts.append((field.id, _maker_of(field.type, inner, magic)))
            computed -= set(inner.values())
    if computed:
        raise _refuse(f"{', '.join(sorted(computed))}: follows from other fields")
    constant = {names.MAGIC: magic} if names.MAGIC in accepted else {}
    there = {name for name, _ in (*direct, *parts)} | constant.keys()
    _refuse_missing(made_of, there, f"magic {magic}")

    def make(values: Mapping[str, Any]) -> Any:
        own = {field: values[name] for field, name in direct}
        for field, part in parts:
            own[field] = part(values)
        return made_of(**own, **constant)

    return make


def record_arguments(
    made_of: type[Any], type_key: str, values: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments of a class of the typed model for values by dotted name.

    Raises:
        KafkaSpecError: ``unencodable``: a structure lacks a field without default, or there is
            none for a value.
    """
    own = {name: value for name, value in values.items() if "." not in name}
    foreign = values.keys() - own.keys() | (own.keys() - set(_accepted(made_of)))
    if not foreign:
        return own
    package = _package(made_of.__module__)
    for field in _tables(package).LAYOUTS[type_key].fields:
        inner = _below(field.id, values)
        if inner and field.kind is Kind.TYPE:
            part = _class(package, field.type)
            given = record_arguments(part, field.type, inner)
            missing = required(part) - given.keys()
            if missing:
                wanted = ", ".join(f"{field.id}.{name}" for name in sorted(missing))
                raise _refuse(f"there is no default for {wanted}")
            own[field.id] = part(**given)
            foreign -= {f"{field.id}.{name}" for name in inner}
    if foreign:
        raise _refuse(f"{type_key} has no place for {', '.join(sorted(foreign))}")
    return own


def new_entry(message: Any, offset: int) -> Any:
    """Return the entry of the typed model around a message, which has its other fields."""
    made_of, shared = _entry_class(type(message).__module__, kind_of(message))
    own = {name: getattr(message, name) for name in shared}
    return made_of(**{**own, names.BASE_OFFSET: offset, BODY: message})


@cache
def _entry_class(module: str, kind: EntryKind) -> tuple[type[Any], list[str]]:
    """Return the class of the entry of a message, and its fields that the message has too."""
    made_of, message = _class(_package(module), ENTRY), _class(_package(module), kind.key)
    return made_of, [name for name in _accepted(made_of) if hasattr(message, name)]


def type_key_of(value: Any) -> str:
    """Return the key of the type of an object of the typed model."""
    classes: Mapping[str, type[Any]] = import_module(type(value).__module__).CLASSES
    return next(key for key, made_of in classes.items() if made_of is type(value))


def new_value(type_key: str, values: Mapping[str, Any]) -> Any:
    """Return an object of the typed model.

    Args:
        type_key: key of a type of the installed specification.
        values: values by id; those that the type lacks are ignored.

    Raises:
        KafkaSpecError: ``unencodable``: a field without default is not among them.
    """
    made_of, needed, accepted = _made(type_key)
    if not needed <= values.keys():
        _refuse_missing(made_of, values, type_key)
    return made_of(**{name: value for name, value in values.items() if name in accepted})


@cache
def _made(type_key: str) -> tuple[type[Any], frozenset[str], list[str]]:
    """Return a class of the typed model, and what its constructor needs and takes."""
    made_of = _class(PACKAGE, type_key)
    return made_of, required(made_of), _accepted(made_of)


def default_values(type_key: str) -> dict[str, Any]:
    """Return the defaults that the specification gives to fields of a type, by id."""
    found: dict[str, Any] = {}
    for field in fields(_class(PACKAGE, type_key)):
        if field.default is not MISSING:
            found[field.name] = field.default
        elif field.default_factory is not MISSING:
            found[field.name] = field.default_factory()
    return found


def required(made_of: type[Any]) -> frozenset[str]:
    """Return the fields of a class of the typed model that have no default."""
    return frozenset(
        field.name
        for field in fields(made_of)
        if field.init and field.default is MISSING and field.default_factory is MISSING
    )


def _accepted(made_of: type[Any]) -> list[str]:
    """Return the fields of a class of the typed model that its constructor takes."""
    return [field.name for field in fields(made_of) if field.init]


def _below(field: str, values: Mapping[str, _T]) -> dict[str, _T]:
    """Return the values of the parts of a field, by their names in it."""
    prefix = f"{field}."
    return {
        name.removeprefix(prefix): value
        for name, value in values.items()
        if name.startswith(prefix)
    }


def _refuse_missing(made_of: type[Any], given: Iterable[str], owner: str) -> None:
    missing = required(made_of).difference(given)
    if missing:
        wanted = ", ".join(sorted(missing))
        raise _refuse(f"{owner} needs a value for {wanted}: there is no default")


def _package(module: str) -> str:
    """Return the package of generated code that has a module of the typed model."""
    return module.rpartition(".python.model.")[0]


@cache
def _tables(package: str) -> ModuleType:
    return import_module(f"{package}.layout")


@cache
def _class(package: str, type_key: str) -> type[Any]:
    module = import_module(f"{package}.python.model.{type_key.partition('.')[0]}")
    found: type[Any] = module.CLASSES[type_key]
    return found


def _refuse(detail: str) -> Exception:
    return make_error(Reason.UNENCODABLE, detail)


def _check(wanted: Iterable[str], there: Iterable[frozenset[str]]) -> None:
    known = frozenset().union(*there)
    lost = [name for name in wanted if name not in known]
    if lost:
        raise LookupError(
            f"no kind of entry has {', '.join(lost)}: if the specification calls it something "
            "else now, say so in kafkaspec/layout/names.py"
        )


_check((*names.HEADER_NAMES, names.RESERVED), (kind.header for kind in KINDS.values()))
_check(names.RECORD_NAMES, (kind.fields for kind in KINDS.values()))
