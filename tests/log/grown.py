"""Batches of a few kilobytes that say that they hold millions of records or headers."""

from __future__ import annotations

import gzip

import zstandard

from tests.log import forge

ZSTD = 4
_AT_ONCE = 1 << 16

RECORD = forge.record(0, None)
"""An empty record, 8 bytes; all of a batch may have the same offset."""


def repeated(unit: bytes, count: int, *, head: bytes = b"", tail: bytes = b"") -> bytes:
    """The same bytes again and again, compressed with zstd; never there as a whole."""
    packer = zstandard.ZstdCompressor().compressobj()
    whole, rest = divmod(count, _AT_ONCE)
    many = unit * _AT_ONCE
    parts = [packer.compress(head), *(packer.compress(many) for _ in range(whole))]
    return b"".join([*parts, packer.compress(unit * rest + tail), packer.flush()])


def records(count: int, *, tail: bytes = b"", said: int | None = None) -> bytes:
    """A batch of empty records; ``said`` is the number in its header."""
    payload = repeated(RECORD, count, tail=tail)
    number = count if said is None else said
    return forge.batch(0, payload, count=number, attributes=ZSTD, last_offset_delta=number - 1)


def wrapper(count: int, *, surplus: bytes = b"") -> bytes:
    """A wrapper of empty messages, whose offsets are all the same one."""
    value = gzip.compress(forge.legacy(0, None) * count + surplus, 1)
    return forge.legacy(count - 1, value, attributes=forge.GZIP)


def markers(count: int) -> bytes:
    """A control batch with the same marker again and again."""
    marker = forge.record(0, bytes(6), key=b"\0\0\0\1")
    payload = repeated(marker, count)
    attributes = ZSTD | 0x20
    return forge.batch(0, payload, count=count, attributes=attributes, producer=(1, 0, -1))


def headers(count: int) -> bytes:
    """A batch of one record with empty headers."""
    body = b"\0" + forge.zigzag(0) * 2 + forge.sized(None) * 2 + forge.zigzag(count)
    header = forge.sized(b"") + forge.sized(None)
    head = forge.zigzag(len(body) + count * len(header)) + body
    return forge.batch(0, repeated(header, count, head=head), count=1, attributes=ZSTD)
