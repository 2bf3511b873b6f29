"""The functions that logs need from this package: they are registered here."""

from __future__ import annotations

from kafkaspec.arrow.encoding import encode_columns
from kafkaspec.arrow.messages.topics import read_messages
from kafkaspec.arrow.reading import read, read_headers, record_batches, schema_of

__all__ = [
    "encode_columns",
    "read",
    "read_headers",
    "read_messages",
    "record_batches",
    "schema_of",
]
