"""Columns of fields that a format adds to headers or records: found in the layout, by no name.

``kafkaspec.layout.names`` has the fields that the library knows. All others of the specification
are columns as well, under their dotted ids. A header's has the prefix ``batch.`` where a record
has a field of the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.columns.wanted import OF_BATCH
from kafkaspec.layout import FieldLayout, Form, Kind, names
from kafkaspec.layout.kinds import KINDS
from kafkaspec.log.batch import Batch
from kafkaspec.log.default import DefaultBatch
from kafkaspec.log.legacy import LegacyBatch

_FLAGS, _, _ = names.COMPRESSION.partition(".")
_KNOWN: Final = frozenset((*names.HEADER_NAMES, *names.RECORD_NAMES, names.RESERVED))


@dataclass(frozen=True, slots=True)
class OwnColumn:
    """A field that the library has no name for.

    Attributes:
        name: name of the column.
        path: dotted ids of the field in the header or the record.
        of_batch: whether it is a field of the header of a batch.
        fields: its layout in each format that has it, by magic.
    """

    name: str
    path: str
    of_batch: bool
    fields: dict[int, FieldLayout]


def _walk(type_key: str, prefix: str = "") -> Iterator[tuple[str, FieldLayout]]:
    for field in LAYOUTS[type_key].fields:
        path = prefix + field.id
        if field.derive or field.constant is not None or field.kind is Kind.GUARD:
            continue
        inner = LAYOUTS[field.type] if field.kind is Kind.TYPE else None
        plain = inner is not None and not field.repeated and not field.optional
        if plain and inner is not None and inner.form is Form.STRUCTURE:
            yield from _walk(field.type, f"{path}.")
        else:
            yield path, field


def _found() -> dict[str, OwnColumn]:
    header: dict[str, dict[int, FieldLayout]] = {}
    record: dict[str, dict[int, FieldLayout]] = {}
    for magic, kind in KINDS.items():
        for path, field in _walk(kind.record):
            if path in kind.fields - _KNOWN and path.partition(".")[0] != _FLAGS:
                record.setdefault(path, {})[magic] = field
        for path, field in _walk(kind.key) if kind.has_record_sets else ():
            if path in kind.header - _KNOWN:
                header.setdefault(path, {})[magic] = field
    found = {path: OwnColumn(path, path, False, fields) for path, fields in record.items()}
    for path, fields in header.items():
        name = OF_BATCH + path if path in found else path
        found[name] = OwnColumn(name, path, True, fields)
    return found


OWN: Final = _found()
"""These columns by name, those of records first."""


def objects_of(batch: Batch) -> Iterator[Any]:
    """Yield what has the fields of each record of an entry, in the typed model.

    Raises:
        KafkaSpecError: the records cannot be read.
    """
    if isinstance(batch, DefaultBatch):
        yield from batch.record_set().records
    elif isinstance(batch, LegacyBatch) and batch.is_wrapper:
        yield from (inner.message for inner in batch.inner_messages())
    else:
        yield batch.message


def values_of(column: OwnColumn, batch: Batch, objects: Sequence[Any]) -> list[Any]:
    """Return the values of a column for records of an entry, None where there is no field."""
    if KINDS.get(batch.magic) != batch.kind or batch.magic not in column.fields:
        return [None] * len(objects)
    get: Callable[[Any], Any] = attrgetter(column.path)
    found = [get(batch.message)] * len(objects) if column.of_batch else list(map(get, objects))
    return [bytes(item) if isinstance(item, memoryview) else item for item in found]
