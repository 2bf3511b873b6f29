"""Zstandard frames as ``ZstdInputStreamNoFinalizer`` of zstd-jni reads and Kafka writes them.

Any number of frames and skippable frames, none included, so that empty data is empty output.
Content size and checksum are verified, a window above 2**27 and a dictionary are errors, and so is
anything behind a frame that is no frame. One quirk comes from the way the reader fills its buffer:

- Where the data ends inside a frame that is not the first, what came out so far is the output, and
  no error, if the frame before it ended within the last piece of input that the reader took.
"""

from __future__ import annotations

import threading
from struct import Struct
from typing import Final

import zstandard

from kafkaspec.compression.refusal import bad_level, corrupt, too_large

_DEFAULT_LEVEL: Final = 3
_MIN_LEVEL, _MAX_LEVEL = -131072, 22

# The densest input is a block of 4 bytes that repeats one byte 128 KiB times. The library gives all
# output of the input it is given, so the room that is left decides how much that may be; the least
# step lets a bomb exceed its bound by 8 MiB before it is seen.
_MAX_BLOCK: Final = 128 * 1024
_MAX_RATIO: Final = _MAX_BLOCK // 4
_MIN_INPUT: Final = 256
# What lies behind a frame is copied by the library: see the same sizes in the gzip module.
_FIRST_INPUT: Final = 64 * 1024
_NEXT_INPUT: Final = 1024
# RFC 8878: magic, descriptor and window of a frame without content size and dictionary, and the
# header of a block: a bit for the last one, two for the type, 21 for the size.
_FRAME: Final = Struct("<IBxHB")
_FRAME_MAGIC: Final = 0xFD2FB528
_CHECKSUM, _CHECKSUM_SIZE = 0x04, 4
_BLOCK: Final = Struct("<HB")
_LAST, _TYPE, _REPEATED = 0x01, 0x06, 0x02  # a repeated block is one byte that stands for many
# The library makes room for all output first, which is quick for little memory only.
_MOST_AT_ONCE: Final = 120 * 1024
_USUAL_RATIO: Final = 4
_JNI_BUFFER: Final = (
    _MAX_BLOCK + 3
)  # ZSTD_DStreamInSize: pieces in which Kafka's reader takes input


class _Contexts(threading.local):
    """Contexts for reuse: a new one for each call would halve the speed of small payloads.

    They are not safe to share between threads.
    """

    def __init__(self) -> None:
        self.decompressor = zstandard.ZstdDecompressor()
        self.compressors: dict[int, zstandard.ZstdCompressor] = {}


_contexts = _Contexts()


def decompress(data: memoryview, *, magic: int, max_output: int) -> bytes:
    """The joined output of the frames of ``data``; ``magic`` is 2 or more."""
    output: list[bytes] = []
    produced = position = frame_start = 0
    step = _FIRST_INPUT
    while position < len(data):
        frame = _contexts.decompressor.decompressobj()
        while not frame.eof:
            if position == len(data):
                if _is_overlooked(frame_start, len(data)):
                    return b"".join(output)
                raise corrupt("zstd", "the data ends inside a frame")
            room = (max_output - produced) // _MAX_RATIO
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
                output.append(piece)
        position -= len(frame.unused_data)
        frame_start = position
        step = _NEXT_INPUT
    return output[0] if len(output) == 1 else b"".join(output)


def decompress_into(data: memoryview, target: memoryview) -> int:
    """See ``kafkaspec.compression.into``: one frame without content size, and nothing behind."""
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


def compress(data: memoryview, *, magic: int, level: int | None) -> bytes:
    """One frame without content size and checksum, at level -131072 to 22.

    Kafka's streams flush before they close: the data ends with a block of its own and an empty one
    follows. No data is a frame with content size 0.
    """
    level = _DEFAULT_LEVEL if level is None else level
    if not _MIN_LEVEL <= level <= _MAX_LEVEL:
        raise bad_level("zstd", level, f"{_MIN_LEVEL} to {_MAX_LEVEL}")
    compressor = _contexts.compressors.get(level)
    if compressor is None:
        compressor = zstandard.ZstdCompressor(level=level)
        _contexts.compressors[level] = compressor
    frame = compressor.compressobj()  # without a size: the frame header cannot have one
    if not data:
        return frame.flush()
    flushed = frame.compress(data) + frame.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    return flushed + frame.flush()


def _is_one_plain_frame(data: memoryview) -> bool:
    """Whether one frame without a content size, of a block or two, is all that there is.

    The library believes a content size before it has seen any content, and does not say where a
    frame ends when it is given all of it at once. A block has up to 128 KiB of output; a
    second one, of nothing, comes from a stream that is flushed before it is closed.
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
    """Bytes behind a header of 16 and 8 bits."""
    return 1 if low & _TYPE == _REPEATED else (high << 16 | low) >> 3


def _is_overlooked(frame_start: int, end: int) -> bool:
    """Whether Kafka's reader takes data that ends inside of the frame at ``frame_start``.

    It notes that it is inside a frame when it fills its buffer, not when a frame begins.
    """
    last_fill = (end - 1) // _JNI_BUFFER * _JNI_BUFFER
    return frame_start > last_fill
