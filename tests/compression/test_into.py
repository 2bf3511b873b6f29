"""``into`` and ``unpack`` of the extension against ``decompress`` without the extension.

The same bytes or nothing, and never a byte beyond their memory.
"""

from __future__ import annotations

import random
from array import array
from types import ModuleType
from typing import Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kafkaspec import compression
from kafkaspec.compression import CompressionType
from kafkaspec.errors import KafkaSpecError

CODECS: Final = [kind for kind in CompressionType if kind is not CompressionType.NONE]
GUARD: Final = 64
CANARY: Final = 0xA5


def _text(size: int, seed: int = 1) -> bytes:
    chance = random.Random(seed)
    words = [chance.randbytes(chance.randrange(1, 9)) for _ in range(50)]
    data = bytearray()
    while len(data) < size:
        data += chance.choice(words)
    return bytes(data[:size])


def _unpack(module: ModuleType, codec: int, payload: bytes, target: memoryview, magic: int) -> int:
    """As a wrapper, which may have any number of records."""
    forms = compression.forms(module, (codec,), magic)
    entry = array("q", bytes(8 * module.BATCH_FIELDS))
    entry[module.PAYLOAD], entry[module.PAYLOAD_SIZE] = -1 - codec, len(payload)
    entry[module.ROWS] = -1
    most = len(target)
    done, used, status = module.unpack(payload, b"", 0, 0, entry, 0, target, 0, most, (), forms)
    assert (done, status) in ((1, module.OK), (0, module.OTHER_FORM))
    assert done or not used
    return int(used) if done else -1


def _into(codec: int, payload: bytes, room: int, magic: int = 2) -> bytes | None:
    """The output; None for -1. The bytes around the memory must not change."""
    memory = bytearray([CANARY]) * (room + 2 * GUARD)
    with memoryview(memory) as view:
        target = view[GUARD : GUARD + room]
        if compression.in_c:
            assert compression.native is not None
            written = _unpack(compression.native, codec, payload, target, magic)
        else:
            written = compression.into(codec, magic)(memoryview(payload), target)
    assert -1 <= written <= room
    guards = memory[:GUARD] + memory[GUARD + room :]
    assert guards == bytes([CANARY]) * (2 * GUARD)
    return None if written < 0 else bytes(memory[GUARD : GUARD + written])


def _decompress(codec: int, payload: bytes, magic: int = 2) -> bytes | None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compression, "in_c", False)
        try:
            return compression.decompress(codec, payload, magic=magic, max_output=1 << 20)
        except KafkaSpecError:
            return None


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("size", [1, 100, 16_000, 100_000])
def test_output_of_producers_is_taken(codec: CompressionType, size: int) -> None:
    data = _text(size)
    payload = compression.compress(codec, data, magic=2)
    if codec is not CompressionType.ZSTD or len(payload) <= 30_000:
        assert _into(codec, payload, size) == data
    assert _into(codec, payload, size + 1000) in (data, None)


@pytest.mark.parametrize("codec", CODECS)
def test_bytes_that_do_not_compress(codec: CompressionType) -> None:
    data = random.Random(7).randbytes(20_000)
    payload = compression.compress(codec, data, magic=2)
    assert _into(codec, payload, len(data)) == data


@pytest.mark.slow
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("missing", [1, 2, 900, 1000])
def test_too_little_room(codec: CompressionType, missing: int) -> None:
    payload = compression.compress(codec, _text(1000), magic=2)
    assert _into(codec, payload, 1000 - missing) is None


@given(
    codec=st.sampled_from(CODECS),
    size=st.integers(0, 3000),
    seed=st.integers(0, 20),
    changes=st.lists(st.tuples(st.integers(0, 4000), st.integers(0, 255)), max_size=4),
    cut=st.integers(0, 40),
    more=st.binary(max_size=40),
    room=st.integers(0, 4000),
)
@example(CompressionType.GZIP, 100, 0, [], 0, b"\0", 100)
@example(CompressionType.GZIP, 100, 0, [], 1, b"", 100)
@example(CompressionType.LZ4, 100, 0, [], 4, b"", 100)
@example(CompressionType.SNAPPY, 100, 0, [], 0, b"\0\0\0", 100)
@example(CompressionType.ZSTD, 100, 0, [], 0, b"\0", 100)
def test_as_decompress_or_not_at_all(
    codec: CompressionType,
    size: int,
    seed: int,
    changes: list[tuple[int, int]],
    cut: int,
    more: bytes,
    room: int,
) -> None:
    payload = bytearray(compression.compress(codec, _text(size, seed), magic=2))
    for position, value in changes:
        payload[position % len(payload)] = value
    whole = bytes(payload[: len(payload) - cut] if cut else payload) + more
    found = _into(codec, whole, room)
    assert found is None or found == _decompress(codec, whole)


@pytest.mark.parametrize("codec", CODECS)
def test_two_streams_in_a_row_are_left_to_decompress(codec: CompressionType) -> None:
    payload = 2 * compression.compress(codec, _text(500), magic=2)
    found = _into(codec, payload, 4000)
    assert found is None or found == _decompress(codec, payload)


@pytest.mark.parametrize("codec", [0, 5, 7, -1])
def test_unknown_compressions_are_refused(codec: int) -> None:
    assert compression.into(codec, 2)(memoryview(b"abc"), memoryview(bytearray(10))) == -1
    if codec > CompressionType.NONE:  # as any other number, for unpack, it is not compressed
        assert _into(codec, b"abc", 10) is None


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", CODECS)
def test_older_magics(codec: CompressionType, magic: int) -> None:
    data = _text(5000)
    if codec is CompressionType.ZSTD:
        payload = compression.compress(codec, data, magic=2)
        assert _into(codec, payload, len(data), magic) is None
        assert _decompress(codec, payload, magic) is None
        return
    for written in (0, 1, 2):
        payload = compression.compress(codec, data, magic=written)
        found = _into(codec, payload, len(data), magic)
        assert found == data or not written
        assert found is None or found == _decompress(codec, payload, magic)
