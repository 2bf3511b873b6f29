"""Logs and arrays with typed keys and values."""

from __future__ import annotations

from kafkaspec.values.reading.arrays import decode_values
from kafkaspec.values.reading.batches import SideReader, read, schema_of
from kafkaspec.values.reading.request import ValueReport

__all__ = ["SideReader", "ValueReport", "decode_values", "read", "schema_of"]
