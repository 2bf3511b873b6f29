"""Bytes of segments and indexes in the objects of Aiven's plugin, by the chunks that are needed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import Final

from kafkaspec.codecs import Origin, get_codec
from kafkaspec.compression import CompressionType, decompress
from kafkaspec.compression.zstd import decompress_sized
from kafkaspec.errors import KafkaSpecError, Reason, make_error, unreadable
from kafkaspec.files.segment_manifest import ObjectSpan, SegmentManifest
from kafkaspec.io.local import SIDE_FILE_BYTES, open_source
from kafkaspec.io.remote import RemotePath
from kafkaspec.io.window import Reading
from kafkaspec.layout.framing import field_of
from kafkaspec.layout.kinds import CURRENT
from kafkaspec.tiered.keys import KeyRing

_CHUNK: Final = "chunk_index.encrypted_chunk"
_TAG_BYTES: Final = 16  # AES-GCM
ENCRYPTION_BYTES: Final = field_of(_CHUNK, "iv").size + _TAG_BYTES
"""Bytes that encryption adds to a chunk."""
_KEPT_BYTES: Final = 16 << 20
"""Bytes of decoded chunks that a segment keeps, beside the last one."""
_REQUEST_BYTES: Final = 8 << 20
"""Bytes of an object that are asked for at once, unless a single chunk has more."""


def reading_of(path: Path) -> Reading:
    """Open a file or an object to be read in parts."""
    if isinstance(path, RemotePath):
        return path.reading()
    opened = open_source(path, mapped=False)
    assert isinstance(opened, Reading)
    return opened


class PlainRanges:
    """Ranges of a file as it is; a function as ``kafkaspec.io.remote.Ranges``."""

    def __init__(self, path: Path, size: int | None = None) -> None:
        """Open a file, which must have as many bytes if a size is given."""
        self._reading = reading_of(path)
        if size is not None and self._reading.size != size:
            raise _wrong_size(self._reading, size)

    def __call__(self, start: int, end: int) -> bytes | memoryview:
        end = min(end, self._reading.size)
        return self._reading.read(start, max(end - start, 0))


class SegmentRanges:
    """Ranges of a segment whose chunks are compressed or encrypted; a function as ``Ranges``.

    It may be called in several threads. Only chunks that hold wanted bytes are read; neighbours
    are read at once. The last ones stay in memory.
    """

    def __init__(self, path: Path, manifest: SegmentManifest, keys: KeyRing) -> None:
        self._reading = reading_of(path)
        self._chunks = manifest.chunks
        if self._reading.size != self._chunks.object_size:
            raise _wrong_size(self._reading, self._chunks.object_size)
        self._manifest = manifest
        self._keys = keys
        self._decoded: OrderedDict[int, bytes] = OrderedDict()
        self._lock = Lock()

    def __call__(self, start: int, end: int) -> bytes:
        found = bytearray(max(min(end, self._chunks.original_size) - start, 0))
        self.read_into(start, memoryview(found))
        return bytes(found)

    def read_into(self, start: int, target: memoryview) -> int:
        """Fill memory with the bytes of the segment from a position on; return their number."""
        chunks = self._chunks
        end = min(start + len(target), chunks.original_size)
        if start >= end:
            return 0
        first = start // chunks.original_chunk_size
        last = (end - 1) // chunks.original_chunk_size
        done = 0
        with self._lock:
            for number, data in enumerate(self._wanted(first, last), first):
                skipped = max(start - number * chunks.original_chunk_size, 0)
                part = memoryview(data)[skipped : skipped + end - start - done]
                target[done : done + len(part)] = part
                done += len(part)
        return done

    def _wanted(self, first: int, last: int) -> Iterator[bytes]:
        number = first
        while number <= last:
            known = self._decoded.get(number)
            if known is not None:
                self._decoded.move_to_end(number)
                yield known
                number += 1
                continue
            stop = number + 1
            start = self._chunks.place(number).position
            while (
                stop <= last
                and stop not in self._decoded
                and sum_of(self._chunks.place(stop)) - start <= _REQUEST_BYTES
            ):
                stop += 1
            end = sum_of(self._chunks.place(stop - 1))
            data = self._reading.read(start, end - start)
            for each in range(number, stop):
                place = self._chunks.place(each)
                begin = place.position - start
                decoded = self._decode(each, data[begin : begin + place.size])
                self._keep(each, decoded)
                yield decoded
            number = stop

    def _decode(self, number: int, data: memoryview) -> bytes:
        place, size = self._chunks.place(number), self._chunks.original(number).size
        origin = Origin(self._reading.name, place.position, path=f"/chunks/{number}")
        plain = decrypted(data, self._manifest, self._keys, origin)
        if self._manifest.compression:
            plain = decompress_sized(plain, size) or self._decompressed(plain, size, origin)
        if len(plain) != size:
            detail = f"the chunk has {len(plain)} bytes, and {size} by its manifest"
            raise origin.locate(make_error(Reason.INVALID_VALUE, detail, offset=0))
        return bytes(plain)

    def _decompressed(self, data: bytes | memoryview, size: int, origin: Origin) -> bytes:
        try:
            return decompress(CompressionType.ZSTD, data, magic=CURRENT, max_output=size)
        except KafkaSpecError as error:
            error.position = 0
            raise origin.locate(error) from None

    def _keep(self, number: int, data: bytes) -> None:
        self._decoded[number] = data
        while len(self._decoded) > 1 and sum(map(len, self._decoded.values())) > _KEPT_BYTES:
            self._decoded.popitem(last=False)


def decrypted(
    data: memoryview, manifest: SegmentManifest, keys: KeyRing, origin: Origin
) -> bytes | memoryview:
    """Return a chunk or an index without its encryption."""
    encryption = manifest.encryption
    if encryption is None:
        return data
    cipher = keys.cipher(encryption, manifest.file)
    chunk, _ = get_codec().parse(_CHUNK, data, complete=True, origin=origin)
    try:
        plain: bytes = cipher.decrypt(bytes(chunk.iv), bytes(chunk.ciphertext), encryption.aad)
    except Exception:  # InvalidTag, and what the library says about sizes
        detail = "its authentication tag (AES-GCM) does not match: bytes were changed"
        raise origin.locate(make_error(Reason.CHECKSUM_MISMATCH, detail, offset=0)) from None
    return plain


def index_bytes(
    path: Path, manifest: SegmentManifest, place: ObjectSpan, keys: KeyRing, name: str
) -> bytes:
    if not place.size:
        return b""
    if place.size > SIDE_FILE_BYTES:
        raise unreadable(str(path), f"{place.size} bytes are more than an index has")
    reading = reading_of(path)
    try:
        if sum_of(place) > reading.size:
            detail = f"the manifest puts bytes {place.position} to {sum_of(place)} there"
            raise make_error(
                Reason.TRUNCATED,
                f"{detail}, and the object has {reading.size}",
                file=reading.name,
                offset=reading.size,
                path=f"/{name}",
            )
        data = reading.read(place.position, place.size)
    finally:
        reading.close()
    return bytes(
        decrypted(data, manifest, keys, Origin(reading.name, place.position, path=f"/{name}"))
    )


def index_size(manifest: SegmentManifest, place: ObjectSpan) -> int:
    added = ENCRYPTION_BYTES if manifest.encryption is not None and place.size else 0
    return max(place.size - added, 0)


def sum_of(place: ObjectSpan) -> int:
    return place.position + place.size


def _wrong_size(reading: Reading, size: int) -> KafkaSpecError:
    reading.close()
    reason = Reason.TRUNCATED if reading.size < size else Reason.INVALID_VALUE
    return make_error(
        reason,
        f"the object has {reading.size} bytes, and {size} by its manifest",
        file=reading.name,
        offset=min(reading.size, size),
    )
