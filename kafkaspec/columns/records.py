"""Columns from record objects: for any codec, and for entries that the core in C refuses.

``kafkaspec.layout.names`` has the fields that the library knows. All others of the specification
are columns as well, made of objects, under their dotted ids. A header's has the prefix ``batch.``
where a record has a field of the same name.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from operator import attrgetter
from typing import Any, Final

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.columns import memory
from kafkaspec.columns.wanted import BATCH_BASE_OFFSET, BATCH_POSITION, BATCH_SIZE, OF_BATCH
from kafkaspec.layout import FieldLayout, Form, Kind, names
from kafkaspec.layout.kinds import KINDS
from kafkaspec.log.batch import Batch
from kafkaspec.log.default import DefaultBatch
from kafkaspec.log.legacy import LegacyBatch
from kafkaspec.model import Record

_FLAGS, _, _ = names.COMPRESSION.partition(".")
_OWN_TIMESTAMP: Final = names.OWN_TIMESTAMP
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


ROW_BYTES: Final = 100
"""Bytes counted for each row and each header in addition to their content."""

NONE: Final = -1
"""Value in a column that the kind of an entry does not have, as in columns of the core."""

_FACTS: Final[dict[str, Callable[[Batch], int]]] = {
    BATCH_POSITION: attrgetter("position"),
    BATCH_SIZE: attrgetter("size"),
    BATCH_BASE_OFFSET: attrgetter("base_offset"),
    OF_BATCH + names.COMPRESSION: attrgetter("compression"),
}
"""Columns about an entry that are not fields of its header."""


class RecordColumns:
    """Collects records and makes columns from them.

    Args:
        names: names of the columns.
        own: names of columns of ``OWN``.

    Attributes:
        cost: approximate size of the collected records in bytes.
        rows: number of collected records.
        needs_objects: whether ``add`` needs objects of the typed model.
    """

    def __init__(self, names: Sequence[str], own: Sequence[str] = ()) -> None:
        self._names = tuple(names)
        self._own_names = tuple(own)
        self.needs_objects = bool(own) or _OWN_TIMESTAMP in self._names
        self._clear()

    def _clear(self) -> None:
        self._integers: dict[str, array[int]] = {
            name: array("q")
            for name in self._names
            if name not in (names.KEY, names.VALUE, names.HEADERS)
        }
        self._others: dict[str, list[Any]] = {
            name: [] for name in self._names if name not in self._integers
        }
        self._own: dict[str, list[Any]] = {name: [] for name in self._own_names}
        self._untimed = self._markers = False
        self.cost = self.rows = 0

    def add(self, batch: Batch, records: Sequence[Record], objects: Sequence[Any] = ()) -> None:
        """Collect the records of a batch.

        Args:
            batch: the batch.
            records: all of its records.
            objects: what has their fields in the typed model, for columns of fields of theirs.
        """
        count = len(records)
        if not count:
            return
        fields = dict(zip(Record._fields, zip(*records, strict=True), strict=True))
        for name, values in self._integers.items():
            if name.startswith(OF_BATCH):
                values.extend(array("q", [fact(batch, name)]) * count)
            elif name == names.SEQUENCE:
                values.extend(map(batch.sequence, fields[names.OFFSET]))
            elif name in fields:
                values.extend(fields[name])
            elif name == _OWN_TIMESTAMP:
                values.extend(map(_own_timestamp, objects))
            else:
                values.extend(array("q", [NONE]) * count)
        for name, others in self._others.items():
            others += fields[name]
        for name, found in self._own.items():
            found += values_of(OWN[name], batch, objects)
        self._untimed |= not batch.kind.has_timestamps
        self._markers |= batch.is_control
        self.rows += count
        pairs = [pair for headers in filter(None, fields[names.HEADERS]) for pair in headers]
        octets = chain(fields[names.KEY], fields[names.VALUE], chain.from_iterable(pairs))
        self.cost += ROW_BYTES * (count + len(pairs)) + sum(map(len, filter(None, octets)))

    def take(self) -> memory.Columns:
        """Return the columns of the collected records, and forget these records."""
        made = memory.Columns(
            rows=self.rows,
            columns={name: self._column(name) for name in self._names},
            layout=memory.Layout.BINARY,
            cut=True,
            untimed=self._untimed,
            markers=self._markers,
            own=self._own,
        )
        self._clear()
        return made

    def _column(self, name: str) -> memory.AnyColumn:
        if name in self._integers:
            return memory.IntegerColumn(self._integers[name])
        values = self._others[name]
        if name != names.HEADERS:
            return _octets(values)
        pairs = list(chain.from_iterable(values))
        key, value = (part.rpartition(".")[2] for part in (names.HEADER_KEY, names.HEADER_VALUE))
        return memory.ListColumn(
            _ends(map(len, values)),
            len(pairs),
            {
                key: _octets([text.encode("utf-8", "surrogateescape") for text, _ in pairs]),
                value: _octets([content for _, content in pairs]),
            },
        )


def fact(batch: Batch, name: str) -> int:
    """Return the value of a column about entries, which all records of one entry share."""
    if name in _FACTS:
        return _FACTS[name](batch)
    path = name.removeprefix(OF_BATCH)
    if path not in batch.kind.header:
        return NONE
    found: int | None = attrgetter(path)(batch.message)
    return NONE if found is None else int(found)


def _own_timestamp(record: Any) -> int:
    """Return what is stored for a record or message; see ``objects_of``."""
    found: int | None = getattr(record, _OWN_TIMESTAMP, None)
    return NONE if found is None else found


def _octets(values: Sequence[bytes | None]) -> memory.BytesColumn:
    nulls = values.count(None)
    validity = bytearray((len(values) + 7) // 8) if nulls else None
    if validity is not None:
        for row, value in enumerate(values):
            validity[row >> 3] |= (value is not None) << (row & 7)
    present = [value or b"" for value in values]
    data = bytearray().join(present)
    return memory.BytesColumn(validity, _ends(map(len, present)), data, len(data), nulls)


def _ends(sizes: Iterable[int]) -> array[int]:
    """Return Arrow's offsets: 0, then the end of each value."""
    return array("i", accumulate(sizes, initial=0))
