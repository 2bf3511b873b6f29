"""Gzip, RFC 1952, as Java's ``GZIPInputStream`` reads and ``GZIPOutputStream`` writes it.

The reader accepts more than one clean member:

- Further members are decompressed and joined.
- Bytes after a member that do not begin with a valid member header are ignored, and so are 18
  bytes or fewer of any content. A valid header of a broken member is an error.
- Reserved header flags are ignored; a header checksum is verified.

Java reads its input in pieces of 8 KiB and applies the rule of the 18 bytes to the last piece
only; a short tail that lies across two pieces makes no difference here.

``isal`` decompresses up to three times as fast as ``zlib``, which replaces it on platforms without
a wheel of ``isal``. There is one known difference: ``isal`` accepts incomplete Huffman codes, which
zlib and so Kafka refuse. No known compressor writes them, but one flipped bit in the length of an
unused code makes one without changing the output; the CRC of the batch or message detects it.
"""

from __future__ import annotations

import zlib
from collections.abc import Generator, Iterator
from functools import partial
from struct import Struct
from typing import TYPE_CHECKING, Final

from kafkaspec.compression.form import PayloadForm
from kafkaspec.compression.refusal import bad_level, corrupt, too_large

if TYPE_CHECKING:
    inflate = zlib

    def _member() -> zlib._Decompress: ...

    MemberError = zlib.error
else:
    try:
        from isal import igzip_lib
        from isal import isal_zlib as inflate

        _member = partial(igzip_lib.IgzipDecompressor, igzip_lib.DECOMP_GZIP)
        MemberError = igzip_lib.IsalError
    except ImportError:
        inflate = zlib
        _member = partial(zlib.decompressobj, zlib.MAX_WBITS | 16)
        MemberError = zlib.error

_HEADER: Final = Struct("<2sBB6x")  # id, method, flags; mtime, extra flags, system are ignored
_TRAILER: Final = Struct("<II")  # CRC-32 and length modulo 2**32 of the output
_ID: Final = b"\x1f\x8b"
_DEFLATE: Final = 8
_FHCRC, _FEXTRA, _FNAME, _FCOMMENT = 0x02, 0x04, 0x08, 0x10
_RAW: Final = -zlib.MAX_WBITS  # this module reads header and trailer

# As Java 16 and later write it: flags 0, time 0, extra flags 0, system "unknown".
_WRITTEN_HEADER: Final = _ID + bytes([_DEFLATE, 0, 0, 0, 0, 0, 0, 0xFF])
_PLAIN: Final = _ID + bytes([_DEFLATE, 0])
READ: Final = PayloadForm(_PLAIN, _HEADER.size, 1)
"""The form that is read fast; there are no blocks."""
_DEFAULT_LEVEL: Final = -1
_LEVELS: Final = (_DEFAULT_LEVEL, *range(1, 10))
_ZLIB_LEVEL: Final = 6
"""What zlib, and so Kafka, takes for the default."""

_IGNORED_TAIL: Final = 18
# The library copies the unconsumed rest of each piece of input. Small pieces keep the copies
# small; growing ones keep the calls few; a first guess of 1 KiB for later members keeps an input
# of a million tiny members linear.
_FIRST_INPUT: Final = 64 * 1024
_NEXT_INPUT: Final = 1024
_MAX_OUTPUT_PIECE: Final = 4 * 1024 * 1024


def pieces(data: memoryview, *, magic: int, max_output: int, most: int) -> Iterator[bytes]:
    """Decompress the members of ``data``; ``magic`` makes no difference."""
    start = _member_start(data, 0)
    if start is None:
        raise corrupt("gzip", "the data does not begin with a valid member header")
    produced = 0
    step = _FIRST_INPUT
    while start is not None:
        position, length, crc = yield from _inflate(data, start, step, max_output, produced)
        _check_trailer(data, position, length, crc)
        produced += length
        position += _TRAILER.size
        tail = len(data) - position
        start = _member_start(data, position) if tail > _IGNORED_TAIL else None
        step = _NEXT_INPUT


def decompress_into(data: memoryview, target: memoryview) -> int:
    """See ``kafkaspec.compression.into``: one member and nothing after it."""
    end = len(data) - _TRAILER.size
    if not _HEADER.size <= end <= _FIRST_INPUT or bytes(data[: len(_PLAIN)]) != _PLAIN:
        return -1
    # The length in the trailer is a good guess, and no more than that.
    size: int = _TRAILER.unpack_from(data, end)[1]
    if size > len(target):
        return -1
    stream = _member()
    try:
        output = stream.decompress(data, size + 1)
    except MemberError:
        return -1
    if len(output) != size or not stream.eof or stream.unused_data:
        return -1
    target[:size] = output
    return size


def compress(data: memoryview, *, magic: int, level: int | None) -> bytes:
    """Compress ``data`` to one member, at level 1 to 9 or -1, zlib's default."""
    _, level = written(magic=magic, level=level)
    deflate = zlib.compressobj(level, zlib.DEFLATED, _RAW)
    body = deflate.compress(data) + deflate.flush()
    return _WRITTEN_HEADER + body + _TRAILER.pack(zlib.crc32(data), len(data) & 0xFFFFFFFF)


def written(*, magic: int, level: int | None) -> tuple[PayloadForm, int]:
    """Return the form of what is written, and the level for the library; ``magic`` changes none."""
    level = _DEFAULT_LEVEL if level is None else level
    if level not in _LEVELS:
        raise bad_level("gzip", level, "-1 and 1 to 9")
    form = PayloadForm(_WRITTEN_HEADER, len(_WRITTEN_HEADER), 1)
    return form, _ZLIB_LEVEL if level == _DEFAULT_LEVEL else level


def _member_start(data: memoryview, position: int) -> int | None:
    """Return the start of the deflate stream of the member at ``position``, None for no header."""
    body = position + _HEADER.size
    if body > len(data):
        return None
    identification, method, flags = _HEADER.unpack_from(data, position)
    if identification != _ID or method != _DEFLATE:
        return None
    if flags & _FEXTRA:
        if body + 2 > len(data):
            return None
        body += 2 + int.from_bytes(data[body : body + 2], "little")
    for flag in (_FNAME, _FCOMMENT):
        if flags & flag:
            body = _after_zero(data, body)
    if body > len(data):
        return None
    if flags & _FHCRC:
        stored = data[body : body + 2]
        if len(stored) < 2:
            return None
        if int.from_bytes(stored, "little") != zlib.crc32(data[position:body]) & 0xFFFF:
            return None
        body += 2
    return body


def _after_zero(data: memoryview, position: int) -> int:
    """Return the position after the next zero byte, one after the end of ``data`` without any."""
    while position < len(data):
        piece = bytes(data[position : position + _NEXT_INPUT])
        found = piece.find(0)
        if found >= 0:
            return position + found + 1
        position += len(piece)
    return len(data) + 1


def _inflate(
    data: memoryview, position: int, step: int, max_output: int, produced: int
) -> Generator[bytes, None, tuple[int, int, int]]:
    """Yield the output of the deflate stream at ``position`` in pieces.

    Return where the stream ends, and length and CRC of its output.
    """
    stream = inflate.decompressobj(_RAW)
    length = crc = 0
    pending = b""
    while not stream.eof:
        source: memoryview | bytes = pending
        if not pending:
            source = data[position : position + step]
            position += len(source)
            step = min(step * 2, _FIRST_INPUT)
        room = max_output - produced - length + 1
        try:
            piece = stream.decompress(source, min(room, _MAX_OUTPUT_PIECE))
        except (zlib.error, inflate.error) as error:
            raise corrupt("gzip", f"the deflate stream is broken: {error}") from None
        if not piece and not source and not stream.eof:
            raise corrupt("gzip", "the data ends inside a member")
        length += len(piece)
        if produced + length > max_output:
            raise too_large("gzip", max_output)
        crc = inflate.crc32(piece, crc)
        pending = stream.unconsumed_tail
        if piece:
            yield piece
    return position - len(stream.unused_data), length, crc


def _check_trailer(data: memoryview, position: int, length: int, crc: int) -> None:
    """Check length and CRC of a member against the trailer at ``position``."""
    if position + _TRAILER.size > len(data):
        raise corrupt("gzip", "the data ends inside a trailer")
    if _TRAILER.unpack_from(data, position) != (crc, length & 0xFFFFFFFF):
        raise corrupt("gzip", "CRC or length in the trailer do not match the output")
