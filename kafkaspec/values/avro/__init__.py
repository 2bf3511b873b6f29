"""Avro: payloads of a schema as typed columns, read by the rules of another schema if asked."""

from __future__ import annotations

from kafkaspec.values.avro.decoder import compile_avro

__all__ = ["compile_avro"]
