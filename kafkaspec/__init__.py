"""Kafka's files on disk: an executable specification, and codecs generated from it.

Names are imported when they are first used, so that ``import kafkaspec`` stays cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kafkaspec import provider as _provider

if TYPE_CHECKING:
    from kafkaspec.analysis.verification import verify
    from kafkaspec.conversion.running import convert
    from kafkaspec.errors import (
        ChecksumError,
        CorruptError,
        KafkaSpecError,
        Reason,
        TruncatedError,
        UnsupportedError,
    )
    from kafkaspec.log.batch import Batch
    from kafkaspec.log.directory import LogDirectory
    from kafkaspec.log.encoding import decode, encode
    from kafkaspec.log.opening import open_log as open  # noqa: A004
    from kafkaspec.log.partition import Partition
    from kafkaspec.log.segment import Segment
    from kafkaspec.model import Record
    from kafkaspec.writing.rebuild import rebuild_indexes
    from kafkaspec.writing.segment_writer import SegmentWriter

_HOMES = {
    "Batch": ("log.batch", "Batch"),
    "ChecksumError": ("errors", "ChecksumError"),
    "CorruptError": ("errors", "CorruptError"),
    "KafkaSpecError": ("errors", "KafkaSpecError"),
    "LogDirectory": ("log.directory", "LogDirectory"),
    "Partition": ("log.partition", "Partition"),
    "Reason": ("errors", "Reason"),
    "Record": ("model", "Record"),
    "Segment": ("log.segment", "Segment"),
    "SegmentWriter": ("writing.segment_writer", "SegmentWriter"),
    "TruncatedError": ("errors", "TruncatedError"),
    "UnsupportedError": ("errors", "UnsupportedError"),
    "convert": ("conversion.running", "convert"),
    "decode": ("log.encoding", "decode"),
    "encode": ("log.encoding", "encode"),
    "open": ("log.opening", "open_log"),
    "rebuild_indexes": ("writing.rebuild", "rebuild_indexes"),
    "verify": ("analysis.verification", "verify"),
}

__all__ = [
    "Batch",
    "ChecksumError",
    "CorruptError",
    "KafkaSpecError",
    "LogDirectory",
    "Partition",
    "Reason",
    "Record",
    "Segment",
    "SegmentWriter",
    "TruncatedError",
    "UnsupportedError",
    "convert",
    "decode",
    "encode",
    "open",
    "rebuild_indexes",
    "verify",
]


# The one place above all layers: it hands the upper one to the lower one, which cannot import it.
_provider.hand_in(lambda: import_module("kafkaspec.arrow").provider())


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        module, attribute = _HOMES[name]
        return getattr(import_module(f"kafkaspec.{module}"), attribute)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
