"""Laws of every codec: round trips, bounds, errors, buffers, threads, cheap import."""

from __future__ import annotations

import mmap
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkaspec import compression
from kafkaspec.compression import CompressionType, compress, decompress
from kafkaspec.errors import CorruptError, KafkaSpecError, Reason, UnsupportedError
from tests.extent import examples

CODECS_AND_MAGICS = [
    (codec, magic)
    for codec in CompressionType
    for magic in (0, 1, 2)
    if codec is not CompressionType.ZSTD or magic == 2
]
every_codec = pytest.mark.parametrize(("codec", "magic"), CODECS_AND_MAGICS)

# Pieces repeated, so that there is something to compress and outputs pass the block sizes.
texts = st.builds(
    lambda piece, times, rest: piece * times + rest,
    st.binary(max_size=200),
    st.integers(0, 2000),
    st.binary(max_size=200),
)


@every_codec
@given(data=texts)
@settings(max_examples=examples(50), deadline=None)
def test_round_trip(codec: int, magic: int, data: bytes) -> None:
    payload = compress(codec, data, magic=magic)
    assert decompress(codec, payload, magic=magic, max_output=len(data)) == data


@pytest.mark.slow
@pytest.mark.parametrize(
    ("codec", "level"),
    [
        *((CompressionType.GZIP, level) for level in (-1, 1, 9)),
        *((CompressionType.LZ4, level) for level in (1, 9, 12, 17)),
        *((CompressionType.ZSTD, level) for level in (-131072, -1, 1, 3, 22)),
    ],
)
def test_levels_of_kip_390(codec: int, level: int) -> None:
    data = b"".join(b"record %d;" % (number * 7919) for number in range(6000))
    payload = compress(codec, data, magic=2, level=level)
    assert decompress(codec, payload, magic=2) == data


@pytest.mark.parametrize(
    ("codec", "level"),
    [
        (CompressionType.GZIP, 0),
        (CompressionType.GZIP, 10),
        (CompressionType.SNAPPY, 1),
        (CompressionType.LZ4, 0),
        (CompressionType.LZ4, 18),
        (CompressionType.ZSTD, 23),
        (CompressionType.ZSTD, -131073),
    ],
)
def test_other_levels_are_refused(codec: int, level: int) -> None:
    with pytest.raises(KafkaSpecError) as caught:
        compress(codec, b"data", magic=2, level=level)
    assert caught.value.reason is Reason.UNENCODABLE


@pytest.mark.parametrize(
    ("codec", "magic"), [(5, 2), (6, 2), (7, 2), (-1, 2), (8, 2), (4, 0), (4, 1)]
)
def test_unsupported_codecs(codec: int, magic: int) -> None:
    with pytest.raises(UnsupportedError) as caught:
        decompress(codec, b"", magic=magic)
    assert caught.value.reason is Reason.UNSUPPORTED_COMPRESSION
    with pytest.raises(UnsupportedError):
        compress(codec, b"", magic=magic)


def test_names_are_those_of_kafkas_configuration() -> None:
    names = [compression.name(codec) for codec in range(5)]
    assert names == ["none", "gzip", "snappy", "lz4", "zstd"]
    with pytest.raises(UnsupportedError):
        compression.name(5)


def test_the_bound_holds_without_compression_too() -> None:
    assert decompress(0, b"abc", magic=2, max_output=3) == b"abc"
    with pytest.raises(CorruptError) as caught:
        decompress(0, b"abcd", magic=2, max_output=3)
    assert caught.value.reason is Reason.DECOMPRESSED_TOO_LARGE


@every_codec
def test_every_contiguous_buffer_is_taken(codec: int, magic: int) -> None:
    data = b"some data, some data" * 10
    payload = compress(codec, memoryview(b"x" + data)[1:], magic=magic)
    for buffer in (payload, bytearray(payload), memoryview(b"x" + payload)[1:]):
        assert decompress(codec, buffer, magic=magic) == data


def test_items_of_two_bytes_are_a_buffer_of_bytes_all_the_same() -> None:
    data = b"some data, some data" * 10
    assert decompress(0, memoryview(data).cast("H"), magic=2) == data
    payload = compress(CompressionType.SNAPPY, memoryview(data).cast("H"), magic=2)
    assert decompress(CompressionType.SNAPPY, payload, magic=2) == data


@every_codec
def test_an_error_does_not_keep_the_input(codec: int, magic: int) -> None:
    """A mapped file must be closable while its findings are still reported."""
    payload = compress(codec, b"some data" * 20, magic=magic)
    with mmap.mmap(-1, len(payload)) as mapped:
        mapped[:] = payload
        with memoryview(mapped) as view, pytest.raises(KafkaSpecError) as caught:
            decompress(codec, view[:-9], magic=magic, max_output=10)
        mapped.close()
    assert caught.value.__context__ is None


def test_threads_do_not_share_contexts() -> None:
    texts = [bytes([65 + index]) * 300_000 for index in range(8)]

    def back_and_forth(text: bytes) -> bool:
        codecs = list(CompressionType) * 3
        return all(decompress(c, compress(c, text, magic=2), magic=2) == text for c in codecs)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(back_and_forth, texts))


@pytest.mark.slow
def test_importing_the_package_loads_no_library() -> None:
    """They cost 12 ms, most of it zstandard; a command that needs none must not wait for them."""
    libraries = {"cramjam", "isal", "lz4", "xxhash", "zstandard"}
    code = f"import kafkaspec.compression, sys; print(*({libraries} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not run.stdout.split()
