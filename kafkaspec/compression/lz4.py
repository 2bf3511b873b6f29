"""The LZ4 frame as ``Lz4BlockInputStream`` reads and ``Lz4BlockOutputStream`` writes it.

Kafka implements the frame itself, and its reader differs from the standard:

- The header checksum is verified for magic 1 and 2 and ignored for magic 0, whose writers hashed
  the frame's magic as well (KAFKA-3160). It is written in the same broken way for magic 0.
- Linked blocks, a version other than 1, a dictionary and reserved bits are errors.
- A content size is skipped; a content checksum must be present but is not verified; the checksum
  of a block is verified.
- A stored block of no bytes ends the data as the end mark does, and so does a compressed block
  with no output. Everything after the end is ignored, including a second frame.
- The end mark must be present.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import Final

import cramjam
import lz4.block  # type: ignore[import-untyped]
from xxhash import xxh32_intdigest

from kafkaspec.compression.form import PayloadForm
from kafkaspec.compression.refusal import bad_level, corrupt, too_large

_MAGIC: Final = b"\x04\x22\x4d\x18"
_U32: Final = Struct("<I")
_CONTENT_SIZE_BYTES: Final = 8

# FLG, the first byte of the frame descriptor.
_VERSION_MASK, _VERSION_1 = 0xC0, 0x40
_INDEPENDENT_BLOCKS, _BLOCK_CHECKSUM, _CONTENT_SIZE, _CONTENT_CHECKSUM = 0x20, 0x10, 0x08, 0x04
_FLG_RESERVED: Final = 0x03  # the lower of the two is "dictionary" in newer versions of the format
# BD, the second.
_BD_RESERVED: Final = 0x8F
_BLOCK_64K: Final = 4

_MAX_BLOCK: Final = 1 << (2 * _BLOCK_64K + 8)
_STORED: Final = 0x8000_0000
_END_MARK: Final = _U32.pack(0)
_MAX_RATIO: Final = 255  # one more byte of a length adds at most 255 bytes of output
_DEFAULT_LEVEL: Final = 9  # selects the fast compressor; all others select high compression
_LEVELS: Final = range(1, 18)


def _header_checksum(descriptor: memoryview | bytes) -> int:
    return (xxh32_intdigest(descriptor) >> 8) & 0xFF


# As Kafka writes it. For magic 0 the checksum covers the magic of the frame too (KAFKA-3160).
_DESCRIPTOR: Final = bytes([_VERSION_1 | _INDEPENDENT_BLOCKS, _BLOCK_64K << 4])
_HEADER: Final = _MAGIC + _DESCRIPTOR + bytes([_header_checksum(_DESCRIPTOR)])
_BEGINNING: Final = Struct(f"<{len(_HEADER)}sI")  # the header and the word of the first block
READ: Final = PayloadForm(_HEADER, len(_HEADER), _MAX_BLOCK)
"""The form that is read fast."""
_BROKEN_HEADER: Final = _MAGIC + _DESCRIPTOR + bytes([_header_checksum(_MAGIC + _DESCRIPTOR)])
READ_MAGIC_0: Final = PayloadForm(_BROKEN_HEADER, len(_BROKEN_HEADER), _MAX_BLOCK)
"""The form that writers of magic 0 have, which a reader in C alone reads besides."""


def pieces(data: memoryview, *, magic: int, max_output: int, most: int) -> Iterator[bytes]:
    """Decompress the frame at the beginning of ``data``; a block has 4 MiB at most."""
    flags, max_block, position = _read_header(data, verify_checksum=magic != 0)
    produced = 0
    while True:
        word = _read_u32(data, position)
        position += _U32.size
        size = word & ~_STORED
        if size == 0:
            if flags & _CONTENT_CHECKSUM:
                _read_u32(data, position)
            break
        if size > max_block:
            raise corrupt("lz4", f"a block of {size} bytes exceeds the frame's {max_block}")
        block = data[position : position + size]
        if len(block) < size:
            raise corrupt("lz4", "the data ends inside a block")
        piece = bytes(block) if word & _STORED else _decompress_block(block, max_block)
        position += size
        if flags & _BLOCK_CHECKSUM:
            if _read_u32(data, position) != xxh32_intdigest(block):
                raise corrupt("lz4", "the checksum of a block does not match")
            position += _U32.size
        if not piece:
            break
        produced += len(piece)
        if produced > max_output:
            raise too_large("lz4", max_output)
        yield piece


def decompress_into(data: memoryview, target: memoryview) -> int:
    """See ``kafkaspec.compression.into``: the header that Kafka writes, and any blocks."""
    size = len(data)
    if size < _BEGINNING.size + _U32.size:
        return -1
    header, word = _BEGINNING.unpack_from(data)
    if header != _HEADER:
        return -1
    position = _BEGINNING.size
    produced = 0
    while word:
        end = position + (word & ~_STORED)
        if end - position > _MAX_BLOCK or end + _U32.size > size:
            return -1
        room = target[produced : produced + _MAX_BLOCK]
        if word & _STORED:
            written = end - position
            if not 0 < written <= len(room):
                return -1
            room[:written] = data[position:end]
        else:
            try:
                written = cramjam.lz4.decompress_block_into(data[position:end], room)
            except cramjam.DecompressionError:
                return -1
            if not written:
                return -1
        produced += written
        (word,) = _U32.unpack_from(data, end)
        position = end + _U32.size
    return produced


def compress(data: memoryview, *, magic: int, level: int | None) -> bytes:
    """Compress ``data`` to one frame of independent 64 KiB blocks, without size and checksums."""
    form, level = written(magic=magic, level=level)
    output = [form.start]
    for start in range(0, len(data), form.block):
        block = data[start : start + form.block]
        packed = _compress_block(block, level)
        if len(packed) >= len(block):
            output += (_U32.pack(len(block) | _STORED), bytes(block))
        else:
            output += (_U32.pack(len(packed)), packed)
    output.append(_END_MARK)
    return b"".join(output)


def written(*, magic: int, level: int | None) -> tuple[PayloadForm, int]:
    """Return the form of what is written, and the level of high compression; 0 is the fast one."""
    level = _DEFAULT_LEVEL if level is None else level
    if level not in _LEVELS:
        raise bad_level("lz4", level, "1 to 17")
    header = _BROKEN_HEADER if magic == 0 else _HEADER
    return PayloadForm(header, len(header), _MAX_BLOCK), 0 if level == _DEFAULT_LEVEL else level


def _read_header(data: memoryview, *, verify_checksum: bool) -> tuple[int, int, int]:
    """Return FLG, the largest size of a block, and where the first block begins."""
    if bytes(data[: len(_HEADER)]) == _HEADER:  # nearly always, and worth a microsecond
        return _DESCRIPTOR[0], _block_size(_BLOCK_64K), len(_HEADER)
    start = len(_MAGIC)
    end = start + 2
    if len(data) < end:
        raise corrupt("lz4", "the data ends inside the frame header")
    if bytes(data[:start]) != _MAGIC:
        raise corrupt("lz4", "the data does not begin with the magic of a frame")
    flags, block_descriptor = data[start], data[start + 1]
    if flags & _VERSION_MASK != _VERSION_1:
        raise corrupt("lz4", f"frame version {flags >> 6} is not supported")
    if not flags & _INDEPENDENT_BLOCKS:
        raise corrupt("lz4", "linked blocks are not supported")
    if flags & _FLG_RESERVED or block_descriptor & _BD_RESERVED:
        raise corrupt("lz4", "a reserved bit of the frame header is set")
    size_id = block_descriptor >> 4
    if size_id < _BLOCK_64K:
        raise corrupt("lz4", f"there is no block size {size_id}")
    if flags & _CONTENT_SIZE:
        end += _CONTENT_SIZE_BYTES
    if len(data) <= end:
        raise corrupt("lz4", "the data ends inside the frame header")
    if verify_checksum and data[end] != _header_checksum(data[start:end]):
        raise corrupt("lz4", "the checksum of the frame header does not match")
    return flags, _block_size(size_id), end + 1


def _block_size(size_id: int) -> int:
    return 1 << (2 * size_id + 8)


def _read_u32(data: memoryview, position: int) -> int:
    if position + _U32.size > len(data):
        raise corrupt("lz4", "the data ends before the end mark")
    (value,) = _U32.unpack_from(data, position)
    return int(value)


def _decompress_block(block: memoryview, max_block: int) -> bytes:
    # The capacity must not depend on the caller's limit: the library does not distinguish a broken
    # block from a buffer that is too small.
    capacity = min(max_block, _MAX_RATIO * len(block))
    try:
        return bytes(lz4.block.decompress(block, uncompressed_size=capacity))
    except lz4.block.LZ4BlockError as error:
        raise corrupt("lz4", f"a block is broken: {error}") from None


def _compress_block(block: memoryview, level: int) -> bytes:
    if not level:
        return bytes(lz4.block.compress(block, store_size=False))
    return bytes(
        lz4.block.compress(block, store_size=False, mode="high_compression", compression=level)
    )
