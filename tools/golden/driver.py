"""Talk to the Java scenario driver: commands out, acknowledgements in."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tools.golden.broker import Running
from tools.golden.conversation import Conversation
from tools.golden.maven import ToolError
from tools.golden.payloads import Record
from tools.golden.processes import java_command

_NULL = "-"


@dataclass(frozen=True)
class Acknowledged:
    """Where the broker says it put a record; ``timestamp`` in ms, ``None`` before 0.10."""

    topic: str
    partition: int
    offset: int
    timestamp: int | None


def _encode(data: bytes | None) -> str:
    return _NULL if data is None else base64.b64encode(data).decode("ascii")


class Driver(Conversation):
    """The driver process, as a context manager; methods raise :class:`ToolError` on failure."""

    def __init__(self, broker: Running, jars: Path, classes: Path, work: Path) -> None:
        command = java_command(work, [classes, f"{jars}/*"], broker.version.jvm_flags)
        arguments = [broker.topics_class, broker.topics_connect, broker.bootstrap]
        super().__init__("driver", [*command, "Driver", *arguments], work)

    def create(self, topic: str, partitions: int, settings: Mapping[str, str]) -> None:
        """Create a topic and wait for its leaders."""
        self.ask("create", topic, str(partitions), *_pairs(settings))

    def alter(self, topic: str, settings: Mapping[str, str]) -> None:
        """Give a topic these settings; all of them, since ZooKeeper mode replaces what was set."""
        self.ask("alter", topic, *_pairs(settings))

    def open(self, producer: str, settings: Mapping[str, str]) -> None:
        """Open a producer; with a ``transactional.id`` its transactions are initialised."""
        self.ask("producer", producer, *_pairs(settings))

    def close(self, producer: str) -> None:
        """Close a producer."""
        self.ask("close", producer)

    def transaction(self, producer: str, action: str) -> None:
        """``begin``, ``commit`` or ``abort``."""
        self.ask(action, producer)

    def command(self, name: str, *fields: str) -> None:
        """Do a command of its own class, or one without an answer."""
        self.ask(name, *fields)

    def send(
        self, producer: str, topic: str, partition: int, records: tuple[Record, ...], times: bool
    ) -> list[Acknowledged]:
        """Send records, flush, and return the acknowledgements in the order of the records."""
        for record in records:
            headers = (
                text
                for name, value in record.headers
                for text in (_encode(name.encode()), _encode(value))
            )
            time = str(record.timestamp) if times else _NULL
            self.tell(
                "send", producer, topic, str(partition), time,
                _encode(record.key), _encode(record.value), *headers,
            )  # fmt: skip
        answers = self.ask("flush", producer)
        if len(answers) != len(records):
            raise ToolError(f"{len(records)} records sent, {len(answers)} acknowledged")
        return [_acknowledged(fields[1:]) for fields in answers]


def _pairs(settings: Mapping[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in settings.items()]


def _acknowledged(fields: list[str]) -> Acknowledged:
    topic, partition, offset, timestamp = fields
    time = None if timestamp == _NULL else int(timestamp)
    return Acknowledged(topic, int(partition), int(offset), time)
