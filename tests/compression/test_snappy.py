"""The snappy data that Kafka's reader, xerial's ``SnappyInputStream``, accepts: each quirk by name.

Every verdict here was seen with Kafka 4.3.1 (snappy-java 1.1.10.7).
"""

from __future__ import annotations

import cramjam
import pytest

from kafkaspec.compression import CompressionType
from kafkaspec.compression import decompress as decompress_any
from kafkaspec.errors import KafkaSpecError, Reason

MAGIC = b"\x82SNAPPY\0"
HEADER = MAGIC + b"\0\0\0\1" * 2
HELLO = b"\x05\x10hello"  # a raw block
NOTHING = b"\0"  # a raw block without output


def decompress(payload: bytes, max_output: int = 1 << 20) -> bytes:
    return decompress_any(CompressionType.SNAPPY, payload, magic=1, max_output=max_output)


def refusal(payload: bytes, max_output: int = 1 << 20) -> Reason:
    with pytest.raises(KafkaSpecError) as caught:
        decompress(payload, max_output)
    return caught.value.reason


def chunk(block: bytes) -> bytes:
    return len(block).to_bytes(4, "big") + block


@pytest.mark.parametrize("versions", [bytes(8), b"\1\0\0\0" * 2, b"\xff" * 8])
def test_the_versions_of_the_first_header_are_not_looked_at(versions: bytes) -> None:
    assert decompress(MAGIC + versions + chunk(HELLO)) == b"hello"


def test_data_without_a_header_is_one_raw_block() -> None:
    assert decompress(HELLO) == b"hello"
    long = bytes(cramjam.snappy.compress_raw(b"abcd" * 50000))
    assert decompress(long) == b"abcd" * 50000
    assert decompress(NOTHING) == b""


def test_less_than_a_header_is_a_raw_block() -> None:
    assert refusal(HEADER[:15]) is Reason.DECOMPRESSION_FAILED


def test_nothing_at_all_is_refused() -> None:
    assert refusal(b"") is Reason.DECOMPRESSION_FAILED


def test_a_raw_block_with_bytes_behind_it_is_refused() -> None:
    assert refusal(HELLO + b"\0") is Reason.DECOMPRESSION_FAILED


def test_a_header_alone_is_empty_output() -> None:
    assert decompress(HEADER) == b""


@pytest.mark.parametrize("tail", [b"\0", b"\0\0", b"\0\0\1", b"\xff\xff\xff"])
def test_one_to_three_bytes_at_the_end_are_ignored(tail: bytes) -> None:
    assert decompress(HEADER + tail) == b""
    assert decompress(HEADER + chunk(HELLO) + tail) == b"hello"


def test_a_chunk_of_no_bytes_is_refused_and_one_without_output_is_not() -> None:
    assert refusal(HEADER + chunk(HELLO) + chunk(b"")) is Reason.DECOMPRESSION_FAILED
    assert decompress(HEADER + chunk(NOTHING) + chunk(HELLO)) == b"hello"


def test_streams_are_joined() -> None:
    stream = HEADER + chunk(HELLO)
    assert decompress(stream * 3) == b"hello" * 3


@pytest.mark.parametrize("version", [b"\0\0\0\0", b"\xff\0\0\0"])
def test_a_further_stream_must_have_version_1_or_more(version: bytes) -> None:
    further = MAGIC + version + b"\0\0\0\1" + chunk(HELLO)
    assert refusal(HEADER + chunk(HELLO) + further) is Reason.DECOMPRESSION_FAILED


def test_a_further_stream_may_have_its_version_in_the_wrong_byte_order() -> None:
    further = MAGIC + b"\1\0\0\0" * 2 + chunk(HELLO)
    assert decompress(HEADER + chunk(HELLO) + further) == b"hellohello"


def test_a_further_header_that_is_cut_is_refused() -> None:
    assert refusal(HEADER + chunk(HELLO) + HEADER[:10]) is Reason.DECOMPRESSION_FAILED


def test_a_further_header_with_half_a_magic_is_skipped_or_ends_the_data() -> None:
    half = MAGIC[:4] + bytes(12)
    assert decompress(HEADER + chunk(HELLO) + half + chunk(HELLO)) == b"hellohello"
    assert decompress(HEADER + half + chunk(HELLO)) == b""


@pytest.mark.parametrize(
    "length", [b"\xff\xff\xff\xff", b"\x80\0\0\0", b"\0\0\0\x08", b"\x7f\xff\xff\xff"]
)
def test_a_chunk_length_that_is_negative_or_too_long_is_refused(length: bytes) -> None:
    assert refusal(HEADER + length + HELLO) is Reason.DECOMPRESSION_FAILED


@pytest.mark.parametrize("varint", ["8500", "8580808000"])
def test_the_length_of_a_block_may_be_a_long_varint(varint: str) -> None:
    block = bytes.fromhex(varint) + HELLO[1:]
    assert decompress(block) == decompress(HEADER + chunk(block)) == b"hello"


@pytest.mark.parametrize(
    "varint", ["", "85", "85808080", "858080808000", "8580808010", "85808080f0"]
)
def test_the_length_of_a_block_has_5_bytes_and_32_bits_at_most(varint: str) -> None:
    block = bytes.fromhex(varint) + (HELLO[1:] if len(varint) > 8 else b"")
    assert refusal(block) is Reason.DECOMPRESSION_FAILED
    assert refusal(HEADER + chunk(block)) is Reason.DECOMPRESSION_FAILED


@pytest.mark.parametrize("varint", ["ffffffff0f", "ffffffff07", "8080808001"])
def test_a_length_that_the_block_cannot_hold_is_refused_whatever_the_bound(varint: str) -> None:
    block = bytes.fromhex(varint) + HELLO[1:]
    assert refusal(block, max_output=1 << 40) is Reason.DECOMPRESSION_FAILED


def test_the_densest_block_is_within_the_ratio_that_is_assumed() -> None:
    dense = bytes(cramjam.snappy.compress_raw(bytes(1 << 20)))
    assert decompress(dense) == bytes(1 << 20)
    assert refusal(dense, (1 << 20) - 1) is Reason.DECOMPRESSED_TOO_LARGE


def test_the_bound_is_on_the_sum_of_the_chunks() -> None:
    payload = HEADER + chunk(HELLO) * 3
    assert decompress(payload, 15) == b"hello" * 3
    assert refusal(payload, 14) is Reason.DECOMPRESSED_TOO_LARGE
