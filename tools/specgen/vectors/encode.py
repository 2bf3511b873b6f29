"""Encodings for the vectors, independent of those of the library."""

from __future__ import annotations

import struct
import zlib

from tools.specgen.model import DeriveFunction, FloatType, IntegerType, Scalar


def unsigned_varint(value: int) -> bytes:
    """Return the shortest base-128 encoding, low group first."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def varint(scalar: Scalar, value: int) -> bytes:
    """Return the shortest encoding of an integer scalar."""
    if scalar is Scalar.UNSIGNED_VARINT32:
        return unsigned_varint(value)
    return unsigned_varint((value << 1) if value >= 0 else ((-value << 1) - 1))


def number_bytes(kind: IntegerType, value: int) -> bytes:
    """Return the bytes of an integer of fixed size."""
    return value.to_bytes(kind.size, "little" if kind.little else "big", signed=kind.signed)


def float_bytes(kind: FloatType, value: float) -> bytes:
    """Return the bytes of a float."""
    return struct.pack(("<" if kind.little else ">") + ("f" if kind.size == 4 else "d"), value)


def checksum(function: DeriveFunction, data: bytes) -> int:
    """Return the CRC-32 or CRC-32C; the latter byte by byte, independent of the library."""
    if function is DeriveFunction.CRC32:
        return zlib.crc32(data)
    register = 0xFFFFFFFF
    for byte in data:
        register = register >> 8 ^ _TABLE[(register ^ byte) & 0xFF]
    return register ^ 0xFFFFFFFF


def _eight_bits(register: int) -> int:
    for _ in range(8):
        register = (register >> 1) ^ (0x82F63B78 if register & 1 else 0)
    return register


_TABLE = tuple(_eight_bits(byte) for byte in range(256))
