"""Names of types in Avro schemas, before anything has parsed them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

NAMED: Final = ("record", "error", "enum", "fixed")
"""Types of Avro that have names."""


def full_name(schema: Mapping[str, Any], space: str) -> tuple[str, str]:
    """Return the full name of a named Avro type, and the namespace of the names in it."""
    name = schema["name"]
    if "." in name:
        return name, name.rpartition(".")[0]
    space = schema.get("namespace", space) or ""
    return f"{space}.{name}" if space else name, space


def names_in(parsed: Any) -> tuple[set[str], dict[str, None]]:
    """Return the full names of the types that an Avro schema defines at its top, and uses."""
    own: set[str] = set()
    used: dict[str, None] = {}
    todo: list[tuple[Any, str, bool]] = [(parsed, "", True)]
    while todo:
        schema, space, top = todo.pop()
        if isinstance(schema, str):
            used |= {f"{space}.{schema}": None} if space and "." not in schema else {}
            used[schema] = None
        elif isinstance(schema, list):
            todo += [(branch, space, top) for branch in schema]
        elif isinstance(schema, dict):
            if schema.get("type") in NAMED and isinstance(schema.get("name"), str):
                name, space = full_name(schema, space)
                own |= {name} if top else set()
            parts = [schema.get(part) for part in ("items", "values", "type")]
            listed = schema.get("fields")
            parts += [
                field.get("type")
                for field in (listed if isinstance(listed, list) else ())
                if isinstance(field, dict)
            ]
            todo += [(part, space, False) for part in parts if part is not None]
    return own, used
