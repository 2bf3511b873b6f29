"""Run scenarios against a running broker and write down what it acknowledged."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tools.golden.broker import Running
from tools.golden.driver import Acknowledged, Driver
from tools.golden.maven import ToolError
from tools.golden.model import (
    FORMAT,
    Alter,
    AwaitCleaned,
    AwaitTiered,
    Begin,
    Consume,
    ConsumeShared,
    DeleteRecords,
    End,
    Fence,
    Reopen,
    Restart,
    Scenario,
    Send,
    SendOffsets,
    Step,
)
from tools.golden.payloads import Record
from tools.golden.versions import Feature, Mode, Version

_ALTER_SECONDS = {Mode.ZOOKEEPER: 2.0, Mode.KRAFT: 1.0}
_WAIT_SECONDS = 90.0
_END_ACTIONS = {"committed": "commit", "aborted": "abort"}


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
            "key": _base64(self.record.key),
            "value": _base64(self.record.value),
            "headers": [[name, _base64(value)] for name, value in self.record.headers],
            "transaction": self.transaction,
            "compression": self.compression,
        }


def _base64(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode("ascii")


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

    def __init__(self, scenario: Scenario, broker: Running, driver: Driver) -> None:
        self._scenario = scenario
        self._broker = broker
        self._driver = driver
        self._settings = broker.version.settings(scenario.topic)
        self._open: dict[str, list[int]] = {}
        """Per producer in a transaction: places of its records in ``_produced``."""
        self._produced: list[Produced] = []
        self._left_open: set[str] = set()

    def run(self) -> list[Produced]:
        """Do all steps; return the acknowledged records in order."""
        topic = self._scenario.name
        self._driver.create(topic, self._scenario.partitions, self._settings)
        if self._scenario.steps:
            for producer in self._scenario.producers:
                if producer not in self._scenario.late:
                    self._open_producer(producer)
            for step in self._scenario.steps:
                self._do(step)
            for producer in self._scenario.producers:
                if producer not in self._left_open:
                    self._driver.close(self._id(producer))
        return self._produced

    def _id(self, producer: str) -> str:
        return f"{self._scenario.name}/{producer}"

    def _open_producer(self, producer: str) -> None:
        settings = producer_settings(self._broker.version, self._scenario, producer)
        self._driver.open(self._id(producer), settings)

    def _do(self, step: Step) -> None:
        match step:
            case Send():
                self._send(step)
            case Begin(producer):
                self._driver.transaction(self._id(producer), "begin")
                self._open[producer] = []
            case End(outcome, producer):
                self._end(outcome, producer)
            case Alter(settings):
                self._settings |= self._broker.version.settings(settings)
                self._driver.alter(self._scenario.name, self._settings)
                time.sleep(
                    _ALTER_SECONDS[self._broker.version.mode]
                )  # nothing tells when the broker has taken them over
            case Reopen(producer):
                self._driver.close(self._id(producer))
                self._open_producer(producer)
            case AwaitCleaned():
                for partition in range(self._scenario.partitions):
                    self._await_cleaned(f"{self._scenario.name}-{partition}")
            case Restart():
                for producer in self._scenario.producers:
                    self._driver.close(self._id(producer))
                self._broker.restart()
                for producer in self._scenario.producers:
                    self._open_producer(producer)
            case Fence(producer, by):
                self._open_producer(by)
                self._driver.command("fenced", self._id(producer))
                self._end("fenced", producer)
            case _:
                self._do_rare(step)

    def _do_rare(self, step: Step) -> None:
        topic = self._scenario.name
        match step:
            case DeleteRecords(before, partition):
                self._driver.command("DeleteRecords", topic, str(partition), str(before))
                directory = self._broker.logs / f"{topic}-{partition}"
                _wait(
                    lambda: _segments_start_at(directory, before), f"{directory.name} not deleted"
                )
            case Consume(group, count, metadata, settings):
                pairs = [f"{name}={value}" for name, value in settings.items()]
                self._driver.command(
                    "Consume", topic, str(count), metadata, f"group.id={group}", *pairs
                )
            case ConsumeShared(group, count):
                self._driver.command("ConsumeShared", topic, str(count), group)
            case SendOffsets(group, offset, producer):
                self._driver.command("offsets", self._id(producer), topic, "0", str(offset), group)
            case AwaitTiered():
                directory = self._broker.logs / f"{topic}-0"
                _wait(lambda: len(list(directory.glob("*.log"))) == 1, f"{topic} not tiered")

    def _send(self, step: Send) -> None:
        times = Feature.TIMESTAMPS in self._broker.version.features
        acknowledged = self._driver.send(
            self._id(step.producer), self._scenario.name, step.partition, step.records, times
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
        if outcome in _END_ACTIONS:
            self._driver.transaction(self._id(producer), _END_ACTIONS[outcome])
        else:
            self._left_open.add(producer)  # a producer that is fenced cannot be closed in order
        outcome = "aborted" if outcome == "fenced" else outcome
        for place in self._open.pop(producer):
            self._produced[place] = replace(self._produced[place], transaction=outcome)

    def _await_cleaned(self, partition: str) -> None:
        """Wait until the cleaner's checkpoint has reached the active segment and files are gone."""
        directory = self._broker.logs / partition
        _wait(lambda: _is_cleaned(directory), f"{partition} not cleaned")


def _wait(done: Callable[[], bool], problem: str) -> None:
    deadline = time.monotonic() + _WAIT_SECONDS
    while not done():
        if time.monotonic() > deadline:
            raise ToolError(f"{problem} within {_WAIT_SECONDS} s")
        time.sleep(0.1)


def _is_cleaned(directory: Path) -> bool:
    names = [path.name for path in directory.iterdir()]
    active = max(int(name[:-4]) for name in names if name.endswith(".log"))
    busy = any(name.endswith((".cleaned", ".swap", ".deleted")) for name in names)
    return not busy and _cleaned_to(directory.parent, directory.name) == active > 0


def _segments_start_at(directory: Path, offset: int) -> bool:
    """Return whether no segment is entirely below ``offset``, and none is about to be removed."""
    bases = sorted(int(path.stem) for path in directory.glob("*.log"))
    return not list(directory.glob("*.deleted")) and all(base > offset for base in bases[1:])


def _cleaned_to(logs: Path, partition: str) -> int | None:
    """Return the first offset not yet cleaned, from the broker's text checkpoint."""
    topic, _, number = partition.rpartition("-")
    checkpoint = logs / "cleaner-offset-checkpoint"
    if not checkpoint.is_file():
        return None
    for line in checkpoint.read_text().splitlines():
        if line.split(" ")[:2] == [topic, number]:
            return int(line.split(" ")[2])
    return None
