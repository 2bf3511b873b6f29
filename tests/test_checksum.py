"""Both CRCs against published check values, Kafka's own constant and a bitwise definition."""

from __future__ import annotations

import mmap
import zlib
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkaspec import checksum, extension
from kafkaspec.checksum import crc32, crc32c

BATCH_V2 = bytes.fromhex(
    "0000 00000000 00000000000003e8 00000000000003e8 ffffffffffffffff ffff ffffffff 00000001"
    "10 00 00 00 02 6b 02 76 00"
)
MESSAGE_V1 = bytes.fromhex("01 00 00000000000003e8 00000001 6b ffffffff")


def without_extension() -> ModuleType:
    """Return another copy of the module, as it is where there is no extension."""
    spec = spec_from_file_location("checksum_without_extension", checksum.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(extension, "usable", lambda: None)
        spec.loader.exec_module(module)
    return module


fallback = without_extension()


def bitwise(data: bytes, polynomial: int) -> int:
    """A reflected CRC-32 by its definition, one bit at a time."""
    register = 0xFFFFFFFF
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = (register >> 1) ^ (polynomial if register & 1 else 0)
    return register ^ 0xFFFFFFFF


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(b"", 0, id="empty"),
        pytest.param(b"123456789", 0xE3069283, id="check value"),
        pytest.param(b"Some String", 608512271, id="Kafka's Crc32CTest"),
        pytest.param(bytes(32), 0x8A9136AA, id="RFC 3720 zeros"),
        pytest.param(b"\xff" * 32, 0x62A8AB43, id="RFC 3720 ones"),
        pytest.param(bytes(range(32)), 0x46DD794E, id="RFC 3720 ascending"),
        pytest.param(bytes(range(31, -1, -1)), 0x113FDB5C, id="RFC 3720 descending"),
        pytest.param(BATCH_V2, 0x716A6189, id="record batch, from attributes on"),
        pytest.param(bytes(4), 0x48674BC7, id="producer snapshot without entries"),
    ],
)
def test_crc32c_of_known_data(data: bytes, expected: int) -> None:
    assert crc32c(data) == fallback.crc32c(data) == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(b"", 0, id="empty"),
        pytest.param(b"123456789", 0xCBF43926, id="check value"),
        pytest.param(MESSAGE_V1, 0x4B38D7A9, id="message of magic 1, from magic on"),
    ],
)
def test_crc32_of_known_data(data: bytes, expected: int) -> None:
    assert crc32(data) == fallback.crc32(data) == expected


@given(st.binary(max_size=300))
def test_both_follow_the_definition(data: bytes) -> None:
    assert crc32(data) == fallback.crc32(data) == bitwise(data, 0xEDB88320) == zlib.crc32(data)
    assert crc32c(data) == fallback.crc32c(data) == bitwise(data, 0x82F63B78)


def test_the_extension_serves_where_it_was_built() -> None:
    native = pytest.importorskip("kafkaspec._native")
    assert (checksum._ieee, checksum._castagnoli) == (native.crc32, native.crc32c)
    assert fallback._ieee.__module__ != native.__name__


@pytest.mark.parametrize("checksum", [crc32, crc32c, fallback.crc32, fallback.crc32c])
def test_every_contiguous_buffer_is_taken(checksum: Callable[[object], int]) -> None:
    data = bytes(range(256)) * 20
    expected = checksum(data)
    assert checksum(bytearray(data)) == expected
    assert checksum(memoryview(b"xx" + data + b"yy")[2:-2]) == expected
    assert checksum(memoryview(bytearray(data)).toreadonly()) == expected
    with mmap.mmap(-1, len(data)) as mapped:
        mapped[:] = data
        assert checksum(mapped) == expected
        with memoryview(mapped) as view:
            assert checksum(view[1000:2000]) == checksum(data[1000:2000])
        mapped.close()  # would fail if the buffer were kept
