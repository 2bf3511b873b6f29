"""Snappy in the framing of xerial's ``SnappyInputStream`` and ``SnappyOutputStream``.

A stream is a header of 16 bytes (magic, version, oldest compatible version) and chunks, each a
big-endian length and one raw snappy block. Beyond that, the reader follows these rules:

- Data without the header is one raw block; Kafka clients in other languages write that.
- The version fields of the first header are ignored.
- In place of a chunk's length, the first four bytes of the magic begin another header. It must be
  complete and its version 1 or more. If the other four bytes of the magic are wrong, the header
  ends the data if there was no output before it, and is skipped otherwise.
- One to three bytes at the end, in place of a length, are ignored.
- A chunk of no bytes is an error, like an empty snappy block; a chunk without output is legal.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import Final

import cramjam

from kafkaspec.compression.form import PayloadForm
from kafkaspec.compression.refusal import bad_level, corrupt, too_large

_MAGIC: Final = b"\x82SNAPPY\0"
_MAGIC_HEAD: Final = int.from_bytes(_MAGIC[:4], "big", signed=True)
_HEADER: Final = Struct(">8sii")  # magic, version, oldest version that can read it
_LENGTH: Final = Struct(">i")
_VERSION: Final = 1
_CHUNK: Final = 32 * 1024

READ: Final = PayloadForm(_MAGIC, _HEADER.size, _CHUNK)
"""The form that is read fast. A chunk may be larger."""

# A copy element of 3 bytes gives at most 64 bytes of output, and no element has a better ratio.
_MAX_RATIO: Final = 22
_MAX_VARINT32: Final = 5


def pieces(data: memoryview, *, magic: int, max_output: int, most: int) -> Iterator[cramjam.Buffer]:
    """Decompress the chunks of ``data``, each as a whole; ``magic`` makes no difference."""
    if len(data) < _HEADER.size or bytes(data[: len(_MAGIC)]) != _MAGIC:
        yield _block(data, max_output, max_output)
        return
    produced = 0
    position = _HEADER.size
    while position + _LENGTH.size <= len(data):
        (length,) = _LENGTH.unpack_from(data, position)
        if length == _MAGIC_HEAD:
            if not _is_header(data, position) and not produced:
                break
            position += _HEADER.size
            continue
        position += _LENGTH.size
        if not 0 <= length <= len(data) - position:
            raise corrupt("snappy", f"a chunk of {length} bytes reaches beyond the data")
        block = _block(data[position : position + length], max_output - produced, max_output)
        position += length
        size = len(block)
        if size:
            produced += size
            yield block


def decompress_into(data: memoryview, target: memoryview) -> int:
    """See ``kafkaspec.compression.into``: one header, and chunks up to the last byte."""
    end = len(data)
    if end < _HEADER.size or bytes(data[: len(_MAGIC)]) != _MAGIC:
        return -1
    position = _HEADER.size
    produced = 0
    while position < end:
        if end - position < _LENGTH.size:
            return -1
        (length,) = _LENGTH.unpack_from(data, position)
        position += _LENGTH.size
        if not 0 < length <= end - position:
            return -1
        block = data[position : position + length]
        try:
            produced += cramjam.snappy.decompress_raw_into(block, target[produced:])
        except cramjam.DecompressionError:
            return -1
        position += length
    return produced


def compress(data: memoryview, *, magic: int, level: int | None) -> bytes:
    """Compress ``data`` to a xerial stream with chunks of 32 KiB. Snappy has no levels."""
    form, _ = written(magic=magic, level=level)
    output: list[bytes | cramjam.Buffer] = [form.start]
    for start in range(0, len(data), _CHUNK):
        block = cramjam.snappy.compress_raw(data[start : start + _CHUNK])
        output += (_LENGTH.pack(len(block)), block)
    return b"".join(output)


def written(*, magic: int, level: int | None) -> tuple[PayloadForm, int]:
    """Return the form of what is written, and a level that means nothing."""
    if level is not None:
        raise bad_level("snappy", level, "None")
    return PayloadForm(_HEADER.pack(_MAGIC, _VERSION, _VERSION), _HEADER.size, _CHUNK), 0


def _is_header(data: memoryview, position: int) -> bool:
    """Return whether the 16 bytes at ``position``, which begin like a header, are a header."""
    if position + _HEADER.size > len(data):
        raise corrupt("snappy", "the data ends inside the header of a further stream")
    magic, version, _ = _HEADER.unpack_from(data, position)
    if magic != _MAGIC:
        return False
    if version < _VERSION:
        raise corrupt("snappy", f"a further stream has version {version}")
    return True


def _block(block: memoryview, room: int, max_output: int) -> cramjam.Buffer:
    """Decompress one raw block. The length that it claims limits the allocation."""
    claimed = _claimed_length(block)
    if claimed > _MAX_RATIO * len(block):
        raise corrupt("snappy", f"a block of {len(block)} bytes cannot hold {claimed} bytes")
    if claimed > room:
        raise too_large("snappy", max_output)
    try:
        return cramjam.snappy.decompress_raw(block)
    except cramjam.DecompressionError as error:
        raise corrupt("snappy", str(error).removeprefix("snappy: ")) from None


def _claimed_length(block: memoryview) -> int:
    """Return the varint at the start of a raw block: up to 5 bytes, the last one with 4 bits."""
    value = 0
    for index, byte in enumerate(block[:_MAX_VARINT32]):
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            if value >> 32:
                break
            return value
    raise corrupt("snappy", "a block does not begin with a valid length")
