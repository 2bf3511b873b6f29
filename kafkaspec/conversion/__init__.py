"""Conversion of logs: another magic, compression, offsets, leader epochs, sizes of segments.

Names are imported when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkaspec.lazy import attach

if TYPE_CHECKING:
    from kafkaspec.conversion.choices import Choices as Choices
    from kafkaspec.conversion.entries import EntryConverter as EntryConverter
    from kafkaspec.conversion.report import ConversionReport as ConversionReport
    from kafkaspec.conversion.running import convert as convert
else:
    __getattr__, __dir__, __all__ = attach(__name__)
