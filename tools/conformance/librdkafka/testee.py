"""librdkafka as a testee: nobody can call its decoder, so its consumer reads from a broker on the
loopback. The folder of its package in Python is the first argument."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from kafkaspec.conformance import serve
from kafkaspec.conformance.protocol import RequestKind, record
from tools.conformance.fake_broker import TOPIC, FakeBroker

_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
_WAIT = 9.0
_LARGEST = 1_000_000_000


def main() -> None:
    """Serve."""
    sys.path.insert(0, sys.argv[1])
    client: Any = import_module("confluent_kafka")

    broker = FakeBroker()
    consumer = client.Consumer(
        {
            "bootstrap.servers": f"127.0.0.1:{broker.port}",
            "group.id": "testee",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "check.crcs": True,
            "isolation.level": "read_uncommitted",
            "fetch.wait.max.ms": 10,
            "fetch.queue.backoff.ms": 1,
            "fetch.error.backoff.ms": 1,
            "receive.message.max.bytes": _LARGEST,
            "log_level": 0,
        }
    )

    def read(message: Any) -> dict[str, Any]:
        kind, timestamp = message.timestamp()
        headers = [(key.encode("utf-8"), value) for key, value in message.headers() or []]
        known = None if kind == client.TIMESTAMP_NOT_AVAILABLE else timestamp
        return record(message.offset(), known, message.key(), message.value(), headers)

    def log(data: bytes, _: dict[str, Any]) -> list[dict[str, Any]]:
        consumer.assign([client.TopicPartition(TOPIC, broker.put(data), 0)])
        found: list[dict[str, Any]] = []
        try:
            while True:
                message = consumer.poll(_WAIT)
                if message is None:
                    raise TimeoutError("the consumer says nothing")
                error = message.error()
                if error and error.code() == client.KafkaError._PARTITION_EOF:
                    return found
                if error:
                    raise client.KafkaException(error)
                found.append(read(message))
        finally:
            consumer.unassign()

    version, _ = client.libversion()
    serve("librdkafka", version, {RequestKind.LOG: log}, compression=_CODECS, checksums=True)


if __name__ == "__main__":
    main()
