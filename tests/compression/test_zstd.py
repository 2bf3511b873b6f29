"""The Zstandard data that Kafka's ``ZstdInputStreamNoFinalizer`` accepts: each quirk by name.

Every verdict here was seen with Kafka 4.3.1 (zstd-jni 1.5.6-10).
"""

from __future__ import annotations

import random
import struct

import pytest
import zstandard

from kafkaspec.compression import CompressionType, compress, zstd
from kafkaspec.compression import decompress as decompress_any
from kafkaspec.errors import KafkaSpecError, Reason

TEXT = b"hello hello hello hello"
JNI_BUFFER = 131_075  # bytes that Kafka's reader takes at once


def decompress(payload: bytes, max_output: int = 1 << 24) -> bytes:
    return decompress_any(CompressionType.ZSTD, payload, magic=2, max_output=max_output)


def refusal(payload: bytes, max_output: int = 1 << 24) -> Reason:
    with pytest.raises(KafkaSpecError) as caught:
        decompress(payload, max_output)
    return caught.value.reason


def frame(data: bytes = TEXT, *, checksum: bool = False, size: bool = False) -> bytes:
    compressor = zstandard.ZstdCompressor(write_checksum=checksum, write_content_size=size)
    return compressor.compress(data)


def skippable(content: bytes, kind: int = 0) -> bytes:
    return struct.pack("<II", 0x184D2A50 + kind, len(content)) + content


def stored(data: bytes, *, window: int) -> bytes:
    """A frame of one stored block, with the window descriptor that is asked for."""
    block = struct.pack("<I", len(data) << 3 | 1)[:3] + data
    return b"\x28\xb5\x2f\xfd\x00" + bytes([window]) + block


def test_frames_are_joined() -> None:
    assert decompress(frame() + frame(b"") + frame(checksum=True) + frame(size=True)) == TEXT * 3


@pytest.mark.parametrize("kind", [0, 7, 15])
def test_skippable_frames_are_skipped(kind: int) -> None:
    skipped = skippable(b"anything", kind)
    assert decompress(skipped + frame() + skipped + skippable(b"") + frame()) == TEXT * 2
    assert decompress(skipped) == b""


def test_nothing_at_all_is_empty_output() -> None:
    assert decompress(b"") == b""


@pytest.mark.parametrize("garbage", [b"a", b"\0\0\0", b"garbage", bytes(20), b"\x28\xb5\x2f\xfe"])
def test_garbage_is_refused_alone_and_after_a_frame(garbage: bytes) -> None:
    assert refusal(garbage) is Reason.DECOMPRESSION_FAILED
    assert refusal(frame() + garbage) is Reason.DECOMPRESSION_FAILED


def test_the_checksum_is_verified() -> None:
    broken = bytearray(frame(checksum=True))
    broken[-1] ^= 1
    assert refusal(bytes(broken)) is Reason.DECOMPRESSION_FAILED


def test_the_content_size_is_verified() -> None:
    whole = frame(TEXT, size=True)
    assert whole[5] == len(TEXT)
    for wrong in (len(TEXT) - 1, len(TEXT) + 1, 0, 255):
        broken = whole[:5] + bytes([wrong]) + whole[6:]
        assert refusal(broken) is Reason.DECOMPRESSION_FAILED


def test_a_huge_content_size_is_not_trusted() -> None:
    """FLG with a content size of 8 bytes: nothing is allocated for it."""
    claim = b"\x28\xb5\x2f\xfd\xc0\x58" + b"\xff" * 7 + b"\x0f"
    assert refusal(claim + b"\x29\0\0hello") is Reason.DECOMPRESSION_FAILED


def test_the_window_may_have_27_bits() -> None:
    assert decompress(stored(TEXT, window=(27 - 10) << 3)) == TEXT
    assert refusal(stored(TEXT, window=(27 - 10) << 3 | 1)) is Reason.DECOMPRESSION_FAILED
    assert refusal(stored(TEXT, window=(28 - 10) << 3)) is Reason.DECOMPRESSION_FAILED


def test_a_dictionary_is_refused() -> None:
    samples: list[bytes | bytearray | memoryview] = [
        b"sample %d of the text %d" % (i, i * i) for i in range(200)
    ]
    dictionary = zstandard.train_dictionary(1024, samples)
    payload = zstandard.ZstdCompressor(dict_data=dictionary).compress(samples[7])
    assert refusal(payload) is Reason.DECOMPRESSION_FAILED


def test_the_first_frame_must_be_whole() -> None:
    whole = frame(checksum=True)
    for end in range(1, len(whole)):
        assert refusal(whole[:end]) is Reason.DECOMPRESSION_FAILED


def test_a_further_frame_that_is_cut_is_overlooked() -> None:
    """Its output stays, without an error: here from a stored block that begins at byte 9."""
    further = frame(b"more", checksum=True)
    assert further[9:13] == b"more"
    for end in range(1, len(further)):
        assert decompress(frame() + further[:end]) == TEXT + further[9 : min(end, 13)]
    assert decompress(frame() + skippable(b"abcd")[:-1]) == TEXT


def test_a_further_frame_that_is_cut_is_refused_where_the_reader_had_to_refill() -> None:
    """Seen with Kafka: it depends on where the frame before ends among pieces of 131,075 bytes."""
    noise = random.Random(3).randbytes(300_000)
    for end in (JNI_BUFFER - 2, JNI_BUFFER, JNI_BUFFER + 1):
        filler = skippable(noise[: end - 8])
        cut = filler + frame()[:-3]
        assert len(filler) == end
        if end <= JNI_BUFFER < len(cut):
            assert refusal(cut) is Reason.DECOMPRESSION_FAILED, end
        else:
            assert decompress(cut) == b"", end


def test_the_bound_is_exact() -> None:
    payload = frame(bytes(300_000)) + frame(bytes(5))
    assert decompress(payload, 300_005) == bytes(300_005)
    for bound in (300_004, 299_999, 1, 0):
        assert refusal(payload, bound) is Reason.DECOMPRESSED_TOO_LARGE


def test_an_error_leaves_the_context_usable() -> None:
    for _ in range(3):
        assert refusal(frame(bytes(100_000))[:-1]) is Reason.DECOMPRESSION_FAILED
        assert decompress(frame()) == TEXT


@pytest.mark.slow
def test_the_partition_of_the_input_makes_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"".join(b"record %d;" % (number * 7919) for number in range(30_000))
    payload = frame(data, checksum=True) + skippable(b"xyz") + frame(data[:1000], size=True)
    for first, later in ((1, 1), (11, 3), (1000, 1 << 16)):
        monkeypatch.setattr(zstd, "_FIRST_INPUT", first)
        monkeypatch.setattr(zstd, "_NEXT_INPUT", later)
        assert decompress(payload) == data + data[:1000]


def test_the_reference_library_reads_our_output_which_has_no_size() -> None:
    payload = compress(CompressionType.ZSTD, TEXT * 1000, magic=2)
    parameters = zstandard.get_frame_parameters(payload)
    assert parameters.content_size == zstandard.CONTENTSIZE_UNKNOWN
    assert not parameters.has_checksum
    output = zstandard.ZstdDecompressor().decompress(payload, max_output_size=len(TEXT) * 1000)
    assert output == TEXT * 1000
