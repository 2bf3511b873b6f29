"""The LZ4 frames that Kafka's reader, ``Lz4BlockInputStream``, accepts: each quirk by name.

Every verdict here was seen with Kafka 4.3.1 (lz4-java 1.10.2).
"""

from __future__ import annotations

import struct

import lz4.block  # type: ignore[import-untyped]
import lz4.frame  # type: ignore[import-untyped]
import pytest
from xxhash import xxh32_intdigest

from kafkaspec.compression import CompressionType, compress
from kafkaspec.compression import decompress as decompress_any
from kafkaspec.errors import KafkaSpecError, Reason

TEXT = b"hello hello hello hello hello"
END = bytes(4)
INDEPENDENT, CONTENT_SIZE, CONTENT_CHECKSUM, BLOCK_CHECKSUM = 0x60, 0x68, 0x64, 0x70


def decompress(payload: bytes, magic: int = 2, max_output: int = 1 << 24) -> bytes:
    return decompress_any(CompressionType.LZ4, payload, magic=magic, max_output=max_output)


def refusal(payload: bytes, magic: int = 2, max_output: int = 1 << 24) -> Reason:
    with pytest.raises(KafkaSpecError) as caught:
        decompress(payload, magic, max_output)
    return caught.value.reason


def header(flags: int = INDEPENDENT, block: int = 0x40, size: bytes = b"") -> bytes:
    descriptor = bytes([flags, block]) + size
    return b"\x04\x22\x4d\x18" + descriptor + bytes([xxh32_intdigest(descriptor) >> 8 & 0xFF])


def packed(data: bytes, *, checksum: bool = False) -> bytes:
    return raw(lz4.block.compress(data, store_size=False), checksum=checksum)


def raw(block: bytes, *, stored: bool = False, checksum: bool = False) -> bytes:
    tail = struct.pack("<I", xxh32_intdigest(block)) if checksum else b""
    return struct.pack("<I", len(block) | stored << 31) + block + tail


def test_compressed_and_stored_blocks() -> None:
    assert decompress(header() + packed(TEXT) + raw(b"abc", stored=True) + END) == TEXT + b"abc"


@pytest.mark.parametrize("magic", [1, 2])
def test_the_header_checksum_is_verified_from_magic_1_on(magic: int) -> None:
    frame = bytearray(header() + packed(TEXT) + END)
    frame[6] ^= 1
    assert refusal(bytes(frame), magic) is Reason.DECOMPRESSION_FAILED
    frame[6] = 0x1A  # the broken one that magic 0 carries
    assert refusal(bytes(frame), magic) is Reason.DECOMPRESSION_FAILED


@pytest.mark.parametrize("checksum", [0x82, 0x1A, 0x00])
def test_magic_0_may_have_any_header_checksum(checksum: int) -> None:
    """KAFKA-3160."""
    frame = bytearray(header() + packed(TEXT) + END)
    frame[6] = checksum
    assert decompress(bytes(frame), magic=0) == TEXT


@pytest.mark.parametrize("size", [bytes(8), b"\xff" * 8, len(TEXT).to_bytes(8, "little")])
def test_a_content_size_is_skipped(size: bytes) -> None:
    assert decompress(header(CONTENT_SIZE, size=size) + packed(TEXT) + END) == TEXT


def test_a_block_checksum_is_verified() -> None:
    frame = header(BLOCK_CHECKSUM) + packed(TEXT, checksum=True) + END
    assert decompress(frame) == TEXT
    broken = bytearray(frame)
    broken[-5] ^= 1
    assert refusal(bytes(broken)) is Reason.DECOMPRESSION_FAILED
    stored = header(BLOCK_CHECKSUM) + raw(b"abc", stored=True, checksum=True) + END
    assert decompress(stored) == b"abc"
    assert refusal(stored[:-5] + b"\0" + END) is Reason.DECOMPRESSION_FAILED


def test_a_content_checksum_must_be_there_and_is_not_verified() -> None:
    frame = header(CONTENT_CHECKSUM) + packed(TEXT) + END
    assert decompress(frame + b"abcd") == TEXT
    assert refusal(frame + b"abc") is Reason.DECOMPRESSION_FAILED


@pytest.mark.parametrize(
    ("flags", "block"),
    [
        pytest.param(0x40, 0x40, id="linked blocks"),
        pytest.param(0x20, 0x40, id="version 0"),
        pytest.param(0xA0, 0x40, id="version 2"),
        pytest.param(0xE0, 0x40, id="version 3"),
        pytest.param(0x61, 0x40, id="dictionary"),
        pytest.param(0x62, 0x40, id="reserved bit of FLG"),
        pytest.param(0x60, 0x41, id="lowest reserved bit of BD"),
        pytest.param(0x60, 0x48, id="another reserved bit of BD"),
        pytest.param(0x60, 0xC0, id="highest bit of BD"),
        pytest.param(0x60, 0x30, id="block size 3"),
        pytest.param(0x60, 0x00, id="block size 0"),
    ],
)
@pytest.mark.parametrize("magic", [0, 2])
def test_other_headers_are_refused(flags: int, block: int, magic: int) -> None:
    frame = header(flags, block) + packed(TEXT) + END
    assert refusal(frame, magic) is Reason.DECOMPRESSION_FAILED


@pytest.mark.parametrize(
    ("block", "size"), [(4, 1 << 16), (5, 1 << 18), (6, 1 << 20), (7, 1 << 22)]
)
def test_a_block_has_the_size_of_the_header_at_most(block: int, size: int) -> None:
    for data in (bytes(size), bytes(size + 1)):
        frame = header(block=block << 4) + packed(data) + END
        stored = header(block=block << 4) + raw(data, stored=True) + END
        if len(data) == size:
            assert decompress(frame) == decompress(stored) == data
        else:
            assert refusal(frame) is refusal(stored) is Reason.DECOMPRESSION_FAILED


@pytest.mark.parametrize("tail", [b"x", b"abc" * 100, header() + packed(TEXT) + END])
def test_everything_after_the_end_mark_is_ignored(tail: bytes) -> None:
    assert decompress(header() + packed(TEXT) + END + tail) == TEXT


def test_a_stored_block_of_no_bytes_ends_the_data() -> None:
    empty = raw(b"", stored=True)
    assert decompress(header() + packed(TEXT) + empty + packed(TEXT) + END) == TEXT
    # As the end mark it is: the content checksum follows, and no checksum of the block.
    assert decompress(header(CONTENT_CHECKSUM) + packed(TEXT) + empty + b"abcd") == TEXT
    assert refusal(header(CONTENT_CHECKSUM) + empty + b"ab") is Reason.DECOMPRESSION_FAILED
    assert decompress(header(BLOCK_CHECKSUM) + empty) == b""


def test_a_compressed_block_without_output_ends_the_data() -> None:
    """The reader hands out 0 bytes for it, which its caller takes as the end."""
    assert decompress(header() + packed(TEXT) + raw(b"\0") + b"garbage") == TEXT
    frame = header(BLOCK_CHECKSUM) + packed(TEXT, checksum=True) + raw(b"\0")
    assert refusal(frame + b"oops") is Reason.DECOMPRESSION_FAILED


@pytest.mark.parametrize("tail", [b"", b"\0\0\0"])
def test_the_end_mark_must_be_there(tail: bytes) -> None:
    assert refusal(header() + packed(TEXT) + tail) is Reason.DECOMPRESSION_FAILED


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_a_header_that_is_cut_is_refused(magic: int) -> None:
    whole = header(CONTENT_SIZE, size=bytes(8))
    for end in range(len(whole) + 1):
        assert refusal(whole[:end], magic) is Reason.DECOMPRESSION_FAILED


def test_the_bound_is_exact_across_blocks() -> None:
    frame = header() + packed(TEXT) * 3 + END
    assert decompress(frame, max_output=3 * len(TEXT)) == TEXT * 3
    assert refusal(frame, max_output=3 * len(TEXT) - 1) is Reason.DECOMPRESSED_TOO_LARGE


@pytest.mark.parametrize("block_size", [4, 5, 6, 7])
@pytest.mark.parametrize("checksums", [False, True])
def test_frames_of_the_reference_library_are_read(block_size: int, checksums: bool) -> None:
    data = b"".join(b"record %d;" % (number * 7919) for number in range(100_000))
    frame = lz4.frame.compress(
        data,
        block_size=block_size,
        block_linked=False,
        block_checksum=checksums,
        content_checksum=checksums,
        store_size=checksums,
    )
    assert decompress(frame) == data


def test_the_reference_library_reads_our_output() -> None:
    data = b"".join(b"record %d;" % (number * 7919) for number in range(100_000))
    assert lz4.frame.decompress(compress(CompressionType.LZ4, data, magic=2)) == data
    with pytest.raises(RuntimeError):  # its header checksum is wrong on purpose
        lz4.frame.decompress(compress(CompressionType.LZ4, data, magic=0))
