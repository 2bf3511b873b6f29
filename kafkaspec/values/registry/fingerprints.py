"""Fingerprints of Avro schemas, by which single objects name theirs."""

from __future__ import annotations

from typing import Any

import fastavro.schema
import orjson

from kafkaspec.values.definition import Definition, SchemaError
from kafkaspec.values.registry.avro_names import NAMED, full_name


def fingerprint(definition: Definition) -> bytes:
    """Return the CRC-64-AVRO of the parsing canonical form, as a single object has it: 8 bytes."""
    try:
        whole = _Inlined(definition).schema
        canonical = fastavro.schema.to_parsing_canonical_form(whole)
        digits = fastavro.schema.fingerprint(canonical, "CRC-64-AVRO")
    except SchemaError:
        raise
    except Exception as error:  # of the library, for any schema
        raise SchemaError(f"it has no fingerprint: {error or type(error).__name__}") from None
    return bytes.fromhex(digits)


class _Inlined:
    """A schema with what it imports at the place where it is first used."""

    def __init__(self, definition: Definition) -> None:
        self._imports: dict[str, Any] = {}
        self._find(definition)
        self.schema = self._within(orjson.loads(definition.text), "")

    def _find(self, definition: Definition) -> None:
        for name, other in definition.imports:
            if name not in self._imports:
                self._imports[name] = orjson.loads(other.text)
                self._find(other)

    def _within(self, schema: Any, space: str) -> Any:
        if isinstance(schema, str):
            for name in (f"{space}.{schema}" if space and "." not in schema else schema, schema):
                if name in self._imports:
                    return self._within(self._imports.pop(name), "")
            return schema
        if isinstance(schema, list):
            return [self._within(branch, space) for branch in schema]
        if not isinstance(schema, dict):
            return schema
        made = dict(schema)
        if made.get("type") in NAMED:
            made["name"], space = full_name(made, space)
            made.pop("namespace", None)
            if "fields" in made:
                made["fields"] = [
                    field | {"type": self._within(field["type"], space)} for field in made["fields"]
                ]
            return made
        for part in ("items", "values", "type"):
            if part in made:
                made[part] = self._within(made[part], space)
        return made
