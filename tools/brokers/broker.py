"""Run one broker of a given version on loopback, with ZooKeeper or as its own KRaft controller."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Self

from tools.brokers.maven import ToolError, class_path
from tools.brokers.processes import LOOPBACK, Server, free_ports, java_command
from tools.brokers.versions import Feature, Mode, Version

_FORMAT_SECONDS = 60
_SESSION_SECONDS = 8
_SETTLE_SECONDS = 3
_CENTURY_HOURS = "876000"
# 16 bytes in the form Kafka prints ids: a fixed cluster id keeps meta.properties the same.
_CLUSTER_ID = "a2Fma2FzcGVjLWdvbGRlbg"

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


class Broker:
    """A broker in a directory of its own; it can run more than once.

    Attributes:
        version: its release.
        work: its directory.
        bootstrap: where it is reached when it runs.
        metadata: where its topics are kept: the address of ZooKeeper, or its own.
        logs: its log directory.
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
        port, other = free_ports(2)
        self._kafka = self._server("kafka", "kafka.Kafka", port)
        self._servers = [self._kafka]
        self.bootstrap = self.metadata = f"{LOOPBACK}:{port}"
        if version.mode is Mode.ZOOKEEPER:
            self._configure_zookeeper(other)
        else:
            self._format_kraft(f"{LOOPBACK}:{other}")

    @contextmanager
    def running(self) -> Iterator[Self]:
        """Start it; stop it cleanly at the end of the block.

        When the block raises, everything is killed instead: nothing of that run may be kept.
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

    def log(self) -> str:
        """Return what the last run of the broker logged, from level WARN on."""
        return self._kafka.output.read_text(errors="replace")

    def _server(self, name: str, main: str, port: int) -> Server:
        config = str(self.work / f"{name}.properties")
        return Server(name, [*self._command, main, config], self.work, port)

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

    def _format_kraft(self, controller: str) -> None:
        """Make the broker its own controller, and format its log directory."""
        listeners = f"PLAINTEXT://{self.bootstrap},CONTROLLER://{controller}"
        place = {
            "process.roles": "broker,controller",
            "node.id": "0",
            "listeners": listeners,
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "log.dirs": str(self.logs),
        }
        standalone = self.version.release >= (3, 9)  # KIP-853
        if standalone:
            place["controller.quorum.bootstrap.servers"] = controller
            place["advertised.listeners"] = listeners
        else:
            place["controller.quorum.voters"] = f"0@{controller}"
        config = self.work / "kafka.properties"
        _write(config, place | self.settings)
        done = subprocess.run(
            [
                *self._command, "kafka.tools.StorageTool", "format", "-t", _CLUSTER_ID,
                "-c", str(config), *(["--standalone"] if standalone else []),
                *self.version.format_options,
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
        "rlmm.config.remote.log.metadata.topic.num.partitions": "1",
        "rlmm.config.remote.log.metadata.topic.replication.factor": "1",
    }


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
