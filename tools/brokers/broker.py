"""Run one broker of a given version on loopback, with ZooKeeper or as its own KRaft controller."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Self

from kafkaspec.files import names
from tools.brokers.maven import ToolError, class_path
from tools.brokers.processes import LOOPBACK, Server, class_data, free_ports, java_command
from tools.brokers.versions import Feature, Mode, Version

_FORMAT_SECONDS = 60
_SESSION_SECONDS = 8
_SETTLE_SECONDS = 3
_CENTURY_HOURS = "876000"
# 16 bytes in the form Kafka prints ids: a fixed cluster id keeps meta.properties the same.
_CLUSTER_ID = "a2Fma2FzcGVjLWdvbGRlbg"

_SASL = "sasl.enabled.mechanisms"
_DYNAMIC_QUORUM = (3, 9)  # KIP-853
_DELETED_SOON = {"log.segment.delete.delay.ms": "500"}  # before the broker stops
ADMINISTRATOR = ("administrator", "made-up")
"""User and password on the listener with SASL."""

_COMMON = {
    "log.retention.hours": _CENTURY_HOURS,  # records carry fixed old timestamps
    "log.roll.hours": _CENTURY_HOURS,  # a marker's wall-clock time must not roll a segment
    "log.cleaner.enable": "true",
    "log.cleaner.threads": "1",
    "log.cleaner.backoff.ms": "300",
    "log.cleaner.dedupe.buffer.size": "4194304",
    "log.cleaner.io.buffer.size": "65536",
    "log.retention.check.interval.ms": "1000",  # what is below the log start goes at once
    "log.initial.task.delay.ms": "500",
    "auto.create.topics.enable": "false",
    "num.partitions": "1",
    "num.network.threads": "2",
    "num.io.threads": "2",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
}
_TRANSACTIONS = {
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
}
_SNAPSHOTS = {"metadata.log.max.record.bytes.between.snapshots": "6000"}
_SHARE_GROUPS = {
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}


@dataclass(frozen=True)
class Node:
    """A node of a cluster: its number, its controller's address, its log directory, its process."""

    number: int
    controller: str
    logs: Path
    server: Server

    def directory_id(self) -> str:
        """Return the id of its log directory, as Kafka prints it."""
        text = (self.logs / names.META_PROPERTIES).read_text()
        found = re.search(r"^directory\.id=(.+)$", text, re.M)
        if found is None:
            raise ToolError(f"no directory.id in {names.META_PROPERTIES} of node {self.number}")
        return found[1]


class Broker:
    """A broker in a separate directory; it can run more than once.

    Attributes:
        version: its release.
        work: its directory.
        bootstrap: where it is reached when it runs.
        metadata: where its topics are kept: the address of ZooKeeper, or its own.
        controller: where its controller listens, of KRaft.
        secured: where it is reached with SASL, if its settings enable that.
        logs: its log directory.
        second: the node that joined last and runs, or None.
        settings: those that decide the bytes: no ports and no paths.

    Args:
        version: the release.
        work: an empty directory.
        settings: they come on top of those that all brokers have.

    Raises:
        ToolError: anything outside Python fails.
    """

    def __init__(
        self, version: Version, work: Path, settings: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self.version, self.work, self.logs = version, work, work / "logs"
        self.settings = _settings(version, settings)
        self._command = java_command(work, class_path(version), version.jvm_flags)
        port, other, secured = free_ports(3)
        self.secured = f"{LOOPBACK}:{secured}" if _SASL in self.settings else None
        self.controller = f"{LOOPBACK}:{other}"
        self.second: Node | None = None
        self._kafka = self._server("kafka", "kafka.Kafka", port)
        self._servers = [self._kafka]
        self.bootstrap = self.metadata = f"{LOOPBACK}:{port}"
        if version.mode is Mode.ZOOKEEPER:
            self._configure_zookeeper(other)
        else:
            place = self._place(0, self.bootstrap, self.controller, self.logs)
            if self.secured:
                place["listeners"] += f",SASL://{self.secured}"
                place["listener.security.protocol.map"] += ",SASL:SASL_PLAINTEXT"
            standalone = ["--standalone"] if self.version.release >= _DYNAMIC_QUORUM else []
            self._format(self.work / "kafka.properties", place, *standalone)

    @contextmanager
    def running(self) -> Iterator[Self]:
        """Start it; stop it cleanly at the end of the block.

        When the block raises, everything is killed instead: nothing from that run may be kept.
        """
        try:
            for server in self._servers:
                server.start()
            yield self
            for server in reversed(self._servers):
                server.stop()
        finally:
            for server in self._servers:
                server.kill()

    def start(self) -> None:
        """Start the broker again, in the block of ``running``."""
        self._kafka.start()
        time.sleep(_SETTLE_SECONDS)  # it listens before it is ready to be stopped

    def restart(self) -> None:
        """Stop the broker cleanly and start it again."""
        self._kafka.stop()
        self.start()

    def crash(self) -> None:
        """SIGKILL: no clean-shutdown file, indexes as large as they were made.

        ZooKeeper must forget the broker before it can come again.
        """
        self._kafka.kill()
        if self.version.mode is Mode.ZOOKEEPER:
            time.sleep(_SESSION_SECONDS)

    def join(self, number: int = 1) -> Node:
        """Start another node, broker and controller, which observes the quorum (KIP-853)."""
        port, controller = (f"{LOOPBACK}:{free}" for free in free_ports(2))
        name = f"node-{number}"
        logs = self.work / f"{name}-logs"
        server = self._server(name, "kafka.Kafka", int(port.rpartition(":")[2]))
        place = self._place(number, port, controller, logs)
        self._format(self.work / f"{name}.properties", place, "--no-initial-controllers")
        self._servers.append(server)
        server.start()
        time.sleep(_SETTLE_SECONDS)
        self.second = Node(number, controller, logs, server)
        return self.second

    def leave(self) -> None:
        """Stop the second node cleanly."""
        assert self.second is not None
        self._servers.remove(self.second.server)
        self.second.server.stop()
        self.second = None

    def log(self) -> str:
        """Return what the last run of the broker logged, from level WARN on."""
        return self._kafka.output.read_text(errors="replace")

    def server(self, name: str, port: int, main: str = "kafka.Kafka") -> Server:
        """Return another process of Kafka with the settings in ``NAME.properties``."""
        return self._server(name, main, port)

    def _server(self, name: str, main: str, port: int) -> Server:
        config = str(self.work / f"{name}.properties")
        command = [*self._command, main, config]
        data = class_data(self.version)
        return Server(name, command, self.work, port, data, leaves=name == "kafka")

    def _configure_zookeeper(self, port: int) -> None:
        """Put a ZooKeeper before the broker."""
        self.metadata = f"{LOOPBACK}:{port}"
        main = "org.apache.zookeeper.server.ZooKeeperServerMain"
        self._servers.insert(0, self._server("zookeeper", main, port))
        _write(
            self.work / "zookeeper.properties",
            {
                "dataDir": str(self.work / "zookeeper"),
                "clientPort": str(port),
                "clientPortAddress": LOOPBACK,
                "admin.enableServer": "false",
                "tickTime": "1000",
            },
        )
        place = {
            "broker.id": "0",
            "zookeeper.connect": self.metadata,
            "zookeeper.session.timeout.ms": str(_SESSION_SECONDS * 500),
            "log.dirs": str(self.logs),
        }
        if self.version.release < (0, 9):
            place |= {"host.name": LOOPBACK, "port": self.bootstrap.rpartition(":")[2]}
        else:
            place |= {"listeners": f"PLAINTEXT://{self.bootstrap}"}
        _write(self.work / "kafka.properties", place | self.settings)

    def _place(self, node: int, address: str, controller: str, logs: Path) -> dict[str, str]:
        """Return the settings of a node that is its own controller."""
        listeners = f"PLAINTEXT://{address},CONTROLLER://{controller}"
        place = {
            "process.roles": "broker,controller",
            "node.id": str(node),
            "listeners": listeners,
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "log.dirs": str(logs),
        }
        if self.version.release >= _DYNAMIC_QUORUM:
            place["controller.quorum.bootstrap.servers"] = self.controller
        else:
            place["controller.quorum.voters"] = f"{node}@{controller}"
        return place

    def _format(self, config: Path, place: Mapping[str, str], *options: str) -> None:
        """Write the settings of a node, and format its log directory."""
        if self.version.release >= _DYNAMIC_QUORUM:
            place = {**place, "advertised.listeners": place["listeners"]}
        _write(config, {**place, **self.settings})
        done = subprocess.run(
            [
                self._command[0], *class_data(self.version).read(), *self._command[1:],
                "kafka.tools.StorageTool", "format", "-t", _CLUSTER_ID,
                "-c", str(config), *options, *self.version.format_options,
            ],
            capture_output=True, text=True, timeout=_FORMAT_SECONDS, cwd=self.work,
        )  # fmt: skip
        if done.returncode:
            raise ToolError(f"formatting the log directory failed:\n{done.stdout}{done.stderr}")


def tiered_settings(remote: Path) -> dict[str, str]:
    """Return the settings for remote storage in a directory, with Kafka's local implementation."""
    storage = "org.apache.kafka.server.log.remote.storage.LocalTieredStorage"
    return {
        "remote.log.storage.system.enable": "true",
        "remote.log.storage.manager.class.name": storage,
        "remote.log.metadata.manager.listener.name": "PLAINTEXT",
        "remote.log.manager.task.interval.ms": "500",
        "rsm.config.dir": str(remote),
        **_DELETED_SOON,
        "rlmm.config.remote.log.metadata.topic.num.partitions": "1",
        "rlmm.config.remote.log.metadata.topic.replication.factor": "1",
    }


def administered_settings() -> dict[str, str]:
    """Return the settings for ACLs, and for delegation tokens, which need SASL."""
    module = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    return {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": f"User:ANONYMOUS;User:{ADMINISTRATOR[0]}",
        _SASL: "PLAIN",
        "listener.name.sasl.plain.sasl.jaas.config": '{} user_{}="{}";'.format(
            module, *ADMINISTRATOR
        ),
        "delegation.token.secret.key": "made-up",
        **_DELETED_SOON,
    }


def scram_settings() -> dict[str, str]:
    """Return the settings for users that log in by SCRAM."""
    module = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    return {_SASL: "SCRAM-SHA-256", "listener.name.sasl.scram-sha-256.sasl.jaas.config": module}


def _settings(version: Version, more: Mapping[str, str]) -> dict[str, str]:
    settings = dict(_COMMON)
    if version.mode is Mode.KRAFT:
        settings |= _SNAPSHOTS
    if version.release >= (0, 11):
        settings |= _TRANSACTIONS
    if Feature.SHARE_GROUPS in version.features:
        settings |= _SHARE_GROUPS
    return {**settings, **dict(version.broker_settings), **more}


def _write(path: Path, settings: Mapping[str, str]) -> None:
    path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
