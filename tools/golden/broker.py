"""Run one broker of a given version on loopback, with ZooKeeper or as its own KRaft controller."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType

from tools.golden.maven import ToolError
from tools.golden.processes import LOOPBACK, Server, free_ports, java_command, listens
from tools.golden.versions import Feature, Mode, Version

_START_SECONDS = 60
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


@dataclass(frozen=True)
class Running:
    """Where a running broker is reached and where it writes."""

    version: Version
    bootstrap: str
    topics_class: str
    topics_connect: str
    logs: Path
    settings: dict[str, str]
    """The settings that decide the bytes: no ports and no paths."""
    kafka: Server
    ready: Callable[[], bool]

    def start(self) -> None:
        """Start the broker again."""
        self.kafka.start()
        self.kafka.wait_for(self.ready, _START_SECONDS)
        time.sleep(_SETTLE_SECONDS)  # it listens before it is ready to be stopped

    def restart(self) -> None:
        """Stop the broker cleanly and start it again."""
        self.kafka.stop()
        self.start()

    def crash(self) -> None:
        """SIGKILL: no clean-shutdown file, indexes as large as they were made.

        ZooKeeper must forget the broker before it can come again.
        """
        self.kafka.kill()
        if self.version.mode is Mode.ZOOKEEPER:
            time.sleep(_SESSION_SECONDS)


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


def _write(path: Path, settings: dict[str, str]) -> Path:
    path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    return path


@contextmanager
def running(
    version: Version, jars: Path, work: Path, settings: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Running]:
    """Start a broker in the empty directory ``work``; stop it cleanly at the end of the block.

    ``settings`` come on top of those that all brokers have.  When the block raises, everything is
    killed instead: nothing of that run may be kept.
    """
    start = _start_zookeeper_mode if version.mode is Mode.ZOOKEEPER else _start_kraft
    servers: list[Server] = []
    command = java_command(work, [f"{jars}/*"], version.jvm_flags)
    try:
        broker = start(version, command, work, servers, _settings(version, settings))
        yield broker
        for server in reversed(servers):
            server.stop()
    finally:
        for server in servers:
            server.kill()


def _start_zookeeper_mode(
    version: Version,
    command: list[str],
    work: Path,
    servers: list[Server],
    settings: dict[str, str],
) -> Running:
    zookeeper_port, port = free_ports(2)
    config = _write(
        work / "zookeeper.properties",
        {
            "dataDir": str(work / "zookeeper"),
            "clientPort": str(zookeeper_port),
            "clientPortAddress": LOOPBACK,
            "admin.enableServer": "false",
            "tickTime": "1000",
        },
    )
    main = "org.apache.zookeeper.server.ZooKeeperServerMain"
    zookeeper = Server("zookeeper", [*command, main, str(config)], work)
    servers.append(zookeeper)
    zookeeper.wait_for(lambda: listens(zookeeper_port), _START_SECONDS)

    logs, connect = work / "logs", f"{LOOPBACK}:{zookeeper_port}"
    place = {
        "broker.id": "0",
        "zookeeper.connect": connect,
        "zookeeper.session.timeout.ms": str(_SESSION_SECONDS * 500),
        "log.dirs": str(logs),
    }
    if version.release < (0, 9):
        place |= {"host.name": LOOPBACK, "port": str(port)}
    else:
        place |= {"listeners": f"PLAINTEXT://{LOOPBACK}:{port}"}
    config = _write(work / "server.properties", place | settings)
    kafka = Server("kafka", [*command, "kafka.Kafka", str(config)], work)
    servers.append(kafka)
    kafka.wait_for(lambda: listens(port), _START_SECONDS)
    bootstrap = f"{LOOPBACK}:{port}"
    ready = partial(listens, port)
    return Running(version, bootstrap, "ZookeeperTopics", connect, logs, settings, kafka, ready)


def _start_kraft(
    version: Version,
    command: list[str],
    work: Path,
    servers: list[Server],
    settings: dict[str, str],
) -> Running:
    port, controller_port = free_ports(2)
    logs, controller = work / "logs", f"{LOOPBACK}:{controller_port}"
    place = {
        "process.roles": "broker,controller",
        "node.id": "0",
        "listeners": f"PLAINTEXT://{LOOPBACK}:{port},CONTROLLER://{controller}",
        "advertised.listeners": f"PLAINTEXT://{LOOPBACK}:{port},CONTROLLER://{controller}",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": str(logs),
    }
    standalone = version.release >= (3, 9)  # KIP-853
    if standalone:
        place["controller.quorum.bootstrap.servers"] = controller
    else:
        place["controller.quorum.voters"] = f"0@{controller}"
        del place["advertised.listeners"]
    config = _write(work / "server.properties", place | settings)
    format_command = [
        *command, "kafka.tools.StorageTool", "format", "-t", _CLUSTER_ID, "-c", str(config),
        *(["--standalone"] if standalone else []), *version.format_options,
    ]  # fmt: skip
    done = subprocess.run(
        format_command, capture_output=True, text=True, timeout=_START_SECONDS, cwd=work
    )
    if done.returncode:
        raise ToolError(f"formatting the log directory failed:\n{done.stdout}{done.stderr}")
    kafka = Server("kafka", [*command, "kafka.Kafka", str(config)], work)
    servers.append(kafka)
    kafka.wait_for(lambda: listens(port), _START_SECONDS)
    bootstrap = f"{LOOPBACK}:{port}"
    ready = partial(listens, port)
    return Running(version, bootstrap, "AdminTopics", bootstrap, logs, settings, kafka, ready)
