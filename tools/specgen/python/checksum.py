"""Checksums of bytes; copied unchanged to ``python/checksum.py`` where no library has them."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from zlib import crc32

__all__ = ["crc32", "crc32c"]


def _eight_bits(register: int) -> int:
    for _ in range(8):
        register = (register >> 1) ^ (0x82F6_3B78 if register & 1 else 0)
    return register


_TABLE = tuple(_eight_bits(byte) for byte in range(256))


def crc32c(data: bytes | bytearray | memoryview) -> int:
    """Return the CRC-32C (Castagnoli, as in iSCSI) of ``data``."""
    register, table = 0xFFFF_FFFF, _TABLE
    for byte in bytes(data):
        register = register >> 8 ^ table[(register ^ byte) & 0xFF]
    return register ^ 0xFFFF_FFFF


with suppress(ImportError):  # if the extension is built
    crc32c = import_module("..native._core", __package__).crc32c
