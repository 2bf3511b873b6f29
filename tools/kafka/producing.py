"""A plain produce request with ready bytes in it: the broker's append path judges them."""

from __future__ import annotations

import socket
from typing import NamedTuple

from kafka.protocol.parser import KafkaProtocol  # type: ignore[import-untyped]
from kafka.protocol.producer import ProduceRequest  # type: ignore[import-untyped]

from tools.brokers.versions import Version

_SECONDS = 30
_CHUNK = 65536
_MILLISECONDS = 20_000
_NEW_REQUESTS_ONLY = (4, 0)  # KIP-896 removes versions 0 to 2


class Produced(NamedTuple):
    """The broker's answer: an error code, 0 for none, and the offset of the first record."""

    error_code: int
    base_offset: int


def request_version(version: Version, magic: int, codec: str) -> int | None:
    """Return the request version for such records; None if the release takes none."""
    if magic > version.native_magic:
        return None
    if magic == 2:
        return 7 if codec == "zstd" else 3  # KIP-98, KIP-110
    if version.release >= _NEW_REQUESTS_ONLY:
        return None
    return 2 if magic == 1 else 0  # KIP-32


def produce(
    bootstrap: str, topic: str, records: bytes, version: int, transactional_id: str | None = None
) -> Produced:
    """Send entries as they are to partition 0, and wait for the leader's answer.

    Raises:
        OSError: no connection, or the broker closed it.
    """
    partition = ProduceRequest.TopicProduceData.PartitionProduceData(index=0, records=records)
    data = ProduceRequest.TopicProduceData(name=topic, partition_data=[partition])
    request = ProduceRequest[version](
        transactional_id=transactional_id, acks=1, timeout_ms=_MILLISECONDS, topic_data=[data]
    )
    protocol = KafkaProtocol(client_id="kafkaspec")
    protocol.send_request(request)
    host, _, port = bootstrap.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=_SECONDS) as connection:
        connection.sendall(protocol.send_bytes())
        while True:
            received = connection.recv(_CHUNK)
            if not received:
                raise ConnectionError("the broker closed the connection without an answer")
            for _, response in protocol.receive_bytes(received):
                answer = response.responses[0].partition_responses[0]
                return Produced(answer.error_code, answer.base_offset)
