"""The tables of segments by public readers alone, to compare with, and to restore from."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

import kafkaspec as ks
from kafkaspec.lake.schema import BATCHES_SCHEMA, RAW_SCHEMA
from kafkaspec.model import java_text

_COLUMNS = [
    "offset", "timestamp", "own_timestamp", "timestamp_type", "key", "value", "headers",
    "producer_id", "transactional", "batch_base_offset",
]  # fmt: skip


def raw_rows(segment: ks.Segment, **facts: Any) -> pa.RecordBatch:
    """The rows of ``raw``: records that are not control records."""
    table = segment.to_arrow(_COLUMNS, layout="binary", header_keys="binary")
    shown, own = (
        pc.fill_null(table[name].cast(pa.int64()), -1) for name in ("timestamp", "own_timestamp")
    )
    found = {name: table[name] for name in _COLUMNS}
    found["own_timestamp"] = pc.if_else(pc.equal(shown, own), None, own)
    found["headers"] = pa.array(
        [
            [{"key": java_text(item["key"]), "value": item["value"]} for item in row]
            for row in table["headers"].to_pylist()
        ],
        RAW_SCHEMA.field("headers").type,
    )
    return _batch(found, len(table), RAW_SCHEMA, facts)


def header_rows(segment: ks.Segment, **facts: Any) -> pa.RecordBatch:
    """The rows of ``batches``; whether entries are exact is not known yet."""
    rows = [_header(batch) for batch in segment.batches()]
    columns = {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}
    return _batch(columns, len(rows), BATCHES_SCHEMA, facts)


def _header(batch: Any) -> dict[str, Any]:
    message = batch.message
    bits = message.attributes
    if batch.magic < 2:
        attributes = bits.reserved << 4 | int(bits.timestamp_type) << 3 | int(bits.compression)
        inner = len(list(batch.records()))
    else:
        attributes = (
            bits.reserved << 7 | bits.has_delete_horizon << 6 | bits.is_control << 5
            | bits.is_transactional << 4 | int(bits.timestamp_type) << 3 | int(bits.compression)
        )  # fmt: skip
        inner = message.num_records
    return {
        "position": batch.position,
        "length": batch.size,
        "base_offset": batch.base_offset,
        "last_offset": batch.last_offset,
        "magic": batch.magic,
        "leader_epoch": batch.partition_leader_epoch,
        "attributes": attributes,
        "base_timestamp": getattr(message, "base_timestamp", None),
        "max_timestamp": batch.max_timestamp,
        "producer_id": batch.producer_id,
        "producer_epoch": batch.producer_epoch,
        "base_sequence": batch.base_sequence,
        "records": inner,
        "crc": message.crc,
        "control_type": "COMMIT" if batch.is_control and inner else None,
    }


def _batch(
    columns: dict[str, Any], rows: int, schema: pa.Schema, facts: dict[str, Any]
) -> pa.RecordBatch:
    arrays = []
    for field in schema:
        if field.name in columns:
            made = columns[field.name]
            made = made if isinstance(made, pa.Array | pa.ChunkedArray) else pa.array(made)
            made = made.combine_chunks() if isinstance(made, pa.ChunkedArray) else made
            arrays.append(made.cast(field.type))
        else:
            arrays.append(pa.array([facts.get(field.name)] * rows, field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
