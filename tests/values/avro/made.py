"""Random Avro schemas, values with their bytes, and other schemas that the values may be read as.

The bytes are written here by the rules of Avro's specification, without any of our readers.
"""

from __future__ import annotations

import base64
import copy
import json
import struct
import uuid
from decimal import Context, Decimal
from random import Random
from typing import Any

import numpy as np

LOGICAL = {
    "int": ("date", "time-millis"),
    "long": (
        "time-micros",
        "timestamp-millis",
        "timestamp-micros",
        "timestamp-nanos",
        "local-timestamp-millis",
        "local-timestamp-micros",
        "local-timestamp-nanos",
        "light-years",
    ),
    "string": ("uuid", "date"),
    "bytes": ("decimal", "big-decimal"),
    "fixed": ("decimal", "duration", "uuid"),
}
"""Logical types of each type, one that is unknown or does not fit among them."""
_PRIMITIVE = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
_DAY = {"time-millis": 86_400_000, "time-micros": 86_400_000_000}
_EXACT = Context(prec=200)


def varint(number: int) -> bytes:
    """Return a zigzag varint of 64 bits."""
    number = (number << 1 ^ number >> 63) & (1 << 64) - 1
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


class Maker:
    """Makes schemas, values and other schemas from one source of chance.

    Args:
        seed: the source.
        logical: whether types have logical types.
        recursion: whether records may be within themselves.
    """

    def __init__(self, seed: int, logical: bool = True, recursion: bool = False) -> None:
        self._random = Random(seed)
        # A name without a namespace cannot be used within one.
        self._spaces = self._random.choice([[""], ["a.b", "c"]])
        self._logical = logical
        self._recursion = recursion
        self._names: dict[str, Any] = {}
        self._open: list[str] = []

    def schema(self) -> Any:
        """Return a schema; most are records."""
        while True:
            self._names.clear()
            made = self._type(3) if self._random.random() < 0.15 else self._record(3)
            if self._defined(made, set()):
                return made

    def _defined(self, schema: Any, names: set[str]) -> bool:
        """Return whether names are defined before they are used, and branches are distinct."""
        if isinstance(schema, list):
            labels = [self.label(branch) for branch in schema if not isinstance(branch, list)]
            if len(set(labels)) < len(schema):
                return False
            return all(self._defined(branch, names) for branch in schema)
        if isinstance(schema, str):
            return schema in _PRIMITIVE or schema in names
        if "name" in schema:
            names.add(self.label(schema))
        parts = [schema[key] for key in ("items", "values") if key in schema]
        parts += [field["type"] for field in schema.get("fields", ())]
        return all(self._defined(part, names) for part in parts)

    def _name(self, prefix: str) -> dict[str, str]:
        name = f"{prefix}{len(self._names)}"
        space = self._random.choice(self._spaces)
        self._names[f"{space}.{name}" if space else name] = None
        return {"name": name, "namespace": space}

    def _record(self, depth: int) -> Any:
        names = self._name("R")
        full = f"{names['namespace']}.{names['name']}".lstrip(".")
        fields: list[dict[str, Any]] = []
        schema = {"type": "record", **names, "fields": fields}
        self._open.append(full)
        for number in range(self._random.choice([0, 1, 2, 3, 5, 8])):
            fields.append({"name": f"f{number}", "type": self._type(depth - 1)})
        if self._recursion and self._random.random() < 0.7:
            within = self._random.choice(self._open)
            kind = self._random.choice([["null", within], {"type": "array", "items": within}])
            fields.append({"name": "within", "type": kind})
        self._open.pop()
        self._names[full] = schema
        return schema

    def _type(self, depth: int) -> Any:
        pick = self._random.random()
        known = [name for name, schema in self._names.items() if schema is not None]
        if known and pick < 0.08:
            return self._random.choice(known)
        if depth <= 0 or pick < 0.5:
            return self._leaf()
        if pick < 0.62:
            return {"type": "array", "items": self._type(depth - 1)}
        if pick < 0.7:
            return {"type": "map", "values": self._type(depth - 1)}
        if pick < 0.82:
            return self._record(depth)
        return self._union(depth)

    def _union(self, depth: int) -> Any:
        if self._random.random() < 0.5:
            other = self._type(depth - 1)
            if isinstance(other, list) or self.label(other) == "null":
                return other
            return self._random.choice([["null", other], [other, "null"]])
        branches: list[Any] = []
        labels: set[str] = set()
        for _ in range(self._random.randrange(1, 6)):
            branch = self._type(depth - 1)
            if not isinstance(branch, list) and self.label(branch) not in labels:
                labels.add(self.label(branch))
                branches.append(branch)
        return branches or ["null"]

    def _leaf(self) -> Any:
        kind = self._random.choice([*_PRIMITIVE, "fixed", "enum"])
        schema: dict[str, Any]
        if kind == "enum":
            count = self._random.randrange(1, 5)
            schema = {
                "type": kind,
                **self._name("E"),
                "symbols": [f"S{i}" for i in range(count)],
            }
        elif kind == "fixed":
            schema = {
                "type": kind,
                **self._name("F"),
                "size": self._random.choice([1, 3, 8, 12, 16, 20]),
            }
        else:
            schema = {"type": kind}
        if self._logical and kind in LOGICAL and self._random.random() < 0.6:
            schema["logicalType"] = self._random.choice(LOGICAL[kind])
            if schema["logicalType"] == "decimal":
                most = len(str(1 << 8 * schema.get("size", 32) - 1)) - 1
                schema["precision"] = self._random.randrange(1, min(most, 76) + 1)
                schema["scale"] = self._random.randrange(0, schema["precision"] + 1)
        elif kind in _PRIMITIVE and self._random.random() < 0.8:
            return kind
        if "name" in schema:
            self._names[self.label(schema)] = schema
        return schema

    def label(self, schema: Any) -> str:
        """Return the name by which a union knows a type."""
        if isinstance(schema, str):
            return schema
        if "name" in schema:
            return f"{schema['namespace']}.{schema['name']}".lstrip(".")
        return str(schema["type"])

    def value(self, schema: Any, depth: int = 0) -> tuple[bytes, Any]:
        """Return the bytes of a random value, and the value as expected lines have it."""
        if isinstance(schema, str) and schema in self._names:
            schema = self._names[schema]
        if isinstance(schema, list):
            return self._branch(schema, depth)
        if isinstance(schema, str):
            schema = {"type": schema}
        match schema["type"]:
            case "record":
                parts = [self.value(field["type"], depth + 1) for field in schema["fields"]]
                names = [field["name"] for field in schema["fields"]]
                shown = dict(zip(names, (part[1] for part in parts), strict=True))
                return b"".join(part[0] for part in parts), shown
            case "array":
                items = [self.value(schema["items"], depth + 1) for _ in range(self._count(depth))]
                return self._blocks([item[0] for item in items]), [item[1] for item in items]
            case "map":
                items = [self.value(schema["values"], depth + 1) for _ in range(self._count(depth))]
                keys = [f"k{self._random.randrange(99)}é" for _ in items]
                raw = self._blocks(
                    [
                        varint(len(key.encode())) + key.encode() + item[0]
                        for key, item in zip(keys, items, strict=True)
                    ]
                )
                last = {key: item[1] for key, item in zip(keys, items, strict=True)}
                return raw, {"map": sorted([key, item] for key, item in last.items())}
        return self._scalar(schema)

    def _count(self, depth: int) -> int:
        few = [0, 0, 0, 1] if depth > 4 else [0, 0, 1, 2, 3, 7]
        return 0 if depth > 8 else self._random.choice(few)

    def _blocks(self, items: list[bytes]) -> bytes:
        """Write items in blocks, some of them with their size in bytes."""
        out = b""
        while items:
            count = self._random.randrange(1, len(items) + 1)
            part, items = b"".join(items[:count]), items[count:]
            sized = self._random.random() < 0.5
            out += (varint(-count) + varint(len(part)) if sized else varint(count)) + part
        return out + b"\0"

    def _branch(self, schema: list[Any], depth: int) -> tuple[bytes, Any]:
        number = self._random.randrange(len(schema))
        if depth > 8 and "null" in schema:
            number = schema.index("null")
        raw, shown = self.value(schema[number], depth + 1)
        kinds = [branch for branch in schema if self.label(branch) != "null"]
        if len(kinds) > 1 and self.label(schema[number]) != "null":
            shown = {"union": self.label(schema[number]), "value": shown}
        return varint(number) + raw, shown

    def _integer(self, bits: int, logical: str | None) -> int:
        if logical in _DAY:
            return self._random.randrange(_DAY[logical])
        size = self._random.choice([2, 7, 13, 20, 33, 50, 63, 64])
        number = self._random.getrandbits(min(size, bits))
        return number - (1 << min(size, bits) - 1)

    def _scalar(self, schema: dict[str, Any]) -> tuple[bytes, Any]:
        kind, logical = schema["type"], schema.get("logicalType")
        match kind:
            case "null":
                return b"", None
            case "boolean":
                flag = self._random.random() < 0.5
                return bytes([flag]), flag
            case "int" | "long":
                number = self._integer(32 if kind == "int" else 64, logical)
                return varint(number), shown_integer(number, kind, logical)
            case "float" | "double":
                special = self._random.choice([0.0, -0.0, 1.5, float("nan"), float("inf")])
                value = self._random.choice([special, self._random.gauss(0, 1e6)])
                raw = struct.pack("<f" if kind == "float" else "<d", value)
                return raw, shown_float(raw)
            case "enum":
                index = self._random.randrange(len(schema["symbols"]))
                return varint(index), schema["symbols"][index]
            case "string":
                text = "".join(
                    self._random.choice(["a", "é", "日", "😀", "\0", '"'])
                    for _ in range(self._random.choice([0, 1, 3, 12, 40]))
                )
                return varint(len(text.encode())) + text.encode(), text
        size = schema.get("size", self._random.choice([0, 1, 2, 9, 16, 30]))
        raw = self._random.randbytes(size)
        if logical == "decimal":
            number = self._random.getrandbits(250) % 10 ** self._random.randrange(
                1, schema["precision"] + 1
            )
            number *= self._random.choice([1, -1])
            size = schema.get("size", (number.bit_length() + 8) // 8 + self._random.choice([0, 3]))
            raw = number.to_bytes(size, "big", signed=True)
        return (varint(size) if kind == "bytes" else b"") + raw, shown_bytes(raw, schema)

    def other(self, schema: Any) -> Any:
        """Return a schema that values of another one may, or may not, be read as."""
        while True:
            root = {"type": copy.deepcopy(schema)}
            for _ in range(self._random.randrange(1, 4)):
                self._change(*self._random.choice(list(_within(root, "type"))))
            if self._defined(root["type"], set()):
                return root["type"]

    def _change(self, holder: Any, key: Any) -> None:
        node = holder[key]
        kind = (
            node if isinstance(node, str) else node["type"] if isinstance(node, dict) else "union"
        )
        pick = self._random.random()
        wider = {
            "int": ["long", "float", "double"],
            "long": ["float", "double"],
            "float": ["double"],
            "string": ["bytes"],
            "bytes": ["string"],
        }
        if kind in wider and pick < 0.7:
            holder[key] = self._random.choice(wider[kind])
        elif kind == "record":
            self._change_record(node)
        elif kind == "enum" and pick < 0.8:
            symbols = node["symbols"]
            node.pop("default", None)
            node["symbols"] = self._random.sample(
                [*symbols, f"NEW{self._random.getrandbits(40)}"], k=len(symbols)
            )
            if self._random.random() < 0.6:
                node["default"] = node["symbols"][0]
        elif kind == "union" and pick < 0.6:
            self._random.shuffle(node)
            if len(node) > 1 and self._random.random() < 0.4:
                node.pop()
        elif kind not in {"union", "null"} and pick < 0.9 and not isinstance(holder, list):
            holder[key] = self._random.choice([["null", node], ["string", node], [node]])
            if self.label(node) == "string":
                holder[key] = ["null", node]

    def _change_record(self, node: dict[str, Any]) -> None:
        fields = node["fields"]
        pick = self._random.random()
        if fields and pick < 0.25:
            fields.pop(self._random.randrange(len(fields)))
        elif fields and pick < 0.5:
            field = self._random.choice(fields)
            field["aliases"] = [field["name"]]
            field["name"] = f"renamed{self._random.randrange(1000)}"
        elif pick < 0.6:
            node["aliases"] = [f"{node['namespace']}.{node['name']}".lstrip(".")]
            node["name"] += "New"
        else:
            kind, default = self._random.choice(
                [
                    ("int", 7),
                    (["null", "string"], None),
                    ("string", "déjà"),
                    ("bytes", "\u00ff\u0000"),
                    ("double", 1.5),
                    ("float", 0.1),
                    ({"type": "array", "items": "long"}, [1, -2]),
                    ({"type": "map", "values": ["null", "int"]}, {"a": None}),
                    (["string", "int"], "x"),
                ]
            )
            field = {
                "name": f"added{self._random.randrange(1000)}",
                "type": kind,
                "default": default,
            }
            if self._random.random() < 0.1:
                del field["default"]
            fields.insert(self._random.randrange(len(fields) + 1), field)


def _within(holder: Any, key: Any) -> Any:
    yield holder, key
    node = holder[key]
    if isinstance(node, list):
        for index in range(len(node)):
            yield from _within(node, index)
    elif isinstance(node, dict):
        for name in ("items", "values"):
            if name in node:
                yield from _within(node, name)
        for field in node.get("fields", ()):
            yield from _within(field, "type")


def shown_integer(number: int, kind: str, logical: str | None) -> Any:
    """Show an integer, by its logical type if that is one of the type's."""
    if logical is None or logical not in LOGICAL[kind] or logical == "light-years":
        return number
    if logical == "date":
        return {"date": str(np.datetime64(number, "D"))}
    name, _, unit = logical.rpartition("-")
    if unit == "nanos":
        return {f"{name.replace('-', '_')}_ns": number}
    return {f"{name.replace('-', '_')}_us": number * (1000 if unit == "millis" else 1)}


def shown_float(raw: bytes) -> Any:
    """Show a float or double."""
    (number,) = struct.unpack("<f" if len(raw) == 4 else "<d", raw)
    if number != number:
        return {"float": "NaN"}
    if number in (float("inf"), float("-inf")):
        return {"float": "Infinity" if number > 0 else "-Infinity"}
    return number


def shown_bytes(raw: bytes, schema: dict[str, Any]) -> Any:
    """Show bytes, by their logical type if that fits."""
    logical, size = schema.get("logicalType"), schema.get("size")
    if logical == "decimal":
        number = Decimal(int.from_bytes(raw, "big", signed=True))
        return {"decimal": format(number.scaleb(-schema["scale"], _EXACT), "f")}
    if logical == "uuid" and size == 16:
        return str(uuid.UUID(bytes=raw))
    if logical == "duration" and size == 12:
        return {"duration": list(struct.unpack("<III", raw))}
    return {"base64": base64.b64encode(raw).decode()}


def text(schema: Any) -> str:
    """Return a schema as JSON."""
    return json.dumps(schema)
