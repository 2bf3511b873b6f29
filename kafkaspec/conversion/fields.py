"""Find, carry over and compare the fields of a format that no conversion knows.

Fields that a conversion understands have a name in ``kafkaspec.layout.names``. All other fields of
the specification, in the header of an entry or in its records, are carried over unchanged. Fields
that have their default value are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import cache
from operator import attrgetter
from typing import Any, Final

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec._generated.python.model import model_class
from kafkaspec.codecs import Codec
from kafkaspec.codecs.native.core import Core
from kafkaspec.columns.memory import (
    AnyColumn,
    BytesColumn,
    IntegerColumn,
    Layout,
    ListColumn,
    decoded,
)
from kafkaspec.columns.wanted import OF_BATCH
from kafkaspec.errors import Reason
from kafkaspec.layout import EntryKind, FieldLayout, Form, Kind, names
from kafkaspec.layout.framing import BODY, ENTRY
from kafkaspec.layout.kinds import KINDS, magic_of, record_classes, required
from kafkaspec.log.batch import Batch, check_count, payload_error
from kafkaspec.log.legacy import LegacyBatch
from kafkaspec.log.messageset import PAYLOAD, MessageSetBatch, codec_of
from kafkaspec.model import Buffer, Record

FieldValues = tuple[tuple[str, Any], ...]
"""Fields that differ from their default, by dotted name, in the order of the layout."""

RecordValues = Mapping[str, Any]
"""The same for a record. A field of its headers is a list with one value per header."""

# The bytes after the value of a message are not a field, and a loss of their own kind.
_KNOWN: Final = frozenset((*names.HEADER_NAMES, *names.RECORD_NAMES, names.UNUSED))


@dataclass(frozen=True, slots=True, eq=False)
class OwnField:
    """A field, by its dotted name, that a conversion carries without knowing what it means."""

    name: str
    default: Any


@dataclass(frozen=True, slots=True)
class OwnFields:
    """The fields of a kind of entry that no conversion knows; of headers under ``headers.``."""

    header: tuple[OwnField, ...] = ()
    record: tuple[OwnField, ...] = ()


@cache
def own_fields(kind: EntryKind) -> OwnFields:
    """Return the fields of a kind that no conversion knows."""
    known = _KNOWN if is_written(kind) else _KNOWN | {PAYLOAD}
    around = [field for field in _entry_fields() if field.name in kind.header]
    blank = _blank(kind)
    header = tuple(
        OwnField(field.name, getattr(blank, field.name, None)) if field.default is None else field
        for field in (*around, *_walk(kind.key, "", nested=True))
        if field.name in kind.header and field.name not in known
    )
    if not kind.has_record_sets:
        return OwnFields(header, header)
    record = [
        field
        for field in _walk(kind.record, "")
        if field.name in kind.fields and field.name not in _KNOWN
    ]
    in_headers = next(
        (item.type for item in LAYOUTS[kind.record].fields if item.id == names.HEADERS), None
    )
    if in_headers is not None:
        found = _walk(in_headers, f"{names.HEADERS}.")
        record += [field for field in found if field.name not in _KNOWN]
    return OwnFields(header, tuple(record))


@cache
def _entry_fields() -> tuple[OwnField, ...]:
    """Return the fields before the message of an entry, which all kinds have."""
    return tuple(field for field in _walk(ENTRY, "") if field.name not in (*_KNOWN, BODY))


@cache
def entry_names() -> frozenset[str]:
    """Return the names of fields before the message of an entry that every kind repeats."""
    own = {field.name for field in _entry_fields()}
    return frozenset(own.intersection(*(kind.header for kind in KINDS.values())))


@cache
def fields_outside() -> tuple[OwnField, ...]:
    """Return the fields before the message of an entry that not every kind repeats."""
    return tuple(field for field in _entry_fields() if field.name not in entry_names())


def is_written(kind: EntryKind) -> bool:
    """Return whether entries of a kind can be written: those of Kafka 0.7 cannot."""
    return KINDS.get(kind.magic) == kind


def refuse_entry_fields(batch: Batch, codec: Codec) -> None:
    """Refuse an entry with fields before its message that cannot be carried over.

    Args:
        batch: the entry.
        codec: reads the entry.

    Raises:
        KafkaSpecError: ``unencodable``: such a field does not have its default.
    """
    outside = fields_outside()
    if outside and is_written(batch.kind):
        entry, _ = codec.parse(ENTRY, batch.data, complete=True)
        found = dict(_reader(outside)(entry))
        if found:
            detail = f"{', '.join(found)} cannot be carried over into a new entry"
            raise payload_error(batch, Reason.UNENCODABLE, detail)


@cache
def header_names(kind: EntryKind) -> tuple[str, ...]:
    """Return the names of all fields of a header that do not follow from others."""
    return tuple(
        field.name for field in _walk(kind.key, "", nested=True) if field.name in kind.header
    )


def _walk(type_key: str, prefix: str, *, nested: bool = False) -> Iterator[OwnField]:
    defaults = {item.name: _default(item) for item in fields(model_class(type_key))}
    for item in LAYOUTS[type_key].fields:
        name = prefix + item.id
        if item.derive or item.constant is not None or item.kind is Kind.GUARD:
            continue
        if nested and _is_structure(item):
            yield from _walk(item.type, f"{name}.", nested=True)
        else:
            yield OwnField(name, defaults[item.id])


def _is_structure(item: FieldLayout) -> bool:
    plain = item.kind is Kind.TYPE and not item.repeated and not item.optional
    return plain and LAYOUTS[item.type].form is Form.STRUCTURE and not LAYOUTS[item.type].parameters


def _blank(kind: EntryKind) -> Any:
    """Return a header with all its defaults, including those that depend on the magic."""
    made_of = model_class(kind.key)
    given: dict[str, Any] = dict.fromkeys(required(made_of))
    if names.MAGIC in {item.name for item in fields(made_of) if item.init}:
        given[names.MAGIC] = kind.magic
    try:
        return made_of(**given)
    except TypeError:  # a default depends on more than the magic
        return None


def _default(item: Field[Any]) -> Any:
    return item.default if item.default_factory is MISSING else item.default_factory()


# -- headers --------------------------------------------------------------------------------------


def header_values(kind: EntryKind, message: Any) -> FieldValues:
    """Return the fields of a header that no conversion knows, except those with their default."""
    return _reader(own_fields(kind).header)(message)


@cache
def _reader(own: tuple[OwnField, ...]) -> Callable[[Any], FieldValues]:
    if not own:
        return lambda _: ()
    get = attrgetter(
        own[0].name, *(field.name for field in own)
    )  # two or more names: returns a tuple
    defaults = (own[0].default, *(field.default for field in own))

    def read(item: Any) -> FieldValues:
        found = get(item)
        if found == defaults:
            return ()
        rows = zip(own, found[1:], strict=True)
        return tuple((field.name, _kept(value)) for field, value in rows if value != field.default)

    return read


def _kept(value: Any) -> Any:
    """Return a value that can outlive the buffer from which it was read."""
    return bytes(value) if isinstance(value, memoryview) else value


def carried(values: FieldValues, source: EntryKind, target: EntryKind) -> FieldValues:
    """Return the fields of a header that another format has a place for."""
    if target is source:
        return values
    there = {field.name for field in own_fields(target).header}
    if not _is_like(source, target):
        there &= entry_names()
    return tuple(item for item in values if item[0] in there)


def _is_like(source: EntryKind, target: EntryKind) -> bool:
    """Return whether fields of the same name are bits of the same structure."""
    return is_written(source) and source.has_record_sets == target.has_record_sets


# -- records --------------------------------------------------------------------------------------


def record_values(
    batch: Batch, header: Any, payload: Buffer, codec: Codec
) -> list[RecordValues] | None:
    """Return, for each record of a record set, the fields that ``Record`` does not have.

    Those with their default are left out; None if no record has any.
    """
    kind = batch.kind
    own = own_fields(kind).record
    if not own or _all_default(batch, payload, codec.core):
        return None
    check_count(batch, min(getattr(header, kind.count), len(payload)))
    record_set, _ = codec.parse(kind.record_set, payload, parameters=(header,), complete=True)
    read = _reader(tuple(field for field in own if not _is_of_headers(field.name)))
    inner = [field for field in own if _is_of_headers(field.name)]
    found: list[RecordValues] = []
    for record in record_set.records:
        values = dict(read(record))
        for field in inner:
            column = [getattr(item, field.name.partition(".")[2]) for item in record.headers]
            if any(value != field.default for value in column):
                values[field.name] = [_kept(value) for value in column]
        found.append(values)
    return found if any(found) else None


def _all_default(batch: Batch, payload: Buffer, core: Core | None) -> bool:
    """Return whether columns show that all these fields of the records have their default."""
    expected = None if core is None else _record_columns(core, batch.kind)
    if core is None or expected is None:
        return False
    sources, rows = (batch.data, payload), batch.num_records or 0
    columns = decoded(core, sources, rows, tuple(expected), Layout.BINARY)
    return columns is not None and holds_only(core, columns, rows, expected)


@cache
def default_columns(core: Core, kind: EntryKind) -> dict[str, Any] | None:
    """Return the columns of all fields that no conversion knows, with their defaults.

    None if such a field has no column or no default.
    """
    header = _columns_of(core, own_fields(kind).header, OF_BATCH)
    record = _record_columns(core, kind) if kind.has_record_sets else {}
    return None if header is None or record is None else header | record


@cache
def _record_columns(core: Core, kind: EntryKind) -> dict[str, Any] | None:
    return _columns_of(core, own_fields(kind).record, "")


def _columns_of(core: Core, own: Iterable[OwnField], prefix: str) -> dict[str, Any] | None:
    found: dict[str, Any] = {}
    for field in own:
        name = prefix + field.name
        columns = {name: field.default} if name in core.columns else {}
        if not columns and is_dataclass(field.default):
            inner = [item for item in core.columns if item.startswith(f"{name}.")]
            columns = {
                item: attrgetter(item.removeprefix(f"{name}."))(field.default) for item in inner
            }
        if not columns or not all(isinstance(item, int | bytes) for item in columns.values()):
            return None
        found |= columns
    return found


def holds_only(
    core: Core, columns: Mapping[str, AnyColumn], rows: int, expected: Mapping[str, Any]
) -> bool:
    """Return whether all values of some columns are known to be the expected ones, by name.

    Parts of a list are in the column of the list.
    """
    for name, value in expected.items():
        column, count = columns.get(name), rows
        if column is None:  # a part of a list
            outer, _, inner = name.rpartition(".")
            lists = columns[outer]
            assert isinstance(lists, ListColumn)
            column, count = lists.children[inner], lists.items
        if isinstance(column, IntegerColumn):
            if core.module.count(column.values, count, int(value)) != count:
                return False
            continue
        assert isinstance(column, BytesColumn)
        if column.data is None:  # another layout
            return False
        data = bytes(memoryview(column.data).cast("B")[: column.data_size])
        ends = memoryview(column.main).cast("B").cast("i")[: count + 1]
        if column.nulls or data != value * count:
            return False
        if list(ends) != [row * len(value) for row in range(count + 1)]:
            return False
    return True


def message_values(batch: Batch) -> list[RecordValues] | None:
    """Return what ``values_of_messages`` does; None if no message has such a field."""
    found = list(values_of_messages(batch))
    return found if any(found) else None


def values_of_messages(batch: Batch) -> Iterator[RecordValues]:
    """Yield the fields of a message, or of each in a wrapper, that ``Record`` does not have.

    Those that have their default are left out.
    """
    messages: Iterable[Any] = [batch.message]
    if isinstance(batch, LegacyBatch) and batch.is_wrapper:
        messages = (inner.message for inner in batch.inner_messages())
    elif isinstance(batch, MessageSetBatch) and batch.is_wrapper:
        messages = (
            inner.message for inner in batch.inner_messages() if not codec_of(inner.message)
        )
    readers = {magic: _reader(own_fields(kind).record) for magic, kind in batch.kinds.items()}
    for item in messages:
        yield dict(readers[magic_of(item)](item))


def has_values(kind: EntryKind) -> bool:
    """Return whether the records of a kind may have fields that ``Record`` does not have.

    If the only such fields of a format are flags, they are ignored: no release of Kafka uses flags
    of records, and those of a message are in its header.
    """
    flags, _, _ = names.COMPRESSION.partition(".")
    return any(field.name.split(".")[0] != flags for field in own_fields(kind).record)


def values_of_records(batch: Batch, codec: Codec) -> list[RecordValues] | None:
    """Return, for each record of an entry, the fields that ``Record`` does not have.

    Those with their default are left out; None if no record has any.
    """
    if not has_values(batch.kind):
        return None
    if not batch.kind.has_record_sets:
        return message_values(batch)
    if not batch.num_records:  # readers do not look at its payload (Q9)
        return None
    return record_values(batch, batch.message, batch.decompressed(), codec)


def _is_of_headers(name: str) -> bool:
    return name.startswith(f"{names.HEADERS}.")


def carried_record(values: RecordValues, source: EntryKind, target: EntryKind) -> RecordValues:
    """Return the fields of a record that another format has a place for."""
    if target is source:
        return values
    if not _is_like(source, target):
        return {}
    there = {field.name for field in own_fields(target).record}
    return {name: value for name, value in values.items() if name in there}


def encode_records(
    batch: Any, records: Sequence[Record], values: Sequence[RecordValues] | None, codec: Codec
) -> bytes:
    """Return the record set of a batch, not compressed, with the own fields of each record."""
    if values is None:
        return codec.encode_records(batch, records)
    classes = record_classes(batch)
    made: list[RecordValues] = []
    for record, own in zip(records, values, strict=True):
        plain = {name: value for name, value in own.items() if not _is_of_headers(name)}
        inner = {name.partition(".")[2]: value for name, value in own.items() if name not in plain}
        if inner:
            key, value = (name.partition(".")[2] for name in (names.HEADER_KEY, names.HEADER_VALUE))
            plain[names.HEADERS] = [
                classes.header(
                    **{key: text.encode("utf-8", "surrogateescape"), value: data},
                    **{name: column[number] for name, column in inner.items()},
                )
                for number, (text, data) in enumerate(record.headers)
            ]
        made.append(plain)
    return codec.encode_records(batch, records, made)
