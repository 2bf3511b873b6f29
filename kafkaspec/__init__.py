"""Kafka's files on disk: an executable specification, and codecs generated from it.

Names are imported when they are first used, so that ``import kafkaspec`` stays cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kafkaspec.errors import (
        ChecksumError,
        CorruptError,
        KafkaSpecError,
        Reason,
        TruncatedError,
        UnsupportedError,
    )
    from kafkaspec.model import Record

_HOMES = {
    "ChecksumError": "errors",
    "CorruptError": "errors",
    "KafkaSpecError": "errors",
    "Reason": "errors",
    "Record": "model",
    "TruncatedError": "errors",
    "UnsupportedError": "errors",
}

__all__ = [
    "ChecksumError",
    "CorruptError",
    "KafkaSpecError",
    "Reason",
    "Record",
    "TruncatedError",
    "UnsupportedError",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"kafkaspec.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
