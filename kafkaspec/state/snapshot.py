"""Write the metadata of a cluster as a snapshot, which a controller starts with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from kafkaspec._generated.python.model.control_record import (
    ControlRecordType,
    Endpoint,
    KraftVersionRange,
    KraftVersionRecord,
    RegisteredVoter,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    VotersRecord,
)
from kafkaspec.errors import Reason, make_error
from kafkaspec.files import names
from kafkaspec.files.checkpoints import kafka_uuid
from kafkaspec.log.control import encode_control
from kafkaspec.log.encoding import encode
from kafkaspec.messages.lookup import by_id, by_name
from kafkaspec.model import Record
from kafkaspec.output.atomic import file_aside, writing
from kafkaspec.state.image import ClusterKind, Fields, Image
from kafkaspec.state.message_bytes import message_bytes

KRAFT_VERSION_RANGE: Final = (0, 1)
"""Levels of ``kraft.version`` that a voter is said to support: all there are."""
_BATCH_RECORDS: Final = 1_000
_BATCH_BYTES: Final = 1 << 20
"""Kafka: ``KafkaRaftClient.MAX_BATCH_SIZE_BYTES`` is 8 MiB, and a batch larger than that fatal."""
_FIRST_FEATURE: Final = "metadata.version"


def write_snapshot(
    image: Image, directory: Path, *, end_offset: int, epoch: int, timestamp: int
) -> Path:
    """Write a snapshot of an image; return its path, whose name says end offset and epoch.

    A controller that finds it in ``__cluster_metadata-0``, and no log, begins with this state at
    that offset. Kafka: ``RecordsSnapshotWriter``, ``MetadataImage.write``; KIP-630, KIP-853.

    Args:
        image: the metadata.
        directory: of ``__cluster_metadata-0``; it exists, and has no such snapshot.
        end_offset: the first offset that is not in the snapshot; more than 0, since what is in a
            snapshot that ends at 0 is appended to the log instead.
        epoch: of the last record in it.
        timestamp: when that was appended, ms.

    Raises:
        KafkaSpecError: ``unencodable``: a record of the image cannot be written; ``unreadable``:
            there is such a file, or it cannot be written.
    """
    path = directory / names.checkpoint_name(end_offset, epoch)
    with writing(path), file_aside(path, replace=False) as file:
        for batch in snapshot_batches(image, epoch=epoch, timestamp=timestamp):
            file.write(batch)
    return path


def snapshot_batches(image: Image, *, epoch: int, timestamp: int) -> Iterator[bytes]:
    """Yield the batches of a snapshot of an image; for the arguments see ``write_snapshot``.

    Raises:
        KafkaSpecError: ``unencodable``: a record of the image cannot be written.
    """
    offset = 0

    def batch(items: Sequence[tuple[bytes | None, bytes]], *, control: bool) -> bytes:
        nonlocal offset
        records = [
            Record(offset + number, timestamp, key, value)
            for number, (key, value) in enumerate(items)
        ]
        offset += len(items)
        return encode(records, control=control, partition_leader_epoch=epoch)

    header = SnapshotHeaderRecord(last_contained_log_timestamp=timestamp)
    first: list[tuple[bytes | None, bytes]] = [
        encode_control(ControlRecordType.SNAPSHOT_HEADER, header)
    ]
    if image.kraft_version is not None:
        level = KraftVersionRecord(kraft_version=image.kraft_version)
        first.append(encode_control(ControlRecordType.KRAFT_VERSION, level))
    if image.items[ClusterKind.VOTER]:
        voters = list(map(_voter, image.items[ClusterKind.VOTER].values()))
        first.append(encode_control(ControlRecordType.KRAFT_VOTERS, VotersRecord(voters=voters)))
    yield batch(first, control=True)
    held: list[tuple[bytes | None, bytes]] = []
    size = 0
    for value in image_records(image):
        if held and (len(held) == _BATCH_RECORDS or size + len(value) > _BATCH_BYTES):
            yield batch(held, control=False)
            held, size = [], 0
        held.append((None, value))
        size += len(value)
    if held:
        yield batch(held, control=False)
    footer = encode_control(ControlRecordType.SNAPSHOT_FOOTER, SnapshotFooterRecord())
    yield batch([footer], control=True)


def image_records(image: Image) -> Iterator[bytes]:
    """Yield the values of the records that make an image, in the order of Kafka's snapshots.

    Each is of the lowest version of its message that has all its fields, which every release reads
    that knows the fields.

    Raises:
        KafkaSpecError: ``unencodable``: fields do not fit their message.
    """
    for kind, items in image.items.items():
        fields = list(items.values())
        if kind is ClusterKind.FEATURE:
            fields.sort(key=lambda item: item["name"] != _FIRST_FEATURE)
        if kind is ClusterKind.OTHER:
            for item in fields:
                if by_name(item["record"]):
                    yield from message_bytes(item["record"], [item["fields"]])
        elif kind is ClusterKind.PRODUCER_IDS:
            none = {"broker_id": -1, "broker_epoch": -1}
            yield from message_bytes(by_id(kind.message).name, [none | each for each in fields])
        elif kind.message:
            yield from message_bytes(by_id(kind.message).name, fields)


def _voter(fields: Fields) -> RegisteredVoter:
    low, high = KRAFT_VERSION_RANGE
    return RegisteredVoter(
        voter_id=fields["voter_id"],
        voter_directory_id=_uuid(fields["voter_directory_id"]),
        endpoints=[
            Endpoint(name=each["name"].encode(), host=each["host"].encode(), port=each["port"])
            for each in fields["endpoints"]
        ],
        kraft_version_feature=KraftVersionRange(
            min_supported_version=low, max_supported_version=high
        ),
    )


def _uuid(text: str) -> bytes:
    found = kafka_uuid.from_text(text)
    if found is None:
        raise make_error(Reason.UNENCODABLE, f"{text!r} is not an id", path="voter_directory_id")
    return found.bytes
