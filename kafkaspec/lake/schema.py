"""The tables of a lake: their names, columns and Arrow types.

All types are ones that Delta and Iceberg both have: no dictionaries or small integers, and µs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import pyarrow as pa

RAW: Final = "raw"
BATCHES: Final = "batches"
DEAD: Final = "dead"
PROGRESS: Final = "progress"
TYPED: Final = "typed_"
"""Before the name of a topic."""

TIME: Final = pa.timestamp("us", tz="UTC")
HEADERS: Final = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))

_LOG: Final = [
    ("topic", pa.string()),
    ("topic_id", pa.string()),  # null before Kafka 2.8
    ("partition", pa.int32()),
    # Counts the logs that one partition had: a topic made again, a log cut back.
    ("generation", pa.int32()),
    ("epoch", pa.int64()),  # the increment that added the row
]
"""The columns of all tables but typed ones, which have them after those of the topic."""

RAW_SCHEMA: Final = pa.schema(
    [
        *_LOG,
        ("day", pa.date32()),  # of the timestamp, in UTC; null without one
        ("offset", pa.int64()),
        ("timestamp", TIME),  # as a consumer gets it; null without one, or if µs cannot say it
        ("own_timestamp", pa.int64()),  # ms, the stored one, if ``timestamp`` is not equal to it
        ("timestamp_type", pa.string()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", HEADERS),
        ("producer_id", pa.int64()),  # null without one
        ("transactional", pa.bool_()),
        ("batch_base_offset", pa.int64()),
    ]
)
"""A row for each record that is not a control record, of aborted transactions too."""

BATCHES_SCHEMA: Final = pa.schema(
    [
        *_LOG,
        ("file", pa.string()),  # name of the segment's file, without its directory
        ("position", pa.int64()),
        ("length", pa.int64()),  # bytes in the file, header and all
        ("base_offset", pa.int64()),
        ("last_offset", pa.int64()),
        ("magic", pa.int32()),
        ("leader_epoch", pa.int32()),
        ("attributes", pa.int32()),
        ("base_timestamp", pa.int64()),
        ("max_timestamp", pa.int64()),
        ("producer_id", pa.int64()),
        ("producer_epoch", pa.int32()),
        ("base_sequence", pa.int32()),
        ("records", pa.int64()),
        ("crc", pa.int64()),
        ("control_type", pa.string()),  # null unless it is a control batch
        # Whether rows and header give the same bytes again; if not, and if asked for, the bytes.
        ("exact", pa.bool_()),
        ("payload", pa.binary()),
    ]
)
"""A row for each batch, or each message or wrapper of magic 0 and 1, in the order of the file."""

DEAD_SCHEMA: Final = pa.schema(
    [
        *_LOG,
        ("offset", pa.int64()),  # null if damage hides it
        ("file", pa.string()),
        ("position", pa.int64()),  # of a damaged range; null for a record that does not decode
        ("schema_id", pa.int64()),
        ("reason", pa.string()),  # a reason code of kafkaspec
        ("detail", pa.string()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("payload", pa.binary()),  # the damaged bytes
    ]
)
"""A row for each record that no typed table could take, and for each damaged range."""

PROGRESS_SCHEMA: Final = pa.schema(
    [
        *_LOG,
        ("next_offset", pa.int64()),
        ("leader_epoch", pa.int32()),  # of the last batch; -1 without one
        ("file", pa.string()),  # the last segment that was read ...
        ("size", pa.int64()),  # ... and how far, in bytes
        ("batches", pa.int64()),
        ("rows", pa.int64()),
        ("dead", pa.int64()),
        ("lost", pa.int64()),  # offsets that were gone before they were read
    ]
)
"""A row for each partition that an increment read, with its state after it."""

SCHEMAS: Final = {
    RAW: RAW_SCHEMA,
    BATCHES: BATCHES_SCHEMA,
    DEAD: DEAD_SCHEMA,
    PROGRESS: PROGRESS_SCHEMA,
}
FOLDERS: Final = {RAW: ("topic", "day"), BATCHES: ("topic",), DEAD: (), PROGRESS: ()}
"""Columns by which a table is partitioned."""
_NULL: Final = "__HIVE_DEFAULT_PARTITION__"
"""Readers that take values from paths read null from it, and another word as text."""
TYPED_FOLDERS: Final = ("day",)
"""Those of typed tables."""


def folder(values: Mapping[str, object]) -> str:
    """Return the directory for rows with these values in a table, with a slash after each part."""
    return "".join(f"{name}={_NULL if value is None else value}/" for name, value in values.items())


def typed_schema(own: Iterable[pa.Field]) -> pa.Schema:
    """Return the schema of a typed table, with the columns of its topic first."""
    return pa.schema([*own, *_LOG, ("day", pa.date32())])
