"""Rows of a lake from the columns and headers of a segment: ``raw``, ``batches`` and ``dead``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec.arrow.arrays import constant
from kafkaspec.lake.attributes import parts_of
from kafkaspec.lake.exact import exact_entries
from kafkaspec.lake.parquet import is_date
from kafkaspec.lake.schema import BATCHES_SCHEMA, DEAD_SCHEMA, HEADERS, RAW_SCHEMA, TIME
from kafkaspec.layout import names
from kafkaspec.layout.kinds import KINDS
from kafkaspec.layout.stand_ins import NO_TIMESTAMP, NONE
from kafkaspec.log.header_table import CRC, POSITION, SIZE, HeaderTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

CONTROL: Final = "control_type"
PLACE: Final = "batch_position"
COLUMNS: Final = (
    "offset", "timestamp", "timestamp_type", "key", "value", "headers", "producer_id",
    "transactional", "batch_base_offset", "own_timestamp", PLACE, CONTROL,
)  # fmt: skip
"""Columns of the library that rows of ``raw`` are made of, and that tell them apart."""

HELD_BYTES: Final = 64 << 20
"""Most bytes of rows that are kept to write their entries again."""

_MICROSECONDS: Final = 1000
_LARGEST: Final = ((1 << 63) - 1) // _MICROSECONDS
_DAY: Final = 24 * 60 * 60 * 1000


class Constants:
    """The columns that are the same in all rows of a unit.

    Attributes:
        values: their values, by name.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values
        self._made: dict[str, pa.Array] = {}

    def column(self, field: pa.Field, rows: int) -> pa.Array:
        """Return a column of so many rows."""
        found = self._made.get(field.name)
        if found is None or len(found) < rows:
            found = self._made[field.name] = constant(self.values[field.name], field.type, rows)
        return found.slice(0, rows)

    def completed(
        self, columns: Mapping[str, pa.Array], schema: pa.Schema, rows: int
    ) -> pa.RecordBatch:
        """Return rows of a table, with the columns that are the same in all of them."""
        made = [
            columns[field.name]
            if field.name in columns
            else self.column(field, rows)
            if field.name in self.values
            else pa.nulls(rows, field.type)
            for field in schema
        ]
        return pa.RecordBatch.from_arrays(made, schema=schema)


def raw_rows(batch: pa.RecordBatch, constants: Constants) -> pa.RecordBatch:
    """Return records as rows of ``raw``."""
    stamps = batch.column("timestamp").view(pa.int64())
    times = microseconds(stamps)
    producers = batch.column("producer_id")
    columns = {
        "day": days(stamps, times),
        "offset": batch.column("offset"),
        "timestamp": times,
        "own_timestamp": own_timestamps(batch, stamps, times),
        "timestamp_type": batch.column("timestamp_type").dictionary_decode(),
        "key": batch.column("key"),
        "value": batch.column("value"),
        "headers": batch.column("headers").cast(HEADERS),
        "producer_id": pc.if_else(
            pc.equal(producers, NONE), pa.scalar(None, pa.int64()), producers
        ),
        "transactional": batch.column("transactional"),
        "batch_base_offset": batch.column("batch_base_offset"),
    }
    return constants.completed(columns, RAW_SCHEMA, batch.num_rows)


def microseconds(stamps: pa.Array) -> pa.Array:
    """Return timestamps in ms as such in µs; null where µs cannot say them."""
    span = pc.min_max(stamps)
    low, high = span["min"].as_py(), span["max"].as_py()
    if low is not None and (low < -_LARGEST or high > _LARGEST):
        fits = pc.and_(pc.greater_equal(stamps, -_LARGEST), pc.less_equal(stamps, _LARGEST))
        stamps = pc.if_else(fits, stamps, pa.scalar(None, pa.int64()))
    return pc.multiply(stamps, _MICROSECONDS).view(TIME)


def days(stamps: pa.Array, times: pa.Array) -> pa.Array:
    """Return the UTC days of timestamps in ms; null without one, and where no date says it."""
    present = np.asarray(times.is_valid())
    numbers = np.asarray(_filled(stamps, 0)) // _DAY
    low, high = (int(numbers.min()), int(numbers.max())) if len(numbers) else (0, 0)
    if not (is_date(low) and is_date(high)):
        present &= np.fromiter(map(is_date, numbers.tolist()), np.bool_, len(numbers))
    numbers = np.where(present, numbers, 0).astype(np.int32)
    mask = None if present.all() else ~present
    return pa.array(numbers, pa.int32(), mask=mask).view(pa.date32())


def _filled(numbers: pa.Array, value: int) -> pa.Array:
    return numbers.fill_null(value) if numbers.null_count else numbers


def own_timestamps(batch: pa.RecordBatch, stamps: pa.Array, times: pa.Array) -> pa.Array:
    """Return the stored timestamps in ms of the records whose ``timestamp`` is not equal to it."""
    own = _filled(batch.column("own_timestamp").view(pa.int64()), NO_TIMESTAMP)
    differs = pc.not_equal(own, _filled(stamps, NO_TIMESTAMP))
    if times.null_count != stamps.null_count:
        differs = pc.or_(differs, pc.and_(times.is_null(), stamps.is_valid()))
    return pc.if_else(differs, own, pa.scalar(None, pa.int64()))


def attributes(table: HeaderTable) -> Integers:
    """Return the attributes of entries, all of their bits."""
    made = np.zeros(len(table), np.int64)
    magics = table.numpy(names.MAGIC)
    for magic in table.magics:
        here = magics == magic
        for part in parts_of(magic):
            made[here] |= (_stored(table, part.name)[here] & part.mask) << part.shift
    return made


def _stored(table: HeaderTable, name: str) -> Integers:
    """Return a field as the entries store it; anything where they lack it."""
    if table.batches is None:
        assert table.scan is not None
        return np.array(table.scan.column(name), np.int64)
    values = (_inner(batch.message, name) for batch in table.batches)
    return np.fromiter(values, np.int64, len(table))


def _inner(message: Any, name: str) -> int:
    for part in name.split("."):
        message = getattr(message, part, 0)
    return int(message)


class BatchRows:
    """The rows of ``batches`` of some entries, as far as headers say them."""

    def __init__(self, table: HeaderTable) -> None:
        self._table = table
        self.positions = table.numpy(POSITION)
        self.sizes = table.numpy(SIZE)
        self.last_offsets = table.numpy(names.LAST_OFFSET)
        self.leader_epochs = table.numpy(names.LEADER_EPOCH)
        self.packed = table.numpy(names.COMPRESSION) != 0
        self.control = table.numpy(names.IS_CONTROL) != 0
        self._base_offsets = table.numpy(names.BASE_OFFSET)
        horizons = table.numpy(names.HAS_DELETE_HORIZON) != 0
        times = table.numpy(names.BASE_TIMESTAMP)
        # Where there is a delete horizon, it stands in the place of the base timestamp.
        times = np.where(horizons, table.numpy(names.DELETE_HORIZON), times)
        self._columns: dict[str, Integers] = {
            "position": self.positions,
            "length": self.sizes,
            "last_offset": self.last_offsets,
            "magic": table.numpy(names.MAGIC),
            "leader_epoch": self.leader_epochs,
            "attributes": attributes(table),
            "base_timestamp": times,
            "max_timestamp": table.numpy(names.MAX_TIMESTAMP),
            "producer_id": table.numpy(names.PRODUCER_ID),
            "producer_epoch": table.numpy(names.PRODUCER_EPOCH),
            "base_sequence": table.numpy(names.BASE_SEQUENCE),
            "crc": table.numpy(CRC),
        }

    def column(self, name: str) -> Integers:
        """Return a column of ``batches`` that headers say, but for ``base_offset``."""
        return self._columns[name]

    def base_offsets(self, first: int, last: int, found: Integers) -> Integers:
        """Return first offsets; ``found`` has those of records, for what headers do not say."""
        return np.where(wrappers(self._table)[first:last], found, self._base_offsets[first:last])

    def rows(
        self,
        chosen: Integers,
        others: Mapping[str, pa.Array],
        constants: Constants,
    ) -> pa.RecordBatch:
        """Return the rows of chosen entries; ``others`` has the columns that headers do not say."""
        columns = {
            name: pa.array(values[chosen], pa.int64()).cast(BATCHES_SCHEMA.field(name).type)
            for name, values in self._columns.items()
        }
        return constants.completed(columns | dict(others), BATCHES_SCHEMA, len(chosen))


def wrappers(table: HeaderTable) -> NDArray[np.bool_]:
    """Return which entries are compressed messages, whose first offsets only their records say."""
    batches = [magic for magic, kind in KINDS.items() if kind.has_record_sets]
    found: NDArray[np.bool_] = np.isin(table.numpy(names.MAGIC), batches, invert=True)
    found &= table.numpy(names.COMPRESSION) != 0
    return found


def payloads(table: HeaderTable, first: int, last: int, wanted: NDArray[np.bool_]) -> pa.Array:
    """Return the bytes of entries that follow one another, in place; null where not wanted."""
    if not wanted.any():
        return pa.nulls(last - first, pa.binary())
    data = table.data(first, last)
    ends = np.append(table.numpy(POSITION)[first:last], table.numpy(POSITION)[first] + len(data))
    offsets = (ends - ends[0]).astype(np.int32)
    validity = pa.array(wanted, pa.bool_()).buffers()[1]
    buffers = [validity, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.binary(), last - first, buffers)


_NO_ROWS: Final = pa.RecordBatch.from_pylist([], RAW_SCHEMA)


class HeldRows:
    """Rows of ``raw`` of some entries, kept to see whether they give the same bytes again."""

    def __init__(self, *, compressed: bool) -> None:
        """Keep none yet; ``compressed`` says whether compressed entries are written again too."""
        self._compressed = compressed
        self._parts: list[pa.RecordBatch] = []
        self._bytes = 0

    def add(self, rows: pa.RecordBatch) -> None:
        """Keep rows, unless that takes too much memory."""
        self._bytes += rows.nbytes
        self._parts.append(rows)
        if self._bytes > HELD_BYTES:
            self._parts.clear()

    def exact(self, headers: pa.RecordBatch, table: HeaderTable) -> NDArray[np.bool_]:
        """Return which entries they and their headers, rows of ``batches``, give again.

        None of them count that have more rows than are kept.
        """
        if self._bytes > HELD_BYTES:
            return np.zeros(headers.num_rows, np.bool_)
        whole = pa.Table.from_batches(self._parts or [_NO_ROWS]).combine_chunks()
        rows = next(iter(whole.to_batches()), _NO_ROWS)
        return exact_entries(headers, rows, table.buffer, table.start, compressed=self._compressed)


def dead_rows(rows: Sequence[Mapping[str, Any]], constants: Constants) -> pa.RecordBatch:
    """Return rows of ``dead``."""
    given = {name for row in rows for name in row}
    columns = {
        field.name: pa.array([row.get(field.name) for row in rows], field.type)
        for field in DEAD_SCHEMA
        if field.name in given
    }
    return constants.completed(columns, DEAD_SCHEMA, len(rows))
