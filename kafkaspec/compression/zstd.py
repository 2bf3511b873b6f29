"""Zstandard frames as ``ZstdInputStreamNoFinalizer`` of zstd-jni reads and Kafka writes them.

The data is any number of frames and skippable frames; empty data is empty output. Content size and
checksum are verified. A window above 2**27, a dictionary, and anything after a frame that is not a
frame are errors. One quirk comes from the way the reader fills its buffer:

- If the data ends inside a frame that is not the first, the output so far is the result, without
  an error, if the previous frame ended within the last piece of input that the reader took.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from struct import Struct
from typing import Final

import zstandard

from kafkaspec.compression.form import PayloadForm
from kafkaspec.compression.refusal import bad_level, corrupt, too_large

_DEFAULT_LEVEL: Final = 3
_MIN_LEVEL, _MAX_LEVEL = -131072, 22

# The densest input is a block of 4 bytes that repeats one byte 128 KiB times. The library returns
# the whole output of its input, so what may come at once decides the size of the next input. Small
# inputs take longer: a bomb may exceed its limit by 16 MiB before it is detected.
_MAX_BLOCK: Final = 128 * 1024
_MAX_RATIO: Final = _MAX_BLOCK // 4
_MIN_INPUT: Final = 256
_BEYOND: Final = 16 << 20
# The library copies the bytes after a frame: see the same sizes in the gzip module.
_FIRST_INPUT: Final = 64 * 1024
_NEXT_INPUT: Final = 1024
# RFC 8878: magic, descriptor and window of a frame without content size and dictionary, and the
# header of a block: a bit for the last one, two for the type, 21 for the size.
_FRAME: Final = Struct("<IBxHB")
_FRAME_MAGIC: Final = 0xFD2FB528
_CHECKSUM, _CHECKSUM_SIZE = 0x04, 4
_BLOCK: Final = Struct("<HB")
_MAX_WINDOW: Final = 1 << 27
READ: Final = PayloadForm(
    _FRAME_MAGIC.to_bytes(4, "little"), _FRAME.size - _BLOCK.size, _MAX_WINDOW
)
"""The form that is read fast: one frame without content size and dictionary."""
_LAST, _TYPE, _REPEATED = 0x01, 0x06, 0x02  # a repeated block is one byte that stands for many
# The library allocates room for all output first, which is fast only for small outputs.
_MOST_AT_ONCE: Final = 120 * 1024
_USUAL_RATIO: Final = 4
_MOST_SIZED: Final = 64 << 20
_JNI_BUFFER: Final = (
    _MAX_BLOCK + 3
)  # ZSTD_DStreamInSize: Kafka's reader reads its input in pieces of this size


class _Contexts(threading.local):
    """Reused contexts: a new one for each call would halve the speed for small payloads.

    Threads must not share them.
    """

    def __init__(self) -> None:
        self.decompressor = zstandard.ZstdDecompressor()
        self.compressors: dict[int, zstandard.ZstdCompressor] = {}


_contexts = _Contexts()


def pieces(data: memoryview, *, magic: int, max_output: int, most: int) -> Iterator[bytes]:
    """Decompress the frames of ``data``; ``magic`` is 2 or more."""
    produced = position = frame_start = 0
    step = _FIRST_INPUT
    while position < len(data):
        frame = _contexts.decompressor.decompressobj()
        while not frame.eof:
            if position == len(data):
                if _is_overlooked(frame_start, len(data)):
                    return
                raise corrupt("zstd", "the data ends inside a frame")
            room = min(max_output - produced + _BEYOND, most) // _MAX_RATIO
            source = data[position : position + min(step, max(room, _MIN_INPUT))]
            step = min(step * 2, _FIRST_INPUT)
            try:
                piece = frame.decompress(source)
            except zstandard.ZstdError as error:
                raise corrupt("zstd", str(error)) from None
            position += len(source)
            produced += len(piece)
            if produced > max_output:
                raise too_large("zstd", max_output)
            if piece:
                yield piece
        position -= len(frame.unused_data)
        frame_start = position
        step = _NEXT_INPUT


def decompress_into(data: memoryview, target: memoryview) -> int:
    """See ``kafkaspec.compression.into``: one frame without content size, nothing after it."""
    room = min(len(target), _MOST_AT_ONCE)
    if not room or not _is_one_plain_frame(data):
        return -1
    try:
        output = _contexts.decompressor.decompress(data, max_output_size=room)
    except zstandard.ZstdError:
        return -1
    size = len(output)
    target[:size] = output
    return size


def decompress_sized(data: bytes | memoryview, size: int) -> bytes | None:
    """Decompress one frame whose header has this content size; None for any other.

    The library allocates that size first, so that it must be small, or known to be right.
    """
    try:
        if size > _MOST_SIZED or zstandard.frame_content_size(data) != size:
            return None
        return _contexts.decompressor.decompress(data, max_output_size=size, allow_extra_data=False)
    except zstandard.ZstdError:
        return None


def compress(data: memoryview, *, magic: int, level: int | None) -> bytes:
    """Compress ``data`` to one frame without content size and checksum, at level -131072 to 22.

    Kafka flushes its streams before it closes them: the data ends with its block, and an empty
    block follows. Empty data becomes a frame with content size 0.
    """
    _, level = written(magic=magic, level=level)
    compressor = _contexts.compressors.get(level)
    if compressor is None:
        compressor = zstandard.ZstdCompressor(level=level)
        _contexts.compressors[level] = compressor
    frame = compressor.compressobj()  # without a size: the frame header cannot have one
    if not data:
        return frame.flush()
    flushed = frame.compress(data) + frame.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    return flushed + frame.flush()


def written(*, magic: int, level: int | None) -> tuple[PayloadForm, int]:
    """Return the form of what is written, where the library writes all, and the level."""
    level = _DEFAULT_LEVEL if level is None else level
    if not _MIN_LEVEL <= level <= _MAX_LEVEL:
        raise bad_level("zstd", level, f"{_MIN_LEVEL} to {_MAX_LEVEL}")
    return PayloadForm(b"", 0, _MAX_WINDOW), level


def _is_one_plain_frame(data: memoryview) -> bool:
    """Return whether ``data`` is one frame of one or two blocks, without a content size.

    The library trusts a content size before it reads any content, and does not return where a
    frame ends if it gets all of it at once. A block has up to 128 KiB of output; a second, empty
    one comes from a stream that is flushed before it is closed.
    """
    end = len(data)
    if not _FRAME.size <= end <= _MOST_AT_ONCE // _USUAL_RATIO:
        return False
    magic, flags, low, high = _FRAME.unpack_from(data)
    if magic != _FRAME_MAGIC or flags & ~_CHECKSUM:
        return False
    position = _FRAME.size + _block_size(low, high)
    if not low & _LAST:
        if position + _BLOCK.size > end:
            return False
        low, high = _BLOCK.unpack_from(data, position)
        if not low & _LAST:
            return False
        position += _BLOCK.size + _block_size(low, high)
    return position + (_CHECKSUM_SIZE if flags else 0) == end


def _block_size(low: int, high: int) -> int:
    """Return the number of bytes after a block header, given as its lower 16 and upper 8 bits."""
    return 1 if low & _TYPE == _REPEATED else (high << 16 | low) >> 3


def _is_overlooked(frame_start: int, end: int) -> bool:
    """Return whether Kafka's reader accepts data that ends inside the frame at ``frame_start``.

    The reader notes that it is inside a frame when it fills its buffer, not when a frame begins.
    """
    last_fill = (end - 1) // _JNI_BUFFER * _JNI_BUFFER
    return frame_start > last_fill
