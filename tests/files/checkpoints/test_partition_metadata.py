"""``partition.metadata``: real files, laws, and what Kafka's reader refuses."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkaspec.errors import KafkaSpecError, Reason
from kafkaspec.files.checkpoints import kafka_uuid, partition_metadata
from kafkaspec.files.checkpoints.partition_metadata import PartitionMetadata
from tests.files.checkpoints.hostile import parsed
from tests.goldens import Golden, named
from tests.loops import each

ID = "r4MPr70ORhKk-8BRYZqAwQ"


@each("golden", named("partition.metadata"))
def test_the_file_of_a_broker_is_written_the_same(golden: Golden) -> None:
    data = golden.path.read_bytes()
    found = partition_metadata.read(golden.path)
    assert partition_metadata.serialize(found.topic_id) == data
    assert found.position is not None
    assert data[found.position :] == kafka_uuid.to_text(found.topic_id).encode()


@given(st.uuids().filter(lambda value: value.int != 0))
def test_round_trip(value: UUID) -> None:
    assert partition_metadata.parse(partition_metadata.serialize(value)) == PartitionMetadata(value)


def test_text_of_a_uuid() -> None:
    # Kafka's METADATA_TOPIC_ID and ONE_UUID, as their constants print.
    assert kafka_uuid.to_text(UUID(int=1)) == "AAAAAAAAAAAAAAAAAAAAAQ"
    assert kafka_uuid.from_text("AAAAAAAAAAAAAAAAAAAAAQ==") == UUID(int=1)
    assert kafka_uuid.from_text("AAAAAAAAAAAAAAAAAAAAAf") == UUID(int=1)  # spare bits
    for text in ("", "AAAAAAAAAAAAAAAAAAAAAQ=", "AAAAAAAAAAAAAAAAAAAAA+", "A" * 23, "A" * 24):
        assert kafka_uuid.from_text(text) is None


@pytest.mark.parametrize(
    "data",
    [
        f"version: 0\ntopic_id: {ID}",
        f"version: 0\r\ntopic_id: {ID}\r\n",
        f"version: 7\ntopic_id: {ID}\nmore",
        f"x:\t +0\ny:   {ID}",  # names are not looked at
    ],
)
def test_texts_that_kafka_accepts(data: str) -> None:
    assert partition_metadata.parse(data.encode()).topic_id == kafka_uuid.from_text(ID)


@pytest.mark.parametrize(
    ("data", "reason", "offset"),
    [
        ("", Reason.TRUNCATED, 0),
        ("version: 0\n", Reason.TRUNCATED, 11),
        (f"version: -1\ntopic_id: {ID}", Reason.UNSUPPORTED_VERSION, 9),
        (f"version:0\ntopic_id: {ID}", Reason.INVALID_VALUE, 0),
        (f"version: 0: 1\ntopic_id: {ID}", Reason.INVALID_VALUE, 0),
        (f"version: 0 \ntopic_id: {ID}", Reason.INVALID_VALUE, 9),
        (f"version: 0\ntopic_id:{ID}", Reason.INVALID_VALUE, 11),
        (f"version: 0\ntopic_id: {ID} ", Reason.INVALID_VALUE, 21),
        ("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA", Reason.INVALID_VALUE, 21),
        ("\0" * 43, Reason.INVALID_VALUE, 0),
    ],
)
def test_texts_that_kafka_refuses(data: str, reason: Reason, offset: int) -> None:
    with pytest.raises(KafkaSpecError) as caught:
        partition_metadata.parse(data.encode(), file="f")
    error = caught.value
    assert (error.reason, error.position, error.file) == (reason, offset, "f")


def test_no_topic_has_the_id_zero() -> None:
    with pytest.raises(KafkaSpecError) as caught:
        partition_metadata.serialize(UUID(int=0))
    assert caught.value.reason is Reason.UNENCODABLE


@given(st.binary(max_size=80), st.integers(0, 60))
def test_hostile_bytes_raise_our_error_or_nothing(noise: bytes, at: int) -> None:
    data = f"version: 0\ntopic_id: {ID}".encode()
    for hostile in (noise, data[:at] + noise, data[:at] + noise + data[at:]):
        parsed(partition_metadata.parse, hostile)
