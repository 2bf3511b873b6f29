"""Input made to hurt: bombs stay within their bound, and nothing but our errors comes out."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kafkaspec.compression import CompressionType, compress, decompress
from kafkaspec.errors import CorruptError, Reason
from tests.extent import examples

pytestmark = pytest.mark.slow

GZIP, SNAPPY, LZ4, ZSTD = list(CompressionType)[1:]
BOUND = 16 << 20
every_codec = pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])

BEGINNINGS = [
    b"",
    bytes.fromhex("1f8b0800000000000000"),
    bytes.fromhex("82534e4150505900 00000001 00000001"),
    bytes.fromhex("04224d18604082"),
    bytes.fromhex("04224d18704072"),
    bytes.fromhex("28b52ffd0058"),
    bytes.fromhex("28b52ffdc058"),
]


def accepts_or_refuses(codec: int, payload: bytes, magic: int = 2) -> None:
    reason = None
    output = b""
    try:
        output = decompress(codec, payload, magic=magic, max_output=1 << 20)
    except CorruptError as error:
        reason = error.reason
    assert reason in (None, Reason.DECOMPRESSION_FAILED, Reason.DECOMPRESSED_TOO_LARGE)
    assert isinstance(output, bytes)
    assert len(output) <= 1 << 20


@every_codec
@given(beginning=st.sampled_from(BEGINNINGS), rest=st.binary(max_size=100))
@settings(max_examples=examples(500), deadline=None)
def test_random_bytes(codec: int, beginning: bytes, rest: bytes) -> None:
    accepts_or_refuses(codec, beginning + rest)


@pytest.mark.slow
@every_codec
@given(
    data=st.binary(max_size=300),
    edits=st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 255)), min_size=1, max_size=5),
    cut=st.integers(0, 1000),
)
@example(data=b"", edits=[(0, 0)], cut=0)
@settings(max_examples=examples(500), deadline=None)
def test_mutated_payloads(codec: int, data: bytes, edits: list[tuple[int, int]], cut: int) -> None:
    payload = bytearray(compress(codec, data * 3, magic=2))
    for position, value in edits:
        payload[position % len(payload)] ^= value
    accepts_or_refuses(codec, bytes(payload[: cut or None]))


MAKE_BOMB = {
    # One deflate stream of 2 GiB: the same fully flushed 1 MiB over and over.
    "gzip, one member": """
        import zlib
        deflate = zlib.compressobj(9, 8, -15)
        mebibyte = deflate.compress(bytes(1 << 20)) + deflate.flush(zlib.Z_FULL_FLUSH)
        codec, payload = 1, bytes([31, 139, 8]) + bytes(7) + mebibyte * 2048
    """,
    "gzip, many members": """
        import gzip
        codec, payload = 1, gzip.compress(bytes(1 << 20)) * 2048
    """,
    "snappy, many chunks": """
        import cramjam
        block = bytes(cramjam.snappy.compress_raw(bytes(1 << 20)))
        chunk = len(block).to_bytes(4, "big") + block
        codec, payload = 2, b"\\x82SNAPPY\\0" + bytes(8) + chunk * 64
    """,
    "snappy, one raw block": """
        element = b"\\xfe\\1\\0"  # 64 bytes from one byte back
        length = 64 * 4_000_000 + 1
        varint = bytes(length >> 7 * i & 127 | 128 for i in range(4)) + bytes([length >> 28])
        codec, payload = 2, varint + b"\\0a" + element * 4_000_000
    """,
    "lz4, blocks of 4 MiB": """
        import lz4.block
        block = lz4.block.compress(bytes(4 << 20), store_size=False)
        frame = len(block).to_bytes(4, "little") + block
        codec, payload = 3, bytes.fromhex("04224d1860") + b"\\x70\\x73" + frame * 512
    """,
    "zstd, repeated bytes": """
        block = (131072 << 3 | 1 << 1).to_bytes(3, "little") + b"x"
        codec, payload = 4, bytes.fromhex("28b52ffd0058") + block * 16384
    """,
    "zstd, many frames": """
        import zstandard
        codec, payload = 4, zstandard.ZstdCompressor().compress(bytes(1 << 20)) * 2048
    """,
    "zstd, content size": """
        claim = (1 << 60).to_bytes(8, "little")
        block = (131072 << 3 | 1 << 1).to_bytes(3, "little") + b"x"
        codec, payload = 4, bytes.fromhex("28b52ffdc058") + claim + block * 16384
    """,
}


@pytest.mark.memory
@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and RLIMIT_AS")
@pytest.mark.parametrize("bomb", MAKE_BOMB)
def test_a_bomb_ends_at_its_bound_and_not_in_memory(bomb: str) -> None:
    """In a process that may have 64 MiB beyond what it has, with a bound of 16 MiB."""
    code = dedent(MAKE_BOMB[bomb]) + dedent(f"""
        import resource
        from kafkaspec.compression import compress, decompress
        from kafkaspec.errors import CorruptError
        decompress(codec, compress(codec, b"warm up", magic=2), magic=2)
        pages = int(open("/proc/self/statm").read().split()[0])
        limit = pages * resource.getpagesize() + (64 << 20)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        try:
            decompress(codec, payload, magic=0 if codec == 3 else 2, max_output={BOUND})
        except CorruptError as error:
            print(error.reason)
    """)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stdout.strip() == Reason.DECOMPRESSED_TOO_LARGE, run.stderr[-2000:]


@pytest.mark.parametrize(
    ("codec", "payload"),
    [
        pytest.param(GZIP, bytes.fromhex("1f8b08000000000000ff0300") + bytes(8), id="gzip members"),
        pytest.param(ZSTD, bytes.fromhex("502a4d1800000000"), id="zstd skippable frames"),
        pytest.param(SNAPPY, b"\0\0\0\1\0", id="snappy chunks"),
    ],
)
def test_a_million_empty_pieces_take_linear_time(codec: int, payload: bytes) -> None:
    """Copying the bytes after each piece would copy terabytes and never end."""
    header = bytes.fromhex("82534e4150505900") + bytes(8) if codec == SNAPPY else b""
    assert decompress(codec, header + payload * 200_000, magic=2) == b""
