"""Let a broker and its clients write dead letters: ``python -m tools.golden.dead_letters OUT``.

Two share groups read ``orders`` and reject every third record. One group's letters have the
record's key and value, the other's only say where it is. With ``--clients``, a sink of Connect and
an application of Kafka Streams read ``readings``, of which every third record is broken. With
``--spring``, two containers of Spring for Apache Kafka read it.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Final
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import kafkaspec as ks
from tools.brokers.broker import Broker
from tools.brokers.client import Client, Record
from tools.brokers.maven import (
    cache_root,
    compile_against,
    compile_java,
    jvm,
    resolve_artifacts,
    run,
)
from tools.brokers.processes import LOOPBACK, free_ports
from tools.brokers.programs import Program
from tools.brokers.versions import by_name

VERSION: Final = "4.4.0"
_RECORDS: Final = 12
_REJECTED: Final = _RECORDS // 3
_TIMEOUT_SECONDS: Final = 60
_TOPIC: Final = "orders"
_READINGS, _OF_CONNECT, _OF_STREAMS = "readings", "dlq.connect", "dlq.streams"
_OF_SPRING: Final = ("dlq.spring", "dlq.spring.keys")
_SPRING: Final = "org.springframework.kafka:spring-kafka:3.3.4"
_READ: Final = 9
"""Records with numbers of one digit: those that are not broken have 8 bytes."""
_GROUPS: Final = {"copies": "true", "references": "false"}
"""By group: whether its letters have the record's content."""


def make(output: Path) -> None:
    """Write the partition directories of the topic and of its dead letters."""
    with tempfile.TemporaryDirectory() as work:
        broker = Broker(by_name(VERSION), Path(work))
        with broker.running(), Client(broker) as client:
            client.ask("Administer", "feature", "share.version", "2", "UPGRADE")
            client.create(_TOPIC, 1, {})
            client.open("p", {"acks": "all", "linger.ms": "100", "enable.idempotence": "false"})
            records = [
                Record(b"key-%d" % number, b"order %d" % number, headers=(("origin", b"shop"),))
                for number in range(_RECORDS)
            ]
            client.send("p", _TOPIC, 0, records)
            for group, copied in _GROUPS.items():
                letters = f"dlq.{group}"
                client.create(letters, 1, {"errors.deadletterqueue.group.enable": "true"})
                own = [
                    f"errors.deadletterqueue.topic.name={letters}",
                    f"errors.deadletterqueue.copy.record.enable={copied}",
                ]
                client.ask("Administer", "configure", "GROUP", group, *own)
                client.ask("ConsumeShared", _TOPIC, _RECORDS, group)
                _await(broker.logs / f"{letters}-0")
        for name in (_TOPIC, *(f"dlq.{group}" for group in _GROUPS)):
            shutil.copytree(broker.logs / f"{name}-0", output / f"{name}-0")


def make_of_clients(output: Path) -> None:
    """Write the partition directories of a topic and of the dead letters of Connect and Streams."""
    with tempfile.TemporaryDirectory() as work:
        broker = Broker(by_name(VERSION), Path(work))
        with broker.running(), Client(broker) as client:
            _send_readings(client, _OF_CONNECT, _OF_STREAMS)
            _connect(broker)
            with Program(
                broker.version, broker.work, "StreamLetters", arguments=[broker.bootstrap]
            ) as program:
                state = str(broker.work / "state")
                program.ask("StreamLetters", _READINGS, _OF_STREAMS, state)
            _await(broker.logs / f"{_OF_STREAMS}-0", _READ // 3)
        for name in (_READINGS, _OF_CONNECT, _OF_STREAMS):
            shutil.copytree(broker.logs / f"{name}-0", output / f"{name}-0")


def make_of_spring(output: Path) -> None:
    """Write the partition directories of a topic and of the dead letters of Spring."""
    jars = resolve_artifacts(cache_root() / "spring-kafka", [_SPRING])
    classes = compile_against(jars, "SpringLetters")
    with tempfile.TemporaryDirectory() as work:
        broker = Broker(by_name(VERSION), Path(work))
        with broker.running(), Client(broker) as client:
            _send_readings(client, *_OF_SPRING)
            run(
                *jvm(), "-cp", os.pathsep.join([f"{jars}/*", str(classes)]), "SpringLetters",
                broker.bootstrap, _READINGS, str(_READ), str(_READ // 3), *_OF_SPRING,
            )  # fmt: skip
        for name in (_READINGS, *_OF_SPRING):
            shutil.copytree(broker.logs / f"{name}-0", output / f"{name}-0")


def _send_readings(client: Client, *letters: str) -> None:
    """Make the topics, and write records of which every third one is broken."""
    for topic in (_READINGS, *letters):
        client.create(topic, 1, {})
    client.open("p", {"acks": "all", "linger.ms": "100", "enable.idempotence": "false"})
    records = [
        Record(b"key-%d" % number, b"{broken" if number % 3 == 1 else b'{"n": %d}' % number,
               headers=(("origin", b"sensor"),))
        for number in range(_READ)
    ]  # fmt: skip
    client.send("p", _READINGS, 0, records)


def _connect(broker: Broker) -> None:
    """Run a worker of Connect until its sink has written its letters."""
    plugins = broker.work / "plugins" / "refusing"
    plugins.mkdir(parents=True)
    for path in compile_java(broker.version, "RefusingSink").glob("RefusingSink*.class"):
        shutil.copy(path, plugins)
    (port,) = free_ports(1)
    address = f"http://{LOOPBACK}:{port}"
    settings = {
        "bootstrap.servers": broker.bootstrap,
        "listeners": address,
        "key.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "offset.storage.file.filename": str(broker.work / "offsets"),
        "plugin.path": str(plugins.parent),
        "plugin.discovery": "only_scan",
    }
    text = "".join(f"{name}={value}\n" for name, value in settings.items())
    (broker.work / "connect.properties").write_text(text)
    main = "org.apache.kafka.connect.cli.ConnectStandalone"
    worker = broker.server("connect", port, main)
    try:
        worker.start()
        sink = {
            "connector.class": "RefusingSink",
            "topics": _READINGS,
            "tasks.max": "1",
            "errors.tolerance": "all",
            "errors.deadletterqueue.topic.name": _OF_CONNECT,
            "errors.deadletterqueue.topic.replication.factor": "1",
            "errors.deadletterqueue.context.headers.enable": "true",
        }
        asked = Request(
            f"{address}/connectors", json.dumps({"name": "sensors", "config": sink}).encode(),
            {"Content-Type": "application/json"},
        )  # fmt: skip
        _answered(asked)
        _await(broker.logs / f"{_OF_CONNECT}-0", _READ // 3)
        worker.stop()
    finally:
        worker.kill()


def _answered(asked: Request) -> None:
    """Ask a worker, which listens before it is ready."""
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    while True:
        try:
            with urlopen(asked, timeout=_TIMEOUT_SECONDS):
                return
        except HTTPError:
            if time.monotonic() > deadline:
                raise
        time.sleep(1)


def _await(directory: Path, count: int = _REJECTED) -> None:
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        with ks.Partition(directory) as log:
            if log.log_end_offset >= count:
                return
        time.sleep(0.5)
    raise TimeoutError(f"{directory.name} has too few letters")


if __name__ == "__main__":
    *options, place = sys.argv[1:]
    makers = {"--clients": make_of_clients, "--spring": make_of_spring}
    (makers[options[0]] if options else make)(Path(place))
