"""Kafka's own messages as Arrow arrays and tables. Names are imported when they are first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkaspec.lazy import attach

if TYPE_CHECKING:
    from kafkaspec.arrow.messages.arrays import array_type as array_type
    from kafkaspec.arrow.messages.arrays import decode_array as decode_array
    from kafkaspec.arrow.messages.arrays import encode_array as encode_array
else:
    __getattr__, __dir__, __all__ = attach(__name__)
