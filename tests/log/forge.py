"""Log entries made by hand, byte by byte and without the code under test."""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Iterable, Sequence

import crc32c

GZIP = 1
LOG_APPEND_TIME = 0x08


def nullable(data: bytes | None) -> bytes:
    """A size in four bytes, -1 for null, and the bytes."""
    return struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data


def framed(offset: int, message: bytes) -> bytes:
    """An entry: offset, size, message."""
    return struct.pack(">qi", offset, len(message)) + message


def legacy(
    offset: int,
    value: bytes | None,
    *,
    magic: int = 1,
    key: bytes | None = None,
    attributes: int = 0,
    timestamp: int = 1000,
    crc: int | None = None,
    slack: bytes = b"",
) -> bytes:
    """An entry of magic 0 or 1."""
    body = struct.pack(">bb", magic, attributes)
    if magic:
        body += struct.pack(">q", timestamp)
    body += nullable(key) + nullable(value) + slack
    return framed(offset, struct.pack(">I", zlib.crc32(body) if crc is None else crc) + body)


def wrapper(
    offset: int,
    inner: Iterable[bytes],
    *,
    magic: int = 1,
    attributes: int = 0,
    timestamp: int = 2000,
    key: bytes | None = None,
    cut: int = 0,
    surplus: bytes = b"",
) -> bytes:
    """A gzip wrapper; ``cut`` bytes of its inner entries are missing, ``surplus`` follows them."""
    data = b"".join(inner)
    data = data[: len(data) - cut] + surplus
    return legacy(
        offset,
        gzip.compress(data, mtime=0),
        magic=magic,
        key=key,
        attributes=attributes | GZIP,
        timestamp=timestamp,
    )


def zigzag(value: int) -> bytes:
    """A signed varint."""
    code = (value << 1) ^ (value >> 63)
    code &= (1 << 64) - 1
    out = bytearray()
    while code > 0x7F:
        out.append(code & 0x7F | 0x80)
        code >>= 7
    out.append(code)
    return bytes(out)


def sized(data: bytes | None) -> bytes:
    """A varint size, -1 for null, and the bytes."""
    return zigzag(-1) if data is None else zigzag(len(data)) + data


def record(
    offset_delta: int,
    value: bytes | None,
    *,
    key: bytes | None = None,
    timestamp_delta: int = 0,
    headers: Sequence[tuple[bytes, bytes | None]] = (),
) -> bytes:
    """A record of magic 2."""
    body = b"\0" + zigzag(timestamp_delta) + zigzag(offset_delta) + sized(key) + sized(value)
    body += zigzag(len(headers))
    for name, content in headers:
        body += sized(name) + sized(content)
    return sized(body)


def batch(
    base_offset: int,
    records: Sequence[bytes] | bytes,
    *,
    count: int | None = None,
    last_offset_delta: int | None = None,
    attributes: int = 0,
    base_timestamp: int = 1000,
    max_timestamp: int = 1000,
    producer: tuple[int, int, int] = (-1, -1, -1),
    leader_epoch: int = 0,
    crc: int | None = None,
) -> bytes:
    """A batch of magic 2; ``records`` as bytes is taken as it is."""
    payload = records if isinstance(records, bytes) else b"".join(records)
    number = len(records) if count is None else count
    delta = number - 1 if last_offset_delta is None else last_offset_delta
    body = struct.pack(
        ">hiqqqhii", attributes, delta, base_timestamp, max_timestamp, *producer, number
    )
    body += payload
    crc = crc32c.crc32c(body) if crc is None else crc
    return framed(base_offset, struct.pack(">ibI", leader_epoch, 2, crc) + body)
