"""The three formats in Construct, written by hand from their description, not from the files."""

from __future__ import annotations

from typing import Any

import construct as c  # type: ignore[import-untyped]
from crc32c import crc32c

TEXT = c.Prefixed(c.VarInt, c.GreedyBytes)


class _Remark(c.Construct):  # type: ignore[misc]
    """Bytes after a size of 16 bits, which is negative for none."""

    def _parse(self, stream: Any, context: Any, path: str) -> bytes | None:
        size = c.Int16sl._parsereport(stream, context, path)
        return None if size < 0 else c.stream_read(stream, size, path)

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        stream.write(c.Int16sl.build(-1 if obj is None else len(obj)) + (obj or b""))
        return obj


SAMPLE = c.Struct(
    "delta" / c.ZigZag,
    "celsius" / c.Float64l,
    "wind" / c.Int16sb,
    "sensor" / TEXT,
    "remark" / _Remark(),
    "codes" / c.PrefixedArray(c.Int8ub, c.Int16ul),
)
BODY = c.Struct(
    "sequence" / c.ZigZag,
    "start" / c.Int64ul,
    "samples" / c.PrefixedArray(c.VarInt, SAMPLE),
    c.Terminated,
)
BLOCK = c.Struct("crc" / c.Int32ul, "rest" / c.GreedyBytes)
TELEMETRY = c.Struct(
    c.Const(b"TELM"),
    "version" / c.Int16ul,
    "station" / c.Int64sl,
    "blocks" / c.GreedyRange(c.Prefixed(c.Int32ul, BLOCK)),
)


def telemetry(version: int, station: int, blocks: list[dict[str, Any]]) -> bytes:
    """Return a file of blocks, each with its checksum."""
    bodies = [BODY.build(block) for block in blocks]
    made = [{"crc": crc32c(body), "rest": body} for body in bodies]
    built: bytes = TELEMETRY.build({"version": version, "station": station, "blocks": made})
    return built


RANGE = c.Struct("first" / c.Int16ub, "last" / c.Int16ub)
MENTION = c.Struct("user" / c.Int64ub, "ranges" / c.PrefixedArray(c.Int8ub, RANGE))


class _Mentions(c.Construct):  # type: ignore[misc]
    """An array after a count of 16 bits, which is -1 for none."""

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        count = c.Int16sb._parsereport(stream, context, path)
        many = c.Array(max(count, 0), MENTION)._parsereport(stream, context, path)
        return None if count < 0 else many

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        stream.write(c.Int16sb.build(-1 if obj is None else len(obj)))
        return c.Array(len(obj or ()), MENTION)._build(obj or [], stream, context, path)


FLAGS = c.BitStruct("is_admin" / c.Flag, "level" / c.BitsInteger(4), "reserved" / c.BitsInteger(3))
REASON = c.Struct("code" / c.Int16ub, "text" / c.Prefixed(c.Int8ub, c.GreedyBytes))
MESSAGES = {
    1: c.Struct(
        "version" / c.Int8ub,
        "user" / c.Int64ub,
        "port" / c.If(c.this.version >= 2, c.Int16ub),
        "flags" / FLAGS,
        c.Terminated,
    ),
    2: c.Struct("user" / c.Int64ub, "mentions" / _Mentions(), "text" / c.GreedyBytes),
    3: c.Struct(
        "user" / c.Int64ub,
        "there" / c.Rebuild(c.Int8sb, lambda this: -1 if this.reason is None else 1),
        "reason" / c.If(c.this.there >= 0, REASON),
        c.Terminated,
    ),
}
CHAT = c.GreedyRange(
    c.Struct(
        "time" / c.Int32ub,
        "kind" / c.Int8ub,
        "message"
        / c.Prefixed(
            c.Int16ub,
            c.Switch(c.this.kind, MESSAGES, default=c.Struct("data" / c.GreedyBytes)),
        ),
    )
)

TILE = c.Struct(
    "x" / c.Int32ul,
    "y" / c.Int32ul,
    "position" / c.Int64sl,
    "size" / c.Int32ul,
    "compression" / c.Int8ub,
    "marks" / c.BitStruct("is_empty" / c.Flag, "checked" / c.BitsInteger(15)),
    "pad" / c.Bytes(1),
    "height" / c.Float32l,
)
ATLAS = c.Struct(
    "header" / c.Struct(c.Const(b"AT"), "zoom" / c.Int8ub, "scale" / c.Float64l),
    "tiles" / c.GreedyRange(TILE),
)


def plain(value: Any) -> Any:
    """Return what Construct read without what is not a field."""
    if isinstance(value, dict):
        items = {k: plain(v) for k, v in value.items() if k != "_io" and k not in ("there", "crc")}
        return items | items.pop("marks", {})
    return [plain(item) for item in value] if isinstance(value, list) else value


def read(name: str, data: bytes) -> Any:
    """Return the content of a file as mappings and lists.

    Raises:
        ConstructError: it is not such a file.
        ValueError: a checksum is wrong.
    """
    found = {"telemetry": TELEMETRY, "chat": CHAT, "atlas": ATLAS}[name].parse(data)
    if name == "telemetry":
        for block in found.blocks:
            if block.crc != crc32c(block.rest):
                raise ValueError("checksum")
        found["blocks"] = [BODY.parse(block.rest) for block in found.blocks]
    return plain(found)
