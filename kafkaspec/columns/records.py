"""Columns from record objects: for any codec, and for entries that the core in C refuses."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from operator import attrgetter
from typing import Final

from kafkaspec.columns.memory import (
    AnyColumn,
    BytesColumn,
    Columns,
    IntegerColumn,
    Layout,
    ListColumn,
)
from kafkaspec.columns.names import BATCH_BASE_OFFSET, BATCH_POSITION, BATCH_SIZE, OF_BATCH
from kafkaspec.layout.names import (
    COMPRESSION,
    HEADER_KEY,
    HEADER_VALUE,
    HEADERS,
    KEY,
    SEQUENCE,
    VALUE,
)
from kafkaspec.log.batch import Batch
from kafkaspec.model import Record

ROW_BYTES: Final = 100
"""Bytes counted for each row and each header in addition to their content."""

NONE: Final = -1
"""Value in a column that the kind of an entry does not have, as in columns of the core."""

_FACTS: Final[dict[str, Callable[[Batch], int]]] = {
    BATCH_POSITION: attrgetter("position"),
    BATCH_SIZE: attrgetter("size"),
    BATCH_BASE_OFFSET: attrgetter("base_offset"),
    OF_BATCH + COMPRESSION: attrgetter("compression"),
}
"""Columns about an entry that are not fields of its header."""


class RecordColumns:
    """Collects records and makes columns from them.

    Args:
        names: names of the columns.

    Attributes:
        cost: approximate size of the collected records in bytes.
        rows: number of collected records.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self._clear()

    def _clear(self) -> None:
        self._integers: dict[str, array[int]] = {
            name: array("q") for name in self._names if name not in (KEY, VALUE, HEADERS)
        }
        self._records: list[Record] = []
        self._untimed = self._markers = False
        self.cost = self.rows = 0

    def add(self, batch: Batch, records: Sequence[Record]) -> None:
        """Collect the records of a batch.

        Args:
            batch: the batch.
            records: all of its records.
        """
        count = len(records)
        for name, values in self._integers.items():
            if name.startswith(OF_BATCH):
                values.extend(array("q", [fact(batch, name)]) * count)
            elif name == SEQUENCE:
                values.extend(batch.sequence(record.offset) for record in records)
            elif name in Record._fields:
                values.extend(map(attrgetter(name), records))
            else:
                values.extend(array("q", [NONE]) * count)
        self._records += records
        self._untimed |= not batch.kind.has_timestamps
        self._markers |= batch.is_control
        self.rows += count
        self.cost += sum(
            ROW_BYTES * (1 + len(record.headers))
            + len(record.key or b"")
            + len(record.value or b"")
            + sum(len(key) + len(value or b"") for key, value in record.headers)
            for record in records
        )

    def take(self) -> Columns:
        """Return the columns of the collected records, and forget these records."""
        made = Columns(
            rows=self.rows,
            columns={name: self._column(name) for name in self._names},
            layout=Layout.BINARY,
            cut=True,
            untimed=self._untimed,
            markers=self._markers,
        )
        self._clear()
        return made

    def _column(self, name: str) -> AnyColumn:
        if name in self._integers:
            return IntegerColumn(self._integers[name])
        if name != HEADERS:
            return _octets([getattr(record, name) for record in self._records])
        lists = [record.headers for record in self._records]
        pairs = [pair for headers in lists for pair in headers]
        key, value = (part.rpartition(".")[2] for part in (HEADER_KEY, HEADER_VALUE))
        return ListColumn(
            _ends(map(len, lists)),
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


def _octets(values: Sequence[bytes | None]) -> BytesColumn:
    nulls = values.count(None)
    validity = bytearray((len(values) + 7) // 8) if nulls else None
    if validity is not None:
        for row, value in enumerate(values):
            validity[row >> 3] |= (value is not None) << (row & 7)
    data = b"".join(value for value in values if value)
    ends = _ends(len(value or b"") for value in values)
    return BytesColumn(validity, ends, bytearray(data), len(data), nulls)


def _ends(sizes: Iterable[int]) -> array[int]:
    """Return Arrow's offsets: 0, then the end of each value."""
    return array("i", accumulate(sizes, initial=0))
