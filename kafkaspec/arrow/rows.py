"""Columns from record objects: with any codec, and for what the native core leaves to Python."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from kafkaspec.arrow import arrays
from kafkaspec.arrow.schema import (
    COMPRESSIONS,
    CONTROL_TYPES,
    SIMPLE,
    TIMESTAMP_TYPES,
    Place,
    Request,
    bytes_type,
)
from kafkaspec.codecs import Codec
from kafkaspec.log.batch import Batch
from kafkaspec.model import Record

ROW_BYTES = 100
"""What a row is counted with beside its bytes, and what a header is."""

_OF_BATCH: dict[str, Callable[[Batch], Any]] = {
    "timestamp_type": lambda batch: TIMESTAMP_TYPES.index(batch.timestamp_type),
    "leader_epoch": lambda batch: batch.partition_leader_epoch,
    "magic": lambda batch: batch.magic,
    "compression": lambda batch: batch.compression,
    "producer_id": lambda batch: batch.producer_id,
    "producer_epoch": lambda batch: batch.producer_epoch,
    "transactional": lambda batch: batch.is_transactional,
    "batch_position": lambda batch: batch.position,
    "batch_base_offset": lambda batch: batch.base_offset,
}
"""Columns that are the same for all records of a batch."""

_CODES = {
    "timestamp_type": TIMESTAMP_TYPES,
    "compression": COMPRESSIONS,
    "control_type": CONTROL_TYPES,
}


class Rows:
    """Collects records and makes a record batch of them.

    Attributes:
        cost: bytes of what was collected, about.
        rows: number of records.
    """

    def __init__(self, request: Request, place: Place, codec: Codec) -> None:
        """Args: what is wanted, what the directory says, what decodes control records."""
        self._request = request
        self._place = place
        self._codec = codec
        self.clear()

    def clear(self) -> None:
        """Begin anew."""
        self._values: dict[str, list[Any]] = {name: [] for name in self._request.columns}
        self.cost = self.rows = 0

    def add(self, batch: Batch, records: Sequence[Record]) -> None:
        """Records of a batch, all or some of them."""
        count = len(records)
        for name, values in self._values.items():
            if name in _OF_BATCH:
                values.extend([_OF_BATCH[name](batch)] * count if count else ())
            elif name == "sequence":
                values.extend(batch.sequence(record.offset) for record in records)
            elif name == "control_type":
                control, codec = batch.is_control, self._codec
                values.extend(
                    arrays.control_type(record, codec) if control else None for record in records
                )
            elif name not in ("topic", "partition"):
                values.extend(getattr(record, name) for record in records)
        self.rows += count
        self.cost += sum(
            ROW_BYTES * (1 + len(record.headers))
            + len(record.key or b"")
            + len(record.value or b"")
            + sum(len(key) + len(value or b"") for key, value in record.headers)
            for record in records
        )

    def take(self, where: str | None) -> pa.RecordBatch:
        """A record batch of what was collected; nothing is left."""
        made = [self._array(name, where) for name in self._request.columns]
        self.clear()
        return pa.RecordBatch.from_arrays(made, schema=self._request.schema)

    def _array(self, name: str, where: str | None) -> pa.Array:
        values = self._values[name]
        if name in ("key", "value"):
            return pa.array(values, bytes_type(self._request.layout))
        if name == "headers":
            return self._headers(values, where)
        kind, _ = SIMPLE[name]
        if name in ("topic", "partition"):
            names = self._place.topics if name == "topic" else ()
            return arrays.constant(getattr(self._place, name), kind, self.rows, names)
        if name == "timestamp":
            return arrays.timestamps(pa.array(values, pa.int64()), kind)
        if name in _CODES:
            return arrays.codes(pa.array(values, pa.int8()), _CODES[name])
        return pa.array(values, kind)

    def _headers(self, values: list[Any], where: str | None) -> pa.Array:
        offsets = array("i", [0])
        for headers in values:
            offsets.append(offsets[-1] + len(headers))
        kind = bytes_type(self._request.layout)
        flat = [pair for headers in values for pair in headers]
        keys = pa.array([key.encode("utf-8", "surrogateescape") for key, _ in flat], kind)
        return arrays.headers(
            pa.py_buffer(offsets),
            len(values),
            arrays.header_keys(keys, self._request, where),
            pa.array([value for _, value in flat], kind),
            self._request,
        )


def wanted(records: Sequence[Record], request: Request) -> Sequence[Record]:
    """The records in the ranges of the request."""
    if request.by_offset:
        low, high = request.start_offset, request.end_offset
        records = [
            record
            for record in records
            if (low is None or record.offset >= low) and (high is None or record.offset < high)
        ]
    if request.by_timestamp:
        low, high = request.start_timestamp, request.end_timestamp
        records = [
            record
            for record in records
            if record.timestamp != -1
            and (low is None or record.timestamp >= low)
            and (high is None or record.timestamp < high)
        ]
    return records
