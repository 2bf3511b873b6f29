"""A library for a codec of a draft: the bytes are those of bzip2."""

from __future__ import annotations

import bz2

from kafkaspec import compression


def compress(data: memoryview, level: int | None) -> bytes:
    return bz2.compress(data, 9 if level is None else level)


def decompress(data: memoryview, max_output: int) -> bytes:
    stream = bz2.BZ2Decompressor()
    found = stream.decompress(data, max_output + 1)
    if not stream.eof and len(found) <= max_output:
        raise ValueError("the data ends inside the stream")
    return found


def packed(data: bytes) -> bytes:
    """A payload of the codec of the draft, as kafkaspec makes it."""
    return compression.compress(5, data, magic=2)
