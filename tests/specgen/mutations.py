"""Random changes of loaded YAML, for tests of what reads it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

ODD: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 5, 255, 1 << 31, 1 << 63, 1 << 64, -(1 << 63), 1 << 70, 1.5,
    "", " ", "a", "x y", "class", "int", "self", "null", "[]", "'", "{", "é", "0x", "007", "-1",
    "value", "_", "_io.eof", "_io.size", "_root.a", "len(x)", "crc32(x..)", "u1", "s8", "b1", "b24",
    "b64", "b9", "eos", "expr", "until", "1 +", "a.b.c", "a[0]", "x ? 1 : 2", "not true", "~1",
    "1 / 0", "5 % 0", "_ >= 0", "9999999999999999999999", [], {}, [[]], [None], {"a": 1}, {1: 2},
    ["a"], b"bytes",
)  # fmt: skip


def places(node: Any) -> Iterator[tuple[Any, Any]]:
    """Every container of a document with each of its keys or indexes."""
    items = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in list(items):
        yield node, key
        if isinstance(value, dict | list):
            yield from places(value)


def donors_of(documents: list[Any]) -> dict[Any, list[Any]]:
    """The values of all mappings by key."""
    found: dict[Any, list[Any]] = {}
    for document in documents:
        for holder, key in places(document):
            if isinstance(holder, dict):
                found.setdefault(key, []).append(holder[key])
    return found


def mutate(chance: random.Random, document: dict[str, Any], donors: dict[Any, list[Any]]) -> str:
    """Change a document in place, in one way; return what was done.

    Args:
        chance: the source of chance.
        document: what to change.
        donors: values of other documents, which may replace those of the same key.
    """
    found = list(places(document))
    holder, key = chance.choice(found)
    match chance.randrange(8):
        case 0:
            value = deepcopy(chance.choice(ODD))
            holder[key] = value
            return f"{key} = {value!r}"
        case 1:
            del holder[key]
            return f"delete {key}"
        case 2 if isinstance(holder, list):
            holder.insert(chance.randrange(len(holder) + 1), deepcopy(holder[key]))
            return f"repeat item {key}"
        case 3 if isinstance(holder, list) and len(holder) > 1:
            holder.insert(chance.randrange(len(holder)), holder.pop(key))
            return f"move item {key}"
        case 4 if isinstance(holder, dict):
            name = chance.choice([k for h, k in found if isinstance(h, dict)])
            holder[name] = holder.pop(key)
            return f"rename {key} to {name}"
        case 5 if isinstance(holder, dict):
            name = chance.choice(list(donors))
            holder[name] = deepcopy(chance.choice(donors[name]))
            return f"add {name} = {str(holder[name])[:60]}"
    holder[key] = deepcopy(chance.choice(donors.get(key, [None])))
    return f"{key} = {str(holder[key])[:60]} of elsewhere"
