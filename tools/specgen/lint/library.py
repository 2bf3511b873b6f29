"""Check that the specification has what the library asks for, in a form that it can hold."""

from __future__ import annotations

from collections.abc import Iterator

from kafkaspec.layout import EntryKind, names
from tools.specgen.evaluate import UnknownNameError, evaluate
from tools.specgen.expression import literal
from tools.specgen.facts.files import files
from tools.specgen.facts.kinds import entry_kinds
from tools.specgen.facts.ranges import LONG
from tools.specgen.facts.segments import resolved, segments
from tools.specgen.lint.problem import Messages, Problem, found
from tools.specgen.model import (
    BytesType,
    Field,
    FloatType,
    IntegerType,
    Model,
    Type,
    TypeReference,
    ValueInstance,
)

_ALWAYS = {names.OFFSET, *names.ENTRY_NEEDS, *names.BATCH_NEEDS}
"""Names of what the library does not take for missing."""


def check(model: Model) -> Iterator[Problem]:
    """Yield problems with the rule ``library``."""
    kinds = entry_kinds(model).get(names.ENTRY, {})
    known = frozenset().union(*(kind.header | kind.fields for kind in kinds.values()))
    for kind in kinds.values():
        for key, name in _needed(kind):
            # A name that no kind has is renamed: kafkaspec/layout/names.py says the new one.
            if name in known:
                yield from found("library", model.type(key), _there(model, kind, key, name))
    for segment in segments(model):
        for type_ in (segment.entry, *segment.kinds):
            yield from _signed(model, type_)
    by_number = {names.ABORTED_TRANSACTION, *(file.entry for file in files(model) if file.sources)}
    for type_ in model.all_types():
        for field in type_.fields:
            yield from found("library", field, _float(field))
        if type_.key in by_number:
            for field in type_.fields:
                yield from found("library", field, _item(field))
                if type_.key == names.ABORTED_TRANSACTION:  # compared with columns of the log
                    yield from found("library", field, _narrow(field))


def _float(field: Field) -> Messages:
    if isinstance(field.type, FloatType) and field.type.size != FloatType().size:
        yield f"the library knows floats of 64 bits; make {field.id} f8"


def _needed(kind: EntryKind) -> Iterator[tuple[str, str]]:
    """Yield names that a kind of entry needs, each after the type that has to have it."""
    yield from ((kind.key, name) for name in names.ENTRY_NEEDS)
    yield from ((kind.record, name) for name in names.RECORD_NEEDS)
    if kind.has_record_sets:
        yield from ((kind.key, name) for name in names.BATCH_NEEDS)
        for first, others in names.NEEDED_WITH.items():
            if first in kind.header | kind.fields:
                yield from (
                    (kind.record if name in names.RECORD_NAMES else kind.key, name)
                    for name in others
                )


def _there(model: Model, kind: EntryKind, key: str, name: str) -> Messages:
    """Yield a name that a type does not have, or not in every entry."""
    owner = model.type(key).name
    if name not in (kind.fields if key == kind.record else kind.header):
        yield f"the library asks a {owner} for {name}; write it, as other kinds have it"
    elif name in _ALWAYS and not _always(model, model.type(key), name, kind.magic):
        yield f"the library asks every {owner} for {name}; leave its if: out"


def _always(model: Model, type_: Type, name: str, magic: int) -> bool:
    """Return whether every structure with this magic has a member, by its dotted name."""
    first, _, rest = name.partition(".")
    member = type_.members[first]
    if isinstance(member, Field | ValueInstance) and member.condition is not None:
        try:
            if not evaluate(member.condition, {names.MAGIC: magic}):
                return False
        except UnknownNameError:
            return False
    if not rest:
        return True
    assert isinstance(member, Field)
    assert isinstance(member.type, TypeReference)
    return _always(model, resolved(model, member.type), rest, magic)


def _signed(model: Model, type_: Type) -> Iterator[Problem]:
    """Yield numbers of a header that its columns, of 64 bits with a sign, cannot hold."""
    for field in type_.fields:
        if field.repeat is None and isinstance(field.type, TypeReference):
            inner = model.inner(field)
            yield from () if inner.is_transparent else _signed(model, inner)
        yield from found("library", field, _narrow(field))


def _narrow(field: Field) -> Messages:
    if isinstance(field.type, IntegerType) and field.type.maximum > LONG[1]:
        yield f"{field.id} does not fit columns of 64 bits with a sign; write s8"


def _item(field: Field) -> Messages:
    """Yield fields of an array whose items are found by their number."""
    kind = field.type
    plain = isinstance(kind, IntegerType) or (
        isinstance(kind, BytesType) and literal(kind.size) is not None and not field.is_guard
    )
    if not plain or field.condition is not None or field.repeat is not None:
        yield (
            f"items of this file are found by their number; make {field.id} an integer or "
            "bytes of a constant size, in every item"
        )
