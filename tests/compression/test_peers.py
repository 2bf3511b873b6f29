"""A second opinion on the same bytes: other implementations of each format, in both directions."""

from __future__ import annotations

import gzip
from collections.abc import Callable

import cramjam
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kafkaspec.compression import CompressionType, compress, decompress
from tests.extent import examples

GZIP, SNAPPY, LZ4, ZSTD = list(CompressionType)[1:]

kafka_codec = pytest.importorskip("kafka.codec", reason="kafka-python is not installed")

texts = st.builds(
    lambda piece, times, rest: piece * times + rest,
    st.binary(max_size=200),
    st.integers(0, 2000),
    st.binary(max_size=200),
)


def available(codec: CompressionType) -> None:
    if not getattr(kafka_codec, f"has_{codec.name.lower()}")():
        pytest.skip(f"kafka-python finds no library for {codec.name.lower()}")


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
@given(data=texts)
@settings(max_examples=examples(30), deadline=None)
def test_kafka_python_reads_what_is_written(codec: CompressionType, data: bytes) -> None:
    available(codec)
    assume(
        data or codec is not SNAPPY
    )  # kafka-python cannot read the header alone; Kafka writes it
    decode = getattr(kafka_codec, f"{codec.name.lower()}_decode")
    assert decode(compress(codec, data, magic=2)) == data


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
@given(data=texts)
@settings(max_examples=examples(30), deadline=None)
def test_output_of_kafka_python_is_read(codec: CompressionType, data: bytes) -> None:
    available(codec)
    encode = getattr(kafka_codec, f"{codec.name.lower()}_encode")
    assert decompress(codec, encode(data), magic=2) == data


@given(data=texts)
@settings(max_examples=examples(20), deadline=None)
def test_kafka_python_agrees_on_the_broken_header_of_magic_0(data: bytes) -> None:
    available(LZ4)
    payload = compress(LZ4, data, magic=0)
    assert kafka_codec.lz4_decode_old_kafka(payload) == data
    assert decompress(LZ4, kafka_codec.lz4_encode_old_kafka(data), magic=0) == data


@pytest.mark.parametrize(
    ("codec", "decode"),
    [
        (GZIP, gzip.decompress),
        (GZIP, cramjam.gzip.decompress),
        (LZ4, cramjam.lz4.decompress),
        (ZSTD, cramjam.zstd.decompress),
    ],
)
@given(data=texts)
@settings(max_examples=examples(20), deadline=None)
def test_others_read_what_is_written(
    codec: CompressionType, decode: Callable[[bytes], bytes], data: bytes
) -> None:
    assert bytes(decode(compress(codec, data, magic=2))) == data


@pytest.mark.parametrize(
    ("codec", "encode"),
    [(GZIP, gzip.compress), (GZIP, cramjam.gzip.compress), (ZSTD, cramjam.zstd.compress)],
)
@given(data=texts)
@settings(max_examples=examples(20), deadline=None)
def test_output_of_others_is_read(
    codec: CompressionType, encode: Callable[[bytes], bytes], data: bytes
) -> None:
    assert decompress(codec, bytes(encode(data)), magic=2) == data
