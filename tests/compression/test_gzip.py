"""The gzip data that Kafka's reader, Java's ``GZIPInputStream``, accepts: each quirk by name.

Every verdict here was seen with Kafka 4.3.1 on Java 17.
"""

from __future__ import annotations

import gzip as stdlib
import random
import struct
import zlib

import pytest

from kafkaspec.compression import CompressionType, compress, gzip
from kafkaspec.compression import decompress as decompress_any
from kafkaspec.errors import KafkaSpecError, Reason

FHCRC, FEXTRA, FNAME, FCOMMENT = 2, 4, 8, 16


@pytest.fixture(autouse=True, params=["isal", "zlib"])
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every test runs with the fast library and with the one that stands in for it."""
    if request.param == "isal":
        pytest.importorskip("isal")
    else:
        monkeypatch.setattr(gzip, "inflate", zlib)
    return str(request.param)


def decompress(payload: bytes, max_output: int = 1 << 20) -> bytes:
    return decompress_any(CompressionType.GZIP, payload, magic=1, max_output=max_output)


def refusal(payload: bytes, max_output: int = 1 << 20) -> Reason:
    with pytest.raises(KafkaSpecError) as caught:
        decompress(payload, max_output)
    return caught.value.reason


def member(data: bytes, flags: int = 0, fields: bytes = b"") -> bytes:
    deflate = zlib.compressobj(6, zlib.DEFLATED, -15)
    body = deflate.compress(data) + deflate.flush()
    header = bytes([31, 139, 8, flags]) + bytes(6) + fields
    return header + body + struct.pack("<II", zlib.crc32(data), len(data))


def header_checksum(flags: int, fields: bytes = b"") -> bytes:
    return struct.pack("<H", zlib.crc32(bytes([31, 139, 8, flags]) + bytes(6) + fields) & 0xFFFF)


def test_members_are_joined() -> None:
    assert decompress(member(b"one ") + member(b"") + member(b"two")) == b"one two"


@pytest.mark.parametrize(
    "garbage", [b"\0", b"\xaa" * 18, b"\xaa" * 19, bytes(100), b"\x1f\x8b\x07" * 9]
)
def test_garbage_after_a_member_is_ignored(garbage: bytes) -> None:
    assert decompress(member(b"one") + garbage) == b"one"


@pytest.mark.parametrize("length", [10, 11, 18])
def test_up_to_18_bytes_are_ignored_even_if_they_begin_a_member(length: int) -> None:
    assert decompress(member(b"one") + member(b"second member")[:length]) == b"one"


@pytest.mark.parametrize("length", [19, 20, 25])
def test_a_further_member_that_is_cut_is_refused(length: int) -> None:
    payload = member(b"one") + member(b"second member")[:length]
    assert refusal(payload) is Reason.DECOMPRESSION_FAILED


def test_reserved_flags_are_ignored() -> None:
    assert decompress(member(b"one", 0xE0)) == b"one"


def test_optional_header_fields_are_skipped() -> None:
    fields = b"\3\0abc" + b"name\0" + b"comment\0"
    flags = FEXTRA | FNAME | FCOMMENT
    assert decompress(member(b"one", flags, fields)) == b"one"
    flags |= FHCRC
    assert decompress(member(b"one", flags, fields + header_checksum(flags, fields))) == b"one"


def test_a_long_name_is_skipped() -> None:
    assert decompress(member(b"one", FNAME, b"n" * 5000 + b"\0")) == b"one"


def test_a_wrong_header_checksum_refuses_the_first_member_and_hides_a_further_one() -> None:
    bad = member(b"a member that is long enough", FHCRC, b"\0\0")
    assert refusal(bad) is Reason.DECOMPRESSION_FAILED
    assert decompress(member(b"one") + bad) == b"one"


@pytest.mark.parametrize(
    "fields",
    [(FEXTRA, b""), (FEXTRA, b"\xff"), (FEXTRA, b"\xff\xff"), (FNAME, b"abc"), (FHCRC, b"\0")],
)
def test_a_header_that_is_cut_is_refused(fields: tuple[int, bytes]) -> None:
    flags, rest = fields
    assert refusal(bytes([31, 139, 8, flags]) + bytes(6) + rest) is Reason.DECOMPRESSION_FAILED


@pytest.mark.parametrize("back", [1, 5])
def test_the_trailer_is_checked(back: int) -> None:
    broken = bytearray(member(b"some data"))
    broken[-back] ^= 1
    assert refusal(bytes(broken)) is Reason.DECOMPRESSION_FAILED


def test_isal_takes_incomplete_codes_and_zlib_does_not(backend: str) -> None:
    """The one known difference of the fast library; Kafka refuses (zlib: invalid distances set)."""
    body = bytes.fromhex("edc13101000000c2a0aceb5fc2147e6001000000006f03")
    isal_zlib = pytest.importorskip("isal.isal_zlib")
    data = isal_zlib.decompressobj(-15).decompress(body)
    payload = member(b"")[:10] + body + struct.pack("<II", zlib.crc32(data), len(data))
    if backend == "isal":
        assert decompress(payload) == data
    else:
        assert refusal(payload) is Reason.DECOMPRESSION_FAILED


@pytest.mark.slow
@pytest.mark.parametrize("level", [0, 1, 6, 9])
def test_members_of_the_standard_library_are_read_in_every_partition(
    level: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However the input and output are cut into pieces, the result is the same."""
    numbers = random.Random(level)
    data = b"".join(b"%d," % numbers.randrange(1000) for _ in range(2000))
    payload = stdlib.compress(data, level) + stdlib.compress(data[:100], level) + b"garbage" * 5
    for first, later, piece in ((1, 1, 1 << 20), (13, 5, 7), (1 << 16, 1, 1), (50, 1 << 16, 100)):
        monkeypatch.setattr(gzip, "_FIRST_INPUT", first)
        monkeypatch.setattr(gzip, "_NEXT_INPUT", later)
        monkeypatch.setattr(gzip, "_MAX_OUTPUT_PIECE", piece)
        assert decompress(payload) == data + data[:100]
        assert decompress(payload, len(data) + 100) == data + data[:100]
        assert refusal(payload, len(data) + 99) is Reason.DECOMPRESSED_TOO_LARGE
        assert refusal(payload, len(data) - 1) is Reason.DECOMPRESSED_TOO_LARGE
        assert refusal(payload[: len(payload) // 2]) is Reason.DECOMPRESSION_FAILED


def test_the_standard_library_reads_our_output() -> None:
    data = bytes(range(256)) * 300
    assert stdlib.decompress(compress(CompressionType.GZIP, data, magic=2)) == data
