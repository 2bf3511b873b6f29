"""Nodes of a specification for edits: fields and structures with the documentation they need."""

from __future__ import annotations

from typing import Any

from tools.drafts.text import Yaml

KAFKA = "https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/"
TIMELESS = "A made-up field."


def uuid(field_id: str) -> Yaml:
    """A field of 16 bytes."""
    return {"id": field_id, "size": 16, "doc": TIMELESS}


def integer(field_id: str, type_: str, **keys: Any) -> Yaml:
    """A number; ``default`` and ``when`` (``if:``) among its keys."""
    named = {"default": "-default", "when": "if"}
    return {"id": field_id, "type": type_, "doc": TIMELESS} | {
        named.get(key, key): value for key, value in keys.items()
    }


def structure(*fields: Yaml, **keys: Any) -> Yaml:
    """A type with the documentation that the linter demands."""
    head = {"doc": "A made-up structure.", "doc-ref": f"{KAFKA}Made.java Made"}
    return head | {"seq": list(fields)} | keys
