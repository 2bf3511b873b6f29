"""Fingerprints of Avro schemas, by which single objects name theirs."""

from __future__ import annotations

import json
from typing import Any

from kafkaspec.values.avro.schema import NAMED, AvroKind, AvroNode, parse
from kafkaspec.values.definition import Definition, SchemaError
from kafkaspec.values.options import Bounds


def fingerprint(definition: Definition, bounds: Bounds) -> bytes:
    """Return the CRC-64-AVRO of the parsing canonical form, as a single object has it: 8 bytes."""
    import fastavro.schema

    try:
        canonical = _canonical(parse(definition, bounds), set())
    except RecursionError:
        raise SchemaError("it has no fingerprint: it is nested too deeply") from None
    text = json.dumps(canonical, ensure_ascii=False, separators=(",", ":"))
    return bytes.fromhex(fastavro.schema.fingerprint(text, "CRC-64-AVRO"))


def _canonical(node: AvroNode, seen: set[str]) -> Any:
    """Return a type as the form has it; of a named one that was before, its name."""
    if node.kind == AvroKind.UNION:
        return [_canonical(child, seen) for child in node.children]
    if node.kind in {AvroKind.ARRAY, AvroKind.MAP}:
        content = "items" if node.kind == AvroKind.ARRAY else "values"
        return {"type": node.kind, content: _canonical(node.children[0], seen)}
    if node.kind not in NAMED:
        return node.kind
    if node.name in seen:
        return node.name
    seen.add(node.name)
    made: dict[str, Any] = {"name": node.name, "type": node.kind}
    if node.kind == AvroKind.FIXED:
        return made | {"size": node.size}
    if node.kind == AvroKind.ENUM:
        return made | {"symbols": node.symbols}
    fields = [{"name": each.name, "type": _canonical(each.node, seen)} for each in node.fields]
    return made | {"fields": fields}
