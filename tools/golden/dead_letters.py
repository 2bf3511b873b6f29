"""Let share groups of a broker write dead letters: ``python -m tools.golden.dead_letters OUT``.

Two groups read ``orders`` and reject every third record. One group's letters have the record's key
and value, the other's only say where it is.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

import kafkaspec as ks
from tools.brokers.broker import Broker
from tools.brokers.client import Client, Record
from tools.brokers.versions import by_name

VERSION: Final = "4.4.0"
_RECORDS: Final = 12
_REJECTED: Final = _RECORDS // 3
_TIMEOUT_SECONDS: Final = 60
_TOPIC: Final = "orders"
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


def _await(directory: Path) -> None:
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        with ks.Partition(directory) as log:
            if log.log_end_offset >= _REJECTED:
                return
        time.sleep(0.5)
    raise TimeoutError(f"{directory.name} has too few letters")


if __name__ == "__main__":
    make(Path(sys.argv[1]))
