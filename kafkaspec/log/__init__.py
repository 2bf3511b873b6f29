"""Logs: segments, their indexes, partitions, log directories; records to batches and back.

Names are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kafkaspec.log.batch import Batch
    from kafkaspec.log.control import ControlRecord, decode_control
    from kafkaspec.log.default import DefaultBatch
    from kafkaspec.log.directory import LogDirectory
    from kafkaspec.log.encoding import decode, encode
    from kafkaspec.log.index import OffsetIndex, TimeIndex
    from kafkaspec.log.legacy import InnerMessage, LegacyBatch
    from kafkaspec.log.lookup import Found, LargestTimestamp
    from kafkaspec.log.opening import open_log
    from kafkaspec.log.partition import Partition
    from kafkaspec.log.segment import Segment, Tail
    from kafkaspec.log.sidecars import ProducerSnapshot, TransactionIndex

_HOMES = {
    "Batch": "batch",
    "ControlRecord": "control",
    "DefaultBatch": "default",
    "Found": "lookup",
    "InnerMessage": "legacy",
    "LargestTimestamp": "lookup",
    "LegacyBatch": "legacy",
    "LogDirectory": "directory",
    "OffsetIndex": "index",
    "Partition": "partition",
    "ProducerSnapshot": "sidecars",
    "Segment": "segment",
    "Tail": "segment",
    "TimeIndex": "index",
    "TransactionIndex": "sidecars",
    "decode": "encoding",
    "decode_control": "control",
    "encode": "encoding",
    "open_log": "opening",
}

__all__ = [
    "Batch",
    "ControlRecord",
    "DefaultBatch",
    "Found",
    "InnerMessage",
    "LargestTimestamp",
    "LegacyBatch",
    "LogDirectory",
    "OffsetIndex",
    "Partition",
    "ProducerSnapshot",
    "Segment",
    "Tail",
    "TimeIndex",
    "TransactionIndex",
    "decode",
    "decode_control",
    "encode",
    "open_log",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"kafkaspec.log.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
