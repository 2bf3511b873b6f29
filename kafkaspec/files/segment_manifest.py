"""``.rsm-manifest``: what Aiven's tiered storage for Apache Kafka says about a remote segment.

It is JSON, without a line end, beside the objects of the segment (``.log``) and of its indexes
(``.indexes``). The plugin: ``SegmentManifestV1``, ``ChunkSizesBinaryCodec``.
"""

from __future__ import annotations

import binascii
from array import array
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Final
from uuid import UUID

from kafkaspec._generated.python.model.chunk_index import ManySizes, OneSize
from kafkaspec.codecs import Origin, get_codec
from kafkaspec.compression import CompressionType, decompress
from kafkaspec.errors import KafkaSpecError, Reason
from kafkaspec.files import names
from kafkaspec.files.arrays import big_endian
from kafkaspec.files.checkpoints import kafka_uuid
from kafkaspec.files.checkpoints.text import INT_BITS, LONG_BITS, JsonObject, Text, reader
from kafkaspec.layout.framing import field_of
from kafkaspec.layout.kinds import CURRENT

VERSION: Final = "1"
"""The only version there has been."""

INDEXES: Final = {
    names.OFFSET_INDEX: "offset",
    names.TIME_INDEX: "timestamp",
    names.PRODUCER_SNAPSHOT: "producerSnapshot",
    names.LEADER_EPOCHS: "leaderEpoch",
    names.TRANSACTION_INDEX: "transaction",
}
"""Names of the parts of the ``.indexes`` object, by the kind or the name of the file."""

_MOST_BYTES: Final = 10 << 20
"""Largest size of the encoded list of chunk sizes, as the plugin has it: MAX_DECOMPRESSED_SIZE."""
_SIZES: Final = "chunk_index.chunk_index"
_LAST: Final = field_of("chunk_index.one_size", "last_value")
"""The size of the last chunk, which has the same form however many there are."""


@dataclass(frozen=True, slots=True)
class ObjectSpan:
    """A range of bytes of an object."""

    position: int
    size: int


@dataclass(frozen=True)
class Chunks:
    """The chunks of a segment, which lie one after the other in its object.

    Attributes:
        original_chunk_size: bytes of each chunk in the segment; the last one may have fewer.
        original_size: bytes of the segment.
        ends: end of each chunk in the object, where they differ; empty where all have one size.
        transformed_size: bytes of each chunk but the last in the object, where they do not differ.
        final_size: bytes of the last one.
    """

    original_chunk_size: int
    original_size: int
    ends: array[int]
    transformed_size: int = 0
    final_size: int = 0

    def __len__(self) -> int:
        return -(-self.original_size // self.original_chunk_size)

    @property
    def object_size(self) -> int:
        """Bytes of the object."""
        if not len(self):
            return 0
        return self.place(len(self) - 1).position + self.place(len(self) - 1).size

    def place(self, number: int) -> ObjectSpan:
        """Return the range of a chunk in the object."""
        if self.ends:
            start = self.ends[number - 1] if number else 0
            return ObjectSpan(start, self.ends[number] - start)
        last = number == len(self) - 1
        return ObjectSpan(
            number * self.transformed_size, self.final_size if last else self.transformed_size
        )

    def original(self, number: int) -> ObjectSpan:
        """Return the range of a chunk in the segment."""
        start = number * self.original_chunk_size
        return ObjectSpan(start, min(self.original_chunk_size, self.original_size - start))


@dataclass(frozen=True, slots=True)
class Encryption:
    """The encryption of chunks and indexes.

    Attributes:
        key_id: id of the pair of RSA keys that encrypted the data key.
        data_key: the encrypted AES key.
        aad: additional authenticated data of every chunk.
    """

    key_id: str
    data_key: bytes
    aad: bytes


@dataclass(frozen=True, slots=True)
class RemoteSegment:
    """The broker's data about the segment when it was copied; the plugin never reads it.

    Attributes:
        topic: name of the topic.
        topic_id: its id.
        partition: number of the partition.
        segment_id: id of the segment.
        start_offset: first offset.
        end_offset: last offset.
        max_timestamp: largest timestamp, ms since the Unix epoch.
        broker_id: the broker that copied it.
        copied: time of the copy, ms since the Unix epoch.
        leader_epochs: first offset of each leader epoch in the segment.
    """

    topic: str
    topic_id: UUID
    partition: int
    segment_id: UUID
    start_offset: int
    end_offset: int
    max_timestamp: int
    broker_id: int
    copied: int
    leader_epochs: Mapping[int, int]


@dataclass(frozen=True)
class SegmentManifest:
    """The content of the file.

    Attributes:
        chunks: the chunks of the segment.
        indexes: ranges of the indexes in their object, by ``INDEXES``; without a transaction index
            if the segment has none.
        compression: whether each chunk is a zstd frame. Indexes never are.
        encryption: how chunks and indexes are encrypted, None if they are not.
        file: the file, for errors.
    """

    chunks: Chunks
    indexes: Mapping[str, ObjectSpan]
    compression: bool
    encryption: Encryption | None
    file: str | None
    _object: JsonObject

    @property
    def is_plain(self) -> bool:
        """Whether the object is the segment itself."""
        return not self.compression and self.encryption is None

    @cached_property
    def segment(self) -> RemoteSegment:
        """The broker's data about the segment.

        Raises:
            CorruptError: it is missing or malformed.
        """
        found = self._object.inner("remoteLogSegmentMetadata")
        place = found.inner("remoteLogSegmentId")
        owner = place.inner("topicIdPartition")
        partition = owner.inner("topicPartition")
        epochs = found.inner("segmentLeaderEpochs")
        return RemoteSegment(
            topic=partition.string("topic"),
            topic_id=_uuid(owner, "topicId"),
            partition=partition.number("partition", INT_BITS),
            segment_id=_uuid(place, "id"),
            start_offset=_natural(found, "startOffset", LONG_BITS),
            end_offset=_natural(found, "endOffset", LONG_BITS),
            max_timestamp=found.number("maxTimestampMs", LONG_BITS),
            broker_id=found.number("brokerId", INT_BITS),
            copied=found.number("eventTimestampMs", LONG_BITS),
            leader_epochs={
                _epoch(epochs, name): epochs.number(name, LONG_BITS) for name in epochs.fields
            },
        )


def parse(data: bytes, *, file: str | None = None) -> SegmentManifest:
    """Parse the file.

    Args:
        data: all bytes of the file.
        file: its name in errors.

    Raises:
        TruncatedError: the file is empty.
        CorruptError: it is not the JSON of a manifest, or sizes in it do not agree.
        UnsupportedError: another version.
    """
    text = Text(data, file)
    line = next(text.lines(), None)
    if line is None:
        raise text.error(Reason.TRUNCATED, "the file is empty")
    found = JsonObject(text, line)
    if found.string("version") != VERSION:
        found.refuse("version", f"it is not {VERSION!r}", Reason.UNSUPPORTED_VERSION)
    compression = found.value("compression")
    if not isinstance(compression, bool):
        found.refuse("compression", "it is neither true nor false")
    encrypted = found.fields.get("encryption") is not None
    return SegmentManifest(
        chunks=_chunks(found.inner("chunkIndex"), file),
        indexes=_indexes(found.inner("segmentIndexes")),
        compression=compression,
        encryption=_encryption(found.inner("encryption")) if encrypted else None,
        file=file,
        _object=found,
    )


read = reader(parse)


def _natural(found: JsonObject, name: str, bits: int = INT_BITS) -> int:
    number = found.number(name, bits)
    if number < 0:
        found.refuse(name, f"{number} is negative")
    return number


def _chunks(found: JsonObject, file: str | None) -> Chunks:
    chunk_size, size = _natural(found, "originalChunkSize"), _natural(found, "originalFileSize")
    if not chunk_size:
        found.refuse("originalChunkSize", "a chunk has at least one byte")
    kind = found.string("type")
    if kind == "fixed":
        return Chunks(
            chunk_size,
            size,
            array("q"),
            _natural(found, "transformedChunkSize"),
            _natural(found, "finalTransformedChunkSize"),
        )
    if kind != "variable":
        found.refuse("type", "it is neither fixed nor variable")
    chunks = Chunks(chunk_size, size, array("q"))
    sizes = _transformed(found, file, max(len(chunks), 1))
    if min(sizes) < 0:
        found.refuse("transformedChunks", f"a chunk has {min(sizes)} bytes")
    return Chunks(chunk_size, size, array("q", accumulate(sizes)))


def _transformed(found: JsonObject, file: str | None, expected: int) -> array[int]:
    """Return the sizes of that many chunks in the object."""
    name = "transformedChunks"
    packed = _base64(found, name)
    origin = Origin(file, found.position(name), True, f"/chunkIndex/{name}")
    try:
        data = decompress(CompressionType.ZSTD, packed, magic=CURRENT, max_output=_MOST_BYTES)
    except KafkaSpecError as error:
        error.file, error.position, error.path = file, origin.position, origin.path
        raise
    parsed, _ = get_codec().parse(_SIZES, data, complete=True, origin=origin)
    sizes = parsed.sizes
    if sizes.total != expected:
        found.refuse(name, f"it has {sizes.total} sizes, and the segment {expected} chunks")
    if isinstance(sizes, OneSize):
        return array("q", [sizes.last_value])
    assert isinstance(sizes, ManySizes)
    width = sizes.bytes_per_value
    values = memoryview(sizes.values)
    count = sizes.total - 1
    if count < 1 or len(values) < count * width + _LAST.size:
        detail = f"{len(values)} bytes are fewer than the sizes of {sizes.total} chunks have"
        found.refuse(name, detail, Reason.TRUNCATED)
    if not width and count > _MOST_BYTES:  # sizes of no bytes
        found.refuse(name, f"{count} chunks are more than there can be")
    end = count * width
    last = int.from_bytes(values[end : end + _LAST.size], "big", signed=_LAST.signed)
    others = big_endian("I", values[:end], width, width, count)
    found_sizes = array("q", (sizes.base + each for each in others))
    found_sizes.append(last)
    return found_sizes


def _indexes(found: JsonObject) -> dict[str, ObjectSpan]:
    spans = {}
    for kind, name in INDEXES.items():
        if kind == names.TRANSACTION_INDEX and found.fields.get(name) is None:
            continue
        place = found.inner(name)
        spans[kind] = ObjectSpan(_natural(place, "position"), _natural(place, "size"))
    return spans


def _encryption(found: JsonObject) -> Encryption:
    name = "dataKey"
    key_id, colon, packed = found.string(name).partition(":")
    if not (colon and key_id.strip() and packed) or ":" in packed:
        found.refuse(name, "it is not the id of a key, a colon and an encrypted key")
    return Encryption(key_id, _base64(found, name, packed), _base64(found, "aad"))


def _base64(found: JsonObject, name: str, text: str | None = None) -> bytes:
    text = found.string(name) if text is None else text
    try:
        return b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        found.refuse(name, "it is not base64")


def _uuid(found: JsonObject, name: str) -> UUID:
    value = kafka_uuid.from_text(found.string(name))
    if value is None:
        found.refuse(name, "it is not the base64 of a UUID")
    return value


def _epoch(found: JsonObject, name: str) -> int:
    if not name.isascii() or not name.isdigit() or len(name) > 10 or int(name) >> 31:
        found.refuse(name, "it is not a leader epoch")
    return int(name)
