"""JSON, with a JSON Schema or without one, as typed columns."""

from __future__ import annotations

from kafkaspec.values.json_schema.reading import compile_json, infer_json

__all__ = ["compile_json", "infer_json"]
