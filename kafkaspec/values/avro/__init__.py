"""Avro: payloads of a schema as typed columns, read by the rules of another schema if asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkaspec.lazy import attach

if TYPE_CHECKING:
    from kafkaspec.values.avro.decoder import compile_avro as compile_avro
else:
    __getattr__, __dir__, __all__ = attach(__name__)
