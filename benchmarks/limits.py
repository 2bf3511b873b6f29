"""The limits of every reader: one copy of the bytes, and one checksum of them."""

from __future__ import annotations

import ctypes

from kafkaspec.codecs.native import NativeCodec
from kafkaspec.log.options import CHUNK_BYTES

MEMCPY = "memcpy"
CRC = "CRC"

_memcpy = ctypes.CDLL(None).memcpy
_memcpy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
_memcpy.restype = ctypes.c_void_p
_address = ctypes.pythonapi.PyBytes_AsString
_address.argtypes = [ctypes.py_object]
_address.restype = ctypes.c_void_p


class Limits:
    """Passes over some bytes in pieces of the size of a chunk.

    Args:
        codec: its kernel computes the checksums.
        data: the bytes.
    """

    def __init__(self, codec: NativeCodec, data: bytes) -> None:
        self._crc = codec.core.module.crc32c
        self._data = data
        self._target = ctypes.create_string_buffer(CHUNK_BYTES)
        self._view = memoryview(data)

    def copy(self) -> None:
        """memcpy into memory that is used again."""
        source = _address(self._data)
        for start in range(0, len(self._data), CHUNK_BYTES):
            size = min(CHUNK_BYTES, len(self._data) - start)
            _memcpy(self._target, source + start, size)

    def checksum(self) -> None:
        """CRC-32C with the kernel that the codec verifies with."""
        for start in range(0, len(self._data), CHUNK_BYTES):
            self._crc(self._view[start : start + CHUNK_BYTES])
