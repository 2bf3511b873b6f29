"""Deterministic records for the scenarios: the same bytes in every run and for every version.

Keys and values avoid line breaks, so that each record stays one line in the dump tool's text.
"""

from __future__ import annotations

import random

from tools.brokers.client import START_MS, Record

_TEXT = (
    "alpha bravo charlie delta echo foxtrot golf hotel india juliett kilo lima mike november "
    "oscar papa quebec romeo sierra tango uniform victor whiskey xray yankee zulu"
)
_WORDS = tuple(_TEXT.split())
_NOT_TEXT = bytes(byte for byte in range(256) if byte not in b"\n\r\t")


def edge_records() -> tuple[Record, ...]:
    """Null, empty, Unicode and binary keys and values in every combination that matters."""
    pairs: list[tuple[bytes | None, bytes | None]] = [
        (b"key", b"value"),
        (None, b"null key"),
        (b"null value", None),
        (None, None),
        (b"", b"empty key"),
        (b"empty value", b""),
        (b"", b""),
        (None, b""),
        (b"", None),
        ("ключ-鍵".encode(), "Grüße, 世界 — \U0001f642".encode()),
        (b"\x00\x01\x7f\x80\xfe\xff", _NOT_TEXT),
        (b"\xc3\x28", b"\xed\xa0\x80 is no UTF-8"),
        (b"63", bytes(63)),
        (b"64", b"@" * 64),
        (b"8191", b"b" * 8191),
        (b"8192", b"c" * 8192),
    ]
    return tuple(Record(k, v, START_MS + 1000 * i) for i, (k, v) in enumerate(pairs))


def words(seed: str, count: int, size: int, start: int = START_MS, step: int = 1000) -> tuple[
    Record, ...
]:  # fmt: skip
    """Return ``count`` records with ``size`` bytes of compressible text, ``step`` ms apart."""
    rng = random.Random(seed)
    records = []
    for i in range(count):
        text = ""
        while len(text) < size:
            text += rng.choice(_WORDS) + " "
        records.append(Record(f"k{i}".encode(), text[:size].encode(), start + step * i))
    return tuple(records)


def incompressible(seed: str, count: int, size: int, start: int = START_MS) -> tuple[Record, ...]:
    """Return ``count`` records of random bytes: codecs store such blocks as they are."""
    rng = random.Random(seed)
    return tuple(
        Record(b"random", bytes(rng.choices(_NOT_TEXT, k=size)), start + i) for i in range(count)
    )


def keyed(seed: str, count: int, keys: int, tombstones: float, start: int = START_MS) -> tuple[
    Record, ...
]:  # fmt: skip
    """Updates of ``keys`` keys in random order, a share of them tombstones, for compaction."""
    rng = random.Random(seed)
    records = []
    for i in range(count):
        key = f"key-{rng.randrange(keys):02d}".encode()
        deleted = rng.random() < tombstones
        value = None if deleted else f"{key.decode()} update {i:03d} {rng.choice(_WORDS)}".encode()
        records.append(Record(key, value, start + 1000 * i))
    return tuple(records)


def shuffled_times(seed: str, records: tuple[Record, ...], spread: int) -> tuple[Record, ...]:
    """Return the same records with CreateTime moved back or forth by up to ``spread`` ms."""
    rng = random.Random(seed)
    return tuple(
        Record(r.key, r.value, r.timestamp + rng.randrange(-spread, spread), r.headers)
        for r in records
    )


def with_headers() -> tuple[Record, ...]:
    """Headers of every shape: none, null and empty value, empty and repeated key, Unicode, many."""
    many = tuple((f"h{i}", f"v{i}".encode()) for i in range(70))
    shapes: tuple[tuple[tuple[str, bytes | None], ...], ...] = (
        (),
        (("name", b"value"),),
        (("null", None),),
        (("empty", b""),),
        (("", b"empty key"),),
        (("", None),),
        (("again", b"1"), ("again", b"2"), ("again", None), ("other", b"3"), ("again", b"1")),
        (("имя-名", "välue".encode()),),
        (("binary", b"\x00\xff\x80\xfe"),),
        (("long", b"x" * 300), ("k" * 200, b"long key")),
        many,
    )
    return tuple(
        Record(f"k{i}".encode(), f"{len(headers)} headers".encode(), START_MS + i, headers)
        for i, headers in enumerate(shapes)
    )


def batches(records: tuple[Record, ...], size: int) -> tuple[tuple[Record, ...], ...]:
    """Cut ``records`` into runs of ``size``."""
    return tuple(records[i : i + size] for i in range(0, len(records), size))
