"""The clients of a release, which speak with its broker: see the classes in ``java``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import kafkaspec as ks
from tools.brokers.broker import Broker
from tools.brokers.maven import ToolError
from tools.brokers.programs import Program, decoded
from tools.brokers.versions import Feature, Mode

_COMMANDS = {
    Feature.DELETE_RECORDS: "DeleteRecords",
    Feature.SHARE_GROUPS: "ConsumeShared",
    Feature.DYNAMIC_QUORUM: "Administer",
    Feature.STREAMS_GROUPS: "Stream",
}
"""Separate commands, which not every client can do."""

START_MS = 1_609_459_200_000
"""2021-01-01T00:00:00Z, in ms: the timestamp of records that are given no other."""


@dataclass(frozen=True)
class Record:
    """A record for a producer to send; ``timestamp`` in ms."""

    key: bytes | None
    value: bytes | None
    timestamp: int = START_MS
    headers: tuple[tuple[str, bytes | None], ...] = ()


class Acknowledged(NamedTuple):
    """Where the broker says it put a record; ``timestamp`` in ms, ``None`` before 0.10."""

    topic: str
    partition: int
    offset: int
    timestamp: int | None


class Consumed(NamedTuple):
    """The records that a consumer got from a partition, and the offsets that the broker named."""

    start: int
    end: int
    records: list[ks.Record]


class Client(Program):
    """Producers, consumers and admin client of a release, in one process."""

    def __init__(self, broker: Broker) -> None:
        features = broker.version.features
        zookeeper = broker.version.mode is Mode.ZOOKEEPER
        self._topics = "ZookeeperTopics" if zookeeper else "AdminTopics"
        self._consumer = "Consumer" if Feature.GROUPS in features else "OldConsumer"
        self._times = Feature.TIMESTAMPS in features
        rare = (name for feature, name in _COMMANDS.items() if feature in features)
        super().__init__(
            broker.version, broker.work, "Producers", self._topics, self._consumer, *rare,
            arguments=[broker.bootstrap, broker.secured or broker.metadata],
        )  # fmt: skip

    def create(self, topic: str, partitions: int, settings: Mapping[str, str]) -> None:
        """Create a topic and wait for its leaders."""
        self.ask(self._topics, "create", topic, partitions, *_pairs(settings))

    def place(self, topic: str, brokers: Sequence[int], settings: Mapping[str, str]) -> None:
        """Create a topic of one partition on these brokers, the first of which leads (KRaft)."""
        replicas = ",".join(map(str, brokers))
        self.ask(self._topics, "place", topic, replicas, *_pairs(settings))

    def leader(self, topic: str) -> tuple[int, list[int]]:
        """Return the leader of partition 0, -1 for none, and its in-sync replicas (KRaft)."""
        ((leader, isr),) = self.ask(self._topics, "leader", topic)
        return int(leader), [int(each) for each in isr.split(",") if each]

    def alter(self, topic: str, settings: Mapping[str, str]) -> None:
        """Give a topic these settings; all of them, since ZooKeeper mode replaces what was set."""
        self.ask(self._topics, "alter", topic, *_pairs(settings))

    def open(self, producer: str, settings: Mapping[str, str]) -> None:
        """Open a producer; with a ``transactional.id`` its transactions are initialised."""
        self.ask("Producers", "open", producer, *_pairs(settings))

    def call(self, producer: str, method: str) -> None:
        """Call a method of a producer, such as ``close`` or ``commitTransaction``."""
        self.ask("Producers", method, producer)

    def send(
        self, producer: str, topic: str, partition: int, records: Sequence[Record]
    ) -> list[Acknowledged]:
        """Send records, flush, and return the acknowledgements in the order of the records."""
        for record in records:
            headers = (part for key, value in record.headers for part in (key.encode(), value))
            self.ask(
                "Producers", "send", producer, topic, partition,
                record.timestamp if self._times else None, record.key, record.value, *headers,
            )  # fmt: skip
        answers = self.ask("Producers", "flush", producer)
        if len(answers) != len(records):
            raise ToolError(f"{len(records)} records sent, {len(answers)} acknowledged")
        return [
            Acknowledged(topic, int(partition), int(offset), int(time) if self._times else None)
            for topic, partition, offset, time in answers
        ]

    def append(self, topic: str) -> int:
        """Produce one record; return its offset."""
        self.open("append", {"retries": "0"})
        self.ask("Producers", "send", "append", topic, 0, None, b"appended", b"appended")
        ((_, _, offset, _),) = self.ask("Producers", "flush", "append")
        self.call("append", "close")
        return int(offset)

    def consume(self, topic: str, isolation: str) -> Consumed:
        """Return all records of partition 0; ``isolation`` is ``read_committed`` or the other."""
        (borders, *records) = self.ask(self._consumer, "consume", topic, isolation)
        return Consumed(int(borders[0]), int(borders[1]), [_record(fields) for fields in records])

    def times(self, topic: str, timestamps: Sequence[int]) -> list[tuple[int, int] | None]:
        """Return offset and timestamp of the broker's answer for each timestamp."""
        answers = self.ask(self._consumer, "times", topic, *timestamps)
        return [None if len(a) == 1 else (int(a[0]), int(a[1])) for a in answers]

    def seek(self, topic: str, offsets: Sequence[int]) -> list[ks.Record | None]:
        """Return the first record that a consumer gets from each offset."""
        answers = self.ask(self._consumer, "seek", topic, *offsets)
        return [None if fields == ["none"] else _record(fields) for fields in answers]


def _pairs(settings: Mapping[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in settings.items()]


def _record(fields: Sequence[str]) -> ks.Record:
    offset, timestamp, key, value, *headers = fields
    texts = ((decoded(name) or b"").decode() for name in headers[::2])
    return ks.Record(
        int(offset), int(timestamp), decoded(key), decoded(value),
        tuple(zip(texts, map(decoded, headers[1::2]), strict=True)),
    )  # fmt: skip
