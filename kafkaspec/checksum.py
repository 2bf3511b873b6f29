"""The two CRCs of Kafka's files, over any contiguous buffer and without copying it.

The extension computes both where it was built; ``fastcrc`` stands in for it. It is as fast from
16 KiB on, and takes a third longer for less than 1 KiB. It takes ``bytes``, ``bytearray``,
``memoryview`` and ``mmap`` alike, and has wheels for Linux, macOS, Windows on x86 and ARM. It was
chosen by measurement over ``google-crc32c`` (takes ``bytes`` only, so a slice of a mapped file
would be copied), ``crc32c`` (40 ms to import) and ``zlib`` (a tenth of the speed).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from kafkaspec.extension import usable

if TYPE_CHECKING:
    from typing_extensions import Buffer

_ieee: Callable[[Buffer], int]
_castagnoli: Callable[[Buffer], int]
_native = usable()
if _native is not None:
    _ieee, _castagnoli = _native.crc32, _native.crc32c
else:
    from fastcrc import crc32 as _crc32

    _ieee, _castagnoli = _crc32.iso_hdlc, _crc32.iscsi


def crc32(data: Buffer) -> int:
    """Return the CRC-32 (IEEE 802.3, as in zlib and gzip) of ``data``: 0 to 2**32 - 1.

    Messages of magic 0 and 1 carry it. Kafka: ``LegacyRecord.computeChecksum`` with
    ``java.util.zip.CRC32``.
    """
    return _ieee(data)


def crc32c(data: Buffer) -> int:
    """Return the CRC-32C (Castagnoli, as in iSCSI) of ``data``: 0 to 2**32 - 1.

    Record batches of magic 2 and producer snapshots carry it. Kafka: ``Crc32C``, KIP-98.
    """
    return _castagnoli(data)


CHECKSUMS: Final[dict[str, Callable[[Any], int]]] = {"crc32": crc32, "crc32c": crc32c}
"""The functions by the names that the specification has for them."""
