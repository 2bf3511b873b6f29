"""``compress_all``: many payloads in one call, which other implementations read."""

from __future__ import annotations

import gzip
import random
from array import array
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial

import cramjam
import lz4.frame  # type: ignore[import-untyped]
import pytest
import zstandard

from kafkaspec.compression import CompressionType, compress, compress_all, decompress
from kafkaspec.errors import KafkaSpecError, Reason, UnsupportedError

NONE, GZIP, SNAPPY, LZ4, ZSTD = CompressionType
SIZES = (0, 1, 17, 300, 16_000, 32_768, 65_537, 200_000)


@pytest.fixture(autouse=True)
def _all_in_c(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the extension make small payloads too, and those of codecs that others make as fast."""
    monkeypatch.setattr("kafkaspec.compression.compressed_in_c", frozenset(CompressionType))
    monkeypatch.setattr("kafkaspec.compression._LEAST", 0)


def _text(size: int, chance: random.Random) -> bytes:
    words = [chance.randbytes(chance.randrange(1, 9)) for _ in range(50)]
    return b"".join(chance.choice(words) for _ in range(size))[:size]


@cache
def _parts() -> tuple[bytes, list[bytes], array[int]]:
    """Data, parts of it that lie in any order and overlap, and their places."""
    chance = random.Random(3)
    data = _text(250_000, chance) + chance.randbytes(70_000)
    starts = [chance.randrange(len(data) - size) for size in SIZES] + [250_000]
    sizes = [*SIZES, 70_000]
    places = array("q", [number for pair in zip(starts, sizes, strict=True) for number in pair])
    return data, [data[s : s + n] for s, n in zip(starts, sizes, strict=True)], places


def _payloads(codec: int, magic: int = 2, level: int | None = None) -> list[tuple[bytes, bytes]]:
    """Each part, and what it is compressed to."""
    data, parts, places = _parts()
    made, ends = compress_all(codec, data, places, magic=magic, level=level)
    assert ends[-1] == len(made)
    starts = [0, *ends[:-1]]
    payloads = [bytes(made[start:end]) for start, end in zip(starts, ends, strict=True)]
    return list(zip(parts, payloads, strict=True))


def _snappy(payload: bytes) -> bytes:
    found, at = b"", 16
    while at < len(payload):
        end = at + 4 + int.from_bytes(payload[at : at + 4])
        found += bytes(cramjam.snappy.decompress_raw(payload[at + 4 : end]))
        at = end
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("codec", "peer"),
    [
        (NONE, bytes),
        (GZIP, gzip.decompress),
        (SNAPPY, _snappy),
        (LZ4, lz4.frame.decompress),
        (ZSTD, lambda payload: zstandard.ZstdDecompressor().decompressobj().decompress(payload)),
    ],
)
def test_others_read_every_payload(codec: int, peer: Callable[[bytes], bytes]) -> None:
    for part, payload in _payloads(codec):
        assert peer(payload) == part
        assert decompress(codec, payload, magic=2) == part


def test_aiokafka_reads_every_payload() -> None:
    codecs = pytest.importorskip("aiokafka.codec")
    for codec in (GZIP, SNAPPY, LZ4, ZSTD):
        decode = getattr(codecs, f"{codec.name.lower()}_decode")
        for part, payload in _payloads(codec):
            if part:
                assert decode(payload) == part


@pytest.mark.slow
@pytest.mark.parametrize("level", [-131072, 1, 3, 9, 12, 17, 22, None])
@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
@pytest.mark.parametrize("magic", [0, 1, 2])
def test_levels_and_magics_are_those_of_compress(codec: int, magic: int, level: int | None) -> None:
    refusals = []
    for attempt in (partial(compress, codec, b""), partial(compress_all, codec, b"", array("q"))):
        try:
            attempt(magic=magic, level=level)
        except KafkaSpecError as error:
            refusals.append((error.reason, str(error)))
    assert len(set(refusals)) == len(refusals) / 2
    if refusals:
        return
    for part, payload in _payloads(codec, magic, level):
        assert decompress(codec, payload, magic=magic) == part


@pytest.mark.slow
def test_a_higher_level_gives_less() -> None:
    for codec in (GZIP, LZ4, ZSTD):
        fast, high = (
            sum(len(payload) for _, payload in _payloads(codec, level=level))
            for level in (None if codec is LZ4 else 1, 17 if codec is LZ4 else 9)
        )
        assert high < fast


def test_no_parts() -> None:
    made, ends = compress_all(ZSTD, b"data", array("q"), magic=2)
    assert (bytes(made), list(ends)) == (b"", [])


@pytest.mark.parametrize("place", [(-1, 1), (0, -1), (0, 5), (4, 1), (5, 0), (1 << 62, 1 << 62)])
@pytest.mark.parametrize("codec", list(CompressionType))
def test_parts_outside_of_the_data_are_refused(codec: int, place: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="does not lie in the data"):
        compress_all(codec, b"data", array("q", place), magic=2)


def test_refusals() -> None:
    with pytest.raises(UnsupportedError):
        compress_all(7, b"data", array("q", (0, 4)), magic=2)
    with pytest.raises(KafkaSpecError) as caught:
        compress_all(GZIP, b"data", array("q", (0, 4)), magic=2, level=10)
    assert caught.value.reason is Reason.UNENCODABLE


def test_threads() -> None:
    with ThreadPoolExecutor(4) as pool:
        for codec in (GZIP, SNAPPY, LZ4, ZSTD):
            first, *others = pool.map(_payloads, [codec] * 4)
            assert all(other == first for other in others)
