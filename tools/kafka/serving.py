"""Give ready partition directories to a real broker, and see what it makes of them.

A first start makes the topics and the rest of a log directory, which is kept as a template. Each
further start gets a copy of it in which the partitions' files are ours.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from kafkaspec.files.names import CLEAN_SHUTDOWN, PARTITION_METADATA
from tools.brokers.broker import Broker
from tools.brokers.client import Client
from tools.brokers.versions import Feature, Version

_DAMAGE = re.compile(r"corrupt|truncat|invalid|recover|stray|exception", re.I)
_NORMAL = re.compile(
    # A plain .log has no index yet.
    r"Could not find (offset )?index file corresponding to log file"
    # A single broker of old releases, started again.
    r"|from OfflinePartition to OnlinePartition failed"
    # A controller that stops gives up what it had scheduled (KafkaEventQueue, seen in 3.2 to 3.5).
    r"|QuorumController .*: unable to start processing because of (Timeout|RejectedExecution)Exc"
)


class Template(Broker):
    """A stopped broker with topics of one partition; where topics have no settings it gets them."""

    def __init__(
        self, version: Version, work: Path, topics: Iterable[str], settings: Mapping[str, str]
    ) -> None:
        by_topic = Feature.TOPIC_SETTINGS in version.features
        own = {} if by_topic else {f"log.{name}": value for name, value in settings.items()}
        super().__init__(version, work, own)
        with self.running(), Client(self) as client:
            for topic in topics:
                client.create(topic, 1, settings)
        self._kept = work / "template"
        shutil.copytree(self.logs, self._kept)

    def place(self, partitions: Iterable[tuple[str, Path]], *, clean: bool) -> None:
        """Make ``logs`` again, with the files of each directory as partition 0 of its topic.

        Without ``clean`` the broker treats the last stop as a crash, and recovers all segments.
        """
        shutil.rmtree(self.logs)
        shutil.copytree(self._kept, self.logs)
        for topic, source in partitions:
            target = self.logs / f"{topic}-0"
            for path in target.iterdir():
                if path.name != PARTITION_METADATA:
                    path.unlink()
            for path in source.iterdir():
                if path.name != PARTITION_METADATA:
                    shutil.copy2(path, target / path.name)
        if not clean:
            (self.logs / CLEAN_SHUTDOWN).unlink(missing_ok=True)

    def complaints(self, topics: Iterable[str]) -> list[str]:
        """Return warnings about damage or these topics that are not normal for a new directory."""
        names = [f"{topic}-0" for topic in topics]
        return [
            line
            for line in self.log().splitlines()
            if re.search(r"\b(WARN|ERROR|FATAL)\b", line)
            and (_DAMAGE.search(line) or any(name in line for name in names))
            and not _NORMAL.search(line)
        ]
