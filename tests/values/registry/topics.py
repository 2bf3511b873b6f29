"""Write the topic of a registry, as the tests want it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import kafkaspec as ks

DATA = Path(__file__).parents[1] / "data"
Json = Any

ABORT, COMMIT = b"\x00\x00\x00\x00", b"\x00\x00\x00\x01"
"""Keys of markers: version 0 and the type (KIP-98)."""


def schema(subject: str, version: int, number: int, text: Json, **more: Json) -> tuple[Json, Json]:
    """Key and value of a schema, as Confluent's registry writes them."""
    key = {"keytype": "SCHEMA", "subject": subject, "version": version, "magic": 1}
    value = {
        "subject": subject,
        "version": version,
        "id": number,
        "schema": text if isinstance(text, str) else json.dumps(text, separators=(",", ":")),
        "deleted": False,
    }
    return key, value | more


def tombstone(subject: str, version: int) -> tuple[Json, Json]:
    """A permanent delete, as Confluent's registry writes it."""
    return schema(subject, version, 0, "")[0], None


def other(keytype: str, value: Json, **key: Json) -> tuple[Json, Json]:
    """A record of another type."""
    return {"keytype": keytype, **key, "magic": 0}, value


def as_bytes(item: Json) -> bytes | None:
    """Bytes of a key or value: those given, or JSON."""
    if item is None or isinstance(item, bytes):
        return item
    return json.dumps(item, separators=(",", ":")).encode()


def record(offset: int, key: Json, value: Json) -> ks.Record:
    """A record."""
    return ks.Record(offset, 0, as_bytes(key), as_bytes(value), ())


def write(home: Path, records: Iterable[tuple[Json, Json]], topic: str = "_schemas") -> Path:
    """Write a topic into a log directory, one batch a record; return the log directory."""
    home.mkdir(exist_ok=True)
    with ks.SegmentWriter(home / f"{topic}-0", sync=False) as writer:
        for key, value in records:
            writer.append_records([record(writer.next_offset, key, value)])
    return home


def marker(offset: int, key: bytes, producer: int) -> bytes:
    """The batch that ends a transaction."""
    records = [ks.Record(offset, 0, key, b"\x00\x00\x00\x00\x00\x00", ())]
    return ks.encode(
        records, producer_id=producer, producer_epoch=0, transactional=True, control=True
    )
