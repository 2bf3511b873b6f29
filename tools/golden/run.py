"""Run scenarios against a running broker and write down what it acknowledged."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from kafkaspec.conformance.protocol import encode_bytes
from tools.brokers.broker import Broker
from tools.brokers.client import Acknowledged, Client, Record
from tools.brokers.maven import ToolError
from tools.brokers.versions import Feature, Mode, Version
from tools.golden.model import (
    FORMAT,
    Administer,
    Alter,
    AwaitCleaned,
    AwaitRemoteDeleted,
    AwaitTiered,
    Begin,
    Consume,
    ConsumeShared,
    DeleteRecords,
    End,
    Fence,
    Join,
    Leave,
    Reopen,
    Restart,
    Scenario,
    Send,
    SendOffsets,
    Step,
    Stream,
)

_ALTER_SECONDS = {Mode.ZOOKEEPER: 2.0, Mode.KRAFT: 1.0}
_WAIT_SECONDS = 90.0
_ENDS = {"committed": "commitTransaction", "aborted": "abortTransaction"}


@dataclass(frozen=True)
class Produced:
    """One acknowledged record, as it is kept in ``produced.jsonl``."""

    acknowledged: Acknowledged
    record: Record
    timestamp: int | None
    transaction: str | None
    compression: str

    def to_json(self) -> dict[str, Any]:
        """Return the object of one line."""
        return {
            "topic": self.acknowledged.topic,
            "partition": self.acknowledged.partition,
            "offset": self.acknowledged.offset,
            "timestamp": self.timestamp,
            "key": encode_bytes(self.record.key),
            "value": encode_bytes(self.record.value),
            "headers": [[name, encode_bytes(value)] for name, value in self.record.headers],
            "transaction": self.transaction,
            "compression": self.compression,
        }


def producer_settings(version: Version, scenario: Scenario, producer: str) -> dict[str, str]:
    """Return all settings of a producer of a scenario.

    A batch leaves at flush, never before: lingering outlasts any pause, the size any batch.
    Clients before 0.9 have no flush, theirs leave when the lingering is over.
    """
    settings = {
        "acks": "all",
        "retries": "10",
        "max.in.flight.requests.per.connection": "1",
        "batch.size": "262144",
        "linger.ms": "5000" if version.release >= (0, 9) else "250",
    }
    if Feature.IDEMPOTENCE in version.features:
        settings["enable.idempotence"] = "false"  # the default since 3.0 is true
    own = dict(scenario.producers[producer])
    if "transactional.id" in own:
        settings["enable.idempotence"] = "true"
    return settings | own


class ScenarioRun:
    """One scenario in progress."""

    def __init__(self, scenario: Scenario, broker: Broker, client: Client) -> None:
        self._scenario = scenario
        self._broker = broker
        self._client = client
        self._settings = broker.version.settings(scenario.topic)
        self._open: dict[str, list[int]] = {}
        """Per producer in a transaction: places of its records in ``_produced``."""
        self._produced: list[Produced] = []
        self._left_open: set[str] = set()

    def run(self) -> list[Produced]:
        """Do all steps; return the acknowledged records in order."""
        topic = self._scenario.name
        self._client.create(topic, self._scenario.partitions, self._settings)
        if self._scenario.steps:
            for producer in self._scenario.producers:
                if producer not in self._scenario.late:
                    self._open_producer(producer)
            for step in self._scenario.steps:
                self._do(step)
            for producer in self._scenario.producers:
                if producer not in self._left_open:
                    self._call(producer, "close")
        return self._produced

    def _id(self, producer: str) -> str:
        return f"{self._scenario.name}/{producer}"

    def _call(self, producer: str, method: str) -> None:
        self._client.call(self._id(producer), method)

    def _open_producer(self, producer: str) -> None:
        settings = producer_settings(self._broker.version, self._scenario, producer)
        self._client.open(self._id(producer), settings)

    def _directory(self, partition: int = 0) -> Path:
        return self._broker.logs / f"{self._scenario.name}-{partition}"

    def _do(self, step: Step) -> None:
        topic, ask = self._scenario.name, self._client.ask
        match step:
            case Send():
                self._send(step)
            case Begin(producer):
                self._call(producer, "beginTransaction")
                self._open[producer] = []
            case End(outcome, producer):
                self._end(outcome, producer)
            case Alter(settings):
                self._settings |= self._broker.version.settings(settings)
                self._client.alter(topic, self._settings)
                # Nothing tells when the broker has taken them over.
                time.sleep(_ALTER_SECONDS[self._broker.version.mode])
            case Reopen(producer):
                self._call(producer, "close")
                self._open_producer(producer)
            case AwaitCleaned():
                for directory in map(self._directory, range(self._scenario.partitions)):
                    _wait(partial(_is_cleaned, directory), f"{directory.name} not cleaned")
            case Restart():
                for producer in self._scenario.producers:
                    self._call(producer, "close")
                self._broker.restart()
                for producer in self._scenario.producers:
                    self._open_producer(producer)
            case Fence(producer, by):
                self._open_producer(by)
                self._call(producer, "fenced")
                self._end("fenced", producer)
            case DeleteRecords(before, partition):
                ask("DeleteRecords", topic, partition, before)
                directory = self._directory(partition)
                _wait(partial(_start_at, directory, before), f"{directory.name} not deleted")
            case Consume(group, count, metadata, settings):
                own = (f"{name}={value}" for name, value in settings.items())
                ask("Consumer", "group", topic, count, metadata, f"group.id={group}", *own)
            case ConsumeShared(group, count):
                ask("ConsumeShared", topic, count, group)
            case SendOffsets(group, offset, producer):
                ask("Producers", "offsets", self._id(producer), topic, 0, offset, group)
            case Administer(action, arguments):
                ask("Administer", action, *arguments)
            case Join():
                node = self._broker.join()
                where = node.controller.split(":")
                ask("Administer", "voter", node.number, node.directory_id(), *where)
            case Leave():
                self._leave()
            case Stream(group):
                ask("Stream", topic, group, str(self._broker.work / "streams"))
            case AwaitRemoteDeleted():
                remote = self._broker.work / "remote"
                _wait(lambda: not list(remote.glob(f"**/*{topic}*/*")), f"{topic} not deleted")
            case AwaitTiered():
                logs = self._directory()
                _wait(lambda: len(list(logs.glob("*.log"))) == 1, f"{topic} not tiered")

    def _leave(self) -> None:
        node = self._broker.second
        assert node is not None
        self._client.ask("Administer", "unvote", node.number, node.directory_id())
        self._broker.leave()
        self._client.ask("Administer", "unregister", node.number)
        if Feature.UNREGISTER_CONTROLLER in self._broker.version.features:
            self._client.ask("Administer", "unregister-controller", node.number)

    def _send(self, step: Send) -> None:
        acknowledged = self._client.send(
            self._id(step.producer), self._scenario.name, step.partition, step.records
        )
        codec = self._scenario.producers[step.producer].get("compression.type", "none")
        codec = self._settings.get("compression.type", codec)
        for record, where in zip(step.records, acknowledged, strict=True):
            if step.producer in self._open:
                self._open[step.producer].append(len(self._produced))
            self._produced.append(
                Produced(where, record, self._timestamp(record, where), None, codec)
            )

    def _timestamp(self, record: Record, acknowledged: Acknowledged) -> int | None:
        if self._broker.version.native_magic == 0 or self._settings.get(FORMAT) == "0.9.0":
            return None
        if self._settings.get("message.timestamp.type") == "LogAppendTime":
            return acknowledged.timestamp
        return record.timestamp

    def _end(self, outcome: str, producer: str) -> None:
        if outcome in _ENDS:
            self._call(producer, _ENDS[outcome])
        else:
            self._left_open.add(producer)  # a producer that is fenced cannot be closed in order
        outcome = "aborted" if outcome == "fenced" else outcome
        for place in self._open.pop(producer):
            self._produced[place] = replace(self._produced[place], transaction=outcome)


def _wait(done: Callable[[], bool], problem: str) -> None:
    deadline = time.monotonic() + _WAIT_SECONDS
    while not done():
        if time.monotonic() > deadline:
            raise ToolError(f"{problem} within {_WAIT_SECONDS} s")
        time.sleep(0.1)


def _is_cleaned(directory: Path) -> bool:
    """Return whether the cleaner has reached the active segment, and its old files are gone."""
    names = [path.name for path in directory.iterdir()]
    active = max(int(name[:-4]) for name in names if name.endswith(".log"))
    busy = any(name.endswith((".cleaned", ".swap", ".deleted")) for name in names)
    checkpoint = directory.parent / "cleaner-offset-checkpoint"
    text = checkpoint.read_text() if checkpoint.is_file() else ""
    topic, _, number = directory.name.rpartition("-")
    return active > 0 and not busy and f"{topic} {number} {active}" in text.splitlines()


def _start_at(directory: Path, offset: int) -> bool:
    """Return whether no segment is entirely below ``offset``, and none is about to be removed."""
    bases = sorted(int(path.stem) for path in directory.glob("*.log"))
    return not list(directory.glob("*.deleted")) and all(base > offset for base in bases[1:])
