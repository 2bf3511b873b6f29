"""Payloads that Kafka 4.3.1's own ``Compression`` classes wrote, read and written again here."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from kafkaspec.compression import CompressionType, compress, decompress
from kafkaspec.errors import CorruptError, Reason

TEXT = b"hello hello hello hello hello "


@dataclass(frozen=True)
class Written:
    """The bytes that Kafka wrote for ``data`` with its default level."""

    codec: CompressionType
    magic: int
    data: bytes
    payload: bytes

    def __str__(self) -> str:
        return f"{self.codec.name.lower()}-magic{self.magic}-{len(self.data)}B"


GZIP, SNAPPY, LZ4, ZSTD = list(CompressionType)[1:]
KAFKA_WROTE = [
    Written(codec, magic, data, bytes.fromhex(payload))
    for codec, magic, data, payload in [
        (GZIP, 2, TEXT, "1f8b08000000000000ff cb48cdc9c957c8c0410200 becb8abd 1e000000"),
        (GZIP, 2, b"", "1f8b08000000000000ff 0300 00000000 00000000"),
        (SNAPPY, 2, TEXT, "82534e4150505900 00000001 00000001 0000000b 1e1468656c6c6f205e0600"),
        (SNAPPY, 2, b"", "82534e4150505900 00000001 00000001"),
        (LZ4, 0, TEXT, "04224d18 60401a 10000000 6f68656c6c6f2006000050656c6c6f20 00000000"),
        (LZ4, 0, b"", "04224d18 60401a 00000000"),
        (LZ4, 1, TEXT, "04224d18 604082 10000000 6f68656c6c6f2006000050656c6c6f20 00000000"),
        (LZ4, 2, TEXT, "04224d18 604082 10000000 6f68656c6c6f2006000050656c6c6f20 00000000"),
        (LZ4, 2, b"", "04224d18 604082 00000000"),
        (ZSTD, 2, TEXT, "28b52ffd 0058 640000 3068656c6c6f200100014b11 010000"),
        (ZSTD, 2, b"", "28b52ffd 2000 010000"),
    ]
]
each_payload = pytest.mark.parametrize("written", KAFKA_WROTE, ids=str)


@each_payload
def test_it_is_read(written: Written) -> None:
    assert decompress(written.codec, written.payload, magic=written.magic) == written.data


@each_payload
def test_it_is_written_byte_for_byte(written: Written) -> None:
    """The framing must be the same; so small a text compresses the same in every library."""
    assert compress(written.codec, written.data, magic=written.magic) == written.payload


@each_payload
def test_the_bound_is_exact(written: Written) -> None:
    size = len(written.data)
    args = written.codec, written.payload
    assert decompress(*args, magic=written.magic, max_output=size) == written.data
    if size:
        with pytest.raises(CorruptError) as caught:
            decompress(*args, magic=written.magic, max_output=size - 1)
        assert caught.value.reason is Reason.DECOMPRESSED_TOO_LARGE


@each_payload
def test_each_truncation_is_refused(written: Written) -> None:
    """At every byte, but for the two prefixes that are whole payloads themselves."""
    for end in range(len(written.payload)):
        prefix = written.payload[:end]
        if (written.codec is ZSTD and end == 0) or (written.codec is SNAPPY and 16 <= end < 20):
            assert decompress(written.codec, prefix, magic=written.magic) == b""
            continue
        with pytest.raises(CorruptError) as caught:
            decompress(written.codec, prefix, magic=written.magic)
        assert caught.value.reason is Reason.DECOMPRESSION_FAILED
        assert caught.value.position is None


def test_blocks_of_64_kib_in_lz4_and_incompressible_ones_are_stored() -> None:
    """``Lz4BlockOutputStream.writeBlock``: stored when the compressed block is not smaller."""
    noise = bytes((i * i * 2654435761 >> 13) & 0xFF for i in range(1000))
    payload = compress(LZ4, bytes(65536) + noise, magic=2)
    first = int.from_bytes(payload[7:11], "little")
    assert first < 65536
    second = 11 + first
    assert int.from_bytes(payload[second : second + 4], "little") == 1000 | 1 << 31
    assert payload[second + 4 :] == noise + bytes(4)


def test_chunks_of_32_kib_in_snappy() -> None:
    payload = compress(SNAPPY, bytes(32768 + 5), magic=2)
    length = int.from_bytes(payload[16:20], "big")
    assert payload[20:23] == b"\x80\x80\x02"  # varint of 32768
    assert (
        payload[20 + length : 20 + length + 5] == (len(payload) - 24 - length).to_bytes(4) + b"\5"
    )
