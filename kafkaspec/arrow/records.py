"""Records of a batch as Arrow columns, for the few that no reader of columns has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import pyarrow as pa

from kafkaspec.arrow.arrays import control_type
from kafkaspec.arrow.schema import CONTROL_TYPES, ColumnPlace, Request
from kafkaspec.codecs import Codec
from kafkaspec.log.batch import NO_TIMESTAMP, NONE, Batch
from kafkaspec.model import Record

_OF_RECORD: Final[dict[str, Callable[[Record], Any]]] = {
    "offset": lambda record: record.offset,
    "timestamp": lambda record: None if record.timestamp == NO_TIMESTAMP else record.timestamp,
    "key": lambda record: record.key,
    "value": lambda record: record.value,
    "headers": lambda record: [
        {"key": key.encode("utf-8", "surrogateescape"), "value": value}
        for key, value in record.headers
    ],
}
_OF_BATCH: Final[dict[str, Callable[[Batch], Any]]] = {
    "timestamp_type": lambda batch: batch.timestamp_type,
    "leader_epoch": lambda batch: batch.partition_leader_epoch,
    "magic": lambda batch: batch.magic,
    "compression": lambda batch: batch.compression_name,
    "producer_id": lambda batch: batch.producer_id,
    "producer_epoch": lambda batch: batch.producer_epoch,
    "transactional": lambda batch: batch.is_transactional,
    "batch_position": lambda batch: batch.position,
    "batch_base_offset": lambda batch: batch.base_offset,
}


def batch_of_records(
    batch: Batch,
    records: Sequence[Record],
    columns: Sequence[str],
    place: ColumnPlace,
    codec: Codec,
) -> pa.RecordBatch:
    """Return columns of some records of a batch; keys of headers are bytes.

    Args:
        batch: the batch.
        records: the records.
        columns: names of the columns.
        place: topic and partition.
        codec: decodes control records.
    """
    request = Request(tuple(columns), layout="binary", header_keys="binary")

    def values(name: str) -> list[Any]:
        if name in _OF_RECORD:
            return list(map(_OF_RECORD[name], records))
        if name == "sequence":
            has = batch.base_sequence >= 0
            return [batch.sequence(record.offset) if has else NONE for record in records]
        if name == "control_type":
            return [
                CONTROL_TYPES[control_type(record, codec)] if batch.is_control else None
                for record in records
            ]
        shared = getattr(place, name) if name in ("topic", "partition") else _OF_BATCH[name](batch)
        return [shared] * len(records)

    made = [_array(values(name), request.field(name).type) for name in columns]
    return pa.RecordBatch.from_arrays(made, schema=request.schema)


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(kind):
        return pa.array(values, kind.value_type).dictionary_encode().cast(kind)
    return pa.array(values, kind)
