"""Conversion of logs: another magic, compression, offsets, leader epochs, sizes of segments.

Names are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kafkaspec.conversion.choices import Choices
    from kafkaspec.conversion.entries import EntryConverter
    from kafkaspec.conversion.report import ConversionReport
    from kafkaspec.conversion.running import convert

_HOMES = {
    "Choices": "choices",
    "ConversionReport": "report",
    "EntryConverter": "entries",
    "convert": "running",
}

__all__ = ["Choices", "ConversionReport", "EntryConverter", "convert"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"kafkaspec.conversion.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
